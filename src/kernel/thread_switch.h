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

/// The lane goes to another process, which must be own, as must the records of processes.
template <Machine M>
MYR_OUTLINE void switch_process(M& m, u32 next) {
  if constexpr (HasSpaces<M>) {
    const u32 left = current_process(m);
    if (next == left) return;
    const u64 alarm = next_sent(m);
    const u32 space = (u32)process_part(m, left, kProcessSpace);
    const bool lives = process_lives(m, left);
    set_process_part(m, left, kProcessAlarm, alarm);
    set_word(m, kNextWake, lesser(word(m, kNextWake), alarm));
    set_process_part(m, left, kProcessFolder, word(m, kWorkingFolder));
    set_word(m, kLeftAt, m.retired());
    enter_space(m, (u32)process_part(m, next, kProcessSpace));
    set_word(m, kCurrentProcess, next);
    set_word(m, kAway, word(m, kAway) + (m.retired() - lesser(word(m, kLeftAt), m.retired())));
    if (!lives) m.end_space(space);
  } else {
    (void)m;
    (void)next;
  }
}

/// Lets a ready thread run, after own_threads() and own_process().
template <Machine M>
MYR_OUTLINE void switch_to(M& m, u32 next) {
  const u32 current = current_thread(m);
  const WaitState state = wait_state(m);
  set_word(m, kReadyThreads, word(m, kReadyThreads) - 1);
  if (state == WaitState::leaves) {
    // The id of a process that lives stays in use.
    const bool lives = !has_processes(m) || process_lives(m, current_process(m));
    if (lives && thread_id(m) == process_id(m)) set_head(m, current, kHeadState, (u64)ThreadState::gone);
    else set_head(m, current, kHeadThread, 0);
  } else {
    save_thread(m, current);
    if (state != WaitState::waits) make_ready(m, current);
  }
  set_word(m, kCurrentThread, next);
  switch_process(m, (u32)head(m, next, kHeadProcess));
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

/// Sends what the timers of processes that do not run have to send by then. False: abandoned.
template <Machine M>
MYR_OUTLINE bool expire_others(M& m, u64 now) {
  const u32 slots = process_slots(m), current = current_process(m);
  for (u32 slot = 0; slot < slots; slot++) {
    if (slot == current || !process_lives(m, slot) || process_part(m, slot, kProcessAlarm) > now) continue;
    if (!own_processes(m) || !own_process(m, slot)) return false;
    u64 alarm;
    {
      const ProcessVisit<M> visit(m, slot);
      expire_timers(m);
      alarm = next_sent(m);
    }
    set_process_part(m, slot, kProcessAlarm, alarm);
  }
  return true;
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
    if (!own_signals(m) || !expire_others(m, nanoseconds(m))) return false;
    wake_sleepers(m, nanoseconds(m));
    const WaitState state = wait_state(m);
    const bool could_go_on = state != WaitState::waits && state != WaitState::leaves;
    if (could_go_on && (word(m, kReadyThreads) == 0 || m.retired() < word(m, kSliceEnd))) return true;
    if (word(m, kReadyThreads) != 0) {
      const u32 next = next_ready(m);
      if (has_processes(m) && (!own_processes(m) || !own_process(m, (u32)head(m, next, kHeadProcess)))) return false;
      switch_to(m, next);
      return true;
    }
    const u64 now = nanoseconds(m), next = lesser(word(m, kNextWake), next_sent(m));
    if (next == kNever) {
      end_wait(m, last_waiting(m), WaitState::hopeless);
      continue;
    }
    pass_time(m, next - lesser(next, now));
    expire_timers(m);
    if (!expire_others(m, next)) return false;
    wake_sleepers(m, next);
  }
}

}  // namespace myriarm::kernel
