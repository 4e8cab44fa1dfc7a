// SPDX-License-Identifier: Apache-2.0
// The commands of `myriarm`. Each adds itself to the parser; the one that is called leaves its exit status.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace myriarm::cli {

/// A mistake in the arguments or input: exit status 2.
constexpr int kUsageStatus = 2;

void add_info(CLI::App& app, int& status);
void add_isa(CLI::App& app, int& status);
void add_disasm(CLI::App& app, int& status);

/// `after_separator` is what followed the first "--" on the command line.
void add_run(CLI::App& app, int& status, const std::vector<std::string>& after_separator, bool separated);
/// The same; all arguments go to the Python package as they are.
void add_bench(CLI::App& app, int& status, const std::vector<std::string>& after_separator, bool separated);

}  // namespace myriarm::cli
