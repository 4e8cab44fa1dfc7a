// SPDX-License-Identifier: Apache-2.0
// Reads the .ins files of this folder, whose format README.md describes, for all tests that run them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "myriarm/myriarm.h"

namespace ins {

using Values = std::map<myriarm::Field, uint64_t>;
using Bytes = std::map<uint64_t, std::vector<uint8_t>>;

constexpr uint64_t kMemory = 4 << 20;
constexpr uint64_t kFirstFreePc = 0x200000;  // cases that give a pc stay below

struct Case {
  size_t line = 0;
  std::string whole, text;
  uint32_t word = 0;
  Values inputs, outputs;
  Bytes memory_in, memory_out;
  std::optional<uint64_t> pc;        // input
  std::optional<int64_t> pc_offset;  // output, one of the two
  std::optional<uint64_t> pc_address;
  std::string stop, fault = "none";
  uint64_t detail = 0, address = 0;
};

/// The .ins files of tests/insn, by name.
std::vector<std::filesystem::path> files();

/// The cases of a file. Throws std::runtime_error with a sentence a line for all that it cannot read.
std::vector<Case> read_cases(const std::filesystem::path& path);

}  // namespace ins
