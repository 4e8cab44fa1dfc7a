// SPDX-License-Identifier: Apache-2.0
// Which accesses of a block lie near each other whatever its registers hold: those by one register that the block does not set, or
// only adds constants to. A region for a GPU finds the place of such a span once, at the block's beginning.
#pragma once

#include <map>
#include <vector>

#include "translate/shape.h"
#include "translate/span_limits.h"

namespace myriarm::translate {

/// Bytes from what register `base` holds at the block's beginning, plus `begin`, on. Each part of an access lies in a granule of 8
/// bytes if the span begins with one.
struct Span {
  u32 base = 0;
  i64 begin = 0;
  u32 bytes = 0;
  bool loads = false, stores = false;
};

struct Spans {
  std::vector<Span> spans;
  std::map<u64, u32> accesses;  // by the instruction's address: the number of the span
};

/// `aligned`: only spans with an access of 8 bytes, which seldom begins within a granule.
Spans spans_of(const Block& block, bool aligned = false);

}  // namespace myriarm::translate
