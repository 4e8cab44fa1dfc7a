// SPDX-License-Identifier: Apache-2.0
// Looks up, splits and joins ranges of addresses. The lists are short, so a change may walk the whole list.
#include "linux/address_space.h"

#include <algorithm>

namespace myriarm::linux_process {

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
    if (permissions) ranges_.push_back({edges[i - 1], edges[i], permissions, false});
  }
  join();
}

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

/// Splits the range that contains `address`, if any. Returns the index of the first range at or above `address`.
size_t AddressSpace::split(uint64_t address) {
  auto index = static_cast<size_t>(first_after(address) - ranges_.begin());
  if (index == ranges_.size() || ranges_[index].begin >= address) return index;
  Range upper = ranges_[index];
  upper.begin = ranges_[index].end = address;
  ranges_.insert(ranges_.begin() + static_cast<ptrdiff_t>(index) + 1, upper);
  return index + 1;
}

void AddressSpace::join() {
  size_t kept = 0;
  for (size_t i = 1; i < ranges_.size(); i++) {
    Range& last = ranges_[kept];
    const Range& next = ranges_[i];
    if (last.end == next.begin && last.permissions == next.permissions && last.anonymous == next.anonymous) {
      last.end = next.end;
    } else {
      ranges_[++kept] = next;
    }
  }
  if (!ranges_.empty()) ranges_.resize(kept + 1);
}

void AddressSpace::unmap(uint64_t begin, uint64_t end) {
  const size_t first = split(begin), last = split(end);
  ranges_.erase(ranges_.begin() + static_cast<ptrdiff_t>(first), ranges_.begin() + static_cast<ptrdiff_t>(last));
}

void AddressSpace::map(uint64_t begin, uint64_t end, uint32_t permissions) {
  if (begin == end) return;
  unmap(begin, end);
  ranges_.insert(first_after(begin), {begin, end, permissions, true});
  join();
}

void AddressSpace::protect(uint64_t begin, uint64_t end, uint32_t permissions) {
  const size_t first = split(begin), last = split(end);
  for (size_t i = first; i < last; i++) ranges_[i].permissions = permissions;
  join();
}

}  // namespace myriarm::linux_process
