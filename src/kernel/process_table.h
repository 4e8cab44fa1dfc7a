// SPDX-License-Identifier: Apache-2.0
// The processes of a lane: a record of each, by slot, and how the lane goes from one to another. Each has an address space, which
// has its words as well; the lane's own words go along. Until there is a second process there are no records. What begins and ends
// processes is in process_calls.h. docs/design/processes.md.
#pragma once

#include "kernel/guest_memory.h"

namespace myriarm::kernel {

/// What a new address space is.
enum class SpaceKind : u8 {
  fork,    // like the one that runs, whose pages it shares until one of them is written to
  borrow,  // the guest's pages are those of the one that runs
  fresh,   // no page of the guest is mapped
};

/// A machine whose lanes can have several address spaces, by number; the first is 0. A space has the guest's pages and kOwnPages
/// kernel pages, which a new one has from the space that runs; what lies behind those is the same for all.
template <class M>
concept HasSpaces = Machine<M> && requires(M& machine, const M& seen, u32 number, SpaceKind kind) {
  /// False: for this lane the others are not to be called.
  { seen.has_spaces() } -> detail::Is<bool>;
  { seen.space() } -> detail::Is<u32>;
  /// The space runs from now on.
  machine.enter_space(number);
  /// False: the call is abandoned. Pages that were own are not, except those of the lane.
  { machine.make_space(kind, number) } -> detail::Is<bool>;
  /// Not the one that runs.
  machine.end_space(number);
  /// The space that runs becomes what another was, which ends.
  machine.replace_space(number);
};
template <class M>
MYR_FN bool has_spaces(const M& m) {
  if constexpr (HasSpaces<M>) return m.has_spaces();
  else return false;
}

/// Words of a process's record.
enum RecordOfProcess : u32 {
  kRecordProcess = 0,  // 0: the slot is free
  kProcessParent = 8,  // its id
  kProcessGroup = 16,
  kProcessSession = 24,
  kProcessState = 32,   // a ProcessState
  kProcessStatus = 40,  // as wait4() has it, of one that has ended
  kProcessSpace = 48,
  kProcessAlarm = 56,   // if it does not run: when its ITIMER_REAL expires; kNever
  kProcessSignal = 64,  // that its parent gets when it ends
  kProcessWaker = 72,   // the slot and 1 of the thread that waits for it to leave its memory (vfork()); 0: none
  kProcessRan = 80,     // of one that has ended: the instructions that it and its children have retired
  kProcessFolder = 88,  // if it does not run: its working folder
  kProcessHasRun = 96,  // it has called execve()
};
enum class ProcessState : u64 { lives, zombie };
constexpr u32 kFirstProcess = 0;  // the slot of the lane's first one, which ends it
constexpr u32 kNoProcess = ~(u32)0;

MYR_FN u64 process_record(u32 slot, u32 part = kRecordProcess) {
  return kProcesses + slot * kProcessRecordBytes + part;
}
template <class M>
MYR_FN u64 process_part(const M& m, u32 slot, u32 part) {
  return word(m, process_record(slot, part));
}
template <class M>
MYR_FN u32 process_slots(const M& m) {
  return (u32)lesser(word(m, kProcessSlots), kMostProcesses);
}
/// Whether there is, or was, more than one process.
template <class M>
MYR_FN bool has_processes(const M& m) {
  return word(m, kProcessSlots) != 0;
}
template <class M>
MYR_FN u32 current_process(const M& m) {
  return (u32)lesser(word(m, kCurrentProcess), kMostProcesses - 1);
}
/// The id of the process that runs.
template <class M>
MYR_FN u32 process_id(const M& m) {
  const u64 id = word(m, kProcess);
  return id != 0 ? (u32)id : kProcessId;
}
template <class M>
MYR_OUTLINE u32 find_process(const M& m, u32 id) {
  if (!has_processes(m)) return id == kProcessId ? kFirstProcess : kNoProcess;
  const u32 slots = process_slots(m);
  for (u32 slot = 0; slot < slots && id != 0; slot++) {
    if ((u32)process_part(m, slot, kRecordProcess) == id) return slot;
  }
  return kNoProcess;
}
template <class M>
MYR_FN bool process_lives(const M& m, u32 slot) {
  return process_part(m, slot, kRecordProcess) != 0 &&
         (ProcessState)process_part(m, slot, kProcessState) == ProcessState::lives;
}
/// Whether something is left of it, and it has this group.
template <class M>
MYR_FN bool is_in_group(const M& m, u32 slot, u32 group) {
  return process_part(m, slot, kRecordProcess) != 0 && (u32)process_part(m, slot, kProcessGroup) == group;
}
/// The group and session of the process that runs, and its parent.
template <class M>
MYR_FN u32 own_part(const M& m, u32 part, u32 without_table) {
  return has_processes(m) ? (u32)process_part(m, current_process(m), part) : without_table;
}

/// Whether a file is the working folder of a process that does not run.
template <class M>
MYR_OUTLINE bool is_working_folder(const M& m, u32 file) {
  const u32 slots = process_slots(m), current = current_process(m);
  for (u32 slot = 0; slot < slots; slot++) {
    if (slot != current && process_lives(m, slot) && process_part(m, slot, kProcessFolder) == file) return true;
  }
  return false;
}

// Changes.

template <Machine M>
MYR_FN bool own_processes(M& m) {
  return own_word(m, kProcessSlots) && own_words(m, kProcesses, kMostProcesses * kProcessRecordBytes);
}
template <Machine M>
MYR_FN void set_process_part(M& m, u32 slot, u32 part, u64 value) {
  set_word(m, process_record(slot, part), value);
}

/// The lane goes to another space, with its words. The first kernel page of that must be own.
template <Machine M>
MYR_OUTLINE void enter_space(M& m, u32 space) {
  if constexpr (HasSpaces<M>) {
    if (space == m.space()) return;
    u64 words[kLaneWordsEnd / 8];
    for (u32 at = 0; at < kLaneWordsEnd; at += 8) words[at / 8] = word(m, at);
    m.enter_space(space);
    for (u32 at = 0; at < kLaneWordsEnd; at += 8) set_word(m, at, words[at / 8]);
  } else {
    (void)m;
    (void)space;
  }
}

/// Must be called, and have returned true, before the lane goes to a process or sends it a signal.
template <Machine M>
MYR_OUTLINE bool own_process(M& m, u32 slot) {
  bool owned = true;
  if constexpr (HasSpaces<M>) {
    const u32 here = m.space();
    if (slot != current_process(m)) m.enter_space((u32)process_part(m, slot, kProcessSpace));
    const u64 timers = word(m, kTimerCount), sent = kIntervalTimers + 1 + timers;
    const u64 records = lesser(word(m, kQueuedSignals) + sent, kQueueRecords);
    owned = own_word(m, 0) && own_words(m, kSignalQueue, records * kQueueRecordBytes) &&
            (timers == 0 || own_words(m, kPosixTimers, kPosixTimersEnd - kPosixTimers));
    m.enter_space(here);
  }
  return owned;
}

/// While it lives, words are those of another process; none of its threads runs. own_process() must have returned true.
template <Machine M>
class ProcessVisit {
 public:
  MYR_FN ProcessVisit(M& m, u32 slot) : m_(m), process_(current_process(m)), thread_(word(m, kCurrentThread)) {
    if (slot == process_) return;
    go(slot, ~(u64)0);
  }
  MYR_FN ~ProcessVisit() {
    if (current_process(m_) != process_) go(process_, thread_);
  }
  ProcessVisit(const ProcessVisit&) = delete;

 private:
  MYR_FN void go(u32 slot, u64 thread) {
    enter_space(m_, (u32)process_part(m_, slot, kProcessSpace));
    set_word(m_, kCurrentProcess, slot);
    set_word(m_, kCurrentThread, thread);
  }

  M& m_;
  const u32 process_;
  const u64 thread_;
};

/// The instructions that the process which runs has retired.
template <Machine M>
MYR_FN u64 process_time(const M& m) {
  const bool is_visited = (u32)word(m, kCurrentThread) == ~(u32)0;  // ProcessVisit
  const u64 now = is_visited ? word(m, kLeftAt) : m.retired();
  return now - lesser(word(m, kAway), now);
}

}  // namespace myriarm::kernel
