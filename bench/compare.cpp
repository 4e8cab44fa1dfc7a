// SPDX-License-Identifier: Apache-2.0
// Runs one ELF file in turns on the CPU interpreter (through the library), on Unicorn, in QEMU user mode, and natively,
// compiled from its source for this machine. Then measures the start of lanes, and how lanes scale over threads.
#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unicorn/unicorn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <thread>

#include "measure.h"
#include "myriarm/myriarm.h"

extern char** environ;

namespace myriarm::bench {
namespace {

struct Options {
  std::string workload, qemu = "qemu-aarch64", json, commit = "unknown";
  uint32_t seed = 0;
  int iterations = 200, rounds = 5;
};

constexpr const char* kUsage =
    "compare [--workload mixed|nbody] [--iterations N] [--rounds N] [--qemu PROGRAM] [--cpu-time] [--json FILE|-] "
    "[--commit TEXT]\n"
    "Runs the prebuilt programs mixed (integer) and nbody (double) with N iterations on each engine, in turns, and\n"
    "prints seconds and instructions per second; with --workload only one of them. All rates use the interpreter's\n"
    "count, which is exact. QEMU's time includes its start-up; the others are the time of one uc_emu_start or run()\n"
    "call. --cpu-time compares the engines by processor time instead of wall time, for a machine that is not idle.\n";

/// Measure processor time of this process and its children instead of wall time.
bool use_cpu_time = false;
double engine_clock() {
  if (!use_cpu_time) return now_seconds();
  double seconds = 0;
  for (int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage;
    getrusage(who, &usage);
    for (const timeval& part : {usage.ru_utime, usage.ru_stime}) {
      seconds += static_cast<double>(part.tv_sec) + 1e-6 * static_cast<double>(part.tv_usec);
    }
  }
  return seconds;
}

/// The result of one run: its seconds and what the guest printed.
struct Sample {
  double seconds;
  std::string output;
};

Sample run_interpreter(const ElfImage& image, const std::vector<std::string>& arguments, uint64_t& instructions) {
  FleetOptions fleet;
  fleet.device = "cpu";
  fleet.threads = 1;
  LinuxOptions options;
  options.arguments = arguments;
  LinuxFleet process(image, fleet, options);
  double start = engine_clock();
  instructions = process.run().instructions;
  double seconds = engine_clock() - start;
  const std::span<const uint8_t> output = process.standard_output(0);
  return {seconds, {output.begin(), output.end()}};
}

void check(uc_err error, const char* what) {
  if (error != UC_ERR_OK) throw Error(std::string("Unicorn cannot ") + what + ": " + uc_strerror(error));
}

/// A minimal process for a static program in Unicorn: its segments, a stack with arguments, write and exit.
class UnicornProcess {
 public:
  UnicornProcess(const ElfImage& image, const std::vector<std::string>& arguments) {
    check(uc_open(UC_ARCH_ARM64, UC_MODE_ARM, &uc_), "open");
    std::map<uint64_t, uint32_t> pages;
    for (const Segment& segment : image.program.segments) {
      for (uint64_t page = segment.address & ~(kPageBytes - 1); page < segment.address + segment.size;
           page += kPageBytes) {
        uint32_t& protection = pages[page];
        if (segment.permissions & kRead) protection |= UC_PROT_READ;
        if (segment.permissions & kWrite) protection |= UC_PROT_WRITE;
        if (segment.permissions & kExecute) protection |= UC_PROT_EXEC;
      }
    }
    for (auto it = pages.begin(); it != pages.end();) {  // one mapping for consecutive pages with the same permissions
      auto end = it;
      uint64_t size = 0;
      for (; end != pages.end() && end->first == it->first + size && end->second == it->second; ++end)
        size += kPageBytes;
      check(uc_mem_map(uc_, it->first, size, it->second), "map a segment");
      it = end;
    }
    for (const Segment& segment : image.program.segments) {
      if (segment.bytes.empty()) continue;
      check(uc_mem_write(uc_, segment.address, segment.bytes.data(), segment.bytes.size()), "write a segment");
    }
    constexpr uint64_t kStack = 0x7F0000000000, kStackBytes = 1 << 20;
    check(uc_mem_map(uc_, kStack, kStackBytes, UC_PROT_READ | UC_PROT_WRITE), "map the stack");
    uint64_t strings = kStack + kStackBytes - 4096;
    std::vector<uint64_t> words = {arguments.size()};
    for (const std::string& argument : arguments) {
      words.push_back(strings);
      check(uc_mem_write(uc_, strings, argument.c_str(), argument.size() + 1), "write an argument");
      strings += argument.size() + 1;
    }
    words.insert(words.end(), {0, 0, 0, 0});  // the terminators of argv, envp and auxv
    uint64_t sp = kStack + kStackBytes - 8192;
    check(uc_mem_write(uc_, sp, words.data(), words.size() * 8), "write the stack");
    check(uc_reg_write(uc_, UC_ARM64_REG_SP, &sp), "set SP");
    uint64_t fp_enable = 3 << 20;  // CPACR_EL1.FPEN
    check(uc_reg_write(uc_, UC_ARM64_REG_CPACR_EL1, &fp_enable), "let FP instructions through");
    uc_hook hook;
    check(uc_hook_add(uc_, &hook, UC_HOOK_INTR, reinterpret_cast<void*>(on_interrupt), this, 1, 0), "hook SVC");
    entry_ = image.program.entry;
  }
  ~UnicornProcess() { uc_close(uc_); }
  UnicornProcess(const UnicornProcess&) = delete;
  UnicornProcess& operator=(const UnicornProcess&) = delete;

