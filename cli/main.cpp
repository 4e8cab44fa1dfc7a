// SPDX-License-Identifier: Apache-2.0
// `myriarm`: parses the command line and runs the command. Every mistake of the user becomes one sentence on standard
// error and exit status 2.
#include <unistd.h>

#include <algorithm>
#include <new>

#include "commands.h"
#include "myriarm/myriarm.h"
#include "output.h"

namespace {

using myriarm::cli::kUsageStatus;
using myriarm::cli::Output;
using myriarm::cli::print_error;

int print_and_end(const std::string& text) {
  Output out(STDOUT_FILENO, "standard output");
  out.write(text);
  out.flush();
  return 0;
}

int run_command_line(std::vector<std::string> arguments, const std::vector<std::string>& after_separator,
                     bool separated) {
  CLI::App app{"Runs ARM64 programs in many isolated copies, on a GPU or on the CPU.", "myriarm"};
  app.set_version_flag("--version", "myriarm " MYRIARM_VERSION);
  app.require_subcommand(1);
  int status = 0;
  std::string command = arguments.empty() ? "" : arguments[0];
  myriarm::cli::add_run(app, status, after_separator, separated);
  myriarm::cli::add_info(app, status);
  myriarm::cli::add_isa(app, status);
  myriarm::cli::add_disasm(app, status);
  myriarm::cli::add_cache(app, status);
  myriarm::cli::add_bench(app, status, after_separator, separated);
  std::reverse(arguments.begin(), arguments.end());  // CLI11 expects the last argument first
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::CallForHelp&) {
    const CLI::App* command = app.get_subcommands().empty() ? &app : app.get_subcommands().front();
    return print_and_end(command->help());
  } catch (const CLI::CallForVersion& version) {
    return print_and_end(std::string(version.what()) + "\n");
  } catch (const CLI::ParseError& error) {
    std::string message = error.what();
    std::replace(message.begin(), message.end(), '\n', ' ');
    if (app.get_subcommands().empty() && !command.empty() && command[0] != '-') {
      message = "there is no command '" + command + "'";
    }
    print_error("myriarm: {}; see myriarm --help\n", message);
    return kUsageStatus;
  }
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  myriarm::cli::occupy_standard_streams();
  myriarm::cli::make_signals_of_writes_errors();
  try {
    // CLI11 gives "--" another meaning. Here it ends the options, and what follows goes to the program unchanged.
    std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
    auto separator = std::find(arguments.begin(), arguments.end(), "--");
    bool separated = separator != arguments.end();
    std::vector<std::string> rest;
    if (separated) rest.assign(separator + 1, arguments.end());
    arguments.erase(separator, arguments.end());
    return run_command_line(std::move(arguments), rest, separated);
  } catch (const myriarm::cli::ReaderGone&) {
    return myriarm::cli::kReaderGoneStatus;
  } catch (const myriarm::Error& error) {
    print_error("myriarm: {}\n", error.what());
  } catch (const std::bad_alloc&) {
    print_error("myriarm: this machine has too little memory for this run; use fewer lanes or a smaller --memory\n");
  } catch (const std::exception& error) {
    print_error("myriarm: {}\n", error.what());
  }
  return kUsageStatus;
}
