// SPDX-License-Identifier: Apache-2.0
// Numbers as people write and read them.
#pragma once

#include <cstdint>
#include <string>

namespace myriarm::cli {

/// "4096", "64K", "4MiB", "1g": powers of 1024. Throws ArgumentError naming the option.
uint64_t parse_size(const std::string& text, const char* option);
/// Decimal, or hexadecimal with 0x. Throws ArgumentError naming the option.
uint64_t parse_number(const std::string& text, const char* option);

std::string hex(uint64_t value);         ///< 0x1f
std::string grouped(uint64_t value);     ///< 1,234,567
std::string with_unit(double value);     ///< 1.23 G
std::string bytes_text(uint64_t bytes);  ///< 4 MiB

}  // namespace myriarm::cli
