// SPDX-License-Identifier: Apache-2.0
// grouped() loses no input where there is no memory: each allocation that it makes fails once, and from each on, all do.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "myriarm/likeness.h"

namespace {

/// How many allocations succeed before one fails; none: all do.
std::optional<uint64_t> until_failure;
bool all_fail_from_there = false;
uint64_t failures = 0;

bool fails() {
  if (!until_failure) return false;
  if (*until_failure != 0) {
    --*until_failure;
    return false;
  }
  if (!all_fail_from_there) until_failure.reset();
  failures++;
  return true;
}

}  // namespace

// Not inline: gcc would warn that what new has given goes to free().
[[gnu::noinline]] void* operator new(size_t size) {
  void* const memory = fails() ? nullptr : std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace myriarm {
namespace {

constexpr uint64_t kInputs = 60;

/// Allocations succeed while it lives.
class Spared {
 public:
  Spared() : kept_(std::exchange(until_failure, std::nullopt)) {}
  ~Spared() { until_failure = kept_; }
  Spared(const Spared&) = delete;

 private:
  const std::optional<uint64_t> kept_;
};

std::string text_of(uint64_t number) { return std::string(20 + number % 7, static_cast<char>('a' + number % 5)); }

struct Found {
  std::vector<uint64_t> numbers;
  uint64_t refused = 0;  // calls that threw std::bad_alloc
};

/// One call of a source. `left`: how many allocations succeed before one fails; none once one has.
template <class Call>
Supply attempt(const Call& call, bool stay, std::optional<uint64_t>& left, Found& found) {
  Supply supply = Supply::later;
  until_failure = left;
  all_fail_from_there = stay;
  const uint64_t failures_before = failures;
  try {
    supply = call();
  } catch (const std::bad_alloc&) {
    found.refused++;
  }
  left = failures == failures_before ? until_failure : std::nullopt;
  until_failure.reset();
  return supply;
}

/// What a source of batches gives. The `failing`th of its allocations fails; with `stay`, all that follow within the same call do.
Found batches_of(uint64_t failing, bool stay) {
  std::vector<uint8_t> bytes;
  std::vector<uint64_t> offsets;
  uint64_t given = 0;
  const BatchSource source = grouped(BatchSource([&](InputBatch& batch, bool) {
                                       const Spared spared;
                                       if (given == kInputs) return Supply::ended;
                                       offsets.assign(1, 0);
                                       bytes.clear();
                                       for (uint64_t i = 0; i < 4; i++) {
                                         const std::string text = text_of(given + i);
                                         bytes.insert(bytes.end(), text.begin(), text.end());
                                         offsets.push_back(bytes.size());
                                       }
                                       batch = {given, bytes, offsets};
                                       given += 4;
                                       return Supply::input;
                                     }),
                                     {.inputs = 22});
  Found found;
  std::optional<uint64_t> left = failing;
  while (true) {
    InputBatch batch;
    if (attempt([&] { return source(batch, true); }, stay, left, found) == Supply::ended) return found;
    for (uint64_t i = 0; i < batch.size(); i++) {
      const uint64_t number = batch.numbers.empty() ? batch.first_number + i : batch.numbers[i];
      const auto input = batch.bytes.subspan(batch.offsets[i], batch.offsets[i + 1] - batch.offsets[i]);
      EXPECT_EQ(std::string(input.begin(), input.end()), text_of(number));
      found.numbers.push_back(number);
    }
  }
}

Found inputs_of(uint64_t failing, bool stay) {
  uint64_t given = 0;
  const QueueSource source = grouped(QueueSource([&](ProcessInput& input, uint64_t&, bool) {
                                       const Spared spared;
                                       if (given == kInputs) return Supply::ended;
                                       const std::string text = text_of(given);
                                       input.standard_input.emplace(text.begin(), text.end());
                                       if (given++ % 2 == 0) input.arguments = {{"word"}};
                                       return Supply::input;
                                     }),
                                     {.inputs = 22});
  Found found;
  std::optional<uint64_t> left = failing;
  for (uint64_t next = 0;;) {
    ProcessInput input;
    uint64_t number = next;
    const Supply supply = attempt([&] { return source(input, number, true); }, stay, left, found);
    if (supply == Supply::ended) return found;
    if (supply != Supply::input) continue;
    EXPECT_EQ(std::string(input.standard_input->begin(), input.standard_input->end()), text_of(number));
    EXPECT_EQ(input.arguments.has_value(), number % 2 == 0);
    found.numbers.push_back(number);
  }
}

/// Lets every allocation fail, one in each run. Returns how many runs there were in which a call threw.
uint64_t refused_runs(Found (*run)(uint64_t failing, bool stay), bool stay) {
  uint64_t runs = 0, refused = 0;
  for (uint64_t failing = 0;; failing++) {
    const uint64_t failures_before = failures;
    Found found = run(failing, stay);
    refused += found.refused;
    std::ranges::sort(found.numbers);
    EXPECT_EQ(found.numbers.size(), kInputs) << failing;
    for (uint64_t i = 0; i < found.numbers.size(); i++) EXPECT_EQ(found.numbers[i], i) << failing;
    if (failures == failures_before) break;
    runs++;
    if (testing::Test::HasFailure()) break;
  }
  EXPECT_GT(runs, 20u);
  return refused;
}

TEST(GroupedAllocations, ABatchIsNeverLost) {
  EXPECT_EQ(refused_runs(batches_of, false), 0u) << "what the source has given needs no memory";
  EXPECT_EQ(refused_runs(batches_of, true), 0u);
}

TEST(GroupedAllocations, AnInputIsNeverLost) {
  EXPECT_EQ(refused_runs(inputs_of, false), 1u) << "the first alone finds nothing held";
  EXPECT_EQ(refused_runs(inputs_of, true), 1u);
}

/// Windows are as large as GroupOptions says until memory is short, and then half as large.
TEST(GroupedAllocations, LaterWindowsAreSmaller) {
  std::vector<uint8_t> bytes(1000, 'x');
  std::vector<uint64_t> offsets;
  for (uint64_t i = 0; i <= bytes.size(); i++) offsets.push_back(i);
  uint64_t given = 0;
  const BatchSource source = grouped(BatchSource([&](InputBatch& batch, bool) {
                                       batch = {1000 * given++, bytes, offsets};
                                       return Supply::input;
                                     }),
                                     {.inputs = 64});
  InputBatch batch;
  source(batch, true);
  EXPECT_EQ(batch.size(), 64u);
  until_failure = 0;
  all_fail_from_there = false;
  source(batch, true);
  until_failure.reset();
  EXPECT_EQ(batch.size(), 936u) << "the rest of the source's batch, as it is";
  source(batch, true);
  EXPECT_EQ(batch.size(), 32u);
}

TEST(GroupedAllocations, TheSourcesOwnComesAfterWhatIsHeld) {
  const std::vector<uint8_t> bytes = {'a'};
  const std::vector<uint64_t> offsets = {0, 1};
  int calls = 0;
  const BatchSource source = grouped(BatchSource([&](InputBatch& batch, bool) {
    if (++calls == 2) throw std::bad_alloc();
    batch = {5, bytes, offsets};
    return Supply::input;
  }));
  InputBatch batch;
  ASSERT_EQ(source(batch, true), Supply::input);
  EXPECT_EQ(batch.size(), 1u);
  EXPECT_THROW(source(batch, true), std::bad_alloc);
  EXPECT_EQ(calls, 2);
}

}  // namespace
}  // namespace myriarm
