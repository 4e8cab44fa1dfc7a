// SPDX-License-Identifier: Apache-2.0
// The host's access to the lanes' memory: reads, writes and changes of pages, and what they do to predecoded code.
#include <algorithm>
#include <cstring>

#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/interpreter/lane_code.h"
#include "backends/cpu/process_words.h"
#include "myriarm/error.h"
#include "support/text.h"

namespace myriarm::cpu {
namespace {
[[noreturn]] void throw_no_table() {
  throw DeviceError("the host refuses the addresses of a page table; ask for fewer lanes or less memory");
}
u32 flags_of(u32 permissions) { return permissions & (kPageReadable | kPageWritable | kPageExecutable); }
}  // namespace

LaneEntries CpuBackend::lane_entries(u64 lane) {
  return {entries_of(lane), tables_.entries(lane, program(lane)), lane_pages_, tables_.pages(lane), guest_pages_};
}

void CpuBackend::read(std::span<const Transfer> transfers, std::span<u8> buffer, std::span<u32> done) {
  for (size_t i = 0; i < transfers.size(); i++) {
    const Transfer& transfer = transfers[i];
    const LaneEntries entries = lane_entries(transfer.lane);
    const u8* frames = flat_ ? flat_.frames(transfer.lane) : pool_.base();
    const std::span<u8> bytes = buffer.subspan(transfer.offset, transfer.size);
    u32 at = 0;
    while (at < transfer.size) {
      const u64 page = page_of(transfer.address + at);
      if (page >= window_pages_ || !has_memory(transfer.lane)) break;
      const u32 entry = entries.entry(page);
      if (entry == 0) break;
      const u32 offset = static_cast<u32>(transfer.address + at) & (kPageSize - 1);
      const u32 size = std::min(transfer.size - at, kPageSize - offset);
      std::memcpy(bytes.data() + at, frames + (u64{entry >> kPageFlagBits} << kPageBits) + offset, size);
      at += size;
    }
    waiting_.for_each(transfer.lane, [&](u64 address, std::span<const u8> written) {
      const u64 first = untagged(transfer.address);
      const u64 begin = std::max(address, first), end = std::min(address + written.size(), first + at);
      if (begin < end) std::memcpy(bytes.data() + (begin - first), written.data() + (begin - address), end - begin);
    });
    if (!done.empty()) done[i] = at;
  }
}

u32 CpuBackend::write_bytes(Lane& lane, u64 address, std::span<const u8> bytes) {
  u32 at = 0;
  while (at < bytes.size()) {
    const u32 offset = static_cast<u32>(address + at) & (kPageSize - 1);
    const u32 size = std::min(static_cast<u32>(bytes.size()) - at, kPageSize - offset);
    u8* to = writable_byte(lane, address + at);
    if (to == nullptr) break;
    std::memcpy(to, bytes.data() + at, size);
    page_changed(lane, address + at);
    at += size;
  }
  return at;
}

bool CpuBackend::take_waiting_writes(Lane& lane, u64 index) {
  if (!waiting_.any(index)) return true;
  bool enough = true;
  waiting_.for_each(index, [&](u64 address, std::span<const u8> bytes) {
    enough = enough && write_bytes(lane, address, bytes) == bytes.size();
  });
  if (enough) waiting_.drop(index);
  return enough;
}

bool CpuBackend::write(std::span<const Transfer> transfers, std::span<const u8> buffer, std::span<u32> done) {
  bool enough = true;
  for (size_t i = 0; i < transfers.size(); i++) {
    const Transfer& transfer = transfers[i];
    Lane lane;
    attach(lane, transfer.lane);
    u32 at = 0;
    const u64 end = page_of(transfer.address + transfer.size - 1) + 1;
    const bool widens = has_memory(transfer.lane) && transfer.size != 0 && end <= window_pages_;
    if ((!widens || widen_table(lane, transfer.lane, end)) && take_waiting_writes(lane, transfer.lane)) {
      at = write_bytes(lane, transfer.address, buffer.subspan(transfer.offset, transfer.size));
    }
    if (lane.stop.code == StopCode::out_of_memory) enough = false;
    if (!done.empty()) done[i] = at;
  }
  return enough;
}

void CpuBackend::write_later(std::span<const Transfer> transfers, std::span<const u8> buffer) {
  if (flat_) {
    write(transfers, buffer, {});  // it takes no frame
    return;
  }
  for (const Transfer& transfer : transfers) {
    const u32* entries = entries_of(transfer.lane);
    u64 page = page_of(transfer.address), mapped = 0;
    for (; mapped < transfer.size && page < tables_.pages(transfer.lane) && entries[page] != 0; page++) {
      mapped += kPageSize - (mapped == 0 ? transfer.address & (kPageSize - 1) : 0);
    }
    const u64 size = std::min<u64>(mapped, transfer.size);
    waiting_.add(transfer.lane, untagged(transfer.address), buffer.subspan(transfer.offset, size));
  }
}

void CpuBackend::release_page(u32& entry) {
  if (!flat_ && entry != 0 && !(entry & kPageShared)) pool_.release(entry >> kPageFlagBits);
  entry = 0;
}

void CpuBackend::touch(Lane& lane, u64 page, u64 count) {
  if (count != 0) *lane.touched |= slices_.mask(page, page + count);
}

/// What happens to the code of a lane of which the host or a system call changes `count` pages.
class CpuBackend::CodeChange {
 public:
  CodeChange(Lane& lane, u64 count) : lane_(lane), whole_(count > kFewPages) {}
  /// The content of a page changes, or what the lane may do with it.
  void page(u64 page) {
    const u64 address = (lane_.first_page + page) << kPageBits;
    if (whole_) {
      any_ = any_ || has_code(lane_, address);
    } else {
      page_changed(lane_, address);
    }
  }
  void finish() {
    if (any_) all_pages_changed(lane_);
  }

