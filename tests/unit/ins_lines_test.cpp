// SPDX-License-Identifier: Apache-2.0
// Every implemented row has a line in tests/insn that executes it.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "insn/cases.h"
#include "isa/decoder.h"
#include "isa/row_info.h"

namespace myriarm {
namespace {

TEST(InsLines, EveryRowHasOne) {
  std::vector<bool> has_line(kRowCount);
  for (const auto& file : ins::files()) {
    for (const ins::Case& line : ins::read_cases(file)) has_line[decode(decode_table(), line.word).row] = true;
  }
  std::string missing;
  for (u32 row = 1; row < kRowCount; row++) {
    if (kRowInfos[row].status == RowStatus::implemented && !has_line[row]) missing.append(kRowInfos[row].name) += ' ';
  }
  EXPECT_EQ(missing, "");
}

}  // namespace
}  // namespace myriarm
