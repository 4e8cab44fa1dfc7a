// SPDX-License-Identifier: Apache-2.0
// Calls on paths in the tree of a process: what path_calls.h does with a path that leads there, and the working folder. The
// calls that change the file system are in change_calls.h. Errors come in the order in which Linux finds them.
#pragma once

#include "kernel/change_files.h"
#include "kernel/descriptor_links.h"

namespace myriarm::kernel {

constexpr u32 kNoFollow = 0x100, kNoAutomount = 0x800, kEmptyPath = 0x1000;  // AT_SYMLINK_NOFOLLOW and its relatives

/// How long the path at an address is, without the NUL; or an error, negative.
template <MemoryMachine M>
MYR_OUTLINE i64 path_length(const M& m, u64 address) {
  const u64 size = accessible(m, address, kMostPathBytes, kPageReadable);
  for (u64 i = 0; i < size; i++) {
    if (load<u8>(m, address + i) == 0) return (i64)i;
  }
  return size == kMostPathBytes ? -kENAMETOOLONG : -kEFAULT;
}

/// Whether relative paths begin at the working folder with this descriptor.
MYR_FN bool begins_here(u64 descriptor) {
  constexpr u32 kHere = (u32)-100;  // AT_FDCWD
  return (u32)descriptor == kHere;
}
template <MemoryMachine M>
MYR_FN bool begins_at_root(const M& m, u64 descriptor) {
  return begins_here(descriptor) && word(m, kWorkingFolder) == 0;
}

/// The names of the files of a process, as a Walk asks for them. Its path lies in guest memory.
template <MemoryMachine M>
struct LaneNames {
  const M& m;
  u64 path;

