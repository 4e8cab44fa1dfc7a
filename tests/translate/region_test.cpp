// SPDX-License-Identifier: Apache-2.0
// Random code in regions that the translator makes, against the same code step by step: registers, flags, memory, pc,
// counts and stops are the same to the bit, wherever a limit ends the run.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <map>
#include <thread>

#include "core/fp/context.h"
#include "core/system/registers.h"
#include "generate/generate.h"
#include "myriarm/isa.h"
#include "translate/machine.h"

namespace myriarm::translate {
namespace {

constexpr u64 kPages = 24, kDataPage = 8;  // code before, data from there on; two pages of it have holes

Translator& translator() {
  static std::string why;
  static const std::unique_ptr<Translator> made = make_translator(FlatMachine::slow_paths(), why);
  if (made == nullptr) throw std::runtime_error(why);
  return *made;
}

/// Runs a machine in regions where it has them, and steps it where not.
class RegionRunner {
 public:
  /// Translates the region at an address, and makes its entries known.
  void add(FlatMachine& machine, u64 entry, const RegionLimits& limits) {
    std::string why;
    std::unique_ptr<Region> region = translator().translate(
        entry, [&](u64 pc, u32& word) { return machine.fetch(pc, word); }, limits, why);
    ASSERT_NE(region, nullptr) << why;
    ASSERT_EQ(region->entries.at(0), entry);
    for (u64 i = 0; i < region->entries.size(); i++) entries_.emplace(region->entries[i], Entry{region.get(), i});
    regions_.push_back(std::move(region));
  }
  void run(FlatMachine& machine, u64 limit) {
    if (machine.found_is_stale) machine.forget_found_pages();
    while (machine.retired < limit) {
      const auto found = entries_.find(machine.pc);
      if (found != entries_.end() && limit - machine.retired > found->second.region->longest_run) {
        const u64 before = machine.retired;
        const RegionEnd end =
            found->second.region->run(&machine, found->second.number, limit - found->second.region->longest_run);
        in_regions += machine.retired - before;
        ASSERT_LE(machine.retired, limit);
        if (end == RegionEnd::stopped) return;
        if (machine.retired != before) continue;
      }
      if (!machine.step()) return;
    }
  }
  u64 in_regions = 0;

