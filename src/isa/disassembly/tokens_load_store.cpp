// SPDX-License-Identifier: Apache-2.0
// Token printers of loads and stores. tokens.h says how they are found.
#include "isa/disassembly/tokens.h"

namespace myriarm::disassembly {
namespace {

constexpr Token kTokens[] = {
    {"", nullptr},
};

}  // namespace

std::span<const Token> load_store_tokens() { return kTokens; }

}  // namespace myriarm::disassembly
