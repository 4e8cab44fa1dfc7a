// SPDX-License-Identifier: Apache-2.0
// `myriarm run`: runs one program in N lanes. It reads and checks all input before the program starts.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>

#include "collected.h"
#include "commands.h"
#include "file.h"
#include "file_options.h"
#include "interrupt.h"
#include "lane_inputs.h"
#include "lane_report.h"
#include "myriarm/shared_queue.h"
#include "output.h"
#include "run_digests.h"
#include "run_queue.h"
#include "run_report.h"
#include "standard_input.h"
#include "text.h"
#include "translation_text.h"

namespace myriarm::cli {
namespace {

// Lanes of a queue if nobody says how many.
constexpr uint64_t kQueueLanes = 1024, kQueueLanesGpu = 16384;
constexpr uint64_t kRawMemory = uint64_t{4} << 20;

constexpr char kExitStatusHelp[] =
    "Options come before PROGRAM; what follows it belongs to the program.\n"
    "The exit status of a lane is that of its program; 128 + signal if a signal killed it; 0 after HLT of a bare\n"
    "program, 1 after its SVC; 124 at --max-instructions; 130 after Ctrl-C; 137 if memory for its pages ran out.\n"
    "The exit status of many lanes is the highest of theirs; 128 + signal after SIGTERM or SIGHUP. After a mistake in\n"
    "the arguments, or if the output cannot be written completely, it is 2.";

struct RunCommand {
  FleetOptions fleet;
  LinuxOptions process;
  std::string program, lanes, threads, engine, maximum, memory, pool, raw, entry, standard_input, seed, json;
  std::string compile_threads, inputs, record_size, args_file, traced, trace_file, fork_after;
  FileOptions files;
  QueueCommand queue;
  bool registers = false;
  bool explain = false;
  bool quiet = false;
  bool ignore_unimplemented = false;

  int execute();

 private:
  int execute_linux();
  ElfImage load_image();
  int execute_bare();
  void read_inputs();
  void trace_calls(bool as_queue);
  InputFeeder make_feeder() const;
  bool is_queue() const;
  int execute_queue(const ElfImage& image);
  QueueJob queue_job(const ElfImage& image) const;
  std::vector<FleetOptions> queue_fleets() const;
  void refuse_several_devices() const;
  int report(const Run& run, Interrupt& interrupt);
  void write_results(const Run& run, const Interrupt& interrupt, std::exception_ptr& failure);
  void open_json();
  bool json_alone() const { return json == "-"; }

  File trace_file_;
  std::optional<Output> trace_;
  File json_file_;  ///< standard output is not opened again, and so not here
  std::vector<std::string> input_names_;
  std::vector<uint8_t> program_file_;
};

/// Writes a usage line with PROGRAM and its arguments, which CLI11 does not parse and would not name.
class RunFormatter : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App*, std::string) const override {
    return "Usage: myriarm run [OPTIONS] PROGRAM [ARG ...]\n";
  }
};

void show_progress(const LinuxProgress& progress, uint64_t lanes) {
  constexpr unsigned kCells = 16;
  auto filled = static_cast<unsigned>(progress.lanes_done * kCells / lanes);
  double rate = progress.seconds > 0 ? static_cast<double>(progress.instructions) / progress.seconds : 0;
  print_error("\r[{:#<{}}{:.<{}}] {}/{} lanes, {} instructions, {} IPS\x1b[K", "", filled, "", kCells - filled,
              grouped(progress.lanes_done), grouped(lanes), with_unit(static_cast<double>(progress.instructions)),
              with_unit(rate));
}

/// The engine of this name. Throws ArgumentError.
Engine parse_engine(const std::string& text) {
  for (Engine engine : {Engine::interpreter, Engine::stepper, Engine::translate, Engine::automatic}) {
    if (text == name(engine)) return engine;
  }
  throw ArgumentError("--engine: there is no engine '" + text + "'; use interpreter, stepper, translate or auto");
}