  Sample run() {
    double start = engine_clock();
    check(uc_emu_start(uc_, entry_, ~uint64_t{3}, 0, 0), "run the program");
    return {engine_clock() - start, output_};
  }

 private:
  static void on_interrupt(uc_engine* uc, uint32_t, void* self) {
    constexpr uint64_t kWrite64 = 64, kExit = 93, kExitGroup = 94;
    uint64_t number = 0, address = 0, size = 0;
    uc_reg_read(uc, UC_ARM64_REG_X8, &number);
    if (number == kExit || number == kExitGroup) {
      uc_emu_stop(uc);
      return;
    }
    uint64_t result = static_cast<uint64_t>(-38);  // ENOSYS
    if (number == kWrite64) {
      uc_reg_read(uc, UC_ARM64_REG_X1, &address);
      uc_reg_read(uc, UC_ARM64_REG_X2, &size);
      std::string text(size, 0);
      if (uc_mem_read(uc, address, text.data(), size) == UC_ERR_OK) static_cast<UnicornProcess*>(self)->output_ += text;
      result = size;
    }
    uc_reg_write(uc, UC_ARM64_REG_X0, &result);
  }

  uc_engine* uc_ = nullptr;
  uint64_t entry_ = 0;
  std::string output_;
};

/// Runs a program as a child process and captures its standard output. Negative seconds: it could not be started.
Sample run_child(std::vector<std::string> words) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {-1, {}};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  double start = engine_clock();
  pid_t child = 0;
  int error = posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  Sample sample{-1, {}};
  if (error == 0) {
    char buffer[4096];
    ssize_t n;
    while ((n = read(ends[0], buffer, sizeof buffer)) > 0) sample.output.append(buffer, static_cast<size_t>(n));
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) sample.seconds = engine_clock() - start;
  }
  close(ends[0]);
  return sample;
}

std::string program_file(const Guest& guest) { return std::string(MYRIARM_GUESTS "/") + guest.name; }

void compare_engines(Report& report, const Options& options, const Guest& guest) {
  const ElfImage image = load_elf(program_file(guest));
  const std::vector<std::string> arguments = {guest.name, std::to_string(options.seed),
                                              std::to_string(options.iterations)};
  Times interpreter, unicorn, qemu, native;
  uint64_t instructions = 0;
  char expected[32];
  std::snprintf(expected, sizeof expected, "%016llx\n",
                static_cast<unsigned long long>(guest.native(options.seed, options.iterations)));
  auto take = [&](Times& times, const Sample& sample, const char* engine) {
    if (sample.output != expected) {
      throw Error(std::string(engine) + " printed \"" + sample.output + "\" but the native program gives " + expected);
    }
    times.seconds.push_back(sample.seconds);
  };
  bool have_qemu = true;
  for (int round = 0; round <= options.rounds; round++) {
    if (round == 1) interpreter = unicorn = qemu = native = {};  // round 0 was the warm-up
    take(interpreter, run_interpreter(image, arguments, instructions), "myriarm");
    take(unicorn, UnicornProcess(image, arguments).run(), "Unicorn");
    if (have_qemu) {
      Sample sample = run_child({options.qemu, program_file(guest), arguments[1], arguments[2]});
      have_qemu = sample.seconds >= 0;
      if (have_qemu) take(qemu, sample, "QEMU");
    }
    double start = engine_clock();
    volatile uint64_t result = guest.native(options.seed, options.iterations);
    static_cast<void>(result);
    native.seconds.push_back(engine_clock() - start);
  }
  unsigned major, minor;
  uc_version(&major, &minor);
  report.begin("One ELF on one core, engines in turns: " + arguments[0] + " " + arguments[1] + " " + arguments[2] +
               (use_cpu_time ? " (processor time)" : ""));
  report.add("myriarm, CPU interpreter", "cpu", 1, instructions, interpreter);
  report.add("Unicorn " + std::to_string(major) + "." + std::to_string(minor) + " (JIT)", "peer", 1, instructions,
             unicorn);
  if (have_qemu) report.add("qemu-aarch64 (JIT), start included", "peer", 1, instructions, qemu);
  else report.note(options.qemu + " could not be run: no QEMU row (install qemu-user, or give --qemu)");
  report.add("native, rate by the A64 count", "peer", 1, instructions, native);
  char text[96];
  std::snprintf(text, sizeof text, "myriarm is %.2f times Unicorn's rate", unicorn.median() / interpreter.median());
  report.note(text);
}

