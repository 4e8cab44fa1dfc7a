// SPDX-License-Identifier: Apache-2.0
// Whole programs in regions for a GPU, whose code runs on this processor: after each visit to a region all registers are those of the
// interpreter, and so are all pages at last. Beside the examples and random programs (MYRIARM_PROGRAM_SEED and _SEEDS: others) any
// program can be run, a dynamic one with MYRIARM_PROGRAM_ROOT=DIR, its regions as PTX with MYRIARM_PROGRAM_PTX=1:
//   MYRIARM_PROGRAM='sqlite3 -version' MYRIARM_PROGRAM_INPUT=FILE device_translate_tests --gtest_filter='*AskedFor*'
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>

#include "generate/generate.h"
#include "generate/programs.h"
#include "myriarm/linux.h"
#include "translate/device_code.h"
#include "translate/llvm/nvptx_target.h"
#include "translate/program_lane.h"
#include "translate/ptx_region.h"

namespace myriarm::translate {
namespace {

/// How a program is run.
struct Trial {
  u64 seed = 1;
  u32 lanes_in_frame = 1, place = 0;  // as in ProgramLane
  u32 differing = 0;                  // the same
  u32 hot = 20;                       // so often a lane comes to an address before a region is made there
  u32 visits_until_look = 50;         // at all pages
  u64 limit = kEndless;               // instructions
  u64 first = 0;                      // of them that the interpreter runs before
  bool as_ptx = false;                // regions run as PTX
  u64 written = ~u64{0};              // from this address on code may change, and has no regions
};

class ProgramRunner {
 public:
  ProgramRunner(Fleet& fleet, const Trial& trial)
      : fleet_(fleet),
        trial_(trial),
        random_(trial.seed),
        compiler_(nvptx_machine({}), RegionKind::device, trial.differing == 0 ? Finding::plain : Finding::by_lane),
        lane_(fleet_, trial.place, trial.lanes_in_frame, trial.differing) {}

  void run() {
    if (trial_.first != 0) step(trial_.first);
    while (retired_ < trial_.limit) {
      const u64 pc = fleet_.get(Field::pc, 0);
      const Entry* entry = entry_at(pc);
      if (entry != nullptr) {
        bool refused = false;
        ASSERT_NO_FATAL_FAILURE(visit(*entry, pc, refused));
        if (!refused) continue;
      }
      if (is_current_) {
        ASSERT_NO_FATAL_FAILURE(look_at_pages());
      }
      is_current_ = false;
      if (!step(1)) break;
    }
  }
  u64 retired() const { return retired_; }
  u64 in_regions() const { return in_regions_; }
  u64 visits() const { return visits_; }
  size_t regions() const { return regions_.size(); }

 private:
  struct Region {
    HostedRegion host;
    std::optional<PtxRegion> ptx;  // if there is one, it runs
  };
  struct Entry {
    size_t region;
    u32 number;
  };

  /// False: the lane has stopped.
  bool step(u64 instructions) {
    const RunResult result = fleet_.run({.instructions = instructions});
    retired_ += result.instructions;
    return result.instructions == instructions && fleet_.stops()[0].reason == StopReason::budget;
  }

  void look_at_pages() {
    looked_at_ = visits_;
    ASSERT_EQ(lane_.differing_bytes(), "") << "behind the region at " << std::hex << visited_ << ", visits until "
                                           << std::dec << visits_ << ", " << retired_ << " instructions";
  }

  void visit(const Entry& entry, u64 pc, bool& refused) {
    if (!is_current_) {
      lane_.take_registers();
      lane_.take_pages();
      is_current_ = true;
      looked_at_ = visits_;
    }
    const u32 left = 1 + static_cast<u32>(random_.below(random_.one_in(2) ? 128 : 4096));
    const u32 nzcv = static_cast<u32>(fleet_.get(Field::nzcv, 0));
    DeviceRegionResult result;
    const Region& region = regions_[entry.region];
    const u32 number = entry.number * kEntryApart, flags = nzcv | (left * 7 / 8) << kAimShift;
    if (region.ptx) result = region.ptx->run(lane_.column(), number, lane_.team(), left, flags);
    else region.host.run(&result, lane_.column(), number, lane_.team(), left, flags);
    const u32 retired = left - result.left;
    refused = retired == 0 || (result.nzcv & kRegionRefused) != 0;
    visits_++;
    visited_ = pc;
    in_regions_ += retired;
    if (retired == 0) return;
    const u64 thread = fleet_.get(Field::tpidr, 0);
    ASSERT_TRUE(step(retired)) << "a region at " << std::hex << pc << " goes on behind a stop";
    if (fleet_.get(Field::tpidr, 0) != thread) {  // the turn of another thread has begun meanwhile
      is_current_ = false;
      return;
    }
    const u64 there = fleet_.get(Field::pc, 0);
    ASSERT_EQ(result.pc, there) << std::hex << "from " << pc << " on to " << there << " and not " << result.pc
                                << std::dec << ", " << retired << " instructions, " << retired_ << " in all";
    ASSERT_EQ(result.nzcv & 15, fleet_.get(Field::nzcv, 0)) << std::hex << "from " << pc << " to " << there;
    ASSERT_EQ(lane_.differing_registers(), "") << std::hex << "from " << pc << " to " << there << std::dec << ", "
                                               << retired << " instructions, " << retired_ << " in all";
    if (visits_ - looked_at_ >= trial_.visits_until_look) {
      ASSERT_NO_FATAL_FAILURE(look_at_pages());
    }
  }

