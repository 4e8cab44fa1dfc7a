// SPDX-License-Identifier: Apache-2.0
// The files of /proc/self that tell of the process, see proc(5): each read makes the text anew, as it makes those that tell of the
// system (system_files.h). The tree has them as regular files without bytes, and says by MadeFile which they are.
#pragma once

#include "kernel/buffers.h"
#include "kernel/initial_stack.h"
#include "kernel/made_text.h"
#include "kernel/process_table.h"
#include "kernel/ranges.h"
#include "kernel/signals.h"
#include "kernel/system_files.h"
#include "kernel/tree.h"

namespace myriarm::kernel {

/// A source of take_in().
struct MadeText {
  MadeFile file;
  u64 size;
};
MYR_FN u64 bytes_behind(const MadeText& text, u64 position) { return text.size - lesser(position, text.size); }

namespace detail_of_texts {

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

/// What is mapped, in pages.
template <MemoryMachine M>
MYR_OUTLINE u64 mapped_pages(const M& m) {
  const u32 count = range_count(m);
  u64 pages = 0;
  for (u32 i = 0; i < count; i++) pages += (range_at(m, i).end - range_at(m, i).begin) >> kPageBits;
  return pages;
}
/// What is in memory is not told apart from what is mapped.
template <MemoryMachine M, class Sink>
MYR_FN void put_sizes(const M& m, Sink& sink) {
  const u64 pages = mapped_pages(m);
  put_number(sink, pages, 10);
  sink.byte(' ');
  put_number(sink, pages, 10);
  put_text(sink, " 0 0 0 ");
  put_number(sink, pages, 10);
  put_text(sink, " 0\n");
}
/// The 52 fields of /proc/self/stat.
template <MemoryMachine M, class Sink>
MYR_OUTLINE void put_process_statistics(const M& m, Sink& sink) {
  enum Field : u32 {
    kParent = 4,
    kGroup = 5,
    kSession = 6,
    kForeground = 8,
    kUserTime = 14,
    kChildrenTime = 16,
    kPriority = 18,
    kThreadCount = 20,
    kSize = 23,
    kInMemory = 24,
    kMostInMemory = 25,
    kDeathSignal = 38,
    kFields = 52
  };
  constexpr u64 kUsualPriority = 20;
  put_number(sink, process_id(m), 10);
  put_text(sink, " (");
  put_name(m, sink);
  put_text(sink, ") R");
  for (u32 field = kParent; field <= kFields; field++) {
    u64 value = 0;
    switch (field) {
      case kParent: value = own_part(m, kProcessParent, kParentId); break;
      case kGroup: value = own_part(m, kProcessGroup, kProcessId); break;
      case kSession: value = own_part(m, kProcessSession, kProcessId); break;
      case kUserTime: value = process_time(m) / kTick; break;
      case kChildrenTime: value = word(m, kChildrenRan) / kTick; break;
      case kPriority: value = kUsualPriority; break;
      case kThreadCount: value = greater(word(m, kProcessThreads), 1); break;
      case kSize: value = mapped_pages(m) << kPageBits; break;
      case kInMemory: value = mapped_pages(m); break;
      case kMostInMemory: value = ~(u64)0; break;
      case kDeathSignal: value = kSignalChild; break;
      default: break;
    }
    put_text(sink, field == kForeground ? " -" : " ");
    put_number(sink, field == kForeground ? 1 : value, 10);
  }
  sink.byte('\n');
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
  constexpr u64 kNoUser = 0xFFFFFFFF;
  if (put_system_file(m, file, sink)) return;
  const FirstStack stack = first_stack(m);
  switch (file) {
    case MadeFile::maps: return put_maps(m, sink);
    case MadeFile::status: return put_status(m, sink);
    case MadeFile::name: put_name(m, sink); return sink.byte('\n');
    case MadeFile::arguments: return put_memory(m, sink, stack.arguments, stack.variables);
    case MadeFile::environment: return put_memory(m, sink, stack.variables, stack.variables_end);
    case MadeFile::auxiliary: return put_memory(m, sink, stack.auxiliary, stack.auxiliary + kAuxiliaryPairs * 16);
    case MadeFile::process_statistics: return put_process_statistics(m, sink);
    case MadeFile::process_sizes: return put_sizes(m, sink);
    case MadeFile::login_user: return put_number(sink, kNoUser, 10);
    case MadeFile::control_group: put_text(sink, "0::/\n"); return;
    case MadeFile::memory_score: return put_number_line(sink, 0);
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
