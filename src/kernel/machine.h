// SPDX-License-Identifier: Apache-2.0
// What the system calls need of a backend, as a concept: the lane that makes the call, its memory, and what the host has
// given it. A call is a function template over a Machine, as an instruction is one over a Cpu. It is restartable: until
// it returns `answered` or `ended` it has changed nothing that the guest or a later attempt can see, except that pages
// which it is about to write have become the lane's own.
#pragma once

#include "core/cpu.h"
#include "kernel/errno.h"
#include "kernel/process.h"

namespace myriarm::kernel {

enum class Served : u8 {
  answered,  // x0 gets the value
  ended,     // the process has ended; the value is Stop::detail
  again,     // abandoned, and to be made again from the beginning: the machine knows why
  missing,   // not implemented: the host reports it, and it returns ENOSYS
  replaced,  // the lane goes on with the registers that the call has given it; the value is what a trace shows
  waits,     // the thread waits, before its SVC: it makes the call again when it goes on
};
struct Result {
  i64 value;
  Served served;
};
MYR_FN Result answer(i64 value) { return {value, Served::answered}; }
MYR_FN Result error(i32 number) { return {-(i64)number, Served::answered}; }
MYR_FN Result ended(u32 detail) { return {(i64)detail, Served::ended}; }
MYR_FN Result again() { return {0, Served::again}; }
MYR_FN Result missing() { return {-(i64)kENOSYS, Served::missing}; }
MYR_FN Result replaced(i64 shown) { return {shown, Served::replaced}; }
/// Whether a call that was served so gives x0 its value.
MYR_FN bool sets_x0(Served served) { return served == Served::answered || served == Served::missing; }

enum class PageAction : u8 { map, unmap, protect };
/// A change of pages of the guest: `map` makes them pages of zeros with these permissions.
struct PageChange {
  PageAction action;
  u8 permissions;
  u64 begin, end;  // addresses, multiples of the page size, inside the window
};

/// What became of bytes that a process wrote to an output stream.
enum class PutKind : u8 {
  taken,
  refused,      // there is no room for them
  closed,       // nobody reads the stream any more
  interrupted,  // the call ends with what was taken; or if that is nothing, it is to be made again
  again,        // the call is abandoned; what was taken is put out again at the same position
};
struct Put {
  PutKind kind;
  u64 size;  // how many bytes were taken
};

/// What calls need to read and change memory, the guest's and the kernel's pages.
template <class M>
concept MemoryMachine = requires(M& machine, const M& seen, u32 n, u64 value, PageChange change) {
  { seen.facts() } -> detail::Is<const ProcessFacts&>;

  /// Pages by their number in the window, which an address outside it exceeds; the kernel pages begin at guest_pages().
  { seen.page_of(value) } -> detail::Is<u64>;
  { seen.guest_pages() } -> detail::Is<u64>;
  /// A page's entry as it is for this lane, 0 if it is not mapped, and where a byte of the page lies.
  { seen.entry(value) } -> detail::Is<u32>;
  { seen.locate(n, n) } -> detail::Is<u8*>;
  /// Whether the bytes of a page lie together. If not, only those of a granule of 8 do.
  { M::kContiguous } -> detail::Is<const bool&>;

  /// To be called before stores to a mapped page: makes it the lane's own, whatever its permissions. False: the call is
  /// abandoned.
  { machine.own_page(value) } -> detail::Is<bool>;
  /// To be called after stores to an own page of the guest.
  machine.page_written(value);
  /// Makes the change. False: the call is abandoned. A machine may abandon the first attempt of a call at each change, and
  /// make the change then: the next attempt, which asks for the same changes in the same order, passes over those made.
  { machine.change_pages(change) } -> detail::Is<bool>;
};

template <class M>
concept Machine = MemoryMachine<M> && requires(M& machine, const M& seen, u32 n, u64 value, const u64* information) {
  /// The call: w8, x0 to x5, and the instructions that have retired, the SVC included.
  { seen.number() } -> detail::Is<u32>;
  { seen.argument(n) } -> detail::Is<u64>;
  { seen.retired() } -> detail::Is<u64>;
  /// The lane's registers: x0 to x30 and SP by Slot; where it goes on, in a call behind the SVC; N in bit 3 of nzcv, Z 2, C 1,
  /// V 0; halves of the SIMD&FP registers; system registers and the exclusive monitor. A call writes them last.
  { seen.x(n) } -> detail::Is<u64>;
  machine.set_x(n, value);
  { seen.pc() } -> detail::Is<u64>;
  machine.set_pc(value);
  { seen.nzcv() } -> detail::Is<u32>;
  machine.set_nzcv(n);
  { seen.v(n, n) } -> detail::Is<u64>;
  machine.set_v(n, n, value);
  { seen.system(SystemField::fpcr) } -> detail::Is<u64>;
  machine.set_system(SystemField::fpcr, value);
  /// Counts one instruction, which a delivered signal takes: a lane that only takes signals comes to the end of its budget.
  machine.count_delivery();
  /// A signal is delivered, with these 48 bytes of its siginfo_t; it ends the process, or not.
  machine.tell_of_signal(information, true);

  { seen.input() } -> detail::Is<ProcessInput>;
  /// Keeps `size` bytes at `address`, which the lane may read, as output of a stream (1 or 2) from `position` on: what was
  /// kept behind it is dropped.
  { machine.put_out(n, value, value, value) } -> detail::Is<Put>;
};

}  // namespace myriarm::kernel
