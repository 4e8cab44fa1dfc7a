// SPDX-License-Identifier: Apache-2.0
// Copied code: which instructions have stencils, what its memory keeps to, and how lanes get into it and on to compiled
// code. That it does what the stepper does is what engines.stencils tests.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>

#include "backends/cpu/translated/code_memory.h"
#include "backends/cpu/translated/profile.h"
#include "backends/cpu/translated/quick_translator.h"
#include "backends/cpu/translated/setup.h"
#include "backends/cpu/translated/stencil_table.h"
#include "core/system/registers.h"
#include "engines/mode_fixture.h"
#include "fake_translator/fake_translator.h"
#include "isa/row_info.h"

namespace myriarm::cpu {
namespace {

class Stencils : public testing::Test {
 protected:
  void SetUp() override {
    if (!QuickTranslator::is_available()) GTEST_SKIP() << "this build has no stencils";
  }
};

/// Of all rows of a family, how many have a stencil, with an immediate or without.
struct Served {
  u32 rows = 0, with_stencil = 0;
  std::string others;
};
std::map<RowFamily, Served> served_rows() {
  std::map<RowFamily, Served> served;
  for (u32 row = 1; row < kRowCount; row++) {
    if (kRowInfos[row].status != RowStatus::implemented) continue;
    Served& family = served[kRowInfos[row].family];
    family.rows++;
    bool has_all = true;
    for (const u64 imm : {u64{0}, u64{8}, u64{5} << 32 | 3}) {
      Operands operands = {};
      operands.row = static_cast<u16>(row);
      operands.imm = imm;
      has_all = has_all && StencilTable::get()->of(operands) != nullptr;
    }
    family.with_stencil += has_all;
    if (!has_all) family.others += " " + std::string(kRowInfos[row].name);
  }
  return served;
}

// What they do not serve run_one() does, which is right but slow: so a stencil that is lost shows nowhere else.
TEST_F(Stencils, ServeDataProcessingAndLoadsAndStores) {
  std::map<RowFamily, Served> served = served_rows();
  EXPECT_EQ(served[RowFamily::data_processing].others, "");
  // CASP has pairs of registers, of which a stencil knows one: there are eight.
  EXPECT_EQ(served[RowFamily::load_store].with_stencil + 8, served[RowFamily::load_store].rows)
      << served[RowFamily::load_store].others;
  for (const RowFamily family : {RowFamily::floating_point, RowFamily::simd}) {
    EXPECT_GT(served[family].with_stencil * 2, served[family].rows) << served[family].others;
  }
}

TEST_F(Stencils, ServeTheRegisterOfAThread) {
  Operands operands = {};
  operands.row = kRow_MRS_RS_systemmove;
  operands.aux = kKeyTpidr;
  EXPECT_NE(StencilTable::get()->of(operands), nullptr);
  operands.aux = kKeyTpidr + 1;
  EXPECT_EQ(StencilTable::get()->of(operands), nullptr) << "it would give TPIDR";
}

TEST_F(Stencils, RunOnIntoTheNextOne) {
  // LDR X0, [X1]; ADD X0, X0, #1; MOVZ X0, #1
  for (const u16 row : {kRow_LDR_64_ldst_pos, kRow_ADD_64_addsub_imm, kRow_MOVZ_64_movewide}) {
    Operands operands = {};
    operands.row = row;
    operands.imm = 8;
    const Stencil* stencil = StencilTable::get()->of(operands);
    ASSERT_NE(stencil, nullptr);
    EXPECT_TRUE(stencil->ends_open) << kRowInfos[row].name;
    EXPECT_FALSE(stencil->depends_on(Hole::taken)) << "it does not branch";
  }
}

/// Lines of /proc/self/maps: memory that has no file and is shared with other mappings.
std::vector<std::string> shared_mappings() {
  std::vector<std::string> lines;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("/dev/zero (deleted)") != std::string::npos) lines.push_back(line);
  }
  return lines;
}

