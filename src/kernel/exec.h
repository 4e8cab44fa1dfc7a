// SPDX-License-Identifier: Apache-2.0
// execve(2): the process gets another program. That is made in a new address space, which takes the place of the process's own once
// nothing can fail any more; pages of files are common to all lanes, as those of mmap() are.
#pragma once

#include "core/system/features.h"
#include "kernel/elf_file.h"
#include "kernel/initial_stack.h"
#include "kernel/layer_data.h"
#include "kernel/memory_calls.h"
#include "kernel/process_calls.h"
#include "kernel/random_stream.h"
#include "kernel/script_line.h"
#include "kernel/tree_paths.h"

namespace myriarm::kernel {

constexpr u64 kMostArgumentBytes = 131072;

/// FileBytes.
template <MemoryMachine M>
struct ContentBytes {
  const M& m;
  const Content& content;
  MYR_FN u64 size() const { return content.size; }
  MYR_FN u8 byte(u64 at) const { return content_byte(m, content, at); }
};
struct ExecFile : ElfFile {
  Content content;
};

/// A text that becomes an argument: `size` bytes of a file, or of guest memory.
struct ExecText {
  bool in_file;
  Content file;
  u64 at, size;
};

/// A path that is text of a file.
template <MemoryMachine M>
struct NamesFromFile : LaneNames<M> {
  const ExecText& text;
  MYR_FN u8 path_byte(u64 at) const { return content_byte(this->m, text.file, text.at + at); }
};

/// Whether a file may be executed: its content, or an error, negative.
template <MemoryMachine M>
MYR_OUTLINE i64 executable_content(const M& m, u32 file, Content& content) {
  const FileStatus status = file_status(m, file);
  if (type_of(status) == kLink) return -kELOOP;
  if (type_of(status) != kRegular || !may(m, status, kMayExecute)) return -kEACCES;
  const u32 count = opening_count(m);
  for (u32 i = 0; i < count; i++) {
    const i32 stream = (i32)(kFirstOpening + i);
    if (!is_open(m, i)) continue;
    const Opened opened = opened_at(m, stream);
    if (opened.in_tree && opened.file == file && opened.writable()) return -kETXTBSY;
  }
  return content_of(m, file, content) ? 0 : -(i64)kEIO;
}

/// The file that a text of a file leads to; or an error, negative.
template <MemoryMachine M>
MYR_OUTLINE i64 find_named(const M& m, const ExecText& text, Walked& walked) {
  if (text.size == 0) return -kENOENT;
  const NamesFromFile<M> names{{m, 0}, text};
  walk(names, (u32)word(m, kWorkingFolder), (u32)text.size, kFollowsLast, walked);
  return walked.file;
}

/// All that is known before the new space is made.
struct ExecPlan {
  ExecFile program, loader;
  bool has_loader;
  u32 prefixes;  // texts that come before the arguments, the last one first
  ExecText prefix[2 * kDeepestScript + 3];
  ExecText name;  // as the call has it
  u32 file;
  Walked walked;               // where that is
  u64 arguments, environment;  // addresses of the guest's arrays; 0: empty
  u64 argument_count, variable_count;
  u64 argument_bytes, variable_bytes;  // with NULs, those of `prefix` included
};

/// The strings of an array of the guest: how many, from `first` on, and their bytes with the NULs; or an error, negative.
template <MemoryMachine M>
MYR_OUTLINE i64 measure_strings(const M& m, u64 array, u64 first, u64 most, u64& count, u64& bytes) {
  count = bytes = 0;
  for (u64 i = 0; array != 0; i++) {
    const u64 at = array + i * 8;
    if (at < array || !readable(m, at, 8)) return -kEFAULT;
    const u64 text = load<u64>(m, at);
    if (text == 0) break;
    if (i < first) continue;
    u64 size = 0;
    while (true) {
      const u64 known = accessible(m, text + size, kPageSize - offset_in_page(text + size), kPageReadable);
      if (known == 0) return -kEFAULT;
      u64 part = 0;
      while (part < known && load<u8>(m, text + size + part) != 0) part++;
      size += part;
      if (part < known) break;
      if (size >= kMostArgumentBytes) return -kE2BIG;
    }
    if (size >= kMostArgumentBytes) return -kE2BIG;
    count++;
    bytes += size + 1;
    if (bytes + count * 8 > most) return -kE2BIG;
  }
  return 0;
}

/// Reads `file.content`.
template <MemoryMachine M>
MYR_FN bool read_program(const M& m, ExecFile& file) {
  return read_elf(ContentBytes<M>{m, file.content}, file).fault == ElfFault::none;
}

/// Finds the program behind scripts, and its loader. Returns 0 or an error, negative.
template <MemoryMachine M>
MYR_OUTLINE i64 find_program(const M& m, ExecPlan& plan) {
  for (u32 depth = 0;; depth++) {
    if (depth > kDeepestScript) return -kELOOP;
    if (const i64 refused = executable_content(m, plan.file, plan.program.content); refused < 0) return refused;
    const Content file = plan.program.content;
    if (!is_script(ContentBytes<M>{m, file})) break;
    ScriptLine line;
    if (!script_line(ContentBytes<M>{m, file}, line)) return -kENOEXEC;
    const ExecText interpreter = {true, file, line.program, line.program_size};
    const ExecText argument = {true, file, line.argument, line.argument_size};
    if (depth == 0) plan.prefix[plan.prefixes++] = plan.name;
    if (argument.size != 0) plan.prefix[plan.prefixes++] = argument;
    plan.prefix[plan.prefixes++] = interpreter;
    const i64 found = find_named(m, interpreter, plan.walked);
    if (found < 0) return found;
    plan.file = (u32)found;
  }
  if (!read_program(m, plan.program)) return -kENOEXEC;
  const ProcessFacts& facts = m.facts();
  const bool is_low = kLowestProgram >= facts.window_end || plan.program.highest > facts.window_end - kLowestProgram;
  if (!place_elf(plan.program, is_low ? facts.window_begin : kLowestProgram)) return -kENOEXEC;
  plan.has_loader = plan.program.loader_size != 0;
  if (!plan.has_loader) return 0;
  const ExecText path = {true, plan.program.content, plan.program.loader_at, plan.program.loader_size - 1};
  Walked walked;
  const i64 found = find_named(m, path, walked);
  if (found < 0) return found;
  if (const i64 refused = executable_content(m, (u32)found, plan.loader.content); refused < 0) return refused;
  if (!read_program(m, plan.loader) || !plan.loader.moves || !place_elf(plan.loader, plan.program.end()))
    return -kELIBBAD;
  return 0;
}

/// A segment of a file that is loaded.
struct LoadedSegment {
  u64 address, size, file_size;
  u64 offset;         // in the file
  u64 begin, behind;  // its pages
  u64 from;           // the first of these that no segment before it has a part of
  u32 permissions;

