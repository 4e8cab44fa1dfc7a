// SPDX-License-Identifier: Apache-2.0
// Makes predecoded instructions: one Operands for each word of a page, ready to be dispatched on. What it makes of a
// page depends on the page's bytes and address and on the area that the page is in, on nothing else.
#pragma once

#include <atomic>

#include "core/memory.h"
#include "core/operands.h"

namespace myriarm::cpu {

constexpr u64 kPageWords = kPageSize / 4;

/// A range of guest addresses whose predecoded words lie in one array: relative branches inside it go by pointer.
struct CodeSpan {
  u64 address = 0;  // multiple of 4 KiB
  u64 count = 0;    // words; a multiple of kPageWords
  bool contains(u64 pc) const { return pc - address < count * 4; }
};

/// Predecodes the page of guest code at `address`. `bytes` are its 4 KiB; `words` gets kPageWords entries.
void predecode_page(const u8* bytes, u64 address, const CodeSpan& span, Operands* words);
/// Predecodes `count` words of a page from index `first` on, where kKindLazy stands. A word becomes a pair with the one
/// behind it only if both are among them.
void predecode_words(const u8* bytes, u64 address, const CodeSpan& span, Operands* words, u64 first, u64 count);

/// A word's kind, which may become kKindRegion while lanes run it.
inline u16 kind_of(const Operands& word, std::memory_order order = std::memory_order_relaxed) {
  return std::atomic_ref(const_cast<u16&>(word.kind)).load(order);
}

/// An entry for a word that was written to and has not been decoded since.
Operands lazy_word();
/// Whether an instruction always ends straight-line execution, so that the budget is checked after it.
bool always_leaves(u16 row);

}  // namespace myriarm::cpu