TEST(CodeMemoryTest, IsNotWritableWhereItRuns) {
  const std::vector<std::string> before = shared_mappings();  // a GPU's driver has some of its own
  CodeMemory memory;
  const CodeMemory::Place first = memory.take(100), second = memory.take(5000);
  EXPECT_EQ(reinterpret_cast<u64>(second.address) % 64, 0u);
  EXPECT_GE(second.address, first.address + 100);
  const std::vector<u8> code = {0xB8, 42, 0, 0, 0, 0xC3};  // mov $42, %eax; ret
  CodeMemory::write(second, code);
  EXPECT_EQ(std::memcmp(second.address, code.data(), code.size()), 0);
#if defined(__x86_64__)
  EXPECT_EQ(reinterpret_cast<int (*)()>(second.address)(), 42);
#endif
  std::vector<std::string> mappings = shared_mappings();
  std::erase_if(mappings,
                [&](const std::string& line) { return std::find(before.begin(), before.end(), line) != before.end(); });
  ASSERT_EQ(mappings.size(), 1u) << "the mapping through which it was written is gone";
  EXPECT_NE(mappings[0].find(" r-xs "), std::string::npos) << mappings[0];
}

// A host that limits the size of files kills a process that makes a larger one.
TEST(CodeMemoryTest, IsNoFile) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const rlimit none = {0, 0};
    setrlimit(RLIMIT_FSIZE, &none);
    CodeMemory memory;
    CodeMemory::write(memory.take(64), std::vector<u8>(64, 1));
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(CodeMemoryTest, IsNotSharedWithAProcessThatIsForked) {
  CodeMemory memory;
  const CodeMemory::Place before = memory.take(64);
  CodeMemory::write(before, std::vector<u8>(64, 1));
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const CodeMemory::Place mine = memory.take(64);
    CodeMemory::write(mine, std::vector<u8>(64, 3));
    _exit(mine.owner == before.owner);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "the child writes to the file that its parent runs";
  const CodeMemory::Place after = memory.take(64);
  EXPECT_EQ(after.owner, before.owner);
  EXPECT_TRUE(std::all_of(after.address, after.address + 64, [](u8 byte) { return byte == 0; }));
}

TEST(ExitCountsTest, TellTheHotOneOnce) {
  ExitCounts exits;
  std::vector<bool> told;
  for (int i = 0; i < 6; i++) told.push_back(exits.count(&exits, 0x1000, 3));
  EXPECT_EQ(told, (std::vector<bool>{false, false, true, false, false, false}));
  EXPECT_FALSE(exits.count(nullptr, 0x1000, 3)) << "other code";
}

}  // namespace
}  // namespace myriarm::cpu

