// SPDX-License-Identifier: Apache-2.0
// The commands of `myriarm`. Each add_ function adds its command to the parser; the command that runs sets `status`.
#pragma once

#include <CLI/CLI.hpp>
#include <csignal>
#include <string>
#include <vector>

namespace myriarm::cli {

/// Exit status after a mistake in the arguments or the input.
constexpr int kUsageStatus = 2;
/// Exit status if the reader of its output has gone: what a shell shows of a command that SIGPIPE has ended.
constexpr int kReaderGoneStatus = 128 + SIGPIPE;

void add_info(CLI::App& app, int& status);
void add_isa(CLI::App& app, int& status);
void add_disasm(CLI::App& app, int& status);
void add_cache(CLI::App& app, int& status);

/// `after_separator` is what followed the first "--" on the command line.
void add_run(CLI::App& app, int& status, const std::vector<std::string>& after_separator, bool separated);
/// As add_run(). All arguments go to the Python package unchanged.
void add_bench(CLI::App& app, int& status, const std::vector<std::string>& after_separator, bool separated);

}  // namespace myriarm::cli