  MYR_FN u64 data_end() const { return address + file_size; }
};
/// Calls `visit(segment)` for each, until it returns something else than 0, which is returned.
template <MemoryMachine M, class Visit>
MYR_FN i64 visit_loaded(const M& m, const ExecFile& elf, Visit visit) {
  u64 mapped = 0;  // up to here
  for (u32 i = 0; i < elf.headers; i++) {
    const ElfSegment s = elf_segment(ContentBytes<M>{m, elf.content}, elf, i);
    if (s.type != kSegmentLoad || s.size == 0) continue;
    const u64 address = elf.bias + s.address, begin = page_down(address), behind = page_up(address + s.size);
    const LoadedSegment loaded = {address,      s.size, s.file_size, s.offset, begin, behind, greater(begin, mapped),
                                  s.permissions};
    if (const i64 ends = visit(loaded); ends != 0) return ends;
    if (s.permissions != 0) mapped = behind;
  }
  return 0;
}

/// Maps what a file has loaded, and makes own what copy_elf() is to fill. -ENOMEM: there is no room; 1: abandoned. Nothing is copied
/// here, since each attempt of the call begins anew.
template <Machine M>
MYR_OUTLINE i64 map_elf(M& m, const ExecFile& elf, u64 end) {
  return visit_loaded(m, elf, [&](const LoadedSegment& s) -> i64 {
    if (s.begin < m.facts().window_begin || s.behind > end) return -kENOMEM;
    if (s.permissions == 0) return 0;
    u32 permissions = s.permissions;
    if (s.from > s.begin) {  // the page has a part of the segment before as well
      Range before;
      if (find_range(m, s.begin, before)) permissions |= before.permissions();
      if (!own_ranges(m, s.begin) || !m.change_pages({PageAction::protect, (u8)permissions, s.begin, s.from})) return 1;
      protect_range(m, s.begin, s.from, permissions);
    }
    if (!own_ranges(m, s.from)) return 1;
    if (s.from < s.behind && !map_pages(m, s.from, s.behind, s.permissions)) return 1;
    map_range(m, s.from, s.behind, s.permissions);
    // Whole pages of the file are common to all lanes, the others are copied. Where no zeros follow, Linux shows the file's bytes.
    const bool fits =
        offset_in_page(s.address) == offset_in_page(s.offset) && elf.content.tree.page == 0 && s.file_size != 0;
    u64 copied = s.begin;
    if (fits && s.from == s.begin) {
      const u64 offset = page_down(s.offset), in_file = elf.content.below.size - offset;
      const u64 whole = s.size == s.file_size ? page_up(s.data_end()) - s.begin : page_down(s.data_end()) - s.begin;
      const u64 bytes = lesser(whole, in_file);
      const bool ends = bytes == in_file || bytes % kPageSize == 0;
      if (bytes != 0 && ends && share_pages(m, s.begin, s.permissions, {elf.content.below.data + offset, bytes})) {
        copied += page_up(bytes);
      }
    }
    if (s.file_size == 0 || copied >= s.data_end()) return 0;
    return own_pages(m, copied, page_up(s.data_end())) ? 0 : 1;
  });
}
/// Fills what a file has loaded, after map_elf(). Pages that are common to all lanes have their bytes.
template <Machine M>
MYR_OUTLINE void copy_elf(M& m, const ExecFile& elf) {
  visit_loaded(m, elf, [&](const LoadedSegment& s) -> i64 {
    if (s.permissions == 0) return 0;
    u64 at = s.address;
    while (at < s.data_end() && (m.entry(m.page_of(at)) & kPageShared)) at = page_down(at) + kPageSize;
    if (at < s.data_end()) copy_source(m, elf.content, s.offset + (at - s.address), at, s.data_end() - at);
    return 0;
  });
}

/// The path of the program's file, to its words; of a path that is too long, the end. It is put together from the end on, each
/// name forwards: nvcc 13.0 makes an endless loop of one that copies a name of at most 255 bytes from its own end.
template <Machine M>
MYR_OUTLINE void set_program_path(M& m, const Walked& walked) {
  u8 path[kPathBytes] = {};
  u32 at = kPathBytes - 1;
  const auto prepend = [&](u32 size, const auto& byte) {
    const u32 fitting = lesser(size, at), left_out = size - fitting;
    at -= fitting;
    for (u32 i = 0; i < fitting; i++) path[at + i] = byte(left_out + i);
  };
  const auto slash = [](u32) -> u8 { return '/'; };
  prepend(lesser(walked.name_size, kLongestName), [&](u32 i) { return walked.name[i]; });
  prepend(1, slash);
  Listed listed;
  for (u32 folder = walked.folder; folder != 0; folder = parent_of(m, folder)) {
    if (!find_own_name(m, folder, listed)) break;
    prepend(listed.name_size, [&](u32 i) {
      return listed.tree_name != nullptr ? listed.tree_name[i] : layer_byte(m, listed.name_at + i);
    });
    prepend(1, slash);
  }
  const u32 size = kPathBytes - 1 - at;
  set_word(m, kProgramPathSize, size);
  for (u32 i = 0; i < kPathBytes; i += 8) {
    u64 value = 0;
    for (u32 k = 0; k < 8 && i + k < size; k++) value |= (u64)path[at + i + k] << 8 * k;
    set_word(m, kProgramPath + i, value);
  }
}

/// Copies bytes of the space `from` to the one that runs.
template <Machine M>
MYR_OUTLINE void copy_between(M& m, u32 from, u64 source, u64 to, u64 size) {
  if constexpr (HasSpaces<M>) {
    constexpr u64 kPart = 512;
    u8 bytes[kPart];
    const u32 here = m.space();
    for (u64 done = 0; done < size; done += kPart) {
      const u64 part = lesser(size - done, kPart);
      m.enter_space(from);
      copy_out(m, bytes, source + done, part);
      m.enter_space(here);
      copy_in(m, to + done, bytes, part);
    }
  }
}
/// A word of the guest in another space.
template <Machine M>
MYR_FN u64 load_from(M& m, u32 space, u64 address) {
  u64 value = 0;
  if constexpr (HasSpaces<M>) {
    const u32 here = m.space();
    m.enter_space(space);
    value = load<u64>(m, address);
    m.enter_space(here);
  }
  return value;
}
template <Machine M>
MYR_FN u64 length_in(M& m, u32 space, u64 address) {
  u64 size = 0;
  if constexpr (HasSpaces<M>) {
    const u32 here = m.space();
    m.enter_space(space);
    while (load<u8>(m, address + size) != 0) size++;
    m.enter_space(here);
  }
  return size;
}

/// Writes the stack of the new program in the space that runs, from the strings in `old`. Returns the stack pointer; 0: abandoned.
template <Machine M>
MYR_OUTLINE u64 write_stack(M& m, const ExecPlan& plan, u32 old, u64 stack_begin) {
  const u64 end = m.facts().window_end;
  const bool empty = plan.prefixes == 0 && plan.argument_count == 0;  // as on Linux, one argument then: ""
  const StackTexts texts = {plan.argument_count + plan.prefixes + empty,
                            plan.argument_bytes + empty,
                            plan.variable_count,
                            plan.variable_bytes,
                            plan.name.size + 1,
                            false};
  const StackPlaces places = place_stack(end, texts);
  if (page_down(places.pointer) < stack_begin || !own_pages(m, page_down(places.pointer), end)) return 0;
  const auto put_text = [&](const ExecText& text, u64 to) {
    if (text.in_file) {
      for (u64 i = 0; i < text.size; i++) store<u8>(m, to + i, content_byte(m, text.file, text.at + i));
    } else {
      copy_between(m, old, text.at, to, text.size);
    }
    return text.size + 1;
  };
  const auto put_string = [&](u64 array, u64 index, u64 to) {
    const u64 text = load_from(m, old, array + index * 8);
    return put_text({false, {}, text, length_in(m, old, text)}, to);
  };
  store<u64>(m, stack_pointer_place(end), places.pointer);
  put_text(plan.name, places.name);
  copy_in(m, places.platform, (const u8*)kPlatform, sizeof kPlatform);
  const u64 start = random_start(m.facts().seed, m.input().number), position = word(m, kRandomPosition);
  for (u32 i = 0; i < kStartRandomBytes; i++) {
    const u64 from = position + i;
    store<u8>(m, places.random + i, (u8)(random_word(start, from / 8) >> from % 8 * 8));
  }
  set_word(m, kRandomPosition, position + kStartRandomBytes);
  const AuxiliaryFacts facts = {headers_address(ContentBytes<M>{m, plan.program.content}, plan.program),
                                plan.program.headers,
                                plan.has_loader ? plan.loader.bias : 0,
                                plan.program.entry_address(),
                                places.random,
                                places.name,
                                places.platform};
  u64 at = places.pointer;
  put_stack(
      texts, places, facts, kHwcap, kHwcap2,
      [&](u64 value) {
        store<u64>(m, at, value);
        at += 8;
      },
      [&](u64 i, u64 to) {
        if (i < plan.prefixes) return put_text(plan.prefix[plan.prefixes - 1 - i], to);
        if (empty) return (u64)1;
        // The first one is that of the script, of which the prefixes have the path.
        return put_string(plan.arguments, i - plan.prefixes + (plan.prefixes != 0), to);
      },
      [&](u64 i, u64 to) { return put_string(plan.environment, i, to); });
  return places.pointer;
}

/// mov x8, #139; svc #0: the code to which handlers return, a page of its own.
MYR_TABLE u64 kSignalReturnCode = 0xd4000001d2801168;

/// The pages and words of the new program, in the space that runs. 0, -ENOMEM, or 1: abandoned.
template <Machine M>
MYR_OUTLINE i64 load_program(M& m, const ExecPlan& plan, u32 old, u64& sp) {
  const ProcessFacts& facts = m.facts();
  const u64 stack_begin = facts.window_end - facts.stack_bytes, guard = stack_begin - stack_gap(facts.stack_bytes);
  const u64 return_at = guard - kPageSize;
  if (!own_signals(m) || !own_words(m, kRanges, 64 * kRangeBytes) ||
      !own_words(m, kActions, kMostSignals * kActionBytes))
    return 1;
  set_word(m, kRangeCount, 0);
  set_word(m, kMappingCount, 0);
  i64 loaded = map_elf(m, plan.program, return_at);
  if (loaded == 0 && plan.has_loader) loaded = map_elf(m, plan.loader, return_at);
  if (loaded != 0) return loaded;
  u64 break_start = plan.program.end();
  if (plan.has_loader) break_start = greater(break_start, plan.loader.end());
  if (!own_ranges(m, return_at)) return 1;
  constexpr u32 kCode = kPageReadable | kPageExecutable;
  if (!map_pages(m, return_at, guard, kCode)) return 1;
  map_range(m, return_at, guard, kCode);
  if (!share_pages(m, return_at, kCode, {(const u8*)&kSignalReturnCode, sizeof kSignalReturnCode})) {
    if (!m.own_page(m.page_of(return_at))) return 1;
    copy_in(m, return_at, (const u8*)&kSignalReturnCode, sizeof kSignalReturnCode);
  }
  const u32 permissions = kReadWrite | (plan.program.executable_stack ? (u32)kPageExecutable : 0u);
  if (!map_pages(m, stack_begin, facts.window_end, permissions)) return 1;
  map_range(m, stack_begin, facts.window_end, permissions);
  sp = write_stack(m, plan, old, stack_begin);
  if (sp == 0) return 1;
  // Nothing is abandoned from here on.
  copy_elf(m, plan.program);
  if (plan.has_loader) copy_elf(m, plan.loader);
  set_word(m, kBreakEnd, break_start);
  set_word(m, kBreakStart, break_start);
  set_word(m, kHeapLimit, return_at);
  set_word(m, kSignalReturn, return_at);
  set_word(m, kBarriers, 0);
  set_word(m, kProcessFlags, word(m, kProcessFlags) & ~(u64)kNotExecuted);
  forget_timers(m);
  set_word(m, kMaskIsSaved, 0);
  set_word(m, kClearThread, 0);
  set_word(m, kRobustList, 0);
  set_word(m, kFaultAddress, 0);
  set_word(m, kFaultSyndrome, 0);
  set_word(m, kProcessThreads, 0);
  set_word(m, kThread, process_id(m));
  set_signal_stack(m, {0, 0, kNoStack});
  for (u32 signal = 1; signal <= kMostSignals; signal++) {
    const u64 handler = word(m, action_word(signal));
    for (u32 part = 0; part < kActionBytes; part += 8) {
      set_word(m, action_word(signal) + part, part == 0 && handler == kIgnoreAction ? handler : 0);
    }
  }
  return 0;
}

/// Linux names a thread as the file that it runs.
template <Machine M>
MYR_OUTLINE void name_thread(M& m, const ExecPlan& plan) {
  u64 begin = plan.name.size;
  while (begin != 0 && load<u8>(m, plan.name.at + begin - 1) != '/') begin--;
  u64 name[2] = {0, 0};
  for (u64 i = 0; i < kNameBytes - 1 && begin + i < plan.name.size; i++) {
    name[i / 8] |= (u64)load<u8>(m, plan.name.at + begin + i) << i % 8 * 8;
  }
  set_word(m, kName, name[0]);
  set_word(m, kName + 8, name[1]);
}

template <Machine M>
MYR_OUTLINE Result execute(M& m, u64 descriptor, u64 path, u64 arguments, u64 environment, u32 flags) {
  if constexpr (HasSpaces<M>) {
    if (!m.has_spaces()) return missing();
    const i64 length = path_length(m, path);
    if (length < 0) return answer(length);
    if (length == 0 && !(flags & kEmptyPath)) return error(kENOENT);
    ExecPlan plan;
    plan.prefixes = 0;
    const i64 found = walk_path(m, descriptor, path, (u64)length, (flags & kNoFollow) ? 0 : kFollowsLast, plan.walked);
    if (found < 0) return answer(found);
    plan.file = (u32)found;
    plan.name = {false, {}, path, (u64)length};
    plan.arguments = arguments;
    plan.environment = environment;
    if (const i64 refused = find_program(m, plan); refused < 0) return answer(refused);
    const u64 most = m.facts().stack_bytes / 4;
    i64 measured = measure_strings(m, arguments, plan.prefixes != 0, most, plan.argument_count, plan.argument_bytes);
    if (measured == 0) measured = measure_strings(m, environment, 0, most, plan.variable_count, plan.variable_bytes);
    if (measured < 0) return answer(measured);
    for (u32 i = 0; i < plan.prefixes; i++) plan.argument_bytes += plan.prefix[i].size + 1;
    const u64 strings = plan.argument_count + plan.variable_count + plan.prefixes;
    if (plan.argument_bytes + plan.variable_bytes + strings * 8 + (u64)length > most) return error(kE2BIG);
    if (!own_signals(m) || !own_all_files(m, true) || (has_processes(m) && !own_processes(m))) return again();
    const u32 old = m.space();
    u32 made;
    if (!m.make_space(SpaceKind::fresh, made)) return again();
    // Words that were own may not be any more.
    bool owned = own_word(m, 0);
    m.enter_space(made);
    owned = owned && own_word(m, 0) && own_files(m);
    m.enter_space(old);
    u64 sp = 0;
    const u64 random = word(m, kRandomPosition);
    i64 loaded = 1;
    if (owned) {
      enter_space(m, made);
      loaded = load_program(m, plan, old, sp);
      if (loaded == 0) {
        close_all(m, true);
        set_program_path(m, plan.walked);
      } else {
        set_word(m, kRandomPosition, random);
      }
      enter_space(m, old);
    }
    if (loaded != 0) {
      m.end_space(made);
      return loaded < 0 ? answer(loaded) : again();
    }
    name_thread(m, plan);
    const u64 name[2] = {word(m, kName), word(m, kName + 8)};
    enter_space(m, made);  // so that the words of the lane are those of the new space too
    set_word(m, kName, name[0]);
    set_word(m, kName + 8, name[1]);
    m.enter_space(old);
    m.replace_space(made);
    if (has_table(m)) {
      end_threads(m);
      set_head(m, current_thread(m), kHeadThread, process_id(m));
    }
    if (has_processes(m)) {
      leave_memory(m, current_process(m));
      set_process_part(m, current_process(m), kProcessHasRun, 1);
    }
    for (u32 n = 0; n < kSlotSP; n++) m.set_x(n, 0);
    for (u32 n = 0; n < 64; n++) m.set_v(n / 2, n % 2, 0);
    m.set_x(kSlotSP, sp);
    m.set_pc(plan.has_loader ? plan.loader.entry_address() : plan.program.entry_address());
    m.set_nzcv(0);
    for (const SystemField field : {SystemField::fpcr, SystemField::fpsr, SystemField::tpidr}) m.set_system(field, 0);
    m.set_system(SystemField::monitor, kMonitorOpen);
    return replaced(0);
  } else {
    return missing();
  }
}
template <Machine M>
MYR_OUTLINE Result execve(M& m) {
  return execute(m, kHereDescriptor, m.argument(0), m.argument(1), m.argument(2), 0);
}
template <Machine M>
MYR_OUTLINE Result execveat(M& m) {
  const u32 flags = (u32)m.argument(4);
  const i64 length = path_length(m, m.argument(1));
  if (length < 0 || (length == 0 && !(flags & kEmptyPath))) return length < 0 ? answer(length) : error(kENOENT);
  if (flags & ~(kEmptyPath | kNoFollow)) return error(kEINVAL);
  return execute(m, m.argument(0), m.argument(1), m.argument(2), m.argument(3), flags);
}

}  // namespace myriarm::kernel