unsigned parse_threads(const std::string& text, const char* option) {
  const uint64_t threads = parse_count(text, option);
  if (threads == 0 || threads > std::numeric_limits<unsigned>::max()) {
    throw ArgumentError(std::string(option) + ": " + text +
                        " threads cannot be started; ask for 1 to the number of the CPU's");
  }
  return static_cast<unsigned>(threads);
}

uint64_t parse_pool(const std::string& text) {
  const uint64_t bytes = parse_size(text, "--pool");
  if (bytes == 0) throw ArgumentError("--pool: without memory no lane can write; give a size, as in 256M");
  return bytes;
}

/// The first of the program's arguments that is an option of this command; empty if none is.
std::string misplaced_option(const CLI::App& run, const std::vector<std::string>& words) {
  for (size_t i = 1; i < words.size(); i++) {
    std::string option = words[i].substr(0, words[i].find('='));
    if (option.starts_with("--") && run.get_option_no_throw(option) != nullptr) return option;
  }
  return "";
}

int RunCommand::execute() {
  if (!engine.empty()) fleet.engine = parse_engine(engine);
  if (!lanes.empty()) fleet.lanes = parse_count(lanes, "--lanes");
  if (!threads.empty()) fleet.threads = parse_threads(threads, "--threads");
  if (!compile_threads.empty()) fleet.compile_threads = parse_threads(compile_threads, "--compile-threads");
  for (const std::string& variable : process.environment) {
    if (variable.find('=') == std::string::npos || variable[0] == '=') {
      throw ArgumentError("--env: '" + variable + "' does not name a variable; write it as NAME=VALUE");
    }
  }
  if (!seed.empty()) process.seed = parse_number(seed, "--seed");
  fleet.memory = raw.empty() ? kLinuxMemory : kRawMemory;
  if (!memory.empty()) fleet.memory = parse_size(memory, "--memory");
  if (fleet.memory == kUsualMemory) throw ArgumentError("--memory: there are not so many addresses; give fewer");
  if (!pool.empty()) fleet.pool = parse_pool(pool);
  if (!maximum.empty()) parse_count(maximum, "--max-instructions");
  if (!entry.empty()) parse_number(entry, "--entry");
  if (!raw.empty()) {
    parse_number(raw, "--raw");
    if (process.arguments.size() > 1) {
      throw ArgumentError(program + ": a bare program takes no arguments; leave them out, or leave out --raw");
    }
    for (const auto& [given, option] :
         {std::pair(&standard_input, "--stdin"), std::pair(&inputs, "--inputs"), std::pair(&args_file, "--args-file"),
          std::pair(&traced, "--strace"), std::pair(&trace_file, "--strace-file"),
          std::pair(&fork_after, "--fork-after"), std::pair(&files.root, "--root")}) {
      if (given->empty()) continue;
      throw ArgumentError(
          fmt::format("{}: a bare program makes no system calls; leave it out, or leave out --raw", option));
    }
  }
  files.check(process, queue.output_dir);
  if (!record_size.empty() && inputs.empty()) {
    throw ArgumentError("--record-size: there is no file to cut into records; give one with --inputs");
  }
  return raw.empty() ? execute_linux() : execute_bare();
}

InputFeeder RunCommand::make_feeder() const {
  const uint64_t record_bytes = record_size.empty() ? 0 : parse_size(record_size, "--record-size");
  if (!record_size.empty() && record_bytes == 0) {
    throw ArgumentError("--record-size: a record has no bytes; give a size above 0, as in 256 or 4K");
  }
  return InputFeeder({inputs, args_file, record_bytes, process.arguments, !standard_input.empty()});
}

