// SPDX-License-Identifier: Apache-2.0
// GNU binutils as an oracle for A64 encodings. objdump knows all architecture versions at once, so its output goes to
// the assembler, which accepts only Armv8.2-A and the extensions that myriarm has rows for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace myriarm::test {

struct Verdict {
  std::string text;       // mnemonic, one space, operands; comments removed; empty if there is no such instruction
  bool in_scope = false;  // the assembler accepts the text for Armv8.2-A and these extensions
  std::string complaint;  // the assembler's message if not
};

/// N of binutils 2.N. Throws std::runtime_error if objdump cannot be run.
unsigned binutils_minor();

/// Disassembles words[i] at address 4 * i. Throws std::runtime_error if the tools cannot be run.
std::vector<Verdict> ask_binutils(const std::vector<uint32_t>& words);

}  // namespace myriarm::test
