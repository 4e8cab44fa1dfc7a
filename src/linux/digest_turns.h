// SPDX-License-Identifier: Apache-2.0
// Inputs that lanes have given up for want of memory take turns: fewer and fewer are under way together, so that a process
// ends with out_of_memory only if it needs too much even alone.
#pragma once

#include <functional>

#include "myriarm/queue.h"

namespace myriarm::linux_process {

/// Works off the one batch of `source`. `work_off`: LinuxFleet::work_off(). Of `options` the functions and the limit are used;
/// digests come in any order.
QueueProgress work_off_in_turns(const std::function<void(InputRun run)>& work_off, const BatchSource& source,
                                const DigestSink& sink, const QueueOptions& options,
                                const std::function<bool()>& is_cancelled);

}  // namespace myriarm::linux_process