/// Gives each lane its input and its arguments. They say how many lanes there are, and --lanes must agree.
void RunCommand::read_inputs() {
  if (inputs.empty() && args_file.empty()) return;
  InputFeeder feeder = make_feeder();
  ProcessInput item;
  std::string input_name;
  uint64_t count = 0, number = 0;
  for (; feeder.next(item, input_name, number); count++) {
    if (item.arguments) process.lane_arguments.push_back(std::move(*item.arguments));
    if (item.standard_input) process.standard_inputs.add(*item.standard_input);
    if (item.file) process.files.add(*item.file);
    if (!input_name.empty()) input_names_.push_back(input_name);
    if (process.standard_inputs.bytes_kept() + process.files.bytes_kept() > kMostInputBytes) {
      throw ArgumentError("--inputs: " + inputs + " holds more than 4 GiB; work it off as a queue, with --lanes");
    }
  }
  const std::string& path = inputs.empty() ? args_file : inputs;
  const char* option = inputs.empty() ? "--args-file" : "--inputs";
  if (count == 0)
    throw ArgumentError(fmt::format("{}: {} holds nothing for a lane; give a line for each", option, path));
  if (!process.lane_arguments.empty()) process.arguments.clear();
  fleet.lanes = count;
}

std::string cannot_write(const char* option, const std::string& path) {
  return fmt::format("{}: {} cannot be written ({}); give a path in a writable folder", option, path,
                     std::strerror(errno));
}

/// Lanes from "all", or numbers and ranges as in 0,5-7. Empty: all.
std::vector<uint32_t> parse_lanes(const std::string& text, uint64_t lanes) {
  constexpr uint64_t kMost = 1'000'000;
  std::vector<uint32_t> result;
  if (text == "all") return result;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    const std::string part = text.substr(at, end - at);
    const size_t dash = part.find('-');
    const uint64_t first = parse_number(part.substr(0, dash), "--strace");
    const uint64_t last = dash == part.npos ? first : parse_number(part.substr(dash + 1), "--strace");
    if (first > last || last >= lanes) {
      throw ArgumentError(
          fmt::format("--strace: there are no lanes {}; give all, or some of 0 to {}", part, lanes - 1));
    }
    if (last - first >= kMost - result.size()) {
      throw ArgumentError("--strace: " + text + " names more than a million; give all, or fewer");
    }
    for (uint64_t lane = first; lane <= last; lane++) result.push_back(static_cast<uint32_t>(lane));
    at = end + 1;
  }
  return result;
}

/// Of a queue, the calls of inputs.
void RunCommand::trace_calls(bool as_queue) {
  if (traced.empty() && trace_file.empty()) return;
  // Nobody knows how many inputs there will be.
  const uint64_t lanes = as_queue ? uint64_t{1} << 32 : fleet.lanes;
  process.traced_lanes = parse_lanes(traced.empty() ? "all" : traced, lanes);
  if (!trace_file.empty()) {
    trace_file_ = File(trace_file);
    if (!trace_file_) throw ArgumentError(cannot_write("--strace-file", trace_file));
  }
  // A trace that cannot be written does not end the run: write_results() tells.
  trace_.emplace(trace_file_ ? trace_file_.descriptor() : STDERR_FILENO, "--strace-file: " + trace_file,
                 Output::Failure::is_ignored);
  const char* const what = as_queue ? "input" : fleet.lanes == 1 ? "" : "lane";
  process.on_call = [this, what](uint64_t number, std::string_view call) {
    if (*what == 0) trace_->print("{}\n", call);
    else trace_->print("[{} {}] {}\n", what, number, call);
    if (!trace_file_) trace_->flush();  // in order with what the program prints
  };
}

bool RunCommand::is_queue() const {
  const bool has_inputs = !inputs.empty() || !args_file.empty();
  for (const auto& [given, option] :
       {std::pair(!queue.results.empty(), "--results"),
        std::pair(!queue.output_dir.empty() && (has_inputs || process.collect.empty()), "--output-dir"),
        std::pair(queue.unordered, "--unordered"), std::pair(queue.group, "--group"),
        std::pair(queue.resume, "--resume")}) {
    if (given && !has_inputs) {
      throw ArgumentError(
          fmt::format("{}: there is no queue of inputs; give one with --inputs or --args-file", option));
    }
    if (given) return true;
  }
  return has_inputs && !lanes.empty();
}

