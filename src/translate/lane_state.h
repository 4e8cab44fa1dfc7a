// SPDX-License-Identifier: Apache-2.0
// The part of a lane that translated code for the host works on: registers, where memory lies, pc, counts and the stop.
// The CPU backend's lanes begin with it. Translated code is compiled against this layout.
#pragma once

#include "core/cpu.h"
#include "translate/entry_point.h"
#include "translate/flag_source.h"
#include "translate/windows.h"

namespace myriarm::translate {

/// Where translated code finds a page that the lane has accessed lately, without its entry.
struct FoundPage {
  u64 readable;  // address >> kPageBits of a page that is plainly readable; kNoFoundPage: none
  u64 writable;  // the same number if it is plainly writable too, else kNoFoundPage
  u64 host;      // where a byte of it lies, less its guest address
  u64 reserved;
};
constexpr u64 kNoFoundPage = ~(u64)0;
constexpr u32 kFoundPages = 1024;  // a page has place (address >> kPageBits) % kFoundPages

struct alignas(64) LaneState {
  u64 r[kSlotCount] = {};
  u8 n = 0, z = 0, c = 0, v_flag = 0;  // PSTATE, in four bytes, so that setting them is four independent stores

  u64 first_page = 0, page_count = 0;
  u32* table = nullptr;
  u8* frames = nullptr;
  bool found_is_stale = true;  // `found` and `windows` mean nothing, or entries of the table have changed since

  u64 system[static_cast<int>(SystemField::count)] = {};
  u64* v = nullptr;  // v[2 * n] lower, v[2 * n + 1] upper half of register n

  // While regions run: where others begin, the limit, and the flags, which are NZCV again when run_region() returns.
  EntryPoints entries;
  const EntryPoint* next_point = nullptr;  // with RegionEnd::goes_on: where
  u64 region_limit = 0;
  FlagSource<1> region_flags = {};

  // While an engine runs the lane, only translated code keeps these up to date, and only when it returns.
  u64 pc = 0, retired = 0;
  u64 retired_in_copied = 0;  // of `retired`: those that copied code has retired
  StopRecord stop = {};

  Windows windows;                           // not initialised, since lanes are made often
  alignas(64) FoundPage found[kFoundPages];  // nor is this

  Flags flags() const { return {n != 0, z != 0, c != 0, v_flag != 0}; }
  void set_flags(Flags flags) { n = flags.n, z = flags.z, c = flags.c, v_flag = flags.v; }
  PagedMemory<1> memory() const { return {frames, table, first_page, page_count, 0}; }

  /// The place of a page in `found`, by two instructions of the host.
  MYR_FN const FoundPage& found_page(u64 address) const {
    constexpr u32 kShift = kPageBits - 5;
    static_assert(sizeof(FoundPage) == 1 << 5);
    return *(const FoundPage*)((const u8*)found + ((address >> kShift) & ((u64)(kFoundPages - 1) << 5)));
  }
  /// Whether the bytes at an address are plainly readable, or writable, as `found` has it; then they are at `at_byte`. The page
  /// of the last byte is that of the first, or else another place's.
  MYR_FN bool find_readable(u64 address, u32 bytes, u8*& at_byte) const {
    const FoundPage& page = found_page(address);
    at_byte = (u8*)(page.host + address);  // NOLINT(performance-no-int-to-ptr): one addition, and not two
    return page.readable == (address + (bytes - 1)) >> kPageBits;
  }
  MYR_FN bool find_writable(u64 address, u32 bytes, u8*& at_byte) const {
    const FoundPage& page = found_page(address);
    at_byte = (u8*)(page.host + address);  // NOLINT(performance-no-int-to-ptr): one addition, and not two
    return page.writable == (address + (bytes - 1)) >> kPageBits;
  }
  /// To be called when the entry of a page has changed. `page`: its number in the guest's address space.
  void forget_found_page(u64 page) {
    found[page % kFoundPages] = {kNoFoundPage, kNoFoundPage, 0, 0};
    if (!found_is_stale) windows.forget(page << kPageBits);
  }
  void forget_found_pages() {
    for (u32 i = 0; i < kFoundPages; i++) found[i] = {kNoFoundPage, kNoFoundPage, 0, 0};
    windows.forget_all();
    found_is_stale = false;
  }
  /// To be called by the slow paths after an access at `address`, which has no tag: the next one to this page is fast if
  /// its entry allows that.
  void note_found_page(u64 address) {
    if (found_is_stale) forget_found_pages();
    const u64 page = address >> kPageBits, index = page - first_page;
    if (index >= page_count || !fast_readable(table[index])) return;
    found[page % kFoundPages] = {page, fast_writable(table[index]) ? page : kNoFoundPage,
                                 reinterpret_cast<u64>(memory().locate(table[index], 0)) - (page << kPageBits), 0};
  }
};

}  // namespace myriarm::translate
