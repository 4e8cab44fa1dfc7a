// SPDX-License-Identifier: Apache-2.0
// Numbers as the library's messages print them. Host code; the command line prints with fmt.
#pragma once

#include <charconv>
#include <cstdint>
#include <iterator>
#include <string>

namespace myriarm {

/// 0x and lowercase hexadecimal digits, without leading zeros: 0x1f.
inline std::string hex(uint64_t value) {
  char digits[16];
  char* end = std::to_chars(std::begin(digits), std::end(digits), value, 16).ptr;
  return "0x" + std::string(std::begin(digits), end);
}

}  // namespace myriarm
