// SPDX-License-Identifier: Apache-2.0
// The code of a program that regions are made of, without the gaps: its pages lie far apart where a window has libraries at its upper
// end. Words are numbered as if each page with code followed the one before.
#pragma once

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "backends/cuda/code_span.h"

namespace myriarm::cuda {

class ProgramCode {
 public:
  /// `begin`: the guest's address of the span; `pages`: those with code, as numbers within the span, rising; `bytes`: theirs.
  ProgramCode(u64 begin, std::vector<u32> pages, std::vector<u8> bytes)
      : begin_(begin), pages_(std::move(pages)), bytes_(std::move(bytes)) {}

  u64 begin() const { return begin_; }
  const std::vector<u32>& pages() const { return pages_; }
  u64 words() const { return pages_.size() * kPageWords; }
  /// The number of the word at an address; words() if there is no code.
  u64 word_at(u64 pc) const {
    const u64 page = (pc - begin_) >> kPageBits;
    const auto found = std::lower_bound(pages_.begin(), pages_.end(), page);
    if (found == pages_.end() || *found != page) return words();
    return static_cast<u64>(found - pages_.begin()) * kPageWords + ((pc - begin_) % kPageSize) / 4;
  }
  bool has(u64 pc) const { return word_at(pc) != words(); }
  u64 address_of(u64 word) const {
    return begin_ + (u64{pages_[word / kPageWords]} << kPageBits) + word % kPageWords * 4;
  }
  bool fetch(u64 pc, u32& word) const {
    const u64 at = word_at(pc);
    if (pc % 4 != 0 || at == words()) return false;
    std::memcpy(&word, bytes_.data() + at * 4, 4);
    return true;
  }
  /// What tells this code from other code that begins at the same address.
  std::vector<u8> key() const {
    std::vector<u8> key = bytes_;
    const u8* const pages = reinterpret_cast<const u8*>(pages_.data());
    key.insert(key.end(), pages, pages + pages_.size() * sizeof(u32));
    return key;
  }
  /// Calls visit(first, place, count) for pages that lie side by side: `first` of pages(), which is page `place` of the span.
  template <class Visit>
  void for_runs(Visit visit) const {
    for (u64 first = 0, end; first < pages_.size(); first = end) {
      end = first + 1;
      while (end < pages_.size() && pages_[end] == pages_[first] + (end - first)) end++;
      visit(first, u64{pages_[first]}, end - first);
    }
  }

 private:
  const u64 begin_;
  const std::vector<u32> pages_;
  const std::vector<u8> bytes_;
};

}  // namespace myriarm::cuda
