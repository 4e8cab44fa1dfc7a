// SPDX-License-Identifier: Apache-2.0
// `myriarm run`: runs one program in N lanes. It reads and checks all input before the program starts.
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <iostream>
#include <iterator>
#include <numeric>
#include <optional>

#include "commands.h"
#include "interrupt.h"
#include "run_report.h"
#include "text.h"

namespace myriarm::cli {
namespace {

constexpr uint64_t kRawMemory = uint64_t{4} << 20;

constexpr char kExitStatusHelp[] =
    "Options come before PROGRAM; what follows it belongs to the program.\n"
    "The exit status of a lane is that of its program; 128 + signal if a fault killed it; 0 after HLT of a bare\n"
    "program, 1 after its SVC; 124 at --max-instructions; 130 after Ctrl-C; 137 if memory for its pages ran out.\n"
    "The exit status of many lanes is the highest of theirs. After a mistake in the arguments it is 2.";

struct RunCommand {
  FleetOptions fleet;
  LinuxOptions process;
  std::string program, lanes, engine, maximum, memory, raw, entry, standard_input, seed, json;
  bool registers = false;
  bool quiet = false;

  int execute();

 private:
  int execute_linux(std::vector<uint8_t> file);
  int execute_bare(std::vector<uint8_t> file);
  int report(Run run, const Interrupt& interrupt);
  void open_json();
  bool json_alone() const { return json == "-"; }

