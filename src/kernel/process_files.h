// SPDX-License-Identifier: Apache-2.0
// The files of /proc/self that tell of the process, see proc(5): each read
// makes the text anew. The tree has them as regular files without bytes, and
// says by MadeFile which they are.
#pragma once

#include "kernel/buffers.h"
#include "kernel/initial_stack.h"
#include "kernel/process_table.h"
#include "kernel/ranges.h"
#include "kernel/signals.h"
#include "kernel/tree.h"

namespace myriarm::kernel {

/// A source of take_in().
struct MadeText {
  MadeFile file;
  u64 size;
};
MYR_FN u64 bytes_behind(const MadeText& text, u64 position) { return text.size - lesser(position, text.size); }

// `Sink` has byte(u8).
namespace detail_of_texts {

struct Count {
  u64 size = 0;
  MYR_FN void byte(u8) { size++; }
};
/// Stores what lies at [from, from + size) of a text in guest memory.
template <MemoryMachine M>
struct Window {
  M& m;
  u64 from, size, address, at = 0;
  MYR_FN void byte(u8 value) {
    if (at >= from && at - from < size) store<u8>(m, address + (at - from), value);
    at++;
  }
};

template <class Sink>
MYR_OUTLINE void put_number(Sink& sink, u64 value, u32 base, u32 digits = 1) {
  u32 most = 1;
  for (u64 rest = value / base; rest != 0; rest /= base) most++;
  for (u32 n = greater(most, digits); n != 0; n--) {
    u64 rest = value;
    for (u32 i = 1; i < n; i++) rest /= base;
    const u32 digit = (u32)(rest % base);
    sink.byte((u8)(digit < 10 ? '0' + digit : 'a' + digit - 10));
  }
}
template <class Sink>
MYR_OUTLINE u32 put_text(Sink& sink, const char* text) {
  u32 size = 0;
  for (; text[size] != 0; size++) sink.byte((u8)text[size]);
  return size;
}
template <class Sink>
MYR_FN void put_line(Sink& sink, const char* name, u64 value, u32 base = 10, u32 digits = 1) {
  put_text(sink, name);
  sink.byte('\t');
  put_number(sink, value, base, digits);
  sink.byte('\n');
}
/// A word of the first thread of the process, of which /proc/self tells,
/// whichever thread asks.
template <MemoryMachine M>
MYR_FN u64 first_thread_word(const M& m, u32 of) {
  const u32 slot = has_table(m) ? find_thread(m, process_id(m)) : kNoThread;
  return slot == kNoThread ? word(m, of) : thread_word(m, slot, of);
}
template <MemoryMachine M, class Sink>
MYR_FN void put_name(const M& m, Sink& sink) {
  for (u32 i = 0; i < kNameBytes; i++) {
    const u8 byte = (u8)(first_thread_word(m, kName + i / 8 * 8) >> i % 8 * 8);
    if (byte == 0) break;
    sink.byte(byte);
  }
}

template <MemoryMachine M, class Sink>
MYR_OUTLINE void put_maps(const M& m, Sink& sink) {
  constexpr u32 kNameColumn = 73;
  const u32 count = range_count(m);
  for (u32 i = 0; i < count; i++) {
    const Range range = range_at(m, i);
    Count before;
    put_number(before, range.begin, 16, 8);
    put_number(before, range.end, 16, 8);
    put_number(sink, range.begin, 16, 8);
    sink.byte('-');
    put_number(sink, range.end, 16, 8);
    sink.byte(' ');
    sink.byte((range.flags & kPageReadable) ? 'r' : '-');
    sink.byte((range.flags & kPageWritable) ? 'w' : '-');
    sink.byte((range.flags & kPageExecutable) ? 'x' : '-');
    sink.byte((range.flags & kSharedMemory) ? 's' : 'p');
    u32 column = (u32)before.size + 6 + put_text(sink, " 00000000 00:00 0 ");
    const bool is_stack = range.end == m.facts().window_end;
    if (is_stack || (range.begin >= word(m, kBreakStart) && range.end <= page_up(word(m, kBreakEnd)))) {
      for (; column < kNameColumn; column++) sink.byte(' ');
      put_text(sink, is_stack ? "[stack]" : "[heap]");
    }
    sink.byte('\n');
  }
}

template <MemoryMachine M, class Sink>
MYR_OUTLINE void put_status(const M& m, Sink& sink) {
  u64 ignored = 0, caught = 0;
  for (u32 signal = 1; signal <= kMostSignals; signal++) {
    const u64 handler = word(m, action_word(signal));
    if (handler == kIgnoreAction) ignored |= signal_bit(signal);
    else if (handler != kDefaultAction) caught |= signal_bit(signal);
  }
  put_text(sink, "Name:\t");
  put_name(m, sink);
  sink.byte('\n');
  put_line(sink, "Umask:", word(m, kModeMask), 8, 4);
  put_text(sink, "State:\tR (running)\n");
  const u64 id = process_id(m);
  put_line(sink, "Tgid:", id);
  put_line(sink, "Ngid:", 0);
  put_line(sink, "Pid:", id);
  put_line(sink, "PPid:", own_part(m, kProcessParent, kParentId));
  put_line(sink, "TracerPid:", 0);
  for (const char* name : {"Uid:", "Gid:"}) {
    put_text(sink, name);
    for (u32 i = 0; i < 4; i++) {
      sink.byte('\t');
      put_number(sink, kUserId, 10);
    }
    sink.byte('\n');
  }
  put_line(sink, "Threads:", greater(word(m, kProcessThreads), 1));
  constexpr u32 kDigits = 16;
  put_line(sink, "SigPnd:", first_thread_word(m, kPending), 16, kDigits);
  put_line(sink, "ShdPnd:", word(m, kPendingShared), 16, kDigits);
  put_line(sink, "SigBlk:", first_thread_word(m, kBlocked), 16, kDigits);
  put_line(sink, "SigIgn:", ignored, 16, kDigits);
  put_line(sink, "SigCgt:", caught, 16, kDigits);
  for (const char* name : {"CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:"}) put_line(sink, name, 0, 16, kDigits);
  put_line(sink, "NoNewPrivs:", 0);
}

/// Guest memory from `begin` to `end`, up to what cannot be read.
template <MemoryMachine M, class Sink>
MYR_OUTLINE void put_memory(const M& m, Sink& sink, u64 begin, u64 end) {
  if (end <= begin) return;
  const u64 size = accessible(m, begin, end - begin, kPageReadable);
  for (u64 i = 0; i < size; i++) sink.byte(load<u8>(m, begin + i));
}

/// Where the parts of the stack lie on which the program began, as far as it
/// still says so.
struct FirstStack {
  u64 arguments, variables, variables_end, auxiliary;
};
template <MemoryMachine M>
MYR_OUTLINE FirstStack first_stack(const M& m) {
  const u64 end = m.facts().window_end, begin = end - m.facts().stack_bytes;
  const auto value = [&](u64 at) { return at >= begin && at <= end - 8 && readable(m, at, 8) ? load<u64>(m, at) : 0; };
  FirstStack stack = {};
  const u64 pointer = value(stack_pointer_place(end)), count = value(pointer);
  if (pointer < begin || pointer > end || count > (end - pointer) / 8) return stack;
  u64 at = pointer + 8 * (count + 2);
  stack.arguments = value(pointer + 8);
  stack.variables = value(at);
  while (at < end && value(at) != 0) at += 8;
  stack.auxiliary = at + 8;
  constexpr u64 kFileName = 31;
  for (at = stack.auxiliary; at < end && value(at) != 0; at += 16) {
    if (value(at) == kFileName) stack.variables_end = value(at + 8);
  }
  // One that does not lie with the others, or none: they end where they would
  // begin.
  if (stack.variables == 0 || stack.variables > stack.variables_end) stack.variables = stack.variables_end;
  return stack;
}

template <MemoryMachine M, class Sink>
MYR_OUTLINE void put_made(const M& m, MadeFile file, Sink& sink) {
  const FirstStack stack = first_stack(m);
  switch (file) {
    case MadeFile::maps: return put_maps(m, sink);
    case MadeFile::status: return put_status(m, sink);
    case MadeFile::name: put_name(m, sink); return sink.byte('\n');
    case MadeFile::arguments: return put_memory(m, sink, stack.arguments, stack.variables);
    case MadeFile::environment: return put_memory(m, sink, stack.variables, stack.variables_end);
    case MadeFile::auxiliary: return put_memory(m, sink, stack.auxiliary, stack.auxiliary + kAuxiliaryPairs * 16);
    default: return;
  }
}

}  // namespace detail_of_texts

template <MemoryMachine M>
MYR_OUTLINE MadeText made_text(const M& m, MadeFile file) {
  detail_of_texts::Count count;
  detail_of_texts::put_made(m, file, count);
  return {file, count.size};
}
template <MemoryMachine M>
MYR_OUTLINE void copy_source(M& m, const MadeText& text, u64 position, u64 address, u64 size) {
  detail_of_texts::Window<M> window{m, position, size, address};
  detail_of_texts::put_made(m, text.file, window);
}

}  // namespace myriarm::kernel
