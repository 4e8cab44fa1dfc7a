// SPDX-License-Identifier: Apache-2.0
// What a process has mapped: ranges of addresses in rising order, without overlap, of which two that touch differ. They say
// where a new mapping goes and what a change leaves mapped; the page table says what an access may do. A process may have
// thousands, so a lookup halves, and a change looks only at the ranges that it affects and at their neighbours.
#pragma once

#include "kernel/guest_memory.h"

namespace myriarm::kernel {

constexpr u32 kRangeFlags = kPagePermissions | kAnonymous | kBehindFile | kSharedMemory | kSharedFile | kReadOnlyFile;
constexpr u32 kKeptFlags = kAnonymous | kSharedMemory | kSharedFile | kReadOnlyFile;  // by a change of permissions
constexpr u32 kRangeBytes = 16;

struct Range {
  u64 begin, end;
  u32 flags;
  MYR_FN u8 permissions() const { return (u8)(flags & kPagePermissions); }
  MYR_FN u32 kept_flags() const { return flags & kKeptFlags; }
};

template <class M>
MYR_FN u32 range_count(const M& m) {
  return (u32)lesser(word(m, kRangeCount), kMostRanges + kSpareRanges);
}
template <class M>
MYR_FN Range range_at(const M& m, u32 index) {
  const u64 first = word(m, kRanges + index * kRangeBytes);
  return {page_down(first), word(m, kRanges + index * kRangeBytes + 8), (u32)first & kRangeFlags};
}
template <Machine M>
MYR_FN void set_range(M& m, u32 index, const Range& range) {
  set_word(m, kRanges + index * kRangeBytes, range.begin | range.flags);
  set_word(m, kRanges + index * kRangeBytes + 8, range.end);
}

/// The index of the first range that ends after the address, or range_count().
template <class M>
MYR_FN u32 first_after(const M& m, u64 address) {
  u32 low = 0, high = range_count(m);
  while (low < high) {
    const u32 middle = (low + high) / 2;
    if (word(m, kRanges + middle * kRangeBytes + 8) <= address) low = middle + 1;
    else high = middle;
  }
  return low;
}

/// Whether an address is mapped; then `range` is the one that contains it.
template <class M>
MYR_FN bool find_range(const M& m, u64 address, Range& range) {
  const u32 index = first_after(m, address);
  if (index == range_count(m)) return false;
  range = range_at(m, index);
  return range.begin <= address;
}
/// Where the memory mapped without a gap from `begin` on ends, at most `end`; `begin` if `begin` is not mapped.
template <Machine M>
MYR_FN u64 mapped_until(const M& m, u64 begin, u64 end) {
  u64 at = begin;
  const u32 count = range_count(m);
  for (u32 i = first_after(m, at); i < count && at < end; i++) {
    const Range range = range_at(m, i);
    if (range.begin > at) break;
    at = range.end;
  }
  return lesser(at, end);
}
/// Whether nothing is mapped in [begin, end).
template <Machine M>
MYR_FN bool is_free(const M& m, u64 begin, u64 end) {
  const u32 index = first_after(m, begin);
  return index == range_count(m) || range_at(m, index).begin >= end;
}
/// The highest free place for `size` bytes within [low, high), as Linux chooses it; 0 if there is none.
template <Machine M>
MYR_FN u64 find_place(const M& m, u64 size, u64 low, u64 high) {
  u64 top = high;  // end of the gap under test
  for (u32 i = range_count(m);; i--) {
    const u64 bottom = i != 0 ? greater(low, word(m, kRanges + (i - 1) * kRangeBytes + 8)) : low;
    if (top >= bottom && top - bottom >= size) return top - size;
    if (i == 0 || bottom == low) return 0;
    top = lesser(top, range_at(m, i - 1).begin);
  }
}

template <Machine M>
MYR_FN bool is_full(const M& m) {
  return range_count(m) >= kMostRanges;
}
/// Whether a change of [begin, end) alone would split a range.
template <Machine M>
MYR_FN bool splits(const M& m, u64 begin, u64 end) {
  Range range;
  return (find_range(m, begin, range) && range.begin < begin) || (find_range(m, end, range) && range.begin < end);
}

/// Must be called, and have returned true, before changes of ranges from `begin` up.
template <Machine M>
MYR_FN bool own_ranges(M& m, u64 begin) {
  const u32 index = first_after(m, begin), first = index == 0 ? 0 : index - 1;  // the one before may be joined
  const u32 last = range_count(m) + 4;                                          // a change splits at most two
  return own_word(m, kRangeCount) && own_words(m, kRanges + first * kRangeBytes, (last - first) * kRangeBytes);
}

namespace detail_of_ranges {

/// Moves the ranges from `from` on to begin at `to`, and sets the count.
template <Machine M>
MYR_FN void move_ranges(M& m, u32 from, u32 to) {
  const u32 count = range_count(m);
  if (from == to) return;
  move_words(m, kRanges + to * kRangeBytes, kRanges + from * kRangeBytes, (count - from) * kRangeBytes);
  set_word(m, kRangeCount, count - from + to);
}

/// Ranges in rising order that take the place of neighbouring ones.
struct NewRanges {
  Range range[5];
  u32 count = 0;

