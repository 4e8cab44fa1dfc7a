// SPDX-License-Identifier: Apache-2.0
// The Cpu policy of translated code for a GPU. A region has one object of it, whose members LLVM turns into machine
// registers. A region calls nothing but myriarm_find_page(): what is not simple is refused, and another engine runs it. Compiled by
// clang to bitcode.
#pragma once

#include "core/semantics.h"
#include "translate/device_region.h"
#include "translate/flag_source.h"
#include "translate/span_limits.h"

// Address spaces of the GPU, so that an access needs no look at what kind of address it has.
#define MYR_GLOBAL __attribute__((address_space(1)))
#define MYR_SHARED __attribute__((address_space(3)))

namespace myriarm::translate {

struct DeviceCpu;

/// See DeviceTarget::lanes_differ. Set in the bitcode when a compiler of regions begins.
extern const bool kLanesDiffer __attribute__((visibility("hidden")));

/// find_page() of the lane, which the kernel has. Nobody changes a page table while a lane visits a region, so that it depends on nothing
/// else.
extern "C" __attribute__((const, nothrow)) DevicePage myriarm_find_page(u64 address);

/// A page of the lane's own that it may read and write. Nobody changes a page table while a lane visits a region, so
/// that the next access there needs no look at the page's entry.
struct KeptPage {
  u64 page = 1;  // its address; no page begins at 1
  u64 base = 0;  // of the lane's bytes
};

/// A span that was found (translate/spans.h): its address, where its bytes begin, and how many granules one of it is from the next.
struct SpanPlace {
  u64 address = 0;
  u64 begin = 0;
  u32 granule_step = 0;
};

/// As PagedMemory, for one access; it looks into DeviceCpu::kept first.
struct DeviceMemory {
  const DeviceCpu& cpu;
  struct Pages {
    const DeviceCpu& cpu;
  } page_count{cpu};

  MYR_FN u64 page_of(u64 address) const;
  MYR_FN u32 entry(u64 page) const;
  template <u32 kSize>
  MYR_FN bool whole(u32 offset) const;
  MYR_FN u8* locate(u32 entry, u32 offset) const;
};

struct DeviceCpu : FlagSource<kEntryApart> {
  u64 at;    // the address of the instruction
  u64 next;  // the target of a branch
  u32 left;  // instructions until the limit is reached, as a signed number
  u32 aim;   // what is to be left
  u32 column;
  const MYR_SHARED DeviceTeamFacts* team;
  u64 x[kSlotCount];
  u64 vectors[64];
  u64 fields[(int)SystemField::count];
  u32 zeroed;  // bit n: the upper half of vector register n has become 0; of those that a region knows in no other way
  KeptPage kept_pages[kKeptPages];
  mutable KeptPage kept;    // of the instruction
  bool keeps;               // it has one
  u32 size;                 // of its access, or of each half of it
  mutable bool hits;        // its access lies there
  mutable u64 address;      // of the access
  mutable u64 found;        // the word of DeviceTeamFacts::found for the access
  mutable bool is_found;    // it is of the access's page
  mutable u32 part;         // bytes that are read or written at once
  mutable DevicePage page;  // of the access, if lanes may differ
  SpanPlace spans[kMostSpans];
  bool in_span;            // the access, which its block has looked for already
  SpanPlace span;          // where that lies
  u32 span_bytes;          // of the access
  mutable u32 span_place;  // in the span, of the next part
  bool gave_up;            // an instruction since myriarm_begin_group()

  using Fp = NativeFpContext<true>;
  /// The instruction goes on, with a result that the region drops when it looks at this, mostly behind several instructions.
  MYR_FN bool give_up() {
    gave_up = true;
    return true;
  }

  MYR_FN u64 r(u32 slot) const { return slot == kSlotZero ? 0 : x[slot]; }
  MYR_FN void set_r(u32 slot, u64 value) {
    if (slot != kSlotDiscard) x[slot] = value;
  }
  MYR_FN u64 v(u32 n, u32 half) const { return vectors[2 * n + half]; }
  MYR_FN void set_v(u32 n, u32 half, u64 value) { vectors[2 * n + half] = value; }
  MYR_FN u64 system(SystemField field) const { return fields[(int)field]; }
  MYR_FN void set_system(SystemField field, u64 value) { fields[(int)field] = value; }
  MYR_FN u64 pc() const { return at; }
  MYR_FN u64 retired() const { return 0; }  // the translator refuses instructions that read it

