// SPDX-License-Identifier: Apache-2.0
// Random processes, which make random system calls between random instructions. However a run is divided, whichever engine
// runs it, with snapshots, restores, forks, transactions and a handler that sees every call, and whatever the number of
// lanes: registers, memory, permissions, output, stops, counts and all that a process is are those of one run of the CPU's
// interpreter. Runs on the device that MYRIARM_TEST_DEVICE names.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <numeric>

#include "fleet/program_state.h"
#include "generate/processes.h"
#include "kernel/process.h"
#include "myriarm/fleet.h"

namespace myriarm {
namespace {

using Layout = ProcessLayout;

constexpr u32 kMostLanesTested = 40;  // one lane, a part of a team, more than one team
constexpr u64 kSeeds = 4;

/// What a fleet of random processes begins with. Lane n is the same in fleets of all sizes. Lanes 2n and 2n + 1 have the
/// same input and the same random bytes, so that either can go on in the place of the other.
struct Beginning {
  Program program;
  std::vector<std::vector<u64>> registers;  // of each lane: x0 to x30, SP
  std::vector<u64> starts, limits;
  std::vector<std::vector<u8>> standard_inputs, files;  // of each two lanes
};

Beginning make_beginning(u64 seed) {
  static const BlockGenerator generator(process_rows());
  Random random(seed);
  Beginning made;
  RandomProcess process = random_process(random, generator);
  made.program = std::move(process.program);
  for (u32 lane = 0; lane < kMostLanesTested; lane++) {
    std::vector<u64> registers;
    for (u32 n = 0; n < 32; n++) registers.push_back(first_value(random, n));
    made.registers.push_back(std::move(registers));
    made.starts.push_back(process.starts[random.below(process.starts.size())]);
    made.limits.push_back(600 + random.below(3000));
  }
  for (u32 pair = 0; pair < kMostLanesTested / 2; pair++) {
    for (auto* list : {&made.standard_inputs, &made.files}) {
      std::vector<u8> bytes(random.below(2) * random.below(6000));
      for (u8& byte : bytes) byte = static_cast<u8>(random.next());
      list->push_back(std::move(bytes));
    }
  }
  return made;
}

/// A call as the host or a handler sees it.
struct SeenCall {
  u64 number;
  std::array<u64, 6> arguments;
  bool operator==(const SeenCall&) const = default;
};
/// For GoogleTest.
void PrintTo(const SeenCall& call, std::ostream* out) {
  *out << std::dec << call.number << "(" << std::hex;
  for (u64 argument : call.arguments) *out << " " << argument;
  *out << " )" << std::dec;
}
/// Where two lists of calls differ, as text; empty if they do not.
std::string difference(const std::vector<SeenCall>& have, const std::vector<SeenCall>& want) {
  for (size_t i = 0; i < std::max(have.size(), want.size()); i++) {
    if (i < have.size() && i < want.size() && have[i] == want[i]) continue;
    const auto text = [&](const std::vector<SeenCall>& calls) {
      return i < calls.size() ? testing::PrintToString(calls[i]) : std::string("missing");
    };
    return "call " + std::to_string(i) + " is " + text(have) + ", not " + text(want);
  }
  return {};
}

/// Keeps what lanes write, with snapshots, and the calls of traced lanes.
class Host final : public ProcessHost {
 public:
  struct Kept {
    std::array<std::vector<u8>, 2> output;
  };

