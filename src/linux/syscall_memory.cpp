// SPDX-License-Identifier: Apache-2.0
// brk, mmap, munmap, mprotect, mremap and madvise, by the rules of their pages in section 2 of the Linux manual. A
// mapping of the input file is a copy of it.
// A mapping goes to the hint if that is free, else to the highest free place between the break and the stack's guard
// page, so freed places are used again. The break grows upwards until it meets a mapping. All of this lies in the
// lane's window. Lanes with equal address spaces share one AddressSpace, and their equal calls become one call of the
// fleet.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "linux/syscall_server.h"

namespace myriarm::linux_process {
namespace {

// clang-format off
enum Protection : uint32_t { kProtRead = 1, kProtWrite = 2, kProtExecute = 4, kProtSem = 8,
                             kProtGrowsDown = 0x01000000, kProtGrowsUp = 0x02000000 };
enum MapFlag : uint32_t { kMapShared = 1, kMapPrivate = 2, kMapTypes = 15, kMapFixed = 0x10, kMapAnonymous = 0x20,
                          kMapHugePages = 0x40000, kMapFixedNoReplace = 0x100000 };
enum RemapFlag : uint64_t { kRemapMayMove = 1, kRemapFixed = 2, kRemapAll = 3 };
enum Advice : uint32_t { kAdviseNormal = 0, kAdviseWillNeed = 3, kAdviseDontNeed = 4, kAdviseFree = 8,
                         kAdviseDontFork = 10, kAdviseDoDump = 17 };
// clang-format on

/// As on Linux for AArch64, writable memory is readable.
uint32_t permissions_of(uint64_t protection) {
  return (protection & (kProtRead | kProtWrite) ? kRead : 0u) | (protection & kProtWrite ? kWrite : 0u) |
         (protection & kProtExecute ? kExecute : 0u);
}

/// Like vm.mmap_min_addr of Linux: a mapping lies below this address only if the guest asks for it.
constexpr uint64_t kLowestPlace = 0x10000;
/// The most ranges of a process, like vm.max_map_count of Linux: it bounds the host memory that a guest can use up.
constexpr size_t kMostRanges = 4096;

bool is_full(const AddressSpace& space) { return space.ranges().size() >= kMostRanges; }
/// Whether a change of [begin, end) alone would split a range.
bool splits(const AddressSpace& space, uint64_t begin, uint64_t end) {
  const auto cuts = [&](uint64_t address) {
    const auto range = space.at(address);
    return range && range->begin < address;
  };
  return cuts(begin) || cuts(end);
}

bool is_aligned(uint64_t address) { return address % kPageBytes == 0; }

bool is_zero(std::span<const uint8_t> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](uint8_t byte) { return byte == 0; });
}

}  // namespace

void SyscallServer::change_memory(Calls calls, size_t count, const std::function<int64_t(MemoryChange&)>& handler) {
  using Key = std::pair<const AddressSpace*, std::array<uint64_t, kArguments>>;
  std::map<Key, std::vector<Call*>> alike;
  for (Call* call : calls) {
    // Registers that are not arguments must not make calls differ.
    Key key{lanes_[call->lane].space.get(), {}};
    std::copy_n(call->arguments.begin(), count, key.second.begin());
    alike[key].push_back(call);
  }
  for (const auto& [key, group] : alike) {
    const std::shared_ptr<AddressSpace> changed = spaces_.take(*key.first, group.size());
    MemoryChange change{key.second, {}, *changed};
    for (const Call* call : group) change.lanes.push_back(call->lane);
    int64_t result;
    try {
      result = handler(change);
    } catch (const DeviceError&) {
      result = -ENOMEM;  // the pool is spent
    }
    const Space space = spaces_.insert(changed);
    for (Call* call : group) {
      call->result = result;
      lanes_[call->lane].space = space;
    }
  }
}

void SyscallServer::place_pages(MemoryChange& change, uint64_t begin, uint64_t end, uint32_t permissions,
                                bool anonymous) {
  change.space.map(begin, end, permissions,
                   anonymous);  // first, so that remove_pages() can undo what the fleet has mapped
  try {
    fleet_.map(change.lanes, begin, end - begin, permissions);
  } catch (const DeviceError&) {
    remove_pages(change, begin, end);
    throw;
  }
}

void SyscallServer::remove_pages(MemoryChange& change, uint64_t begin, uint64_t end) {
  for (uint64_t at = begin; at < end;) {
    const std::optional<AddressSpace::Range> range = change.space.next(at);
    if (!range || range->begin >= end) return;
    const uint64_t from = std::max(at, range->begin), to = std::min(end, range->end);
    fleet_.unmap(change.lanes, from, to - from);
    change.space.unmap(from, to);  // after it, so that both agree if the pool is spent half-way
    at = to;
  }
}

