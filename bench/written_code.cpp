// SPDX-License-Identifier: Apache-2.0
// Measures code that is not there from the start: written by the host (the same code again, one instruction, other code
// in each team or lane), or by the guest (once, in every iteration, function after function as a compiler at run time
// does), and what a restore of such code costs. Each row has a twin whose code the program begins with. The cases take
// turns, each on a new fleet. It needs only the C library, so that it can be copied to a GPU machine.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "measure.h"

// The prebuilt guest, included as bytes.
asm(".section .rodata\n.balign 8\n.global guest_mixed\nguest_mixed:\n.incbin \"" MYRIARM_GUESTS
    "/mixed_10.bin\"\n.global guest_mixed_end\nguest_mixed_end:\n.byte 0\n.previous\n");
extern "C" const unsigned char guest_mixed[], guest_mixed_end[];

namespace myriarm::bench {
namespace {

using Words = std::vector<uint32_t>;

constexpr uint64_t kData = 1 << 16;    // what loops store to
constexpr uint64_t kBuffer = 2 << 16;  // where guests write code
constexpr uint32_t kFunctionBytes = 32;

// The loop ADD, STR, B, as loop_store.S but without its first instruction: x1 is kData from the start.
const Words kLoop = {0x91000400,   // add x0, x0, #1
                     0xF9000020,   // str x0, [x1]
                     0x17FFFFFE};  // b .-8
constexpr uint32_t add_to_x0(uint32_t number) { return 0x91000000 | (number & 0xFFF) << 10; }
// Copies the four words at x2 to x3 and goes on there.
const Words kCopiesItsCode = {0xA9401444,   // ldp x4, x5, [x2]
                              0xA9001464,   // stp x4, x5, [x3]
                              0xD61F0060};  // br x3
// Writes a word, which is w4 and w4 ^ w5 in turn, to x2, where its next instruction is.
const Words kRewrites = {0x4A050084,   // eor w4, w4, w5
                         0xB9000044,   // str w4, [x2]
                         0x91000400,   // add x0, x0, #1: x2 points here
                         0x17FFFFFD};  // b .-12
// Writes x2 functions of five words, x4 (which is x4 ^ x7 in every other function), x5 and x6, to x1 and up, calls each
// as soon as it is written, then calls all of them x3 times.
const Words kCompiles = {0xAA0103E9,   // mov x9, x1
                         0xAA0203EA,   // mov x10, x2
                         0xA9001524,   // stp x4, x5, [x9]
                         0xF9000926,   // str x6, [x9, #16]
                         0xD63F0120,   // blr x9
                         0xCA070084,   // eor x4, x4, x7
                         0x91008129,   // add x9, x9, #32
                         0xF100054A,   // subs x10, x10, #1
                         0x54FFFF41,   // b.ne .-24
                         0xB4000123,   // cbz x3, .+36
                         0xD1000463,   // sub x3, x3, #1
                         0xAA0103E9,   // mov x9, x1
                         0xAA0203EA,   // mov x10, x2
                         0xD63F0120,   // blr x9
                         0x91008129,   // add x9, x9, #32
                         0xF100054A,   // subs x10, x10, #1
                         0x54FFFFA1,   // b.ne .-12
                         0x17FFFFF8,   // b .-32
                         0xD4400000};  // hlt #0
const Words kFunction = {0x91000400,   // add x0, x0, #1: #2 in every other function
                         0xCA003400,   // eor x0, x0, x0, lsl #13
                         0xCA401C00,   // eor x0, x0, x0, lsr #7
                         0x8B090000,   // add x0, x0, x9
                         0xD65F03C0};  // ret

struct Settings {
  std::string device = "auto", json, commit = "unknown", only;
  uint64_t lanes = 0, instructions = 0, functions = 0;
  int repeats = 3, rounds = -1;
  bool slow = true;
};

constexpr const char* kUsage =
    "written_code [--device auto|cpu|cuda|cuda:N] [--lanes N] [--instructions N] [--functions N] [--rounds N]\n"
    "             [--repeats N] [--only TEXT] [--no-slow] [--json FILE|-] [--commit TEXT]\n"
    "Without --lanes: 1 and 10,000. --instructions: of each lane, for what never ends. --functions and --rounds: of "
    "the\n"
    "guest that compiles: how many it writes, and how often it calls all of them. --only: cases with TEXT in their "
    "name.\n"
    "--no-slow: without the cases in which a GPU decodes as it runs. One warm-up, then the median of the repeats.\n";

std::vector<uint8_t> bytes_of(const Words& words) {
  std::vector<uint8_t> bytes(words.size() * 4);
  std::memcpy(bytes.data(), words.data(), bytes.size());
  return bytes;
}
std::vector<uint8_t> mixed_bytes() { return {guest_mixed, guest_mixed_end}; }

void write_to_all(Fleet& fleet, uint64_t address, const std::vector<uint8_t>& bytes) {
  std::vector<Transfer> transfers(fleet.lanes());
  for (uint32_t lane = 0; lane < fleet.lanes(); lane++)
    transfers[lane] = {lane, static_cast<uint32_t>(bytes.size()), address, 0};
  fleet.write(transfers, bytes);
}

/// Writes one word to each lane.
void write_words(Fleet& fleet, uint64_t address, const std::function<uint32_t(uint32_t lane)>& word_of) {
  Words words(fleet.lanes());
  std::vector<Transfer> transfers(fleet.lanes());
  for (uint32_t lane = 0; lane < fleet.lanes(); lane++) {
    words[lane] = word_of(lane);
    transfers[lane] = {lane, 4, address, uint64_t{4} * lane};
  }
  fleet.write(transfers, bytes_of(words));
}

struct Case {
  const char* group;  // cases of a group run the same instructions
  const char* name;
  std::vector<uint8_t> program;  // at address 0
  std::function<void(Fleet&)> prepare;
  uint64_t instructions;  // of each lane; ~0: until it halts
  bool slow = false;      // a GPU may decode as it runs
};

constexpr uint64_t kToItsEnd = ~uint64_t{0};

void set_loop(Fleet& fleet) { fleet.fill(x(1), kData); }

/// The registers of kCompiles.
void set_compiler(Fleet& fleet, uint64_t functions, uint64_t rounds) {
  auto pair = [](uint32_t low, uint32_t high) { return uint64_t{high} << 32 | low; };
  fleet.fill(x(1), kBuffer);
  fleet.fill(x(2), functions);
  fleet.fill(x(3), rounds);
  fleet.fill(x(4), pair(kFunction[0], kFunction[1]));
  fleet.fill(x(5), pair(kFunction[2], kFunction[3]));
  fleet.fill(x(6), kFunction[4]);
  fleet.fill(x(7), add_to_x0(1) ^ add_to_x0(2));
}

/// What kCompiles leaves in x0.
uint64_t compiled_result(uint64_t functions, uint64_t rounds) {
  uint64_t x0 = 0;
  for (uint64_t round = 0; round <= rounds; round++) {
    for (uint64_t i = 0; i < functions; i++) {
      x0 += 1 + i % 2;
      x0 ^= x0 << 13;
      x0 ^= x0 >> 7;
      x0 += kBuffer + i * kFunctionBytes;
    }
  }
  return x0;
}

std::vector<Case> cases_of(uint64_t instructions, uint64_t functions, uint64_t rounds) {
  const std::vector<uint8_t> loop = bytes_of(kLoop), mixed = mixed_bytes();
  // The words that the program of kvrm begins with, and a program that another one is written over.
  const std::vector<uint8_t> nothing(4);
  auto all = [](const std::vector<uint8_t>& bytes, uint64_t address) {
    return [bytes, address](Fleet& fleet) {
      set_loop(fleet);
      write_to_all(fleet, address, bytes);
      fleet.fill(Field::pc, address);
    };
  };
  auto patched = [](const std::function<uint32_t(uint32_t)>& word_of) {
    return [word_of](Fleet& fleet) {
      set_loop(fleet);
      write_words(fleet, 0, word_of);
    };
  };
  const std::vector<uint8_t> copies = [&] {
    std::vector<uint8_t> bytes = bytes_of(kCopiesItsCode);
    bytes.resize(32);
    bytes.insert(bytes.end(), loop.begin(), loop.end());
    return bytes;
  }();
  auto compiles = [=](uint64_t more) { return [=](Fleet& fleet) { set_compiler(fleet, functions, more); }; };
  return {
      {"loop", "there from the start", loop, set_loop, instructions},
      {"loop", "the same code written", loop, all(loop, 0), instructions},
      {"loop", "over another program", nothing, all(loop, 0), instructions},
      {"loop", "where there was nothing", nothing, all(loop, kBuffer), instructions},
      {"loop", "one instruction patched", loop, patched([](uint32_t) { return add_to_x0(2); }), instructions},
      {"loop", "each team patched otherwise", loop, patched([](uint32_t lane) { return add_to_x0(1 + lane / 32); }),
       instructions},
      {"loop", "half of the teams patched", loop,
       patched([](uint32_t lane) { return add_to_x0(lane / 32 % 2 ? 1 : 2); }), instructions},
      {"loop", "each lane patched otherwise", loop, patched([](uint32_t lane) { return add_to_x0(1 + lane); }),
       instructions, true},
      {"loop", "copied by the guest", copies,
       [](Fleet& fleet) {
         set_loop(fleet);
         fleet.fill(x(2), 32);
         fleet.fill(x(3), kBuffer);
       },
       instructions},
      {"mixed", "there from the start", mixed, [](Fleet&) {}, instructions},
      {"mixed", "the same code written", mixed, all(mixed, 0), instructions},
      {"mixed", "over another program", nothing, all(mixed, 0), instructions},
      {"mixed", "one instruction patched", mixed,
       // mov w1, #10 as mov x1, #10
       [](Fleet& fleet) { write_words(fleet, 0, [](uint32_t) { return 0xD2800141u; }); }, instructions},
      {"rewriting", "in every iteration", bytes_of(kRewrites),
       [](Fleet& fleet) {
         fleet.fill(x(2), 8);
         fleet.fill(x(4), add_to_x0(1));
         fleet.fill(x(5), add_to_x0(1) ^ add_to_x0(2));
       },
       instructions / 10, true},
      {"rewriting", "where there was nothing",
       [&] {
         std::vector<uint8_t> bytes = bytes_of(kCopiesItsCode);
         bytes.resize(32);
         const std::vector<uint8_t> more = bytes_of(kRewrites);
         bytes.insert(bytes.end(), more.begin(), more.end());
         return bytes;
       }(),
       [](Fleet& fleet) {
         write_to_all(fleet, kBuffer, bytes_of(kRewrites));
         fleet.fill(Field::pc, kBuffer);
         fleet.fill(x(2), kBuffer + 8);
         fleet.fill(x(4), add_to_x0(1));
         fleet.fill(x(5), add_to_x0(1) ^ add_to_x0(2));
       },
       instructions / 10, true},
      {"compiling", "called once", bytes_of(kCompiles), compiles(0), kToItsEnd, true},
      {"compiling", "called often", bytes_of(kCompiles), compiles(rounds), kToItsEnd},
  };
}

Fleet make_fleet(const Settings& settings, uint64_t lanes, const std::vector<uint8_t>& program, uint64_t functions) {
  FleetOptions options;
  options.device = settings.device;
  options.lanes = lanes;
  options.memory = (kBuffer + functions * kFunctionBytes + (64 << 10)) / kPageBytes * kPageBytes;
  return Fleet(raw_program("written_code", program, 0, options.memory), options);
}

void check(const Case& one, const Fleet& fleet, uint64_t functions, uint64_t rounds) {
  if (std::string(one.group) != "compiling") return;
  const uint64_t wanted = compiled_result(functions, std::string(one.name) == "called often" ? rounds : 0);
  for (uint32_t lane : {0u, static_cast<uint32_t>(fleet.lanes() - 1)}) {
    if (fleet.stops()[lane].reason == StopReason::halt && fleet.get(x(0), lane) == wanted) continue;
    throw Error(std::string(one.name) + ": lane " + std::to_string(lane) + " has a wrong result");
  }
}

/// Every case on a new fleet in each repetition, in turns, so that other load on the machine affects all of them equally.
void measure_runs(Report& report, const Settings& settings, uint64_t lanes, uint64_t instructions, uint64_t functions,
                  uint64_t rounds) {
  std::vector<Case> cases;
  for (Case& one : cases_of(instructions, functions, rounds)) {
    const std::string name = std::string(one.group) + ", " + one.name;
    if (name.find(settings.only) != std::string::npos && (settings.slow || !one.slow)) cases.push_back(std::move(one));
  }
  std::vector<Times> times(cases.size());
  std::vector<uint64_t> retired(cases.size());
  for (int repeat = 0; repeat <= settings.repeats; repeat++) {  // the first is the warm-up
    for (size_t i = 0; i < cases.size(); i++) {
      Fleet fleet = make_fleet(settings, lanes, cases[i].program, functions);
      cases[i].prepare(fleet);
      fleet.fill(Field::limit, cases[i].instructions);
      const double begin = now_seconds();
      retired[i] = fleet.run().instructions;
      if (repeat) times[i].seconds.push_back(now_seconds() - begin);
      check(cases[i], fleet, functions, rounds);
    }
  }
  report.begin("Written code, " + std::to_string(lanes) + (lanes == 1 ? " lane" : " lanes"));
  for (size_t i = 0; i < cases.size(); i++) {
    report.add(std::string(cases[i].group) + ", " + cases[i].name, settings.device, lanes, retired[i], times[i],
               {{"functions", functions}, {"rounds", rounds}});
  }
}

/// A restore and a short run, as reinforcement learning makes them, with and without a patched instruction.
void measure_restores(Report& report, const Settings& settings, uint64_t lanes) {
  constexpr uint64_t kShort = 1000;
  constexpr int kTimes = 20;
  const std::vector<uint8_t> loop = bytes_of(kLoop);
  const char* names[] = {"restore, program as it was", "restore, one instruction patched"};
  std::vector<Fleet> fleets;
  std::vector<Snapshot> snapshots;
  for (bool patched : {false, true}) {
    Fleet fleet = make_fleet(settings, lanes, loop, 1);
    set_loop(fleet);
    if (patched) write_words(fleet, 0, [](uint32_t) { return add_to_x0(2); });
    fleet.fill(Field::limit, kShort);
    snapshots.push_back(fleet.snapshot());
    fleets.push_back(std::move(fleet));
  }
  Times restores[2], runs[2];
  for (int repeat = 0; repeat <= settings.repeats; repeat++) {
    for (size_t i = 0; i < 2; i++) {
      double restored = 0, ran = 0;
      for (int again = 0; again < kTimes; again++) {
        double begin = now_seconds();
        fleets[i].restore(snapshots[i]);
        restored += now_seconds() - begin;
        begin = now_seconds();
        fleets[i].run();
        ran += now_seconds() - begin;
      }
      if (repeat == 0) continue;
      restores[i].seconds.push_back(restored / kTimes), runs[i].seconds.push_back(ran / kTimes);
    }
  }
  report.begin("Restore and run 1,000 instructions, " + std::to_string(lanes) + (lanes == 1 ? " lane" : " lanes"));
  for (size_t i = 0; i < 2; i++) {
    report.add(std::string(names[i]) + ": restore", settings.device, lanes, 0, restores[i]);
    report.add(std::string(names[i]) + ": run", settings.device, lanes, lanes * kShort, runs[i]);
  }
}

bool parse(int argc, char** argv, Settings& o) {
  for (int i = 1; i < argc; i++) {
    const std::string name = argv[i];
    if (name == "--no-slow") {
      o.slow = false;
      continue;
    }
    if (i + 1 == argc) return false;
    const char* value = argv[++i];
    if (name == "--device") o.device = value;
    else if (name == "--json") o.json = value;
    else if (name == "--commit") o.commit = value;
    else if (name == "--only") o.only = value;
    else if (name == "--lanes") o.lanes = std::strtoull(value, nullptr, 0);
    else if (name == "--instructions") o.instructions = std::strtoull(value, nullptr, 0);
    else if (name == "--functions") o.functions = std::strtoull(value, nullptr, 0);
    else if (name == "--rounds") o.rounds = std::atoi(value);
    else if (name == "--repeats") o.repeats = std::atoi(value);
    else return false;
  }
  return o.repeats > 0;
}

int run(int argc, char** argv) {
  Settings settings;
  if (!parse(argc, argv, settings)) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  settings.device = find_device(settings.device).id;
  const bool gpu = settings.device.starts_with("cuda");
  Report report(argc, argv, settings.commit);
  const std::vector<uint64_t> sizes =
      settings.lanes ? std::vector<uint64_t>{settings.lanes} : std::vector<uint64_t>{1, 10'000};
  for (uint64_t lanes : sizes) {
    // A GPU runs thousands of lanes in the time of one; a CPU runs them one after the other.
    const bool small = !gpu && lanes > 100;
    const uint64_t instructions = settings.instructions ? settings.instructions
                                  : gpu                 ? 800'000
                                  : small               ? 20'000
                                                        : 50'000'000;
    const uint64_t functions = settings.functions ? settings.functions : small ? 100 : 10'000;
    const uint64_t rounds = settings.rounds >= 0 ? static_cast<uint64_t>(settings.rounds) : gpu ? 20 : 100;
    measure_runs(report, settings, lanes, instructions, functions, rounds);
    if (settings.only.empty() || settings.only == "restore") measure_restores(report, settings, lanes);
  }
  report.write(settings.json);
  return 0;
}

}  // namespace
}  // namespace myriarm::bench

int main(int argc, char** argv) { return myriarm::bench::main_of("written_code", myriarm::bench::run, argc, argv); }
