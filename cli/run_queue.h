// SPDX-License-Identifier: Apache-2.0
// `myriarm run` with more inputs than lanes: a queue, whose results are written as they come.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "lane_inputs.h"
#include "myriarm/queue.h"

namespace myriarm::cli {

struct QueueCommand {
  std::string results;     ///< file of JSON lines; "-" is standard output
  std::string output_dir;  ///< folder for the output of each input and for results.jsonl; `results` is then empty
  std::string json;        ///< file for an object about the whole run; "-" is standard output; empty: none
  bool unordered = false;
  bool resume = false;
  bool quiet = false;
  bool ignore_unimplemented = false;
  uint64_t instructions = kEndless;  ///< of each input
};

/// Works the inputs off on one device, or on several that share them, and returns the command's exit status. Throws
/// ArgumentError, DeviceError, or Error if results could not be written.
int run_queue(const ElfImage& image, std::span<const FleetOptions> fleets, LinuxOptions process, InputFeeder& feeder,
              const QueueCommand& command);

}  // namespace myriarm::cli
