// SPDX-License-Identifier: Apache-2.0
// What is watched by epoll(7): a set of descriptors in pages of the layer, each with the opening that it referred to when it was added.
// When that opening has ended the entry is nothing. Sets may contain sets; what can be reached from one is found level by level.
#pragma once

#include "kernel/sockets.h"

namespace myriarm::kernel {

/// Words of the object: the entries, some of them free; where the next look begins; and the pages of entries.
enum EpollWord : u32 { kEpollCount = kObjectOwn, kEpollNext = kObjectOwn + 8, kEpollPages = 128 };
constexpr u32 kEpollEntryBytes = 32, kEntriesInPage = kPageSize / kEpollEntryBytes;
constexpr u32 kMostEntries = (kObjectBytes - kEpollPages) / 8 * kEntriesInPage;
constexpr u32 kMostEpolls = 128, kMostNested = 4;
/// Words of an entry: descriptor and 1, 0 if it is free, with the events that are asked for above; what the guest has for it; the
/// stream, with the number of its opening above; and what changes_of() was when it was reported the last time (EPOLLET).
enum EntryWord : u32 { kEntryDescriptor = 0, kEntryData = 8, kEntryStream = 16, kEntrySeen = 24 };
enum EpollFlag : u32 {
  kEpollExclusive = 1u << 28,
  kEpollWakeUp = 1u << 29,
  kEpollOnce = 1u << 30,
  kEpollEdge = 1u << 31
};
constexpr u32 kEpollFlags = kEpollExclusive | kEpollWakeUp | kEpollOnce | kEpollEdge;
constexpr u32 kStreamBits = 16;

template <MemoryMachine M>
MYR_FN u64 entry_at(const M& m, u64 epoll, u32 index) {
  const u64 page = word(m, epoll + kEpollPages + index / kEntriesInPage * 8);
  return layer_at(page) + index % kEntriesInPage * kEpollEntryBytes;
}
template <MemoryMachine M>
MYR_FN bool is_epoll(const M& m, u32 number) {
  return word(m, object_at(number)) != 0 && word(m, object_at(number) + kObjectKind) == (u64)Kind::epoll;
}
struct EpollEntry {
  u64 at;
  u32 fd, events;
  i32 stream;
  bool is_there;
};
template <MemoryMachine M>
MYR_OUTLINE EpollEntry epoll_entry(const M& m, u64 epoll, u32 index) {
  const u64 at = entry_at(m, epoll, index), first = word(m, at), opening = word(m, at + kEntryStream);
  const i32 stream = (i32)(opening & ((1u << kStreamBits) - 1));
  bool is_there = (u32)first != 0;
  if (is_there && stream >= (i32)kFirstOpening) {
    const u32 number = (u32)stream - kFirstOpening;
    is_there = is_open(m, number) && word(m, opening_word(number, kOpeningSerial)) == opening >> kStreamBits;
  }
  return {at, (u32)first - 1, (u32)(first >> 32), stream, is_there};
}
template <MemoryMachine M>
MYR_FN u32 entry_count(const M& m, u64 epoll) {
  return (u32)lesser(word(m, epoll + kEpollCount), kMostEntries);
}
template <MemoryMachine M>
MYR_FN u64 value_of_stream(const M& m, i32 stream) {
  const u64 serial =
      stream < (i32)kFirstOpening ? 0 : word(m, opening_word((u32)stream - kFirstOpening, kOpeningSerial));
  return (u32)stream | serial << kStreamBits;
}

/// A number that changes with each event for which a waiting process would be woken: of those that are asked for.
template <Machine M>
MYR_OUTLINE u64 changes_of(const M& m, i32 stream, u32 events) {
  const Opened opened = opened_at(m, stream);
  const u64 object = object_at(opened.file);
  // An end that goes changes both.
  const u64 out = (events & kEventsOut) ? ~(u64)0 : 0, in = (events & kEventsIn) || out == 0 ? ~(u64)0 : 0;
  switch (opened.kind) {
    case Kind::pipe: return (word(m, object + kPipeFilled) & in) + (word(m, object + kPipeDrained) & out);
    case Kind::counter: return (word(m, object + kCounterFilled) & in) + (word(m, object + kCounterDrained) & out);
    case Kind::timer: return word(m, object + kTimerExpires);  // as on Linux, it wakes nobody again until it is read
    case Kind::signals: return word(m, kSignalsSent);
    case Kind::socket: return socket_changes(m, object, in, out);
    default: return m.retired();  // always
  }
}

/// The events that are there for a stream that is no such set.
template <Machine M>
MYR_OUTLINE u32 simple_events(const M& m, i32 stream) {
  const Opened opened = opened_at(m, stream);
  const u64 object = object_at(opened.file);
  switch (opened.kind) {
    case Kind::standard: {
      if (stream != (i32)kStandardInput) return kEventsOut;
      const bool more = word(m, kInputPosition) < m.input().standard_input.size;
      return kEventHangUp | (more ? kEventsIn : 0u);
    }
    case Kind::pipe: return pipe_events(m, opened, word(m, position_word((u32)stream)));
    case Kind::counter: return counter_events(m, object);
    case Kind::timer: return timer_expirations(m, object) != 0 ? (u32)kEventReadable : 0u;
    case Kind::signals:
      return (pending_signals(m) & word(m, position_word((u32)stream))) != 0 ? (u32)kEventReadable : 0u;
    case Kind::socket: return socket_events(m, object);
    default: return kEventsIn | kEventsOut;
  }
}
template <Machine M>
MYR_FN u64 simple_changes_in(const M& m, i32 stream) {
  const Opened opened = opened_at(m, stream);
  if (opened.kind == Kind::timer) return timer_changes_in(m, object_at(opened.file));
  return opened.kind == Kind::signals ? signals_change_in(m, stream) : kNever;
}

/// Sets of objects: a bit for each.
constexpr u32 kSetWords = kMostObjects / 64;
struct ObjectSet {
  u64 words[kSetWords];
  MYR_FN bool has(u32 number) const { return words[number / 64] >> number % 64 & 1; }
  MYR_FN void add(u32 number) { words[number / 64] |= (u64)1 << number % 64; }
};
/// What a set of descriptors has: whether one of them is ready, and when by time alone one may be.
struct EpollState {
  bool ready;
  u64 changes_in;
};
template <Machine M>
MYR_OUTLINE EpollState epoll_state(const M& m, u32 number) {
  ObjectSet seen = {}, next = {};
  EpollState state = {false, kNever};
  next.add(number);
  for (bool more = true; more;) {
    more = false;
    for (u32 i = 0; i < kSetWords; i++) {
      const u64 fresh = next.words[i] & ~seen.words[i];
      seen.words[i] |= fresh;
      more |= fresh != 0;
      for (u64 rest = fresh; rest != 0; rest &= rest - 1) {
        const u64 epoll = object_at(i * 64 + 63 - count_leading_zeros64(rest & (~rest + 1)));
        const u32 count = entry_count(m, epoll);
        for (u32 e = 0; e < count; e++) {
          const EpollEntry entry = epoll_entry(m, epoll, e);
          if (!entry.is_there || (entry.events & ~kEpollFlags) == 0) continue;
          const Opened opened = opened_at(m, entry.stream);
          if (opened.kind == Kind::epoll) {
            if (entry.events & kEventsIn) next.add(opened.file);
            continue;
          }
          const bool edge = (entry.events & kEpollEdge) != 0;
          const bool ready = (simple_events(m, entry.stream) & entry.events) &&
                             !(edge && changes_of(m, entry.stream, entry.events) == word(m, entry.at + kEntrySeen));
          if (ready) return {true, 0};
          state.changes_in = lesser(state.changes_in, simple_changes_in(m, entry.stream));
        }
      }
    }
  }
  return state;
}
/// Of the sets in `from` that hold sets (or with `above` the sets that hold these), those. Returns whether there are any.
template <Machine M>
MYR_OUTLINE bool epoll_level(const M& m, const ObjectSet& from, ObjectSet& to, bool above) {
  bool any = false;
  to = {};
  const u32 count = object_count(m);
  for (u32 number = 0; number < count; number++) {
    const u64 epoll = object_at(number);
    if (!is_epoll(m, number) || (!above && !from.has(number))) continue;
    const u32 entries = entry_count(m, epoll);
    for (u32 e = 0; e < entries; e++) {
      const EpollEntry entry = epoll_entry(m, epoll, e);
      const Opened opened = opened_at(m, entry.stream);
      if (!entry.is_there || opened.kind != Kind::epoll || (above && !from.has(opened.file))) continue;
      to.add(above ? number : opened.file);
      any = true;
    }
  }
  return any;
}
/// Whether one set may be put into another: no set may contain itself, and no more than kMostNested may lie in each other.
template <Machine M>
MYR_OUTLINE bool may_nest(const M& m, u32 outer, u32 inner) {
  ObjectSet level = {}, next;
  u32 depth = 1;
  level.add(inner);
  while (epoll_level(m, level, next, false)) {
    if (next.has(outer) || ++depth > kMostNested) return false;
    level = next;
  }
  level = {};
  level.add(outer);
  while (epoll_level(m, level, next, true)) {
    if (++depth > kMostNested) return false;
    level = next;
  }
  return true;
}

template <Machine M>
MYR_OUTLINE Result epoll_create1(M& m) {
  const u32 flags = (u32)m.argument(0), number = free_object(m), count = object_count(m);
  if (flags & ~kOpenCloseOnExec) return error(kEINVAL);
  const NewOpening made = find_opening(m);
  if (made.error < 0) return answer(made.error);
  u32 epolls = 0;
  for (u32 i = 0; i < count; i++) {
    epolls += is_epoll(m, i);
  }
  if (number == kMostObjects || epolls >= kMostEpolls) return error(kENFILE);
  if (!own_new_opening(m, made) || !own_object(m, number)) return again();
  make_object(m, number, Kind::epoll);
  return finish_opening(m, made, opened_object(Kind::epoll, number, kOpenReadWrite), flags != 0);
}
/// To be called, and to have returned true, before leave_epoll().
template <MemoryMachine M>
MYR_FN bool own_leaving_epoll(M& m, u64 epoll) {
  return own_word(m, epoll) && own_word(m, kReservedBuffers) && (entry_count(m, epoll) == 0 || secure_any(m, 0));
}
template <MemoryMachine M>
MYR_OUTLINE void leave_epoll(M& m, u64 epoll) {
  const u32 pages = (entry_count(m, epoll) + kEntriesInPage - 1) / kEntriesInPage;
  for (u32 i = 0; i < pages; i++) give_back_buffer(m, (u32)word(m, epoll + kEpollPages + i * 8));
  release_buffers(m, pages);
  set_word(m, epoll, 0);
}

}  // namespace myriarm::kernel
