// SPDX-License-Identifier: Apache-2.0
// Locks of files, advisory ones: flock(2), and fcntl(2) with F_SETLK and F_OFD_SETLK. The processes of a lane have one table of
// them, in a page of its own, of which the first record counts the others. As on Linux, locks of flock() and of fcntl() do not
// see each other, a process lets go of its records of a file with each descriptor of the file that it closes, and an opening of
// its locks when its last descriptor is closed.
#pragma once

#include "kernel/fifos.h"

namespace myriarm::kernel {

/// Words of a lock: file + 1, above it its LockKind, and whether it is for writing; who has it; its first byte and its last one.
enum FileLockWord : u32 { kFileLockWhat = 0, kFileLockOwner = 8, kFileLockBegin = 16, kFileLockLast = 24 };
enum class LockKind : u8 {
  whole,       // of a file, which an opening has: flock()
  of_process,  // of a record: F_SETLK
  of_opening,  // the same: F_OFD_SETLK
};
/// `owner`: the id of a process, or the number of an opening among all that were made.
struct FileLock {
  u32 file;
  LockKind kind;
  bool writes;
  u64 owner, begin, last;

  MYR_FN bool has_same_owner(const FileLock& other) const {
    return file == other.file && kind == other.kind && owner == other.owner;
  }
  MYR_FN bool overlaps(const FileLock& other) const { return begin <= other.last && other.begin <= last; }
  /// Whether nothing lies between them.
  MYR_FN bool touches(const FileLock& other) const { return begin <= other.last + 1 && other.begin <= last + 1; }
  MYR_FN bool keeps_from(const FileLock& other) const {
    return file == other.file && (kind == LockKind::whole) == (other.kind == LockKind::whole) &&
           !has_same_owner(other) && (writes || other.writes) && overlaps(other);
  }
};
static_assert(kFileLocks % kPageSize == 0 && (1 + kMostFileLocks) * kFileLockBytes <= kPageSize, "own_file_locks()");
constexpr u64 kLastByte = ((u64)1 << 63) - 1;
constexpr u32 kNoLock = ~(u32)0;
/// What a thread waits for that waits for a lock, any one; the bits of its wait are the process that has it, or this.
constexpr u64 kLockEvent = kFileLocks, kLockOfNoProcess = (u64)1 << 63;

MYR_FN u64 file_lock_word(u32 number, FileLockWord part) {
  return kFileLocks + (u64)(number + 1) * kFileLockBytes + part;
}
template <MemoryMachine M>
MYR_FN u32 file_lock_count(const M& m) {
  return (u32)lesser(word(m, kFileLocks), kMostFileLocks);
}
template <MemoryMachine M>
MYR_FN FileLock file_lock(const M& m, u32 number) {
  const u64 what = word(m, file_lock_word(number, kFileLockWhat));
  return {(u32)what - 1,
          (LockKind)(what >> 32 & 3),
          (what >> 34 & 1) != 0,
          word(m, file_lock_word(number, kFileLockOwner)),
          word(m, file_lock_word(number, kFileLockBegin)),
          word(m, file_lock_word(number, kFileLockLast))};
}
/// The lock, one with the lowest first byte, that keeps another from being granted; kNoLock.
template <MemoryMachine M>
MYR_OUTLINE u32 find_hindrance(const M& m, const FileLock& wanted) {
  u32 found = kNoLock;
  u64 begin = 0;
  for (u32 number = file_lock_count(m); number-- > 0;) {
    const FileLock lock = file_lock(m, number);
    if (!lock.keeps_from(wanted) || (found != kNoLock && lock.begin > begin)) continue;
    found = number;
    begin = lock.begin;
  }
  return found;
}

// Changes.

/// To be called, and to have returned true, before locks change.
template <Machine M>
MYR_FN bool own_file_locks(M& m) {
  return own_word(m, kFileLocks) && (!has_threads(m) || own_heads(m));
}
template <Machine M>
MYR_OUTLINE void set_file_lock(M& m, u32 number, const FileLock& lock) {
  const u64 what = ((u64)lock.file + 1) | (u64)lock.kind << 32 | (u64)lock.writes << 34;
  set_word(m, file_lock_word(number, kFileLockWhat), what);
  set_word(m, file_lock_word(number, kFileLockOwner), lock.owner);
  set_word(m, file_lock_word(number, kFileLockBegin), lock.begin);
  set_word(m, file_lock_word(number, kFileLockLast), lock.last);
}
/// There is room for one more.
template <Machine M>
MYR_FN void add_file_lock(M& m, const FileLock& lock) {
  const u32 count = file_lock_count(m);
  set_file_lock(m, count, lock);
  set_word(m, kFileLocks, count + 1);
}
/// The last one takes its place.
template <Machine M>
MYR_FN void remove_file_lock(M& m, u32 number) {
  const u32 last = file_lock_count(m) - 1;
  if (number != last) set_file_lock(m, number, file_lock(m, last));
  set_word(m, kFileLocks, last);
}
/// Those who wait for locks look again.
template <Machine M>
MYR_FN void note_freed_locks(M& m) {
  if (has_threads(m)) wake_events(m, kLockEvent);
}

/// To be called, and to have returned true, before leave_locks().
template <Machine M>
MYR_FN bool own_locks_to_leave(M& m) {
  return word(m, kFileLocks) == 0 || own_file_locks(m);
}
/// The process that runs closes a descriptor of an opening, the last one or not.
template <Machine M>
MYR_OUTLINE void leave_locks(M& m, u32 stream, bool is_last) {
  u32 file;
  if (!file_of(m, opened_at(m, (i32)stream), file)) return;
  const u64 opening = word(m, opening_word(stream - kFirstOpening, kOpeningSerial)), process = process_id(m);
  bool freed = false;
  for (u32 number = file_lock_count(m); number-- > 0;) {
    const FileLock lock = file_lock(m, number);
    const bool is_of_process = lock.kind == LockKind::of_process;
    if (lock.file != file || lock.owner != (is_of_process ? process : opening) || !(is_of_process || is_last)) continue;
    remove_file_lock(m, number);
    freed = true;
  }
  if (freed) note_freed_locks(m);
}

namespace detail_of_locks {

/// Gives an owner its lock of a record, or with `frees` takes away what it has there. False: there is no room for another
/// lock, and nothing has changed.
template <Machine M>
MYR_OUTLINE bool change_record(M& m, const FileLock& wanted, bool frees) {
  const auto merges = [&](const FileLock& lock) {
    return !frees && lock.writes == wanted.writes && lock.touches(wanted);
  };
  i64 more = frees ? 0 : 1;
  for (u32 number = file_lock_count(m); number-- > 0;) {
    const FileLock lock = file_lock(m, number);
    if (!lock.has_same_owner(wanted)) continue;
    if (merges(lock)) more--;
    else if (lock.overlaps(wanted)) more += (i64)(lock.begin < wanted.begin) + (i64)(lock.last > wanted.last) - 1;
  }
  if ((i64)file_lock_count(m) + more > (i64)kMostFileLocks) return false;
  FileLock merged = wanted;
  // Each takes a place away before it adds the pieces that are left, and none of these is cut again.
  for (u32 number = file_lock_count(m); number-- > 0;) {
    const FileLock lock = file_lock(m, number);
    if (!lock.has_same_owner(wanted) || !(merges(lock) || lock.overlaps(wanted))) continue;
    remove_file_lock(m, number);
    if (merges(lock)) {
      merged.begin = lesser(merged.begin, lock.begin);
      merged.last = greater(merged.last, lock.last);
      continue;
    }
    FileLock piece = lock;
    piece.last = wanted.begin - 1;
    if (lock.begin < wanted.begin) add_file_lock(m, piece);
    piece = lock;
    piece.begin = wanted.last + 1;
    if (lock.last > wanted.last) add_file_lock(m, piece);
  }
  if (!frees) add_file_lock(m, merged);
  if (frees || !wanted.writes) note_freed_locks(m);
  return true;
}

/// Whether the process that has a lock waits, itself or through others, for one that the process that runs has.
template <Machine M>
MYR_OUTLINE bool waits_for_us(const M& m, u64 process) {
  const u32 slots = thread_slots(m);
  for (u32 step = 0; step < kMostProcesses && process != kLockOfNoProcess; step++) {
    if (process == process_id(m)) return true;
    u64 next = kLockOfNoProcess;
    for (u32 slot = 0; slot < slots && has_processes(m); slot++) {
      if (!is_waiting(m, slot) || head(m, slot, kHeadKey) != wait_key(WaitOn::event, kLockEvent)) continue;
      if (process_part(m, (u32)head(m, slot, kHeadProcess), kRecordProcess) == process) next = head(m, slot, kHeadBits);
    }
    process = next;
  }
  return false;
}

enum LockType : u32 { kReadLock = 0, kWriteLock = 1, kUnlock = 2 };
constexpr u32 kLockBytes = 32;  // struct flock: type and origin, 16 bits each; begin, length; process, 32 bits

/// The bytes that a struct flock in the guest's memory names: an error number, or 0.
template <Machine M>
MYR_OUTLINE i32 find_record(const M& m, u64 address, i32 stream, FileLock& lock) {
  enum Origin : u32 { kBegin = 0, kPosition = 1, kEnd = 2 };
  const u32 origin = load<u16>(m, address + 2);
  if (origin > kEnd) return kEINVAL;
  const u64 from = origin == kBegin      ? 0
                   : origin == kPosition ? word(m, position_word((u32)stream))
                                         : file_status(m, lock.file).size;
  const u64 base = lesser(from, kLastByte);
  const i64 start = (i64)load<u64>(m, address + 8), length = (i64)load<u64>(m, address + 16);
  if (start > 0 && (u64)start > kLastByte - base) return kEOVERFLOW;
  const i64 begin = (i64)base + start;
  if (begin < 0) return kEINVAL;
  if (length > 0 && (u64)length - 1 > kLastByte - (u64)begin) return kEOVERFLOW;
  if (length < 0 && begin + length < 0) return kEINVAL;
  lock.begin = (u64)(length < 0 ? begin + length : begin);
  lock.last = length == 0 ? kLastByte : length > 0 ? (u64)begin + (u64)length - 1 : (u64)begin - 1;
  return 0;
}

/// F_GETLK and F_OFD_GETLK.
template <Machine M>
MYR_OUTLINE Result tell_lock(M& m, u64 address, const FileLock& wanted) {
  const Storing storing = prepare(m, address, kLockBytes);
  if (storing != Storing::allowed) return not_stored(storing);
  const u32 number = find_hindrance(m, wanted);
  store<u16>(m, address, number == kNoLock ? (u16)kUnlock : (u16)file_lock(m, number).writes);
  if (number == kNoLock) return answer(0);
  const FileLock lock = file_lock(m, number);
  store<u16>(m, address + 2, 0);
  store<u64>(m, address + 8, lock.begin);
  store<u64>(m, address + 16, lock.last == kLastByte ? 0 : lock.last - lock.begin + 1);
  store<u32>(m, address + 24, lock.kind == LockKind::of_process ? (u32)lock.owner : ~(u32)0);
  return answer(0);
}

}  // namespace detail_of_locks

enum class LockCall : u8 { tells, sets, waits };
/// fcntl() with a lock of a record.
template <Machine M>
MYR_OUTLINE Result lock_record(M& m, i32 stream, LockKind kind, LockCall call) {
  using namespace detail_of_locks;
  const u64 address = m.argument(2);
  const Opened opened = opened_at(m, stream);
  FileLock wanted = {};
  if (!file_of(m, opened, wanted.file)) return missing();
  if (!readable(m, address, kLockBytes)) return error(kEFAULT);
  const u32 type = load<u16>(m, address);
  if (call == LockCall::tells && type == kUnlock) return error(kEINVAL);
  if (const i32 number = find_record(m, address, stream, wanted); number != 0) return error(number);
  if (type > kUnlock) return error(kEINVAL);
  if (call != LockCall::tells &&
      ((type == kReadLock && !opened.readable()) || (type == kWriteLock && !opened.writable()))) {
    return error(kEBADF);
  }
  if (kind == LockKind::of_opening && load<u32>(m, address + 24) != 0) return error(kEINVAL);
  wanted.kind = kind;
  wanted.writes = type == kWriteLock;
  wanted.owner =
      kind == LockKind::of_process ? process_id(m) : word(m, opening_word((u32)stream - kFirstOpening, kOpeningSerial));
  if (call == LockCall::tells) return tell_lock(m, address, wanted);
  if (!own_file_locks(m)) return again();
  if (const u32 number = find_hindrance(m, wanted); type != kUnlock && number != kNoLock) {
    if (call == LockCall::sets) return error(kEAGAIN);
    const FileLock lock = file_lock(m, number);
    const u64 process = lock.kind == LockKind::of_process ? lock.owner : kLockOfNoProcess;
    if (kind == LockKind::of_process && waits_for_us(m, process)) return error(kEDEADLK);
    return own_wait(m) ? wait_here(m, wait_until_ready(m), kLockEvent, 0, process) : again();
  }
  return change_record(m, wanted, type == kUnlock) ? answer(0) : error(kENOLCK);
}

template <Machine M>
MYR_OUTLINE Result flock(M& m) {
  using namespace detail_of_locks;
  enum Operation : u32 { kShared = 1, kExclusive = 2, kNonBlocking = 4, kFree = 8 };
  const bool waits = ((u32)m.argument(1) & kNonBlocking) == 0;
  const u32 operation = (u32)m.argument(1) & ~(u32)kNonBlocking;
  if (operation != kShared && operation != kExclusive && operation != kFree) return error(kEINVAL);
  const i32 stream = stream_of(m, m.argument(0));
  const Opened opened = opened_at(m, stream);
  if (stream < 0 || opened.path_only()) return error(kEBADF);
  FileLock wanted = {0, LockKind::whole, operation == kExclusive, 0, 0, kLastByte};
  if (!file_of(m, opened, wanted.file)) return answer(0);  // nobody else can open it
  wanted.owner = word(m, opening_word((u32)stream - kFirstOpening, kOpeningSerial));
  u32 own = kNoLock;
  for (u32 number = file_lock_count(m); number-- > 0;) {
    if (file_lock(m, number).has_same_owner(wanted)) own = number;
  }
  const bool has_lock = own != kNoLock;
  if (operation == kFree ? !has_lock : has_lock && file_lock(m, own).writes == wanted.writes) return answer(0);
  if (!own_file_locks(m) || (waits && !own_wait(m))) return again();
  // As on Linux, who has the other kind of lock lets go of it first, whatever becomes of the call.
  if (has_lock) {
    remove_file_lock(m, own);
    note_freed_locks(m);
  }
  if (operation == kFree) return answer(0);
  if (find_hindrance(m, wanted) != kNoLock) {
    return waits ? wait_here(m, wait_until_ready(m), kLockEvent, 0, kLockOfNoProcess) : error(kEAGAIN);
  }
  if (file_lock_count(m) == kMostFileLocks) return error(kENOLCK);
  add_file_lock(m, wanted);
  return answer(0);
}

}  // namespace myriarm::kernel
