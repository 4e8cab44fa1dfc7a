// SPDX-License-Identifier: Apache-2.0
// Makes a kernel::FlatIndex of a FileTree. Regular files are not read.
#pragma once

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/flat_tree.h"
#include "kernel/layer_folders.h"
#include "myriarm/error.h"
#include "myriarm/file_tree.h"

namespace myriarm {

class FlatIndexMaker {
 public:
  explicit FlatIndexMaker(const FileTree& tree) : tree_(tree) {}

  /// In words, so that it is aligned. Throws ArgumentError if the tree has numbers that are too high.
  std::vector<u64> make() {
    note(0);
    for (size_t next = 0; next < found_.size(); next++) add(found_[next]);
    kernel::FlatIndex index = {};
    index.files = static_cast<u32>(files_.size());
    index.entries = static_cast<u32>(entries_.size());
    index.files_at = sizeof index;
    index.entries_at = index.files_at + files_.size() * sizeof files_[0];
    const u64 content_at = index.entries_at + entries_.size() * sizeof entries_[0];
    index.bytes = content_at + content_.size();
    for (kernel::FlatFile& file : files_) file.content_at += content_at;
    std::vector<u64> block((index.bytes + 7) / 8);
    u8* to = reinterpret_cast<u8*>(block.data());
    std::memcpy(to, &index, sizeof index);
    copy(to + index.files_at, files_);
    copy(to + index.entries_at, entries_);
    copy(to + content_at, content_);
    return block;
  }

 private:
  static constexpr u32 kMostNumbers = u32{1} << 24;

  template <class T>
  static void copy(u8* to, const std::vector<T>& from) {
    if (!from.empty()) std::memcpy(to, from.data(), from.size() * sizeof from[0]);
  }

  /// The file is one of those to be added.
  void note(u32 file) {
    if (file >= kMostNumbers) {
      throw ArgumentError("root: a file of it has the number " + std::to_string(file) +
                          ", which is too high for a GPU; give a root with fewer files");
    }
    if (file >= files_.size()) {
      files_.resize(file + 1);
      is_known_.resize(file + 1);
    }
    if (is_known_[file]) return;
    is_known_[file] = true;
    found_.push_back(file);
  }

  void add(u32 number) {
    const FileFacts facts = tree_.facts(number);
    kernel::FlatFile file = {};
    file.number = facts.number;
    file.size = facts.size;
    file.device = facts.device;
    file.seconds = facts.seconds;
    file.mode = facts.mode;
    file.links = facts.links;
    file.user = facts.user;
    file.group = facts.group;
    file.nanoseconds = facts.nanoseconds;
    file.is_program_link = tree_.is_program_link(number);
    const u32 type = facts.mode & kernel::kTypeMask;
    const bool is_folder = type == kernel::kFolder;
    if (type == kernel::kRegular && facts.device == 0) {
      file.place = kernel::ContentPlace::table;
    } else if (std::span<const u8> bytes; tree_.content(number, bytes)) {
      file.place = kernel::ContentPlace::index;
      file.content_at = content_.size();
      file.content_size = bytes.size();
      content_.insert(content_.end(), bytes.begin(), bytes.end());
      if (is_folder) add_entries(number, bytes, file);
    }
    if (is_folder) file.parent = tree_.parent(number);
    files_[number] = file;
  }

  void add_entries(u32 folder, std::span<const u8> bytes, kernel::FlatFile& file) {
    file.first_entry = static_cast<u32>(entries_.size());
    const kernel::Bytes records = {bytes.data(), bytes.size()};
    const auto name_of = [&](const kernel::FlatEntry& entry) {
      return std::string_view(reinterpret_cast<const char*>(bytes.data()) + entry.name_at, entry.name_size);
    };
    for (u64 at = 0; at < bytes.size();) {
      const kernel::TreeRecord record = kernel::tree_record(records, at);
      const kernel::FlatEntry found = {0, static_cast<u32>(record.name - bytes.data()), record.name_size};
      at = record.next;
      if (name_of(found) == "." || name_of(found) == "..") continue;
      const i64 number = tree_.look_up(folder, name_of(found));
      if (number < 0) continue;
      note(static_cast<u32>(number));
      entries_.push_back({static_cast<u32>(number), found.name_at, found.name_size});
    }
    std::sort(entries_.begin() + file.first_entry, entries_.end(),
              [&](const auto& a, const auto& b) { return name_of(a) < name_of(b); });
    file.entries = static_cast<u32>(entries_.size()) - file.first_entry;
  }

  const FileTree& tree_;
  std::vector<kernel::FlatFile> files_;
  std::vector<kernel::FlatEntry> entries_;
  std::vector<u8> content_;
  std::vector<bool> is_known_;  // by file
  std::vector<u32> found_;
};

}  // namespace myriarm
