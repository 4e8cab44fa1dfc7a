// SPDX-License-Identifier: Apache-2.0
// Files as calls see them: those of the tree, and those of the process's layer over it. A file has a number: one of the tree
// keeps its own when it is changed and gets an inode; a new one has kNewFile and the number of its inode.
#pragma once

#include "kernel/guest_time.h"
#include "kernel/layer_pages.h"
#include "kernel/mapped_pages.h"
#include "kernel/openings.h"
#include "kernel/process_table.h"
#include "kernel/threads.h"

namespace myriarm::kernel {

constexpr u32 kNewFile = 0x80000000;
constexpr u64 kFirstNewNumber = (u64)1 << 32;  // what inode numbers of new files begin at, for the guest
constexpr u64 kMostFileBytes = ~(u64)0 >> 1;   // as a tmpfs

/// Words of an inode.
enum InodeWord : u64 {
  kInodeMode = 0,        // and the links << 32; the mode of a free inode is 0
  kInodeOwner = 8,       // and the group << 32
  kInodeSize = 16,       // of a folder: bytes of its pages, which hold its entries
  kInodeTimes = 24,      // of the last access, modification, change: two words each
  kInodePages = 72,      // a PageTree
  kInodeBelow = 80,      // a file of the tree and 1, of which the pages that are missing are; 0: those are zeros
  kInodeBelowSize = 88,  // so many bytes of it
  kInodeParent = 96,     // of a folder
  kInodePipe = 96,       // of a FIFO that was opened: the object that is its pipe, and 1
  kInodePageCount = 104,
  kInodeEntries = 112,  // names in a folder
  kInodeMapped = 120,   // of a file that was mapped so that stores change it: its number among all such files
  kInodeBytes = 128,
};
constexpr u32 kInodesInPage = kPageSize / kInodeBytes, kRaisedInPage = kPageSize / 4;
enum FileTime : u64 { kAccessTime = kInodeTimes, kModifyTime = kInodeTimes + 16, kChangeTime = kInodeTimes + 32 };

template <MemoryMachine M>
MYR_FN u64 inode_at(const M& m, u32 number) {
  const u32 page = find_page(m, tree_of(layer_word(m, kInodeTree)), number / kInodesInPage);
  return layer_at(page) + number % kInodesInPage * kInodeBytes;
}
/// Where the inode of a file lies; 0 if it has none.
template <MemoryMachine M>
MYR_FN u64 inode_of(const M& m, u32 file) {
  if (!has_layer(m)) return 0;
  if (file & kNewFile) return inode_at(m, file & ~kNewFile);
  const u32 page = find_page(m, tree_of(layer_word(m, kRaisedTree)), file / kRaisedInPage);
  const u32 number = page == 0 ? 0 : half_word(m, layer_at(page) + file % kRaisedInPage * 4);
  return number == 0 ? 0 : inode_at(m, number);
}

/// Of what is behind an open descriptor: descriptor_calls.h.
template <Machine M>
MYR_FN FileStatus status_of(const M& m, i32 stream);
/// Of the link of a descriptor, which says by its permissions how that can be used.
template <MemoryMachine M>
MYR_OUTLINE FileStatus status_of_link(const M& m, u32 link) {
  constexpr u64 kFirstLinkNumber = (u64)3 << 30, kLinkSize = 64;
  constexpr u32 kToRead = 0500, kToWrite = 0300;
  const u32 fd = link & kDescriptorBits;
  FileStatus status = {kFirstLinkNumber + fd, kLink, 1, kLinkSize};
  if constexpr (Machine<M>) {
    const i32 stream = stream_of(m, fd);
    const Opened opened = opened_at(m, stream);
    if (opened.kind == Kind::standard) status.mode |= stream == (i32)kStandardInput ? kToRead : kToWrite;
    else status.mode |= (opened.readable() ? kToRead : 0) | (opened.writable() ? kToWrite : 0);
  }
  return status;
}

/// Whether a number, which may be old, is that of a file.
template <MemoryMachine M>
MYR_FN bool is_there(const M& m, u32 file) {
  if (!(file & kNewFile)) return !is_of_descriptor(file);
  const u32 number = file & ~kNewFile;
  const u32 page = has_layer(m) ? find_page(m, tree_of(layer_word(m, kInodeTree)), number / kInodesInPage) : 0;
  return page != 0 && (u32)word(m, layer_at(page) + number % kInodesInPage * kInodeBytes) != 0;
}
/// Of a file that an opening may be of. This and status_of() do not call file_status(): without a cycle among these functions a GPU
/// knows what stack a call needs.
template <MemoryMachine M>
MYR_OUTLINE FileStatus status_of_opened(const M& m, u32 file) {
  if constexpr (HasTree<M>) {
    if (is_descriptor_link(file)) return status_of_link(m, file);
  }
  const u64 inode = inode_of(m, file);
  if (inode == 0) return tree_status(m, file);
  FileStatus status = {kFirstNewNumber + (file & ~kNewFile), (u32)word(m, inode), 0, word(m, inode + kInodeSize)};
  if (!(file & kNewFile)) {
    const FileStatus below = tree_status(m, file);
    status.number = below.number;
    status.device = below.device;
  }
  status.links = (u32)(word(m, inode) >> 32);
  status.user = (u32)word(m, inode + kInodeOwner);
  status.group = (u32)(word(m, inode + kInodeOwner) >> 32);
  status.seconds = (i64)word(m, inode + kModifyTime);
  status.nanoseconds = (u32)word(m, inode + kModifyTime + 8);
  status.access_seconds = (i64)word(m, inode + kAccessTime);
  status.access_nanoseconds = (u32)word(m, inode + kAccessTime + 8);
  status.change_seconds = (i64)word(m, inode + kChangeTime);
  status.change_nanoseconds = (u32)word(m, inode + kChangeTime + 8);
  constexpr u64 kBlockBytes = 512;
  status.blocks = word(m, inode + kInodePageCount) * (kPageSize / kBlockBytes) +
                  (word(m, inode + kInodeBelowSize) + kBlockBytes - 1) / kBlockBytes;
  return status;
}
template <MemoryMachine M>
MYR_OUTLINE FileStatus file_status(const M& m, u32 file) {
  if constexpr (HasTree<M> && Machine<M>) {
    if (is_descriptor_file(file)) {
      const i32 stream = stream_of(m, file & kDescriptorBits);
      return stream < 0 ? FileStatus{0, 0, 0, 0} : status_of(m, stream);
    }
  }
  return status_of_opened(m, file);
}

template <MemoryMachine M>
MYR_FN void set_time(M& m, u64 inode, u64 time, u64 seconds, u64 nanoseconds) {
  set_word(m, inode + time, seconds);
  set_word(m, inode + time + 8, nanoseconds);
}
/// Sets one of the times of an inode to now.
template <MemoryMachine M>
MYR_FN void set_now(M& m, u64 inode, u64 time) {
  const u64 now = nanoseconds(m);
  set_time(m, inode, time, kEpochSeconds + now / kNanoseconds, now % kNanoseconds);
}
template <MemoryMachine M>
MYR_FN void note_change(M& m, u64 inode) {
  set_now(m, inode, kChangeTime);
}
template <MemoryMachine M>
MYR_FN void note_modification(M& m, u64 inode) {
  set_now(m, inode, kModifyTime);
  set_now(m, inode, kChangeTime);
}

// A file has one owner; others have what the last bits of its mode grant.
template <MemoryMachine M>
MYR_FN bool may(const M&, const FileStatus& file, u32 wanted) {
  const u32 shift = file.user == kUserId ? 6 : file.group == kUserId ? 3 : 0;
  return (file.mode >> shift & wanted) == wanted;
}
MYR_FN bool owns(const FileStatus& file) { return file.user == kUserId; }

// ---- what a change needs, and making it

/// What a change needs before it is made. False from a function that plans: the call is abandoned.
struct Plan {
  u64 pages = 0;
  u32 inodes = 0;
};
/// Adds the pages of one more number in a tree whose word is that of the layer.
template <MemoryMachine M>
MYR_FN bool plan_page(M& m, Plan& plan, PageTree tree, u64 key) {
  if (find_page(m, tree, key) == 0) plan.pages += pages_for(tree, key, key, 1);
  return own_way(m, tree, key, true);
}
/// The lowest inode from `number` on that is free.
template <MemoryMachine M>
MYR_OUTLINE u32 free_inode_from(const M& m, u32 number) {
  const PageTree tree = tree_of(layer_word(m, kInodeTree));
  for (number = number == 0 ? 1 : number;; number++) {
    const u32 page = find_page(m, tree, number / kInodesInPage);
    if (page == 0 || (u32)word(m, layer_at(page) + number % kInodesInPage * kInodeBytes) == 0) return number;
  }
}
/// To be called last: makes sure of all that was planned.
template <MemoryMachine M>
MYR_OUTLINE Storing secure(M& m, Plan& plan) {
  const PageTree tree = tree_of(layer_word(m, kInodeTree));
  u32 number = (u32)layer_word(m, kFirstFreeInode);
  for (u32 i = 0; i < plan.inodes; i++) {
    number = free_inode_from(m, number);
    if (!plan_page(m, plan, tree, number++ / kInodesInPage)) return Storing::again;
  }
  return secure(m, plan.pages);
}

/// A new inode of zeros, which was planned.
template <MemoryMachine M>
MYR_FN u32 take_inode(M& m) {
  const u32 number = free_inode_from(m, (u32)layer_word(m, kFirstFreeInode));
  const u64 key = number / kInodesInPage;
  if (find_page(m, tree_of(layer_word(m, kInodeTree)), key) == 0) {
    const u32 page = take_page(m);
    put_page(m, layer_at(0) + kInodeTree, key, page);
  }
  set_layer_word(m, kFirstFreeInode, number + 1);
  for (u64 at = 0; at < kInodeBytes; at += 8) set_word(m, inode_at(m, number) + at, 0);
  return number;
}
/// Makes a new file, which was planned, without a name.
template <MemoryMachine M>
MYR_FN u32 make_inode(M& m, u32 mode, u32 links) {
  const u32 number = take_inode(m);
  const u64 inode = inode_at(m, number);
  set_word(m, inode + kInodeMode, mode | (u64)links << 32);
  set_word(m, inode + kInodeOwner, kUserId | (u64)kUserId << 32);
  set_now(m, inode, kAccessTime);
  note_modification(m, inode);
  return number;
}
/// Sets the size of a regular file, after secure().
template <MemoryMachine M>
MYR_FN void set_size(M& m, u64 inode, u64 size) {
  if (word(m, inode + kInodeMapped) != 0) note_growth(m, word(m, inode + kInodeSize), size);
  set_word(m, inode + kInodeSize, size);
}
template <MemoryMachine M>
MYR_FN void add_links(M& m, u64 inode, i32 more) {
  set_word(m, inode + kInodeMode, word(m, inode + kInodeMode) + ((u64)(i64)more << 32));
}

/// Plans to give a file that is no folder an inode, if it has none, and that the inode changes.
template <MemoryMachine M>
MYR_OUTLINE bool plan_raise_file(M& m, Plan& plan, u32 file) {
  if (const u64 inode = inode_of(m, file); inode != 0) return own_word(m, inode);
  plan.inodes++;
  return plan_page(m, plan, tree_of(layer_word(m, kRaisedTree)), file / kRaisedInPage);
}
/// Gives a file of the tree that has none an inode, as was planned.
template <MemoryMachine M>
MYR_OUTLINE u64 make_raised(M& m, u32 file) {
  const FileStatus status = tree_status(m, file);
  const u32 number = take_inode(m);
  const u64 inode = inode_at(m, number), tree_at = layer_at(0) + kRaisedTree, key = file / kRaisedInPage;
  u32 page = find_page(m, tree_of(word(m, tree_at)), key);
  if (page == 0) {
    page = take_page(m);
    put_page(m, tree_at, key, page);
  }
  set_half_word(m, layer_at(page) + file % kRaisedInPage * 4, number);
  set_word(m, inode + kInodeMode, status.mode | (u64)status.links << 32);
  set_word(m, inode + kInodeOwner, status.user | (u64)status.group << 32);
  for (u64 time = kAccessTime; time <= kChangeTime; time += 16) {
    set_time(m, inode, time, (u64)status.seconds, status.nanoseconds);
  }
  if (type_of(status) == kFolder) return inode;
  set_word(m, inode + kInodeSize, status.size);
  if (is_stored(status)) {
    set_word(m, inode + kInodeBelow, (u64)file + 1);
    set_word(m, inode + kInodeBelowSize, status.size);
  }
  return inode;
}
template <MemoryMachine M>
MYR_FN u64 raise_file(M& m, u32 file) {
  const u64 inode = inode_of(m, file);
  return inode != 0 ? inode : make_raised(m, file);
}

// The pipe of a FIFO: fifos.h.
template <class M>
MYR_FN bool is_fifo_open(const M& m, u64 inode);
template <class M>
MYR_FN bool own_end_of_fifo(M& m, u64 inode);
template <class M>
MYR_FN void end_fifo(M& m, u64 inode);
template <MemoryMachine M>
MYR_FN bool is_fifo(const M& m, u64 inode) {
  return ((u32)word(m, inode) & kTypeMask) == kFifo && word(m, inode + kInodePipe) != 0;
}

/// Whether something refers to the file without a name.
template <MemoryMachine M>
MYR_OUTLINE bool is_in_use(const M& m, u32 file) {
  if (const u64 inode = inode_of(m, file); inode != 0 && is_fifo(m, inode) && is_fifo_open(m, inode)) return true;
  if (word(m, kWorkingFolder) == file || is_working_folder(m, file)) return true;
  const u32 count = opening_count(m);
  for (u32 i = 0; i < count; i++) {
    const Opened opened = opened_at(m, (i32)(kFirstOpening + i));
    if (is_open(m, i) && opened.in_tree && opened.file == file) return true;
  }
  return false;
}
/// Whether ".." of a folder that was removed, and that something refers to, leads here.
template <MemoryMachine M>
MYR_OUTLINE bool is_parent_in_use(const M& m, u32 folder) {
  const u32 count = opening_count(m);
  for (u32 i = 0; i <= count; i++) {
    const Opened opened = opened_at(m, (i32)(kFirstOpening + (i < count ? i : 0)));
    if (i < count && (!opened.in_tree || !is_open(m, i))) continue;
    const u64 inode = inode_of(m, i < count ? opened.file : (u32)word(m, kWorkingFolder));
    if (inode == 0 || ((u32)word(m, inode) & kTypeMask) != kFolder) continue;
    if (word(m, inode) >> 32 == 0 && word(m, inode + kInodeParent) == folder) return true;
  }
  return false;
}
/// Where the table has the number of the inode of a file of the tree that has one.
template <MemoryMachine M>
MYR_FN u64 raised_at(const M& m, u32 file) {
  const u32 page = find_page(m, tree_of(layer_word(m, kRaisedTree)), file / kRaisedInPage);
  return layer_at(page) + file % kRaisedInPage * 4;
}
/// Plans to free a file that has an inode: drop_file().
template <MemoryMachine M>
MYR_FN bool plan_drop(M& m, u32 file) {
  const u64 inode = inode_of(m, file);
  if (inode == 0) return true;
  if (is_fifo(m, inode) && !own_end_of_fifo(m, inode)) return false;
  u32 number = file & ~kNewFile;
  if (!(file & kNewFile)) {
    number = half_word(m, raised_at(m, file));
    if (!own_way(m, tree_of(layer_word(m, kRaisedTree)), file / kRaisedInPage, true)) return false;
  }
  return own_way(m, tree_of(layer_word(m, kInodeTree)), number / kInodesInPage, true);
}
/// Plans that nothing refers to a file any more that may have lost its names. False: the call is abandoned.
template <MemoryMachine M>
MYR_OUTLINE bool plan_leave(M& m, u32 file) {
  const u64 inode = inode_of(m, file);
  if (inode == 0 || word(m, inode + kInodeMode) >> 32 != 0) return true;
  return plan_drop(m, file) && secure(m, 0) == Storing::allowed;
}
/// Frees a file that has no name any more and that nothing refers to.
template <MemoryMachine M>
MYR_OUTLINE void drop_file(M& m, u32 file) {
  const u64 inode = inode_of(m, file);
  if (inode == 0 || word(m, inode + kInodeMode) >> 32 != 0 || is_in_use(m, file)) return;
  if (((u32)word(m, inode) & kTypeMask) == kFolder && is_parent_in_use(m, file)) return;
  u32 number = file & ~kNewFile;
  if (!(file & kNewFile)) {
    const u64 at = raised_at(m, file);
    number = half_word(m, at);
    set_half_word(m, at, 0);
  }
  if (is_fifo(m, inode)) end_fifo(m, inode);
  if (word(m, inode + kInodeMapped) != 0) part_pages(m, tree_of(word(m, inode + kInodePages)), 0);
  drop_tree(m, tree_of(word(m, inode + kInodePages)));
  set_word(m, inode + kInodeMode, 0);
  set_layer_word(m, kFirstFreeInode, lesser(layer_word(m, kFirstFreeInode), number));
  const u64 page = inode & ~(u64)(kPageSize - 1);
  u64 used = 0;
  for (u32 i = 0; i < kInodesInPage; i++) used |= (u32)word(m, page + i * kInodeBytes);
  if (used == 0) drop_page(m, layer_at(0) + kInodeTree, number / kInodesInPage);
}

}  // namespace myriarm::kernel
