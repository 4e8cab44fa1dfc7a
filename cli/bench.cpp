// SPDX-License-Identifier: Apache-2.0
// `myriarm bench`: starts the benchmark, which is part of the Python package, with the same arguments.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "commands.h"
#include "myriarm/myriarm.h"

extern char** environ;

namespace myriarm::cli {
namespace {

/// Whether this Python is on the PATH and can import the benchmark.
bool has_package(const char* python) {
  // find_spec() of a submodule imports its parent, so a package whose extension cannot be loaded counts as missing.
  const char* probe = "import sys, importlib.util as u; sys.exit(u.find_spec('myriarm.bench.__main__') is None)";
  std::array<const char*, 4> arguments = {python, "-c", probe, nullptr};
  posix_spawn_file_actions_t silent;
  posix_spawn_file_actions_init(&silent);
  for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    posix_spawn_file_actions_addopen(&silent, stream, "/dev/null", O_RDWR, 0);
  }
  pid_t child = 0;
  int failed = posix_spawnp(&child, python, &silent, nullptr, const_cast<char**>(arguments.data()), environ);
  posix_spawn_file_actions_destroy(&silent);
  int status = 0;
  if (failed || waitpid(child, &status, 0) != child) return false;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// Replaces this process by the benchmark. Throws Error if no Python has the package.
void hand_over(const std::vector<std::string>& arguments) {
  for (const char* python : {"python3", "python"}) {
    if (!has_package(python)) continue;
    std::vector<char*> command;
    for (const char* word : {python, "-m", "myriarm.bench"}) command.push_back(const_cast<char*>(word));
    for (const std::string& argument : arguments) command.push_back(const_cast<char*>(argument.c_str()));
    command.push_back(nullptr);
    execvp(python, command.data());
  }
  throw Error(
      "bench is part of the Python package myriarm, and no python3 on the PATH has it; install it with 'pip install .' "
      "in the folder of its source");
}

}  // namespace

void add_bench(CLI::App& app, int& status, const std::vector<std::string>& after_separator, bool separated) {
  CLI::App* bench = app.add_subcommand("bench", "Measures every mode and many lanes, beside other engines");
  bench->prefix_command();   // all arguments that follow go to the package,
  bench->set_help_flag("");  // --help too
  bench->callback([bench, &status, &after_separator, separated] {
    std::vector<std::string> arguments = bench->remaining();
    if (separated) arguments.emplace_back("--");
    arguments.insert(arguments.end(), after_separator.begin(), after_separator.end());
    hand_over(arguments);
    status = kUsageStatus;
  });
}

}  // namespace myriarm::cli
