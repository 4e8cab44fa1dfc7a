// SPDX-License-Identifier: Apache-2.0
// A root as one block of bytes without pointers, which a device that cannot ask the host reads where the block lies: all
// files with what stat(2) says of them, the records of folders and the paths in links. What regular files contain is not in
// it: a table beside it says where that lies, and of which files it is not at hand yet. backends/flat_index.h makes it.
#pragma once

#include "kernel/tree.h"

namespace myriarm::kernel {

/// Where what a file contains lies.
enum class ContentPlace : u32 {
  nowhere,  // it cannot be read
  index,    // in the index: folders, links, and files that are made and have no bytes of their own
  table,    // the table says it: regular files
};

/// A file; its number is its index.
struct FlatFile {
  u64 number, size, device;
  i64 seconds;
  u64 content_at, content_size;  // with ContentPlace::index; from the beginning of the index on
  u32 mode, links, user, group, nanoseconds;
  u32 parent;                // of a folder
  u32 first_entry, entries;  // of a folder: its names but "." and "..", in the order of their bytes
  ContentPlace place;
  u32 is_program_link;
};
struct FlatEntry {
  u32 file;
  u32 name_at, name_size;  // in the records of the folder
};
/// What an index begins with; the files and the entries follow somewhere behind it.
struct FlatIndex {
  u64 bytes;  // of all of it
  u64 files_at, entries_at;
  u32 files, entries;
};

enum class ContentState : u32 {
  absent,  // it has not been brought yet
  there,
  unreadable,
};
/// What a regular file contains.
struct FlatContent {
  const u8* data;
  u64 size;
  ContentState state;
  u32 reserved;
};

/// A tree over an index and the table of contents, which has an entry for each file. Numbers that no file has are those of
/// files without names, bytes and type.
class FlatTree {
 public:
  MYR_FN FlatTree(const FlatIndex* index, const FlatContent* contents) : index_(index), contents_(contents) {}

  MYR_FN bool is_there() const { return index_ != nullptr; }
  MYR_FN u32 files() const { return index_->files; }

  /// The file of a name in a folder, or an error, negative.
  MYR_FN i64 look_up(u32 folder, const u8* name, u32 size) const {
    if (folder >= index_->files) return -(i64)kENOENT;
    const FlatFile& in = file(folder);
    const FlatEntry* entries = (const FlatEntry*)(bytes() + index_->entries_at) + in.first_entry;
    u32 low = 0, high = in.entries;
    while (low < high) {
      const u32 middle = low + (high - low) / 2;
      const FlatEntry& entry = entries[middle];
      const i32 order = compare(bytes() + in.content_at + entry.name_at, entry.name_size, name, size);
      if (order == 0) return (i64)entry.file;
      if (order < 0) low = middle + 1;
      else high = middle;
    }
    return -(i64)kENOENT;
  }
  MYR_FN u32 parent(u32 folder) const { return folder < index_->files ? file(folder).parent : 0; }
  MYR_FN FileStatus status(u32 number) const {
    if (number >= index_->files) return {0, 0, 0, 0};
    const FlatFile& f = file(number);
    return {f.number, f.mode, f.links, f.size, f.user, f.group, f.device, f.seconds, f.nanoseconds};
  }
  MYR_FN bool is_program_link(u32 number) const { return number < index_->files && file(number).is_program_link != 0; }

  /// What a file contains, if the state is `there`.
  MYR_FN ContentState content(u32 number, Bytes& content) const {
    if (number >= index_->files) return ContentState::unreadable;
    const FlatFile& f = file(number);
    if (f.place == ContentPlace::nowhere) return ContentState::unreadable;
    if (f.place == ContentPlace::index) {
      content = {bytes() + f.content_at, f.content_size};
      return ContentState::there;
    }
    const FlatContent& known = contents_[number];
    if (known.state == ContentState::there) content = {known.data, known.size};
    return known.state;
  }

 private:
  MYR_FN const u8* bytes() const { return (const u8*)index_; }
  MYR_FN const FlatFile& file(u32 number) const { return ((const FlatFile*)(bytes() + index_->files_at))[number]; }
  /// Negative: the first name comes before the second.
  MYR_FN static i32 compare(const u8* first, u32 first_size, const u8* second, u32 second_size) {
    for (u32 i = 0; i < first_size && i < second_size; i++) {
      if (first[i] != second[i]) return first[i] < second[i] ? -1 : 1;
    }
    return first_size == second_size ? 0 : first_size < second_size ? -1 : 1;
  }

  const FlatIndex* index_;
  const FlatContent* contents_;
};

}  // namespace myriarm::kernel
