// SPDX-License-Identifier: Apache-2.0
// The slow paths of guest memory on the CPU: accesses that cross pages, copy on write, faults, and stores to code.
#include <cstring>

#include "backends/cpu/lane.h"

namespace myriarm::cpu {
namespace {

void record_fault(Lane& lane, FaultCode fault, u64 address) {
  lane.stop = {StopCode::fault, fault, 0, 0, address << 8 >> 8};
}

u32* entry_of(Lane& lane, u64 address) {
  u64 page = lane.memory().page_of(address);
  return page < lane.page_count ? &lane.table[page] : nullptr;
}

u8* readable_byte(Lane& lane, u64 address) {
  u32* entry = entry_of(lane, address);
  FaultCode fault = entry == nullptr ? FaultCode::unmapped : permission_fault(*entry, Access::read);
  if (fault != FaultCode::none) {
    record_fault(lane, fault, address);
    return nullptr;
  }
  return lane.memory().locate(*entry, static_cast<u32>(address) & (kPageSize - 1));
}

/// False: a fault was recorded.
bool may_write(Lane& lane, u64 address, bool forced) {
  u32* entry = entry_of(lane, address);
  FaultCode fault = entry == nullptr ? FaultCode::unmapped : permission_fault(*entry, Access::write);
  if (forced && entry != nullptr && *entry != 0) fault = FaultCode::none;
  if (fault != FaultCode::none) record_fault(lane, fault, address);
  return fault == FaultCode::none;
}

/// Gives the lane its own copy of a page that others hold too.
bool copy_page(Lane& lane, u32& entry) {
  bool zeroed = false;
  u32 frame = lane.pool->allocate(zeroed);
  if (frame == 0) {
    lane.stop = {StopCode::out_of_memory, FaultCode::none, 0, 0, 0};
    return false;
  }
  u32 old = entry >> kPageFlagBits;
  if (!(zeroed && old == FramePool::kZeroFrame)) std::memcpy(lane.pool->at(frame), lane.pool->at(old), kPageSize);
  if (!(entry & kPageShared)) lane.pool->release(old);
  entry = frame << kPageFlagBits | (entry & kPageFlagMask & ~u32{kPageShared});
  return true;
}

enum class Code : u8 { none, shared, own };

/// Whose predecoded instructions the page holds, for this lane.
Code code_of(const Lane& lane, u64 address) {
  u64 page = address << 8 >> 8 & ~u64{kPageSize - 1};
  const LaneCode* own = lane.own_code->get();
  if (own != nullptr && own->find(page) != nullptr) return Code::own;
  if (own != nullptr && !own->use_shared) return Code::none;
  return lane.shared_code->find(page) != nullptr ? Code::shared : Code::none;
}

}  // namespace

u8* writable_byte(Lane& lane, u64 address, bool forced) {
  if (!may_write(lane, address, forced)) return nullptr;
  u32* entry = entry_of(lane, address);
  if (*entry & (kPageShared | kPageCode)) {
    Code code = code_of(lane, address);
    if (code == Code::shared) {  // the lane must first have code of its own, and run from it
      privatise_code(lane);
      lane.restart = true;
      if (!forced) return nullptr;
      code = Code::own;
    }
    const bool others =
        lane.pool != nullptr && ((*entry & kPageShared) || lane.pool->is_shared(*entry >> kPageFlagBits));
    if (others && !copy_page(lane, *entry)) return nullptr;
    *entry = code == Code::none ? *entry & ~u32{kPageCode} : *entry | kPageCode;
    lane.touch(lane.memory().page_of(address));
  }
  return lane.memory().locate(*entry, static_cast<u32>(address) & (kPageSize - 1));
}

void code_written(Lane& lane, u64 address, u64 size) {
  address = address << 8 >> 8;
  if (LaneCode* own = lane.own_code->get()) own->invalidate(address, size);
}

void privatise_code(Lane& lane) {
  std::unique_ptr<LaneCode>& own = *lane.own_code;
  if (own == nullptr) own = std::make_unique<LaneCode>();
  own->use_shared = false;
  for (const auto& region : lane.shared_code->regions) own->copies.push_back(std::make_unique<CodeRegion>(*region));
}

SlowLoad load_slow(Lane* lane, u64 address, u32 size) {
  u64 value = 0;
  u32 in_page = kPageSize - (static_cast<u32>(address) & (kPageSize - 1));
  u32 first = size < in_page ? size : in_page;
  const u8* bytes = readable_byte(*lane, address);
  if (bytes == nullptr) return {0, false};
  if (first == size) {
    std::memcpy(&value, bytes, size);
    return {value, true};
  }
  const u8* rest = readable_byte(*lane, address + first);
  if (rest == nullptr) return {0, false};
  std::memcpy(&value, bytes, first);
  std::memcpy(reinterpret_cast<u8*>(&value) + first, rest, size - first);
  return {value, true};
}

namespace {

bool store_bytes(Lane* lane, u64 address, const u8* bytes, u32 size) {
  u32 in_page = kPageSize - (static_cast<u32>(address) & (kPageSize - 1));
  u32 first = size < in_page ? size : in_page;
  // Both pages are asked before one is copied: a store that is refused costs nothing.
  if (first < size && may_write(*lane, address, false) && !may_write(*lane, address + first, false)) return false;
  u8* to = writable_byte(*lane, address, false);
  if (to == nullptr) return false;
  u8* rest = nullptr;
  if (first < size) {
    rest = writable_byte(*lane, address + first, false);
    if (rest == nullptr) return false;
  }
  std::memcpy(to, bytes, first);
  if (rest != nullptr) std::memcpy(rest, bytes + first, size - first);
  if (*entry_of(*lane, address) & kPageCode || (rest && *entry_of(*lane, address + first) & kPageCode)) {
    code_written(*lane, address, size);
  }
  return true;
}

}  // namespace

bool store_slow(Lane* lane, u64 address, u64 value, u32 size) {
  u8 bytes[8];
  std::memcpy(bytes, &value, 8);
  return store_bytes(lane, address, bytes, size);
}

bool store_pair_slow(Lane* lane, u64 address, u64 first, u64 second, u32 size) {
  u8 bytes[16];
  std::memcpy(bytes, &first, size);
  std::memcpy(bytes + size, &second, size);
  return store_bytes(lane, address, bytes, 2 * size);
}

u32 fetch_word(const Lane& lane, u64 pc) {
  u64 page = lane.memory().page_of(pc);
  if (page >= lane.page_count || !(lane.table[page] & kPageExecutable)) return 0;
  u32 word;
  std::memcpy(&word, lane.memory().locate(lane.table[page], static_cast<u32>(pc) & (kPageSize - 1)), 4);
  return word;
}

bool enter_region(Lane& lane, u64 pc, u64 retired) {
  const CodeRegion* region = nullptr;
  std::unique_ptr<LaneCode>& own = *lane.own_code;
  u64 page = lane.memory().page_of(pc);
  bool tagged = pc >> 56 != 0;  // pc is never tagged: an address beyond the window
  FaultCode fault = FaultCode::none;
  if (pc & 3) {
    fault = FaultCode::alignment;
  } else if (tagged || page >= lane.page_count) {
    fault = FaultCode::unmapped;
  } else {
    fault = permission_fault(lane.table[page], Access::execute);
  }
  if (fault == FaultCode::none) {
    bool shared = own == nullptr || own->use_shared;
    if (shared) region = lane.shared_code->find(pc);
    if (region == nullptr && own != nullptr) region = own->find(pc);
    if (region == nullptr) {
      if (own == nullptr) own = std::make_unique<LaneCode>();
      u64 start = pc & ~u64{kPageSize - 1};
      auto& slot = own->pages[start];
      slot = lazy_region(start, kPageSize / 4);
      region = slot.get();
      lane.table[page] |= kPageCode;
      lane.touch(page);
    }
    lane.code = region->begin();
    lane.code_address = region->address;
    lane.code_bytes = region->count * 4;
    lane.op = region->begin() + (pc - region->address) / 4;
  } else {
    lane.stop = {StopCode::fault, fault, 0, 0, pc};
    lane.far_pc = pc;
    lane.op = &lane.far;
  }
  lane.bias = retired * 16 - reinterpret_cast<u64>(lane.op);
  return fault == FaultCode::none;
}

}  // namespace myriarm::cpu
