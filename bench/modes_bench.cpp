// SPDX-License-Identifier: Apache-2.0
// Compares modes and memory policies: one lane in every mode on the two loops, how soon start() returns and cancel()
// takes effect, and the cost of snapshots, restores and forks. `myriarm bench` also measures modes; this program needs
// no Python, so that it can be copied to a GPU machine.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "measure.h"

namespace myriarm::bench {
namespace {

// add x0, x0, #1; b .-4, and the same with str x0, [x1] in between.
constexpr uint32_t kLoopAdd[] = {0x91000400, 0x17FFFFFF};
constexpr uint32_t kLoopStore[] = {0x91000400, 0xF9000020, 0x17FFFFFE};
// The same with ldr x2, [x1]: the cost of a load if memory is the host's.
constexpr uint32_t kLoopLoad[] = {0x91000400, 0xF9400022, 0x17FFFFFE};
constexpr uint64_t kMemory = 1 << 20, kDataAddress = 1 << 16;

struct Case {
  const char* name;
  RunOptions options;
  MemoryPolicy policy = MemoryPolicy::private_copy;
  bool async = false;
};

template <size_t kWords>
Program program_of(const char* name, const uint32_t (&words)[kWords]) {
  std::vector<uint8_t> bytes(sizeof words);
  std::memcpy(bytes.data(), words, sizeof words);
  return raw_program(name, bytes, 0, kMemory);
}

FleetOptions fleet_options(const std::string& device, uint64_t lanes, MemoryPolicy policy) {
  FleetOptions options;
  options.device = device;
  options.lanes = lanes;
  options.memory = kMemory;
  options.memory_policy = policy;
  return options;
}

std::vector<Case> cases(uint64_t instructions) {
  RunOptions run, continuous, mega, chain;
  run.instructions = mega.instructions = continuous.instructions = chain.instructions = instructions;
  mega.mode = Mode::mega;
  continuous.mode = Mode::continuous;
  chain.mode = Mode::self_dispatch;
  continuous.instructions_per_batch = chain.instructions_per_batch = instructions / 10;
  return {{"run", run},
          {"mega", mega},
          {"continuous, 10 batches", continuous},
          {"self-dispatch, 10 batches", chain},
          {"async (run)", run, MemoryPolicy::private_copy, true},
          {"run, transactional", run, MemoryPolicy::transactional},
          {"run, shared memory", run, MemoryPolicy::shared},
          {"run, device-shared memory", run, MemoryPolicy::device_shared}};
}

/// The modes take turns, so that other load on the machine affects all of them equally.
void measure_modes(Report& report, const std::string& device, const char* loop, const Program& program,
                   uint64_t instructions, int repeats) {
  report.begin(std::string("One lane, ") + loop);
  const std::vector<Case> all = cases(instructions);
  std::vector<Fleet> fleets;
  for (const Case& one : all) {
    fleets.emplace_back(program, fleet_options(device, 1, one.policy));
    fleets.back().fill(x(1), kDataAddress);
  }
  std::vector<Times> times(all.size()), starts(all.size());
  for (int repeat = 0; repeat <= repeats; repeat++) {
    for (size_t i = 0; i < all.size(); i++) {
      Fleet& fleet = fleets[i];
      if (all[i].policy == MemoryPolicy::transactional) fleet.commit();
      const double begin = now_seconds();
      RunResult result;
      double started = 0;
      if (all[i].async) {
        fleet.start(all[i].options);
        started = now_seconds() - begin;
        result = *fleet.wait();
      } else {
        result = fleet.run(all[i].options);
      }
      const double seconds = now_seconds() - begin;
      if (result.instructions != instructions) throw Error(std::string(all[i].name) + ": wrong count");
      if (repeat) times[i].seconds.push_back(seconds), starts[i].seconds.push_back(started);
    }
  }
  for (size_t i = 0; i < all.size(); i++) {
    nlohmann::json more = {{"loop", loop}};
    if (all[i].async) more["start_seconds"] = starts[i].seconds;
    report.add(all[i].name, device, 1, instructions, times[i], more);
    if (all[i].async) report.add("  of these, until start() returned", device, 1, 0, starts[i]);
  }
}

void measure_control(Report& report, const std::string& device, const Program& program, uint64_t lanes, int repeats) {
  report.begin("Control");
  Fleet fleet(program, fleet_options(device, lanes, MemoryPolicy::private_copy));
  Times start, cancel, look;
  for (int repeat = 0; repeat < repeats; repeat++) {
    double begin = now_seconds();
    fleet.start();
    start.seconds.push_back(now_seconds() - begin);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    begin = now_seconds();
    const Poll poll = fleet.poll();
    look.seconds.push_back(now_seconds() - begin);
    if (!poll.running || poll.instructions == 0) throw Error("poll() saw no progress");
    begin = now_seconds();
    fleet.cancel();
    fleet.wait();
    cancel.seconds.push_back(now_seconds() - begin);
  }
  report.add("start() returns", device, lanes, 0, start);
  report.add("poll() of a running fleet", device, lanes, 0, look);
  report.add("cancel() to the last lane's stop", device, lanes, 0, cancel);
}

/// Lanes write some pages; then a snapshot, a run that writes the pages again, and a restore.
void measure_snapshots(Report& report, const std::string& device, uint64_t lanes, int repeats) {
  report.begin("Snapshots: 8 written pages in each lane");
  // A store to each of x2 pages from x1 on.
  constexpr uint32_t kDirty[] = {0xF9000020,   // str x0, [x1]
                                 0x91400421,   // add x1, x1, #1, lsl #12
                                 0xF1000442,   // subs x2, x2, #1
                                 0x54FFFFA1,   // b.ne .-12
                                 0xD4400000};  // hlt #0
  Fleet fleet(program_of("dirty", kDirty), fleet_options(device, lanes, MemoryPolicy::private_copy));
  auto dirty = [&] {
    fleet.fill(Field::pc, 0);
    fleet.fill(x(1), kDataAddress);
    fleet.fill(x(2), 8);
    fleet.resume_all();
    fleet.run();
  };
  Times take, run, back, drop, forked;
  for (int repeat = 0; repeat <= repeats; repeat++) {
    dirty();
    double begin = now_seconds();
    Snapshot snapshot = fleet.snapshot();
    const double taken = now_seconds() - begin;
    begin = now_seconds();
    dirty();
    const double ran = now_seconds() - begin;
    begin = now_seconds();
    fleet.restore(snapshot);
    const double restored = now_seconds() - begin;
    begin = now_seconds();
    snapshot = Snapshot();
    const double dropped = now_seconds() - begin;
    double copied = 0;
    if (lanes > 1) {
      std::vector<uint32_t> targets;
      for (uint32_t lane = 1; lane < lanes; lane++) targets.push_back(lane);
      begin = now_seconds();
      fleet.fork(0, targets);
      copied = now_seconds() - begin;
    }
    if (repeat == 0) continue;
    take.seconds.push_back(taken), run.seconds.push_back(ran), back.seconds.push_back(restored);
    drop.seconds.push_back(dropped), forked.seconds.push_back(copied);
  }
  report.add("snapshot of all lanes", device, lanes, 0, take);
  report.add("run that copies the 8 pages again", device, lanes, 0, run);
  report.add("restore of all lanes", device, lanes, 0, back);
  report.add("dropping the snapshot", device, lanes, 0, drop);
  if (lanes > 1) report.add("fork of lane 0 to all others", device, lanes, 0, forked);
}

int run(int argc, char** argv) {
  std::string device = "auto", json, commit = "unknown";
  int repeats = 5;
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : nullptr;
    if (value && name == "--device") device = value;
    else if (value && name == "--json") json = value;
    else if (value && name == "--commit") commit = value;
    else if (value && name == "--repeats" && std::atoi(value) > 0) repeats = std::atoi(value);
    else return std::fputs("modes_bench [--device ID] [--repeats N] [--json FILE|-] [--commit TEXT]\n", stderr), 2;
  }
  device = find_device(device).id;
  const bool gpu = device.starts_with("cuda");
  const uint64_t instructions = gpu ? 5'000'000 : 200'000'000, many = gpu ? 202'752 : 256;
  Report report(argc, argv, commit);
  measure_modes(report, device, "ADD, B", program_of("add", kLoopAdd), instructions, repeats);
  measure_modes(report, device, "ADD, STR, B", program_of("store", kLoopStore), instructions, repeats);
  measure_modes(report, device, "ADD, LDR, B", program_of("load", kLoopLoad), instructions, repeats);
  measure_control(report, device, program_of("add", kLoopAdd), 1, repeats);
  measure_control(report, device, program_of("add", kLoopAdd), many, repeats);
  measure_snapshots(report, device, 1, repeats);
  measure_snapshots(report, device, many, repeats);
  report.write(json);
  return 0;
}

}  // namespace
}  // namespace myriarm::bench

int main(int argc, char** argv) { return myriarm::bench::main_of("modes_bench", myriarm::bench::run, argc, argv); }
