// SPDX-License-Identifier: Apache-2.0
// Runs the same random code in the interpreter of the CPU and on another device or engine: every field, stop, count and
// byte of memory must be the same, with lane counts around the size of a team and with 100,000. Lanes differ in code,
// in registers, or not at all. With --engine switching each lane changes its engine at random instructions.
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "cases.h"

namespace myriarm::differential {
namespace {

constexpr int kSkipped = 77;

struct Options {
  std::string device = "cuda";
  std::string engine = "interpreter";
  uint64_t seed = 1;
  uint64_t lanes = 0;   // 0: the list below
  uint64_t rounds = 1;  // how many times as many fleets
};

constexpr const char* kUsage =
    "devices_test [--device cuda|cuda:N|cpu] [--engine interpreter|stepper|switching] [--seed N] [--lanes N] "
    "[--rounds N]\n"
    "Compares random code in the CPU's interpreter with the same on a device and engine, bit for bit.\n";

/// How blocks of code are assigned to lanes: one to each lane, to each few lanes, or to all.
struct Shape {
  const char* name;
  uint32_t inputs_per_block;
};
constexpr Shape kShapes[] = {
    {"each lane its own block", 1}, {"a block every 5 lanes", 5}, {"all lanes one block", 1u << 30}};

/// Lanes whose memory is compared at a time, because 100,000 windows of 20 KiB do not fit on every machine.
constexpr uint32_t kMemoryLanes = 8192;

bool parse(int argc, char** argv, Options& options) {
  for (int i = 1; i + 1 < argc; i += 2) {
    std::string name = argv[i];
    if (name == "--device") options.device = argv[i + 1];
    else if (name == "--engine") options.engine = argv[i + 1];
    else if (name == "--seed") options.seed = std::strtoull(argv[i + 1], nullptr, 0);
    else if (name == "--rounds") options.rounds = std::strtoull(argv[i + 1], nullptr, 0);
    else if (name == "--lanes") options.lanes = std::strtoull(argv[i + 1], nullptr, 0);
    else return false;
  }
  const bool engine = options.engine == "interpreter" || options.engine == "stepper" || options.engine == "switching";
  return argc % 2 == 1 && engine;
}

/// A fleet of the lanes of a batch that is kept, so that its memory can be read in pieces.
struct Run {
  Fleet fleet;
  RunResult result;
};

/// Sets the lanes' limits and runs all lanes that can go on; returns the instructions of this run.
uint64_t run_to(Fleet& fleet, std::span<const uint64_t> limits, Engine engine) {
  fleet.set_all(Field::limit, limits);
  std::vector<uint32_t> paused;
  std::span<const Stop> stops = fleet.stops();
  for (uint32_t lane = 0; lane < stops.size(); lane++) {
    if (stops[lane].reason == StopReason::budget) paused.push_back(lane);
  }
  fleet.resume(paused);
  RunOptions options;
  options.engine = engine;
  return fleet.run(options).instructions;
}

Run start(const Batch& batch, const std::string& device, const std::string& engine) {
  FleetOptions options;
  options.device = device;
  options.lanes = batch.options.lanes;
  options.memory = Layout::memory;
  Run run{Fleet(batch.program, options), {}};
  for (size_t i = 0; i < batch.fields.size(); i++) run.fleet.set_all(batch.fields[i], batch.initial[i]);
  const uint64_t end = batch.options.limit;
  std::vector<uint64_t> limits(batch.options.lanes, end / 4);
  if (engine == "switching") {
    // Each lane changes its engine at instructions of its own.
    constexpr int kSwitches = 12;
    Random random(batch.options.seed);
    std::fill(limits.begin(), limits.end(), 0);
    for (int i = 0; i < kSwitches; i++) {
      for (uint64_t& limit : limits) limit = std::min(end, limit + random.below(2 * end / kSwitches));
      const Engine now = random.one_in(2) ? Engine::interpreter : Engine::stepper;
      run.result.instructions += run_to(run.fleet, limits, now);
    }
  } else {
    // First a quarter of the budget, to test that a second run continues from the same state.
    run.result.instructions += run_to(run.fleet, limits, engine == "stepper" ? Engine::stepper : Engine::interpreter);
  }
  std::fill(limits.begin(), limits.end(), end);
  run.result.instructions += run_to(run.fleet, limits, engine == "stepper" ? Engine::stepper : Engine::interpreter);
  return run;
}

std::vector<uint8_t> read_memory(const Fleet& fleet, uint32_t first, uint32_t count) {
  std::vector<uint8_t> memory(count * Layout::data_bytes);
  std::vector<Transfer> transfers;
  for (uint32_t lane = 0; lane < count; lane++) {
    for (size_t page = 0; page < Layout::pages.size(); page++) {
      if (!(Layout::pages[page] & kWrite)) continue;
      transfers.push_back({first + lane, static_cast<uint32_t>(kPageBytes), Layout::data_begin + page * kPageBytes,
                           lane * Layout::data_bytes + page * kPageBytes});
    }
  }
  fleet.read(transfers, memory);
  return memory;
}

State state_of(const Batch& batch, const Run& run, uint32_t lane) {
  State state;
  for (Field field : batch.fields) state.values.push_back(run.fleet.get(field, lane));
  state.instructions = run.fleet.get(Field::instructions, lane);
  state.stop = run.fleet.stops()[lane];
  state.memory = read_memory(run.fleet, lane, 1);
  return state;
}

bool same_stop(const Stop& a, const Stop& b) {
  return a.reason == b.reason && a.fault == b.fault && a.detail == b.detail && a.address == b.address;
}

/// The lanes that differ, at most `most` of them.
std::vector<uint32_t> differences(const Batch& batch, const Run& a, const Run& b, size_t most) {
  const uint32_t lanes = batch.options.lanes;
  std::vector<uint8_t> differs(lanes);
  std::vector<uint64_t> left(lanes), right(lanes);
  std::vector<Field> fields = batch.fields;
  fields.push_back(Field::instructions);
  for (Field field : fields) {
    a.fleet.get_all(field, left);
    b.fleet.get_all(field, right);
    for (uint32_t lane = 0; lane < lanes; lane++) differs[lane] |= left[lane] != right[lane];
  }
  std::span<const Stop> left_stops = a.fleet.stops(), right_stops = b.fleet.stops();
  for (uint32_t lane = 0; lane < lanes; lane++) differs[lane] |= !same_stop(left_stops[lane], right_stops[lane]);
  for (uint32_t first = 0; first < lanes; first += kMemoryLanes) {
    const uint32_t count = std::min(kMemoryLanes, lanes - first);
    std::vector<uint8_t> left_memory = read_memory(a.fleet, first, count),
                         right_memory = read_memory(b.fleet, first, count);
    for (uint32_t lane = 0; lane < count; lane++) {
      size_t at = lane * Layout::data_bytes;
      differs[first + lane] |= std::memcmp(&left_memory[at], &right_memory[at], Layout::data_bytes) != 0;
    }
  }
  std::vector<uint32_t> found;
  for (uint32_t lane = 0; lane < lanes && found.size() < most; lane++) {
    if (differs[lane]) found.push_back(lane);
  }
  return found;
}

State initial_state(const Batch& batch, uint32_t lane) {
  State state;
  for (const auto& values : batch.initial) state.values.push_back(values[lane]);
  state.memory = batch.data;
  return state;
}

/// Tests the comparison itself: it must find one changed bit in one lane's TPIDR_EL0 or data, and nothing else.
bool finds_a_difference() {
  BatchOptions b;
  b.lanes = 40;
  const Batch batch = make_batch(BlockGenerator(generatable_rows()), b);
  const Run one = start(batch, "cpu", "interpreter");
  Run two = start(batch, "cpu", "interpreter");
  if (!differences(batch, one, two, 40).empty()) return false;
  two.fleet.set(Field::tpidr, 17, two.fleet.get(Field::tpidr, 17) ^ 1);
  const uint64_t address = Layout::data_begin + Layout::data_bytes - 1;
  const uint8_t byte[] = {static_cast<uint8_t>(two.fleet.read(33, address, 1)[0] ^ 0x80)};
  two.fleet.write(33, address, byte);
  return differences(batch, one, two, 40) == std::vector<uint32_t>{17, 33};
}

int run(const Options& options) {
  const BlockGenerator generator(generatable_rows());
  std::vector<uint64_t> lane_counts = {1, 31, 32, 33, 1000, 100'000};
  if (options.lanes) lane_counts = {options.lanes};
  int failures = 0;
  for (uint64_t lanes : lane_counts) {
    uint64_t instructions = 0, batches = 0;
    for (const Shape& shape : kShapes) {
      // As many batches as make the small fleets worth while.
      const uint64_t repeats = options.rounds * std::max<uint64_t>(1, std::min<uint64_t>(16, 4000 / lanes));
      for (uint64_t repeat = 0; repeat < repeats; repeat++) {
        BatchOptions b;
        b.seed = batch_seed(options.seed, lanes * 1000 + repeat);
        b.lanes = static_cast<uint32_t>(lanes);
        b.inputs_per_block = shape.inputs_per_block;
        b.tags = true;
        b.vectors = true;
        b.moves_fpcr = true;
        const Batch batch = make_batch(generator, b);
        const Run cpu = start(batch, "cpu", "interpreter"), other = start(batch, options.device, options.engine);
        instructions += other.result.instructions;
        batches++;
        if (cpu.result.instructions != other.result.instructions) {
          std::printf("DIFFERENT: %" PRIu64 " instructions on the CPU, %" PRIu64 " on %s, %s\n",
                      cpu.result.instructions, other.result.instructions, options.device.c_str(),
                      options.engine.c_str());
          failures++;
        }
        for (uint32_t lane : differences(batch, cpu, other, 2)) {
          std::printf("\nDIFFERENT: lane %u of %" PRIu64 ", %s, batch seed %" PRIu64 "\n", lane, lanes, shape.name,
                      b.seed);
          print_listing(batch, lane, cpu.fleet.get(Field::pc, lane));
          print_states(batch, initial_state(batch, lane), state_of(batch, cpu, lane), "cpu",
                       state_of(batch, other, lane), options.device.c_str());
          std::printf("reproduce: devices_test --device %s --engine %s --seed %" PRIu64 " --lanes %" PRIu64
                      " --rounds %" PRIu64 "\n",
                      options.device.c_str(), options.engine.c_str(), options.seed, lanes, options.rounds);
          failures++;
        }
        if (failures > 4) return 1;
      }
    }
    std::printf("%7" PRIu64 " lanes: %" PRIu64 " instructions in %" PRIu64 " fleets, %s\n", lanes, instructions,
                batches, failures ? "some differ" : "the same on both");
    std::fflush(stdout);
  }
  return failures ? 1 : 0;
}

}  // namespace
}  // namespace myriarm::differential

int main(int argc, char** argv) {
  using namespace myriarm;
  differential::Options options;
  // The device of a test run is chosen by MYRIARM_TEST_DEVICE elsewhere; here the CPU is always one of the two.
  if (!differential::parse(argc, argv, options)) {
    std::fputs(differential::kUsage, stderr);
    return 2;
  }
  if (!differential::finds_a_difference()) {
    std::printf("The comparison does not find one changed bit in two equal fleets: it cannot be trusted\n");
    return 1;
  }
  if (const std::string why = myriarm::why_unusable("cuda"); options.device.starts_with("cuda") && !why.empty()) {
    std::printf("Skipped: CPU and GPU were not compared: %s\n", why.c_str());
    return differential::kSkipped;
  }
  try {
    return differential::run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "devices_test: %s\n", error.what());
    return 2;
  }
}
