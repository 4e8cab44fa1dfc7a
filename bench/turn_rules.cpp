// SPDX-License-Identifier: Apache-2.0
// A model of a team of 32 lanes with inputs of their own, on the CPU: how many instructions it has for what it costs, by the rule by
// which parted lanes take turns (docs/design/meeting-at-calls.md). sp, pc and kind of each lane's instructions are recorded first. A
// step of the team costs 1, and 1 for each kind of instruction in it; a turn without waiting costs 8 more. In step: 16.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <numeric>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "backends/cuda/row_numbers.h"
#include "isa/control_flow.h"
#include "isa/decoder.h"
#include "myriarm/linux.h"

namespace myriarm::bench {
namespace {

constexpr const char* kUsage =
    "turn_rules [--root DIR] [--inputs FILE] [--skip N] [--count N] [--env NAME=VALUE]... PROGRAM [ARG...]\n"
    "--root: as of myriarm run; --env: a variable of all lanes.\n"
    "--inputs: a line is the standard input of a lane, and lanes begin at their first read; else at the start.\n"
    "--skip: the instructions of a lane that are not recorded; --count: the most that are (1,000,000).\n";
constexpr u32 kLanes = 32;
constexpr u32 kShortTurn = 64, kTurnCost = 8;

struct Settings {
  std::string root, inputs, program;
  u64 skip = 0, count = 1'000'000;
  std::vector<std::string> environment, arguments;
};

/// Where a lane was before an instruction, and what that is.
struct Moment {
  u32 sp, pc;
  u16 kind;
  bool meets;  // a call or a return
};

bool parse(int argc, char** argv, Settings& settings) {
  int i = 1;
  for (; i + 1 < argc && std::strncmp(argv[i], "--", 2) == 0; i += 2) {
    const std::string name = argv[i], value = argv[i + 1];
    if (name == "--root") settings.root = value;
    else if (name == "--inputs") settings.inputs = value;
    else if (name == "--skip") settings.skip = std::strtoull(value.c_str(), nullptr, 0);
    else if (name == "--count") settings.count = std::strtoull(value.c_str(), nullptr, 0);
    else if (name == "--env") settings.environment.push_back(value);
    else return false;
  }
  if (i >= argc) return false;
  settings.program = argv[i];
  settings.arguments.assign(argv + i, argv + argc);
  return true;
}

LinuxFleet make_fleet(const Settings& settings) {
  LinuxOptions options;
  options.arguments = settings.arguments;
  options.environment = settings.environment;
  options.restartable = false;
  options.keep_memory = true;
  if (!settings.inputs.empty()) {
    std::ifstream file(settings.inputs, std::ios::binary);
    std::string line;
    while (options.standard_inputs.size() < kLanes && std::getline(file, line)) {
      line += '\n';
      options.standard_inputs.add({reinterpret_cast<const uint8_t*>(line.data()), line.size()});
    }
    options.fork_after = {ForkPoint::Kind::read, 0, ""};
  }
  FleetOptions fleet;
  fleet.device = "cpu";
  fleet.lanes = kLanes;
  if (!settings.root.empty()) {
    options.root = read_root(settings.root);
    const RootProgram program = load_program(*options.root, settings.program);
    return LinuxFleet(program.image, fleet, std::move(options));
  }
  std::ifstream file(settings.program, std::ios::binary);
  const std::vector<uint8_t> bytes((std::istreambuf_iterator<char>(file)), {});
  return LinuxFleet(parse_elf(bytes, settings.program), fleet, std::move(options));
}

/// What each lane executes, by lane, until it ends.
std::vector<std::vector<Moment>> record(LinuxFleet& processes, const Settings& settings) {
  Fleet& fleet = processes.fleet();
  std::vector<u32> lanes(kLanes);
  std::iota(lanes.begin(), lanes.end(), 0);
  u64 limit = fleet.get(Field::instructions, 0) + settings.skip;
  if (settings.skip != 0) {
    fleet.fill(Field::limit, limit);
    processes.run();
  }
  std::vector<std::vector<Moment>> moments(kLanes);
  std::unordered_map<u64, std::pair<u16, bool>> known;
  std::vector<u64> sp(kLanes), pc(kLanes), retired(kLanes), before(kLanes);
  for (u64 turn = 0; turn < settings.count; turn++) {
    fleet.get(Field::sp, lanes, sp);
    fleet.get(Field::pc, lanes, pc);
    fleet.get(Field::instructions, lanes, before);
    fleet.fill(Field::limit, ++limit);
    fleet.run();
    fleet.get(Field::instructions, lanes, retired);
    if (retired == before) break;
    for (u32 lane : lanes) {
      if (retired[lane] == before[lane]) continue;
      const auto [at, is_new] = known.try_emplace(pc[lane]);
      if (is_new) {
        const std::vector<uint8_t> bytes = fleet.read(lane, pc[lane], 4);
        u32 word = 0;
        if (bytes.size() == sizeof word) std::memcpy(&word, bytes.data(), sizeof word);
        const u16 row = decode(decode_table(), word).row;
        at->second = {cuda::kSemantics.id[row], flow_of(row) == Flow::call || flow_of(row) == Flow::ret};
      }
      moments[lane].push_back(
          {static_cast<u32>(sp[lane] >> 4), static_cast<u32>(pc[lane]), at->second.first, at->second.second});
    }
  }
  return moments;
}

enum class Rule { lowest_pc, least_progress, nobody_waits };

class Team {
 public:
  Team(const std::vector<std::vector<Moment>>& moments, Rule rule) : moments_(moments), rule_(rule) {}