 private:
  static constexpr u64 kFewPages = 16;
  Lane& lane_;
  bool whole_, any_ = false;
};

void CpuBackend::replace_pages(Lane& lane, u64 page, u64 count, bool mapped, u32 permissions) {
  const u32 shared = FramePool::kZeroFrame << kPageFlagBits | flags_of(permissions) | kPageShared;
  CodeChange code(lane, count);
  for (u64 p = page; p < page + count; p++) {
    u32& entry = lane.table[p];
    code.page(p);
    release_page(entry);
    if (mapped) entry = flat_ ? FlatMemory::frame_of(p) << kPageFlagBits | flags_of(permissions) : shared;
  }
  touch(lane, page, count);
  lane.found_is_stale = true;
  code.finish();
}

void CpuBackend::replace_pages(std::span<const u32> lanes, u64 page, u64 count, bool mapped, u32 permissions) {
  for_lanes(lanes, [&](u64 index) {
    Lane lane;
    attach(lane, index);
    const u64 begin = (first_page_ + page) << kPageBits;
    waiting_.drop(index, begin, begin + (count << kPageBits));
    if (!widen_table(lane, index, page + count)) throw_no_table();
    replace_pages(lane, page, count, mapped, permissions);
    if (flat_) clear_pages(flat_.lane(index) + (page << kPageBits), count << kPageBits);
  });
}
void CpuBackend::map(std::span<const u32> lanes, u64 page, u64 count, u32 permissions) {
  replace_pages(lanes, page, count, true, permissions);
}
void CpuBackend::unmap(std::span<const u32> lanes, u64 page, u64 count) { replace_pages(lanes, page, count, false, 0); }

void CpuBackend::protect_pages(Lane& lane, u64 page, u64 count, u32 permissions) {
  CodeChange code(lane, count);
  for (u64 p = page; p < page + count; p++) {
    u32& entry = lane.table[p];
    if (entry == 0) continue;
    if (!(permissions & kExecute)) code.page(p);
    entry = (entry & ~(u32{kPageReadable} | kPageWritable | kPageExecutable)) | flags_of(permissions);
  }
  touch(lane, page, count);
  lane.found_is_stale = true;
  code.finish();
}
void CpuBackend::protect(std::span<const u32> lanes, u64 page, u64 count, u32 permissions) {
  for_lanes(lanes, [&](u64 index) {
    Lane lane;
    attach(lane, index);
    if (!widen_table(lane, index, page + count)) throw_no_table();
    protect_pages(lane, page, count, permissions);
  });
}

void CpuBackend::permissions(std::span<const u32> lanes, u64 page, u64 count, std::span<u8> values) {
  size_t i = 0;
  for_lanes(lanes, [&](u64 lane) {
    const LaneEntries entries = lane_entries(lane);
    const bool has_pages = has_memory(static_cast<u32>(lane));
    for (u64 p = page; p < page + count; p++) values[i++] = has_pages ? page_value(entries.entry(p)) : 0;
  });
}

bool CpuBackend::share_pages(Lane& lane, u64 address, u32 permissions, std::span<const u8> bytes) {
  if (flat_) return false;
  const u64 first = page_of(address), count = (bytes.size() + kPageSize - 1) >> kPageBits;
  for (u64 i = 0; i < count; i++) {
    const u8* content = bytes.data() + (i << kPageBits);
    const u32 frame = shared_frames_.frame_of(content, std::min<u64>(kPageSize, bytes.size() - (i << kPageBits)));
    if (frame == 0) return false;  // the caller gives the content to pages of the lane's own
    u32& entry = lane.table[first + i];
    release_page(entry);
    entry = frame << kPageFlagBits | flags_of(permissions) | kPageShared;
  }
  if (count != 0) touch(lane, first, count);
  lane.found_is_stale = true;
  return true;
}

void CpuBackend::grow_pool(u64 bytes) {
  if (!pool_.grow(bytes)) {
    throw DeviceError("the pool cannot grow to " + size_text(bytes) + ", only to " + size_text(pool_.size_bytes()) +
                      "; make the fleet with a larger pool");
  }
}

}  // namespace myriarm::cpu