namespace fleet_test {
namespace {

using myriarm::cpu::translation_setup;
using myriarm::cpu::TranslationSetup;
using myriarm::test::FakeRegions;
using myriarm::test::FakeTranslation;

/// X0 counts 3,000 turns of a loop of some 3,000 instructions, whose inner loop has three.
Program loops() {
  Words words = {
      0xD2817700,  // MOVZ X0, #3000
      0xD2807D01,  // MOVZ X1, #1000
      0x8B010042,  // ADD X2, X2, X1
      0xF1000421,  // SUBS X1, X1, #1
      0x54FFFFC1,  // B.NE to the ADD
      0xF1000400,  // SUBS X0, X0, #1
      0x54FFFF61,  // B.NE to the second MOVZ
      0xD4400000,  // HLT
  };
  words.resize(64, guest::ret());
  return program_of(words);
}
FleetOptions options_for(Engine engine) {
  FleetOptions options;
  options.device = "cpu";
  options.memory = kEnd - kCode;
  options.engine = engine;
  options.threads = 1;
  return options;
}
/// Compares a run of loops() with the stepper's, and gives what the translation has done.
myriarm::TranslationReport run_loops() {
  Fleet fleet(loops(), options_for(Engine::translate)), reference(loops(), options_for(Engine::interpreter));
  for (Fleet* each : {&fleet, &reference}) {
    each->fill(Field::pc, kCode);
    each->run();
  }
  expect_same(states_of(fleet, kCode), states_of(reference, kCode), "loops");
  EXPECT_EQ(reference.stops()[0].reason, StopReason::halt);
  return fleet.translation();
}

class CopiedCode : public testing::Test {
 protected:
  void SetUp() override {
    if (!myriarm::cpu::QuickTranslator::is_available()) GTEST_SKIP() << "this build has no stencils";
  }
};

// A lane would go round in copied code to the end of its quantum.
TEST_F(CopiedCode, LeavesItsLoopsForCompiledCode) {
  FakeRegions regions;
  regions.most = 3;
  regions.exits_in = 0;
  FakeTranslation fakes(regions, uint64_t{1} << 16, 0);
  TranslationSetup& setup = translation_setup();
  setup.hot_for_stencils = 1;
  setup.hot_in_stencils = 1;
  setup.longest_run = 64;
  const myriarm::TranslationReport report = run_loops();
  EXPECT_GE(report.copied, 1u);
  EXPECT_GE(report.regions, 1u);
  EXPECT_GT(fakes.runs(), 1000u) << "of some 2,900 turns of the outer loop";
  EXPECT_GT(report.translated_by_copying, 0u);
  EXPECT_GT(report.translated, report.translated_by_copying + fakes.runs()) << "compiled code retires some each time";
}

// A few operands are numbers where others have registers.
TEST_F(CopiedCode, KnowsNumbersAmongItsOperands) {
  FakeTranslation fakes({}, uint64_t{1} << 8, 0);
  TranslationSetup& setup = translation_setup();
  setup.hot_for_stencils = 1;
  setup.hot_in_stencils = 0;
  setup.longest_run = 64;
  Words words = {
      0xD2817700,  // MOVZ X0, #3000
      0x4E080C09,  // DUP V9.2D, X0
      0x4E080C02,  // DUP V2.2D, X0
      0x0F0385C9,  // MOVI V9.4H, #0x6E: the upper half becomes 0
      0x2F0385CA,  // MVNI V10.4H, #0x6E
      0x4F0385CB,  // MOVI V11.8H, #0x6E
      0x6E0C6441,  // MOV V1.S[1], V2.S[3]
      0x6F851883,  // FCMLA V3.4S, V4.4S, V5.S[1], #0
      0xF1000400,  // SUBS X0, X0, #1
      0x54FFFF01,  // B.NE to the first DUP
      0xD4400000,  // HLT
  };
  words.resize(64, guest::ret());
  Fleet fleet(program_of(words), options_for(Engine::translate)),
      reference(program_of(words), options_for(Engine::stepper));
  for (Fleet* each : {&fleet, &reference}) {
    each->fill(Field::pc, kCode);
    for (unsigned n = 0; n < 16; n++) {
      each->fill(myriarm::v_low(n), 0x3F80000040000000 + n);  // numbers of single precision
      each->fill(myriarm::v_high(n), 0x4040000040800000 + n);
    }
    each->run();
  }
  for (unsigned n = 0; n < 16; n++) {
    EXPECT_EQ(fleet.get(myriarm::v_low(n), 0), reference.get(myriarm::v_low(n), 0)) << "v" << n;
    EXPECT_EQ(fleet.get(myriarm::v_high(n), 0), reference.get(myriarm::v_high(n), 0)) << "v" << n;
  }
  EXPECT_EQ(fleet.get(myriarm::v_high(9), 0), 0u);
  EXPECT_EQ(reference.stops()[0].reason, StopReason::halt);
  const myriarm::TranslationReport report = fleet.translation();
  EXPECT_GT(report.translated_by_copying, report.interpreted);
}

TEST_F(CopiedCode, IsMadeOfWhatLanesLeaveItFor) {
  FakeTranslation fakes({}, uint64_t{1} << 16, 0);
  TranslationSetup& setup = translation_setup();
  setup.hot_for_stencils = 1;
  setup.hot_in_stencils = 0;
  setup.longest_run = 64;
  setup.stencil_limits.instructions = 2;
  setup.exits_for_stencils = 3;
  const myriarm::TranslationReport report = run_loops();
  EXPECT_GE(report.copied, 3u);
  EXPECT_GT(report.translated, 50 * report.interpreted);
  EXPECT_EQ(report.translated_by_copying, report.translated);
  EXPECT_EQ(fakes.runs(), 0u);
}

}  // namespace
}  // namespace fleet_test
