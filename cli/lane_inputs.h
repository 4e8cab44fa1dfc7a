// SPDX-License-Identifier: Apache-2.0
// The files from which `myriarm run` takes an input or arguments for each lane: --inputs and --args-file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "myriarm/byte_strings.h"

namespace myriarm::cli {

struct LaneInputs {
  ByteStrings inputs;
  std::vector<std::string> names;  ///< of the files, if each input was a file of a folder; else empty
};

/// Reads inputs from `path`: the files of a folder in the order of their names, without those that begin with a dot; the
/// lines of a file, each with the newline that ends it; or, if `record_bytes` is not 0, its records of that many bytes.
/// "-" is standard input. Throws ArgumentError for what cannot be read, holds no input, is larger than 4 GiB, or does
/// not end with a whole record.
LaneInputs read_lane_inputs(const std::string& path, uint64_t record_bytes);

/// Reads the lines of a file and splits each into words at blanks. '...', "..." and a backslash quote, as for xargs; a
/// quoted part ends in its line. Throws ArgumentError.
std::vector<std::vector<std::string>> read_lane_arguments(const std::string& path);

}  // namespace myriarm::cli
