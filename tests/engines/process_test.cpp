// SPDX-License-Identifier: Apache-2.0
// Lanes that are Linux processes: calls are served where the lane runs, with the same results, counts and memory on every
// engine, however lanes are out of step, and whatever of it the host has to do.
#include <atomic>
#include <map>
#include <mutex>

#include "mode_fixture.h"
#include "process_words.h"

namespace fleet_test {
namespace {

using myriarm::GivenInput;
using myriarm::HostedCall;
using myriarm::PutOut;

// Numbers and constants of Linux on AArch64.
constexpr uint32_t kRead63 = 63, kWrite64 = 64, kExitGroup = 94, kClockGettime = 113, kGetpid = 172, kMunmap = 215,
                   kMmap = 222, kMprotect = 226, kNoSuchCall = 999;
constexpr uint32_t kProtRead = 1, kProtReadWrite = 3, kPrivateAnonymous = 0x22;
constexpr int64_t kEnosys = -38;
constexpr uint64_t kHeap = kUnmapped;  // the break; mappings end at kHeapLimit
constexpr uint64_t kHeapLimit = kEnd;

/// What the host keeps of all lanes.
class Host final : public myriarm::ProcessHost {
 public:
  explicit Host(uint64_t lanes) : given(lanes), output(lanes), traces(lanes) {
    for (uint64_t lane = 0; lane < lanes; lane++) {
      given[lane].number = lane;
      given[lane].output_limit = uint64_t{1} << 30;
    }
  }
  GivenInput input(uint32_t lane) const override { return given[lane]; }
  PutOut put_out(uint32_t lane, unsigned stream, uint64_t position, std::span<const uint8_t> bytes) override {
    std::string& kept = output[lane][stream - 1];
    EXPECT_LE(position, kept.size()) << "lane " << lane;
    kept.resize(position);
    if (position + bytes.size() > most_output) return {PutOut::Kind::refused, 0};
    kept.append(bytes.begin(), bytes.end());
    taken += bytes.size();
    return {PutOut::Kind::taken, bytes.size()};
  }
  void unimplemented(HostedCall& call) override { trace(call.lane, "missing " + std::to_string(call.number)); }
  void before(HostedCall& call) override {
    std::string text = std::to_string(call.number);
    if (call.number == kWrite64) {
      std::vector<uint8_t> bytes(call.arguments[2]);
      const size_t read = call.read(call.arguments[1], bytes);
      text += " " + std::string(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(read));
    }
    trace(call.lane, text);
  }
  void after(HostedCall& call, const int64_t* result) override {
    trace(call.lane, result == nullptr ? "ended" : "= " + std::to_string(*result));
  }
  void saved(uint64_t, std::span<const uint32_t>) override {}
  void restored(uint64_t, std::span<const uint32_t>, std::span<const uint32_t>) override {}
  void dropped(uint64_t) override {}

  std::vector<GivenInput> given;
  std::vector<std::array<std::string, 2>> output;
  std::vector<std::vector<std::string>> traces;
  uint64_t most_output = ~uint64_t{0};
  std::atomic<uint64_t> taken{0};

 private:
  void trace(uint32_t lane, const std::string& text) {
    const std::lock_guard lock(mutex_);
    traces[lane].push_back(text);
  }
  std::mutex mutex_;
};

Words exit_with(uint32_t reg) { return Words{guest::add(0, reg, 0)} + make_call(kExitGroup) + Words{guest::hlt(7)}; }
/// `body` as often as x19 says.
Words repeat(const Words& body) {
  return body + Words{guest::subs(19, 19, 1), guest::b_cond(guest::kNe, -static_cast<int32_t>(body.size()) - 1)};
}
/// mmap() of as many bytes as x20 says, readable and writable.
Words map_memory() {
  return Words{guest::movz(0, 0),
               guest::add(1, 20, 0),
               guest::movz(2, kProtReadWrite),
               guest::movz(3, kPrivateAnonymous),
               guest::sub(4, 31, 0),
               guest::movz(5, 0)} +
         make_call(kMmap);
}

class Processes : public testing::TestWithParam<uint64_t> {
 protected:
  uint64_t lanes() const { return GetParam(); }
  Fleet fleet_of_processes(const Words& words, uint64_t pool = 0, uint64_t memory = kEnd - kCode) {
    Program program = program_of(words);
    program.process = myriarm::ProcessStart{kHeap, kCode + memory, 4 * kPageBytes, "/bin/test"};
    FleetOptions options = options_of(lanes(), memory);
    options.pool = pool;
    options.processes.host = host;
    options.processes.keep_memory = true;
    return Fleet(program, options);
  }
  /// Fills kData with "line of lane N\n", and returns the text.
  static std::string line_of(uint64_t lane) { return "line of lane " + std::to_string(lane) + "\n"; }
  void write_lines(Fleet& fleet) {
    for (uint32_t lane = 0; lane < lanes(); lane++) {
      const std::string line = line_of(lane);
      fleet.write(lane, kData, std::span(reinterpret_cast<const uint8_t*>(line.data()), line.size()));
    }
    set_each(fleet, x(22), [](uint64_t lane) { return line_of(lane).size(); });
  }

