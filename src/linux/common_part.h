// SPDX-License-Identifier: Apache-2.0
// What all lanes of a LinuxFleet do before the point at which they part, done once: LinuxOptions::fork_after.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "linux/process_layout.h"
#include "linux/processes.h"

namespace myriarm::linux_process {

struct CommonPart {
  Program program;           ///< every lane begins where the common part has ended
  uint64_t lane_digits = 0;  ///< the address of MYRIARM_LANE's digits; 0 if the process has changed them
  Outputs output;            ///< what it has written
  std::map<std::string, UnimplementedCall> unimplemented;
};

/// Runs a process up to options.fork_after, which is not ForkPoint::Kind::start, on the CPU, as lane 0. `layout` must have
/// its stack. Throws ArgumentError if the process does not come there.
CommonPart run_common_part(const ProcessLayout& layout, const FleetOptions& fleet, const LinuxOptions& options);

}  // namespace myriarm::linux_process
