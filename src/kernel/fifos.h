// SPDX-License-Identifier: Apache-2.0
// FIFOs: files that are pipes. The first open makes the pipe, which the file keeps as long as it is there; it has bytes
// and slots only while somebody has it open. Whoever waits for the other end has changed nothing: is_being_opened()
// finds it.
#pragma once

#include "kernel/pipes.h"

namespace myriarm::kernel {

/// Where the pipe of a FIFO lies.
template <MemoryMachine M>
MYR_FN u64 pipe_of_fifo(const M& m, u64 inode) {
  return object_at((u32)lesser(word(m, inode + kInodePipe) - 1, kMostObjects - 1));
}
template <class M>
MYR_FN bool is_fifo_open(const M& m, u64 inode) {
  return word(m, pipe_of_fifo(m, inode)) > 1;
}
template <class M>
MYR_FN bool own_end_of_fifo(M& m, u64 inode) {
  return own_pipe(m, pipe_of_fifo(m, inode)) && own_word(m, kReservedBuffers);
}
template <class M>
MYR_FN void end_fifo(M& m, u64 inode) {
  const u64 pipe = pipe_of_fifo(m, inode);
  empty_pipe(m, pipe);
  set_word(m, pipe, 0);
  set_word(m, inode + kInodePipe, 0);
}
/// The file that an opening has: one of the tree, or a FIFO. False: neither.
template <MemoryMachine M>
MYR_FN bool file_of(const M& m, const Opened& opened, u32& file) {
  file = opened.file;
  if (opened.in_tree) return true;
  const u64 named = opened.kind == Kind::pipe ? word(m, object_at(opened.file) + kPipeFile) : 0;
  file = (u32)named - 1;
  return named != 0;
}

/// Opens a FIFO, with flags that the opening keeps, as fifo(7) says: to read or to write alone waits for the other end.
template <Machine M>
MYR_OUTLINE Result open_fifo(M& m, u32 file, u32 flags, bool closes_on_exec, u32 folder) {
  const u32 access = flags & kOpenAccess;
  const bool reads = access != kOpenWriteOnly, writes = access != kOpenReadOnly;
  const bool non_blocking = (flags & kOpenNonBlocking) != 0;
  const u64 known_inode = inode_of(m, file);
  const bool known = known_inode != 0 && word(m, known_inode + kInodePipe) != 0;
  const u64 known_pipe = known ? pipe_of_fifo(m, known_inode) : 0;
  const u32 number = known ? (u32)word(m, known_inode + kInodePipe) - 1 : free_object(m);
  const NewOpening made = find_opening(m);
  if (made.error < 0) return answer(made.error);
  if (number >= kMostObjects) return error(kENFILE);
  const bool others_read = known && has_readers(m, known_pipe), others_write = known && has_writers(m, known_pipe);
  if (!reads && non_blocking && !others_read) return error(kENXIO);
  // How often the other end was opened when this call began to wait, and 1; 0: it has not waited.
  const bool has_waited = is_made_again(m) && has_table(m) && wait_state(m) != WaitState::none;
  const u64 counted = has_waited ? head(m, current_thread(m), kHeadBits) : 0;
  const u64 count = known ? word(m, known_pipe + (reads ? kPipeWritersMade : kPipeReadersMade)) : 0;
  const bool came = counted != 0 && counted != count + 1;
  const bool waits = !non_blocking && reads != writes && !(reads ? others_write : others_read) && !came;
  const bool is_fresh = !known || word(m, known_pipe + kPipeSlots) == 0;
  // Bytes for somebody who did not come.
  const bool is_stale = !is_fresh && word(m, known_pipe) == 1 && !others_read && !others_write && !came;
  const u64 slots = is_fresh || is_stale ? slots_for_new(m) : 0;
  if ((is_fresh || is_stale) && slots == 0) return error(kENFILE);
  const Wait wait = waits ? wait_until_ready(m) : Wait{WaitEnd::never, 0};
  if (waits && !own_wait(m)) return again();
  Plan plan;
  if (!own_new_opening(m, made) || !own_word(m, kReservedBuffers) || !plan_raise_file(m, plan, file)) return again();
  if (known ? !own_pipe(m, known_pipe) : !own_object(m, number)) return again();
  if (has_threads(m) && !own_heads(m)) return again();
  const Storing secured = secure(m, plan);
  if (secured != Storing::allowed) return secured == Storing::again ? again() : error(kENOSPC);
  u64 pipe = known_pipe;
  if (!known) {
    pipe = make_object(m, number, Kind::pipe);
    set_word(m, pipe + kPipeFile, (u64)file + 1);
    set_word(m, raise_file(m, file) + kInodePipe, (u64)number + 1);
  }
  if (is_stale) empty_pipe(m, pipe);
  if (waits) {
    const u64 event = pipe + (reads ? kOpensToRead : kOpensToWrite);
    return wait_here(m, wait, event, 0, count + 1);
  }
  if (slots != 0) {
    set_word(m, pipe + kPipeSlots, slots);
    reserve_buffers(m, buffers_for(slots));
  }
  const auto add = [&](u32 part) { set_word(m, pipe + part, word(m, pipe + part) + 1); };
  add(kObjectHolders);
  if (reads) {
    add(kPipeReaders);
    add(kPipeReadersMade);
  }
  if (writes) {
    add(kPipeWriters);
    add(kPipeWritersMade);
  }
  note_end(m, pipe);
  if (has_threads(m) && writes) wake_events(m, pipe + kOpensToRead);
  if (has_threads(m) && reads) wake_events(m, pipe + kOpensToWrite);
  const u64 position = reads && !writes && !others_write && !came ? word(m, pipe + kPipeWritersMade) + 1 : 0;
  return finish_opening(m, made, opened_object(Kind::pipe, number, flags), closes_on_exec, position, folder);
}

}  // namespace myriarm::kernel