 private:
  struct Entry {
    Region* region;
    u64 number;
  };
  std::map<u64, Entry> entries_;
  std::vector<std::unique_ptr<Region>> regions_;
};

/// Code from address 0 on: blocks, each of which ends with a branch to another one.
std::vector<u32> random_program(Random& random, const BlockGenerator& generator, u32 blocks,
                                const BlockOptions& options) {
  std::vector<u32> code;
  std::vector<size_t> begins;
  for (u32 i = 0; i < blocks; i++) {
    begins.push_back(code.size());
    generator.append(random, options, code);
  }
  for (u32 i = 0; i < blocks; i++) {
    const size_t end = (i + 1 < blocks ? begins[i + 1] : code.size()) - 1;  // the HLT
    const i64 offset = static_cast<i64>(begins[random.below(blocks)]) - static_cast<i64>(end);
    code[end] = 0x14000000u | (static_cast<u32>(offset) & 0x03FFFFFF);  // B
  }
  return code;
}

FlatMachine random_machine(Random& random, const std::vector<u32>& code, const RegisterRoles& roles) {
  FlatMachine machine(kPages);
  std::memcpy(machine.at(0), code.data(), code.size() * 4);
  for (u64 at = kDataPage * kPageSize; at < machine.size(); at += 8) {
    const u64 value = random.edge(64);
    std::memcpy(machine.at(at), &value, 8);
  }
  for (u64 page = 0; page < kDataPage; page++) machine.protect(page, kPageReadable | kPageExecutable);
  machine.protect(kDataPage + 5, kPageReadable);
  machine.protect(kDataPage + 9, 0);
  auto address = [&] {
    const u64 in_page = random.one_in(4) ? random.below(kPageSize) : random.below(kPageSize / 16) * 16;
    const u64 tag = random.one_in(16) ? u64{0xA5} << 56 : 0;
    return tag | ((kDataPage + 1 + random.below(6)) * kPageSize + in_page);
  };
  for (u32 i = 0; i < 31; i++) {
    machine.r[i] = roles.addresses >> i & 1 ? address() : roles.offsets >> i & 1 ? random.below(64) : random.edge(64);
  }
  machine.r[roles.code] = random.below(code.size()) * 4;
  machine.r[kSlotSP] = (kDataPage + 2) * kPageSize + random.below(64) * 16;
  for (u32 i = 0; i < 64; i++) machine.v[i] = random.edge(64);
  machine.set_flags(unpack_flags(static_cast<u32>(random.below(16))));
  machine.system[static_cast<int>(SystemField::fpcr)] = random.one_in(2) ? 0 : random.next() & kFpcrMask;
  machine.system[static_cast<int>(SystemField::fpsr)] =
      random.one_in(2) ? u64{FPExc_Inexact} : random.next() & kFpsrMask;
  return machine;
}

std::string listing(const std::vector<u32>& code) {
  std::string text;
  for (size_t i = 0; i < code.size(); i++) {
    char address[24];
    std::snprintf(address, sizeof address, "\n%6zx  ", i * 4);
    text += address + disassemble(code[i], i * 4);
  }
  return text;
}

/// Where two machines differ.
std::string describe(const FlatMachine& stepped, const FlatMachine& run) {
  std::string text;
  auto field = [&](const std::string& name, u64 a, u64 b) {
    char line[120];
    std::snprintf(line, sizeof line, "\n  %-8s stepped %016llx  in regions %016llx", name.c_str(),
                  static_cast<unsigned long long>(a), static_cast<unsigned long long>(b));
    if (a != b) text += line;
  };
  for (u32 i = 0; i <= kSlotSP; i++) field("x" + std::to_string(i), stepped.r[i], run.r[i]);
  for (u32 i = 0; i < 64; i++) field("v" + std::to_string(i / 2) + (i % 2 ? " high" : " low"), stepped.v[i], run.v[i]);
  for (int i = 0; i < static_cast<int>(SystemField::count); i++) {
    field("system" + std::to_string(i), stepped.system[i], run.system[i]);
  }
  field("nzcv", pack_flags(stepped.flags()), pack_flags(run.flags()));
  field("pc", stepped.pc, run.pc);
  field("retired", stepped.retired, run.retired);
  field("stop", static_cast<u64>(stepped.stop.code), static_cast<u64>(run.stop.code));
  field("address", stepped.stop.address, run.stop.address);
  return text.empty() ? "\n  memory" : text;
}

void compare(u64 seed, const BlockGenerator& generator, u32 blocks, const BlockOptions& options, u64& in_regions,
             u64& retired) {
  Random random(seed);
  const std::vector<u32> code = random_program(random, generator, blocks, options);
  FlatMachine start = random_machine(random, code, options.roles);
  // The regions between them have all sizes; of small ones, several.
  RegionLimits limits;
  if (random.one_in(2)) limits.instructions = static_cast<u32>(1 + random.below(30));
  RegionRunner runner;
  ASSERT_NO_FATAL_FAILURE(runner.add(start, 0, limits)) << "seed " << seed;
  for (int i = 0; i < 12; i++) {
    const u64 limit = i < 4 ? random.below(40) : random.below(4000);
    FlatMachine stepped = start, run = start;
    while (stepped.retired < limit && stepped.step()) {
    }
    ASSERT_NO_FATAL_FAILURE(runner.run(run, limit)) << "seed " << seed;
    ASSERT_TRUE(run.same_as(stepped)) << "seed " << seed << ", limit " << limit << ": " << describe(stepped, run)
                                      << listing(code);
    retired += stepped.retired;
  }
  in_regions += runner.in_regions;
}

TEST(Translators, AreMadeByThreadsAtTheSameTime) {
  std::vector<std::thread> threads;
  std::atomic<int> made{0};
  for (int i = 0; i < 8; i++) {
    threads.emplace_back([&] {
      std::string why;
      if (make_translator(FlatMachine::slow_paths(), why) != nullptr) made++;
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

TEST(Region, OfRandomBlocksIsAsTheStepper) {
  const std::vector<u16> rows = generatable_rows();
  const BlockGenerator generator(rows);
  u64 in_regions = 0, retired = 0;
  for (u64 seed = 1; seed <= 60; seed++) {
    BlockOptions options;
    options.length = 4 + seed % 24;
    options.memory_in_100 = seed % 3 * 15;
    compare(seed, generator, 1 + seed % 5, options, in_regions, retired);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(in_regions * 4, retired) << "the regions run too little of the code for the test to say much";
}

TEST(Region, OfEveryRowIsAsTheStepper) {
  const std::vector<u16> rows = generatable_rows();
  const BlockGenerator generator(rows);
  u64 in_regions = 0, retired = 0;
  for (u64 seed = 1001; seed <= 1040; seed++) {
    BlockOptions options;
    options.length = 40;
    options.even = true;
    compare(seed, generator, 2, options, in_regions, retired);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace myriarm::translate
