// SPDX-License-Identifier: Apache-2.0
// Looks up, splits and joins ranges of addresses. A process may have thousands, so a change looks only at the ranges
// that it affects and at their neighbours.
#include "linux/address_space.h"

#include <algorithm>

#include "linux/random_stream.h"

namespace myriarm::linux_process {
namespace {

uint64_t hash_of(const AddressSpace::Range& range) {
  return mix64(range.begin + mix64(range.end + range.permissions * 2 + range.anonymous));
}

}  // namespace

AddressSpace::AddressSpace(const Program& program, uint64_t break_end) : break_end(break_end) {
  std::vector<uint64_t> edges;
  for (const Segment& s : program.segments) {
    edges.push_back(page_down(s.address));
    edges.push_back(page_up(s.address + s.size));
  }
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  for (size_t i = 1; i < edges.size(); i++) {
    uint32_t permissions = 0;
    for (const Segment& s : program.segments) {
      if (page_down(s.address) <= edges[i - 1] && edges[i] <= page_up(s.address + s.size)) permissions |= s.permissions;
    }
    if (permissions) insert(ranges_.size(), {edges[i - 1], edges[i], permissions, false});
  }
  join(0, ranges_.size());
}

uint64_t AddressSpace::hash() const { return mix64(break_end + sum_of_hashes_); }

std::vector<AddressSpace::Range>::const_iterator AddressSpace::first_after(uint64_t address) const {
  return std::upper_bound(ranges_.begin(), ranges_.end(), address,
                          [](uint64_t value, const Range& r) { return value < r.end; });
}

uint64_t AddressSpace::accessible(uint64_t address, uint64_t size, uint32_t permission) const {
  uint64_t at = address;
  const uint64_t end = size > ~address ? ~uint64_t{0} : address + size;
  for (auto range = first_after(at); at < end; ++range) {
    if (range == ranges_.end() || at < range->begin || !(range->permissions & permission)) break;
    at = range->end;
  }
  return std::min(at, end) - address;
}

std::optional<AddressSpace::Range> AddressSpace::at(uint64_t address) const {
  auto range = first_after(address);
  if (range == ranges_.end() || address < range->begin) return {};
  return *range;
}

std::optional<AddressSpace::Range> AddressSpace::next(uint64_t address) const {
  auto range = first_after(address);
  if (range == ranges_.end()) return {};
  return *range;
}

uint64_t AddressSpace::mapped_until(uint64_t begin, uint64_t end) const {
  uint64_t at = begin;
  for (auto range = first_after(at); range != ranges_.end() && range->begin <= at && at < end; ++range) at = range->end;
  return std::min(at, end);
}

bool AddressSpace::is_free(uint64_t begin, uint64_t end) const {
  auto range = first_after(begin);
  return range == ranges_.end() || range->begin >= end;
}

std::optional<uint64_t> AddressSpace::find_place(uint64_t size, uint64_t low, uint64_t high) const {
  uint64_t top = high;  // end of the gap under test
  auto range = ranges_.end();
  while (true) {
    const bool more = range != ranges_.begin();
    const uint64_t bottom = more ? std::max(low, (range - 1)->end) : low;
    if (top >= bottom && top - bottom >= size) return top - size;
    if (!more || bottom == low) return {};
    --range;
    top = std::min(top, range->begin);
  }
}

void AddressSpace::insert(size_t index, const Range& range) {
  ranges_.insert(ranges_.begin() + static_cast<ptrdiff_t>(index), range);
  sum_of_hashes_ += hash_of(range);
}

/// Splits the range that contains `address`, if any. Returns the index of the first range at or above `address`.
size_t AddressSpace::split(uint64_t address) {
  const auto index = static_cast<size_t>(first_after(address) - ranges_.begin());
  if (index == ranges_.size() || ranges_[index].begin >= address) return index;
  const Range whole = ranges_[index];
  insert(index + 1, {address, whole.end, whole.permissions, whole.anonymous});
  ranges_[index].end = address;
  sum_of_hashes_ += hash_of(ranges_[index]) - hash_of(whole);
  return index + 1;
}

/// Joins the ranges from `first` to the one before `last` with each other and with their neighbours.
void AddressSpace::join(size_t first, size_t last) {
  if (ranges_.empty()) return;
  size_t kept = first - std::min<size_t>(first, 1);
  const size_t end = std::min(last + 1, ranges_.size());
  for (size_t i = kept + 1; i < end; i++) {
    Range& low = ranges_[kept];
    const Range& high = ranges_[i];
    if (low.end == high.begin && low.permissions == high.permissions && low.anonymous == high.anonymous) {
      sum_of_hashes_ -= hash_of(low) + hash_of(high);
      low.end = high.end;
      sum_of_hashes_ += hash_of(low);
    } else {
      ranges_[++kept] = high;
    }
  }
  if (kept + 1 < end) {
    ranges_.erase(ranges_.begin() + static_cast<ptrdiff_t>(kept) + 1, ranges_.begin() + static_cast<ptrdiff_t>(end));
  }
}

void AddressSpace::unmap(uint64_t begin, uint64_t end) {
  const size_t first = split(begin), last = split(end);
  for (size_t i = first; i < last; i++) sum_of_hashes_ -= hash_of(ranges_[i]);
  ranges_.erase(ranges_.begin() + static_cast<ptrdiff_t>(first), ranges_.begin() + static_cast<ptrdiff_t>(last));
}

void AddressSpace::map(uint64_t begin, uint64_t end, uint32_t permissions, bool anonymous) {
  if (begin == end) return;
  unmap(begin, end);
  const auto index = static_cast<size_t>(first_after(begin) - ranges_.begin());
  insert(index, {begin, end, permissions, anonymous});
  join(index, index + 1);
}

void AddressSpace::protect(uint64_t begin, uint64_t end, uint32_t permissions) {
  const size_t first = split(begin), last = split(end);
  for (size_t i = first; i < last; i++) {
    sum_of_hashes_ -= hash_of(ranges_[i]);
    ranges_[i].permissions = permissions;
    sum_of_hashes_ += hash_of(ranges_[i]);
  }
  join(first, last);
}

}  // namespace myriarm::linux_process