void measure_start_up(Report& report, const Options& options) {
  const ElfImage image = load_elf(program_file(guests[0]));
  report.begin("Starting lanes of the ELF program (seconds for all lanes)");
  for (uint64_t lanes : {uint64_t{1}, uint64_t{4096}}) {
    Times times;
    uint64_t bytes = 0;
    for (int repeat = 0; repeat <= options.rounds; repeat++) {
      FleetOptions fleet;
      fleet.device = "cpu";
      fleet.lanes = lanes;
      LinuxOptions linux_options;
      linux_options.arguments = {"mixed"};
      const uint64_t before = resident_bytes();
      double start = now_seconds();
      LinuxFleet process(image, fleet, linux_options);
      double seconds = now_seconds() - start;
      const uint64_t after = resident_bytes();
      if (repeat) times.seconds.push_back(seconds);
      if (repeat == 0) bytes = after > before ? after - before : 0;  // later runs reuse memory
    }
    report.add("create a process in each lane", "cpu", lanes, 0, times,
               {{"seconds_per_lane", times.median() / static_cast<double>(lanes)}, {"bytes_per_lane", bytes / lanes}});
    char text[128];
    std::snprintf(text, sizeof text, "a lane: %.4f ms, %.1f KiB of this process's memory",
                  1e3 * times.median() / static_cast<double>(lanes),
                  static_cast<double>(bytes) / 1024 / static_cast<double>(lanes));
    report.note(text);
  }
}

void measure_scaling(Report& report, const Options& options) {
  report.begin("Lanes over CPU threads: the bare mixed program, 64 lanes, divergent");
  FleetRun run;
  run.program = raw_program("mixed", read_file(MYRIARM_GUESTS "/mixed_1.bin"), 0, 128 << 10);
  run.options.device = "cpu";
  run.options.lanes = 64;
  run.options.memory = 128 << 10;
  run.lane_in_x0 = true;
  run.repeats = options.rounds;
  double one = 0;
  for (unsigned threads = 1; threads <= std::thread::hardware_concurrency(); threads *= 2) {
    run.options.threads = threads;
    const FleetResult result = run_fleet(run);
    check_guest(guests[0], result, true, 1);
    report.add(std::to_string(threads) + (threads == 1 ? " thread" : " threads"), "cpu", 64, result.instructions,
               result.times, {{"threads", threads}});
    if (threads == 1) one = result.times.median();
    char text[64];
    std::snprintf(text, sizeof text, "speed-up %.2f", one / result.times.median());
    report.note(text);
  }
}

void measure_loops(Report& report, const Options& options) {
  report.begin("Tight loops, one lane, one thread");
  for (auto [name, file] :
       {std::pair{"loop ADD, B", "/loop_add.bin"}, std::pair{"loop ADD, STR, B", "/loop_store.bin"}}) {
    FleetRun run;
    run.program = raw_program(name, read_file(std::string(MYRIARM_GUESTS) + file), 0, 128 << 10);
    run.options.device = "cpu";
    run.options.memory = 128 << 10;
    run.options.threads = 1;
    run.limit = 200'000'000;
    run.repeats = options.rounds;
    const FleetResult result = run_fleet(run);
    report.add(name, "cpu", 1, result.instructions, result.times);
  }
}

bool parse(int argc, char** argv, Options& o) {
  for (int i = 1; i < argc; i++) {
    const std::string name = argv[i];
    if (name == "--cpu-time") {
      use_cpu_time = true;
      continue;
    }
    if (i + 1 == argc) return false;
    const char* value = argv[++i];
    if (name == "--iterations") o.iterations = std::atoi(value);
    else if (name == "--rounds") o.rounds = std::atoi(value);
    else if (name == "--workload") o.workload = value;
    else if (name == "--qemu") o.qemu = value;
    else if (name == "--json") o.json = value;
    else if (name == "--commit") o.commit = value;
    else return false;
  }
  return o.iterations > 0 && o.rounds > 0;
}

}  // namespace
}  // namespace myriarm::bench

int main(int argc, char** argv) {
  using namespace myriarm::bench;
  Options options;
  if (!parse(argc, argv, options)) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  try {
    check_native();
    Report report(argc, argv, options.commit);
    std::printf("%s\n", cpu_name().c_str());
    for (const Guest& guest : guests) {
      if (options.workload.empty() || &guest_named(options.workload) == &guest) compare_engines(report, options, guest);
    }
    if (options.workload.empty()) {
      measure_start_up(report, options);
      measure_scaling(report, options);
      measure_loops(report, options);
    }
    report.write(options.json);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "compare: %s\n", error.what());
    return 2;
  }
}
