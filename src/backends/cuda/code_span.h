// SPDX-License-Identifier: Apache-2.0
// Predecoded words as the device dispatches on them, and the spans in which they lie. Who only holds or copies them needs
// no more than this: what makes them is in predecode.h.
#pragma once

#include "core/memory.h"
#include "core/operands.h"

namespace myriarm::cuda {

/// What the device dispatches on, in place of Operands::kind and row, and what the predecoder knows of a row.
struct DeviceRow {
  u16 kind;    // number of the semantics, or kKindOutOfLine
  u16 row;     // kRowCallOrReturn, or kRowFoldedBranch and a branch, or 0; with kKindOutOfLine: what to do
  u32 traits;  // RowTrait bits
};
enum RowTrait : u32 {
  kTraitPlain = 1,     // common, and always continues at the next word
  kTraitRelative = 2,  // branches to an offset from itself
  kTraitFolds = 4,     // B or B.cond: can run together with the word before it
  kTraitAlways = 8,    // B
};
constexpr u16 kKindOutOfLine = 0xFFFF;  // above all others, so that the range check of the dispatch finds it
constexpr u16 kFirstKind = 0;
constexpr u16 kRowNotImplemented = 0;     // with kKindOutOfLine
constexpr u16 kRowNotPredecoded = 1;      // with kKindOutOfLine
constexpr u16 kFirstRareRow = 2;          // with kKindOutOfLine: rare semantics
constexpr u16 kRowCallOrReturn = 0x8000;  // calls and returns: where lanes wait for each other
/// The next word is a B or B.cond, which runs together with this one. Bits 13:10 are its condition, 9:0 its offset in
/// words.
constexpr u16 kRowFoldedBranch = 0x4000;

constexpr u32 kPageWords = kPageSize / 4;

/// A word that is decoded as it runs.
MYR_FN Operands not_predecoded_word() {
  Operands none = {};
  none.kind = kKindOutOfLine;
  none.row = kRowNotPredecoded;
  return none;
}

/// Predecoded words of one span of a window. They lie behind a word that is not predecoded, whose imm is the number of
/// the words behind it; then comes a CodeSource for each page of the span. A span is never changed while it is in use.
struct CodeSpan {
  const Operands* words;  // the word in front
  u32 begin;              // offset in the window of the first word's instruction, whole pages
  u32 bytes;              // of guest code; a team may use fewer than there are
};
static_assert(sizeof(CodeSpan) == 16, "two loads of 8 bytes");
/// In CodeSpan::begin of View::team_code, whose lowest bits are 0: the team has a group. docs/design/split-pages.md.
constexpr u32 kHasGroup = 1;
/// The span of a team's group, which begins where the team's does.
struct GroupCode {
  const Operands* words;  // as CodeSpan has them
  u32 lanes;              // bit l: the lane at place l belongs to the group
  u32 bytes;
};
static_assert(sizeof(GroupCode) == 16, "two loads of 8 bytes");

/// Where the predecoded words of a page come from.
enum CodeSource : u8 {
  kNoCode,       // nowhere: each is a not_predecoded_word()
  kProgramCode,  // the program's page, which the team has not changed
  kOwnCode,      // the team's page, which all of its lanes have alike
};
/// Where the sources lie of a span with so many words behind the one in front.
MYR_FN const u8* sources_behind(const Operands* words, u64 count) { return (const u8*)(words + 1 + count); }
MYR_FN const u8* page_sources(const CodeSpan& span) {
  return sources_behind(span.words, *(const volatile u64*)&span.words->imm);
}
/// The length of the array of a span with this many pages, in Operands.
constexpr u64 span_length(u64 pages) {
  return 1 + pages * kPageWords + (pages + sizeof(Operands) - 1) / sizeof(Operands);
}

}  // namespace myriarm::cuda