void SyscallServer::brk(Calls calls) {
  change_memory(calls, 1, [this](MemoryChange& change) {
    const uint64_t old = change.space.break_end, wanted = change.arguments[0];
    const uint64_t before = page_up(old), after = page_up(wanted);
    // Linux reports failure by returning the old break.
    if (wanted < break_start_ || wanted > heap_limit_) return static_cast<int64_t>(old);
    try {
      if (after > before) {
        if (!change.space.is_free(before, after)) return static_cast<int64_t>(old);
        place_pages(change, before, after, kRead | kWrite);
      } else {
        remove_pages(change, after, before);
      }
    } catch (const DeviceError&) {
      return static_cast<int64_t>(old);
    }
    change.space.break_end = wanted;
    return static_cast<int64_t>(wanted);
  });
}

void SyscallServer::mmap(Calls calls) {
  gather_more_arguments(calls);
  std::vector<Call*> anonymous, of_files;
  for (Call* call : calls) {
    const int stream = stream_of(*call, call->arguments[4]);
    if (call->arguments[3] & kMapAnonymous) anonymous.push_back(call);
    else if (stream >= kFirstOpening) of_files.push_back(call);
    else call->result = stream < 0 ? -EBADF : -ENODEV;
  }
  change_memory(anonymous, 6, [this](MemoryChange& change) -> int64_t {
    const uint64_t size = page_up(change.arguments[1]);
    const int64_t place = find_mapping(change, size);
    if (place >= 0) place_pages(change, place, place + size, permissions_of(change.arguments[2]));
    return place;
  });
  map_files(of_files);
}

int64_t SyscallServer::find_mapping(MemoryChange& change, uint64_t size) {
  const auto [address, length, protection, flags, file, offset] = change.arguments;
  const uint64_t type = flags & kMapTypes;
  if (!is_aligned(offset) || length == 0) return -EINVAL;
  if ((type != kMapShared && type != kMapPrivate) || (flags & kMapHugePages)) return -EINVAL;
  if (size == 0 || size > window_end_ - window_begin_ || is_full(change.space)) return -ENOMEM;
  if (flags & (kMapFixed | kMapFixedNoReplace)) {
    if (!is_aligned(address)) return -EINVAL;
    if (address < window_begin_ || address > window_end_ - size) return -ENOMEM;
    if ((flags & kMapFixedNoReplace) && !change.space.is_free(address, address + size)) return -EEXIST;
    remove_pages(change, address, address + size);
    return static_cast<int64_t>(address);
  }
  const uint64_t hint = page_up(address);
  if (hint != 0 && hint >= window_begin_ && hint <= heap_limit_ && size <= heap_limit_ - hint &&
      change.space.is_free(hint, hint + size)) {
    return static_cast<int64_t>(hint);
  }
  std::optional<uint64_t> place = change.space.find_place(size, page_up(change.space.break_end), heap_limit_);
  if (!place) place = change.space.find_place(size, std::max(window_begin_, kLowestPlace), heap_limit_);
  return place ? static_cast<int64_t>(*place) : -ENOMEM;
}

void SyscallServer::map_files(Calls calls) {
  std::vector<Call*> allowed;
  for (Call* call : calls) {
    // The file is read-only, so that no store can reach it.
    const bool stores = (call->arguments[3] & kMapTypes) == kMapShared && (call->arguments[2] & kProtWrite);
    if (stores) call->result = -EACCES;
    else allowed.push_back(call);
    // Lanes whose files have the same size make the same change.
    call->arguments[4] = input_file(call->lane).size();
  }
  change_memory(allowed, 6, [this](MemoryChange& change) -> int64_t {
    const uint64_t size = page_up(change.arguments[1]), offset = change.arguments[5];
    const int64_t result = find_mapping(change, size);
    if (result < 0) return result;
    const auto place = static_cast<uint64_t>(result);
    // Pages behind the end of the file are in use and cannot be accessed.
    const uint64_t in_file = change.arguments[4] - std::min(change.arguments[4], offset);
    const uint64_t filled = std::min(size, page_up(in_file)), bytes = std::min(size, in_file);
    try {
      if (filled != 0) place_pages(change, place, place + filled, permissions_of(change.arguments[2]), false);
      if (filled != size) place_pages(change, place + filled, place + size, 0, false);
      for (uint32_t lane : change.lanes) {
        if (bytes != 0) fleet_.write(lane, place, input_file(lane).subspan(offset, bytes));
      }
    } catch (const DeviceError&) {
      remove_pages(change, place, place + size);
      throw;
    }
    return result;
  });
}

void SyscallServer::munmap(Calls calls) {
  change_memory(calls, 2, [this](MemoryChange& change) -> int64_t {
    const uint64_t address = change.arguments[0], length = change.arguments[1];
    if (!is_aligned(address) || length == 0 || length > kAddressLimit || address > kAddressLimit - length) {
      return -EINVAL;
    }
    const uint64_t end = page_up(address + length);
    if (is_full(change.space) && splits(change.space, address, end)) return -ENOMEM;
    remove_pages(change, address, end);
    return 0;
  });
}

