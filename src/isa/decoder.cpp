// SPDX-License-Identifier: Apache-2.0
// Makes the host's decode tables from a64.inc.
#include "isa/decoder.h"

#include <algorithm>
#include <bit>
#include <vector>

namespace myriarm {
namespace {

constexpr RowPattern kPatterns[kRowCount] = {
    {0, 1, Form::none},
#define GROUP(name, title)
#define A64(name, syntax, bits, form, semantics, feature) {fixed_mask(bits), fixed_value(bits), Form::form},
#define UNDEFINED(name, bits, reason) {fixed_mask(bits), fixed_value(bits), Form::none},
#include "isa/a64.inc"
#undef GROUP
#undef A64
#undef UNDEFINED
};

struct Tables {
  std::vector<u32> first;
  std::vector<u16> candidates;
  DecodeTable table;

  Tables() {
    std::vector<u16> by_specificity;
    for (u32 row = 1; row < kRowCount; row++) {
      if (kPatterns[row].form != Form::none) by_specificity.push_back(static_cast<u16>(row));
    }
    std::stable_sort(by_specificity.begin(), by_specificity.end(),
                     [](u16 a, u16 b) { return std::popcount(kPatterns[a].mask) > std::popcount(kPatterns[b].mask); });
    // Each row is put into the buckets that its free high bits leave open, enumerated as subsets of those bits.
    constexpr u32 shift = DecodeTable::kBucketShift;
    std::vector<std::vector<u16>> buckets(DecodeTable::kBuckets);
    for (u16 row : by_specificity) {
      u32 open = ~(kPatterns[row].mask >> shift) & (DecodeTable::kBuckets - 1);
      u32 subset = 0;
      do {
        buckets[(kPatterns[row].value >> shift) | subset].push_back(row);
        subset = (subset - open) & open;
      } while (subset != 0);
    }
    for (const auto& bucket : buckets) {
      first.push_back(static_cast<u32>(candidates.size()));
      candidates.insert(candidates.end(), bucket.begin(), bucket.end());
    }
    first.push_back(static_cast<u32>(candidates.size()));
    table = {first.data(), candidates.data(), static_cast<u32>(candidates.size()), kPatterns};
  }
};

}  // namespace

const DecodeTable& decode_table() {
  static const Tables* tables = new Tables;
  return tables->table;
}

}  // namespace myriarm