  bool fetch(u64 pc, u32& word) {
    const auto [at, is_new] = words_.try_emplace(pc, 0);
    if (is_new) {
      std::vector<u8> bytes(4);
      u32 done[1];
      fleet_.read(std::vector<Transfer>{{.size = 4, .address = pc}}, bytes, done);
      if (done[0] == 4) std::memcpy(&at->second, bytes.data(), 4);
    }
    word = at->second;
    return word != 0 && pc < trial_.written;
  }

  const Entry* entry_at(u64 pc) {
    auto found = entries_.find(pc);
    if (found == entries_.end() && pc < trial_.written && ++heat_[pc] == trial_.hot) {
      Shape shape;
      std::string why;
      RegionLimits limits;
      limits.calls_leave = true;
      if (find_shape(
              pc, [&](u64 at, u32& word) { return fetch(at, word); }, limits, shape, why,
              [&](const Instruction& at) { return compiler_.is_refused(at); })) {
        for (u32 i = 0; i < shape.entries.size(); i++) {
          entries_.try_emplace(shape.entries[i], Entry{regions_.size(), i});
        }
        regions_.push_back(region_of(shape));
        found = entries_.find(pc);
      }
    }
    return found != entries_.end() ? &found->second : nullptr;
  }

  Region region_of(const Shape& shape) {
    Region region;
    if (trial_.as_ptx) {
      const auto ptx = compiler_.code_of(shape, kName);
      region.ptx.emplace(std::string(ptx.begin(), ptx.end()), kName);
    } else {
      region.host = hosted(*compiler_.module_of(shape, kName), kName);
    }
    return region;
  }

  static constexpr const char* kName = "region";
  Fleet& fleet_;
  const Trial trial_;
  Random random_;
  RegionCompiler compiler_;
  ProgramLane lane_;
  u64 retired_ = 0, in_regions_ = 0, visits_ = 0;
  bool is_current_ = false;  // lane_ has all that the fleet's lane has
  u64 looked_at_ = 0;        // visits then
  u64 visited_ = 0;          // the address of the last region
  std::vector<Region> regions_;
  std::map<u64, Entry> entries_;
  std::map<u64, u32> heat_, words_;
};

std::vector<u8> bytes_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream bytes;
  bytes << file.rdbuf();
  const std::string text = bytes.str();
  return {text.begin(), text.end()};
}

/// `root`: null: the program is a file of the host. `mostly`: more than half of what it retires is to be in regions.
void run(const std::vector<std::string>& arguments, const std::vector<u8>& input, const char* root, u64 memory,
         const Trial& trial, bool mostly) {
  LinuxOptions options;
  options.arguments = arguments;
  options.environment = {"HOME=/"};
  options.standard_input = input;
  options.keep_memory = true;
  FleetOptions fleet;
  fleet.device = "cpu";
  fleet.memory = memory;
  fleet.threads = 1;
  if (root != nullptr) options.root = read_root(root);
  const ElfImage image = root != nullptr ? load_program(*options.root, arguments[0]).image : load_elf(arguments[0]);
  LinuxFleet machine(image, fleet, options);
  ProgramRunner runner(machine.fleet(), trial);
  ASSERT_NO_FATAL_FAILURE(runner.run());
  const u64 retired = runner.retired() - trial.first;
  std::ostringstream what;
  what << arguments[0] << ": " << retired << " instructions, " << runner.in_regions() << " of them in "
       << runner.regions() << " regions, " << runner.visits() << " visits";
  std::puts(what.str().c_str());
  if (mostly) {
    EXPECT_GT(runner.in_regions() * 2, retired);
  }
}

u64 number_of(const char* name, u64 otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 0) : otherwise;
}