  MYR_FN u8 path_byte(u64 at) const { return load<u8>(m, path + at); }
  MYR_FN i64 look_up(u32 folder, const u8* name, u32 size) const { return kernel::look_up(m, folder, name, size); }
  MYR_FN u32 parent(u32 folder) const { return parent_of(m, folder); }
  MYR_FN bool is_folder(u32 file) const { return type_of(file_status(m, file)) == kFolder; }
  MYR_FN bool may_search(u32 folder) const { return may(m, file_status(m, folder), kMayExecute); }
  MYR_FN bool is_link(u32 file) const { return type_of(file_status(m, file)) == kLink; }
  MYR_FN Jump jump(u32 link) const {
    if (!is_descriptor_link(link)) return {false, 0, 0};
    return descriptor_jump(m, link);
  }
  MYR_FN bool is_self(u32 link) const { return made_names(file_status(m, link)) == MadeFile::self; }
  MYR_FN u32 link_size(u32 link) const {
    u8 number[kMostNumberName];
    if (is_self(link)) return name_of_number(process_id(m), number);
    return is_program_link(m, link) ? (u32)word(m, kProgramPathSize) : (u32)file_status(m, link).size;
  }
  MYR_FN u8 link_byte(u32 link, u32 at) const {
    u8 number[kMostNumberName];
    if (is_self(link)) return at < name_of_number(process_id(m), number) ? number[at] : (u8)0;
    if (is_program_link(m, link)) return (u8)(word(m, kProgramPath + at / 8 * 8) >> at % 8 * 8);
    Content content;
    return content_of(m, link, content) ? content_byte(m, content, at) : (u8)0;
  }
};

/// Follows a path from a descriptor, with `flags` of WalkFlag. A path that is empty leads to the descriptor's file.
template <MemoryMachine M>
MYR_OUTLINE i64 walk_path(const M& m, u64 descriptor, u64 path, u64 length, u32 flags, Walked& walked) {
  u32 from = (u32)word(m, kWorkingFolder);
  walked.folder = walked.name_size = 0;
  walked.is_missing = walked.slash = walked.jumped = false;
  const bool is_bounded = (flags & (kBeneath | kInRoot)) != 0;
  if (!begins_here(descriptor) && (is_bounded || length == 0 || load<u8>(m, path) != '/')) {
    const i32 stream = stream_of(m, descriptor);
    if (stream < 0) return walked.file = -kEBADF;
    const Opened opened = opened_at(m, stream);
    if (!opened.in_tree) return walked.file = -kENOTDIR;
    from = opened.file;
  }
  if (length == 0) return walked.file = from;
  walk(LaneNames<M>{m, path}, from, (u32)length, flags, walked);
  return walked.file;
}
template <MemoryMachine M>
MYR_OUTLINE i64 find_file(const M& m, u64 descriptor, u64 path, u64 length, u32 flags) {
  Walked walked;
  return walk_path(m, descriptor, path, length, flags, walked);
}
/// A path from the working folder, as the calls without a descriptor have it.
constexpr u64 kHereDescriptor = (u64)-100;

/// openat() of a new file, whose name the walk has looked for in vain.
template <MemoryMachine M>
MYR_OUTLINE Result open_new_file(M& m, const Walked& walked, u32 flags, u32 mode) {
  if (!is_writable(m)) return error(kEROFS);
  const NewOpening made = find_opening(m);
  if (made.error < 0) return answer(made.error);
  NewFile file = {kRegular | (mode & kModeBits & ~(u32)word(m, kModeMask)), 0, 0};
  Plan plan;
  const Result planned = plan_new_file(m, plan, walked, file);
  if (planned.served != Served::answered || planned.value < 0) return planned;
  if (!own_new_opening(m, made)) return again();
  const Storing secured = secure(m, plan);
  if (secured != Storing::allowed) return not_secured(secured);
  return finish_opening(m, made, opened_value(make_new_file(m, walked, file), kept_flags(flags)),
                        (flags & kOpenCloseOnExec) != 0, 0, walked.folder);
}

/// openat() of what a descriptor refers to that is no file of the tree. Pipes and standard streams can be opened anew.
template <Machine M>
MYR_OUTLINE Result open_descriptor_file(M& m, u32 file, u32 flags) {
  const i32 stream = stream_of(m, file & kDescriptorBits);
  const Opened opened = opened_at(m, stream);
  const bool closes = (flags & kOpenCloseOnExec) != 0;
  if (stream < 0 || (flags & kOpenPathOnly)) return error(kENXIO);
  if (opened.kind == Kind::standard) {
    const bool same = (flags & kOpenAccess) == (stream == (i32)kStandardInput ? kOpenReadOnly : kOpenWriteOnly);
    return same ? duplicate(m, stream, 0, closes) : error(kEACCES);
  }
  if (opened.kind == Kind::input) return open_stream(m, kInputOpened, closes);
  if (opened.kind != Kind::pipe) return error(kENXIO);
  u32 fifo;
  if (!file_of(m, opened, fifo)) return open_pipe(m, opened.file, kept_flags(flags), closes);
  return open_fifo(m, fifo, kept_flags(flags), closes, folder_of_opening(m, (u32)stream - kFirstOpening));
}

/// How a file is to be opened: flags and mode as open() has them, and more flags of WalkFlag.
struct OpenHow {
  u32 flags, mode, walk;
};
/// openat() of a path that leads into the tree.
template <MemoryMachine M>
MYR_OUTLINE Result open_in_tree(M& m, u64 length, const OpenHow& how) {
  u32 flags = how.flags;
  if ((flags & kOpenTemporary) == kOpenTemporary) flags &= ~(u32)kOpenCreate;
  const bool path_only = (flags & kOpenPathOnly) != 0;
  if (path_only) flags &= kOpenPathOnly | kOpenFolder | kOpenNoFollow | kOpenCloseOnExec;
  const bool closes = (flags & kOpenCloseOnExec) != 0;
  const bool creates = (flags & kOpenCreate) != 0, excludes = creates && (flags & kOpenExclusive);
  if (creates && (flags & kOpenFolder)) return error(kEINVAL);
  const u32 follows = (flags & kOpenNoFollow) || excludes ? 0u : kFollowsLast;
  Walked walked;
  const i64 found =
      walk_path(m, m.argument(0), m.argument(1), length, how.walk | follows | (creates ? kFindsToCreate : 0), walked);
  if (creates && walked.is_missing) return open_new_file(m, walked, flags, how.mode);
  if (found < 0) return answer(found);
  const FileStatus file = file_status(m, (u32)found);
  const u32 type = type_of(file);
  if (excludes) return error(kEEXIST);
  if (creates && type == kFolder) return error(kEISDIR);
  if ((flags & kOpenFolder) && type != kFolder) return error(kENOTDIR);
  const u32 folder = type == kFolder ? kNoFolder : walked.jumped ? walked.jump_folder : walked.folder;
  if (path_only && !is_descriptor_file((u32)found)) {
    return open_stream(m, opened_value((u32)found, flags & ~(u32)kOpenCloseOnExec), closes, 0, folder);
  }
  if (type == kLink) return error(kELOOP);
  // As on file systems that have no files without a name.
  const bool is_temporary = (flags & kOpenTemporary) == kOpenTemporary;
  if (is_temporary && (flags & kOpenAccess) == kOpenReadOnly) return error(kEINVAL);
  if (is_temporary) return error(is_writable(m) ? kEOPNOTSUPP : kEROFS);
  const u32 access = flags & kOpenAccess;
  const bool truncates = (flags & kOpenTruncate) != 0, writes = access != kOpenReadOnly || truncates;
  if (writes && type == kFolder) return error(kEISDIR);
  if (writes && is_stored(file) && !is_writable(m)) return error(kEROFS);
  if (!may(m, file, (access != kOpenWriteOnly ? kMayRead : 0) | (writes ? kMayWrite : 0))) return error(kEACCES);
  constexpr u32 kNoAccessTime = 01000000;
  if ((flags & kNoAccessTime) && !owns(file)) return error(kEPERM);
  if (is_descriptor_file((u32)found)) return open_descriptor_file(m, (u32)found, flags);
  if (type == kFifo && is_writable(m)) return open_fifo(m, (u32)found, kept_flags(flags), closes, folder);
  // A device that is not here, a socket, a FIFO of a root that is read-only.
  if (!is_stored(file) && device_kind(file) == DeviceKind::none) return error(kENXIO);
  if (!truncates || type != kRegular) {
    return open_stream(m, opened_value((u32)found, kept_flags(flags)), closes, 0, folder);
  }
  const NewOpening made = find_opening(m);
  Plan plan;
  if (made.error < 0) return answer(made.error);
  if (!own_new_opening(m, made) || !plan_size(m, plan, (u32)found, 0)) return again();
  const Storing secured = secure(m, plan);
  if (secured != Storing::allowed) return not_secured(secured);
  change_size(m, (u32)found, 0);
  return finish_opening(m, made, opened_value((u32)found, kept_flags(flags)), closes, 0, folder);
}

/// As access(2) tells it.
template <MemoryMachine M>
MYR_OUTLINE Result check_access_in_tree(M& m, u64 length, u32 mode, u32 flags) {
  const i64 found = find_file(m, m.argument(0), m.argument(1), length, (flags & kNoFollow) ? 0 : kFollowsLast);
  if (found < 0) return answer(found);
  const FileStatus file = file_status(m, (u32)found);
  if ((mode & kMayWrite) && is_stored(file) && !is_writable(m)) return error(kEROFS);
  return may(m, file, mode) ? answer(0) : error(kEACCES);
}

/// Stores the path of the process's program, as readlinkat() does: without a NUL, and cut to the room there is.
template <MemoryMachine M>
MYR_OUTLINE Result store_program_link(M& m) {
  const u64 size = lesser((u64)(u32)m.argument(3), word(m, kProgramPathSize)), address = m.argument(2);
  const Storing storing = prepare(m, address, size);
  if (storing != Storing::allowed) return not_stored(storing);
  copy_from_layer(m, address, kProgramPath, size);
  return answer((i64)size);
}
template <MemoryMachine M>
MYR_OUTLINE Result read_link(M& m, u64 length) {
  const i64 found = find_file(m, m.argument(0), m.argument(1), length, 0);
  if (found < 0) return answer(length == 0 && found == -kENOTDIR ? -kENOENT : found);
  if (type_of(file_status(m, (u32)found)) != kLink) return error(length == 0 ? kENOENT : kEINVAL);
  if (is_program_link(m, (u32)found)) return store_program_link(m);
  if (is_descriptor_link((u32)found)) return store_descriptor_link(m, (u32)found, m.argument(2), (u32)m.argument(3));
  if (made_names(file_status(m, (u32)found)) == MadeFile::self) {
    u8 number[kMostNumberName];
    const u64 size = lesser((u64)(u32)m.argument(3), name_of_number(process_id(m), number));
    const Storing storing = prepare(m, m.argument(2), size);
    if (storing != Storing::allowed) return not_stored(storing);
    copy_in(m, m.argument(2), number, size);
    return answer((i64)size);
  }
  Content content;
  if (!content_of(m, (u32)found, content)) return error(kEIO);
  const u64 size = lesser((u64)(u32)m.argument(3), content.size), address = m.argument(2);
  const Storing storing = prepare(m, address, size);
  if (storing != Storing::allowed) return not_stored(storing);
  copy_source(m, content, 0, address, size);
  return answer((i64)size);
}

MYR_FN u64 major_number(u64 device) { return device >> 8 & 0xfff; }
MYR_FN u64 minor_number(u64 device) { return (device & 0xff) | (device >> 12 & 0xfff00); }

/// Stores a struct statx at an address. Returns the call's result.
template <MemoryMachine M>
MYR_OUTLINE Result store_statx(M& m, const FileStatus& file, u64 address) {
  constexpr u32 kWords = 32, kBasic = 0x7ff;  // STATX_BASIC_STATS
  constexpr u64 kDevice = 12;
  const Storing storing = prepare(m, address, kWords * 8);
  if (storing != Storing::allowed) return not_stored(storing);
  clear_words(m, address, kWords);
  store<u64>(m, address, kBasic | (u64)kPageSize << 32);                            // stx_mask, stx_blksize
  store<u64>(m, address + 16, file.links | (u64)file.user << 32);                   // stx_nlink, stx_uid
  store<u64>(m, address + 24, file.group | (u64)file.mode << 32);                   // stx_gid, stx_mode
  store_words(m, address + 32, file.number, file.size);                             // stx_ino, stx_size
  store<u64>(m, address + 48, file.blocks);                                         // stx_blocks
  store_words(m, address + 64, (u64)file.access_seconds, file.access_nanoseconds);  // stx_atime; no stx_btime
  store_words(m, address + 96, (u64)file.change_seconds, file.change_nanoseconds);  // stx_ctime
  store_words(m, address + 112, (u64)file.seconds, file.nanoseconds);               // stx_mtime
  const u64 device = shown_device(file);
  store<u64>(m, address + 128, major_number(device) | minor_number(device) << 32);
  store<u64>(m, address + 136, major_number(kDevice) | minor_number(kDevice) << 32);
  return answer(0);
}

/// Stores a struct statfs of the tree at an address: it has the room that is left for what the process writes.
template <MemoryMachine M>
MYR_OUTLINE Result store_statfs(M& m, u64 address) {
  constexpr u32 kWords = 15;
  constexpr u64 kType = 0xef53, kReadOnly = 0x21, kWritable = 0x20;  // ext4; ST_RDONLY, ST_VALID
  const Storing storing = prepare(m, address, kWords * 8);
  if (storing != Storing::allowed) return not_stored(storing);
  clear_words(m, address, kWords);
  store_words(m, address, kType, kPageSize);                            // f_type, f_bsize
  store_words(m, address + 64, kLongestName, kPageSize);                // f_namelen, f_frsize
  store<u64>(m, address + 80, is_writable(m) ? kWritable : kReadOnly);  // f_flags
  if (!is_writable(m)) return answer(0);
  store_words(m, address + 16, m.facts().layer_pages, free_pages(m));  // f_blocks, f_bfree
  store_words(m, address + 32, free_pages(m), m.facts().layer_pages);  // f_bavail, f_files
  store<u64>(m, address + 48, free_pages(m));                          // f_ffree
  return answer(0);
}
template <MemoryMachine M>
MYR_OUTLINE Result statfs(M& m) {
  const i64 length = path_length(m, m.argument(0));
  if (length <= 0) return length < 0 ? answer(length) : error(kENOENT);
  const i64 found = find_file(m, kHereDescriptor, m.argument(0), (u64)length, kFollowsLast);
  return found < 0 ? answer(found) : store_statfs(m, m.argument(1));
}
template <MemoryMachine M>
MYR_OUTLINE Result fstatfs(M& m) {
  const i32 stream = stream_of(m, m.argument(0));
  if (stream < 0) return error(kEBADF);
  return opened_at(m, stream).in_tree ? store_statfs(m, m.argument(1)) : missing();
}

// ---- the working folder

template <MemoryMachine M>
MYR_OUTLINE Result enter_folder(M& m, i64 found) {
  if (found < 0) return answer(found);
  const FileStatus file = file_status(m, (u32)found);
  if (type_of(file) != kFolder) return error(kENOTDIR);
  if (!may(m, file, kMayExecute)) return error(kEACCES);
  const u32 left = (u32)word(m, kWorkingFolder);
  if (!own_word(m, kWorkingFolder) || !plan_leave(m, left)) return again();
  set_word(m, kWorkingFolder, (u64)found);
  drop_file(m, left);
  return answer(0);
}
template <MemoryMachine M>
MYR_OUTLINE Result chdir(M& m) {
  const i64 length = path_length(m, m.argument(0));
  if (length <= 0) return length < 0 ? answer(length) : error(kENOENT);
  return enter_folder(m, find_file(m, kHereDescriptor, m.argument(0), (u64)length, kFollowsLast));
}
template <MemoryMachine M>
MYR_OUTLINE Result fchdir(M& m) {
  const i32 stream = stream_of(m, m.argument(0));
  if (stream < 0) return error(kEBADF);
  const Opened opened = opened_at(m, stream);
  return opened.in_tree ? enter_folder(m, opened.file) : error(kENOTDIR);
}

template <MemoryMachine M>
MYR_OUTLINE Result getcwd(M& m) {
  const u32 folder = has_tree(m) ? (u32)word(m, kWorkingFolder) : 0;
  const i64 found = folder_path_size(m, folder);
  if (found < 0) return answer(found);
  const u64 size = (u64)found + 1;  // with the NUL
  if (size > kMostPathBytes) return error(kENAMETOOLONG);
  if (m.argument(1) < size) return error(kERANGE);
  const Storing storing = prepare(m, m.argument(0), size);
  if (storing != Storing::allowed) return not_stored(storing);
  store<u8>(m, m.argument(0) + size - 1, 0);
  store_folder_path(m, folder, m.argument(0), size - 1, size - 1);
  return answer((i64)size);
}

}  // namespace myriarm::kernel