  std::shared_ptr<Host> host = std::make_shared<Host>(GetParam());
};
INSTANTIATE_TEST_SUITE_P(All, Processes, testing::ValuesIn(kFleetSizes));

/// Writes the line at kData and asks for the time, x19 times; x23 becomes the sum of the results.
Words writes_lines() {
  return repeat(
      Words{guest::movz(0, 1), guest::movz(1, kData & 0xFFFF), guest::movk(1, kData >> 16, 16), guest::add(2, 22, 0)} +
      make_call(kWrite64) + Words{guest::add_register(23, 23, 0), guest::movz(0, 1), guest::add(1, 1, 0x100)} +
      make_call(kClockGettime) + Words{guest::add_register(23, 23, 0)});
}
constexpr uint64_t kWritesInstructions = 14;  // of one round

std::string times(const std::string& text, uint64_t count) {
  std::string all;
  for (uint64_t i = 0; i < count; i++) all += text;
  return all;
}

TEST_P(Processes, CallsAreServedWhereTheLaneRuns) {
  Fleet fleet = fleet_of_processes(writes_lines() + exit_with(23));
  write_lines(fleet);
  set_each(fleet, x(19), [](uint64_t lane) { return 1 + lane * 3 % 17; });
  fleet.run();
  for (uint64_t lane = 0; lane < lanes(); lane++) {
    const uint64_t rounds = 1 + lane * 3 % 17;
    const uint64_t written = rounds * line_of(lane).size();
    EXPECT_EQ(host->output[lane][0], times(line_of(lane), rounds)) << "lane " << lane;
    expect_stop(fleet, lane, {StopReason::exited, FaultKind::none, static_cast<uint32_t>(written & 0xFF), 0});
    EXPECT_EQ(fleet.get(Field::instructions, static_cast<uint32_t>(lane)), rounds * kWritesInstructions + 3);
  }
  // The clock counts instructions, the call's own included.
  const auto clocks = memory_of(fleet, kData + 0x100, 16);
  for (uint64_t lane = 0; lane < lanes(); lane++) {
    const uint64_t rounds = 1 + lane * 3 % 17;
    EXPECT_EQ(number_of(std::span(clocks[lane]).subspan(8)), rounds * kWritesInstructions - 3) << "lane " << lane;
  }
}

TEST_P(Processes, ASmallBudgetChangesNothing) {
  Fleet fleet = fleet_of_processes(writes_lines() + exit_with(23));
  write_lines(fleet);
  set_each(fleet, x(19), [](uint64_t lane) { return 1 + lane % 3; });
  for (int i = 0; i < 50; i++) fleet.run(myriarm::RunOptions{.instructions = 1});
  for (uint64_t lane = 0; lane < lanes(); lane++) {
    const uint64_t rounds = 1 + lane % 3;
    EXPECT_EQ(host->output[lane][0], times(line_of(lane), rounds));
    EXPECT_EQ(fleet.get(Field::instructions, static_cast<uint32_t>(lane)), rounds * kWritesInstructions + 3);
  }
}

TEST_P(Processes, EachHasMappingsOfItsOwn) {
  // Every third lane leaves the mapping as it is, makes it read-only, or unmaps it; then all store to it.
  const Words words = map_memory() + Words{guest::add(25, 0, 0),  guest::str(3, 25, 25),
                                           guest::add(1, 20, 0),  guest::movz(2, kProtRead),
                                           guest::add(8, 26, 0),  guest::cbz(26, 2),
                                           guest::svc(0),         guest::ldr(3, 27, 25),
                                           guest::str(3, 20, 25), guest::hlt(1)};
  Fleet fleet = fleet_of_processes(words);
  constexpr uint32_t kCalls[] = {0, kMprotect, kMunmap};
  set_each(fleet, x(20), [](uint64_t lane) { return kPageBytes * (1 + lane % 5); });
  set_each(fleet, x(26), [&](uint64_t lane) { return kCalls[lane % 3]; });
  fleet.run();
  for (uint64_t lane = 0; lane < lanes(); lane++) {
    const uint64_t place = kHeapLimit - kPageBytes * (1 + lane % 5);
    EXPECT_EQ(fleet.get(x(25), static_cast<uint32_t>(lane)), place);
    if (lane % 3 == 0) expect_stop(fleet, lane, halt(1));
    if (lane % 3 == 1) expect_stop(fleet, lane, fault(FaultKind::write, place));
    if (lane % 3 == 2) expect_stop(fleet, lane, fault(FaultKind::unmapped, place));
    const uint64_t loaded = fleet.get(x(27), static_cast<uint32_t>(lane));
    EXPECT_EQ(loaded, lane % 3 == 2 ? 0 : place) << "lane " << lane;
  }
}

TEST_P(Processes, UnmappedPagesAreUsedAgain) {
  // In lanes out of step: far more pages than the pool has.
  const Words words = repeat(map_memory() +
                             Words{guest::add(25, 0, 0), guest::ldr(3, 27, 25), guest::str(3, 25, 25),
                                   guest::add_register(28, 28, 27), guest::add(1, 20, 0)} +
                             make_call(kMunmap)) +
                      exit_with(28);
  Fleet fleet = fleet_of_processes(words, uint64_t{16} << 20);
  set_each(fleet, x(19), [](uint64_t lane) { return 200 + lane; });
  set_each(fleet, x(20), [](uint64_t lane) { return kPageBytes * (1 + lane % 2); });
  fleet.run();
  // New pages are zeros.
  expect_all_stopped(fleet, {StopReason::exited, FaultKind::none, 0, 0});
}

TEST_P(Processes, TheHostSeesTracedLanesAndMissingCalls) {
  const Words words = repeat(Words{guest::movz(0, 1), guest::movz(1, kData & 0xFFFF), guest::movk(1, kData >> 16, 16),
                                   guest::add(2, 22, 0)} +
                             make_call(kWrite64) + make_call(kNoSuchCall) + Words{guest::add(24, 0, 0)}) +
                      make_call(kGetpid) + exit_with(31);
  for (uint64_t lane = 0; lane < lanes(); lane++) host->given[lane].traced = lane % 3 == 1;
  Fleet fleet = fleet_of_processes(words);
  write_lines(fleet);
  set_each(fleet, x(19), [](uint64_t lane) { return 1 + lane % 2; });
  fleet.run();
  for (uint64_t lane = 0; lane < lanes(); lane++) {
    const bool traced = lane % 3 == 1;
    std::vector<std::string> wanted;
    for (uint64_t i = 0; i < 1 + lane % 2; i++) {
      if (traced)
        wanted.insert(wanted.end(), {"64 " + line_of(lane), "= " + std::to_string(line_of(lane).size()), "999"});
      wanted.push_back("missing 999");
      if (traced) wanted.push_back("= -38");
    }
    if (traced) wanted.insert(wanted.end(), {"172", "= 1000", "94", "ended"});
    EXPECT_EQ(host->traces[lane], wanted) << "lane " << lane;
    EXPECT_EQ(host->output[lane][0], times(line_of(lane), 1 + lane % 2)) << "lane " << lane;
    EXPECT_EQ(fleet.get(x(24), static_cast<uint32_t>(lane)), static_cast<uint64_t>(kEnosys));
  }
  expect_all_stopped(fleet, plain(StopReason::exited));
}

TEST_P(Processes, MoreOutputThanALaunchCanKeep) {
  constexpr uint64_t kMemory = uint64_t{2} << 20;
  const Words words = map_memory() + Words{guest::add(25, 0, 0), guest::str(3, 20, 25)} +
                      repeat(Words{guest::movz(0, 2), guest::add(1, 25, 0), guest::add(2, 20, 0)} +
                             make_call(kWrite64) + Words{guest::add_register(23, 23, 0)}) +
                      exit_with(31);
  Fleet fleet = fleet_of_processes(words, 0, kMemory);
  const auto size_of = [](uint64_t lane) { return lane % 8 == 3 ? 700'001 : 20'000 + lane * 7; };
  set_each(fleet, x(19), [](uint64_t lane) { return 2 + lane % 3; });
  set_each(fleet, x(20), size_of);
  fleet.run();
  expect_all_stopped(fleet, plain(StopReason::exited));
  for (uint64_t lane = 0; lane < lanes(); lane++) {
    std::string once(size_of(lane), '\0');
    const uint64_t number = size_of(lane);
    std::memcpy(once.data(), &number, sizeof number);
    EXPECT_TRUE(host->output[lane][1] == times(once, 2 + lane % 3))
        << "lane " << lane << ": " << host->output[lane][1].size();
    EXPECT_EQ(fleet.get(x(23), static_cast<uint32_t>(lane)), size_of(lane) * (2 + lane % 3));
  }
}

/// Writes as many bytes as x22 says, x19 times.
Words writes() {
  return repeat(
      Words{guest::movz(0, 1), guest::movz(1, kData & 0xFFFF), guest::movk(1, kData >> 16, 16), guest::add(2, 22, 0)} +
      make_call(kWrite64));
}

TEST_P(Processes, OutputIsTakenWhileTheLanesRun) {
  // What lane 0 writes fits the log of a launch, so that the launch has no other reason to end.
  Fleet fleet = fleet_of_processes(writes() + Words{guest::b(0)});
  set_each(fleet, x(19), [](uint64_t lane) { return lane == 0 ? 220 : 1; });
  set_each(fleet, x(22), [](uint64_t lane) { return lane == 0 ? kPageBytes : 8; });
  fleet.start();
  until([&] { return host->taken >= 800'000; });
  fleet.cancel();
  fleet.wait();
  const std::string& output = host->output[0][0];
  const std::vector<uint8_t> page = fleet.read(0, kData, kPageBytes);
  EXPECT_EQ(output.size() % kPageBytes, 0u);
  EXPECT_TRUE(output == times(std::string(page.begin(), page.end()), output.size() / kPageBytes));
}

TEST_P(Processes, MuchOutputBesideLanesThatCompute) {
  const Words writing = writes() + exit_with(31);
  const Words words = Words{guest::cbnz(18, static_cast<int32_t>(writing.size()) + 1)} + writing +
                      Words{guest::subs(20, 20, 1), guest::b_cond(guest::kNe, -1)} + exit_with(31);
  Fleet fleet = fleet_of_processes(words);
  write_lines(fleet);
  const auto computes = [](uint64_t lane) { return lane % 3 != 0; };
  const auto rounds = [&](uint64_t lane) { return 2000 / (1 + lanes() / 3) + lane; };
  const auto size_of = [](uint64_t lane) { return kPageBytes + 7 - 3 * lane; };
  set_each(fleet, x(18), computes);
  set_each(fleet, x(19), rounds);
  set_each(fleet, x(20), [](uint64_t lane) { return 200'000 + 1000 * lane; });
  set_each(fleet, x(22), size_of);
  std::vector<std::string> once(lanes());
  for (uint32_t lane = 0; lane < lanes(); lane++) {
    const std::vector<uint8_t> bytes = fleet.read(lane, kData, size_of(lane));
    once[lane].assign(bytes.begin(), bytes.end());
  }
  fleet.run();
  expect_all_stopped(fleet, plain(StopReason::exited));
  for (uint64_t lane = 0; lane < lanes(); lane++) {
    const std::string& output = host->output[lane][0];
    EXPECT_TRUE(output == (computes(lane) ? "" : times(once[lane], rounds(lane))))
        << "lane " << lane << ": " << output.size();
  }
}

TEST_P(Processes, ReadWhatTheyAreGiven) {
  std::vector<std::string> inputs;
  for (uint64_t lane = 0; lane < lanes(); lane++) inputs.push_back(lane % 2 ? "odd" : times(line_of(lane), 5));
  const auto give = [&] {
    for (uint64_t lane = 0; lane < lanes(); lane++) {
      const std::string& text = lane % 2 ? inputs[1] : inputs[lane];
      host->given[lane].standard_input = std::span(reinterpret_cast<const uint8_t*>(text.data()), text.size());
    }
  };
  give();
  // Reads 16 bytes at a time to an address that is not aligned, and writes them.
  const Words words = Words{guest::movz(25, kData & 0xFFFF), guest::movk(25, kData >> 16, 16), guest::add(25, 25, 3)} +
                      Words{guest::movz(0, 0), guest::add(1, 25, 0), guest::movz(2, 16)} + make_call(kRead63) +
                      Words{guest::cbz(0, 7), guest::add(2, 0, 0), guest::movz(0, 1), guest::add(1, 25, 0)} +
                      make_call(kWrite64) + Words{guest::b(-11)} + exit_with(31);
  Fleet fleet = fleet_of_processes(words);
  const myriarm::Snapshot start = fleet.snapshot();
  for (int round = 0; round < 2; round++) {
    fleet.run();
    expect_all_stopped(fleet, plain(StopReason::exited));
    for (uint64_t lane = 0; lane < lanes(); lane++) {
      EXPECT_EQ(host->output[lane][0], lane % 2 ? inputs[1] : inputs[lane]) << "lane " << lane;
    }
    fleet.restore(start);
    for (std::string& text : inputs) text += " and more";
    give();
    fleet.process_inputs_changed(all_lanes(fleet));
  }
}

TEST_P(Processes, ASnapshotKeepsWhatAProcessIs) {
  Fleet fleet = fleet_of_processes(writes_lines() + map_memory() + Words{guest::add(25, 0, 0)} + exit_with(23));
  write_lines(fleet);
  set_each(fleet, x(19), [](uint64_t lane) { return 4 + lane % 3; });
  set_each(fleet, x(20), [](uint64_t) { return kPageBytes; });
  fleet.run(myriarm::RunOptions{.instructions = 2 * kWritesInstructions + 5});
  const myriarm::Snapshot middle = fleet.snapshot();
  fleet.run();
  const auto outputs = host->output;
  const auto counts = values_of(fleet, Field::instructions);
  for (uint64_t lane = 0; lane < lanes(); lane++) {
    EXPECT_EQ(outputs[lane][0], times(line_of(lane), 4 + lane % 3)) << "lane " << lane;
  }
  fleet.restore(middle);
  fleet.run();
  EXPECT_EQ(host->output, outputs);
  EXPECT_EQ(values_of(fleet, Field::instructions), counts);
  EXPECT_EQ(values_of(fleet, x(25)), std::vector<uint64_t>(lanes(), kHeapLimit - kPageBytes));
}

TEST_P(Processes, AHandlerServesSomeCallsItself) {
  const Words words = repeat(make_call(kGetpid) + Words{guest::add_register(23, 23, 0)}) + exit_with(31);
  Fleet fleet = fleet_of_processes(words);
  set_each(fleet, x(19), [](uint64_t lane) { return 3 + lane % 4; });
  myriarm::RunOptions options;
  options.on_syscall = [](Fleet&, const myriarm::SyscallBatch& batch) {
    for (size_t i = 0; i < batch.lanes.size(); i++) {
      if (batch.numbers[i] != kGetpid || batch.lanes[i] % 2 == 0) continue;
      batch.results[i] = 7;
      batch.actions[i] = myriarm::SyscallAction::resume;
    }
  };
  fleet.run(options);
  expect_all_stopped(fleet, plain(StopReason::exited));
  for (uint64_t lane = 0; lane < lanes(); lane++) {
    EXPECT_EQ(fleet.get(x(23), static_cast<uint32_t>(lane)), (3 + lane % 4) * (lane % 2 ? 7 : 1000));
  }
}

TEST_P(Processes, AHandlerIsCalledWhileOthersCompute) {
  // Odd lanes wait for a word that the handler writes when lane 0 has made its last call.
  const Words calling = repeat(make_call(kGetpid) + Words{guest::add_register(23, 23, 0)}) + exit_with(31);
  const Words words = Words{guest::cbnz(18, static_cast<int32_t>(calling.size()) + 1)} + calling +
                      Words{guest::ldr(3, 26, 25), guest::cbz(26, -1)} + exit_with(31);
  Fleet fleet = fleet_of_processes(words);
  const auto waits = [](uint64_t lane) { return lane % 2; };
  set_each(fleet, x(18), waits);
  set_each(fleet, x(19), [](uint64_t lane) { return 3 + lane % 4; });
  set_each(fleet, x(25), [](uint64_t) { return kData; });
  const auto put_word = [&](Fleet& to, uint8_t value) {
    const std::vector<uint8_t> word(8, value);
    for (uint32_t lane = 0; lane < lanes(); lane++) to.write(lane, kData, word);
  };
  put_word(fleet, 0);
  unsigned calls = 0;  // of lane 0
  myriarm::RunOptions options;
  options.on_syscall = [&](Fleet& in_call, const myriarm::SyscallBatch& batch) {
    for (uint32_t lane : batch.lanes) calls += lane == 0;
    if (calls == 4) put_word(in_call, 1);
  };
  fleet.run(options);
  expect_all_stopped(fleet, plain(StopReason::exited));
  for (uint32_t lane = 0; lane < lanes(); lane++) {
    if (waits(lane)) continue;
    EXPECT_EQ(fleet.get(x(23), lane), (3 + lane % 4) * 1000);
    EXPECT_EQ(fleet.get(Field::instructions, lane), 1 + 5 * (3 + lane % 4) + 3) << "lane " << lane;
  }
}

TEST_P(Processes, NoAccessReachesTheKernelPages) {
  Fleet fleet = fleet_of_processes({guest::ldr(3, 1, 0), guest::hlt(0)});
  set_each(fleet, x(0), [](uint64_t lane) { return kEnd + lane % 30 * kPageBytes; });
  fleet.run();
  for (uint64_t lane = 0; lane < lanes(); lane++) {
    expect_stop(fleet, lane, fault(FaultKind::unmapped, kEnd + lane % 30 * kPageBytes));
  }
}

TEST_P(Processes, RefusedOutputEndsThatLaneAlone) {
  host->most_output = 1000;
  Fleet fleet = fleet_of_processes(writes_lines() + exit_with(31));
  write_lines(fleet);
  set_each(fleet, x(19), [](uint64_t lane) { return lane % 4 == 1 ? 500 : 2; });
  fleet.run();
  for (uint64_t lane = 0; lane < lanes(); lane++) {
    if (lane % 4 != 1) expect_stop(fleet, lane, plain(StopReason::exited));
    EXPECT_LE(host->output[lane][0].size(), 1000u);
  }
}

/// A program that compiles as those do which may not write to what they run: each time it makes a page writable, puts a function there,
/// makes the page executable, and calls it for long. A GPU with few multiprocessors runs so many lanes with the kernel for one span.
TEST(ProcessCode, IsWhatThePageHasWhenACallMakesItExecutable) {
  constexpr uint64_t kLanes = 800, kFunctions = 6, kTimes = 1500;
  constexpr uint32_t kProtReadExecute = 5;
  const auto protect = [](uint32_t permissions) {
    return Words{guest::add(0, 24, 0), guest::add(1, 20, 0), guest::movz(2, permissions)} + make_call(kMprotect);
  };
  const Words begin = map_memory() + Words{guest::add(24, 0, 0)};
  const Words put = value_of(2, guest::add(27, 27, 0)) +
                    Words{guest::movz(3, 1024), guest::madd(2, 19, 3, 2), guest::str(2, 2, 24)} +
                    value_of(2, guest::ret()) + Words{guest::add(3, 24, 4), guest::str(2, 2, 3)};
  const Words call =
      value_of(21, kTimes) + Words{guest::blr(24), guest::subs(21, 21, 1), guest::b_cond(guest::kNe, -2)};
  Program program =
      program_of(begin + repeat(protect(kProtReadWrite) + put + protect(kProtReadExecute) + call) + exit_with(27));
  program.process = myriarm::ProcessStart{kHeap, kEnd, 4 * kPageBytes, "/bin/test"};
  FleetOptions options = options_of(kLanes);
  options.processes.host = std::make_shared<Host>(kLanes);
  options.processes.keep_memory = true;
  Fleet fleet(program, options);
  fleet.fill(x(19), kFunctions);
  fleet.fill(x(20), kPageBytes);
  fleet.run();
  for (uint32_t lane = 0; lane < kLanes; lane++) {
    EXPECT_EQ(fleet.get(x(27), lane), kTimes * kFunctions * (kFunctions + 1) / 2) << "lane " << lane;
  }
}

}  // namespace
}  // namespace fleet_test
