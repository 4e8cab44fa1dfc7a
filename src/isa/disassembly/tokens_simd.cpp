// SPDX-License-Identifier: Apache-2.0
// Token printers of scalar floating point, AdvSIMD and crypto. tokens.h says how they are found.
#include "isa/disassembly/tokens.h"

namespace myriarm::disassembly {
namespace {

constexpr Token kTokens[] = {
    {"", nullptr},
};

}  // namespace

std::span<const Token> simd_tokens() { return kTokens; }

}  // namespace myriarm::disassembly