void RunCommand::refuse_several_devices() const {
  if (fleet.device != "all" && fleet.device.find(',') == std::string::npos) return;
  throw ArgumentError(
      "--device: several devices share a queue of inputs; give one with --inputs and --lanes, or name one device");
}

/// A fleet for each device of the queue.
std::vector<FleetOptions> RunCommand::queue_fleets() const {
  const std::vector<Device> devices = queue_devices(fleet.device);
  if (devices.size() > 1 && process.on_call) {
    throw ArgumentError("--strace: the calls of several devices would come at a time; name one device");
  }
  std::vector<FleetOptions> fleets(devices.size(), fleet);
  for (size_t i = 0; i < devices.size(); i++) {
    fleets[i].device = devices[i].id;
    if (lanes.empty()) fleets[i].lanes = devices[i].kind == DeviceKind::cpu ? kQueueLanes : kQueueLanesGpu;
  }
  return fleets;
}

/// What the results depend on: not on the devices, nor on what else decides only how fast they come.
QueueJob RunCommand::queue_job(const ElfImage& image) const {
  QueueJob job;
  job.add("program", program_file_);
  job.add("arguments", process.arguments);
  job.add("--env", process.environment);
  job.add("--stdin", process.standard_input);
  for (const auto& [path, option] : {std::pair(&inputs, "--inputs"), std::pair(&args_file, "--args-file")}) {
    if (path->empty()) job.add(option, "none");
    else job.add_inputs(option, *path);
  }
  job.add("--record-size", record_size.empty() ? 0 : parse_size(record_size, "--record-size"));
  job.add("--seed", process.seed);
  job.add("--memory", fleet.memory);
  job.add("--max-instructions", queue.instructions == kEndless ? "none" : std::to_string(queue.instructions));
  job.add("--entry", hex(image.program.entry));
  files.add_to(job, process);
  job.add("--fork-after", fork_after.empty() ? "start" : fork_after);
  return job;
}

int RunCommand::execute_queue(const ElfImage& image) {
  if (explain) throw ArgumentError("--explain is for lanes that run once; leave it out, or leave out --lanes");
  if (registers) {
    throw ArgumentError("--registers is for lanes that run once; take --results, or leave out --lanes");
  }
  const bool digests = wants_digests(queue);
  if (digests && !queue.output_dir.empty()) {
    throw ArgumentError("--output-dir: digests have no output of the inputs; leave it out, or give no --results");
  }
  if (digests && !args_file.empty()) {
    throw ArgumentError(
        "--args-file: digests are of inputs alone; give them with --inputs, or give --results a name without .npy");
  }
  if (!queue.results.empty() && !queue.output_dir.empty()) {
    throw ArgumentError("--results: the results go to --output-dir already; leave one of them out");
  }
  if (queue.results.empty() && queue.output_dir.empty()) queue.results = "-";
  if (json_alone() && queue.results == "-") {
    throw ArgumentError("--json: the results of the inputs go to standard output; give --results FILE, or --json FILE");
  }
  queue.json = json;
  queue.quiet = quiet;
  queue.ignore_unimplemented = ignore_unimplemented;
  if (!maximum.empty()) queue.instructions = parse_count(maximum, "--max-instructions");
  InputFeeder feeder = make_feeder();
  queue.job = queue_job(image);
  const std::vector<FleetOptions> fleets = queue_fleets();
  return (digests ? run_digests : run_queue)(image, fleets, std::move(process), feeder, queue);
}

