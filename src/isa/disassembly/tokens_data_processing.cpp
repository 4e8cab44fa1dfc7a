// SPDX-License-Identifier: Apache-2.0
// Token printers of data processing, immediate and register. tokens.h says how they are found.
#include "isa/disassembly/tokens.h"

namespace myriarm::disassembly {
namespace {

/// ADD and SUB (immediate): the 12 bits as they are, the shift beside them.
Printed imm12(const TokenContext& c, std::string& out) {
  append_hex(out, c.letter('i'));
  return Printed::given;
}
Printed shift12(const TokenContext& c, std::string& out) {
  bool shifted = c.letter('s') != 0;
  out += shifted ? "lsl #12" : "lsl #0";
  return given_if(shifted);
}

constexpr Token kTokens[] = {
    {"imm", imm12, Form::AddSubImm},
    {"imm", imm12, Form::AddSubImmFlags},
    {"shift", shift12, Form::AddSubImm},
    {"shift", shift12, Form::AddSubImmFlags},
};

}  // namespace

std::span<const Token> data_processing_tokens() { return kTokens; }

}  // namespace myriarm::disassembly
