// SPDX-License-Identifier: Apache-2.0
// The instruction table for users: disassembly, and which instructions are implemented.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace myriarm {

/// One instruction as text, as `objdump -M no-aliases` prints it; ".inst 0x…" for a word that is not an instruction.
std::string disassemble(uint32_t word, uint64_t pc);

/// Coverage of one group of the manual.
struct IsaGroup {
  std::string name;     ///< the manual's section
  std::string feature;  ///< BASE, CRC32, LSE, FP, ...
  uint32_t rows = 0;
  uint32_t implemented = 0;
  uint32_t todo = 0;
  uint32_t undefined = 0;  ///< will not be implemented, each for a reason
};
std::vector<IsaGroup> isa_groups();

/// One row of the table.
struct IsaRow {
  std::string name, syntax, bits, group, feature;
  std::string status;  ///< "implemented", "todo", or "undefined: " and the reason
};
std::vector<IsaRow> isa_rows();

/// What Linux tells a program about the features of the processor: AT_HWCAP and AT_HWCAP2 of the auxiliary vector. A
/// feature has its bit if all of its rows are implemented.
struct HardwareCapabilities {
  uint64_t hwcap = 0;
  uint64_t hwcap2 = 0;
};
HardwareCapabilities hardware_capabilities();

}  // namespace myriarm