  Host(const Beginning& beginning, u32 lanes, u32 traced_in) : kept(lanes), calls(lanes), missing(lanes) {
    for (u32 lane = 0; lane < lanes; lane++) {
      GivenInput input;
      input.number = lane / 2;
      input.standard_input = beginning.standard_inputs[lane / 2];
      input.file = beginning.files[lane / 2];
      input.output_limit = 3000;
      input.has_file = true;
      input.traced = lane % traced_in == 0;
      given_.push_back(input);
    }
  }
  GivenInput input(uint32_t lane) const override { return given_[lane]; }
  PutOut put_out(uint32_t lane, unsigned stream, uint64_t position, std::span<const uint8_t> bytes) override {
    std::vector<u8>& output = kept[lane].output[stream - 1];
    EXPECT_LE(position, output.size()) << "lane " << lane;
    output.resize(position);
    output.insert(output.end(), bytes.begin(), bytes.end());
    return {PutOut::Kind::taken, bytes.size()};
  }
  void unimplemented(HostedCall& call) override { missing[call.lane].push_back(seen(call)); }
  void before(HostedCall& call) override { calls[call.lane].push_back(seen(call)); }
  void after(HostedCall& call, const int64_t*) override {
    EXPECT_EQ(calls[call.lane].back().number, call.number) << "lane " << call.lane;
  }
  void saved(uint64_t snapshot, std::span<const uint32_t> lanes) override {
    std::vector<u32> all(kept.size());
    std::iota(all.begin(), all.end(), 0u);
    for (u32 lane : lanes.empty() ? std::span<const u32>(all) : lanes) snapshots_[snapshot][lane] = kept[lane];
  }
  void restored(uint64_t snapshot, std::span<const uint32_t> from, std::span<const uint32_t> to) override {
    const std::map<u32, Kept>& saved = snapshots_.at(snapshot);
    if (from.empty()) {
      for (const auto& [lane, state] : saved) kept[lane] = state;
    }
    for (size_t i = 0; i < from.size(); i++) kept[to[i]] = saved.at(from[i]);
  }
  void dropped(uint64_t snapshot) override { snapshots_.erase(snapshot); }

  std::vector<Kept> kept;  // of each lane
  std::vector<std::vector<SeenCall>> calls, missing;

 private:
  static SeenCall seen(const HostedCall& call) {
    SeenCall made = {call.number, {}};
    std::copy(std::begin(call.arguments), std::end(call.arguments), made.arguments.begin());
    return made;
  }

