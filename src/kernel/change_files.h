// SPDX-License-Identifier: Apache-2.0
// What calls that make new files have in common: who may make one, what it needs, and making it.
#pragma once

#include "kernel/layer_data.h"
#include "kernel/layer_folders.h"
#include "kernel/structures.h"

namespace myriarm::kernel {

constexpr u32 kModeBits = 07777, kSticky = 01000;

/// Whether the files of the process can be changed.
template <MemoryMachine M>
MYR_FN bool is_writable(const M& m) {
  return has_tree(m) && m.facts().layer_pages != 0;
}
/// The result of a call that secure() does not allow.
MYR_FN Result not_secured(Storing storing) { return storing == Storing::again ? again() : error(kENOSPC); }
/// The flags of open() that an opening keeps.
MYR_FN u32 kept_flags(u32 flags) {
  constexpr u32 kNoTerminal = 0400, kMost = ((u32)1 << kKindInFlags) - 1;
  return (flags & kMost & ~(kOpenCreate | kOpenExclusive | kOpenTruncate | kNoTerminal | kOpenCloseOnExec)) |
         kOpenLarge;
}

/// Whether names in a folder may change, as Linux tests it: 0 or an error, negative.
template <MemoryMachine M>
MYR_FN i64 folder_refuses(const M& m, u32 folder) {
  const FileStatus status = file_status(m, folder);
  if (!may(m, status, kMayWrite | kMayExecute)) return -(i64)kEACCES;
  return 0;
}
/// The same for a new name. A folder that was removed gets none.
template <MemoryMachine M>
MYR_FN i64 new_name_refused(const M& m, u32 folder) {
  if (file_status(m, folder).links == 0) return -(i64)kENOENT;
  return folder_refuses(m, folder);
}

/// A file that is to be made: `mode` with its type. Of a link: where its target lies in guest memory.
struct NewFile {
  u32 mode;
  u64 target, target_size;
};
/// Plans a file with the name that a walk has not found. Answers 0, or what the call returns at once.
template <MemoryMachine M>
MYR_OUTLINE Result plan_new_file(M& m, Plan& plan, const Walked& walked, const NewFile& file) {
  if (const i64 refused = new_name_refused(m, walked.folder); refused < 0) return answer(refused);
  if (!plan_folder(m, plan, walked.folder, walked.name_size)) return again();
  plan.inodes++;
  if (file.target_size != 0) plan.pages++;
  return answer(0);
}
/// Makes it, and returns its number.
template <MemoryMachine M>
MYR_OUTLINE u32 make_new_file(M& m, const Walked& walked, const NewFile& file) {
  const bool is_folder = (file.mode & kTypeMask) == kFolder;
  const u64 folder = raise_folder(m, walked.folder);
  const u32 number = make_inode(m, file.mode, is_folder ? 2 : 1);
  const u64 inode = inode_at(m, number);
  if (is_folder) {
    set_word(m, inode + kInodeParent, walked.folder);
    add_links(m, folder, 1);
  }
  if (file.target_size != 0) {
    const u32 page = take_page(m);
    put_page(m, inode + kInodePages, 0, page);
    set_word(m, inode + kInodeSize, file.target_size);
    copy_to_layer(m, layer_at(page), file.target, file.target_size);
  }
  add_entry(m, folder, kNewFile | number, walked.name, walked.name_size);
  note_modification(m, folder);
  return kNewFile | number;
}

}  // namespace myriarm::kernel