  struct Close {
    void operator()(std::FILE* file) const {
      if (file != stdout) std::fclose(file);
    }
  };
  std::unique_ptr<std::FILE, Close> json_file_;
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
  fmt::print(stderr, "\r[{:#<{}}{:.<{}}] {}/{} lanes, {} instructions, {} IPS\x1b[K", "", filled, "", kCells - filled,
             grouped(progress.lanes_done), grouped(lanes), with_unit(static_cast<double>(progress.instructions)),
             with_unit(rate));
}

std::vector<uint8_t> read_standard_input() {
  return {std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
}

/// The engine of this name. Throws ArgumentError.
Engine parse_engine(const std::string& text) {
  for (Engine engine : {Engine::interpreter, Engine::stepper}) {
    if (text == name(engine)) return engine;
  }
  throw ArgumentError("--engine: there is no engine '" + text + "'; use interpreter or stepper");
}

int RunCommand::execute() {
  if (!engine.empty()) fleet.engine = parse_engine(engine);
  if (!lanes.empty()) fleet.lanes = parse_number(lanes, "--lanes");
  for (const std::string& variable : process.environment) {
    if (variable.find('=') == std::string::npos || variable[0] == '=') {
      throw ArgumentError("--env: '" + variable + "' does not name a variable; write it as NAME=VALUE");
    }
  }
  if (!seed.empty()) process.seed = parse_number(seed, "--seed");
  if (!memory.empty()) fleet.memory = parse_size(memory, "--memory");
  else if (!raw.empty()) fleet.memory = kRawMemory;
  if (!maximum.empty()) parse_number(maximum, "--max-instructions");
  if (!entry.empty()) parse_number(entry, "--entry");
  if (!raw.empty()) {
    parse_number(raw, "--raw");
    if (process.arguments.size() > 1) {
      throw ArgumentError(program + ": a bare program takes no arguments; leave them out, or leave out --raw");
    }
    if (!standard_input.empty()) {
      throw ArgumentError("--stdin: a bare program reads no files; leave it out, or leave out --raw");
    }
  }
  std::vector<uint8_t> file = read_file(program);
  if (standard_input == "-") process.standard_input = read_standard_input();
  else if (!standard_input.empty()) process.standard_input = read_file(standard_input);
  return raw.empty() ? execute_linux(std::move(file)) : execute_bare(std::move(file));
}

int RunCommand::execute_linux(std::vector<uint8_t> file) {
  ElfImage image = parse_elf(file, program);
  if (!entry.empty()) image.program.entry = parse_number(entry, "--entry");
  process.pass_output = fleet.lanes == 1 && !json_alone();
  LinuxFleet machine(image, fleet, process);
  if (!maximum.empty()) machine.fleet().fill(Field::limit, parse_number(maximum, "--max-instructions"));
  open_json();
  Interrupt interrupt([&] { machine.cancel(); });
  std::function<void(const LinuxProgress&)> progress;
  // A single lane writes its output directly, and a progress bar would mix with it.
  bool bar = !quiet && fleet.lanes > 1 && isatty(STDERR_FILENO);
  if (bar) progress = [this](const LinuxProgress& p) { show_progress(p, fleet.lanes); };
  RunResult result = machine.run(progress);
  if (bar) fmt::print(stderr, "\r\x1b[K");
  return report({machine.fleet(), &machine, result}, interrupt);
}

int RunCommand::execute_bare(std::vector<uint8_t> file) {
  Program bare = raw_program(program, std::move(file), parse_number(raw, "--raw"), fleet.memory);
  if (!entry.empty()) bare.entry = parse_number(entry, "--entry");
  Fleet machine(bare, fleet);
  std::vector<uint64_t> numbers(machine.lanes());
  std::iota(numbers.begin(), numbers.end(), 0);
  machine.set_all(x(0), numbers);
  if (!maximum.empty()) machine.fill(Field::limit, parse_number(maximum, "--max-instructions"));
  open_json();
  Interrupt interrupt([&] { machine.cancel(); });
  RunResult result = machine.run();
  return report({machine, nullptr, result}, interrupt);
}

void RunCommand::open_json() {
  if (json.empty()) return;
  json_file_.reset(json_alone() ? stdout : std::fopen(json.c_str(), "w"));
  if (!json_file_) {
    throw ArgumentError(
        fmt::format("--json: {} cannot be written ({}); give a path in a writable folder", json, std::strerror(errno)));
  }
}

int RunCommand::report(Run run, const Interrupt& interrupt) {
  if (run.process && run.fleet.lanes() > 1 && !json_alone()) print_outputs(run);
  if (!quiet) print_summary(run);
  if (!quiet && registers && run.fleet.lanes() == 1 && json.empty()) print_registers(run);
  if (json_file_) {
    write_json(run, registers, json_file_.get());
    if (std::fflush(json_file_.get()) != 0) {
      throw ArgumentError("--json: " + json + " could not be written completely; free some space there");
    }
  }
  return interrupt.pressed() ? 128 + SIGINT : exit_status(run);
}

}  // namespace

void add_run(CLI::App& app, int& status, const std::vector<std::string>& after_separator, bool separated) {
  auto command = std::make_shared<RunCommand>();
  CLI::App* run = app.add_subcommand("run", "Runs a program: a static AArch64 Linux executable, or raw instructions");
  run->formatter(std::make_shared<RunFormatter>());
  run->footer(kExitStatusHelp);
  run->prefix_command();  // the parser leaves the program's arguments alone
  run->add_option("--device", command->fleet.device, "auto, cpu, cuda or cuda:N")->type_name("DEVICE");
  run->add_option("--engine", command->engine, "interpreter, or stepper: one instruction at a time, the reference")
      ->type_name("ENGINE");
  run->add_option("--lanes", command->lanes, "Copies of the program; each finds its number in MYRIARM_LANE")
      ->type_name("N");
  run->add_option("--max-instructions", command->maximum, "Ends a lane after this many instructions")->type_name("N");
  run->add_option("--memory", command->memory, "Guest memory of a lane, as in 64M (bare programs: 4M)")
      ->type_name("SIZE");
  run->add_option("--raw", command->raw, "PROGRAM is raw bytes for this address; a lane finds its number in x0")
      ->type_name("ADDRESS");
  run->add_option("--entry", command->entry, "Starts at this address instead of the entry point")->type_name("ADDRESS");
  run->add_option("--stdin", command->standard_input, "The standard input of every lane; - is that of the command")
      ->type_name("FILE");
  run->add_option_function<std::string>(
         "--env", [command](const std::string& text) { command->process.environment.push_back(text); },
         "Adds an environment variable; may be repeated")
      ->type_name("NAME=VALUE")
      ->trigger_on_parse();
  run->add_option("--seed", command->seed, "Seed of the guests' random numbers")->type_name("N");
  run->add_option("--json", command->json,
                  "Writes the result as JSON; - is standard output, and then nothing else goes there")
      ->type_name("FILE");
  run->add_flag("--registers", command->registers, "Prints the registers too");
  run->add_flag("--quiet", command->quiet, "Prints no summary and no progress bar");
  run->callback([run, command, &status, &after_separator, separated] {
    std::vector<std::string> rest = run->remaining();
    if (!rest.empty() && rest[0].size() > 1 && rest[0][0] == '-') {
      throw ArgumentError("run: unknown option " + rest[0] + "; see myriarm run --help");
    }
    if (separated && !rest.empty()) rest.emplace_back("--");
    rest.insert(rest.end(), after_separator.begin(), after_separator.end());
    if (rest.empty()) throw ArgumentError("run: no program was given; see myriarm run --help");
    command->program = rest[0];
    command->process.arguments = rest;
    status = command->execute();
  });
}

}  // namespace myriarm::cli
