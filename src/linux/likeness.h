// SPDX-License-Identifier: Apache-2.0
// The order in which inputs that resemble each other follow each other. grouped.cpp says which inputs are ordered together.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace myriarm::linux_process {

/// The places of these inputs in the order that myriarm/likeness.h describes. `numbers`: as many as there are inputs.
/// Takes for each input at most its bytes and kOrderBytes.
std::vector<uint64_t> order_by_likeness(std::span<const std::span<const uint8_t>> inputs,
                                        std::span<const uint64_t> numbers);
constexpr uint64_t kOrderBytes = 4 * sizeof(uint64_t);

}  // namespace myriarm::linux_process
