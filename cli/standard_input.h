// SPDX-License-Identifier: Apache-2.0
// The command's own standard input, read to its end.
#pragma once

#include <cstdint>
#include <vector>

namespace myriarm::cli {

/// Throws ArgumentError if it cannot be read, or is larger than 4 GiB. Takes little more memory than it returns.
std::vector<uint8_t> read_standard_input();

}  // namespace myriarm::cli