  /// Bytes that the columns of the lanes before this one take.
  MYR_FN u32 place() const { return column - team->columns; }
  MYR_FN MYR_SHARED u64* slot(u32 number) const { return (MYR_SHARED u64*)(u64)(column + number * kColumnStep); }
  MYR_FN MYR_GLOBAL u64* plane(SystemField field) const {
    return (MYR_GLOBAL u64*)(team->system[(int)field] + place());
  }
  MYR_FN MYR_GLOBAL u64* vector_half(u32 index, u32 plane) const {
    return (MYR_GLOBAL u64*)(team->vectors + place() + (u64)((index & 1) * 32 + index / 2) * plane);
  }
  MYR_FN MYR_GLOBAL u64* vector_half(u32 index) const { return vector_half(index, team->vector_plane); }
  /// The same, computed each time: kept, the addresses of some registers would take more machine registers than these.
  MYR_FN MYR_GLOBAL u64* vector_half_anew(u32 index) const {
    return vector_half(index, *(const volatile MYR_SHARED u32*)&team->vector_plane);
  }
  MYR_FN DeviceMemory memory() const { return {*this}; }
  MYR_FN PagedMemory<kDeviceTeam> paged() const {
    return {(u8*)(MYR_GLOBAL u8*)team->frames,
            (u32*)(MYR_GLOBAL u32*)team->table,
            team->first_page,
            team->page_count,
            place() / 8,
            team->granule_step,
            place() / 8 * team->lane_step};
  }
  /// As in find_page().
  MYR_FN volatile MYR_SHARED u64* found_place(u64 page) const {
    return (volatile MYR_SHARED u64*)&team->found[page % kFoundEntries];
  }
  /// Only pages of the window are there.
  MYR_FN bool find(u64 page) const {
    found = *found_place(page);
    return is_found = (u32)found == page;
  }
  MYR_FN u32 entry_of(u64 page) const {
    u32 entry = (u32)(found >> 32);
    if (!is_found) {
      entry = paged().entry(page);
      *found_place(page) = (u64)entry << 32 | (u32)page;
    }
    return entry;
  }
  MYR_FN SlowLoad load_slow(u64, u32) { return {0, false}; }
  MYR_FN bool store_slow(u64, u64, u32) { return false; }
  MYR_FN bool store_pair_slow(u64, u64, u64, u32) { return false; }

  MYR_FN Outcome branch_relative(i64) { return Outcome::branch; }  // the region knows the target
  MYR_FN Outcome branch_to(u64 address) {
    next = address;
    return Outcome::branch;
  }
  MYR_FN Outcome stop(StopCode, u32, u64) { return Outcome::stop; }
  MYR_FN Outcome fault(FaultCode, u64) { return Outcome::stop; }
  MYR_FN Outcome undefined() { return Outcome::stop; }
};
static_assert(Cpu<DeviceCpu>);

MYR_FN bool operator<(u64 page, DeviceMemory::Pages pages) {
  return pages.cpu.in_span || kLanesDiffer || pages.cpu.hits || MYR_LIKELY(pages.cpu.find(page)) ||
         page < pages.cpu.team->page_count;
}
MYR_FN u64 DeviceMemory::page_of(u64 address) const {
  if (cpu.in_span) {
    cpu.span_place = (u32)(address - cpu.span.address);
    __builtin_assume((address & (kPageSize - 1)) <= kPageSize - cpu.span_bytes);
    return 0;
  }
  if (kLanesDiffer) {
    cpu.page = myriarm_find_page(address);
    return 0;
  }
  cpu.address = address;
  cpu.hits = cpu.keeps && (address & (~(u64)(kPageSize - 1) | (cpu.size - 1))) == cpu.kept.page;
  return cpu.paged().page_of(address);
}
MYR_FN u32 DeviceMemory::entry(u64 page) const {
  if (cpu.in_span || cpu.hits) return kPageReadable | kPageWritable;
  return kLanesDiffer ? cpu.page.entry : cpu.entry_of(page);
}
/// An access that hits is aligned, or its address would differ from the page's in its lowest bits.
template <u32 kSize>
MYR_FN bool DeviceMemory::whole(u32 offset) const {
  cpu.part = kSize;
  return cpu.in_span || (cpu.hits && cpu.size == kSize) || PagedMemory<kDeviceTeam>::whole<kSize>(offset);
}
/// Called once the access is allowed.
MYR_FN u8* DeviceMemory::locate(u32 entry, u32 offset) const {
  if (cpu.in_span) {
    const u32 place = cpu.span_place;
    cpu.span_place += cpu.part;
    return (u8*)(MYR_GLOBAL u8*)(cpu.span.begin + (u64)(place & ~7u) * cpu.span.granule_step + (place & 7));
  }
  if (cpu.part == 8) offset &= ~7u;  // as it is
  if (kLanesDiffer)
    return (u8*)(MYR_GLOBAL u8*)(cpu.page.base + (u64)(offset & ~7u) * cpu.page.granule_step + (offset & 7));
  const auto paged = cpu.paged();
  if (!cpu.hits) {
    if (!cpu.keeps || !fast_readable(entry) || !fast_writable(entry)) return paged.locate(entry, offset);
    cpu.kept.page = cpu.address & ~(u64)(kPageSize - 1);
    cpu.kept.base =
        (u64)(MYR_GLOBAL u8*)paged.frames + ((u64)(entry >> kPageFlagBits) << kPageBits) + paged.lane_offset;
  }
  return (u8*)(MYR_GLOBAL u8*)(cpu.kept.base + ((offset & ~7u) * paged.granule_step + (offset & 7)));
}

}  // namespace myriarm::translate
