// SPDX-License-Identifier: Apache-2.0
// Reads numbers from the command line and writes them for people.
#pragma once

#include <cstdint>
#include <string>

namespace myriarm::cli {

/// Parses a size: "4096", "64K", "4MiB" or "1g"; units are powers of 1024. Throws ArgumentError that names `option`.
uint64_t parse_size(const std::string& text, const char* option);
/// Parses a decimal number, or a hexadecimal one with 0x. Throws ArgumentError that names `option`.
uint64_t parse_number(const std::string& text, const char* option);

/// Parses a count: "1000000", "1e6", "1M" or "1.5k"; units are powers of 1000. Throws ArgumentError that names
/// `option`.
uint64_t parse_count(const std::string& text, const char* option);

std::string hex(uint64_t value);            ///< 0x1f
std::string grouped(uint64_t value);        ///< 1,234,567
std::string with_unit(double value);        ///< 1.23 G
std::string bytes_text(uint64_t bytes);     ///< 4 MiB
std::string duration_text(double seconds);  ///< 12 s, 3 min 20 s, 2 h 5 min, 3 d 4 h

}  // namespace myriarm::cli
