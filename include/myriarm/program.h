// SPDX-License-Identifier: Apache-2.0
// Programs: the bytes that lanes begin with, their addresses and permissions, and where execution begins.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "myriarm/process.h"

namespace myriarm {

/// Page permissions; combine with |.
enum Permission : uint32_t { kRead = 1, kWrite = 2, kExecute = 4 };
/// A flag in the bytes that Fleet::permissions() gives: the page is mapped.
constexpr uint8_t kMapped = 8;

constexpr uint64_t kPageBytes = 4096;

/// A range of guest memory: `bytes`, then zeros up to `size`.
struct Segment {
  uint64_t address = 0;
  uint64_t size = 0;  ///< bytes in memory, at least bytes.size()
  uint32_t permissions = kRead | kWrite;
  std::vector<uint8_t> bytes;
};

/// What a lane has beside its memory, pc and sp, as Fleet::freeze() has found it. Its content is the library's.
struct ProgramState;

/// A program image. All lanes share it; a lane gets its own copy of a page when it first writes to it.
/// Segments may share a page: the page has the permissions of both. Segments that overlap are an ArgumentError.
struct Program {
  std::string name;
  std::vector<Segment> segments;
  uint64_t entry = 0;
  uint64_t stack_pointer = 0;  ///< SP at entry
  /// Makes its lanes Linux processes, if FleetOptions::processes has a host.
  std::optional<ProcessStart> process = {};
  /// Of a program that Fleet::freeze() has made: the other registers, Field::instructions and the process that its lanes
  /// begin with. Null: registers and counts of zero, and a process that has made no call.
  std::shared_ptr<const ProgramState> state = {};
};

/// Raw bytes at an address in flat memory of `memory` bytes that starts at 0, all of it readable, writable and
/// executable, with SP at the end and the entry at `address`.
Program raw_program(std::string name, std::vector<uint8_t> bytes, uint64_t address, uint64_t memory);

/// The same with the bytes of a file. One that does not fit is refused before it is read.
Program load_raw(const std::string& path, uint64_t address, uint64_t memory);

/// All bytes of a regular file of at most 4 GiB. Throws ArgumentError.
std::vector<uint8_t> read_file(const std::string& path);

}  // namespace myriarm
