// SPDX-License-Identifier: Apache-2.0
// What lies behind the sources of a span of predecoded words: for each page the unit that its words were made of, or 0.
#pragma once

#include "backends/cuda/code_span.h"

namespace myriarm::cuda {

constexpr u64 kUnitsInOperands = sizeof(Operands) / sizeof(u32);

/// The length of the array of a span with this many pages, units included, in Operands.
constexpr u64 span_length_with_units(u64 pages) {
  return span_length(pages) + (pages + kUnitsInOperands - 1) / kUnitsInOperands;
}
/// The unit whose bytes the words of a page were made of, if it is a page of a file (CodeSource kOwnCode); 0: they were made of the
/// team's own bytes. `pages`: of the whole span.
MYR_FN u32& unit_of_page(const CodeSpan& span, u64 pages, u64 index) {
  return ((u32*)((Operands*)span.words + span_length(pages)))[index];
}

}  // namespace myriarm::cuda
