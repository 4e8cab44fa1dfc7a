// SPDX-License-Identifier: Apache-2.0
// The threads of a lane, of all its processes: it runs one at a time. Of each there is a head, by which it is found, woken and chosen, and while
// it does not run a record of its registers and words. What a thread waits for, and who wakes it. Which one runs is in
// thread_switch.h. docs/design/threads.md.
#pragma once

#include "kernel/interval_timers.h"
#include "kernel/process_table.h"
#include "kernel/ranges.h"

namespace myriarm::kernel {

/// Instructions that a thread may retire while others could run.
constexpr u64 kSlice = 50'000;
constexpr u32 kNoThread = ~(u32)0;
constexpr u64 kResetsOnFork = 0x40000000;     // SCHED_RESET_ON_FORK, in kPolicy
constexpr u32 kMostThreadId = (1 << 22) - 1;  // like kernel.pid_max of Linux at most

/// kWaitState, of the thread that runs.
enum class WaitState : u64 {
  none,
  // It is to be switched away from.
  waits,
  leaves,
  // It has been woken, and makes the call again that waited. Until that has an answer the thread takes no signal.
  woken,
  timed_out,
  interrupted,  // by a signal that is pending
  hopeless,     // nothing could ever end the wait
};

/// Words of a thread's head.
enum HeadWord : u32 {
  kHeadThread = 0,   // its id; 0: the slot is free
  kHeadState = 8,    // a ThreadState
  kHeadTicket = 16,  // rises: who became ready first runs first, and who began to wait first is woken first
  // While it waits:
  kHeadKey = 24,       // for what: wait_key()
  kHeadBits = 32,      // of a futex its bits; of WaitOn::time signals that end the wait whatever they do
  kHeadDeadline = 40,  // by nanoseconds(); kNever. This and the next are also known while the call is made again
  kHeadMask = 48,      // signals that do not end it
  kHeadEnd = 56,       // then, when it is ready: why, a WaitState
  kHeadProcess = 64,   // the slot of its process
};
enum class ThreadState : u64 {
  running,
  ready,
  waiting,
  gone,  // the first thread, which has left; its id stays that of the process
};

/// What a thread waits for: a number, of which the lowest two bits are 0, and its kind.
enum class WaitOn : u8 {
  futex,  // its address
  lock,   // the same, of FUTEX_LOCK_PI
  event,  // any number; kAnyEvent
  time,   // or a signal
};
MYR_FN constexpr u64 wait_key(WaitOn kind, u64 number) { return number | (u64)kind; }
/// Events of processes, by slot: one of its children has changed; it has left the memory that it borrowed.
MYR_FN constexpr u64 event_of_children(u32 process) { return (u64)1 << 62 | (u64)process << 2; }
MYR_FN constexpr u64 event_of_memory(u32 process) { return (u64)1 << 62 | (u64)1 << 32 | (u64)process << 2; }
/// The number of the event that each wake_events() is, for those who look again at all that they wait for.
constexpr u64 kAnyEvent = 0;
/// Of signals that are sent. Other events are objects (objects.h): the number is where one lies.
constexpr u64 kSignalEvent = 4;

MYR_FN u64 thread_head(u32 slot, HeadWord part = kHeadThread) {
  return kThreadHeads + (u64)slot * kThreadHeadBytes + part;
}
template <class M>
MYR_FN u64 head(const M& m, u32 slot, HeadWord part) {
  return word(m, thread_head(slot, part));
}
template <class M>
MYR_FN ThreadState thread_state(const M& m, u32 slot) {
  return (ThreadState)head(m, slot, kHeadState);
}
template <class M>
MYR_FN bool is_waiting(const M& m, u32 slot) {
  return head(m, slot, kHeadThread) != 0 && thread_state(m, slot) == ThreadState::waiting;
}

/// Words of a record: x0 to x30 and SP, both halves of v0 to v31, these, and from kRecordWords on the thread's words.
enum RecordWord : u32 {
  kRecordVectors = 32 * 8,
  kRecordPc = kRecordVectors + 64 * 8,
  kRecordNzcv = kRecordPc + 8,
  kRecordFpcr = kRecordNzcv + 8,
  kRecordFpsr = kRecordFpcr + 8,
  kRecordTpidr = kRecordFpsr + 8,
  kRecordWords = kRecordTpidr + 8,
};
static_assert(kRecordWords + (kThreadWordsEnd - kThreadWords) <= kThreadRecordBytes);
MYR_FN u64 thread_record(u32 slot, u32 part = 0) { return kThreadRecords + (u64)slot * kThreadRecordBytes + part; }

/// Whether there is more than one thread in the lane.
template <class M>
MYR_FN bool has_threads(const M& m) {
  return word(m, kThreads) > 1;
}
/// Whether there ever was: then the thread that runs has a head.
template <class M>
MYR_FN bool has_table(const M& m) {
  return word(m, kThreads) != 0;
}
template <class M>
MYR_FN u32 thread_slots(const M& m) {
  return (u32)lesser(word(m, kThreadSlots), kMostThreads);
}
template <class M>
MYR_FN u32 current_thread(const M& m) {
  return (u32)word(m, kCurrentThread);  // kNoThread: see ProcessVisit
}
/// Whether a slot has a thread of the process that runs.
template <class M>
MYR_FN bool is_own_thread(const M& m, u32 slot) {
  return head(m, slot, kHeadThread) != 0 && (u32)head(m, slot, kHeadProcess) == current_process(m);
}
/// The threads of the process that runs.
template <class M>
MYR_FN u64 process_threads(const M& m) {
  return greater(word(m, kProcessThreads), 1);
}
/// The id of the thread that runs.
template <class M>
MYR_FN u32 thread_id(const M& m) {
  const u64 id = word(m, kThread);
  return id != 0 ? (u32)id : process_id(m);
}
template <class M>
MYR_FN WaitState wait_state(const M& m) {
  return (WaitState)word(m, kWaitState);
}

/// Where a word of a thread is.
template <class M>
MYR_FN u64 thread_word_at(const M& m, u32 slot, u32 of) {
  return slot == current_thread(m) ? of : thread_record(slot, kRecordWords + (of - kThreadWords));
}
template <class M>
MYR_FN u64 thread_word(const M& m, u32 slot, u32 of) {
  return word(m, thread_word_at(m, slot, of));
}

/// The slot of the thread with this id; kNoThread if there is none.
template <class M>
MYR_OUTLINE u32 find_thread(const M& m, u32 id) {
  if (id == thread_id(m) && current_thread(m) != kNoThread) return current_thread(m);
  const u32 slots = thread_slots(m);
  for (u32 slot = 0; slot < slots && id != 0; slot++) {
    if ((u32)head(m, slot, kHeadThread) == id) return slot;
  }
  return kNoThread;
}
/// Whether the slot has a thread that has not left.
template <class M>
MYR_FN bool is_alive(const M& m, u32 slot) {
  if (slot == current_thread(m)) return wait_state(m) != WaitState::leaves;
  return head(m, slot, kHeadThread) != 0 && thread_state(m, slot) != ThreadState::gone;
}

// Changes.

/// Must be called, and have returned true, before heads and kThread... words are set.
template <Machine M>
MYR_FN bool own_heads(M& m) {
  const u32 slots = thread_slots(m);
  return own_word(m, kThreads) && (slots == 0 || own_words(m, kThreadHeads, (u64)slots * kThreadHeadBytes));
}
/// The same for the heads and records of all threads.
template <Machine M>
MYR_FN bool own_threads(M& m) {
  const u32 slots = thread_slots(m);
  return own_heads(m) && (slots == 0 || own_words(m, kThreadRecords, (u64)slots * kThreadRecordBytes));
}
template <Machine M>
MYR_FN void set_head(M& m, u32 slot, HeadWord part, u64 value) {
  set_word(m, thread_head(slot, part), value);
}
template <Machine M>
MYR_FN void set_thread_word(M& m, u32 slot, u32 of, u64 value) {
  set_word(m, thread_word_at(m, slot, of), value);
}
template <Machine M>
MYR_FN u64 next_ticket(M& m) {
  const u64 ticket = word(m, kNewestTicket) + 1;
  set_word(m, kNewestTicket, ticket);
  return ticket;
}
/// To be called, and to have returned true, before end_slice().
template <Machine M>
MYR_FN bool own_slice(M& m) {
  return !has_threads(m) || word(m, kReadyThreads) == 0 || own_word(m, kSliceEnd);
}
/// Others that could run come next. As on a system with several processors, who asks again and again whether something has happened
/// must not keep them from it: sched_yield(), and calls that find what they would have waited for.
template <Machine M>
MYR_FN void end_slice(M& m) {
  if (has_threads(m) && word(m, kReadyThreads) != 0) set_word(m, kSliceEnd, m.retired());
}
/// A thread that does not run could from now on.
template <Machine M>
MYR_FN void make_ready(M& m, u32 slot) {
  const u64 ready = word(m, kReadyThreads);
  set_head(m, slot, kHeadState, (u64)ThreadState::ready);
  set_head(m, slot, kHeadTicket, next_ticket(m));
  set_word(m, kReadyThreads, ready + 1);
  if (ready == 0) set_word(m, kSliceEnd, m.retired() + kSlice);
}

// After own_heads().

/// Ends the wait of a thread, for this reason.
template <Machine M>
MYR_OUTLINE void end_wait(M& m, u32 slot, WaitState why) {
  set_head(m, slot, kHeadEnd, (u64)why);
  if (slot == current_thread(m)) {
    set_head(m, slot, kHeadState, (u64)ThreadState::running);
    set_word(m, kWaitState, (u64)why);
  } else {
    make_ready(m, slot);
  }
}
/// The thread that has waited longest for this; kNoThread if none does.
template <Machine M>
MYR_OUTLINE u32 first_waiting(const M& m, u64 key, u64 bits = ~(u64)0) {
  const u32 slots = thread_slots(m);
  u32 first = kNoThread;
  for (u32 slot = 0; slot < slots; slot++) {
    if (!is_waiting(m, slot) || head(m, slot, kHeadKey) != key || !(head(m, slot, kHeadBits) & bits)) continue;
    if (first == kNoThread || head(m, slot, kHeadTicket) < head(m, first, kHeadTicket)) first = slot;
  }
  return first;
}
/// Wakes threads that wait for this, `most` at most. Returns how many.
template <Machine M>
MYR_OUTLINE u64 wake(M& m, u64 key, u64 most, u64 bits = ~(u64)0) {
  u64 woken = 0;
  for (; woken < most; woken++) {
    const u32 slot = first_waiting(m, key, bits);
    if (slot == kNoThread) break;
    end_wait(m, slot, WaitState::woken);
  }
  return woken;
}
/// Something has happened, for which threads may wait: they look again.
template <Machine M>
MYR_FN void wake_events(M& m, u64 number) {
  (void)wake(m, wait_key(WaitOn::event, number), kMostThreads);
  if (number != kAnyEvent) (void)wake(m, wait_key(WaitOn::event, kAnyEvent), kMostThreads);
}

/// When the first of the timers of processes that do not run expires; kNever.
template <Machine M>
MYR_OUTLINE u64 next_alarm(const M& m) {
  const u32 slots = process_slots(m), current = current_process(m);
  u64 next = kNever;
  for (u32 slot = 0; slot < slots; slot++) {
    if (slot != current && process_lives(m, slot)) next = lesser(next, process_part(m, slot, kProcessAlarm));
  }
  return next;
}

/// Wakes the threads whose time has come by then, and notes when the next one's does.
template <Machine M>
MYR_OUTLINE void wake_sleepers(M& m, u64 now) {
  const u32 slots = thread_slots(m);
  while (true) {
    u32 first = kNoThread;
    for (u32 slot = 0; slot < slots; slot++) {
      if (!is_waiting(m, slot) || head(m, slot, kHeadDeadline) == kNever) continue;
      const bool sooner = first == kNoThread || head(m, slot, kHeadDeadline) < head(m, first, kHeadDeadline) ||
                          (head(m, slot, kHeadDeadline) == head(m, first, kHeadDeadline) &&
                           head(m, slot, kHeadTicket) < head(m, first, kHeadTicket));
      if (sooner) first = slot;
    }
    const u64 next = first == kNoThread ? kNever : head(m, first, kHeadDeadline);
    if (next > now || first == kNoThread) {
      set_word(m, kNextWake, lesser(next, next_alarm(m)));
      return;
    }
    end_wait(m, first, WaitState::timed_out);
  }
}

/// The count of retired instructions at which the threads are to be looked at: thread_switch.h.
template <class M>
MYR_FN u64 thread_attention(const FirstWords<M>& words) {
  const u64 wake = words[kNextWake], ahead = lesser(words[kSlept], kEndOfTime);
  const u64 woken = wake == kNever ? kNever : wake - lesser(wake, ahead);
  return words[kReadyThreads] != 0 ? lesser(words[kSliceEnd], woken) : woken;
}

/// The instructions that a thread has retired.
template <Machine M>
MYR_FN u64 thread_time(const M& m, u32 slot) {
  const u64 before = thread_word(m, slot, kThreadRan);
  return slot == current_thread(m) ? before + (m.retired() - lesser(word(m, kRunBegan), m.retired())) : before;
}

}  // namespace myriarm::kernel
