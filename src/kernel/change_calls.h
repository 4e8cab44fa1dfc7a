// SPDX-License-Identifier: Apache-2.0
// Calls that change names and attributes of files: mkdirat, mknodat, symlinkat, linkat, unlinkat, renameat2, fchmodat,
// fchownat, utimensat and their relatives. Errors come in the order in which Linux finds them.
#pragma once

#include "kernel/tree_paths.h"

namespace myriarm::kernel {

/// Follows the path in argument `path_at`, whose descriptor is in the argument before it.
template <Machine M>
MYR_OUTLINE i64 walk_argument(const M& m, u32 path_at, u32 flags, Walked& walked) {
  const u64 path = m.argument(path_at);
  const i64 length = path_length(m, path);
  walked.name_size = 0;
  walked.is_missing = false;
  if (length <= 0) return walked.file = length < 0 ? length : -kENOENT;
  return walk_path(m, m.argument(path_at - 1), path, (u64)length, flags, walked);
}
template <Machine M>
MYR_FN i64 find_argument(const M& m, u32 path_at, u32 flags) {
  Walked walked;
  return walk_argument(m, path_at, flags, walked);
}

// ---- new names

/// Why the name in argument `path_at` cannot be that of a new file, or 0.
template <Machine M>
MYR_FN i64 walk_to_new(const M& m, u32 path_at, bool is_folder, Walked& walked) {
  const i64 found = walk_argument(m, path_at, kFindsNew, walked);
  if (found >= 0) return -(i64)kEEXIST;
  if (!walked.is_missing) return found;
  if (walked.slash && !is_folder) return -(i64)kENOENT;
  return is_writable(m) ? 0 : -(i64)kEROFS;
}
template <Machine M>
MYR_OUTLINE Result make_named(M& m, const Walked& walked, const NewFile& file) {
  Plan plan;
  const Result planned = plan_new_file(m, plan, walked, file);
  if (planned.served != Served::answered || planned.value < 0) return planned;
  const Storing secured = secure(m, plan);
  if (secured != Storing::allowed) return not_secured(secured);
  make_new_file(m, walked, file);
  return answer(0);
}
template <Machine M>
MYR_OUTLINE Result mkdirat(M& m) {
  constexpr u32 kFolderBits = 01777;
  Walked walked;
  const i64 refused = walk_to_new(m, 1, true, walked);
  if (refused < 0) return answer(refused);
  const u32 mode = (u32)m.argument(2) & kFolderBits & ~(u32)word(m, kModeMask);
  return make_named(m, walked, {kFolder | mode, 0, 0});
}
template <Machine M>
MYR_OUTLINE Result mknodat(M& m) {
  const u32 type = (u32)m.argument(2) & kTypeMask;
  constexpr u32 kSocket = 0140000, kBlockDevice = 0060000;
  if (type == kFolder) return error(kEPERM);
  if (type != 0 && type != kRegular && type != kFifo && type != kSocket && type != kBlockDevice &&
      type != kCharacterDevice) {
    return error(kEINVAL);
  }
  Walked walked;
  const i64 refused = walk_to_new(m, 1, false, walked);
  if (refused < 0) return answer(refused);
  if (const i64 denied = new_name_refused(m, walked.folder); denied < 0) return answer(denied);
  if (type != 0 && type != kRegular && type != kFifo) return error(kEPERM);  // the file system has no such files
  const u32 mode = (u32)m.argument(2) & kModeBits & ~(u32)word(m, kModeMask);
  return make_named(m, walked, {(type == kFifo ? kFifo : kRegular) | mode, 0, 0});
}
template <Machine M>
MYR_OUTLINE Result symlinkat(M& m) {
  const i64 length = path_length(m, m.argument(0));
  if (length <= 0) return length < 0 ? answer(length) : error(kENOENT);
  Walked walked;
  const i64 refused = walk_to_new(m, 2, false, walked);
  return refused < 0 ? answer(refused) : make_named(m, walked, {kLink | 0777, m.argument(0), (u64)length});
}

template <Machine M>
MYR_OUTLINE Result linkat(M& m) {
  constexpr u32 kFollow = 0x400;  // AT_SYMLINK_FOLLOW
  const u32 flags = (u32)m.argument(4);
  if (flags & ~(kFollow | kEmptyPath)) return error(kEINVAL);
  const i64 length = path_length(m, m.argument(1));
  if (length < 0 || (length == 0 && !(flags & kEmptyPath))) return length < 0 ? answer(length) : error(kENOENT);
  const i64 old = find_file(m, m.argument(0), m.argument(1), (u64)length, (flags & kFollow) ? kFollowsLast : 0);
  if (old < 0) return answer(old);
  Walked walked;
  const i64 refused = walk_to_new(m, 3, false, walked);
  if (refused < 0) return answer(refused);
  const FileStatus status = file_status(m, (u32)old);
  if (is_of_descriptor((u32)old)) return error(kEXDEV);
  // As with fs.protected_hardlinks: a file of others must be one that the user may read and write.
  constexpr u32 kSetIds = 06000;
  const bool safe = type_of(status) == kRegular && !(status.mode & kSetIds) && may(m, status, kMayRead | kMayWrite);
  if (!owns(status) && !safe) return error(kEPERM);
  if (const i64 denied = new_name_refused(m, walked.folder); denied < 0) return answer(denied);
  if (type_of(status) == kFolder) return error(kEPERM);
  if (status.links == 0) return error(kENOENT);
  Plan plan;
  if (!plan_folder(m, plan, walked.folder, walked.name_size) || !plan_raise_file(m, plan, (u32)old)) return again();
  const Storing secured = secure(m, plan);
  if (secured != Storing::allowed) return not_secured(secured);
  const u64 folder = raise_folder(m, walked.folder), inode = raise_file(m, (u32)old);
  add_entry(m, folder, (u32)old, walked.name, walked.name_size);
  add_links(m, inode, 1);
  note_change(m, inode);
  note_modification(m, folder);
  return answer(0);
}

// ---- names that go

/// Whether a name may be taken out of a folder: 0 or an error, negative. `wants_folder`: what it names is to be one.
template <Machine M>
MYR_FN i64 removal_refused(const M& m, u32 folder, const FileStatus& file, bool wants_folder) {
  if (const i64 refused = folder_refuses(m, folder); refused < 0) return refused;
  const FileStatus status = file_status(m, folder);
  if ((status.mode & kSticky) && !owns(file) && !owns(status)) return -(i64)kEPERM;
  const bool is_folder = type_of(file) == kFolder;
  if (wants_folder != is_folder) return wants_folder ? -(i64)kENOTDIR : -(i64)kEISDIR;
  return 0;
}
template <Machine M>
MYR_FN bool is_empty(const M& m, u32 folder) {
  Listing listing;
  Listed listed;
  return begin_listing(m, folder, kFirstEntry, listing) && !next_listed(m, listing, listed);
}
/// Plans that a file loses a name, or all of them if it is a folder. A file of the tree that nothing refers to without a
/// name needs nothing for that.
template <Machine M>
MYR_FN bool plan_loss(M& m, Plan& plan, u32 file, const FileStatus& status) {
  const bool last = type_of(status) == kFolder || status.links == 1;
  if (inode_of(m, file) == 0 && last && !is_in_use(m, file)) return true;
  if (!plan_drop(m, file)) return false;
  return type_of(status) == kFolder ? plan_folder(m, plan, file, 0) : plan_raise_file(m, plan, file);
}
/// Gives a file that is to lose a name its inode, if that was planned; 0 if it needs none.
template <Machine M>
MYR_FN u64 raise_for_loss(M& m, u32 file, const FileStatus& status) {
  const bool last = type_of(status) == kFolder || status.links == 1;
  if (inode_of(m, file) == 0 && last && !is_in_use(m, file)) return 0;
  return type_of(status) == kFolder ? raise_folder(m, file) : raise_file(m, file);
}
/// Takes a name from a file: the file goes if nothing refers to it any more.
template <Machine M>
MYR_FN void lose_name(M& m, u32 file, u64 inode) {
  if (inode == 0) return;
  if (((u32)word(m, inode) & kTypeMask) == kFolder) set_word(m, inode, (u32)word(m, inode));
  else add_links(m, inode, -1);
  note_change(m, inode);
  drop_file(m, file);
}
/// Makes the page of an entry own, if the folder has an inode.
template <Machine M>
MYR_FN bool own_entry(M& m, u32 folder, const Walked& walked) {
  const u64 inode = inode_of(m, folder);
  return inode == 0 || own_word(m, find_entry(m, inode, walked.name, walked.name_size));
}

/// unlinkat.
template <Machine M>
MYR_OUTLINE Result remove_file(M& m) {
  constexpr u32 kRemoveFolder = 0x200;  // AT_REMOVEDIR
  const u32 flags = (u32)m.argument(2);
  const bool is_rmdir = (flags & kRemoveFolder) != 0;
  if (flags & ~kRemoveFolder) return error(kEINVAL);
  Walked walked;
  const i64 parent = walk_argument(m, 1, kFindsParent, walked);
  if (parent < 0) return answer(parent);
  if (!walked.is_name()) {
    if (!is_rmdir) return error(kEISDIR);
    return error(walked.is_dot_dot() ? kENOTEMPTY : walked.is_dot() ? kEINVAL : kEBUSY);
  }
  if (!is_writable(m)) return error(kEROFS);
  if (walked.name_size > kLongestName) return error(kENAMETOOLONG);
  const u32 folder = (u32)parent;
  const i64 found = look_up(m, folder, walked.name, walked.name_size);
  if (found < 0) return answer(found);
  const u32 file = (u32)found;
  const FileStatus status = file_status(m, file);
  if (!is_rmdir && walked.slash) return error(type_of(status) == kFolder ? kEISDIR : kENOTDIR);
  if (const i64 refused = removal_refused(m, folder, status, is_rmdir); refused < 0) return answer(refused);
  if (is_rmdir && !is_empty(m, file)) return error(kENOTEMPTY);
  Plan plan;
  if (!plan_folder(m, plan, folder, 0) || !own_entry(m, folder, walked) || !plan_loss(m, plan, file, status)) {
    return again();
  }
  const Storing secured = secure(m, plan);
  if (secured != Storing::allowed) return not_secured(secured);
  const u64 inode = raise_folder(m, folder), lost = raise_for_loss(m, file, status);
  remove_entry(m, inode, find_entry(m, inode, walked.name, walked.name_size));
  if (is_rmdir) add_links(m, inode, -1);
  note_modification(m, inode);
  lose_name(m, file, lost);
  return answer(0);
}

/// Whether a folder is another one or lies in it.
template <Machine M>
MYR_FN bool is_within(const M& m, u32 folder, u32 other) {
  for (u32 at = folder;; at = parent_of(m, at)) {
    if (at == other) return true;
    if (at == 0) return false;
  }
}
/// The openings of a file that is moved know its folder. With `sets`, after they have been made own.
template <Machine M>
MYR_OUTLINE bool move_openings(M& m, u32 file, u32 folder, bool sets) {
  const u32 count = opening_count(m);
  for (u32 i = 0; i < count; i++) {
    const Opened opened = opened_at(m, (i32)(kFirstOpening + i));
    const u32 at = opening_word(i, kOpeningHolders);
    u32 opened_file;
    if (!is_open(m, i) || !file_of(m, opened, opened_file) || opened_file != file) continue;
    if (folder_of_opening(m, i) == kNoFolder) continue;
    if (!sets && !own_word(m, at)) return false;
    if (sets) set_word(m, at, (u32)word(m, at) | folder_above(folder));
  }
  return true;
}
/// renameat and renameat2.
template <Machine M>
MYR_OUTLINE Result move_file(M& m) {
  constexpr u32 kRenameat2 = 276, kNoReplace = 1, kExchange = 2, kWhiteOut = 4;
  const u32 flags = m.number() == kRenameat2 ? (u32)m.argument(4) : 0;
  if (flags & ~(kNoReplace | kExchange | kWhiteOut)) return error(kEINVAL);
  if ((flags & kExchange) && (flags & (kNoReplace | kWhiteOut))) return error(kEINVAL);
  Walked from, to;
  if (walk_argument(m, 1, kFindsParent, from) < 0) return answer(from.file);
  if (walk_argument(m, 3, kFindsParent, to) < 0) return answer(to.file);
  const u32 from_folder = (u32)from.file, to_folder = (u32)to.file;
  if (!from.is_name()) return error(kEBUSY);
  if (!to.is_name()) return error((flags & kNoReplace) ? kEEXIST : kEBUSY);
  if (!is_writable(m)) return error(kEROFS);
  if (from.name_size > kLongestName || to.name_size > kLongestName) return error(kENAMETOOLONG);
  const i64 found = look_up(m, from_folder, from.name, from.name_size);
  if (found < 0) return answer(found);
  const i64 replaced = look_up(m, to_folder, to.name, to.name_size);
  if (replaced < 0 && replaced != -kENOENT) return answer(replaced);
  if (replaced >= 0 && (flags & kNoReplace)) return error(kEEXIST);
  if (flags & (kExchange | kWhiteOut)) return error(kEINVAL);
  const u32 file = (u32)found, other = (u32)replaced;
  const FileStatus status = file_status(m, file);
  const bool is_folder = type_of(status) == kFolder, moves = from_folder != to_folder;
  if (!is_folder && (from.slash || to.slash)) return error(kENOTDIR);
  if (is_folder && is_within(m, to_folder, file)) return error(kEINVAL);
  if (replaced >= 0 && is_within(m, from_folder, other)) return error(kENOTEMPTY);
  if (replaced >= 0 && file == other) return answer(0);
  if (const i64 refused = removal_refused(m, from_folder, status, is_folder); refused < 0) return answer(refused);
  FileStatus lost_status = {0, 0, 0, 0};
  if (replaced < 0) {
    if (const i64 refused = new_name_refused(m, to_folder); refused < 0) return answer(refused);
  } else {
    lost_status = file_status(m, other);
    if (const i64 refused = removal_refused(m, to_folder, lost_status, is_folder); refused < 0) return answer(refused);
  }
  if (is_folder && moves && !may(m, status, kMayWrite)) return error(kEACCES);
  if (replaced >= 0 && is_folder && !is_empty(m, other)) return error(kENOTEMPTY);
  Plan plan;
  if (!plan_folder(m, plan, from_folder, 0) || !own_entry(m, from_folder, from)) return again();
  if (!plan_folder(m, plan, to_folder, replaced < 0 ? to.name_size : 0)) return again();
  if (replaced >= 0 && (!own_entry(m, to_folder, to) || !plan_loss(m, plan, other, lost_status))) return again();
  if (is_folder ? !plan_folder(m, plan, file, 0) : !plan_raise_file(m, plan, file)) return again();
  if (!move_openings(m, file, to_folder, false)) return again();
  const Storing secured = secure(m, plan);
  if (secured != Storing::allowed) return not_secured(secured);
  move_openings(m, file, to_folder, true);
  const u64 left = raise_folder(m, from_folder), entered = raise_folder(m, to_folder);
  const u64 inode = is_folder ? raise_folder(m, file) : raise_file(m, file);
  const u64 lost = replaced >= 0 ? raise_for_loss(m, other, lost_status) : 0;
  if (replaced >= 0) {
    const u64 place = find_entry(m, entered, to.name, to.name_size);
    Entry entry = entry_of(word(m, place));
    entry.file = file;
    set_word(m, place, value_of(entry));
  } else {
    add_entry(m, entered, file, to.name, to.name_size);
  }
  remove_entry(m, left, find_entry(m, left, from.name, from.name_size));
  if (is_folder) {
    add_links(m, left, -1);
    if (replaced < 0) add_links(m, entered, 1);
    set_word(m, inode + kInodeParent, to_folder);
  }
  note_change(m, inode);
  note_modification(m, left);
  note_modification(m, entered);
  lose_name(m, other, lost);
  return answer(0);
}

// ---- attributes

/// A file whose attributes a call changes: `file` is its number, or an error, negative.
constexpr u32 kNotInTree = 1 << 20;  // the error for a descriptor of something else
template <Machine M>
MYR_FN i64 open_file(const M& m, u64 descriptor) {
  const i32 stream = stream_of(m, descriptor);
  const Opened opened = opened_at(m, stream);
  if (stream < 0 || opened.path_only()) return -(i64)kEBADF;
  u32 file;
  return file_of(m, opened, file) ? (i64)file : -(i64)kNotInTree;
}
/// Makes sure that the inode of a file can change.
template <Machine M>
MYR_OUTLINE Storing secure_inode(M& m, u32 file) {
  Plan plan;
  const bool is_folder = type_of(file_status(m, file)) == kFolder;
  if (is_folder ? !plan_folder(m, plan, file, 0) : !plan_raise_file(m, plan, file)) return Storing::again;
  return secure(m, plan);
}
template <Machine M>
MYR_FN u64 raise_any(M& m, u32 file) {
  return type_of(file_status(m, file)) == kFolder ? raise_folder(m, file) : raise_file(m, file);
}

template <Machine M>
MYR_OUTLINE Result set_mode(M& m, i64 found, u32 mode) {
  if (found < 0) return found == -(i64)kNotInTree ? missing() : answer(found);
  if (!is_writable(m)) return error(kEROFS);
  const u32 file = (u32)found;
  const FileStatus status = file_status(m, file);
  if (!owns(status) || is_descriptor_file(file)) return error(kEPERM);
  if (type_of(status) == kLink) return error(kEOPNOTSUPP);
  const Storing secured = secure_inode(m, file);
  if (secured != Storing::allowed) return not_secured(secured);
  const u64 inode = raise_any(m, file), known = word(m, inode);
  set_word(m, inode, (known & ~(u64)kModeBits) | (mode & kModeBits));
  note_change(m, inode);
  return answer(0);
}
template <Machine M>
MYR_FN Result fchmod(M& m) {
  return set_mode(m, open_file(m, m.argument(0)), (u32)m.argument(1));
}
template <Machine M>
MYR_FN Result fchmodat(M& m) {
  return set_mode(m, find_argument(m, 1, kFollowsLast), (u32)m.argument(2));
}
template <Machine M>
MYR_OUTLINE Result fchmodat2(M& m) {
  const u32 flags = (u32)m.argument(3);
  if (flags & ~(kNoFollow | kEmptyPath)) return error(kEINVAL);
  const i64 length = path_length(m, m.argument(1));
  if (length < 0 || (length == 0 && !(flags & kEmptyPath))) return length < 0 ? answer(length) : error(kENOENT);
  const u32 follows = (flags & kNoFollow) ? 0u : kFollowsLast;
  return set_mode(m, find_file(m, m.argument(0), m.argument(1), (u64)length, follows), (u32)m.argument(2));
}
/// A user may give a file that it owns to itself alone.
template <Machine M>
MYR_OUTLINE Result set_owner(M& m, i64 found, u32 user, u32 group) {
  constexpr u32 kSame = ~(u32)0;
  if (found < 0) return found == -(i64)kNotInTree ? missing() : answer(found);
  if (!is_writable(m)) return error(kEROFS);
  const FileStatus status = file_status(m, (u32)found);
  if (user != kSame && (!owns(status) || user != kUserId)) return error(kEPERM);
  if (group != kSame && (!owns(status) || group != kUserId)) return error(kEPERM);
  if (user == kSame && group == kSame) return answer(0);
  if (is_of_descriptor((u32)found)) return error(kEPERM);
  const Storing secured = secure_inode(m, (u32)found);
  if (secured != Storing::allowed) return not_secured(secured);
  // A program that another owns now does not run as its owner did.
  constexpr u64 kSetUser = 04000, kSetGroup = 02000, kGroupExecutes = 010;
  const u64 inode = raise_any(m, (u32)found), known = word(m, inode);
  const u64 lost = kSetUser | ((known & kGroupExecutes) ? kSetGroup : 0);
  if (type_of(status) != kFolder) set_word(m, inode, known & ~lost);
  note_change(m, inode);
  return answer(0);
}
template <Machine M>
MYR_FN Result fchown(M& m) {
  return set_owner(m, open_file(m, m.argument(0)), (u32)m.argument(1), (u32)m.argument(2));
}
template <Machine M>
MYR_OUTLINE Result fchownat(M& m) {
  const u32 flags = (u32)m.argument(4);
  if (flags & ~(kNoFollow | kEmptyPath)) return error(kEINVAL);
  const i64 length = path_length(m, m.argument(1));
  if (length < 0 || (length == 0 && !(flags & kEmptyPath))) return length < 0 ? answer(length) : error(kENOENT);
  const i64 found = find_file(m, m.argument(0), m.argument(1), (u64)length, (flags & kNoFollow) ? 0 : kFollowsLast);
  return set_owner(m, found, (u32)m.argument(2), (u32)m.argument(3));
}

template <Machine M>
MYR_OUTLINE Result utimensat(M& m) {
  constexpr u64 kNow = 0x3fffffff, kOmit = 0x3ffffffe;  // UTIME_NOW, UTIME_OMIT
  const u64 path = m.argument(1), times = m.argument(2);
  const u32 flags = (u32)m.argument(3);
  u64 value[4] = {0, kNow, 0, kNow};
  if (times != 0) {
    if (!readable(m, times, 2 * kTimespecBytes)) return error(kEFAULT);
    for (u32 i = 0; i < 4; i++) value[i] = load<u64>(m, times + i * 8);
  }
  if (value[1] == kOmit && value[3] == kOmit) return answer(0);
  for (u32 i = 1; i < 4; i += 2) {
    if (value[i] >= kNanoseconds && value[i] != kNow && value[i] != kOmit) return error(kEINVAL);
  }
  if (flags & ~(kNoFollow | kEmptyPath)) return error(kEINVAL);
  i64 found;
  if (path == 0) {
    if (flags != 0) return error(kEINVAL);
    found = open_file(m, m.argument(0));
    if (found == -(i64)kNotInTree) return missing();
  } else {
    const i64 length = path_length(m, path);
    if (length < 0 || (length == 0 && !(flags & kEmptyPath))) return length < 0 ? answer(length) : error(kENOENT);
    found = find_file(m, m.argument(0), path, (u64)length, (flags & kNoFollow) ? 0 : kFollowsLast);
  }
  if (found < 0) return answer(found);
  if (!is_writable(m)) return error(kEROFS);
  const FileStatus status = file_status(m, (u32)found);
  if (is_of_descriptor((u32)found)) return error(kEPERM);
  const bool both_now = value[1] == kNow && value[3] == kNow;
  if (!owns(status) && !(both_now && may(m, status, kMayWrite))) return error(both_now ? kEACCES : kEPERM);
  const Storing secured = secure_inode(m, (u32)found);
  if (secured != Storing::allowed) return not_secured(secured);
  const u64 inode = raise_any(m, (u32)found);
  for (u32 i = 0; i < 2; i++) {
    const u64 time = i == 0 ? kAccessTime : kModifyTime;
    if (value[i * 2 + 1] == kNow) set_now(m, inode, time);
    else if (value[i * 2 + 1] != kOmit) set_time(m, inode, time, value[i * 2], value[i * 2 + 1]);
  }
  note_change(m, inode);
  return answer(0);
}

// ---- length

template <Machine M>
MYR_OUTLINE Result truncate(M& m) {
  const i64 length = path_length(m, m.argument(0));
  if ((i64)m.argument(1) < 0) return error(kEINVAL);
  if (length <= 0) return length < 0 ? answer(length) : error(kENOENT);
  const i64 found = find_file(m, kHereDescriptor, m.argument(0), (u64)length, kFollowsLast);
  if (found < 0) return answer(found);
  const FileStatus file = file_status(m, (u32)found);
  if (type_of(file) != kRegular) return error(type_of(file) == kFolder ? kEISDIR : kEINVAL);
  if (!is_writable(m)) return error(kEROFS);
  return may(m, file, kMayWrite) ? resize_file(m, (u32)found, m.argument(1)) : error(kEACCES);
}
template <Machine M>
MYR_OUTLINE Result ftruncate(M& m) {
  if ((i64)m.argument(1) < 0) return error(kEINVAL);
  const i32 stream = stream_of(m, m.argument(0));
  const Opened opened = opened_at(m, stream);
  if (stream < 0 || opened.path_only()) return error(kEBADF);
  if (!opened.in_tree || !opened.writable() || type_of(file_status(m, opened.file)) != kRegular) return error(kEINVAL);
  return resize_file(m, opened.file, m.argument(1));
}
/// Makes the pages of a range, and the file so long, as fallocate(2) without a mode, or with FALLOC_FL_KEEP_SIZE.
template <Machine M>
MYR_OUTLINE Result fallocate(M& m) {
  constexpr u32 kKeepSize = 1, kModes = 0x7f;
  const i32 stream = stream_of(m, m.argument(0));
  const u32 mode = (u32)m.argument(1);
  const u64 offset = m.argument(2), size = m.argument(3);
  const Opened opened = opened_at(m, stream);
  if (stream < 0 || opened.path_only()) return error(kEBADF);
  if ((i64)offset < 0 || (i64)size <= 0) return error(kEINVAL);
  if (mode & ~kModes) return error(kEOPNOTSUPP);
  if (mode & ~kKeepSize) return error(kEOPNOTSUPP);
  if (!opened.in_tree) return error(opened.kind == Kind::input ? kEBADF : kESPIPE);
  if (!opened.writable()) return error(kEBADF);
  if (type_of(file_status(m, opened.file)) != kRegular) return error(kENODEV);
  if (offset + size > kMostFileBytes) return error(kEFBIG);
  if (size >> kPageBits > m.facts().layer_pages) return error(kENOSPC);
  Content content;
  Plan plan;
  if (!content_of(m, opened.file, content)) return error(kEIO);
  if (!plan_raise_file(m, plan, opened.file)) return again();
  const i64 fits = plan_bytes(m, plan, opened.file, offset, size);
  if (fits < 0) return again();
  if ((u64)fits < size) return error(kENOSPC);
  const Storing secured = secure(m, plan);
  if (secured != Storing::allowed) return not_secured(secured);
  const u64 inode = raise_file(m, opened.file);
  make_pages(m, inode, offset, size);
  if (!(mode & kKeepSize) && offset + size > word(m, inode + kInodeSize)) {
    set_size(m, inode, offset + size);
  }
  note_modification(m, inode);
  return answer(0);
}

// ---- others

/// A file that has no name, only a descriptor.
template <Machine M>
MYR_OUTLINE Result memfd_create(M& m) {
  constexpr u32 kClosesOnExec = 1, kAllowSealing = 2, kNoExecute = 8, kExecute = 16, kMostName = 249;
  const u32 flags = (u32)m.argument(1);
  if (flags & ~(kClosesOnExec | kAllowSealing | kNoExecute | kExecute)) return error(kEINVAL);
  if ((flags & kNoExecute) && (flags & kExecute)) return error(kEINVAL);
  const i64 length = path_length(m, m.argument(0));
  if (length == -kEFAULT) return answer(length);
  if (length < 0 || length > kMostName) return error(kEINVAL);
  if (!is_writable(m)) return missing();
  const NewOpening made = find_opening(m);
  if (made.error < 0) return answer(made.error);
  Plan plan;
  plan.inodes = 1;
  if (!own_new_opening(m, made)) return again();
  const Storing secured = secure(m, plan);
  if (secured != Storing::allowed) return not_secured(secured);
  const u32 mode = kRegular | ((flags & kNoExecute) ? 0666 : 0777);
  const u32 file = kNewFile | make_inode(m, mode, 0);
  return finish_opening(m, made, opened_value(file, kOpenReadWrite | kOpenLarge), (flags & kClosesOnExec) != 0);
}

/// Calls on extended attributes: the file system has none.
template <Machine M>
MYR_OUTLINE Result path_attribute(M& m) {
  const bool follows = m.number() % 3 == 2;  // setxattr, getxattr, listxattr, removexattr; the others begin with an l
  const i64 length = path_length(m, m.argument(0));
  if (length <= 0) return length < 0 ? answer(length) : error(kENOENT);
  const i64 found = find_file(m, kHereDescriptor, m.argument(0), (u64)length, follows ? kFollowsLast : 0);
  return found < 0 ? answer(found) : error(kEOPNOTSUPP);
}
template <Machine M>
MYR_FN Result file_attribute(M& m) {
  const i64 found = open_file(m, m.argument(0));
  return found == -(i64)kEBADF ? answer(found) : error(kEOPNOTSUPP);
}

}  // namespace myriarm::kernel
