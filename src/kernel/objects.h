// SPDX-License-Identifier: Apache-2.0
// What is behind openings that are no files: pipes, timers, sets of descriptors that are watched. An object is a record of 256
// bytes behind the openings, in the order in which they were made, and counts the openings that refer to it. Openings of several
// descriptors, and of several processes, may refer to one.
#pragma once

#include "kernel/guest_time.h"
#include "kernel/layer.h"
#include "kernel/openings.h"
#include "kernel/threads.h"

namespace myriarm::kernel {

/// Words that all objects begin with: the openings that refer to it, 0 if it is free; its number among all that were made; when it
/// was made, in nanoseconds of guest time; its Kind.
enum ObjectWord : u32 { kObjectHolders = 0, kObjectNumber = 8, kObjectTime = 16, kObjectKind = 24 };
constexpr u32 kObjectOwn = 32, kObjectBytes = 256;  // where the words of its kind begin; of a record
/// What inode numbers of objects begin at, for the guest.
constexpr u64 kFirstObjectNumber = (u64)1 << 31;
/// The inode number of openings whose objects have none of their own.
constexpr u64 kNamelessNumber = 9;

MYR_FN u64 object_at(u32 number) { return kObjects + (u64)number * kObjectBytes; }
template <MemoryMachine M>
MYR_FN u32 object_count(const M& m) {
  return (u32)lesser(word(m, kObjectCount), kMostObjects);
}
/// The first free object from `lowest` on; kMostObjects if there is none.
template <MemoryMachine M>
MYR_OUTLINE u32 free_object(const M& m, u32 lowest = 0) {
  const u32 count = object_count(m);
  u32 number = lowest;
  while (number < count && word(m, object_at(number)) != 0) number++;
  return number;
}
/// To be called, and to have returned true, before make_object().
template <MemoryMachine M>
MYR_FN bool own_object(M& m, u32 number) {
  return own_word(m, kObjectCount) && own_word(m, object_at(number));
}
/// Makes a free object one of zeros, to which one opening refers. Returns where it lies.
template <Machine M>
MYR_FN u64 make_object(M& m, u32 number, Kind kind) {
  const u64 at = object_at(number), made = word(m, kObjectsMade) + 1;
  for (u32 i = 0; i < kObjectBytes; i += 8) set_word(m, at + i, 0);
  set_word(m, at + kObjectHolders, 1);
  set_word(m, at + kObjectNumber, made);
  set_word(m, at + kObjectTime, nanoseconds(m));
  set_word(m, at + kObjectKind, (u64)kind);
  set_word(m, kObjectsMade, made);
  if (number >= object_count(m)) set_word(m, kObjectCount, number + 1);
  return at;
}

// ---- those who wait for an object: its place is the number of their event

/// To be called, and to have returned true, before an object changes for which threads may wait.
template <Machine M>
MYR_FN bool own_object_changes(M& m, u64 object) {
  return own_word(m, object) && (!has_threads(m) || own_heads(m));
}
/// An object has changed.
template <Machine M>
MYR_FN void note_change(M& m, u64 object) {
  if (has_threads(m)) wake_events(m, object);
}

// ---- pages of the layer that are kept for buffers

template <MemoryMachine M>
MYR_FN u64 free_buffers(const M& m) {
  return kBufferPages - lesser(kBufferPages, word(m, kReservedBuffers));
}
/// After own_word(kReservedBuffers).
template <MemoryMachine M>
MYR_FN void reserve_buffers(M& m, u64 pages) {
  set_word(m, kReservedBuffers, word(m, kReservedBuffers) + pages);
}
template <MemoryMachine M>
MYR_FN void release_buffers(M& m, u64 pages) {
  const u64 reserved = word(m, kReservedBuffers);
  set_word(m, kReservedBuffers, reserved - lesser(reserved, pages));
}

}  // namespace myriarm::kernel
