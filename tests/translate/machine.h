// SPDX-License-Identifier: Apache-2.0
// One lane in flat memory without a backend: a LaneState, its pages, and an engine that steps it. Tests compare it with
// regions that a translator made.
#pragma once

#include <cstring>
#include <vector>

#include "core/slow_access.h"
#include "isa/decoder.h"
#include "isa/row_functions.h"
#include "translate/translator.h"

namespace myriarm::translate {

/// The Cpu policy that steps a LaneState.
struct LaneStepper {
  LaneState* lane;
  SlowPaths slow;
  u64 next;

  using Fp = FpContext;
  bool give_up() { return false; }
  u64 r(u32 slot) const { return slot == kSlotZero ? 0 : lane->r[slot]; }
  void set_r(u32 slot, u64 value) { lane->r[slot] = value; }
  Flags flags() const { return lane->flags(); }
  void set_flags(Flags flags) { lane->set_flags(flags); }
  u64 pc() const { return lane->pc; }
  u64 retired() const { return lane->retired; }
  u64 system(SystemField field) const { return lane->system[static_cast<int>(field)]; }
  void set_system(SystemField field, u64 value) { lane->system[static_cast<int>(field)] = value; }
  u64 v(u32 n, u32 half) const { return lane->v[2 * n + half]; }
  void set_v(u32 n, u32 half, u64 value) { lane->v[2 * n + half] = value; }
  PagedMemory<1> memory() const { return lane->memory(); }
  SlowLoad load_slow(u64 address, u32 size) { return slow.load(lane, address, size); }
  bool store_slow(u64 address, u64 value, u32 size) { return slow.store(lane, address, value, size); }
  bool store_pair_slow(u64 address, u64 first, u64 second, u32 size) {
    return slow.store_pair(lane, address, first, second, size);
  }
  Outcome branch_relative(i64 offset) { return branch_to(pc() + static_cast<u64>(offset)); }
  Outcome branch_to(u64 address) {
    next = address;
    return Outcome::branch;
  }
  Outcome stop(StopCode code, u32 detail, u64 address) {
    lane->stop = stop_record(code, detail, address);
    return Outcome::stop;
  }
  Outcome fault(FaultCode fault, u64 address) {
    lane->stop = fault_record(fault, address);
    return Outcome::stop;
  }
  Outcome undefined() { return stop(StopCode::undefined, 0, 0); }
};

/// Memory from address 0 on, one frame for each page, in the order of their addresses; frame 0 is unused. As many follow for
/// copies of shared pages.
class FlatMachine : public LaneState {
 public:
  explicit FlatMachine(u64 pages) : bytes_((2 * pages + 1) * kPageSize), entries_(pages), vectors_(64) {
    table = entries_.data();
    frames = bytes_.data();
    page_count = pages;
    v = vectors_.data();
    forget_found_pages();
    system[static_cast<int>(SystemField::monitor)] = kMonitorOpen;
    for (u64 page = 0; page < pages; page++) protect(page, kPageReadable | kPageWritable | kPageExecutable);
  }
  FlatMachine(const FlatMachine& other)
      : LaneState(other), bytes_(other.bytes_), entries_(other.entries_), vectors_(other.vectors_) {
    table = entries_.data();
    frames = bytes_.data();
    v = vectors_.data();
    forget_found_pages();
  }
  void protect(u64 page, u32 flags) {
    found_is_stale = true;
    entries_[page] = static_cast<u32>(page + 1) << kPageFlagBits | flags;
  }
  /// The first store to the page copies it, as that to a page of an image. Nobody may read the former one afterwards.
  void share(u64 page) {
    found_is_stale = true;
    entries_[page] |= kPageShared;
  }
  void copy_page(u64 page) {
    u32& entry = entries_[page];
    if ((entry & kPageShared) == 0) return;
    u8* former = at(page << kPageBits);
    entry = static_cast<u32>(page_count + page + 1) << kPageFlagBits | (entry & kPageFlagMask & ~u32{kPageShared});
    std::memcpy(at(page << kPageBits), former, kPageSize);
    std::memset(former, 0x5A, kPageSize);
    forget_found_page(page);
  }
  u8* at(u64 address) {
    return memory().locate(entries_[address >> kPageBits], static_cast<u32>(address) & (kPageSize - 1));
  }
  u64 size() const { return page_count * kPageSize; }
  bool fetch(u64 address, u32& word) {
    if (address + 4 > size()) return false;
    std::memcpy(&word, at(address), 4);
    return true;
  }
  /// One instruction. False: it has a stop.
  bool step() {
    u32 word = 0;
    if (!fetch(pc, word)) {
      stop = fetch_fault_record(FaultCode::unmapped, pc);
      return false;
    }
    const Operands operands = decode(decode_table(), word);
    LaneStepper cpu{this, slow_paths(), pc + 4};
    if (kRowFunctions<LaneStepper>[operands.row](cpu, operands) == Outcome::stop) return false;
    retired++;
    pc = cpu.next;
    return true;
  }
  bool same_as(const FlatMachine& other) const {
    return std::memcmp(r, other.r, sizeof(u64) * (kSlotSP + 1)) == 0 &&
           pack_flags(flags()) == pack_flags(other.flags()) && std::memcmp(system, other.system, sizeof system) == 0 &&
           vectors_ == other.vectors_ && pc == other.pc && retired == other.retired &&
           std::memcmp(&stop, &other.stop, sizeof stop) == 0 && bytes_ == other.bytes_;
  }
  static SlowPaths slow_paths(bool windows = true);

 private:
  std::vector<u8> bytes_;
  std::vector<u32> entries_;
  std::vector<u64> vectors_;
};

/// The slow paths over a LaneState alone.
struct LaneMemory {
  LaneState* lane;
  u64 page_of(u64 address) const { return lane->memory().page_of(address); }
  u64 page_count() const { return lane->page_count; }
  u32 entry(u64 page) const { return lane->table[page]; }
  u8* locate(u32 entry, u32 offset) const { return lane->memory().locate(entry, offset); }
  bool refuse(FaultCode fault, u64 address) {
    lane->stop = fault_record(fault, address);
    return false;
  }
  bool make_writable(u64 address, u32& entry) {
    static_cast<FlatMachine*>(lane)->copy_page(page_of(address));
    entry = lane->table[page_of(address)];
    return true;
  }
  void code_written(u64, u32) {}
};

/// The bytes of an access, of which a slow path got the size. What finds the next one is told of it.
inline u32 note_slow_access(LaneState* lane, u64 address, u32 size) {
  lane->note_found_page(address);
  const u32 place = size >> kPlaceShift;
  if (place != 0) lane->windows.note(lane->memory(), address, place - 1);
  return size & ((1u << kPlaceShift) - 1);
}

inline SlowPaths FlatMachine::slow_paths(bool windows) {
  return {[](LaneState* lane, u64 address, u32 size) {
            LaneMemory memory{lane};
            return load_slowly(memory, address, note_slow_access(lane, address, size));
          },
          [](LaneState* lane, u64 address, u64 value, u32 size) {
            LaneMemory memory{lane};
            return store_slowly(memory, address, value, 0, note_slow_access(lane, address, size));
          },
          [](LaneState* lane, u64 address, u64 first, u64 second, u32 size) {
            LaneMemory memory{lane};
            const PairBytes bytes = bytes_of_pair(first, second, note_slow_access(lane, address, size));
            return store_slowly(memory, address, bytes.low, bytes.high, bytes.size);
          },
          windows};
}

}  // namespace myriarm::translate
