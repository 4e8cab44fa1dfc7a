// SPDX-License-Identifier: Apache-2.0
// Which system calls depend on what a lane has of its own: its standard input and its input file.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "myriarm/fleet.h"

namespace myriarm::linux_process {

/// As much of lane 0's memory from this address on as is mapped, at most `size` bytes.
std::vector<uint8_t> mapped_bytes(const Fleet& fleet, uint64_t address, uint32_t size);

/// Whether the call that lane 0 is about to make, the first such call of its process, has a result that depends on its
/// input, or makes a descriptor that further calls could read the input by. `arguments`: x0 to x5.
bool asks_for_input(const Fleet& fleet, uint32_t number, std::span<const uint64_t> arguments);

}  // namespace myriarm::linux_process
