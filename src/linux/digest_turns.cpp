// SPDX-License-Identifier: Apache-2.0
#include "linux/digest_turns.h"

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

#include "linux/batches.h"

namespace myriarm::linux_process {
namespace {

/// Some inputs of a batch, as a batch of their own.
struct Part {
  Part(const InputBatch& all, std::vector<uint64_t> which) : places(std::move(which)), as_file(all.as_file) {
    for (const uint64_t place : places) {
      const auto begin = all.bytes.begin() + static_cast<ptrdiff_t>(all.offsets[place]);
      const auto end = all.bytes.begin() + static_cast<ptrdiff_t>(all.offsets[place + 1]);
      bytes.insert(bytes.end(), begin, end);
      offsets.push_back(bytes.size());
      numbers.push_back(number_of(all, place));
    }
  }
  InputBatch batch() const { return {0, bytes, offsets, as_file, numbers}; }

  std::vector<uint64_t> places;  // of its inputs, in the whole batch
  std::vector<uint8_t> bytes;
  std::vector<uint64_t> offsets = {0}, numbers;
  bool as_file;
};

}  // namespace

QueueProgress work_off_in_turns(const std::function<void(InputRun run)>& work_off, const BatchSource& source,
                                const DigestSink& sink, const QueueOptions& options,
                                const std::function<bool()>& is_cancelled) {
  QueueProgress progress;
  InputBatch all;
  if (source(all, true) != Supply::input) return progress;
  std::deque<uint64_t> waiting;
  for (uint64_t place = 0; place < all.size(); place++) waiting.push_back(place);
  uint64_t most = waiting.size();  // that are under way together
  bool goes_on = true;
  while (goes_on && !waiting.empty() && !is_cancelled()) {
    const auto end = waiting.begin() + static_cast<ptrdiff_t>(std::min<uint64_t>(most, waiting.size()));
    const Part part(all, {waiting.begin(), end});
    waiting.erase(waiting.begin(), end);
    const QueueProgress before = progress;
    bool was_given = false;
    std::vector<uint64_t> again;    // given up once more
    std::vector<InputDigest> ends;  // of these, if they are not to begin again
    InputRun run;
    run.next = [&](InputBatch& batch, bool) {
      if (std::exchange(was_given, true)) return Supply::ended;
      batch = part.batch();
      return Supply::input;
    };
    run.done = [&](std::span<const InputDigest> digests, std::span<const uint64_t>, const InputRunProgress& now) {
      progress.instructions = before.instructions + now.instructions;
      progress.lane_instructions = before.lane_instructions + now.lane_instructions;
      if (options.progress) options.progress(progress);
      return goes_on = sink(digests);
    };
    run.given_up = [&](const InputBatch&, std::span<const uint64_t> tickets, std::span<const InputDigest> known) {
      for (const uint64_t ticket : tickets) again.push_back(part.places[ticket]);
      ends.insert(ends.end(), known.begin(), known.end());
    };
    work_off(std::move(run));
    if (part.places.size() == 1 && !again.empty()) {
      goes_on = sink(ends);
      again.clear();
    }
    most = again.empty() ? 2 * part.places.size() : part.places.size() / 2;
    waiting.insert(waiting.end(), again.begin(), again.end());
  }
  return progress;
}

}  // namespace myriarm::linux_process
