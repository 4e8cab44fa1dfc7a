// SPDX-License-Identifier: Apache-2.0
// What `myriarm run` prints about a run that has ended: the output of the programs, the summary, the JSON.
#pragma once

#include <cstdio>
#include <string>

#include "myriarm/myriarm.h"

namespace myriarm::cli {

/// A run of a Linux program, or of a bare program (`process` is null).
struct Run {
  Fleet& fleet;
  LinuxFleet* process = nullptr;
  RunResult result;

  LaneOutcome outcome(uint32_t lane) const;
  const std::vector<uint8_t>& output(uint32_t lane, bool error_stream) const;
  /// Exit status of one lane, as the help of `run` explains it.
  int exit_status(uint32_t lane) const;
};

/// Exit status of the command: the highest of the lanes' exit statuses.
int exit_status(const Run& run);

/// Writes the JSON object of the run, lane by lane.
void write_json(const Run& run, bool registers, std::FILE* to);
/// Prints the outputs of many lanes to standard output and standard error, lanes with equal outputs together.
void print_outputs(const Run& run);
/// Prints the summary table to standard error.
void print_summary(const Run& run);
/// Prints the registers of lane 0 to standard error.
void print_registers(const Run& run);

}  // namespace myriarm::cli
