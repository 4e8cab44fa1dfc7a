// SPDX-License-Identifier: Apache-2.0
// Pipes, as pipe(7) describes them and as Linux divides them: a pipe has slots, each of which holds up to a page of bytes of one
// write, so that what fits depends on the sizes of the writes. Its pages lie in the layer (layer.h) and are taken when they are
// filled; as many as it has slots are kept for it. Both directions of a pair of sockets are pipes, too.
#pragma once

#include "kernel/buffers.h"
#include "kernel/layer_data.h"
#include "kernel/objects.h"
#include "kernel/waiting.h"

namespace myriarm::kernel {

/// Words of the object.
enum PipeWord : u32 {
  kPipeReaders = kObjectOwn,  // openings that can read
  kPipeWriters = kObjectOwn + 8,
  kPipeSlots = kObjectOwn + 16,  // how many, a power of 2
  kPipeHead = kObjectOwn + 24,   // slots that were ever filled
  kPipeTail = kObjectOwn + 32,   // and emptied
  kPipeTable = kObjectOwn + 40,  // the page of the slots, if they are too many for the object
  kPipeBytes = kObjectOwn + 48,  // in it
  // How often it got bytes, or room, or lost an end: for those who wait for a change (epoll.h).
  kPipeFilled = kObjectOwn + 56,
  kPipeDrained = kObjectOwn + 64,
  kPipeFile = kObjectOwn + 72,  // of a FIFO the file, and 1
  // How often it was opened to read, and to write, by its name.
  kPipeReadersMade = kObjectOwn + 80,
  kPipeWritersMade = kObjectOwn + 88,
  kPipeFirstSlot = 128,
};
constexpr u32 kPipeOwnSlots = (kObjectBytes - kPipeFirstSlot) / 8;
constexpr u32 kPipeUsualSlots = 16, kPipeFewSlots = 2, kPipeMostSlots = 256;  // 1 MiB, as fs.pipe-max-size
static_assert(kPipeUsualSlots <= kPipeOwnSlots);
/// Pipes have the usual size while so many pages are left, then a small one: as with fs.pipe-user-pages-soft.
constexpr u64 kScarceBuffers = 1024;
constexpr u64 kAtomicBytes = kPageSize;  // PIPE_BUF

/// Bytes of a page. A packet is read alone; `goes_on`: it is continued in the next slot; `fixed`: no write adds to it, as to what
/// splice() has put there.
struct Slot {
  u32 page, offset, size;
  bool packet, goes_on, fixed = false;
};
MYR_FN Slot slot_of(u64 value) {
  return {(u32)value,         (u32)(value >> 32) & 0x1FFF, (u32)(value >> 45) & 0x1FFF,
          (value >> 63) != 0, (value >> 62 & 1) != 0,      (value >> 61 & 1) != 0};
}
MYR_FN u64 value_of(const Slot& slot) {
  return slot.page | (u64)slot.offset << 32 | (u64)slot.size << 45 | (u64)slot.packet << 63 | (u64)slot.goes_on << 62 |
         (u64)slot.fixed << 61;
}
/// Where slot n of all that were ever filled lies.
template <MemoryMachine M>
MYR_FN u64 slot_at(const M& m, u64 pipe, u64 n) {
  const u64 table = word(m, pipe + kPipeTable);
  return (table != 0 ? layer_at(table) : pipe + kPipeFirstSlot) + (n & (word(m, pipe + kPipeSlots) - 1)) * 8;
}
template <MemoryMachine M>
MYR_FN Slot slot(const M& m, u64 pipe, u64 n) {
  return slot_of(word(m, slot_at(m, pipe, n)));
}
template <MemoryMachine M>
MYR_FN u64 used_slots(const M& m, u64 pipe) {
  return word(m, pipe + kPipeHead) - word(m, pipe + kPipeTail);
}
template <MemoryMachine M>
MYR_FN u64 free_slots(const M& m, u64 pipe) {
  return word(m, pipe + kPipeSlots) - used_slots(m, pipe);
}
template <Machine M>
MYR_FN void count_change(M& m, u64 object, u32 part) {
  set_word(m, object + part, word(m, object + part) + 1);
  note_change(m, object);
}
/// To be called, and to have returned true, before a pipe changes.
template <Machine M>
MYR_FN bool own_pipe(M& m, u64 pipe) {
  const u64 table = word(m, pipe + kPipeTable);
  return own_object_changes(m, pipe) && (table == 0 || own_word(m, layer_at(table)));
}

// ---- ends

/// Threads that wait in open(2) for the other end of a FIFO wait for these events of its pipe. They count as ends until
/// they go on.
enum FifoEvent : u32 { kOpensToRead = 8, kOpensToWrite = 16 };
template <Machine M>
MYR_OUTLINE bool is_being_opened(const M& m, u64 pipe, FifoEvent event) {
  const u32 slots = thread_slots(m);
  for (u32 slot = 0; slot < slots; slot++) {
    if (slot == current_thread(m) || head(m, slot, kHeadThread) == 0) continue;
    const ThreadState state = thread_state(m, slot);
    if (state != ThreadState::waiting && state != ThreadState::ready) continue;
    if (head(m, slot, kHeadKey) != wait_key(WaitOn::event, pipe + event)) continue;
    if ((WaitState)thread_word(m, slot, kWaitState) != WaitState::none) return true;
  }
  return false;
}
template <Machine M>
MYR_FN bool has_readers(const M& m, u64 pipe) {
  return word(m, pipe + kPipeReaders) != 0 ||
         (word(m, pipe + kPipeFile) != 0 && is_being_opened(m, pipe, kOpensToRead));
}
template <Machine M>
MYR_FN bool has_writers(const M& m, u64 pipe) {
  return word(m, pipe + kPipeWriters) != 0 ||
         (word(m, pipe + kPipeFile) != 0 && is_being_opened(m, pipe, kOpensToWrite));
}

// ---- writing

/// What of so many bytes fits: some behind those of the last slot, the others in new slots. `packets`: each slot is one. `fixed`: so
/// are the new slots, the first of which lacks `skew` bytes of a page.
struct PipePlan {
  u64 merged, size, pages;
  u32 skew = 0;
  bool fixed = false;
};
template <MemoryMachine M>
MYR_OUTLINE PipePlan plan_pipe(const M& m, u64 pipe, u64 size, bool packets, bool merges) {
  const u64 rest = size % kPageSize;
  u64 merged = 0;
  if (merges && !packets && rest != 0 && used_slots(m, pipe) != 0) {
    const Slot last = slot(m, pipe, word(m, pipe + kPipeHead) - 1);
    if (!last.packet && !last.fixed && last.offset + last.size + rest <= kPageSize) merged = rest;
  }
  const u64 wanted = (size - merged + kPageSize - 1) / kPageSize, pages = lesser(wanted, free_slots(m, pipe));
  return {merged, pages == wanted ? size : merged + pages * kPageSize, pages};
}
/// Makes sure of what a plan takes. False: the call is abandoned.
template <Machine M>
MYR_FN bool secure_pipe(M& m, u64 pipe, const PipePlan& plan) {
  if (!own_pipe(m, pipe)) return false;
  if (plan.merged != 0 && !own_word(m, layer_at(slot(m, pipe, word(m, pipe + kPipeHead) - 1).page))) return false;
  return plan.pages == 0 || secure_any(m, plan.pages);
}
/// Puts bytes into a pipe, as was planned. take_from(m, source, at, size) copies its next bytes to a place of the layer.
/// `whole`: they are one packet, however many slots it takes.
template <Machine M, class Source>
MYR_OUTLINE void fill_pipe(M& m, u64 pipe, const PipePlan& plan, bool packets, bool whole, Source& source) {
  u64 head = word(m, pipe + kPipeHead), done = plan.merged;
  if (plan.merged != 0) {
    Slot last = slot(m, pipe, head - 1);
    take_from(m, source, layer_at(last.page) + last.offset + last.size, plan.merged);
    last.size += (u32)plan.merged;
    set_word(m, slot_at(m, pipe, head - 1), value_of(last));
  }
  for (u64 i = 0; i < plan.pages; i++, head++) {
    const u32 page = take_buffer(m), most = kPageSize - (i == 0 ? plan.skew : 0);
    const u32 part = (u32)lesser(most, plan.size - done);
    take_from(m, source, layer_at(page), part);
    done += part;
    const Slot filled = {page, 0, part, packets || whole, whole && done < plan.size, plan.fixed};
    set_word(m, slot_at(m, pipe, head), value_of(filled));
  }
  set_word(m, pipe + kPipeHead, head);
  set_word(m, pipe + kPipeBytes, word(m, pipe + kPipeBytes) + plan.size);
  count_change(m, pipe, kPipeFilled);
}

/// How many bytes the buffers are to hold, and how many of them the guest may access before the first that it may not.
struct Measured {
  u64 wanted, size;
};
template <MemoryMachine M>
MYR_OUTLINE Measured measure(const M& m, const Buffers& buffers, u32 permission) {
  Measured measured = {0, 0};
  for (u32 i = 0; i < buffers.count; i++) {
    const Buffer buffer = buffer_at(m, buffers, i);
    const u64 wanted = lesser(buffer.size, kMostBytes - measured.wanted);
    if (measured.size == measured.wanted) measured.size += accessible(m, buffer.address, wanted, permission);
    measured.wanted += wanted;
  }
  return measured;
}

/// How a call uses a pipe.
struct PipeUse {
  u64 pipe;
  bool non_blocking;
  bool packets;         // each page is a packet
  bool message;         // all of it is one packet
  bool silent = false;  // no SIGPIPE
  bool peeks = false;   // what is read stays
  i32 broken = kEPIPE;  // the error if nobody can read it
  bool ends = true;     // nobody can write any more: the end of the file
};
MYR_FN PipeUse use_of(const Opened& opened) {
  return {object_at(opened.file), opened.non_blocking(), (opened.flags & kOpenDirect) != 0, false};
}
/// The result of a write that nobody can read any more, after `done` bytes.
template <Machine M>
MYR_OUTLINE Result broken_pipe(M& m, const PipeUse& use, u64 done) {
  if (use.broken == kEPIPE && !use.silent) {
    if (!own_signals(m)) return again();
    (void)send_signal(m, Target::thread, signal_information(kSignalPipe, kByUser, sender(m)));
  }
  return done != 0 ? answer((i64)done) : error(use.broken);
}
/// Writes what fits, and waits with what does not; a message goes as a whole.
template <Machine M>
MYR_OUTLINE Result write_pipe(M& m, const PipeUse& use, const Buffers& buffers) {
  const u64 before = word(m, kWaitDone);
  const Measured measured = measure(m, buffers, kPageReadable);
  if (measured.wanted == 0 && !use.message) return answer(0);
  if (!has_readers(m, use.pipe)) return broken_pipe(m, use, before);
  if (measured.size <= before && measured.wanted != 0) return error(kEFAULT);
  if (use.message && measured.wanted > word(m, use.pipe + kPipeSlots) * kPageSize) return error(kEMSGSIZE);
  if (use.message && measured.size != measured.wanted) return error(kEFAULT);
  PipePlan plan = plan_pipe(m, use.pipe, measured.size - before, use.packets || use.message, before == 0);
  if (measured.wanted == 0) plan.pages = lesser(1, free_slots(m, use.pipe));
  const bool fits = measured.wanted == 0 ? plan.pages == 1 : before + plan.size == measured.size;
  if (use.message && !fits) plan = {0, 0, 0};
  const u64 done = before + plan.size;
  const bool waits = !fits && !use.non_blocking;
  if (!fits && done == 0 && !waits) return error(kEAGAIN);
  const Wait wait = waits ? wait_until_ready(m) : Wait{WaitEnd::never, 0};
  if ((waits && !own_wait(m)) || !secure_pipe(m, use.pipe, plan)) return again();
  if (plan.size != 0 || plan.pages != 0) {
    GuestSource source = {buffers, 0, 0};
    take_from(m, source, kSkipped, before);
    fill_pipe(m, use.pipe, plan, use.packets, use.message, source);
  }
  return waits ? wait_here(m, wait, use.pipe, done) : answer((i64)done);
}

// ---- reading

/// The bytes of a pipe that one read may take, as take_in() reads them.
struct PipeContent {
  u64 pipe, size;
};
MYR_FN u64 bytes_behind(const PipeContent& content, u64 position) {
  return content.size - lesser(position, content.size);
}
template <MemoryMachine M>
MYR_OUTLINE void copy_source(M& m, const PipeContent& content, u64 position, u64 address, u64 size) {
  u64 n = word(m, content.pipe + kPipeTail), end = 0;
  for (u64 done = 0; done < size; n++) {
    const Slot from = slot(m, content.pipe, n);
    const u64 begin = end, at = position + done;
    end += from.size;
    if (at >= end) continue;
    const u64 part = lesser(size - done, end - at);
    copy_from_layer(m, address + done, layer_at(from.page) + from.offset + (at - begin), part);
    done += part;
  }
}
/// All bytes in front of the first packet, or that packet.
template <MemoryMachine M>
MYR_OUTLINE PipeContent pipe_content(const M& m, u64 pipe) {
  if (used_slots(m, pipe) == 0) return {pipe, 0};
  u64 n = word(m, pipe + kPipeTail);
  Slot first = slot(m, pipe, n);
  if (!first.packet) {
    u64 size = 0;
    for (; n != word(m, pipe + kPipeHead) && !(first = slot(m, pipe, n)).packet; n++) size += first.size;
    return {pipe, size};
  }
  u64 size = first.size;
  while (first.goes_on) size += (first = slot(m, pipe, ++n)).size;
  return {pipe, size};
}
/// Takes so many bytes out, with `heeds_packets` what a read leaves of a packet too. The pipe must be own, and secure_any(0) have
/// returned true.
template <Machine M>
MYR_OUTLINE void drain_pipe(M& m, u64 pipe, u64 size, bool heeds_packets = true) {
  u64 tail = word(m, pipe + kPipeTail), gone = 0;
  const bool packet = heeds_packets && slot(m, pipe, tail).packet;
  for (bool more = true; more;) {
    Slot first = slot(m, pipe, tail);
    const u32 part = packet ? first.size : (u32)lesser(size, first.size);
    gone += part;
    size -= lesser(size, part);
    if (part == first.size) {
      give_back_buffer(m, first.page);
      tail++;
    } else {
      first.offset += part;
      first.size -= part;
      set_word(m, slot_at(m, pipe, tail), value_of(first));
    }
    more = packet ? first.goes_on : size != 0;
  }
  set_word(m, pipe + kPipeTail, tail);
  set_word(m, pipe + kPipeBytes, word(m, pipe + kPipeBytes) - gone);
  count_change(m, pipe, kPipeDrained);
}
template <Machine M>
MYR_OUTLINE Result read_pipe(M& m, const PipeUse& use, const Buffers& buffers) {
  if (measure(m, buffers, kPageWritable).wanted == 0 && !use.message) return answer(0);
  const PipeContent content = pipe_content(m, use.pipe);
  if (used_slots(m, use.pipe) == 0) {
    if (use.ends && (!has_writers(m, use.pipe) || word(m, use.pipe + kPipeReaders) == 0)) return answer(0);
    if (use.non_blocking) return error(kEAGAIN);
    const Wait wait = wait_until_ready(m);
    return own_wait(m) ? wait_here(m, wait, use.pipe, 0) : again();
  }
  if (!own_pipe(m, use.pipe) || !secure_any(m, 0)) return again();
  const Result result = take_in(m, buffers, content, 0, 0);
  // As on Linux, a message for which there is no place is gone.
  const bool taken = result.value > 0 || (content.size == 0 && result.value == 0) || (use.message && result.value < 0);
  if (result.served == Served::answered && taken && !use.peeks) {
    drain_pipe(m, use.pipe, result.value > 0 ? (u64)result.value : 0);
  }
  return result;
}

// ---- what poll() sees, and size

// clang-format off
enum Event : u32 { kEventReadable = 1, kEventUrgent = 2, kEventWritable = 4, kEventError = 8, kEventHangUp = 16, kEventNotOpen = 32,
                   kEventReadNormal = 64, kEventWriteNormal = 256, kEventReadHangUp = 0x2000 };
// clang-format on
constexpr u32 kEventsIn = kEventReadable | kEventReadNormal, kEventsOut = kEventWritable | kEventWriteNormal;

/// `position` is that of the opening: of a FIFO that was opened to read when nobody wrote, without waiting, how often
/// it had been opened to write, and 1. As long as that is so nobody has hung up.
template <Machine M>
MYR_FN u32 pipe_events(const M& m, const Opened& opened, u64 position) {
  const u64 pipe = object_at(opened.file);
  u32 events = 0;
  if (opened.readable()) {
    if (used_slots(m, pipe) != 0) events |= kEventsIn;
    if (!has_writers(m, pipe) && position != word(m, pipe + kPipeWritersMade) + 1) events |= kEventHangUp;
  }
  if (opened.writable()) {
    if (free_slots(m, pipe) != 0) events |= kEventsOut;
    if (!has_readers(m, pipe)) events |= kEventError;
  }
  return events;
}

/// Gives a pipe other slots. What changes must be own, and a page secured if `slots` are too many for the object.
template <MemoryMachine M>
MYR_OUTLINE void move_slots(M& m, u64 pipe, u64 slots) {
  const u64 table = word(m, pipe + kPipeTable), used = used_slots(m, pipe);
  u64 kept[kPipeOwnSlots];
  const u64 new_table = slots > kPipeOwnSlots ? take_buffer(m) : 0;
  for (u64 i = 0; i < used; i++) {
    const u64 value = word(m, slot_at(m, pipe, word(m, pipe + kPipeTail) + i));
    if (new_table != 0) set_word(m, layer_at(new_table) + i * 8, value);
    else kept[i] = value;
  }
  for (u64 i = 0; i < used && new_table == 0; i++) set_word(m, pipe + kPipeFirstSlot + i * 8, kept[i]);
  if (table != 0) give_back_buffer(m, (u32)table);
  set_word(m, pipe + kPipeTable, new_table);
  set_word(m, pipe + kPipeSlots, slots);
  set_word(m, pipe + kPipeTail, 0);
  set_word(m, pipe + kPipeHead, used);
}
/// The pages that are kept for a pipe with so many slots.
MYR_FN u64 buffers_for(u64 slots) { return slots > kPipeOwnSlots ? slots + 1 : slots; }
/// F_SETPIPE_SZ and F_GETPIPE_SZ.
template <Machine M>
MYR_OUTLINE Result pipe_size(M& m, const Opened& opened, bool sets, u64 size) {
  constexpr u64 kMostSize = (u64)1 << 31;
  if (opened.kind != Kind::pipe) return error(kEBADF);
  const u64 pipe = object_at(opened.file), old = word(m, pipe + kPipeSlots);
  if (!sets) return answer((i64)(old * kPageSize));
  size = (u32)size;
  if (size > kMostSize) return error(kEINVAL);
  u64 slots = 1;
  while (slots * kPageSize < size) slots *= 2;
  if (slots > kPipeMostSlots && slots > old) return error(kEPERM);
  if (slots < used_slots(m, pipe)) return error(kEBUSY);
  const u64 kept = buffers_for(old), wanted = buffers_for(slots);
  if (wanted > kept && wanted - kept > free_buffers(m)) return error(kEPERM);
  if (!own_word(m, kReservedBuffers) || !own_pipe(m, pipe) || !secure_any(m, slots > kPipeOwnSlots ? 1 : 0)) {
    return again();
  }
  move_slots(m, pipe, slots);
  note_change(m, pipe);
  release_buffers(m, kept);
  reserve_buffers(m, wanted);
  return answer((i64)(slots * kPageSize));
}

// ---- making and ending

/// The slots that a new pipe gets; 0 if there is no room for one.
template <MemoryMachine M>
MYR_FN u64 slots_for_new(const M& m) {
  const u64 free = free_buffers(m);
  return free >= kScarceBuffers + kPipeUsualSlots ? kPipeUsualSlots : free >= kPipeFewSlots ? kPipeFewSlots : 0;
}
/// Makes the object of a pipe, to which one reader and one writer refer, after own_object() and own_word(kReservedBuffers).
template <Machine M>
MYR_FN u64 make_pipe(M& m, u32 number, u64 slots) {
  const u64 pipe = make_object(m, number, Kind::pipe);
  set_word(m, pipe + kObjectHolders, 2);
  set_word(m, pipe + kPipeReaders, 1);
  set_word(m, pipe + kPipeWriters, 1);
  set_word(m, pipe + kPipeSlots, slots);
  reserve_buffers(m, buffers_for(slots));
  return pipe;
}
template <Machine M>
MYR_OUTLINE Result pipe2(M& m) {
  const u64 address = m.argument(0);
  const u32 flags = (u32)m.argument(1), kept = flags & (kOpenNonBlocking | kOpenDirect);
  if (flags & ~(kOpenCloseOnExec | kOpenNonBlocking | kOpenDirect)) return error(kEINVAL);
  const u64 slots = slots_for_new(m);
  const u32 number = free_object(m);
  const NewOpening reader = find_opening(m);
  if (slots == 0 || number == kMostObjects) return error(kENFILE);
  const NewOpening writer = find_opening(m, reader.fd + 1, reader.index + 1);
  if (reader.error < 0 || writer.error < 0) return answer(reader.error < 0 ? reader.error : writer.error);
  const Storing storing = prepare(m, address, 8);
  if (storing != Storing::allowed) return not_stored(storing);
  if (!own_new_opening(m, reader) || !own_new_opening(m, writer) || !own_object(m, number)) return again();
  make_pipe(m, number, slots);
  const bool closes = (flags & kOpenCloseOnExec) != 0;
  finish_opening(m, reader, opened_object(Kind::pipe, number, kept | kOpenReadOnly), closes);
  finish_opening(m, writer, opened_object(Kind::pipe, number, kept | kOpenWriteOnly), closes);
  store<u32>(m, address, reader.fd);
  store<u32>(m, address + 4, writer.fd);
  return answer(0);
}

/// An end has come, or gone: whoever waits for bytes or room looks again.
template <Machine M>
MYR_FN void note_end(M& m, u64 pipe) {
  count_change(m, pipe, kPipeFilled);
  count_change(m, pipe, kPipeDrained);
}
/// Opens a pipe anew, with flags of its own, as the link of its descriptor does.
template <Machine M>
MYR_OUTLINE Result open_pipe(M& m, u32 number, u32 flags, bool closes_on_exec) {
  const u64 pipe = object_at(number);
  const u32 access = flags & kOpenAccess;
  const NewOpening made = find_opening(m);
  if (made.error < 0) return answer(made.error);
  if (!own_new_opening(m, made) || !own_pipe(m, pipe)) return again();
  set_word(m, pipe + kObjectHolders, word(m, pipe + kObjectHolders) + 1);
  if (access != kOpenWriteOnly) set_word(m, pipe + kPipeReaders, word(m, pipe + kPipeReaders) + 1);
  if (access != kOpenReadOnly) set_word(m, pipe + kPipeWriters, word(m, pipe + kPipeWriters) + 1);
  note_end(m, pipe);
  return finish_opening(m, made, opened_object(Kind::pipe, number, flags), closes_on_exec);
}

/// To be called, and to have returned true, before leave_pipe().
template <Machine M>
MYR_FN bool own_leaving_pipe(M& m, u64 pipe) {
  const u64 file = word(m, pipe + kPipeFile);
  return own_pipe(m, pipe) && own_word(m, kReservedBuffers) && (!has_layer(m) || secure_any(m, 0)) &&
         (file == 0 || plan_leave(m, (u32)file - 1));
}
/// Gives back what a pipe holds, and what is kept for it.
template <Machine M>
MYR_OUTLINE void empty_pipe(M& m, u64 pipe) {
  for (u64 n = word(m, pipe + kPipeTail); n != word(m, pipe + kPipeHead); n++) {
    give_back_buffer(m, slot(m, pipe, n).page);
  }
  if (word(m, pipe + kPipeTable) != 0) give_back_buffer(m, (u32)word(m, pipe + kPipeTable));
  if (word(m, pipe + kPipeSlots) != 0) release_buffers(m, buffers_for(word(m, pipe + kPipeSlots)));
  set_word(m, pipe + kPipeHead, 0);
  set_word(m, pipe + kPipeTail, 0);
  set_word(m, pipe + kPipeTable, 0);
  set_word(m, pipe + kPipeBytes, 0);
  set_word(m, pipe + kPipeSlots, 0);
}
/// An opening of a pipe ends, that could read or write, or both. A FIFO is also held by its file, and keeps its bytes
/// for those who are about to open it.
template <Machine M>
MYR_OUTLINE void leave_pipe(M& m, u64 pipe, bool reads, bool writes) {
  if (reads) set_word(m, pipe + kPipeReaders, word(m, pipe + kPipeReaders) - 1);
  if (writes) set_word(m, pipe + kPipeWriters, word(m, pipe + kPipeWriters) - 1);
  note_end(m, pipe);
  const u64 holders = word(m, pipe + kObjectHolders) - 1, file = word(m, pipe + kPipeFile);
  set_word(m, pipe + kObjectHolders, holders);
  if (holders != (file != 0)) return;
  if (file == 0 || (!has_readers(m, pipe) && !has_writers(m, pipe))) empty_pipe(m, pipe);
  if (file != 0) drop_file(m, (u32)file - 1);
}

}  // namespace myriarm::kernel