/// So often a lane of a random program goes on: behind a fault, or where it began.
constexpr int kRepairs = 40;
TEST(DeviceWandering, IsAsInterpreted) {
  const u64 first = number_of("MYRIARM_PROGRAM_SEED", 1), seeds = number_of("MYRIARM_PROGRAM_SEEDS", 2);
  for (u64 seed = first; seed < first + seeds; seed++) {
    Random random(seed);
    const WanderingProgram made = wandering_program(random);
    FleetOptions options;
    options.device = "cpu";
    options.memory = WanderingLayout::window_bytes;
    options.threads = 1;
    Fleet fleet(made.program, options);
    for (u32 n = 0; n < 32; n++) fleet.set(n == 31 ? Field::sp : x(n), 0, first_wandering_value(random, n));
    fleet.set(Field::pc, 0, random.one_in(2) ? made.start : made.starts[random.below(made.starts.size())]);
    Trial trial;
    trial.seed = seed;
    trial.lanes_in_frame = random.one_in(2) ? kDeviceTeam : 4;
    trial.place = static_cast<u32>(random.below(trial.lanes_in_frame));
    trial.differing = static_cast<u32>(random.below(3));
    trial.hot = 2;
    trial.limit = 8000;
    trial.as_ptx = true;
    trial.written = WanderingLayout::written;
    ProgramRunner runner(fleet, trial);
    for (int repairs = 0; repairs < kRepairs && runner.retired() < trial.limit; repairs++) {
      ASSERT_NO_FATAL_FAILURE(runner.run()) << "seed " << seed;
      const Stop stop = fleet.stops()[0];
      const u64 pc = fleet.get(Field::pc, 0);
      const bool passes = stop.reason == StopReason::fault && stop.address != pc;
      fleet.set(Field::pc, 0, passes ? pc + 4 : made.start);
      const u32 lanes[] = {0};
      fleet.resume(lanes);
    }
    std::ostringstream what;
    what << "seed " << seed << ": " << runner.retired() << " instructions, " << runner.in_regions() << " of them in "
         << runner.regions() << " regions";
    std::puts(what.str().c_str());
    EXPECT_GT(runner.in_regions() * 3, runner.retired());
  }
}

/// See translate/llvm/signed_shifts.h.
TEST(DevicePtx, ShiftsOfASignAreSigned) {
  constexpr u32 kWords[] = {
      0x9e670000,  // again: fmov d0, x0
      0x7ee08800,  // cmge d0, d0, #0
      0x9e660002,  // fmov x2, d0
      0x8b020063,  // add x3, x3, x2
      0xca040000,  // eor x0, x0, x4
      0xf1000421,  // subs x1, x1, #1
      0x54ffff41,  // b.ne again
      0xd4400000,  // hlt #0
  };
  std::vector<u8> bytes(sizeof kWords);
  std::memcpy(bytes.data(), kWords, sizeof kWords);
  constexpr u64 kMemory = 64 * kPageSize;
  FleetOptions options;
  options.device = "cpu";
  options.memory = kMemory;
  options.threads = 1;
  Fleet fleet(raw_program("signs", bytes, kPageSize, kMemory), options);
  fleet.set(x(1), 0, 100);
  fleet.set(x(4), 0, u64{1} << 63);
  Trial trial;
  trial.hot = 2;
  trial.as_ptx = true;
  ProgramRunner runner(fleet, trial);
  ASSERT_NO_FATAL_FAILURE(runner.run());
  EXPECT_EQ(fleet.get(x(3), 0), u64(-50));
  EXPECT_GT(runner.in_regions(), 500U);
}

class DeviceProgram : public testing::TestWithParam<const char*> {};
TEST_P(DeviceProgram, IsAsInterpreted) {
  const std::string path = std::string(MYRIARM_SOURCE_DIR "/examples/prebuilt/") + GetParam();
  u64 seed = 0;
  for (const char* at = GetParam(); *at != 0; at++) seed = seed * 31 + static_cast<u8>(*at);
  Random random(seed);
  Trial trial;
  trial.seed = seed;
  trial.lanes_in_frame = random.one_in(2) ? kDeviceTeam : 4;
  trial.place = static_cast<u32>(random.below(trial.lanes_in_frame));
  trial.differing = static_cast<u32>(random.below(3));
  trial.limit = 200'000;
  run({path}, {}, nullptr, u64{4} << 20, trial, true);
}
INSTANTIATE_TEST_SUITE_P(All, DeviceProgram,
                         testing::Values("collatz", "life", "mandelbrot", "mixed", "nbody", "pi", "proof_of_work",
                                         "sha256"),
                         [](const auto& test) { return std::string(test.param); });

TEST(DeviceProgram, AskedForIsAsInterpreted) {
  const char* command = std::getenv("MYRIARM_PROGRAM");
  if (command == nullptr) GTEST_SKIP() << "MYRIARM_PROGRAM names none";
  std::istringstream words(command);
  std::vector<std::string> arguments;
  for (std::string word; words >> word;) arguments.push_back(word);
  const char* input = std::getenv("MYRIARM_PROGRAM_INPUT");
  Trial trial;
  trial.seed = number_of("MYRIARM_PROGRAM_SEED", 1);
  trial.differing = static_cast<u32>(number_of("MYRIARM_PROGRAM_DIFFERING", 1));
  trial.hot = static_cast<u32>(number_of("MYRIARM_PROGRAM_HOT", 200));
  trial.visits_until_look = static_cast<u32>(number_of("MYRIARM_PROGRAM_VISITS", 50));
  trial.limit = number_of("MYRIARM_PROGRAM_LIMIT", kEndless);
  trial.first = number_of("MYRIARM_PROGRAM_FIRST", 0);
  trial.as_ptx = number_of("MYRIARM_PROGRAM_PTX", 0) != 0;
  run(arguments, input != nullptr ? bytes_of_file(input) : std::vector<u8>(), std::getenv("MYRIARM_PROGRAM_ROOT"),
      number_of("MYRIARM_PROGRAM_MEMORY", 256) << 20, trial, false);
}

}  // namespace
}  // namespace myriarm::translate