ElfImage RunCommand::load_image() {
  ElfImage image;
  if (files.root.empty()) {
    image = load_elf(program);
    program_file_ = read_file(program);
  } else {
    process.root = files.read();
    RootProgram found = load_program(*process.root, program);
    image = std::move(found.image);
    program_file_ = std::move(found.file);
    if (!found.script_arguments.empty()) {
      process.arguments.erase(process.arguments.begin());
      process.arguments.insert(process.arguments.begin(), found.script_arguments.begin(), found.script_arguments.end());
    }
  }
  if (!entry.empty()) image.program.entry = parse_number(entry, "--entry");
  return image;
}

int RunCommand::execute_linux() {
  const ElfImage image = load_image();
  const bool as_queue = is_queue();
  if (!as_queue) {
    refuse_several_devices();
    read_inputs();
  }
  trace_calls(as_queue);
  if (standard_input == "-") process.standard_input = read_standard_input();
  else if (!standard_input.empty()) process.standard_input = read_file(standard_input);
  if (!fork_after.empty()) process.fork_after = fork_point(fork_after, program_file_, image);
  if (!maximum.empty()) process.fork_limit = parse_count(maximum, "--max-instructions");
  if (as_queue) return execute_queue(image);
  process.pass_output = fleet.lanes == 1 && !json_alone();
  const std::vector<std::string> collected = process.collect;
  LinuxFleet machine(image, fleet, std::move(process));
  if (!maximum.empty()) machine.fleet().fill(Field::limit, parse_count(maximum, "--max-instructions"));
  open_json();
  Interrupt interrupt([&] { machine.cancel(); });
  std::function<void(const LinuxProgress&)> progress;
  // A single lane writes its output directly, and a progress bar would mix with it.
  bool bar = !quiet && fleet.lanes > 1 && isatty(STDERR_FILENO);
  if (bar) progress = [this](const LinuxProgress& p) { show_progress(p, fleet.lanes); };
  RunResult result = machine.run(progress);
  if (bar) print_error("\r\x1b[K");
  write_collected(queue.output_dir, machine, fleet.lanes, collected);
  return report({machine.fleet(), &machine, result, input_names_, explain}, interrupt);
}

int RunCommand::execute_bare() {
  refuse_several_devices();
  Program bare = load_raw(program, parse_number(raw, "--raw"), fleet.memory);
  if (!entry.empty()) bare.entry = parse_number(entry, "--entry");
  Fleet machine(bare, fleet);
  std::vector<uint64_t> numbers(machine.lanes());
  std::iota(numbers.begin(), numbers.end(), 0);
  machine.set_all(x(0), numbers);
  if (!maximum.empty()) machine.fill(Field::limit, parse_count(maximum, "--max-instructions"));
  open_json();
  Interrupt interrupt([&] { machine.cancel(); });
  RunResult result = machine.run();
  return report({machine, nullptr, result, {}, explain}, interrupt);
}

void RunCommand::open_json() {
  if (json.empty() || json_alone()) return;
  json_file_ = File(json);
  if (!json_file_) throw ArgumentError(cannot_write("--json", json));
}

int RunCommand::report(const Run& run, Interrupt& interrupt) {
  interrupt.run_has_ended();
  std::exception_ptr failure;
  try {
    write_results(run, interrupt, failure);
    if (failure) std::rethrow_exception(failure);
  } catch (const WriteEnded&) {
    return interrupt.status();
  }
  return interrupt.count() != 0 ? interrupt.status() : exit_status(run);
}

