// SPDX-License-Identifier: Apache-2.0
// The memory of one lane on the CPU beyond the fast path: the SlowMemory of core/slow_access.h, copy on write, and
// stores to predecoded code.
#include <cstring>

#include "backends/cpu/interpreter/lane_code.h"

namespace myriarm::cpu {
namespace {

/// Gives the lane its own copy of a shared page. False: the pool is spent, and the stop is recorded.
bool copy_page(Lane& lane, u64 page, u32& entry) {
  bool zeroed = false;
  u32 frame = lane.pool->allocate_for(lane.index, page, zeroed);
  if (frame == 0) {
    lane.stop = stop_record(StopCode::out_of_memory);
    return false;
  }
  u32 old = entry >> kPageFlagBits;
  if (!(zeroed && old == FramePool::kZeroFrame)) std::memcpy(lane.pool->at(frame), lane.pool->at(old), kPageSize);
  if (!(entry & kPageShared)) lane.pool->release(old);
  entry = frame << kPageFlagBits | (entry & kPageFlagMask & ~u32{kPageShared});
  return true;
}

/// Makes a page with kPageShared or kPageCode the lane's own. False: a stop was recorded.
bool own_page(Lane& lane, u64 page, bool has_code) {
  u32& entry = lane.table[page];
  const bool others = lane.pool != nullptr && ((entry & kPageShared) || lane.pool->is_shared(entry >> kPageFlagBits));
  const bool common = others && !(entry & kPageShared) && lane.own_common_page != nullptr &&
                      lane.own_common_page(lane.backend, lane, lane.index, page);
  if (lane.stop.code == StopCode::out_of_memory) return false;
  if (others && !common && !copy_page(lane, page, entry)) return false;
  entry = has_code ? entry | kPageCode : entry & ~u32{kPageCode};
  lane.touch(page);
  return true;
}

/// SlowMemory of core/slow_access.h.
struct LaneMemory {
  Lane& lane;

  u64 page_of(u64 address) const { return lane.memory().page_of(address); }
  u64 page_count() const { return lane.guest_pages; }
  u32 entry(u64 page) const { return lane.memory().entry(page); }
  u8* locate(u32 entry, u32 offset) const { return lane.memory().locate(entry, offset); }
  bool refuse(FaultCode fault, u64 address) const {
    lane.stop = fault_record(fault, address);
    return false;
  }
  bool make_writable(u64 address, u32& entry) const {
    bool code;
    if (!prepare_code_write(lane, address, code)) return false;
    const u64 page = page_of(address);
    if (!own_page(lane, page, code)) return false;
    entry = lane.table[page];
    return true;
  }
  void code_written(u64 address, u32 size) const { cpu::code_written(lane, address, size); }
};
static_assert(SlowMemory<LaneMemory>);

}  // namespace

u8* writable_byte(Lane& lane, u64 address) {
  const u64 page = lane.memory().page_of(address);
  if (page >= lane.page_count || lane.table[page] == 0) {
    lane.stop = fault_record(FaultCode::unmapped, address);
    return nullptr;
  }
  if (lane.table[page] & (kPageShared | kPageCode)) {
    if (!own_page(lane, page, has_code(lane, address))) return nullptr;
  }
  return lane.memory().locate(lane.table[page], static_cast<u32>(address) & (kPageSize - 1));
}

SlowLoad load_slow(Lane* lane, u64 address, u32 size) {
  LaneMemory memory{*lane};
  return load_slowly(memory, address, size);
}

bool store_slow(Lane* lane, u64 address, u64 value, u32 size) {
  LaneMemory memory{*lane};
  return store_slowly(memory, address, value, 0, size);
}

bool store_pair_slow(Lane* lane, u64 address, u64 first, u64 second, u32 size) {
  LaneMemory memory{*lane};
  const PairBytes bytes = bytes_of_pair(first, second, size);
  return store_slowly(memory, address, bytes.low, bytes.high, bytes.size);
}

FaultCode fetch_fault(Lane& lane, u64 pc) {
  LaneMemory memory{lane};
  u32 entry;
  return myriarm::fetch_fault(memory, pc, entry);
}

u32 fetch_word(const Lane& lane, u64 pc) {
  const u64 page = lane.memory().page_of(pc);
  if (page >= lane.page_count) return 0;
  const u32 entry = lane.memory().entry(page);
  if (!(entry & kPageExecutable)) return 0;
  return read_once<u32>(lane.memory().locate(entry, static_cast<u32>(pc) & (kPageSize - 1)));
}

}  // namespace myriarm::cpu
