// SPDX-License-Identifier: Apache-2.0
// Which thread runs. They take turns in the order in which they became ready; one goes on when the one before it waits, leaves,
// yields, or has had its slice. So the order depends on nothing but what the threads do. docs/design/threads.md.
#pragma once

#include "kernel/signals.h"

namespace myriarm::kernel {

/// Keeps the registers and words of the thread that runs in a record, which must be own.
template <Machine M>
MYR_OUTLINE void save_thread(M& m, u32 slot) {
  const u64 to = thread_record(slot);
  set_word(m, kThreadRan, thread_time(m, current_thread(m)));
  set_word(m, kRunBegan, m.retired());
  for (u32 n = 0; n <= kSlotSP; n++) set_word(m, to + n * 8, m.x(n));
  for (u32 n = 0; n < 64; n++) set_word(m, to + kRecordVectors + n * 8, m.v(n / 2, n % 2));
  set_word(m, to + kRecordPc, m.pc());
  set_word(m, to + kRecordNzcv, m.nzcv());
  set_word(m, to + kRecordFpcr, m.system(SystemField::fpcr));
  set_word(m, to + kRecordFpsr, m.system(SystemField::fpsr));
  set_word(m, to + kRecordTpidr, m.system(SystemField::tpidr));
  for (u32 at = kThreadWords; at < kThreadWordsEnd; at += 8) {
    set_word(m, to + kRecordWords + (at - kThreadWords), word(m, at));
  }
}
/// Lets the lane be a thread that has been kept.
template <Machine M>
MYR_OUTLINE void load_thread(M& m, u32 slot) {
  const u64 from = thread_record(slot);
  for (u32 at = kThreadWords; at < kThreadWordsEnd; at += 8) {
    set_word(m, at, word(m, from + kRecordWords + (at - kThreadWords)));
  }
  set_word(m, kRunBegan, m.retired());
  for (u32 n = 0; n <= kSlotSP; n++) m.set_x(n, word(m, from + n * 8));
  for (u32 n = 0; n < 64; n++) m.set_v(n / 2, n % 2, word(m, from + kRecordVectors + n * 8));
  m.set_pc(word(m, from + kRecordPc));
  m.set_nzcv((u32)word(m, from + kRecordNzcv));
  m.set_system(SystemField::fpcr, word(m, from + kRecordFpcr));
  m.set_system(SystemField::fpsr, word(m, from + kRecordFpsr));
  m.set_system(SystemField::tpidr, word(m, from + kRecordTpidr));
  m.set_system(SystemField::monitor, kMonitorOpen);
}

/// The ready thread whose turn it is; kNoThread if there is none.
template <Machine M>
MYR_OUTLINE u32 next_ready(const M& m) {
  const u32 slots = thread_slots(m);
  u32 next = kNoThread;
  for (u32 slot = 0; slot < slots; slot++) {
    if (head(m, slot, kHeadThread) == 0 || thread_state(m, slot) != ThreadState::ready) continue;
    if (next == kNoThread || head(m, slot, kHeadTicket) < head(m, next, kHeadTicket)) next = slot;
  }
  return next;
}

/// Lets a ready thread run, after own_threads().
template <Machine M>
MYR_OUTLINE void switch_to(M& m, u32 next) {
  const u32 current = current_thread(m);
  const WaitState state = wait_state(m);
  set_word(m, kReadyThreads, word(m, kReadyThreads) - 1);
  if (state == WaitState::leaves) {
    if (current == kFirstThread) set_head(m, current, kHeadState, (u64)ThreadState::gone);
    else set_head(m, current, kHeadThread, 0);
  } else {
    save_thread(m, current);
    if (state != WaitState::waits) make_ready(m, current);
  }
  set_word(m, kCurrentThread, next);
  load_thread(m, next);
  set_head(m, next, kHeadState, (u64)ThreadState::running);
  if (wait_state(m) == WaitState::waits) set_word(m, kWaitState, head(m, next, kHeadEnd));
  set_word(m, kSliceEnd, m.retired() + kSlice);
}

/// Whether schedule() has anything to do.
template <class M>
MYR_FN bool is_to_schedule(const FirstWords<M>& words, u64 retired) {
  const WaitState state = (WaitState)words[kWaitState];
  if (state == WaitState::waits || state == WaitState::leaves) return true;
  return words[kThreads] > 1 && thread_attention(words) <= retired;
}

/// Of the threads that wait, the one that nothing can end the wait of, and that began it last.
template <Machine M>
MYR_FN u32 last_waiting(const M& m) {
  const u32 slots = thread_slots(m);
  u32 last = kNoThread;
  for (u32 slot = 0; slot < slots; slot++) {
    if (!is_waiting(m, slot)) continue;
    if (last == kNoThread || head(m, slot, kHeadTicket) > head(m, last, kHeadTicket)) last = slot;
  }
  return last;
}

/// Wakes threads whose time has come, and lets another thread run if this one cannot go on or its slice has ended. If none can run,
/// the clocks move to where one can; if there is no such time, the call that waits and was made last fails. False: it has not come
/// to an end, and is to be called again.
template <Machine M>
MYR_OUTLINE bool schedule(M& m) {
  while (true) {
    if (!own_signals(m)) return false;
    wake_sleepers(m, nanoseconds(m));
    const WaitState state = wait_state(m);
    const bool could_go_on = state != WaitState::waits && state != WaitState::leaves;
    if (could_go_on && (word(m, kReadyThreads) == 0 || m.retired() < word(m, kSliceEnd))) return true;
    if (word(m, kReadyThreads) != 0) {
      switch_to(m, next_ready(m));
      return true;
    }
    const u64 now = nanoseconds(m), sent = time_to_signal(m, ~(u64)0).time, wake = word(m, kNextWake);
    const u64 next = lesser(wake, sent == kNever ? kNever : now + sent);
    if (next == kNever) {
      end_wait(m, last_waiting(m), WaitState::hopeless);
      continue;
    }
    pass_time(m, next - lesser(next, now));
    expire_timers(m);
    wake_sleepers(m, next);
  }
}

}  // namespace myriarm::kernel
