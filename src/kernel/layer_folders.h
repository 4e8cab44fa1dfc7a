// SPDX-License-Identifier: Apache-2.0
// The names in a folder: of a folder that was changed, from its pages in the layer; of others, from the tree. A folder gets
// all of its names when one changes. A listing goes on at a position, and where a name stands does not change while it is
// there: names of the tree come first, in their order, and new ones take the first place that is large enough.
#pragma once

#include "kernel/layer_files.h"
#include "kernel/path_walk.h"

namespace myriarm::kernel {

// An entry is a word and the name, padded with zeros, within one page. The word: the file, 0 for free room (no name leads
// to the root); the words that it takes; the size of the name, and its hash.
constexpr u32 kPageWords = kPageSize / 8;
struct Entry {
  u32 file, words, name_size, hash;
};
MYR_FN Entry entry_of(u64 value) {
  return {(u32)value, (u32)(value >> 32) & 0xFFFF, (u32)(value >> 48) & 0xFF, (u32)(value >> 56)};
}
MYR_FN u64 value_of(const Entry& entry) {
  return entry.file | (u64)entry.words << 32 | (u64)entry.name_size << 48 | (u64)entry.hash << 56;
}
MYR_FN u32 entry_words(u32 name_size) { return 1 + (name_size + 7) / 8; }
/// Eight bytes of a name, with zeros behind it.
MYR_FN u64 name_word(const u8* name, u32 size, u32 at) {
  u64 value = 0;
  for (u32 i = 0; i < 8 && at + i < size; i++) value |= (u64)name[at + i] << i * 8;
  return value;
}
MYR_FN u32 hash_of(const u8* name, u32 size) {
  u32 hash = 0;
  for (u32 i = 0; i < size; i++) hash = hash * 31 + name[i];
  return (hash ^ hash >> 8 ^ hash >> 16) & 0xFF;
}
/// Where an entry begins that is put behind others which end at a word of the folder.
MYR_FN u64 place_behind(u64 at, u32 words) {
  return at % kPageWords + words > kPageWords ? (at / kPageWords + 1) * kPageWords : at;
}

/// Where an entry of a folder lies, as word() takes it.
template <MemoryMachine M>
MYR_FN u64 entry_place(const M& m, u64 folder, u64 at) {
  return layer_at(find_page(m, tree_of(word(m, folder + kInodePages)), at / kPageWords)) + at % kPageWords * 8;
}
/// Where the entry of a name lies in the folder with this inode; 0 if it is not there.
template <MemoryMachine M>
MYR_OUTLINE u64 find_entry(const M& m, u64 folder, const u8* name, u32 size) {
  const PageTree tree = tree_of(word(m, folder + kInodePages));
  const u64 pages = word(m, folder + kInodeSize) >> kPageBits;
  const u32 hash = hash_of(name, size);
  for (u64 page = 0; page < pages; page++) {
    const u64 begin = layer_at(find_page(m, tree, page));
    for (u32 at = 0; at < kPageWords;) {
      const Entry entry = entry_of(word(m, begin + at * 8));
      bool same = entry.file != 0 && entry.name_size == size && entry.hash == hash;
      for (u32 i = 0; same && i < size; i += 8) same = word(m, begin + (at + 1) * 8 + i) == name_word(name, size, i);
      if (same) return begin + at * 8;
      at += entry.words;
    }
  }
  return 0;
}
constexpr u32 kMostNumberName = 20;  // bytes
/// The number that a name is, without zeros in front; -1: it is none.
MYR_FN i64 number_of(const u8* name, u32 size) {
  constexpr u32 kMostDigits = 10;
  if (size == 0 || size > kMostDigits || (name[0] == '0' && size != 1)) return -1;
  i64 number = 0;
  for (u32 i = 0; i < size; i++) {
    if (name[i] < '0' || name[i] > '9') return -1;
    number = number * 10 + (name[i] - '0');
  }
  return number;
}
/// Writes a number as a name; returns its size.
MYR_FN u32 name_of_number(u64 number, u8* name) {
  u32 size = 1;
  for (u64 rest = number / 10; rest != 0; rest /= 10) size++;
  for (u32 i = size; i != 0; i--, number /= 10) name[i - 1] = (u8)('0' + number % 10);
  return size;
}
/// The file of a name that a folder of /proc has beside those of the tree, or an error, negative.
template <MemoryMachine M>
MYR_OUTLINE i64 look_up_made(const M& m, u32 folder, MadeFile kind, const u8* name, u32 size) {
  if constexpr (Machine<M>) {
    const i64 number = number_of(name, size);
    if (number < 0) return -(i64)kENOENT;
    if (kind == MadeFile::descriptors) {
      const bool is_there = number < kMostFiles && stream_of(m, (u64)number) >= 0;
      return is_there ? (i64)(kDescriptorLink | (u32)number) : -(i64)kENOENT;
    }
    if (kind == MadeFile::threads) {
      const u32 slot = has_table(m) ? find_thread(m, (u32)number) : kNoThread;
      const bool is_there =
          has_table(m) ? slot != kNoThread && is_own_thread(m, slot) && is_alive(m, slot) : number == process_id(m);
      return is_there ? (i64)tree_parent(m, folder) : -(i64)kENOENT;
    }
    if (kind == MadeFile::processes && number == process_id(m)) {
      u8 first[kMostNumberName];
      const u32 first_size = name_of_number(kProcessId, first);
      return tree_look_up(m, folder, first, first_size);
    }
  }
  return -(i64)kENOENT;
}
/// The file of a name in a folder, or an error, negative.
template <MemoryMachine M>
MYR_OUTLINE i64 look_up(const M& m, u32 folder, const u8* name, u32 size) {
  const u64 inode = inode_of(m, folder);
  if (inode == 0) {
    const i64 found = tree_look_up(m, folder, name, size);
    const MadeFile kind = found == -(i64)kENOENT ? made_names(tree_status(m, folder)) : MadeFile::none;
    return kind == MadeFile::none ? found : look_up_made(m, folder, kind, name, size);
  }
  const u64 entry = find_entry(m, inode, name, size);
  return entry == 0 ? -(i64)kENOENT : (i64)entry_of(word(m, entry)).file;
}
template <MemoryMachine M>
MYR_FN u32 parent_of(const M& m, u32 folder) {
  const u64 inode = inode_of(m, folder);
  return inode == 0 ? tree_parent(m, folder) : (u32)word(m, inode + kInodeParent);
}

// ---- listings

/// The records of a folder of the tree, as getdents64() has them.
struct TreeRecord {
  u64 number, next;  // of the inode; where the record behind it begins
  u32 name_size, type;
  const u8* name;
};
MYR_FN TreeRecord tree_record(const Bytes& records, u64 at) {
  constexpr u32 kLengthAt = 16, kTypeAt = 18, kNameAt = 19;
  TreeRecord record = {0, 0, 0, records.data[at + kTypeAt], records.data + at + kNameAt};
  for (u32 i = 0; i < 8; i++) record.number |= (u64)records.data[at + i] << i * 8;
  record.next = at + records.data[at + kLengthAt] + ((u64)records.data[at + kLengthAt + 1] << 8);
  while (record.name[record.name_size] != 0) record.name_size++;
  return record;
}

/// A name in a listing. Positions: 0 is ".", 1 is "..", then word n of the entries is n + 2.
struct Listed {
  u64 number, next;  // of the inode; the position behind it
  u32 name_size, type;
  const u8* tree_name;  // or else
  u64 name_at;          // as word() takes it
};
struct Listing {
  u32 folder;
  u64 inode;      // 0: its names are those of the tree
  Bytes records;  // then
  u64 record_at, at;
  u64 position;
  MadeFile made;               // which numbers are names too, behind the others
  u8 number[kMostNumberName];  // the one that was listed last
};
constexpr u64 kFirstEntry = 2;

MYR_TABLE u8 kDots[] = {'.', '.'};

/// False: the folder cannot be read.
template <MemoryMachine M>
MYR_FN bool begin_listing(const M& m, u32 folder, u64 position, Listing& listing) {
  listing = {folder, inode_of(m, folder), {nullptr, 0}, 0, 0, position, MadeFile::none, {}};
  if (listing.inode != 0) return true;
  listing.made = made_names(tree_status(m, folder));
  if (!tree_content(m, folder, listing.records)) return false;
  for (u32 dots = 0; dots < 2; dots++) listing.record_at = tree_record(listing.records, listing.record_at).next;
  return true;
}
/// Lists the next number from the position on; false: there is no other.
template <MemoryMachine M>
MYR_OUTLINE bool next_number(const M& m, Listing& listing, Listed& listed) {
  if constexpr (Machine<M>) {
    if (listing.made != MadeFile::descriptors && listing.made != MadeFile::threads) return false;
    const bool is_threads = listing.made == MadeFile::threads;
    const u64 end = !is_threads ? kMostFiles : has_table(m) ? thread_slots(m) : 1;
    for (u64 at = listing.position - kFirstEntry; at < end; at++) {
      u64 number = at;
      if (!is_threads) {
        if (stream_of(m, at) < 0) continue;
      } else if (!has_table(m)) {
        number = process_id(m);
      } else {
        const u32 slot = (u32)at;
        if (!is_own_thread(m, slot) || !is_alive(m, slot)) continue;
        number = slot == current_thread(m) ? thread_id(m) : head(m, slot, kHeadThread);
      }
      listing.position = at + 1 + kFirstEntry;
      const u32 file = is_threads ? tree_parent(m, listing.folder) : kDescriptorLink | (u32)at;
      const u32 size = name_of_number(number, listing.number);
      const FileStatus status = file_status(m, file);
      listed = {status.number, listing.position, size, type_of(status) >> 12, listing.number, 0};
      return true;
    }
  }
  return false;
}
/// The next name; false: there is no other.
template <MemoryMachine M>
MYR_OUTLINE bool next_listed(const M& m, Listing& listing, Listed& listed) {
  if (listing.position < kFirstEntry) {
    const u32 dots = (u32)listing.position + 1;
    const u32 file = dots == 1 ? listing.folder : parent_of(m, listing.folder);
    listed = {file_status(m, file).number, ++listing.position, dots, kFolder >> 12, kDots, 0};
    return true;
  }
  if (listing.inode == 0) {
    while (listing.record_at < listing.records.size) {
      const TreeRecord record = tree_record(listing.records, listing.record_at);
      const u32 words = entry_words(record.name_size);
      const u64 at = place_behind(listing.at, words);
      listing.record_at = record.next;
      listing.at = at + words;
      if (at + kFirstEntry < listing.position) continue;
      listing.position = listing.at + kFirstEntry;
      listed = {record.number, listing.position, record.name_size, record.type, record.name, 0};
      return true;
    }
    return next_number(m, listing, listed);
  }
  const u64 end = word(m, listing.inode + kInodeSize) / 8, first = listing.position - kFirstEntry;
  // The position may be within an entry: then the next one comes.
  for (u64 at = first / kPageWords * kPageWords; at < end;) {
    const u64 place = entry_place(m, listing.inode, at);
    const Entry entry = entry_of(word(m, place));
    const u64 next = at + entry.words;
    if (at >= first && entry.file != 0) {
      const FileStatus status = file_status(m, entry.file);
      listing.position = next + kFirstEntry;
      listed = {status.number, listing.position, entry.name_size, type_of(status) >> 12, nullptr, place + 8};
      return true;
    }
    at = next;
  }
  return false;
}

/// The name of a file in a folder. False: it has none there.
template <MemoryMachine M>
MYR_OUTLINE bool find_name(const M& m, u32 folder, u64 number, Listing& listing, Listed& listed) {
  if (!begin_listing(m, folder, kFirstEntry, listing)) return false;
  while (next_listed(m, listing, listed)) {
    if (listed.number == number) return true;
  }
  return false;
}
/// The name of a folder in the one that it is in. False: it has none any more.
template <MemoryMachine M>
MYR_FN bool find_own_name(const M& m, u32 folder, Listed& listed) {
  Listing listing;
  return find_name(m, parent_of(m, folder), file_status(m, folder).number, listing, listed);
}

// ---- changes of a folder

/// Plans that a folder gets an inode with all of its names, if it has none, and one more name of `name_size` bytes, if that
/// is not 0. False: the call is abandoned.
template <MemoryMachine M>
MYR_OUTLINE bool plan_folder(M& m, Plan& plan, u32 folder, u32 name_size) {
  const u64 inode = inode_of(m, folder);
  const u32 words = entry_words(name_size);
  if (!plan_raise_file(m, plan, folder)) return false;
  if (inode == 0) {
    Bytes records = {nullptr, 0};
    u64 end = 0;
    tree_content(m, folder, records);
    for (u64 at = 0; at < records.size;) {
      const TreeRecord record = tree_record(records, at);
      const u32 taken = entry_words(record.name_size);
      end = place_behind(end, taken) + taken;
      at = record.next;
    }
    const u64 pages = place_behind(end, words) / kPageWords + 1;
    plan.pages += pages_for({0, 0}, 0, pages, pages);
    return true;
  }
  if (name_size == 0) return true;
  const PageTree tree = tree_of(word(m, inode + kInodePages));
  const u64 pages = word(m, inode + kInodeSize) >> kPageBits;
  for (u64 page = 0; page < pages; page++) {
    const u64 begin = layer_at(find_page(m, tree, page));
    for (u32 at = 0; at < kPageWords;) {
      const Entry entry = entry_of(word(m, begin + at * 8));
      if (entry.file == 0 && entry.words >= words) return own_word(m, begin);
      at += entry.words;
    }
  }
  return plan_page(m, plan, tree, pages);
}

template <MemoryMachine M>
MYR_FN void set_entry(M& m, u64 place, const Entry& entry, const u8* name) {
  set_word(m, place, value_of(entry));
  for (u32 i = 0; i < entry.name_size; i += 8) set_word(m, place + 8 + i, name_word(name, entry.name_size, i));
}
/// A new page of a folder, one free entry. Returns where it lies.
template <MemoryMachine M>
MYR_FN u64 add_folder_page(M& m, u64 folder) {
  const u32 page = take_page(m);
  const u64 size = word(m, folder + kInodeSize);
  put_page(m, folder + kInodePages, size >> kPageBits, page);
  set_word(m, folder + kInodeSize, size + kPageSize);
  set_word(m, folder + kInodePageCount, word(m, folder + kInodePageCount) + 1);
  set_word(m, layer_at(page), value_of(Entry{0, kPageWords, 0, 0}));
  return layer_at(page);
}
/// Puts a name into free room, and makes what is left of it an entry that is free.
template <MemoryMachine M>
MYR_FN void fill_entry(M& m, u64 folder, u64 place, u32 file, const u8* name, u32 size) {
  const u32 room = entry_of(word(m, place)).words, words = entry_words(size);
  set_entry(m, place, {file, words, size, hash_of(name, size)}, name);
  if (room > words) set_word(m, place + words * 8, value_of(Entry{0, room - words, 0, 0}));
  set_word(m, folder + kInodeEntries, word(m, folder + kInodeEntries) + 1);
}
/// Adds a name that was planned to the folder with this inode.
template <MemoryMachine M>
MYR_OUTLINE void add_entry(M& m, u64 folder, u32 file, const u8* name, u32 size) {
  const PageTree tree = tree_of(word(m, folder + kInodePages));
  const u64 pages = word(m, folder + kInodeSize) >> kPageBits;
  const u32 words = entry_words(size);
  for (u64 page = 0; page < pages; page++) {
    const u64 begin = layer_at(find_page(m, tree, page));
    for (u32 at = 0; at < kPageWords;) {
      const Entry entry = entry_of(word(m, begin + at * 8));
      if (entry.file == 0 && entry.words >= words) return fill_entry(m, folder, begin + at * 8, file, name, size);
      at += entry.words;
    }
  }
  fill_entry(m, folder, add_folder_page(m, folder), file, name, size);
}
/// Removes the entry that find_entry() has found, and joins the free room around it; without entries a folder has no pages.
/// The page of the entry must be own.
template <MemoryMachine M>
MYR_OUTLINE void remove_entry(M& m, u64 folder, u64 place) {
  const u64 begin = place & ~(u64)(kPageSize - 1);
  set_word(m, place, value_of(Entry{0, entry_of(word(m, place)).words, 0, 0}));
  set_word(m, folder + kInodeEntries, word(m, folder + kInodeEntries) - 1);
  if (word(m, folder + kInodeEntries) == 0) {
    drop_tree(m, tree_of(word(m, folder + kInodePages)));
    set_word(m, folder + kInodePages, 0);
    set_word(m, folder + kInodeSize, 0);
    set_word(m, folder + kInodePageCount, 0);
    return;
  }
  for (u32 at = 0; at < kPageWords;) {
    const Entry entry = entry_of(word(m, begin + at * 8));
    const u32 next = at + entry.words;
    const Entry behind = next < kPageWords ? entry_of(word(m, begin + next * 8)) : Entry{1, 0, 0, 0};
    if (entry.file == 0 && behind.file == 0) {
      set_word(m, begin + at * 8, value_of(Entry{0, entry.words + behind.words, 0, 0}));
    } else {
      at = next;
    }
  }
}

/// Gives a folder an inode with its names, as was planned. Returns the inode.
template <MemoryMachine M>
MYR_OUTLINE u64 raise_folder(M& m, u32 folder) {
  if (const u64 inode = inode_of(m, folder); inode != 0) return inode;
  const u64 inode = make_raised(m, folder);
  set_word(m, inode + kInodeParent, tree_parent(m, folder));
  Bytes records = {nullptr, 0};
  tree_content(m, folder, records);
  u64 page = 0, end = 0;
  for (u64 at = 0; at < records.size;) {
    const TreeRecord record = tree_record(records, at);
    at = record.next;
    const i64 file = tree_look_up(m, folder, record.name, record.name_size);
    const bool dots =
        record.name[0] == '.' && (record.name_size == 1 || (record.name_size == 2 && record.name[1] == '.'));
    if (dots || file < 0) continue;
    const u64 place = place_behind(end, entry_words(record.name_size));
    if (place % kPageWords == 0) page = add_folder_page(m, inode);
    fill_entry(m, inode, page + place % kPageWords * 8, (u32)file, record.name, record.name_size);
    end = place + entry_words(record.name_size);
  }
  return inode;
}

}  // namespace myriarm::kernel
