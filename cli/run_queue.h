// SPDX-License-Identifier: Apache-2.0
// `myriarm run` with more inputs than lanes: a queue, whose results are written as lines of JSON, as they come.
#pragma once

#include <span>

#include "lane_inputs.h"
#include "queue_session.h"

namespace myriarm::cli {

/// See run_session().
int run_queue(const ElfImage& image, std::span<const FleetOptions> fleets, LinuxOptions process, InputFeeder& feeder,
              const QueueCommand& command);

}  // namespace myriarm::cli
