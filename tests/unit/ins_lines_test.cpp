// SPDX-License-Identifier: Apache-2.0
// Every implemented row has a line in tests/insn that executes it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "isa/decoder.h"
#include "isa/row_info.h"

namespace myriarm {
namespace {

TEST(InsLines, EveryRowHasOne) {
  std::vector<bool> has_line(kRowCount);
  for (const auto& file : std::filesystem::directory_iterator(MYRIARM_SOURCE_DIR "/tests/insn")) {
    if (file.path().extension() != ".ins") continue;
    std::ifstream lines(file.path());
    for (std::string line; std::getline(lines, line);) {
      if (line.empty() || line[0] == '#') continue;
      const u32 word = static_cast<u32>(std::strtoul(line.c_str(), nullptr, 16));
      has_line[decode(decode_table(), word).row] = true;
    }
  }
  std::string missing;
  for (u32 row = 1; row < kRowCount; row++) {
    if (kRowInfos[row].status == RowStatus::implemented && !has_line[row]) missing.append(kRowInfos[row].name) += ' ';
  }
  EXPECT_EQ(missing, "");
}

}  // namespace
}  // namespace myriarm
