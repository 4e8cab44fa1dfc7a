// SPDX-License-Identifier: Apache-2.0
// `myriarm run --results FILE.npy`: a queue that writes a digest of each result, as an array of NumPy.
#pragma once

#include <span>

#include "lane_inputs.h"
#include "queue_session.h"

namespace myriarm::cli {

/// Whether --results names a file for digests.
bool wants_digests(const QueueCommand& command);
/// See run_session().
int run_digests(const ElfImage& image, std::span<const FleetOptions> fleets, LinuxOptions process, InputFeeder& feeder,
                const QueueCommand& command);

}  // namespace myriarm::cli
