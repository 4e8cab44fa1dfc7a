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

/// A number of bytes in the largest unit that it is a whole number of: 5 bytes, 4 KiB, 100 GiB.
inline std::string size_text(uint64_t bytes) {
  constexpr const char* kUnits[] = {" bytes", " KiB", " MiB", " GiB", " TiB"};
  size_t unit = 0;
  while (bytes != 0 && bytes % 1024 == 0 && unit + 1 < std::size(kUnits)) {
    bytes /= 1024;
    unit++;
  }
  return std::to_string(bytes) + kUnits[unit];
}

}  // namespace myriarm
