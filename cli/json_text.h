// SPDX-License-Identifier: Apache-2.0
// Large byte strings as JSON, written as they are converted: the output of guests may be as large as the host's memory
// allows, and a JSON library would hold its text too.
#pragma once

#include <cstdint>
#include <span>

#include "output.h"

namespace myriarm::cli {

/// Writes bytes as a JSON string, quotes included. Each part that is not UTF-8 becomes U+FFFD, in the places that the
/// Unicode standard recommends (chapter 3, "maximal subparts"). Returns whether all of it is UTF-8.
bool write_json_string(std::span<const uint8_t> bytes, Output& to);
/// Writes bytes in base 64 (RFC 4648, section 4) as a JSON string, quotes included.
void write_base64(std::span<const uint8_t> bytes, Output& to);

}  // namespace myriarm::cli
