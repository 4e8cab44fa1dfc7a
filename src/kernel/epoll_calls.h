// SPDX-License-Identifier: Apache-2.0
// epoll_ctl(2), epoll_pwait(2) and epoll_pwait2(2). Descriptors are reported in the order in which they were added, from behind
// the last one that was reported.
#pragma once

#include "kernel/poll_calls.h"

namespace myriarm::kernel {

constexpr u32 kEpollRecord = 16;  // struct epoll_event: events, and behind 4 unused bytes what the guest has for them

/// The entry of a descriptor in a set; entry_count() if it is not there. `free` becomes the first that is free.
template <Machine M>
MYR_OUTLINE u32 find_entry_of(const M& m, u64 epoll, u32 fd, i32 stream, u32& free) {
  const u32 count = entry_count(m, epoll);
  u32 found = count;
  free = count;
  for (u32 i = 0; i < count; i++) {
    const EpollEntry entry = epoll_entry(m, epoll, i);
    if (!entry.is_there) free = free == count ? i : free;
    else if (entry.fd == fd && entry.stream == stream) found = i;
  }
  return found;
}

template <Machine M>
MYR_OUTLINE Result epoll_ctl(M& m) {
  enum Operation : u32 { kAdd = 1, kDelete = 2, kModify = 3 };
  const u32 operation = (u32)m.argument(1), fd = (u32)m.argument(2);
  const u64 address = m.argument(3);
  if (operation != kDelete && !readable(m, address, kEpollRecord)) return error(kEFAULT);
  const i32 set = stream_of(m, m.argument(0)), stream = stream_of(m, fd);
  if (set < 0 || stream < 0) return error(kEBADF);
  const Opened opened = opened_at(m, set), target = opened_at(m, stream);
  if (target.path_only() || opened.path_only()) return error(kEBADF);
  if (target.in_tree || target.kind == Kind::input) return error(kEPERM);
  if (opened.kind != Kind::epoll || set == stream) return error(kEINVAL);
  u32 events = operation != kDelete ? load<u32>(m, address) : 0;
  const u64 data = operation != kDelete ? load<u64>(m, address + 8) : 0;
  if (events & kEpollExclusive) {
    constexpr u32 kAllowed =
        kEventsIn | kEventsOut | kEventError | kEventHangUp | kEpollWakeUp | kEpollEdge | kEpollExclusive;
    const bool nests = operation == kAdd && target.kind == Kind::epoll;
    if (operation == kModify || nests || (events & ~kAllowed)) return error(kEINVAL);
  }
  const u64 epoll = object_at(opened.file);
  if (operation == kAdd && target.kind == Kind::epoll && !may_nest(m, opened.file, target.file)) return error(kELOOP);
  u32 free;
  const u32 count = entry_count(m, epoll), found = find_entry_of(m, epoll, fd, stream, free);
  if (operation == kAdd && found != count) return error(kEEXIST);
  if ((operation == kDelete || operation == kModify) && found == count) return error(kENOENT);
  if (operation < kAdd || operation > kModify) return error(kEINVAL);
  const u32 index = operation == kAdd ? free : found;
  if (index == kMostEntries) return error(kENOSPC);
  const bool new_page = index == count && index % kEntriesInPage == 0;
  if (new_page && free_buffers(m) == 0) return error(kENOMEM);
  if (!own_object_changes(m, epoll) || (new_page && !(own_word(m, kReservedBuffers) && secure_any(m, 1))))
    return again();
  if (!new_page && !own_word(m, entry_at(m, epoll, index))) return again();
  if (operation == kModify && (epoll_entry(m, epoll, index).events & kEpollExclusive)) return error(kEINVAL);
  if (new_page) {
    reserve_buffers(m, 1);
    set_word(m, epoll + kEpollPages + index / kEntriesInPage * 8, take_buffer(m));
  }
  if (index == count) set_word(m, epoll + kEpollCount, count + 1);
  const u64 at = entry_at(m, epoll, index);
  if (operation == kDelete) {
    set_word(m, at + kEntryDescriptor, 0);
    return answer(0);
  }
  events |= kEventError | kEventHangUp;
  set_word(m, at + kEntryDescriptor, ((u64)fd + 1) | (u64)events << 32);
  set_word(m, at + kEntryData, data);
  set_word(m, at + kEntryStream, value_of_stream(m, stream));
  set_word(m, at + kEntrySeen, kNever);
  note_change(m, epoll);
  return answer(0);
}

/// The events of an entry that a call reports.
template <Machine M>
MYR_OUTLINE u32 entry_events(const M& m, const EpollEntry& entry) {
  if (!entry.is_there || (entry.events & ~kEpollFlags) == 0) return 0;
  const u32 events = events_of_stream(m, entry.stream) & entry.events;
  const bool seen =
      (entry.events & kEpollEdge) && word(m, entry.at + kEntrySeen) == changes_of(m, entry.stream, entry.events);
  return seen ? 0 : events;
}
template <Machine M>
MYR_OUTLINE Result wait_for_epoll(M& m, const Timeout& timeout, u64 mask_at, u64 mask_bytes) {
  constexpr u32 kMostReported = 0x7FFFFFFF / kEpollRecord;
  const u64 address = m.argument(1);
  const u32 most = (u32)m.argument(2);
  if (mask_at != 0 && mask_bytes != kSignalSetBytes) return error(kEINVAL);
  if (mask_at != 0 && !readable(m, mask_at, kSignalSetBytes)) return error(kEFAULT);
  if ((i32)most <= 0 || most > kMostReported) return error(kEINVAL);
  const i32 stream = stream_of(m, m.argument(0));
  if (stream < 0 || opened_at(m, stream).path_only()) return error(kEBADF);
  const Opened opened = opened_at(m, stream);
  if (opened.kind != Kind::epoll) return error(kEINVAL);
  const u64 epoll = object_at(opened.file);
  const u32 count = entry_count(m, epoll), first = count != 0 ? (u32)word(m, epoll + kEpollNext) % count : 0;
  u32 ready = 0;
  u64 ready_in = kNever;
  for (u32 i = 0; i < count && ready < most; i++) {
    const EpollEntry entry = epoll_entry(m, epoll, (first + i) % count);
    if (entry_events(m, entry) != 0) ready++;
    else if (entry.is_there && (entry.events & ~kEpollFlags))
      ready_in = lesser(ready_in, stream_changes_in(m, entry.stream));
  }
  const WaitMask mask = wait_mask_at(m, mask_at);
  if (ready == 0) {
    const Wait wait = wait_of(m, timeout, mask, ready_in);
    if (wait.end == WaitEnd::never) return error(kEDEADLK);  // Linux would wait forever
    if (wait.end == WaitEnd::begins) return begin_poll(m, timeout, wait, mask);
    if (!own_signals(m)) return again();
    if (wait.end == WaitEnd::ready) return wait_again(m, timeout, wait);
    if (wait.end == WaitEnd::signal) return interrupt(m, wait, mask.blocked, mask.is_set);
    wait_masked(m, wait, mask.blocked);
    return answer(0);
  }
  // What cannot be stored is reported the next time.
  const u64 places = accessible(m, address, (u64)ready * kEpollRecord, kPageWritable) / kEpollRecord;
  if (places == 0) return error(kEFAULT);
  if (prepare(m, address, places * kEpollRecord) == Storing::again || !own_word(m, epoll) || !own_slice(m))
    return again();
  for (u32 i = 0; i < count; i += kEntriesInPage) {
    if (!own_word(m, entry_at(m, epoll, i))) return again();
  }
  u64 done = 0;
  for (u32 i = 0; done < places; i++) {
    const u32 index = (first + i) % count;
    const EpollEntry entry = epoll_entry(m, epoll, index);
    const u32 events = entry_events(m, entry);
    if (events == 0) continue;
    store<u32>(m, address + done * kEpollRecord, events);
    store<u32>(m, address + done * kEpollRecord + 4, 0);
    store<u64>(m, address + done * kEpollRecord + 8, word(m, entry.at + kEntryData));
    done++;
    if (entry.events & kEpollEdge) set_word(m, entry.at + kEntrySeen, changes_of(m, entry.stream, entry.events));
    if (entry.events & kEpollOnce) {
      set_word(m, entry.at + kEntryDescriptor, ((u64)entry.fd + 1) | (u64)(entry.events & kEpollFlags) << 32);
    }
    set_word(m, epoll + kEpollNext, index + 1);
  }
  end_slice(m);
  return answer((i64)done);
}
template <Machine M>
MYR_OUTLINE Result epoll_pwait(M& m) {
  constexpr i64 kMillisecond = 1'000'000;
  const i32 time = (i32)m.argument(3);
  // It has no address: what is left of the time is not stored.
  const Timeout timeout = {time >= 0 ? kNoAddress : 0, time >= 0 ? time * kMillisecond : 0};
  return wait_for_epoll(m, timeout, m.argument(4), m.argument(5));
}
template <Machine M>
MYR_OUTLINE Result epoll_pwait2(M& m) {
  Timeout timeout = timeout_at(m, m.argument(3));
  if (timeout.time < 0) return answer(timeout.time);
  if (timeout.address != 0) timeout.address = kNoAddress;
  return wait_for_epoll(m, timeout, m.argument(4), m.argument(5));
}

}  // namespace myriarm::kernel
