// SPDX-License-Identifier: Apache-2.0
// The numbers by which the CUDA interpreter dispatches. The compilation of this file also checks that common_rows.inc
// agrees with the table; it does not need CUDA.
#include <gtest/gtest.h>

#include <set>

#include "backends/cuda/row_numbers.h"
#include "isa/row_info.h"

namespace myriarm::cuda {
namespace {

TEST(CudaRowNumbers, NameTheSemantics) {
  std::set<u32> used[2];
  for (u32 row = 1; row < kRowCount; row++) {
    const RowInfo& info = kRowInfos[row];
    const u32 id = kSemantics.id[row];
    EXPECT_EQ(id != 0, info.status == RowStatus::implemented) << info.name;
    if (id == 0) continue;
    const u32 first = kFirstWithSemantics.row[row];
    EXPECT_EQ(info.semantics, kRowInfos[first].semantics) << info.name;
    EXPECT_EQ(id, kSemantics.id[first]) << info.name;
    EXPECT_EQ(kRareRows.has[row], kRareRows.has[first]) << info.name;
    if (serves_its_semantics(row)) {
      EXPECT_TRUE(used[kRareRows.has[row]].insert(id).second) << info.name;
    }
  }
  for (int rare : {0, 1}) EXPECT_EQ(used[rare].size(), kSemantics.count[rare] - 1u);
}

}  // namespace
}  // namespace myriarm::cuda
