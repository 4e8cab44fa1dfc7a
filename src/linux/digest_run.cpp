// SPDX-License-Identifier: Apache-2.0
#include "linux/digest_run.h"

#include <optional>
#include <unordered_map>
#include <utility>

namespace myriarm::linux_process {
namespace {

/// Inputs that were given up have their turn when they take so many bytes.
constexpr uint64_t kMostGivenUp = uint64_t{64} << 20;

}  // namespace

void GivenUp::add(const InputBatch& inputs, std::span<const uint64_t> their_tickets) {
  for (size_t i = 0; i < inputs.size(); i++) {
    const std::span<const uint8_t> own =
        inputs.bytes.subspan(inputs.offsets[i], inputs.offsets[i + 1] - inputs.offsets[i]);
    bytes.insert(bytes.end(), own.begin(), own.end());
    offsets.push_back(bytes.size());
    numbers.push_back(inputs.numbers[i]);
    tickets.push_back(their_tickets[i]);
  }
  as_file = inputs.as_file;
}

DigestRun::DigestRun(DigestLanes lanes, Batches& batches, const InputBatch& first, const DigestSink& sink,
                     const QueueOptions& options)
    : lanes_(std::move(lanes)), batches_(batches), first_(first), sink_(sink), options_(options) {}

QueueProgress DigestRun::go() {
  do {
    work_off();
    if (goes_on() && !given_up_.empty()) take_turns();
  } while (goes_on() && !ended_);
  progress_.seconds = seconds();
  progress_.stopped_early = wants_no_more_ || progress_.running != 0 || !ended_;
  progress_.longest_number = lengths_.longest_number();
  progress_.longest_instructions = lengths_.longest();
  progress_.median_instructions = lengths_.median();
  if (!progress_.stopped_early) source_end_.rethrow();
  return progress_;
}

void DigestRun::work_off() {
  before_ = progress_;
  first_ticket_ = given_;
  lanes_have_all_ = false;
  InputRun run;
  run.next = [this](InputBatch& batch, bool idle) { return next(batch, idle); };
  run.done = [this](std::span<const InputDigest> digests, std::span<const uint64_t> tickets,
                    const InputRunProgress& progress) {
    count(progress.instructions, progress.lane_instructions);
    const bool goes_on = take(digests, tickets);
    tell_progress();
    return goes_on;
  };
  run.given_up = [this](const InputBatch& inputs, std::span<const uint64_t> tickets, std::span<const InputDigest>) {
    std::vector<uint64_t> own(tickets.begin(), tickets.end());
    for (uint64_t& ticket : own) ticket += first_ticket_;
    given_up_.add(inputs, own);
  };
  lanes_.work_off(std::move(run));
  cut_short_ = !lanes_have_all_ || progress_.running != given_up_.numbers.size() || lanes_.is_cancelled();
}

void DigestRun::take_turns() {
  before_ = progress_;
  first_ticket_ = 0;
  const GivenUp now = std::exchange(given_up_, {});
  std::unordered_map<uint64_t, uint64_t> ticket_of;  // with `ordered`, when numbers rise
  if (options_.ordered) {
    for (size_t i = 0; i < now.numbers.size(); i++) ticket_of[now.numbers[i]] = now.tickets[i];
  }
  bool given = false;
  const BatchSource source = [&](InputBatch& batch, bool) {
    if (std::exchange(given, true)) return Supply::ended;
    batch = {0, now.bytes, now.offsets, now.as_file, now.numbers};
    return Supply::input;
  };
  std::vector<uint64_t> tickets;
  const DigestSink sink = [&](std::span<const InputDigest> digests) {
    tickets.clear();
    for (const InputDigest& digest : digests) {
      if (options_.ordered) tickets.push_back(ticket_of.at(digest.number));
    }
    return take(digests, tickets);
  };
  QueueOptions options;
  options.ordered = false;
  options.instructions = options_.instructions;
  if (options_.progress) {
    options.progress = [&](const QueueProgress& progress) {
      count(progress.instructions, progress.lane_instructions);
      tell_progress();
    };
  }
  const QueueProgress end = lanes_.take_turns(source, sink, options);
  count(end.instructions, end.lane_instructions);
  tell_progress();
  cut_short_ = progress_.running != 0 || lanes_.is_cancelled();
}

Supply DigestRun::next(InputBatch& batch, bool idle) {
  if (gives_turns(idle)) {
    lanes_have_all_ = true;
    return Supply::ended;
  }
  if (options_.ordered && held_ * sizeof(InputDigest) > options_.held_bytes) return Supply::later;
  const Supply supply = source_end_.ask([&] {
    Supply has = Supply::input;
    if (first_.size() != 0) batch = std::exchange(first_, {});
    else has = batches_.next(batch, idle);
    if (has == Supply::input) check_batch(batch);
    return has;
  });
  ended_ = lanes_have_all_ = supply == Supply::ended;
  if (supply == Supply::input) {
    progress_.running += batch.size();
    given_ += batch.size();
  }
  return supply;
}

bool DigestRun::gives_turns(bool idle) const {
  // If no others run, the source may wait for their digests, and so may all that are held back.
  return !given_up_.empty() && (idle || given_up_.size() > kMostGivenUp);
}

bool DigestRun::take(std::span<const InputDigest> digests, std::span<const uint64_t> tickets) {
  for (size_t i = 0; i < digests.size(); i++) {
    const InputDigest& digest = digests[i];
    progress_.failed += digest.reason != StopReason::exited || digest.stop_detail != 0;
    lengths_.add(digest.number, digest.instructions);
    if (options_.ordered) in_order_.put(first_ticket_ + tickets[i], digest);
  }
  progress_.done += digests.size();
  progress_.running -= digests.size();
  if (options_.ordered) digests = ordered(digests.size());
  if (!digests.empty()) wants_no_more_ = !sink_(digests);
  return !wants_no_more_;
}

std::span<const InputDigest> DigestRun::ordered(uint64_t more) {
  ready_.clear();
  while (const std::optional<InputDigest> digest = in_order_.take()) ready_.push_back(*digest);
  held_ += more;
  held_ -= ready_.size();
  return ready_;
}

void DigestRun::count(uint64_t instructions, uint64_t lane_instructions) {
  progress_.instructions = before_.instructions + instructions;
  progress_.lane_instructions = before_.lane_instructions + lane_instructions;
}

void DigestRun::tell_progress() {
  progress_.seconds = seconds();
  if (options_.progress) options_.progress(progress_);
}

}  // namespace myriarm::linux_process
