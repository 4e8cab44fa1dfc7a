// SPDX-License-Identifier: Apache-2.0
// Random code in regions that the translator makes, against the same code step by step: registers, flags, memory, pc,
// counts and stops are the same to the bit, wherever a limit ends the run; also in regions from the cache on disk.
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <map>
#include <set>
#include <thread>

#include "isa/decoder.h"
#include "translate/cache/region_cache.h"
#include "translate/effects.h"
#include "translate/random_code.h"
#include "translate/region_runner.h"

namespace myriarm::translate {
namespace {

std::unique_ptr<Translator> translator_with(std::shared_ptr<RegionStore> store, bool windows = true) {
  std::string why;
  std::unique_ptr<Translator> made = make_translator(FlatMachine::slow_paths(windows), std::move(store), why);
  if (made == nullptr) throw std::runtime_error(why);
  return made;
}
Translator& translator(bool windows = true) {
  static const std::unique_ptr<Translator> made[] = {translator_with(nullptr, false), translator_with(nullptr, true)};
  return *made[windows];
}

/// What several comparisons have run.
struct Tally {
  u64 in_regions = 0, retired = 0, from_store = 0;
};

/// `regions`: the most that there are besides the one at the first instruction; lanes go on from one to another.
void compare(u64 seed, const BlockGenerator& generator, u32 blocks, const BlockOptions& options, Tally& tally,
             u64 regions = 3, Translator& by = translator()) {
  Random random(seed);
  const std::vector<u32> code = random_program(random, generator, blocks, options);
  FlatMachine start = random_machine(random, code, options.roles);
  for (u64 page = kDataPage; page < kPages; page++) {
    if (random.one_in(3)) start.share(page);
  }
  // The regions between them have all sizes; of small ones, several.
  RegionLimits limits;
  if (random.one_in(2)) limits.instructions = static_cast<u32>(1 + random.below(30));
  RegionRunner runner(by);
  const FetchWord fetch = [&](u64 pc, u32& word) { return start.fetch(pc, word); };
  auto add = [&](u64 entry) {
    std::string why;
    const Region* region = runner.add(entry, fetch, limits, why);
    ASSERT_NE(region, nullptr) << "seed " << seed << ": " << why;
    ASSERT_EQ(region->entries.at(0), entry) << "seed " << seed;
  };
  ASSERT_NO_FATAL_FAILURE(add(0));
  for (u64 more = random.below(regions + 1); more > 0; more--) {
    const u64 entry = 4 * random.below(code.size());
    u32 word = 0;
    start.fetch(entry, word);
    if (!effects_of(decode(decode_table(), word)).always_stops) {
      ASSERT_NO_FATAL_FAILURE(add(entry));
    }
  }
  for (int i = 0; i < 12; i++) {
    const u64 limit = i < 4 ? random.below(40) : random.below(4000);
    FlatMachine stepped = start, run = start;
    while (stepped.retired < limit && stepped.step()) {
    }
    runner.run(run, limit);
    ASSERT_LE(run.retired, limit) << "seed " << seed;
    ASSERT_TRUE(run.same_as(stepped)) << "seed " << seed << ", limit " << limit << ": " << describe(stepped, run)
                                      << listing(code);
    tally.retired += stepped.retired;
  }
  tally.in_regions += runner.in_regions;
  tally.from_store += runner.from_store;
}

TEST(Translators, AreMadeByThreadsAtTheSameTime) {
  std::vector<std::thread> threads;
  std::atomic<int> made{0};
  for (int i = 0; i < 8; i++) {
    threads.emplace_back([&] {
      std::string why;
      if (make_translator(FlatMachine::slow_paths(), nullptr, why) != nullptr) made++;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(made, 8);
}

TEST(Region, OfNothingIsRefusedWithAReason) {
  FlatMachine machine(1);
  const u32 svc = 0xD4000001;
  std::memcpy(machine.at(0), &svc, 4);
  for (const auto& [entry, reason] : {std::pair<u64, std::string>{0, "its first instruction always stops"},
                                      std::pair<u64, std::string>{kPageSize, "there is no code to read"}}) {
    std::string why;
    EXPECT_EQ(translator().translate(
                  entry, [&](u64 pc, u32& word) { return machine.fetch(pc, word); }, {}, why),
              nullptr);
    EXPECT_EQ(why, reason);
  }
}

/// With regions that find memory through windows, and with those that do not.
class RegionFinds : public testing::TestWithParam<bool> {};

TEST_P(RegionFinds, OfRandomBlocksIsAsTheStepper) {
  const std::vector<u16> rows = generatable_rows();
  const BlockGenerator generator(rows);
  Tally tally;
  for (u64 seed = 1; seed <= 60; seed++) {
    BlockOptions options;
    options.length = 4 + seed % 24;
    options.memory_in_100 = seed % 3 * 15;
    compare(seed, generator, 1 + seed % 5, options, tally, 3, translator(GetParam()));
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(tally.in_regions * 4, tally.retired) << "the regions run too little of the code for the test to say much";
}

TEST_P(RegionFinds, OfEveryRowIsAsTheStepper) {
  const std::vector<u16> rows = generatable_rows();
  const BlockGenerator generator(rows);
  Tally tally;
  for (u64 seed = 1001; seed <= 1040; seed++) {
    BlockOptions options;
    options.length = 40;
    options.even = true;
    compare(seed, generator, 2, options, tally, 3, translator(GetParam()));
    if (HasFatalFailure()) return;
  }
}

/// Copies words from x0 on to x6 on, x5 bytes after each other, and reads each again; the page of each store is read before it.
constexpr u32 kWalk[] = {
    0xF9400001,  // LDR X1, [X0]
    0xF94000C2,  // LDR X2, [X6]
    0xF90000C1,  // STR X1, [X6]
    0xF94000C3,  // LDR X3, [X6]
    0xA94008C7,  // LDP X7, X2, [X6]
    0x39400CC8,  // LDRB W8, [X6, #3]
    0xCA030084,  // EOR X4, X4, X3
    0x8B020084,  // ADD X4, X4, X2
    0x8B050000,  // ADD X0, X0, X5
    0x8B0500C6,  // ADD X6, X6, X5
    0xD1000529,  // SUB X9, X9, #1
    0xB5FFFEA9,  // CBNZ X9, to the first
    0xD4400000,  // HLT
};

struct Walk {
  const char* what;
  u64 from, to, step;
};
constexpr u64 kAt = kDataPage * kPageSize;
constexpr Walk kWalks[] = {
    {"pages that are shared, and copied by the first store", kAt, kAt + 4 * kPageSize, 8},
    {"addresses that are not aligned, across pages", kAt + 1, kAt + 4 * kPageSize + 3, 509},
    {"the ends of pages", kAt + kPageSize - 8, kAt + 5 * kPageSize - 15, kPageSize + 1},
    {"addresses with a tag", kAt | u64{0x5A} << 56, (kAt + 4 * kPageSize) | u64{0xA5} << 56, 16},
    {"into pages that may not be written", kAt, kAt + 8 * kPageSize, 24},
    {"into pages that may not be read", kAt + 8 * kPageSize, kAt, 24},
    {"to the end of memory", kAt, (kPages - 1) * kPageSize, 40},
    {"downwards", kAt + 3 * kPageSize, kAt + 6 * kPageSize, ~u64{0} - 62},
    {"the same page from two bases", kAt + 2 * kPageSize, kAt + 2 * kPageSize + 64, 8},
};

TEST_P(RegionFinds, PagesThatChangeWhileALaneIsInside) {
  for (const Walk& walk : kWalks) {
    FlatMachine start(kPages);
    std::memcpy(start.at(0), kWalk, sizeof kWalk);
    Random random(7);
    for (u64 at = kAt; at < start.size(); at += 8) {
      const u64 value = random.next();
      std::memcpy(start.at(at), &value, 8);
    }
    for (const u64 page : {1, 2, 4, 5, 7, 12}) start.share(kDataPage + page);
    start.protect(kDataPage + 9, kPageReadable);
    start.protect(kDataPage + 11, 0);
    start.r[0] = walk.from, start.r[6] = walk.to, start.r[5] = walk.step, start.r[9] = 3000;
    RegionRunner runner(translator(GetParam()));
    std::string why;
    ASSERT_NE(runner.add(
                  0, [&](u64 pc, u32& word) { return start.fetch(pc, word); }, {}, why),
              nullptr)
        << why;
    for (const u64 limit : {100, 700, 6200, 12500, 19000, 26000, 100000}) {
      FlatMachine stepped = start, run = start;
      while (stepped.retired < limit && stepped.step()) {
      }
      runner.run(run, limit);
      EXPECT_TRUE(run.same_as(stepped)) << walk.what << ", limit " << limit << ": " << describe(stepped, run);
    }
    EXPECT_GT(runner.in_regions, 0u) << walk.what;
  }
}

INSTANTIATE_TEST_SUITE_P(Memory, RegionFinds, testing::Bool(),
                         [](const auto& with) { return with.param ? "InWindows" : "PageByPage"; });

/// A store in memory.
struct MemoryStore final : RegionStore {
  std::vector<u8> find(const RegionKey& key) noexcept override {
    last_key = key;
    const auto found = kept.find(key);
    return found == kept.end() ? std::vector<u8>() : found->second;
  }
  void keep(const RegionKey& key, const RegionNote& note, std::span<const u8> object) noexcept override {
    kept[key].assign(object.begin(), object.end());
    last_note = note;
  }
  void reject(const RegionKey&, const char* why) noexcept override { rejected.push_back(why); }

  std::map<RegionKey, std::vector<u8>> kept;
  RegionKey last_key = {};
  RegionNote last_note;
  std::vector<std::string> rejected;
};

/// Regions of random programs, some of which are in the store.
void compare_with_store(const std::shared_ptr<RegionStore>& store, u64 first_seed, u64 seeds, Tally& tally) {
  const std::vector<u16> rows = generatable_rows();
  const BlockGenerator generator(rows);
  const std::unique_ptr<Translator> by = translator_with(store);
  for (u64 seed = first_seed; seed < first_seed + seeds; seed++) {
    BlockOptions options;
    options.length = 4 + seed % 16;
    options.memory_in_100 = 15;
    ASSERT_NO_FATAL_FAILURE(compare(seed, generator, 1 + seed % 3, options, tally, 0, *by));
  }
}

TEST(KeptRegion, IsAsTheStepper) {
  const auto store = std::make_shared<MemoryStore>();
  Tally cold, warm;
  ASSERT_NO_FATAL_FAILURE(compare_with_store(store, 1, 12, cold));
  EXPECT_EQ(cold.from_store, 0u);
  EXPECT_EQ(store->kept.size(), 12u);
  ASSERT_NO_FATAL_FAILURE(compare_with_store(store, 1, 12, warm));
  EXPECT_EQ(warm.from_store, 12u);
  EXPECT_EQ(store->kept.size(), 12u);
  EXPECT_EQ(warm.in_regions, cold.in_regions);
  EXPECT_TRUE(store->rejected.empty());
}

TEST(KeptRegion, HasAKeyOfAllThatItsCodeDependsOn) {
  const auto store = std::make_shared<MemoryStore>();
  const std::unique_ptr<Translator> by = translator_with(store);
  // 0: ADD X0, X0, #1; 4: CBNZ X0, 0; 8: BL 0x10; 0xC: B 0xC; 0x10: SUB X1, X1, #2; 0x14: RET
  const std::vector<u32> code = {0x91000400, 0xB5FFFFE0, 0x94000002, 0x14000000, 0xD1000821, 0xD65F03C0};
  auto key_of = [&](std::vector<u32> words, u64 entry, RegionLimits limits, Translator& translator) {
    std::string why;
    const auto region = translator.translate(
        entry,
        [&](u64 pc, u32& word) {
          if (pc / 4 >= words.size()) return false;
          word = words[pc / 4];
          return true;
        },
        limits, why);
    EXPECT_NE(region, nullptr) << why;
    return store->last_key;
  };
  const RegionKey key = key_of(code, 0, {}, *by);
  EXPECT_EQ(key_of(code, 0, {}, *by), key);
  EXPECT_EQ(key_of(code, 0, {}, *translator_with(store)), key) << "another translator makes the same code";
  EXPECT_EQ(store->kept.size(), 1u);
  EXPECT_EQ(store->last_note.pc, 0u);
  EXPECT_EQ(store->last_note.instructions, 6u);
  std::set<RegionKey> keys = {key};
  for (size_t i = 0; i < code.size(); i++) {
    std::vector<u32> other = code;
    other[i] = 0xD503201F;  // NOP
    EXPECT_TRUE(keys.insert(key_of(other, 0, {}, *by)).second) << "another word at " << 4 * i;
  }
  EXPECT_TRUE(keys.insert(key_of(code, 0, {}, *translator_with(store, false))).second) << "without windows";
  EXPECT_TRUE(keys.insert(key_of(code, 4, {}, *by)).second) << "another entry";
  EXPECT_TRUE(keys.insert(key_of(code, 0, {4, 24}, *by)).second) << "fewer instructions";
  EXPECT_TRUE(keys.insert(key_of(code, 0, {256, 1}, *by)).second) << "fewer entries";
  std::vector<u32> moved(4, 0xD4200000);  // BRK
  moved.insert(moved.end(), code.begin(), code.end());
  EXPECT_TRUE(keys.insert(key_of(moved, 16, {}, *by)).second) << "another address";
  // 0: ADD X0, X0, #1; 4: CBNZ X1, 0xC; 8: ADD X0, X0, #1; 0xC: CBNZ X0, 0; 0x10: B 0x10. The same blocks from 0 and from 8.
  const std::vector<u32> loop = {0x91000400, 0xB5000041, 0x91000400, 0xB5FFFFA0, 0x14000000};
  EXPECT_TRUE(keys.insert(key_of(loop, 0, {256, 1}, *by)).second);
  EXPECT_TRUE(keys.insert(key_of(loop, 8, {256, 1}, *by)).second) << "the same blocks, entered elsewhere";
  EXPECT_EQ(store->kept.size(), keys.size());
}

TEST(KeptRegion, ThatCannotBeLoadedIsCompiledAgain) {
  const auto store = std::make_shared<MemoryStore>();
  Tally cold;
  ASSERT_NO_FATAL_FAILURE(compare_with_store(store, 1, 1, cold));
  const std::vector<u8> whole = store->kept.begin()->second;
  std::vector<u8> cut(whole.begin(), whole.begin() + 70), no_elf(1000, 0x55), renamed = whole;
  const std::string name = "region";
  for (auto at = renamed.begin();; ++at) {
    at = std::search(at, renamed.end(), name.begin(), name.end());
    if (at == renamed.end()) break;
    *at = 'l';
  }
  ASSERT_NE(renamed, whole);
  size_t times = 0;
  for (const std::vector<u8>& bad : {cut, no_elf, renamed}) {
    store->kept.begin()->second = bad;
    Tally tally;
    ASSERT_NO_FATAL_FAILURE(compare_with_store(store, 1, 1, tally));
    EXPECT_EQ(tally.from_store, 0u);
    EXPECT_GT(tally.in_regions, 0u);
    EXPECT_EQ(store->rejected.size(), ++times);
    EXPECT_EQ(store->kept.begin()->second, whole) << "the code that was compiled again takes its place";
  }
}

TEST(KeptRegion, IsSharedByProcessesThatAreKilled) {
  constexpr u64 kProcesses = 10, kPrograms = 12;
  std::string folder = testing::TempDir() + "myriarm-regions-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  auto seed_of = [](u64 process, u64 program) { return 1 + (3 * process + program) % kPrograms; };
  std::vector<std::pair<pid_t, int>> children;
  for (u64 process = 0; process < kProcesses; process++) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      // Translates all programs again and again, until it is killed. A byte for each: '.' if it ran as the stepper.
      const auto store = std::make_shared<RegionCache>(folder, u64{1} << 20);
      for (u64 program = 0;; program++) {
        Tally tally;
        compare_with_store(store, seed_of(process, program), 1, tally);
        const char told = testing::Test::HasFailure() || !store->warning().empty() ? 'X' : '.';
        if (::write(ends[1], &told, 1) != 1) _exit(1);
      }
    }
    close(ends[1]);
    children.emplace_back(child, ends[0]);
  }
  Random random(7);
  for (const auto& [child, progress] : children) {
    std::string told;
    char step = 0;
    for (u64 steps = random.below(kPrograms); steps > 0 && ::read(progress, &step, 1) == 1; steps--) told += step;
    kill(child, SIGKILL);
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
    while (::read(progress, &step, 1) == 1) told += step;
    close(progress);
    EXPECT_EQ(told, std::string(told.size(), '.'));
  }
  const auto store = std::make_shared<RegionCache>(folder, u64{1} << 20);
  Tally left, warm;
  ASSERT_NO_FATAL_FAILURE(compare_with_store(store, 1, kPrograms, left));
  EXPECT_GT(left.from_store, 0u);
  ASSERT_NO_FATAL_FAILURE(compare_with_store(store, 1, kPrograms, warm));
  EXPECT_EQ(warm.from_store, kPrograms);
  EXPECT_EQ(store->warning(), "");
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace myriarm::translate
