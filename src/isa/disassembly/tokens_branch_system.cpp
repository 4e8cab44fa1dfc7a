// SPDX-License-Identifier: Apache-2.0
// Token printers of branches, exceptions and system instructions. tokens.h says how they are found.
#include "isa/disassembly/tokens.h"

namespace myriarm::disassembly {
namespace {

constexpr Token kTokens[] = {
    {"", nullptr},
};

}  // namespace

std::span<const Token> branch_system_tokens() { return kTokens; }

}  // namespace myriarm::disassembly
