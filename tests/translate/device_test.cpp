// SPDX-License-Identifier: Apache-2.0
// Regions for a GPU, on a machine that needs none: the code that PTX is written of runs on this processor, against the same
// code step by step, and ptxas reads the PTX if it is there.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "isa/control_flow.h"
#include "translate/device_code.h"
#include "translate/device_lane.h"
#include "translate/device_translator.h"
#include "translate/llvm/nvptx_target.h"
#include "translate/random_code.h"
#include "translate/spans.h"

namespace myriarm::translate {
namespace {

RegionCompiler& compiler(Finding finding = Finding::plain) {
  static RegionCompiler plain(nvptx_machine({}), RegionKind::device);
  static RegionCompiler by_lane(nvptx_machine({}), RegionKind::device, Finding::by_lane);
  return finding == Finding::plain ? plain : by_lane;
}

bool device_shape(FlatMachine& machine, u64 entry, u32 instructions, Shape& shape, std::string& why) {
  RegionLimits limits;
  limits.instructions = instructions;
  limits.calls_leave = true;
  return find_shape(
      entry, [&](u64 pc, u32& word) { return machine.fetch(pc, word); }, limits, shape, why,
      [](const Instruction& at) { return compiler().is_refused(at); });
}

/// Runs a machine in regions where it can, and steps it where not. As a fleet does, it makes further regions where the machine is
/// stepped.
class DeviceRunner {
 public:
  DeviceRunner(u32 instructions, Finding finding) : instructions_(instructions), compiler_(compiler(finding)) {}
  void run(FlatMachine& machine, DeviceLane& lane, u64 limit) {
    while (machine.retired < limit) {
      const Entry* entry = entry_at(machine);
      const u64 remaining = limit - machine.retired;
      if (entry != nullptr && remaining > entry->longest_run) {
        const u32 left = static_cast<u32>(remaining) - entry->longest_run;
        DeviceRegionResult result;
        lane.take(machine);
        regions_[entry->region].run(&result, lane.column(), entry->number * kEntryApart, lane.team(), left,
                                    pack_flags(machine.flags()) | (left * 7 / 8) << kAimShift);
        lane.give(machine);
        const u64 retired = left - result.left;  // modulo 2^32, as `left` is signed
        machine.retired += static_cast<u32>(retired);
        machine.set_flags(unpack_flags(result.nzcv & 15));
        machine.pc = result.pc;
        ASSERT_EQ(result.nzcv & ~u32{15 | kRegionRefused}, 0u);
        ASSERT_LE(machine.retired, limit);
        in_regions += static_cast<u32>(retired);
        refused += (result.nzcv & kRegionRefused) != 0;
        // What was refused, and what regions have no code for, is stepped.
        if (static_cast<u32>(retired) != 0 && (result.nzcv & kRegionRefused) == 0) continue;
      }
      if (!machine.step()) return;
    }
  }
  u64 in_regions = 0, refused = 0;

 private:
  struct Entry {
    size_t region;
    u32 number, longest_run;
  };
  static constexpr size_t kMostRegions = 3;

  const Entry* entry_at(FlatMachine& machine) {
    auto found = entries_.find(machine.pc);
    if (found == entries_.end() && regions_.size() < kMostRegions && refused_.insert(machine.pc).second) {
      Shape shape;
      std::string why;
      if (device_shape(machine, machine.pc, instructions_, shape, why)) {  // else it begins with what regions refuse
        for (u32 i = 0; i < shape.entries.size(); i++) {
          entries_.try_emplace(shape.entries[i], Entry{regions_.size(), i, shape.longest_run()});
        }
        regions_.push_back(hosted(*compiler_.module_of(shape, kRegionName), kRegionName));
        found = entries_.find(machine.pc);
      }
    }
    return found != entries_.end() ? &found->second : nullptr;
  }

