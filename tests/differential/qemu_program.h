// SPDX-License-Identifier: Apache-2.0
// A batch as a static AArch64 ELF file. The program runs the cases one after the other: it loads all registers from a
// record, runs the case's block, and stores the registers, and the data memory where it is wanted, in a file that it
// maps from standard output. It asks the kernel for nothing but that mapping and its end.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cases.h"

namespace myriarm::differential {

/// Registers of one case before or after it, as the program reads and writes them.
struct QemuRecord {
  uint64_t x[31];
  uint64_t sp, nzcv /* in bits 31:28 */, fpcr, fpsr;
  uint64_t place;  ///< before: where the program goes; after: which block's end was reached, 0 if none was yet
  uint64_t v[32][2];
  uint64_t memory;  ///< before: where data memory goes in the output, 0 if it is not wanted
  uint64_t padding;
};
static_assert(sizeof(QemuRecord) == 816);

struct QemuProgram {
  std::vector<uint8_t> elf;
  uint64_t output_bytes;                ///< records, and then data memory
  std::vector<uint64_t> ends;           ///< addresses of the HLTs of the code, in the order of end_index()
  std::vector<uint64_t> memory_offset;  ///< of each case in the output, 0 if it does not access memory

  /// Which HLT a record's `place` tells after the run; ends.size() if it is none.
  size_t end_index(uint64_t place) const;
};

/// Pages of the data window that can be written, in the order in which the output has them.
std::vector<size_t> writable_pages();

/// `lanes` of the batch, in that order. A HLT ends a case. Throws std::runtime_error if there are too many.
QemuProgram make_qemu_program(const Batch& batch, std::span<const uint32_t> lanes);

}  // namespace myriarm::differential