/// Writes each part although an earlier one failed. `failure` is that of the first.
void RunCommand::write_results(const Run& run, const Interrupt& interrupt, std::exception_ptr& failure) {
  auto attempt = [&](auto&& write) {
    try {
      write();
    } catch (const std::exception&) {
      if (!failure) failure = std::current_exception();
    }
  };
  const Output::Requests requests = [&] { return interrupt.count(); };
  Output out(STDOUT_FILENO, "standard output", Output::Failure::is_thrown, requests);
  // The file first: it can always be written, while standard output may wait for a reader.
  attempt([&] {
    if (!json_file_) return;
    Output file(json_file_.descriptor(), "--json: " + json, Output::Failure::is_thrown, requests);
    write_json(run, registers, file);
    file.flush();
    if (!json_file_.close()) throw Error("--json: " + json + " could not be written completely; free some space there");
  });
  attempt([&] {
    if (!trace_file_) return;
    trace_->flush();
    if (trace_->failed() || !trace_file_.close()) {
      throw Error("--strace-file: " + trace_file + " could not be written completely; free some space there");
    }
  });
  attempt([&] {
    if (!json_alone()) return;
    write_json(run, registers, out);
    out.flush();
  });
  attempt([&] {
    if (!run.process || run.fleet.lanes() == 1 || json_alone()) return;
    Output err(STDERR_FILENO, "standard error", Output::Failure::is_thrown, requests);
    print_outputs(run, out, err);
  });
  attempt([&] {
    Output err(STDERR_FILENO, "standard error", Output::Failure::is_ignored, requests);
    if (!ignore_unimplemented && run.process) print_unimplemented(run.process->unimplemented(), err);
    err.flush();
  });
  attempt([&] {
    // A summary that cannot be printed is no reason to fail.
    Output err(STDERR_FILENO, "standard error", Output::Failure::is_ignored, requests);
    if (!quiet) print_summary(run, err);
    if (!quiet && registers && run.fleet.lanes() == 1 && json.empty()) print_registers(run, err);
    const TranslationReport translation = run.fleet.translation();
    // With --engine auto the interpreter is as good an answer.
    if (fleet.engine != Engine::automatic) warn_of_no_translation(translation, err);
    warn_of_cache(translation, err);
    if (explain) print_translation(translation, run.fleet.engine(), run.fleet.team_lanes(), err);
    err.flush();
  });
}

}  // namespace