  /// Joins it with the one before if they touch and are alike.
  MYR_FN void add(const Range& next) {
    if (next.begin == next.end) return;
    if (count != 0 && range[count - 1].end == next.begin && range[count - 1].flags == next.flags) {
      range[count - 1].end = next.end;
    } else {
      range[count++] = next;
    }
  }
};
/// Puts them in the place of the ranges from `first` to the one before `last`.
template <Machine M>
MYR_FN void replace(M& m, u32 first, u32 last, const NewRanges& made) {
  move_ranges(m, last, first + made.count);
  for (u32 i = 0; i < made.count; i++) set_range(m, first + i, made.range[i]);
}

/// Makes [begin, end) one range with these flags, or with `maps` false free. All at once, so that what lies above moves
/// once. `first` to `last`: the ranges that overlap it.
template <Machine M>
MYR_FN void set_place(M& m, u64 begin, u64 end, bool maps, u32 flags, u32 first, u32 last) {
  NewRanges made;
  if (first != 0) made.add(range_at(m, first - 1));
  if (first != last) {
    const Range low = range_at(m, first);
    if (low.begin < begin) made.add({low.begin, begin, low.flags});
  }
  if (maps) made.add({begin, end, flags});
  if (first != last) {
    const Range high = range_at(m, last - 1);
    if (high.end > end) made.add({end, high.end, high.flags});
  }
  const bool more = last < range_count(m);
  if (more) made.add(range_at(m, last));
  replace(m, first == 0 ? 0 : first - 1, more ? last + 1 : last, made);
}

/// The index of the first range that begins at or above `end`; the search starts at `from`.
template <Machine M>
MYR_FN u32 first_from(const M& m, u64 end, u32 from) {
  u32 low = from, high = range_count(m);
  while (low < high) {
    const u32 middle = (low + high) / 2;
    if (range_at(m, middle).begin < end) low = middle + 1;
    else high = middle;
  }
  return low;
}

/// Makes an address where a range begins, if it is inside one.
template <Machine M>
MYR_FN void cut(M& m, u64 address) {
  const u32 index = first_after(m, address);
  if (index == range_count(m)) return;
  const Range whole = range_at(m, index);
  if (whole.begin >= address) return;
  move_ranges(m, index, index + 1);
  set_range(m, index, {whole.begin, address, whole.flags});
  set_range(m, index + 1, {address, whole.end, whole.flags});
}

}  // namespace detail_of_ranges

// Changes. Addresses are multiples of the page size, and begin <= end. own_ranges(begin) must have returned true.
template <Machine M>
MYR_OUTLINE void unmap_range(M& m, u64 begin, u64 end) {
  const u32 first = first_after(m, begin), last = detail_of_ranges::first_from(m, end, first);
  if (begin != end && first != last) detail_of_ranges::set_place(m, begin, end, false, 0, first, last);
}
template <Machine M>
MYR_OUTLINE void map_range(M& m, u64 begin, u64 end, u32 flags) {
  if (begin == end) return;
  const u32 first = first_after(m, begin), last = detail_of_ranges::first_from(m, end, first);
  detail_of_ranges::set_place(m, begin, end, true, flags, first, last);
}
/// Changes the permissions of what is mapped in [begin, end); gaps stay gaps.
template <Machine M>
MYR_OUTLINE void protect_range(M& m, u64 begin, u64 end, u32 permissions) {
  if (begin == end) return;
  u32 first = first_after(m, begin), last = detail_of_ranges::first_from(m, end, first);
  if (first == last) return;
  if (last - first == 1) {
    const Range only = range_at(m, first);
    detail_of_ranges::set_place(m, greater(begin, only.begin), lesser(end, only.end), true,
                                permissions | (only.flags & kKeptFlags), first, last);
    return;
  }
  detail_of_ranges::cut(m, begin);
  detail_of_ranges::cut(m, end);
  first = first_after(m, begin);
  last = detail_of_ranges::first_from(m, end, first);
  // Ranges that are alike now become one: of those from the one before `first` to the one at `last`.
  const u32 begin_at = first == 0 ? 0 : first - 1, end_at = last < range_count(m) ? last + 1 : last;
  u32 kept = begin_at;
  Range low = {0, 0, 0};
  for (u32 i = begin_at; i < end_at; i++) {
    Range range = range_at(m, i);
    if (i >= first && i < last) range.flags = permissions | (range.flags & kKeptFlags);
    if (i == begin_at) {
      low = range;
    } else if (low.end == range.begin && low.flags == range.flags) {
      low.end = range.end;
    } else {
      set_range(m, kept++, low);
      low = range;
    }
  }
  set_range(m, kept++, low);
  detail_of_ranges::move_ranges(m, end_at, kept);
}

}  // namespace myriarm::kernel
