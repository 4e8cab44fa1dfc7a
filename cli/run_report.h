// SPDX-License-Identifier: Apache-2.0
// What `myriarm run` tells about a run that has ended: what the programs printed, the summary, the JSON.
#pragma once

#include <cstdio>
#include <string>

#include "myriarm/myriarm.h"

namespace myriarm::cli {

/// A run of a Linux program, or of a bare program (process is null).
struct Run {
  Fleet& fleet;
  LinuxFleet* process = nullptr;
  RunResult result;

  LaneOutcome outcome(uint32_t lane) const;
  const std::vector<uint8_t>& output(uint32_t lane, bool error_stream) const;
  /// What a shell would see of this lane; see the help of `run`.
  int exit_status(uint32_t lane) const;
};

/// Exit status of the whole: 0 if each lane's is 0, else the highest.
int exit_status(const Run& run);

/// The JSON object of the run, streamed lane by lane.
void write_json(const Run& run, bool registers, std::FILE* to);
/// What many lanes printed, equal lanes together, to standard output and standard error.
void print_outputs(const Run& run);
/// The summary table on standard error.
void print_summary(const Run& run);
/// Registers of lane 0 on standard error.
void print_registers(const Run& run);

}  // namespace myriarm::cli