  std::vector<GivenInput> given_;
  std::map<u64, std::map<u32, Kept>> snapshots_;
};

/// All that there is of a lane at its end.
struct LaneEnd {
  Program program;  // as Fleet::freeze() has it: memory, registers, the words of the process
  Stop stop;
  Host::Kept kept;
};

/// The words of a process that mean something: its lists have room behind them.
std::vector<u8> meaning(const std::vector<u8>& words) {
  if (words.empty()) return {};  // it has exited
  const auto count = [&](u64 offset) {
    u64 value = 0;
    std::memcpy(&value, &words[offset], sizeof value);
    return value;
  };
  std::vector<u8> kept;
  const auto keep = [&](u64 offset, u64 size) {
    kept.insert(kept.end(), words.begin() + static_cast<i64>(offset), words.begin() + static_cast<i64>(offset + size));
  };
  keep(0, kernel::kRanges + count(kernel::kRangeCount) * 16);
  keep(kernel::kActions, kernel::kMostSignals * 32);
  keep(kernel::kOpenings, count(kernel::kOpeningCount) * 32);
  keep(kernel::kObjects, count(kernel::kObjectCount) * 256);
  return kept;
}

/// What differs between two lanes, as text; empty if nothing does.
std::string difference(const LaneEnd& have, const LaneEnd& want) {
  if (have.stop.reason != want.stop.reason || have.stop.detail != want.stop.detail ||
      have.stop.address != want.stop.address || have.stop.fault != want.stop.fault) {
    return std::string("it stopped with ") + name(have.stop.reason) + " " + std::to_string(have.stop.detail) +
           ", not " + name(want.stop.reason) + " " + std::to_string(want.stop.detail);
  }
  for (size_t field = 0; field < have.program.state->fields.size(); field++) {
    const u64 a = have.program.state->fields[field], b = want.program.state->fields[field];
    if (a != b) return "field " + std::to_string(field) + " is " + std::to_string(a) + ", not " + std::to_string(b);
  }
  if (have.program.entry != want.program.entry) return "pc";
  if (have.program.stack_pointer != want.program.stack_pointer) return "sp";
  for (unsigned stream : {0, 1}) {
    if (have.kept.output[stream] != want.kept.output[stream]) return "output " + std::to_string(stream + 1);
  }
  const std::vector<u8> have_words = meaning(have.program.state->kernel_words);
  const std::vector<u8> want_words = meaning(want.program.state->kernel_words);
  for (size_t at = 0; at < std::max(have_words.size(), want_words.size()); at += 8) {
    const auto text = [&](const std::vector<u8>& words) {
      u64 value = 0;
      if (at < words.size()) std::memcpy(&value, &words[at], sizeof value);
      return at < words.size() ? std::to_string(value) : std::string("missing");
    };
    if (text(have_words) != text(want_words)) {
      return "the word of the process at " + std::to_string(at) + " is " + text(have_words) + ", not " +
             text(want_words);
    }
  }
  const auto &a = have.program.segments, &b = want.program.segments;
  for (size_t i = 0; i < std::max(a.size(), b.size()); i++) {
    if (i >= a.size() || i >= b.size() || a[i].address != b[i].address || a[i].size != b[i].size ||
        a[i].permissions != b[i].permissions) {
      return "what is mapped, at segment " + std::to_string(i);
    }
    if (a[i].bytes != b[i].bytes) return "memory, in the segment at " + std::to_string(a[i].address);
  }
  return {};
}

std::string test_device() {
  const char* device = std::getenv("MYRIARM_TEST_DEVICE");
  return device != nullptr ? device : "cpu";
}

/// A fleet of random processes.
struct Processes {
  Processes(const Beginning& beginning, const std::string& device, u32 lanes, u32 traced_in,
            MemoryPolicy policy = MemoryPolicy::private_copy)
      : host(std::make_shared<Host>(beginning, lanes, traced_in)), fleet(made(beginning, device, lanes, policy, host)) {
    std::vector<u64> values(lanes);
    for (u32 n = 0; n < 32; n++) {
      for (u32 lane = 0; lane < lanes; lane++) values[lane] = beginning.registers[lane][n];
      fleet.set_all(n == 31 ? Field::sp : x(n), values);
    }
    fleet.set_all(Field::pc, std::span(beginning.starts).first(lanes));
    fleet.set_all(Field::limit, std::span(beginning.limits).first(lanes));
  }
  static Fleet made(const Beginning& beginning, const std::string& device, u32 lanes, MemoryPolicy policy,
                    const std::shared_ptr<Host>& host) {
    FleetOptions options;
    options.device = device;
    options.lanes = lanes;
    options.memory = Layout::window_bytes;
    options.memory_policy = policy;
    options.processes.host = host;
    options.processes.seed = 5;
    options.processes.keep_memory = true;
    return Fleet(beginning.program, options);
  }
  std::vector<LaneEnd> ends() {
    std::vector<LaneEnd> ends;
    for (u32 lane = 0; lane < fleet.lanes(); lane++) {
      ends.push_back({fleet.freeze(lane), fleet.stops()[lane], host->kept[lane]});
    }
    return ends;
  }

  std::shared_ptr<Host> host;
  Fleet fleet;
};

/// What one run of the CPU's interpreter gives, of the greatest fleet, in which the host sees every call.
struct Reference {
  explicit Reference(u64 seed) : beginning(make_beginning(seed)), processes(beginning, "cpu", kMostLanesTested, 1) {
    processes.fleet.run(RunOptions{.engine = Engine::interpreter});
    ends = processes.ends();
  }
  static Reference& of(u64 seed) {
    static std::map<u64, std::unique_ptr<Reference>> known;
    std::unique_ptr<Reference>& made = known[seed];
    if (!made) made = std::make_unique<Reference>(seed);
    return *made;
  }
  const Host& host() const { return *processes.host; }

  Beginning beginning;
  Processes processes;
  std::vector<LaneEnd> ends;
};

/// Lanes and seed.
class RandomProcesses : public testing::TestWithParam<std::tuple<u32, u64>> {
 protected:
  static constexpr u32 kTracedIn = 3;  // one lane of three is traced: its calls take another way