void add_run(CLI::App& app, int& status, const std::vector<std::string>& after_separator, bool separated) {
  auto command = std::make_shared<RunCommand>();
  CLI::App* run = app.add_subcommand("run", "Runs a program: an AArch64 Linux executable, or raw instructions");
  run->formatter(std::make_shared<RunFormatter>());
  run->footer(kExitStatusHelp);
  run->prefix_command();  // the parser leaves the program's arguments alone
  run->add_option("--device", command->fleet.device,
                  "auto, cpu, cuda or cuda:N; for a queue also some that share it, as in cpu,cuda:0, or all")
      ->type_name("DEVICE");
  run->add_option("--engine", command->engine,
                  "interpreter; translate: it, and hot code becomes machine code; auto: translate on the CPU where\n"
                  "that is possible; stepper: one instruction at a time, the reference")
      ->type_name("ENGINE");
  run->add_option("--lanes", command->lanes,
                  "Copies of the program; each finds its number in MYRIARM_LANE. With --inputs: how many run at once")
      ->type_name("N");
  run->add_option("--threads", command->threads, "Threads of the CPU (default: all)")->type_name("N");
  run->add_option("--compile-threads", command->compile_threads,
                  "Threads that translate, with --engine translate (default: half of the CPU's, at most 4; GPU: all)")
      ->type_name("N");
  run->add_flag_function(
      "--no-cache", [command](int64_t) { command->fleet.translation_cache = false; },
      "Translated code is neither taken from the cache on disk nor kept there");
  run->add_option("--max-instructions,--timeout-instructions", command->maximum,
                  "Ends a lane after this many instructions, as in 1000000 or 1M")
      ->type_name("N");
  run->add_option("--memory", command->memory, "Guest addresses of a lane, as in 64M (1G; bare programs: 4M)")
      ->type_name("SIZE");
  run->add_option("--pool", command->pool,
                  "Memory for the pages that all lanes write, as in 2G (default: what there is)")
      ->type_name("SIZE");
  run->add_option("--raw", command->raw, "PROGRAM is raw bytes for this address; a lane finds its number in x0")
      ->type_name("ADDRESS");
  run->add_option("--entry", command->entry, "Starts at this address instead of the entry point")->type_name("ADDRESS");
  run->add_option("--stdin", command->standard_input, "The standard input of every lane; - is that of the command")
      ->type_name("FILE");
  run->add_option("--inputs", command->inputs,
                  "An input for each lane: the files of a folder, or the lines of a file; - is standard input.\n"
                  "A lane reads its own as standard input, or as the file that @@ in ARG names")
      ->type_name("PATH");
  run->add_option("--record-size", command->record_size, "The inputs are records of this size, not lines")
      ->type_name("SIZE");
  run->add_option("--results", command->queue.results,
                  "Works the inputs off as a queue and writes a line of JSON for each; - is standard output.\n"
                  "FILE.npy: a digest of 72 bytes for each instead, as an array of NumPy")
      ->type_name("FILE");
  run->add_option("--output-dir", command->queue.output_dir,
                  "As --results, and the outputs of each input as files; and what --collect takes")
      ->type_name("DIR");
  run->add_flag("--unordered", command->queue.unordered, "Results of a queue come as they are ready");
  run->add_flag("--group", command->queue.group,
                "Inputs that resemble each other run at the same time: for a GPU, where 32 lanes execute an\n"
                "instruction together; results come as they are ready");
  run->add_flag("--resume", command->queue.resume, "Goes on with a queue whose results are in the file or folder");
  run->add_option("--fork-after", command->fork_after,
                  "Runs the program once up to there, for all lanes: main or another symbol, an address, or read: the\n"
                  "first call that depends on a lane's input (default: start)")
      ->type_name("POINT");
  run->add_option("--args-file", command->args_file, "More arguments for each lane: a line of this file")
      ->type_name("FILE");
  run->add_option_function<std::string>(
         "--env", [command](const std::string& text) { command->process.environment.push_back(text); },
         "Adds an environment variable; may be repeated")
      ->type_name("NAME=VALUE")
      ->trigger_on_parse();
  run->add_option("--strace", command->traced, "Prints the system calls of all lanes, or of some, as in all or 0,5-7")
      ->type_name("LANES");
  run->add_option("--strace-file", command->trace_file, "Prints them there instead of on standard error")
      ->type_name("FILE");
  command->files.add_to(*run, command->process);
  run->add_option("--seed", command->seed, "Seed of the guests' random numbers")->type_name("N");
  run->add_option(
         "--json", command->json,
         "Writes the result as JSON, of a queue that of the whole; - is standard output, and then nothing else goes\n"
         "there")
      ->type_name("FILE");
  run->add_flag("--registers", command->registers, "Prints the registers too");
  run->add_flag("--explain", command->explain,
                "Prints what was translated, and what ran translated; with --json also there");
  run->add_flag("--quiet", command->quiet, "Prints no summary and no progress bar");
  run->add_flag("--keep-memory", command->process.keep_memory,
                "Lanes that have exited keep the memory that they wrote; else other lanes use it");
  run->add_flag("--ignore-unimplemented", command->ignore_unimplemented,
                "Does not name the system calls that programs made and that are not implemented");
  run->callback([run, command, &status, &after_separator, separated] {
    std::vector<std::string> rest = run->remaining();
    if (!rest.empty() && rest[0].size() > 1 && rest[0][0] == '-') {
      throw ArgumentError("run: unknown option " + rest[0] + "; see myriarm run --help");
    }
    if (!separated && !command->quiet) {
      if (const std::string option = misplaced_option(*run, rest); !option.empty()) {
        print_error("myriarm: {} follows the program and is passed to it; options of myriarm run come before it\n",
                    option);
      }
    }
    if (separated && !rest.empty()) rest.emplace_back("--");
    rest.insert(rest.end(), after_separator.begin(), after_separator.end());
    if (rest.empty()) throw ArgumentError("run: no program was given; see myriarm run --help");
    command->program = rest[0];
    command->process.arguments = std::move(rest);
    status = command->execute();
  });
}

}  // namespace myriarm::cli
