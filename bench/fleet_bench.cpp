// SPDX-License-Identifier: Apache-2.0
// Measures fleets of bare programs on one device: mixed and nbody in lockstep and divergent, and the tight loops. It
// needs only the C library and contains its guests, so that it can be copied to a GPU machine.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "measure.h"

// The prebuilt guests, included as bytes.
#define GUEST(symbol, file)                                                                                \
  asm(".section .rodata\n.balign 8\n.global " #symbol "\n" #symbol ":\n.incbin \"" MYRIARM_GUESTS "/" file \
      "\"\n.global " #symbol "_end\n" #symbol "_end:\n.byte 0\n.previous\n");                              \
  extern "C" const unsigned char symbol[], symbol##_end[];
GUEST(guest_mixed_1, "mixed_1.bin")
GUEST(guest_mixed_4, "mixed_4.bin")
GUEST(guest_mixed_10, "mixed_10.bin")
GUEST(guest_nbody_1, "nbody_1.bin")
GUEST(guest_loop_add, "loop_add.bin")
GUEST(guest_loop_store, "loop_store.bin")

namespace myriarm::bench {
namespace {

struct Options {
  std::string device = "auto", workload, program, json, commit = "unknown";
  uint64_t lanes = 0, instructions = 0, memory = 0;
  int iterations = 1, repeats = 3;
  unsigned threads = 0;
  Engine engine = Engine::interpreter;
  bool divergent = false;
};

constexpr const char* kUsage =
    "fleet_bench [--device auto|cpu|cuda|cuda:N] [--threads N] [--repeats N] [--json FILE|-] [--commit TEXT]\n"
    "            [--workload mixed|nbody|add|store] [--program FILE] [--lanes N] [--lockstep|--divergent]\n"
    "            [--iterations 1|4|10] [--instructions N] [--memory BYTES] [--engine interpreter|stepper|translate]\n"
    "Without --workload: the whole list for the device. mixed and nbody run to their end, and their results are\n"
    "checked; add (ADD, B) and store (ADD, STR, B) run N instructions in each lane. --program runs a bare program of\n"
    "yours, which must stop by itself or at N instructions. One warm-up, then the median of the repeats.\n";

std::vector<uint8_t> bytes_of(const unsigned char* begin, const unsigned char* end) { return {begin, end}; }

std::vector<uint8_t> guest(const Options& options) {
  if (!options.program.empty()) return read_file(options.program);
  if (options.workload == "add") return bytes_of(guest_loop_add, guest_loop_add_end);
  if (options.workload == "store") return bytes_of(guest_loop_store, guest_loop_store_end);
  if (options.workload == "nbody") {
    if (options.iterations != 1) throw ArgumentError("--iterations: the nbody program is built only for 1");
    return bytes_of(guest_nbody_1, guest_nbody_1_end);
  }
  if (options.iterations == 1) return bytes_of(guest_mixed_1, guest_mixed_1_end);
  if (options.iterations == 4) return bytes_of(guest_mixed_4, guest_mixed_4_end);
  if (options.iterations == 10) return bytes_of(guest_mixed_10, guest_mixed_10_end);
  throw ArgumentError("--iterations " + std::to_string(options.iterations) +
                      ": the mixed program is built for 1, 4 and 10");
}

void measure(Report& report, const Options& options) {
  const bool ends = options.program.empty() && (options.workload == "mixed" || options.workload == "nbody");
  FleetRun run;
  // The loop with a store writes at 64 KiB. The mixed program has 50 KiB of data, and its stack at the end of memory.
  const uint64_t memory = options.memory ? options.memory : 128 << 10;
  run.program = raw_program(options.workload, guest(options), 0, memory);
  run.options.device = options.device;
  run.options.lanes = options.lanes;
  run.options.memory = memory;
  run.options.threads = options.threads;
  run.options.engine = options.engine;
  run.lane_in_x0 = options.divergent;
  run.repeats = options.repeats;
  if (!ends) run.limit = options.instructions ? options.instructions : 1'000'000;
  const FleetResult result = run_fleet(run);
  if (ends) check_guest(guest_named(options.workload), result, options.divergent, options.iterations);
  std::string what = options.program.empty() ? options.workload : options.program;
  if (ends) {
    what += options.divergent ? " divergent" : " lockstep";
    what += ", iterations " + std::to_string(options.iterations);
  } else if (options.program.empty()) {
    what = options.workload == "add" ? "loop ADD, B" : "loop ADD, STR, B";
  }
  report.add(what, options.device, options.lanes, result.instructions, result.times,
             {{"create_seconds", result.create_seconds},
              {"pool_bytes", result.pool_bytes},
              {"threads", options.threads},
              {"iterations", ends ? options.iterations : 0},
              {"engine", name(options.engine)},
              {"inputs", options.divergent ? "divergent" : "lockstep"}});
}

/// Measures the whole list. Returns false if a measurement failed; the others are still made.
bool measure_all(Report& report, const Options& base, bool gpu) {
  bool good = true;
  auto one = [&](const char* workload, uint64_t lanes, bool divergent, int iterations, uint64_t instructions) {
    Options options = base;
    options.workload = workload;
    options.lanes = lanes;
    options.divergent = divergent;
    options.iterations = iterations;
    options.instructions = instructions;
    try {
      measure(report, options);
    } catch (const std::exception& error) {
      report.note(std::string("failed: ") + error.what());
      good = false;
    }
  };
  if (gpu) {
    one("add", 1, false, 1, 30'000'000);
    one("store", 1, false, 1, 30'000'000);
    one("add", 270'336, false, 1, 10'000'000);
    one("store", 202'752, false, 1, 1'000'000);
    one("mixed", 1, false, 1, 0);
    one("mixed", 33'792, false, 1, 0);
    one("mixed", 202'752, false, 1, 0);
    one("mixed", 202'752, false, 4, 0);
    one("mixed", 202'752, true, 1, 0);
    one("mixed", 202'752, true, 4, 0);
    one("nbody", 1, false, 1, 0);
    one("nbody", 33'792, false, 1, 0);
    one("nbody", 33'792, true, 1, 0);
    one("nbody", 202'752, false, 1, 0);
    return good;
  }
  one("add", 1, false, 1, 200'000'000);
  one("store", 1, false, 1, 200'000'000);
  one("mixed", 1, false, 10, 0);
  one("mixed", 256, false, 1, 0);
  one("mixed", 256, true, 1, 0);
  one("nbody", 1, false, 1, 0);
  one("nbody", 64, true, 1, 0);
  return good;
}

bool parse(int argc, char** argv, Options& o) {
  for (int i = 1; i < argc; i++) {
    const std::string name = argv[i];
    if (name == "--lockstep" || name == "--divergent") {
      o.divergent = name == "--divergent";
      continue;
    }
    if (i + 1 == argc) return false;
    const char* value = argv[++i];
    if (name == "--device") o.device = value;
    else if (name == "--engine" && value == std::string("interpreter")) o.engine = Engine::interpreter;
    else if (name == "--engine" && value == std::string("stepper")) o.engine = Engine::stepper;
    else if (name == "--engine" && value == std::string("translate")) o.engine = Engine::translate;
    else if (name == "--workload") o.workload = value;
    else if (name == "--program") o.program = value;
    else if (name == "--json") o.json = value;
    else if (name == "--commit") o.commit = value;
    else if (name == "--lanes") o.lanes = std::strtoull(value, nullptr, 0);
    else if (name == "--instructions") o.instructions = std::strtoull(value, nullptr, 0);
    else if (name == "--memory") o.memory = std::strtoull(value, nullptr, 0);
    else if (name == "--iterations") o.iterations = std::atoi(value);
    else if (name == "--repeats") o.repeats = std::atoi(value);
    else if (name == "--threads") o.threads = static_cast<unsigned>(std::atoi(value));
    else return false;
  }
  if (!o.workload.empty() && o.workload != "mixed" && o.workload != "nbody" && o.workload != "add" &&
      o.workload != "store")
    return false;
  return o.repeats > 0;
}

int run(int argc, char** argv) {
  Options options;
  if (!parse(argc, argv, options)) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  options.device = find_device(options.device).id;
  const bool gpu = options.device.starts_with("cuda");
  check_native();
  Report report(argc, argv, options.commit);
  report.begin("Fleets of bare programs");
  bool good = true;
  if (options.workload.empty() && options.program.empty()) {
    good = measure_all(report, options, gpu);
  } else {
    if (options.workload.empty()) options.workload = "program";
    if (options.lanes == 0) options.lanes = 1;
    measure(report, options);
  }
  report.write(options.json);
  return good ? 0 : 1;
}

}  // namespace
}  // namespace myriarm::bench

int main(int argc, char** argv) { return myriarm::bench::main_of("fleet_bench", myriarm::bench::run, argc, argv); }
