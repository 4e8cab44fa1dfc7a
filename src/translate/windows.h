// SPDX-License-Identifier: Apache-2.0
// Where code that LLVM compiled finds memory: windows, each of many pages that follow each other at the guest and at the
// host. Every access of a region has a place for the window where it was lately, so that it needs neither the entry of its
// page nor a load whose address depends on that of the access.
#pragma once

#include "core/memory.h"

namespace myriarm::translate {

constexpr u32 kLongestAccess = 16;  // bytes that one look at a window is for

/// Pages with the same permissions, from one place of the host on.
struct Window {
  u64 begin;  // guest address
  /// An access is plain if it begins less than this far behind `begin`; 0: none is. The last bytes are left out, so that this
  /// is so whatever the length of the access.
  u64 read_limit, write_limit;
  u64 host;  // where a byte of it lies, less its guest address

  /// Whether an access at an address is plain; then its bytes are at `at_byte`.
  MYR_FN bool find_readable(u64 address, u8*& at_byte) const {
    at_byte = (u8*)(host + address);  // NOLINT(performance-no-int-to-ptr): one addition, and not two
    return address - begin < read_limit;
  }
  MYR_FN bool find_writable(u64 address, u8*& at_byte) const {
    at_byte = (u8*)(host + address);  // NOLINT(performance-no-int-to-ptr): one addition, and not two
    return address - begin < write_limit;
  }
  MYR_FN bool exists() const { return read_limit != 0; }
  MYR_FN u64 end() const { return begin + read_limit + (kLongestAccess - 1); }
  MYR_FN bool has(u64 address) const { return exists() && address - begin < end() - begin; }
};

constexpr u32 kWindowPlaces = 1024;
/// What slow paths get as the size of an access: bytes, and from this bit on the number of its place, less 1; 0: it has none.
constexpr u32 kPlaceShift = 8;

/// The windows of a lane. Nothing of it is initialised: see LaneState::found_is_stale.
struct Windows {
  alignas(64) Window at[kWindowPlaces];
  /// The latest different ones.
  static constexpr u32 kKnown = 8;
  Window known[kKnown];
  u32 next_known;
  bool others_exist;  // some of `at` may have pages that none of `known` has

  void forget_all() {
    for (Window& window : at) window = {};
    for (Window& window : known) window = {};
    next_known = 0;
    others_exist = false;
  }
  /// To be called when the entry of the page that begins at an address has changed.
  void forget(u64 page_address) {
    if (others_exist) forget_in(page_address, page_address + kPageSize);
    for (Window& window : known) {
      if (!window.has(page_address)) continue;
      forget_in(window.begin, window.end());
      window = {};
    }
  }
  /// Makes the window at an address, which has no tag, that of a place. None, and null, if its page is not plainly readable.
  const Window* note(const PagedMemory<1>& memory, u64 address, u32 place);

 private:
  Window found(const PagedMemory<1>& memory, u64 address);
  /// Forgets places whose windows have any of these bytes.
  void forget_in(u64 begin, u64 end) {
    for (Window& window : at) {
      if (window.exists() && window.begin < end && begin < window.end()) window = {};
    }
  }
};

inline const Window* Windows::note(const PagedMemory<1>& memory, u64 address, u32 place) {
  const u64 page = (address >> kPageBits) - memory.first_page;
  if (page >= memory.page_count || !fast_readable(memory.entry(page))) return nullptr;
  for (const Window& window : known) {
    if (address - window.begin < window.read_limit) return &(at[place] = window);
  }
  return &(at[place] = found(memory, address));
}

inline Window Windows::found(const PagedMemory<1>& memory, u64 address) {
  const u64 page = (address >> kPageBits) - memory.first_page;
  const bool writes = fast_writable(memory.entry(page));
  auto host_of = [&](u64 of_page) {
    return reinterpret_cast<u64>(memory.locate(memory.entry(of_page), 0)) -
           ((memory.first_page + of_page) << kPageBits);
  };
  const u64 host = host_of(page);
  u64 begin = (memory.first_page + page) << kPageBits, end = begin + kPageSize;
  Window* place = nullptr;
  for (Window& window : known) {
    const bool could_be_one = window.exists() && window.host == host && (window.write_limit != 0) == writes;
    if (!could_be_one || window.end() < begin || end < window.begin) continue;
    begin = begin < window.begin ? begin : window.begin;
    end = end > window.end() ? end : window.end();
    window = {};
    place = &window;
  }
  // What grows page by page is not looked at anew each time.
  constexpr u64 kMostMore = 64;
  auto belongs = [&](u64 at_page) {
    return at_page < memory.page_count && fast_readable(memory.entry(at_page)) &&
           fast_writable(memory.entry(at_page)) == writes && host_of(at_page) == host;
  };
  u64 first = (begin >> kPageBits) - memory.first_page, behind = (end >> kPageBits) - memory.first_page;
  for (u64 i = 0; i < kMostMore && belongs(first - 1); i++) first--;
  for (u64 i = 0; i < kMostMore && belongs(behind); i++) behind++;
  if (place == nullptr) {
    place = &known[next_known++ % kKnown];
    others_exist = others_exist || place->exists();
  }
  const u64 limit = ((behind - first) << kPageBits) - (kLongestAccess - 1);
  return *place = {(memory.first_page + first) << kPageBits, limit, writes ? limit : 0, host};
}

}  // namespace myriarm::translate
