// SPDX-License-Identifier: Apache-2.0
// The symbols of the bitcode modules, listed by llvm-nm: they define a function for every implemented row and no
// constructor, and need no external symbols except those that the program which links the bitcode must define.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <set>
#include <sstream>
#include <string>

#include "isa/row_info.h"

namespace myriarm {
namespace {

struct Symbols {
  std::set<std::string> defined, undefined;
};

/// The external symbols of a module; none if llvm-nm fails, which no test accepts.
Symbols symbols_of(const std::string& module) {
  FILE* pipe = popen((std::string(MYRIARM_LLVM_NM " --format=posix --extern-only ") + module).c_str(), "r");
  std::string text;
  std::array<char, 4096> part;
  while (pipe != nullptr && std::fgets(part.data(), part.size(), pipe) != nullptr) text += part.data();
  EXPECT_EQ(pipe == nullptr ? -1 : pclose(pipe), 0) << MYRIARM_LLVM_NM << " cannot read " << module;
  Symbols symbols;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name, kind;
    words >> name >> kind;
    (kind == "U" ? symbols.undefined : symbols.defined).insert(name);
  }
  return symbols;
}

const std::set<std::string> kSlowPaths = {"myriarm_load_slow", "myriarm_store_slow", "myriarm_store_pair_slow"};

void expect_every_row(const Symbols& symbols) {
  std::set<std::string> rows;
  for (const RowInfo& row : kRowInfos) {
    if (row.status == RowStatus::implemented) rows.insert("myriarm_row_" + std::string(row.name));
  }
  for (const std::string& row : rows) EXPECT_EQ(symbols.defined.count(row), 1u) << row << " is missing";
  for (const std::string& name : symbols.defined) {
    EXPECT_EQ(rows.count(name), 1u) << name << " is not a row: a constructor, or a helper that is not static";
  }
}

TEST(Symbols, OfTheHostsModule) {
  Symbols symbols = symbols_of(MYRIARM_HOST_BITCODE);
  expect_every_row(symbols);
  std::set<std::string> needed = kSlowPaths;
#if defined(__x86_64__)
  needed.insert("_ZN7myriarm14kMachineHasFmaE");  // core/machine.cpp
#endif
  EXPECT_EQ(symbols.undefined, needed);
}

TEST(Symbols, OfNvptxsModule) {
  Symbols symbols = symbols_of(MYRIARM_NVPTX_BITCODE);
  expect_every_row(symbols);
  EXPECT_EQ(symbols.undefined, kSlowPaths);
}

}  // namespace
}  // namespace myriarm