  /// Instructions for what they cost.
  double run() {
    u64 cost = 0, instructions = 0;
    for (choose(); !going_.empty(); choose()) {
      if (rule_ == Rule::nobody_waits) cost += kTurnCost;
      for (u32 step = 0; !going_.empty(); step++) {
        std::set<u16> kinds;
        for (u32 lane : going_) kinds.insert(now(lane).kind);
        cost += 1 + kinds.size();
        instructions += going_.size();
        std::erase_if(going_, [&](u32 lane) {
          const bool ends = now(lane).meets || (rule_ == Rule::nobody_waits && step + 1 == kShortTurn);
          return ++done_[lane] == moments_[lane].size() || ends;
        });
      }
    }
    return static_cast<double>(instructions) / static_cast<double>(cost);
  }

 private:
  const Moment& now(u32 lane) const { return moments_[lane][done_[lane]]; }
  /// All lanes wait: which go on?
  void choose() {
    for (u32 lane = 0; lane < kLanes; lane++) {
      if (done_[lane] < moments_[lane].size()) going_.push_back(lane);
    }
    if (going_.empty() || rule_ == Rule::nobody_waits) return;
    if (std::ranges::all_of(going_, [&](u32 lane) { return now(lane).pc == now(going_[0]).pc; })) return;
    const auto first = std::ranges::min(going_, {}, [&](u32 lane) {
      return std::pair{now(lane).sp, rule_ == Rule::lowest_pc ? u64{now(lane).pc} : done_[lane]};
    });
    const Moment chosen = now(first);
    std::erase_if(going_, [&](u32 lane) { return now(lane).sp != chosen.sp || now(lane).pc != chosen.pc; });
  }

  const std::vector<std::vector<Moment>>& moments_;
  const Rule rule_;
  std::array<u64, kLanes> done_ = {};
  std::vector<u32> going_;
};

int run(const Settings& settings) {
  LinuxFleet processes = make_fleet(settings);
  const std::vector<std::vector<Moment>> moments = record(processes, settings);
  u64 sum = 0;
  for (const auto& of_lane : moments) sum += of_lane.size();
  std::printf("%s: %llu instructions a lane from %llu on\n", settings.program.c_str(),
              static_cast<unsigned long long>(sum / kLanes), static_cast<unsigned long long>(settings.skip));
  std::printf("instructions a cost: lowest pc %.2f, least progress %.2f, nobody waits %.2f\n",
              Team(moments, Rule::lowest_pc).run(), Team(moments, Rule::least_progress).run(),
              Team(moments, Rule::nobody_waits).run());
  return 0;
}

}  // namespace
}  // namespace myriarm::bench

int main(int argc, char** argv) {
  myriarm::bench::Settings settings;
  if (!myriarm::bench::parse(argc, argv, settings)) {
    std::fputs(myriarm::bench::kUsage, stderr);
    return 2;
  }
  try {
    return myriarm::bench::run(settings);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "turn_rules: %s\n", error.what());
    return 1;
  }
}
