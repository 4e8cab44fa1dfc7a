// SPDX-License-Identifier: Apache-2.0
// What `myriarm run` prints about a run that has ended: the output of the programs, the summary, the JSON.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "myriarm/myriarm.h"
#include "output.h"

namespace myriarm::cli {

/// A run of a Linux program, or of a bare program (`process` is null).
struct Run {
  Fleet& fleet;
  LinuxFleet* process = nullptr;
  RunResult result;
  std::span<const std::string> input_names;  ///< of each lane, or empty
  bool explains = false;                     ///< --explain

  LaneOutcome outcome(uint32_t lane) const;
  std::span<const uint8_t> output(uint32_t lane, bool error_stream) const;
};

/// Exit status of the command: the highest of the lanes' exit statuses.
int exit_status(const Run& run);

/// Writes the JSON object of the run, lane by lane.
void write_json(const Run& run, bool registers, Output& to);
/// Prints the outputs of many lanes to standard output and standard error, lanes with equal outputs together.
void print_outputs(const Run& run, Output& standard_output, Output& standard_error);
/// The member `unimplemented` of the JSON object.
nlohmann::ordered_json unimplemented_json(const std::map<std::string, UnimplementedCall>& calls);
/// Names the system calls that were answered with ENOSYS, if there are any.
void print_unimplemented(const std::map<std::string, UnimplementedCall>& calls, Output& to);
void print_summary(const Run& run, Output& to);
/// Prints the registers of lane 0.
void print_registers(const Run& run, Output& to);

}  // namespace myriarm::cli
