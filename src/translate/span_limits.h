// SPDX-License-Identifier: Apache-2.0
// Bounds of the spans of a block (translate/spans.h), for code that runs on a GPU too.
#pragma once

#include "core/portable.h"

namespace myriarm::translate {

/// At most this many for a block, those with most accesses, since each takes machine registers; and so long, since one that
/// reaches over the end of a page is of no use.
constexpr u32 kMostSpans = 3;
constexpr u32 kMostSpanBytes = 256;

}  // namespace myriarm::translate