  const u32 instructions_;
  RegionCompiler& compiler_;
  std::vector<HostedRegion> regions_;
  std::map<u64, Entry> entries_;
  std::set<u64> refused_;  // where a region was to begin
};

struct Tally {
  u64 in_regions = 0, refused = 0, retired = 0;
};

/// Runs code from several limits on, in regions and step by step.
void compare(u64 seed, const std::vector<u32>& code, FlatMachine& start, Random& random, Tally& tally) {
  DeviceLane lane(start, static_cast<u32>(random.below(kDeviceTeam)), kDataPage);
  // Pages in which the lanes of the team differ: accesses to them are left to others, or are the lane's own.
  const Finding finding = random.one_in(2) ? Finding::plain : Finding::by_lane;
  for (u64 page = kDataPage; page < kDataPage + 4; page++) {
    if (random.one_in(finding == Finding::plain ? 8 : 2)) lane.let_differ(page);
  }
  lane.add_flags(kDataPage + 3, random.one_in(4) ? u32{kPageCode} : 0);
  DeviceRunner runner(random.one_in(2) ? 256 : static_cast<u32>(1 + random.below(30)), finding);
  for (int i = 0; i < 8; i++) {
    const u64 limit = i < 4 ? random.below(40) : random.below(2000);
    FlatMachine stepped = start, run = start;
    while (stepped.retired < limit && stepped.step()) {
    }
    ASSERT_NO_FATAL_FAILURE(runner.run(run, lane, limit)) << "seed " << seed;
    ASSERT_TRUE(run.same_as(stepped)) << "seed " << seed << ", limit " << limit << ": " << describe(stepped, run)
                                      << listing(code);
    tally.retired += stepped.retired;
  }
  ASSERT_TRUE(lane.others_are_untouched()) << "seed " << seed;
  tally.in_regions += runner.in_regions;
  tally.refused += runner.refused;
}

void compare(u64 seed, const BlockGenerator& generator, u32 blocks, const BlockOptions& options, Tally& tally) {
  Random random(seed);
  const std::vector<u32> code = random_program(random, generator, blocks, options);
  FlatMachine start = random_machine(random, code, options.roles);
  compare(seed, code, start, random, tally);
}

TEST(DeviceRegion, OfRandomBlocksIsAsTheStepper) {
  const std::vector<u16> rows = generatable_rows();
  const BlockGenerator generator(rows);
  Tally tally;
  for (u64 seed = 1; seed <= 60; seed++) {
    BlockOptions options;
    options.length = 4 + seed % 24;
    options.memory_in_100 = seed % 3 * 15;
    ASSERT_NO_FATAL_FAILURE(compare(seed, generator, 1 + seed % 5, options, tally));
  }
  EXPECT_GT(tally.in_regions * 4, tally.retired) << "the regions run too little of the code for the test to say much";
  EXPECT_GT(tally.refused, 100u);
}

TEST(DeviceRegion, OfEveryRowIsAsTheStepper) {
  const std::vector<u16> rows = generatable_rows();
  const BlockGenerator generator(rows);
  Tally tally;
  for (u64 seed = 1001; seed <= 1040; seed++) {
    BlockOptions options;
    options.length = 40;
    options.even = true;
    ASSERT_NO_FATAL_FAILURE(compare(seed, generator, 2, options, tally));
  }
  EXPECT_GT(tally.in_regions, 0u);
}

constexpr u32 kBases[] = {1, 2, 28, 29};
/// An access by one of the first base registers, or something that changes it, or a sum, whose result may be refused; of registers
/// from X3 on so many `others` are read and written.
u32 random_access(Random& random, u32 bases, u32 others) {
  const u32 base = kBases[random.below(bases)], t = 3 + static_cast<u32>(random.below(others));
  const u32 fields = base << 5 | t, scaled = static_cast<u32>(random.below(12)) << 10;
  const u32 unscaled = (static_cast<u32>(random.below(64) - 32) & 0x1FF) << 12;
  const u32 pair = (static_cast<u32>(random.below(8) - 4) & 0x7F) << 15 | (t + 4) << 10;
  constexpr u32 kScaled[] = {0xF9400000, 0xF9000000, 0xB9400000, 0xB9000000, 0x39400000, 0x39000000, 0x79400000,
                             0x79000000, 0xB9800000, 0xFD400000, 0xFD000000, 0x3DC00000, 0x3D800000};  // LDR, STR
  constexpr u32 kUnscaled[] = {0xF8400000, 0xF8000000, 0xF8400400, 0xF8400C00, 0xF8000400, 0xF8000C00, 0xFC408400};
  constexpr u32 kPairs[] = {0xA9400000, 0xA9000000, 0xA8C00000, 0xA9800000, 0x29400000,
                            0x29000000, 0x6D400000, 0x6D000000, 0xAD400000, 0xAD000000};  // LDP, STP
  switch (random.below(8)) {
    case 0:
    case 1:
    case 2: return kScaled[random.below(std::size(kScaled))] | scaled | fields;
    case 3: return kUnscaled[random.below(std::size(kUnscaled))] | unscaled | fields;
    case 4:
    case 5: return kPairs[random.below(std::size(kPairs))] | pair | fields;
    case 6: return 0x1E602800 | t << 16 | t << 5 | (t + 4);  // FADD Dt+4, Dt, Dt
    default: {
      constexpr u32 kAddOrSubtract[] = {0x91000000, 0xD1000000};
      return kAddOrSubtract[random.below(2)] | static_cast<u32>(random.below(3) * 8) << 10 | base << 5 | base;
    }
  }
}

/// Accesses near each other: the places that a block finds once for all of them lie in pages of each kind, at their ends, between two,
/// and where granules do not begin. Some blocks use more registers than a region keeps in those of the machine.
TEST(DeviceRegion, OfAccessesByOneRegisterIsAsTheStepper) {
  Tally tally;
  size_t in_spans = 0;
  for (u64 seed = 1; seed <= 70; seed++) {
    Random random(seed);
    const bool many = seed > 60;
    std::vector<u32> code(many ? 30 + random.below(30) : 3 + random.below(14));
    for (u32& word : code) word = many ? random_access(random, 4, 21) : random_access(random, 2, 4);
    code.push_back(0x14000000 | (static_cast<u32>(-static_cast<i32>(code.size())) & 0x03FFFFFF));  // B to the first
    FlatMachine start = random_machine(random, code, {});
    for (const u32 base : kBases) {
      const u64 page = random.below(8) == 0 ? 0 : kDataPage + random.below(5), granule = random.below(kPageSize / 8);
      start.r[base] = page * kPageSize + 8 * (random.one_in(3) ? kPageSize / 8 - random.below(24) : granule);
      if (random.one_in(4)) start.r[base] += random.below(8);
    }
    if (random.one_in(4)) start.system[static_cast<int>(SystemField::fpsr)] = FPExc_Inexact;
    Shape shape;
    std::string why;
    ASSERT_TRUE(device_shape(start, 0, 256, shape, why)) << why;
    for (const auto& [pc, block] : shape.blocks) in_spans += spans_of(block).accesses.size();
    ASSERT_NO_FATAL_FAILURE(compare(seed, code, start, random, tally));
  }
  EXPECT_GT(in_spans, 100u);
  EXPECT_GT(tally.in_regions * 4, tally.retired);
  EXPECT_GT(tally.refused, 10u);
}

/// A machine with these words from address 0 on.
FlatMachine machine_with(const std::vector<u32>& code) {
  FlatMachine machine((code.size() * 4 + kPageSize - 1) / kPageSize);
  std::memcpy(machine.at(0), code.data(), code.size() * 4);
  return machine;
}

/// Loops over the registers and elements of an instruction do not keep the region's state in memory.
TEST(DeviceRegion, NeedsNoStackForVectors) {
  // MLA V0.4S, V2.4S, V1.4S; LD1R {V2.4S}, [X1], #4; LDR Q1, [X0], #96; STR Q0, [X3], #16; MOVI V0.4S, #0; ADDV S0, V0.4S
  FlatMachine machine = machine_with({0x4EA19440, 0x4DDFC822, 0x3CC60401, 0x3C810460, 0x4F000400, 0x4EB1B800});
  Shape shape;
  std::string why;
  ASSERT_TRUE(device_shape(machine, 0, 256, shape, why)) << why;
  EXPECT_GE(shape.instructions, 6u);
  const auto module = compiler().module_of(shape, kRegionName);
  for (const llvm::Instruction& at : module->getFunction(kRegionName)->getEntryBlock()) {
    EXPECT_FALSE(llvm::isa<llvm::AllocaInst>(at));
  }
}

TEST(DeviceRegion, IsLeftByCallsAndReturns) {
  // 0: ADD X0, X0, #1; 4: BL 0; 8: CBNZ X1, 0x10; 0xC: RET; 0x10: B 0
  FlatMachine machine = machine_with({0x91000400, 0x97FFFFFF, 0xB5000041, 0xD65F03C0, 0x17FFFFFC});
  Shape shape;
  std::string why;
  ASSERT_TRUE(device_shape(machine, 0, 256, shape, why)) << why;
  EXPECT_EQ(shape.instructions, 5u);
  EXPECT_EQ(shape.entries, (std::vector<u64>{0, 8}));
  EXPECT_TRUE(shape.return_points.empty());
  const HostedRegion region = hosted(*compiler().module_of(shape, kRegionName), kRegionName);
  DeviceLane lane(machine, 5, 0);
  auto run = [&](u32 entry) {
    lane.take(machine);
    DeviceRegionResult result;
    region.run(&result, lane.column(), entry * kEntryApart, lane.team(), 1000, 0);
    lane.give(machine);
    return result;
  };
  DeviceRegionResult result = run(0);
  EXPECT_EQ(result.pc, 0u);
  EXPECT_EQ(result.left, 998u);
  EXPECT_EQ(machine.r[kSlotLR], 8u);
  machine.r[kSlotLR] = 0x44;
  result = run(1);
  EXPECT_EQ(result.pc, 0x44u);
  EXPECT_EQ(result.left, 998u);
  machine.r[1] = 1;
  result = run(1);
  EXPECT_EQ(result.pc, 0u);
  EXPECT_EQ(result.left, 996u);
  EXPECT_EQ(machine.r[0], 2u);
}

/// Lanes leave an outermost loop at their aim, and another one at the limit.
TEST(DeviceRegion, IsLeftWhereTheOutermostLoopBeginsAnew) {
  // 0: ADD X0, X0, #1; 4: MOVZ X1, #5; 8: SUBS X1, X1, #1; C: B.NE 8; 10: B 0
  FlatMachine machine = machine_with({0x91000400, 0xD28000A1, 0xF1000421, 0x54FFFFE1, 0x17FFFFFC});
  Shape shape;
  std::string why;
  ASSERT_TRUE(device_shape(machine, 0, 256, shape, why)) << why;
  ASSERT_EQ(shape.entries, std::vector<u64>{0});
  const HostedRegion region = hosted(*compiler().module_of(shape, kRegionName), kRegionName);
  DeviceLane lane(machine, 5, 0);
  auto run = [&](u32 left, u32 aim) {
    lane.take(machine);
    DeviceRegionResult result;
    region.run(&result, lane.column(), 0, lane.team(), left, aim << kAimShift);
    lane.give(machine);
    return result;
  };
  // 13 instructions each time round, 2 of them before the inner loop.
  DeviceRegionResult result = run(1000, 975);
  EXPECT_EQ(result.pc, 0u);
  EXPECT_EQ(result.left, 974u);
  EXPECT_EQ(machine.r[0], 2u);
  result = run(20, 0);
  EXPECT_EQ(result.pc, 8u);
  EXPECT_EQ(result.left, ~u32{0});
  EXPECT_EQ(machine.r[0], 4u);
}

TEST(DeviceTranslator, RefusesWithAReason) {
  std::string why;
  EXPECT_EQ(make_device_translator({35, 78}, nullptr, why), nullptr);
  EXPECT_EQ(why, "the device is too old");
  EXPECT_EQ(make_device_translator({90, 70}, nullptr, why), nullptr);
  EXPECT_EQ(why, "the driver is too old");
  const auto translator = make_device_translator({}, nullptr, why);
  ASSERT_NE(translator, nullptr) << why;
  // SVC; MRS X0, CNTVCT_EL0, which reads the count; AESE V0.16B, V0.16B, which has a table
  for (const u32 word : {0xD4000001u, 0xD53BE040u, 0x4E284800u}) {
    auto fetch = [&](u64 pc, u32& at) { return at = word, pc == 0; };
    EXPECT_EQ(translator->translate(0, fetch, {}, "region", why), nullptr) << std::hex << word;
    EXPECT_EQ(why, "its first instruction always stops");
  }
}

/// What a command prints, errors included. Empty: it failed.
std::string output_of(const std::string& command) {
  std::string text;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return "";
  for (int byte = 0; (byte = fgetc(pipe)) != EOF;) text += static_cast<char>(byte);
  const int status = pclose(pipe);
  if (status != 0) ADD_FAILURE() << command << " failed:\n" << text;
  return status == 0 ? text : "";
}
bool is_there(const std::string& program) {
  return std::system(("command -v " + program + " > /dev/null 2>&1").c_str()) == 0;
}

/// The code of bench/guests/mixed.c from address 0 on, with 10 iterations.
std::vector<u32> mixed_code() {
  std::ifstream file(MYRIARM_SOURCE_DIR "/examples/prebuilt/mixed_10.bin", std::ios::binary);
  std::stringstream bytes;
  bytes << file.rdbuf();
  std::vector<u32> code(bytes.str().size() / 4);
  std::memcpy(code.data(), bytes.str().data(), code.size() * 4);
  return code;
}

/// Regions of all code of a program, from the addresses on where lanes leave them.
std::vector<DeviceRegion> regions_of(const std::vector<u32>& code, DeviceTranslator& translator) {
  auto fetch = [&](u64 pc, u32& word) {
    if (pc / 4 >= code.size()) return false;
    word = code[pc / 4];
    return true;
  };
  std::vector<DeviceRegion> regions;
  std::map<u64, bool> known;
  std::vector<u64> waiting = {0};
  for (size_t at = 0; at < code.size(); at++) {
    const Operands o = decode(decode_table(), code[at]);
    if (flow_of(o.row) == Flow::call && is_relative(o.row)) {
      waiting.push_back(at * 4 + static_cast<u64>(static_cast<i64>(o.offset)));
    }
  }
  for (const u64 entry : waiting) {
    if (known[entry]) continue;
    std::string why;
    auto region = translator.translate(entry, fetch, {}, "region_" + std::to_string(entry), why);
    EXPECT_NE(region, nullptr) << why;
    if (region == nullptr) continue;
    for (const u64 other : region->entries) known[other] = true;
    regions.push_back(std::move(*region));
  }
  return regions;
}

/// The same for ptxas 13, as a function that saves no registers of its caller: what it spills then is what 80 are too few for.
std::string saving_nothing(std::string ptx) {
  ptx.replace(ptx.find(".version 7.8"), 12, ".version 9.0");
  return ptx.insert(ptx.find("\n)\n{") + 3, ".abi_preserve 4\n");
}

TEST(DevicePtx, WhereLanesDifferPagesAreFoundInOnePlace) {
  const std::vector<u32> code = mixed_code();
  ASSERT_FALSE(code.empty());
  size_t bytes[2] = {};
  for (const bool differ : {false, true}) {
    std::string why;
    const auto translator = make_device_translator({90, 78, differ}, nullptr, why);
    ASSERT_NE(translator, nullptr) << why;
    size_t found = 0;
    for (const DeviceRegion& region : regions_of(code, *translator)) {
      bytes[differ] += region.ptx.size();
      const std::regex call("call[.a-z]* \\([a-z0-9]*\\), *\\n\\t([A-Za-z_0-9]*),");
      for (std::sregex_iterator at(region.ptx.begin(), region.ptx.end(), call), end; at != end; at++, found++) {
        EXPECT_EQ((*at)[1], kFindPageName) << region.name;
      }
      for (const char* word : {".global .", ".const", "brx", ".local", "volatile"}) {
        EXPECT_EQ(region.ptx.find(word), std::string::npos) << region.name << " has " << word;
      }
    }
    EXPECT_EQ(found != 0, differ);
  }
  EXPECT_LT(bytes[true], bytes[false] * 3 / 4);
}

TEST(DevicePtx, OfMixedIsTextAlone) {
  const std::filesystem::path folder = testing::TempDir() + "myriarm-ptx-" + std::to_string(getpid());
  std::filesystem::create_directories(folder);
  const std::vector<u32> code = mixed_code();
  ASSERT_FALSE(code.empty());
  std::string why;
  const auto translator = make_device_translator({90}, nullptr, why);
  ASSERT_NE(translator, nullptr) << why;
  const std::vector<DeviceRegion> regions = regions_of(code, *translator);
  ASSERT_FALSE(regions.empty());
  // The first that knows .abi_preserve.
  const bool has_ptxas =
      is_there("ptxas") && std::regex_search(output_of("ptxas --version"), std::regex("release (1[3-9]|[2-9][0-9])"));
  u32 instructions = 0;
  for (const DeviceRegion& region : regions) {
    instructions += region.instructions;
    for (const char* word : {".global .", ".const", "call", "brx", ".local", "volatile"}) {
      EXPECT_EQ(region.ptx.find(word), std::string::npos) << region.name << " has " << word;
    }
    EXPECT_NE(region.ptx.find(".visible .func"), std::string::npos);
    std::ofstream(folder / (region.name + ".ptx")) << saving_nothing(region.ptx);
    if (!has_ptxas) continue;
    const std::string file = folder / region.name;
    const std::string printed =
        output_of("ptxas -v -c -arch=sm_90 -maxrregcount=80 -o " + file + ".o " + file + ".ptx");
    EXPECT_NE(printed.find("0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads"), std::string::npos)
        << region.name << ", " << region.instructions << " instructions:\n"
        << printed;
    EXPECT_NE(printed.find("0 bytes gmem\n"), std::string::npos) << "data, or constants:\n" << printed;
  }
  EXPECT_GT(instructions, code.size() / 2);
  std::filesystem::remove_all(folder);
  if (!has_ptxas) GTEST_SKIP() << "ptxas 13 is not installed: nobody has compiled the PTX";
}

/// Keeps what it is given, and knows nothing of it.
class KeptHere final : public RegionStore {
 public:
  std::vector<u8> find(const RegionKey& key) noexcept override { return kept[key]; }
  void keep(const RegionKey& key, const RegionNote&, std::span<const u8> object) noexcept override {
    kept[key] = {object.begin(), object.end()};
  }
  void reject(const RegionKey&, const char*) noexcept override {}
  std::map<RegionKey, std::vector<u8>> kept;
};

TEST(DevicePtx, IsKeptForTheNextTranslator) {
  const std::vector<u32> words = {0x91000400, 0xD65F03C0};  // ADD X0, X0, #1; RET
  auto fetch = [&](u64 pc, u32& word) { return pc / 4 < words.size() && (word = words[pc / 4], true); };
  const auto store = std::make_shared<KeptHere>();
  auto made_by = [&](const DeviceTarget& target, const std::string& name) {
    std::string why;
    const auto translator = make_device_translator(target, store, why);
    auto region = translator->translate(0, fetch, {}, name, why);
    EXPECT_NE(region, nullptr) << why;
    return region;
  };
  const auto first = made_by({90}, "region_0"), second = made_by({90}, "region_0");
  EXPECT_FALSE(first->is_from_store);
  EXPECT_TRUE(second->is_from_store);
  EXPECT_EQ(first->ptx, second->ptx);
  EXPECT_EQ(first->entries, second->entries);
  EXPECT_EQ(first->longest_run, second->longest_run);
  EXPECT_FALSE(made_by({90}, "other")->is_from_store) << "its function has another name";
  EXPECT_FALSE(made_by({80}, "region_0")->is_from_store) << "it is for another device";
  EXPECT_FALSE(made_by({90, 78, true}, "region_0")->is_from_store) << "its lanes differ";
}

TEST(DevicePtx, EntriesAreKeptByTheBytesOfAProgram) {
  const auto store = std::make_shared<KeptHere>();
  std::string why;
  const auto translator = make_device_translator({90}, store, why), later = make_device_translator({90}, store, why);
  const std::vector<u8> code = {1, 2, 3, 4}, other = {1, 2, 3, 5};
  EXPECT_EQ(translator->kept_entries(0x1000, code), std::vector<u64>{});
  translator->keep_entries(0x1000, code, std::vector<u64>{0x1000});
  translator->keep_entries(0x1000, code, std::vector<u64>{0x1004, 0x1000});
  EXPECT_EQ(later->kept_entries(0x1000, code), (std::vector<u64>{0x1004, 0x1000}));
  EXPECT_EQ(later->kept_entries(0x1000, other), std::vector<u64>{});
  EXPECT_EQ(later->kept_entries(0x2000, code), std::vector<u64>{});
  EXPECT_EQ(make_device_translator({90}, nullptr, why)->kept_entries(0x1000, code), std::vector<u64>{});
}

/// The inner loop of a bitwise CRC-32: additions and choices go to the pipe of multiplications, since the one of additions is what
/// bounds it, and nothing of it has 64 bits.
TEST(DevicePtx, ALoopWithoutMemoryMultiplies) {
  const std::vector<u32> code = {
      0x93400040,  // sbfx x0, x2, #0, #1
      0x71000463,  // subs w3, w3, #1
      0x0A040000,  // and w0, w0, w4
      0x4A420402,  // eor w2, w0, w2, lsr #1
      0x54FFFF81,  // b.ne, to the first
      0xD65F03C0,  // ret
  };
  std::string why;
  const auto translator = make_device_translator({90}, nullptr, why);
  ASSERT_NE(translator, nullptr) << why;
  const std::vector<DeviceRegion> regions = regions_of(code, *translator);
  ASSERT_FALSE(regions.empty());
  const std::string& ptx = regions[0].ptx;
  auto count_of = [&](const std::string& text) {
    size_t count = 0;
    for (size_t at = 0; (at = ptx.find(text, at)) != std::string::npos; at++) count++;
    return count;
  };
  EXPECT_GE(count_of("mad.lo.s32"), 2U) << "w3, and what is left of the budget:\n" << ptx;
  EXPECT_GE(count_of("mul.lo.s32"), 1U) << "the choice of w4 or 0:\n" << ptx;
  EXPECT_EQ(count_of("add.s64"), 0U) << ptx;
  EXPECT_EQ(count_of("sub.s64"), 0U) << ptx;
}

}  // namespace
}  // namespace myriarm::translate