  u32 lanes() const { return std::get<0>(GetParam()); }
  u64 seed() const { return std::get<1>(GetParam()); }
  Reference& reference() { return Reference::of(seed()); }
  Processes processes(MemoryPolicy policy = MemoryPolicy::private_copy) {
    return Processes(reference().beginning, test_device(), lanes(), kTracedIn, policy);
  }
  /// `origins`: the lane of the reference that each lane became.
  void expect_as_in_one_run(Processes& tested, const std::vector<u32>& origins) {
    const std::vector<LaneEnd> ends = tested.ends();
    for (u32 lane = 0; lane < lanes(); lane++) {
      ASSERT_EQ(difference(ends[lane], reference().ends[origins[lane]]), "") << "lane " << lane;
    }
  }
  void expect_as_in_one_run(Processes& tested) {
    std::vector<u32> origins(lanes());
    std::iota(origins.begin(), origins.end(), 0u);
    expect_as_in_one_run(tested, origins);
    for (u32 lane = 0; lane < lanes(); lane++) {
      EXPECT_EQ(difference(tested.host->missing[lane], reference().host().missing[lane]), "") << "lane " << lane;
      if (lane % kTracedIn != 0) continue;
      EXPECT_EQ(difference(tested.host->calls[lane], reference().host().calls[lane]), "") << "lane " << lane;
    }
  }
  /// Some lanes, at least one.
  std::vector<u32> some_lanes(Random& random) {
    std::vector<u32> chosen;
    const u64 share = 1 + random.below(4);
    for (u32 lane = 0; lane < lanes(); lane++) {
      if (random.below(share) == 0) chosen.push_back(lane);
    }
    if (chosen.empty()) chosen.push_back(static_cast<u32>(random.below(lanes())));
    return chosen;
  }
  /// A part of a run: any budget, mode and engine.
  static RunOptions some_run(Random& random, u64 most) {
    RunOptions options;
    options.instructions = 1 + random.below(random.one_in(3) ? 20 : most);
    constexpr Mode kModes[] = {Mode::run, Mode::continuous, Mode::mega, Mode::self_dispatch};
    options.mode = kModes[random.below(std::size(kModes))];
    options.instructions_per_batch = std::max<u64>(1 + random.below(200), options.instructions / 8);
    options.engine = random.one_in(2) ? Engine::interpreter : Engine::stepper;
    return options;
  }
};
INSTANTIATE_TEST_SUITE_P(All, RandomProcesses,
                         testing::Combine(testing::Values(1u, 5u, kMostLanesTested),
                                          testing::Range(u64{1}, kSeeds + 1)),
                         [](const auto& info) {
                           return std::to_string(std::get<0>(info.param)) + "_lanes_seed_" +
                                  std::to_string(std::get<1>(info.param));
                         });

TEST_P(RandomProcesses, EnginesAgree) {
  for (Engine engine : {Engine::interpreter, Engine::stepper}) {
    SCOPED_TRACE(name(engine));
    Processes tested = processes();
    tested.fleet.run(RunOptions{.engine = engine});
    expect_as_in_one_run(tested);
  }
}

TEST_P(RandomProcesses, ARunMayBeDivided) {
  Random random(seed() + lanes());
  Processes tested = processes();
  u64 sum = 0;
  for (int part = 0; part < 60; part++) {
    RunOptions options = some_run(random, 200);
    if (random.one_in(3)) options.lanes = some_lanes(random);
    sum += tested.fleet.run(options).instructions;
  }
  sum += tested.fleet.run().instructions;
  expect_as_in_one_run(tested);
  std::vector<u64> counts(lanes());
  tested.fleet.get_all(Field::instructions, counts);
  EXPECT_EQ(sum, std::accumulate(counts.begin(), counts.end(), u64{0}));
}

TEST_P(RandomProcesses, AHandlerMayLeaveEveryCallToTheLibrary) {
  Random random(seed() * 100 + lanes());
  Processes tested = processes();
  std::vector<std::vector<SeenCall>> seen(lanes());
  RunOptions options;
  const SyscallHandler handler = [&](Fleet&, const SyscallBatch& batch) {
    for (size_t i = 0; i < batch.lanes.size(); i++) {
      EXPECT_EQ(batch.actions[i], SyscallAction::serve);
      SeenCall call = {static_cast<u32>(batch.numbers[i]), {}};
      std::copy_n(&batch.arguments[6 * i], 6, call.arguments.begin());
      seen[batch.lanes[i]].push_back(call);
    }
  };
  for (int part = 0; part < 6; part++) {
    options = some_run(random, 800);
    options.on_syscall = handler;
    tested.fleet.run(options);
  }
  options = {};
  options.on_syscall = handler;
  tested.fleet.run(options);
  expect_as_in_one_run(tested);
  for (u32 lane = 0; lane < lanes(); lane++) {
    EXPECT_EQ(difference(seen[lane], reference().host().calls[lane]), "") << "lane " << lane;
  }
}

TEST_P(RandomProcesses, SnapshotsForksAndTransactionsLeaveNoTrace) {
  Random random(seed() * 1000 + lanes());
  Processes tested = processes(MemoryPolicy::transactional);
  Fleet& fleet = tested.fleet;
  std::vector<u32> origins(lanes()), at_begin;  // at_begin: of the transaction; empty before its first run
  std::iota(origins.begin(), origins.end(), 0u);
  struct Kept {
    Snapshot snapshot;
    std::vector<u32> origins;  // of all lanes
  };
  std::vector<Kept> kept;
  u64 forks = 0, restores = 0, rollbacks = 0;
  for (int step = 0; step < 100; step++) {
    switch (random.below(10)) {
      case 0:
      case 1:
        if (kept.size() == 4) kept.erase(kept.begin() + static_cast<i64>(random.below(kept.size())));
        kept.push_back({random.one_in(2) ? fleet.snapshot() : fleet.snapshot(some_lanes(random)), origins});
        break;
      case 2: {
        if (kept.empty()) break;
        const Kept& chosen = kept[random.below(kept.size())];
        std::vector<u32> back = chosen.snapshot.lanes();
        if (random.one_in(2)) {
          fleet.restore(chosen.snapshot);
        } else {
          std::erase_if(back, [&](u32) { return random.one_in(2); });
          if (!back.empty()) fleet.restore(chosen.snapshot, back);
        }
        for (u32 lane : back) origins[lane] = chosen.origins[lane];
        restores++;
        break;
      }
      case 3: {
        const u32 from = static_cast<u32>(random.below(lanes())), to = from ^ 1;
        if (to >= lanes()) break;
        fleet.fork(from, std::span(&to, 1));
        origins[to] = origins[from];
        forks++;
        break;
      }
      case 4:
        if (random.one_in(2)) {
          fleet.commit();
        } else {
          fleet.rollback();
          if (!at_begin.empty()) origins = at_begin;
          rollbacks += !at_begin.empty();
        }
        at_begin.clear();
        break;
      default: {
        if (at_begin.empty()) at_begin = origins;
        RunOptions options = some_run(random, 150);
        if (random.one_in(3)) options.lanes = some_lanes(random);
        fleet.run(options);
      }
    }
  }
  fleet.run();
  expect_as_in_one_run(tested, origins);
  EXPECT_GT(restores, 0u);
  EXPECT_GT(rollbacks, 0u);
  EXPECT_TRUE(forks > 0 || lanes() == 1);
}

TEST(GeneratedProcesses, MakeEveryCallAndManyOfThem) {
  std::map<u64, u64> made;
  std::map<StopReason, u64> stops;
  u64 sum = 0;
  for (u64 seed = 1; seed <= kSeeds; seed++) {
    const Reference& reference = Reference::of(seed);
    for (u32 lane = 0; lane < kMostLanesTested; lane++) {
      for (const SeenCall& call : reference.host().calls[lane]) made[call.number]++;
      sum += reference.host().calls[lane].size();
      stops[reference.ends[lane].stop.reason]++;
    }
  }
  for (const GeneratedCall& call : generated_calls()) EXPECT_GT(made[call.number], 0u) << call.name;
  EXPECT_GT(sum, 20 * kSeeds * kMostLanesTested) << "calls";
  for (StopReason reason : {StopReason::budget, StopReason::exited, StopReason::fault}) {
    EXPECT_GT(stops[reason], 0u) << name(reason);
  }
}

}  // namespace
}  // namespace myriarm
