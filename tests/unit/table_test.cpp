// SPDX-License-Identifier: Apache-2.0
// The instruction table as data: names, coverage counts, syntax. Checks that can be made when it is compiled are in
// src/isa/table_checks.cpp.
#include <gtest/gtest.h>

#include <bit>
#include <map>
#include <set>

#include "isa/decoder.h"
#include "isa/row_info.h"
#include "myriarm/isa.h"

namespace myriarm {
namespace {

TEST(Table, RowNamesAreUniqueAndComplete) {
  std::set<std::string> names;
  for (const IsaRow& row : isa_rows()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name << " is there twice";
    EXPECT_FALSE(row.group.empty()) << row.name << " is in no group";
    EXPECT_FALSE(row.feature.empty()) << row.name;
    EXPECT_EQ(row.bits.size(), 32u) << row.name;
  }
  EXPECT_EQ(names.size(), kRowCount - 1u);
}

TEST(Table, EveryRowHasSyntaxOrAReason) {
  for (u32 row = 1; row < kRowCount; row++) {
    const RowInfo& info = kRowInfos[row];
    EXPECT_NE(info.syntax.empty(), info.reason.empty()) << info.name;
    EXPECT_EQ(info.status == RowStatus::undefined, !info.reason.empty()) << info.name;
  }
}

TEST(Table, SyntaxStartsWithALowerCaseMnemonicAndItsBracketsMatch) {
  for (u32 row = 1; row < kRowCount; row++) {
    std::string syntax(kRowInfos[row].syntax);
    if (syntax.empty()) continue;
    EXPECT_TRUE(syntax[0] >= 'a' && syntax[0] <= 'z') << syntax;
    int braces = 0, angles = 0;
    for (char c : syntax) {
      braces += (c == '{') - (c == '}');
      angles += (c == '<') - (c == '>');
      EXPECT_GE(braces, 0) << syntax;
      EXPECT_TRUE(angles == 0 || angles == 1) << syntax;
    }
    EXPECT_EQ(braces, 0) << syntax;
    EXPECT_EQ(angles, 0) << syntax;
  }
}

TEST(Table, GroupsCountEveryRowOnce) {
  std::map<std::string, u32> statuses;
  for (const IsaRow& row : isa_rows()) {
    statuses[row.status.substr(0, row.status.find(':'))]++;
  }
  u32 rows = 0, implemented = 0, todo = 0, undefined = 0;
  std::set<std::pair<std::string, std::string>> seen;
  for (const IsaGroup& group : isa_groups()) {
    EXPECT_TRUE(seen.insert({group.name, group.feature}).second) << group.name << " " << group.feature;
    EXPECT_EQ(group.rows, group.implemented + group.todo + group.undefined) << group.name;
    EXPECT_GT(group.rows, 0u) << group.name;
    rows += group.rows;
    implemented += group.implemented;
    todo += group.todo;
    undefined += group.undefined;
  }
  EXPECT_EQ(rows, kRowCount - 1u);
  EXPECT_EQ(implemented, statuses["implemented"]);
  EXPECT_EQ(todo, statuses["todo"]);
  EXPECT_EQ(undefined, statuses["undefined"]);
}

/// Some word of every row that is not UNDEFINED decodes to it: no row is hidden by others or refused by its form.
TEST(Table, EveryRowIsReached) {
  for (u32 row = 1; row < kRowCount; row++) {
    const RowInfo& info = kRowInfos[row];
    if (info.status == RowStatus::undefined) continue;
    u32 mask = fixed_mask(info.bits.data()), value = fixed_value(info.bits.data());
    bool reached = false;
    u32 random = 1;
    for (u32 i = 0; i < 20000 && !reached; i++) {
      random = random * 1664525 + 1013904223;
      u32 word = value | ((random ^ random >> 16) & ~mask);
      reached = decode(decode_table(), word).row == row;
    }
    EXPECT_TRUE(reached) << info.name;
  }
}

/// Field bits that do not affect the operation. The test fails if an entry is not needed.
struct UnreadField {
  std::string_view row_suffix, letters, reason;
};
constexpr UnreadField kUnreadFields[] = {
    {"_log_imm", "r", "a 32-bit pattern is rotated modulo 32"},
    {"B_ldst_regoff", "S", "S shifts by the log of the size, which is 0 for bytes"},
};

/// Every field that a row has a letter for is read: each of its bits changes the operands of some word. The letter z is
/// for bits that no function reads.
TEST(Table, EveryFieldBitChangesTheOperands) {
  std::set<std::string_view> needed;
  for (u32 row = 1; row < kRowCount; row++) {
    const RowInfo& info = kRowInfos[row];
    if (info.status == RowStatus::undefined) continue;
    u32 mask = fixed_mask(info.bits.data()), value = fixed_value(info.bits.data());
    std::string unread;
    for (u32 bit = 0; bit < 32; bit++) {
      char letter = info.bits[31 - bit];
      if ((mask >> bit & 1) != 0 || letter == 'z') continue;
      bool read = false;
      u32 random = 1;
      for (u32 i = 0; i < 2000 && !read; i++) {
        random = random * 1664525 + 1013904223;
        u32 word = value | ((random ^ random >> 16) & ~mask);
        Operands a = decode(decode_table(), word), b = decode(decode_table(), word ^ 1u << bit);
        if (a.row != row) continue;
        read = a.row != b.row || a.rd != b.rd || a.rn != b.rn || a.rm != b.rm || a.ra != b.ra || a.imm != b.imm;
      }
      if (!read) unread += letter;
    }
    for (const UnreadField& field : kUnreadFields) {
      if (!info.name.ends_with(field.row_suffix) || unread != field.letters) continue;
      needed.insert(field.row_suffix);
      unread.clear();
    }
    EXPECT_EQ(unread, "") << info.name << " has field bits that its form does not read: " << info.bits;
  }
  for (const UnreadField& field : kUnreadFields) {
    EXPECT_TRUE(needed.count(field.row_suffix)) << "no row needs the exception " << field.row_suffix;
  }
}

/// The decoder's buckets do not affect the result: a search of the whole table finds the same row.
TEST(Decoder, FindsTheMostSpecificRowOfTheWholeTable) {
  u32 random = 1;
  for (u32 i = 0; i < 20000; i++) {
    random = random * 1664525 + 1013904223;
    u32 word = random ^ random >> 15;
    if (i % 2 == 0) {  // half of the words belong to a row
      const RowInfo& info = kRowInfos[1 + i % (kRowCount - 1)];
      u32 mask = fixed_mask(info.bits.data());
      word = fixed_value(info.bits.data()) | (word & ~mask);
    }
    u32 best = kRowUndefined;
    int best_fixed = -1;
    for (u32 row = 1; row < kRowCount; row++) {
      const RowPattern& pattern = decode_table().patterns[row];
      Operands o = {};
      if ((word & pattern.mask) != pattern.value || !decode_operands(pattern.form, word, o)) continue;
      if (std::popcount(pattern.mask) > best_fixed) {
        best = row;
        best_fixed = std::popcount(pattern.mask);
      }
    }
    EXPECT_EQ(decode(decode_table(), word).row, best) << std::hex << word;
  }
}

TEST(Disassemble, PrintsWhatObjdumpPrints) {
  EXPECT_EQ(disassemble(0x91400820, 0), "add x0, x1, #0x2, lsl #12");
  EXPECT_EQ(disassemble(0x91000BE0, 0), "add x0, sp, #0x2");
  EXPECT_EQ(disassemble(0x14000003, 0x1000), "b 0x100c");
  EXPECT_EQ(disassemble(0x17FFFFFF, 0), "b 0xfffffffffffffffc");
  EXPECT_EQ(disassemble(0xF90003E0, 0), "str x0, [sp]");
  EXPECT_EQ(disassemble(0xF9000BE0, 0), "str x0, [sp, #16]");
}

TEST(Disassemble, UndefinedWordsArePrintedAsData) { EXPECT_EQ(disassemble(0xFFFFFFFF, 0), ".inst 0xffffffff"); }

}  // namespace
}  // namespace myriarm