void SyscallServer::mprotect(Calls calls) {
  change_memory(calls, 3, [this](MemoryChange& change) -> int64_t {
    const uint64_t address = change.arguments[0], size = page_up(change.arguments[1]);
    const uint64_t protection = change.arguments[2], end = address + size;
    if (!is_aligned(address)) return -EINVAL;
    if (change.arguments[1] == 0) return 0;
    if (size == 0 || end <= address) return -ENOMEM;
    if (protection & (kProtGrowsDown | kProtGrowsUp)) return -EINVAL;  // no mapping grows by itself
    if (protection & ~uint64_t{kProtRead | kProtWrite | kProtExecute | kProtSem}) return -EINVAL;
    // As on Linux, the memory before a gap is changed even though the call fails.
    const uint64_t until = change.space.mapped_until(address, end);
    if (until > address) {
      if (is_full(change.space) && splits(change.space, address, until)) return -ENOMEM;
      fleet_.protect(change.lanes, address, until - address, permissions_of(protection));
      change.space.protect(address, until, permissions_of(protection));
    }
    return until == end ? 0 : -ENOMEM;
  });
}

void SyscallServer::move_pages(MemoryChange& change, uint64_t from, uint64_t to, uint64_t size) {
  constexpr uint64_t kChunk = uint64_t{1} << 20;
  std::vector<Transfer> reads;
  for (uint32_t lane : change.lanes) {
    for (uint64_t at = 0; at < size; at += kChunk) {
      reads.push_back({lane, static_cast<uint32_t>(std::min(kChunk, size - at)), from + at, 0});
    }
  }
  fetch(reads, [&](size_t index, std::span<const uint8_t> bytes) {
    std::vector<Transfer> writes;
    for (uint64_t at = 0; at < bytes.size(); at += kPageBytes) {
      if (is_zero(bytes.subspan(at, kPageBytes))) continue;  // the new pages are zero already
      writes.push_back({reads[index].lane, kPageBytes, reads[index].address - from + to + at, at});
    }
    if (!writes.empty()) fleet_.write(writes, bytes);
  });
}

void SyscallServer::mremap(Calls calls) {
  gather_more_arguments(calls);
  change_memory(calls, 5, [this](MemoryChange& change) -> int64_t {
    const auto [address, old_length, new_length, flags, target, unused] = change.arguments;
    const uint64_t old_size = page_up(old_length), size = page_up(new_length);
    if ((flags & ~uint64_t{kRemapAll}) || ((flags & kRemapFixed) && !(flags & kRemapMayMove))) return -EINVAL;
    if (!is_aligned(address) || new_length == 0 || old_length == 0) return -EINVAL;
    if (size == 0 || size > window_end_ - window_begin_) return -ENOMEM;
    const std::optional<AddressSpace::Range> range = change.space.at(address);
    if (!range) return -EFAULT;
    if (is_full(change.space)) return -ENOMEM;
    if (old_size == 0 || old_size > kAddressLimit) return -EINVAL;
    const uint64_t end = address + std::min(old_size, size);
    if (flags & kRemapFixed) {
      if (!is_aligned(target) || target < window_begin_ || target > window_end_ - size) return -EINVAL;
      if (target < address + old_size && address < target + size) return -EINVAL;
    } else if (size <= old_size) {
      remove_pages(change, end, address + old_size);
      return static_cast<int64_t>(address);
    }
    if (old_size > range->end - address) return -EFAULT;
    if (!(flags & kRemapFixed) && range->end == address + old_size && size <= window_end_ - address &&
        (address >= heap_limit_ || address + size <= heap_limit_) && change.space.is_free(range->end, address + size)) {
      place_pages(change, range->end, address + size, range->permissions);
      return static_cast<int64_t>(address);
    }
    if (!(flags & kRemapMayMove)) return -ENOMEM;
    std::optional<uint64_t> place = target;
    if (flags & kRemapFixed) {
      remove_pages(change, target, target + size);
    } else {
      place = change.space.find_place(size, page_up(change.space.break_end), heap_limit_);
      if (!place) return -ENOMEM;
    }
    place_pages(change, *place, *place + size, range->permissions);
    try {
      move_pages(change, address, *place, end - address);
    } catch (const DeviceError&) {
      remove_pages(change, *place, *place + size);
      throw;
    }
    remove_pages(change, address, address + old_size);
    return static_cast<int64_t>(*place);
  });
}

void SyscallServer::madvise(Calls calls) {
  change_memory(calls, 3, [this](MemoryChange& change) -> int64_t {
    const uint64_t address = change.arguments[0], size = page_up(change.arguments[1]), end = address + size;
    const auto advice = static_cast<uint32_t>(change.arguments[2]);
    const bool known =
        advice <= kAdviseDontNeed || advice == kAdviseFree || (advice >= kAdviseDontFork && advice <= kAdviseDoDump);
    if (!known || !is_aligned(address) || end < address || (size == 0 && change.arguments[1] != 0)) return -EINVAL;
    if (change.space.mapped_until(address, end) != end) return -ENOMEM;
    if (advice != kAdviseDontNeed) return 0;  // the other kinds of advice do not change the contents
    for (uint64_t at = address; at < end;) {
      // The original contents cannot be read from the program's file again.
      const AddressSpace::Range range = *change.space.at(at);
      if (!range.anonymous) return -EINVAL;
      const uint64_t until = std::min(end, range.end);
      place_pages(change, at, until, range.permissions);
      at = until;
    }
    return 0;
  });
}

}  // namespace myriarm::linux_process
