// SPDX-License-Identifier: Apache-2.0
// A batch as a static AArch64 ELF file. The program runs the cases one after the other: it loads all registers from a
// record, runs the case's block, and stores the registers, and if wanted the data memory, in a file that it maps from
// standard output. Its only system calls are that mapping and its exit.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cases.h"

namespace myriarm::differential {

/// The registers before or after a case, as the program reads and writes them.
struct QemuRecord {
  uint64_t x[31];
  uint64_t sp, nzcv /* in bits 31:28 */, fpcr, fpsr;
  uint64_t place;  ///< before: where the program branches; after: the end that was reached, 0 if none
  uint64_t v[32][2];
  uint64_t memory;  ///< before: where the output gets data memory, 0 if it is not wanted
  uint64_t padding;
};
static_assert(sizeof(QemuRecord) == 816);

struct QemuProgram {
  std::vector<uint8_t> elf;
  uint64_t output_bytes;                ///< records, and then data memory
  std::vector<uint64_t> ends;           ///< addresses of the HLTs of the code, in the order of end_index()
  std::vector<uint64_t> memory_offset;  ///< where the output has each case's memory, 0 if the case accesses none

  /// The index of the HLT that a record's `place` names after the run; ends.size() if none.
  size_t end_index(uint64_t place) const;
};

/// The writable pages of the data window, in their order in the output.
std::vector<size_t> writable_pages();

/// A program that runs `lanes` of the batch in that order; a HLT ends a case. Throws std::runtime_error if they are too
/// many.
QemuProgram make_qemu_program(const Batch& batch, std::span<const uint32_t> lanes);

}  // namespace myriarm::differential
