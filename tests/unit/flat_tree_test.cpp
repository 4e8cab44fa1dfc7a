// SPDX-License-Identifier: Apache-2.0
// A root as a block of bytes says what the root itself says: of every file, every name, and of names and numbers that
// nothing has.
#include "kernel/flat_tree.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <set>

#include "backends/flat_index.h"
#include "root_folder.h"

namespace myriarm {
namespace {

using kernel::ContentState;
using test::RootFolder;

struct Flat {
  explicit Flat(const FileTree& of) : block(FlatIndexMaker(of).make()), contents(index().files) {}
  const kernel::FlatIndex& index() const { return *reinterpret_cast<const kernel::FlatIndex*>(block.data()); }
  kernel::FlatTree tree() const { return {&index(), contents.data()}; }
  i64 look_up(u32 folder, const std::string& name) const {
    return tree().look_up(folder, reinterpret_cast<const u8*>(name.data()), static_cast<u32>(name.size()));
  }

  std::vector<u64> block;
  std::vector<kernel::FlatContent> contents;
};

void expect_same_file(const FileTree& tree, const Flat& flat, u32 file) {
  const FileFacts facts = tree.facts(file);
  const kernel::FileStatus status = flat.tree().status(file);
  EXPECT_EQ(status.number, facts.number);
  EXPECT_EQ(status.mode, facts.mode);
  EXPECT_EQ(status.links, facts.links);
  EXPECT_EQ(status.size, facts.size);
  EXPECT_EQ(status.user, facts.user);
  EXPECT_EQ(status.group, facts.group);
  EXPECT_EQ(status.device, facts.device);
  EXPECT_EQ(status.seconds, facts.seconds);
  EXPECT_EQ(status.nanoseconds, facts.nanoseconds);
  EXPECT_EQ(flat.tree().is_program_link(file), tree.is_program_link(file));
  kernel::Bytes bytes = {nullptr, 0};
  const ContentState state = flat.tree().content(file, bytes);
  if (S_ISREG(facts.mode) && facts.device == 0) {
    EXPECT_EQ(state, ContentState::absent);
    return;
  }
  std::span<const uint8_t> content;
  ASSERT_EQ(state, tree.content(file, content) ? ContentState::there : ContentState::unreadable);
  if (state != ContentState::there) return;
  ASSERT_EQ(bytes.size, content.size());
  EXPECT_TRUE(bytes.size == 0 || std::memcmp(bytes.data, content.data(), bytes.size) == 0);
}

/// Compares a folder and all below it.
void expect_same(const FileTree& tree, const Flat& flat, u32 folder, std::set<u32>& seen) {
  if (!seen.insert(folder).second) return;
  SCOPED_TRACE("file " + std::to_string(folder));
  expect_same_file(tree, flat, folder);
  if (!S_ISDIR(tree.facts(folder).mode)) return;
  EXPECT_EQ(flat.tree().parent(folder), tree.parent(folder));
  std::span<const uint8_t> records;
  ASSERT_TRUE(tree.content(folder, records));
  const kernel::Bytes bytes = {records.data(), records.size()};
  for (u64 at = 0; at < records.size();) {
    const kernel::TreeRecord record = kernel::tree_record(bytes, at);
    at = record.next;
    const std::string name(reinterpret_cast<const char*>(record.name), record.name_size);
    if (name == "." || name == "..") continue;
    SCOPED_TRACE(name);
    const i64 file = tree.look_up(folder, name);
    ASSERT_GE(file, 0);
    EXPECT_EQ(flat.look_up(folder, name), file);
    for (const std::string& other : {name + "x", name.substr(1), name.substr(0, name.size() - 1), name + '\0',
                                     std::string("\xff") + name, " " + name}) {
      EXPECT_EQ(flat.look_up(folder, other), tree.look_up(folder, other)) << other;
    }
    expect_same(tree, flat, static_cast<u32>(file), seen);
  }
}

TEST(FlatTree, SaysWhatTheRootSays) {
  RootFolder folder, bound;
  folder.folder("a/b/c", 0751);
  folder.folder("empty");
  folder.file("a/f", "0123456789", 0640);
  folder.file("a/\xc3\xa4", "beyond ASCII");
  folder.link("a/b/link", "../../somewhere");
  folder.link("gone", "nothing");
  ASSERT_EQ(::link(folder.path("a/f").c_str(), folder.path("a/b/again").c_str()), 0);
  ASSERT_EQ(::mkfifo(folder.path("pipe").c_str(), 0644), 0);
  for (int i = 0; i < 300; i++) folder.file("a/b/c/" + std::to_string(i * i), "x");
  folder.file("in/hidden", "by the bind");
  bound.file("seen", "bound");
  const BoundFolder bind = {bound.path(), "/in", true};
  const auto tree = read_root(folder.path(), {&bind, 1});
  const Flat flat(*tree);
  std::set<u32> seen;
  expect_same(*tree, flat, 0, seen);
  EXPECT_GT(seen.size(), 320u);
  EXPECT_EQ(flat.look_up(0, ""), -ENOENT);
  EXPECT_EQ(flat.look_up(0, std::string(255, 'z')), -ENOENT);
}

TEST(FlatTree, NumbersThatNoFileHasAreFilesOfNothing) {
  RootFolder folder;
  folder.file("f", "it");
  const auto tree = read_root(folder.path());
  const Flat flat(*tree);
  const u32 file = static_cast<u32>(tree->find(0, "/f", 0, ""));
  EXPECT_EQ(flat.look_up(file, "f"), -ENOENT) << "a file has no names";
  for (u32 number : {flat.index().files, flat.index().files + 1, 0x40000000u, 0x80000000u, 0xFFFFFFFFu}) {
    kernel::Bytes bytes = {nullptr, 0};
    EXPECT_EQ(flat.look_up(number, "f"), -ENOENT);
    EXPECT_EQ(flat.tree().parent(number), 0u);
    EXPECT_EQ(flat.tree().status(number).mode, 0u);
    EXPECT_EQ(flat.tree().content(number, bytes), ContentState::unreadable);
    EXPECT_FALSE(flat.tree().is_program_link(number));
  }
}

TEST(FlatTree, TheTableSaysWhereContentIs) {
  RootFolder folder;
  folder.file("f", "it");
  const auto tree = read_root(folder.path());
  Flat flat(*tree);
  const u32 file = static_cast<u32>(tree->find(0, "/f", 0, ""));
  kernel::Bytes bytes = {nullptr, 0};
  EXPECT_EQ(flat.tree().content(file, bytes), ContentState::absent);
  const u8 content[] = {'i', 't'};
  flat.contents[file] = {content, 2, ContentState::there, 0};
  EXPECT_EQ(flat.tree().content(file, bytes), ContentState::there);
  EXPECT_EQ(bytes.data, content);
  EXPECT_EQ(bytes.size, 2u);
  flat.contents[file] = {nullptr, 0, ContentState::unreadable, 0};
  EXPECT_EQ(flat.tree().content(file, bytes), ContentState::unreadable);
}

/// A tree of one folder, in which a file has a number.
struct OddTree : FileTree {
  explicit OddTree(u32 of_file) : file(of_file) {
    records.resize(24 * 3);
    const char* const names[] = {".", "..", "f"};
    for (u64 i = 0; i < 3; i++) {
      records[i * 24 + 16] = 24;
      std::strcpy(reinterpret_cast<char*>(&records[i * 24 + 19]), names[i]);
    }
  }
  int64_t find(uint32_t, std::string_view, uint32_t, std::string_view) const override { return -ENOENT; }
  FileFacts facts(uint32_t number) const override {
    FileFacts facts;
    facts.mode = number == 0 ? S_IFDIR | 0755 : S_IFREG | 0644;
    return facts;
  }
  bool content(uint32_t number, std::span<const uint8_t>& bytes) const override {
    bytes = records;
    return number == 0;
  }
  int64_t look_up(uint32_t, std::string_view name) const override { return name == "f" ? int64_t{file} : -ENOENT; }
  uint32_t parent(uint32_t) const override { return 0; }
  bool is_program_link(uint32_t) const override { return false; }

  u32 file;
  std::vector<uint8_t> records;
};

TEST(FlatTree, NumbersMayHaveGapsAndAreNotTooHigh) {
  const OddTree gap(1000);
  const Flat flat(gap);
  EXPECT_EQ(flat.look_up(0, "f"), 1000);
  EXPECT_EQ(flat.tree().status(1000).mode, uint32_t{S_IFREG | 0644});
  EXPECT_EQ(flat.tree().status(999).mode, 0u);
  kernel::Bytes bytes = {nullptr, 0};
  EXPECT_EQ(flat.tree().content(999, bytes), ContentState::unreadable);
  const OddTree high(0x40000000);
  EXPECT_THROW(FlatIndexMaker(high).make(), ArgumentError);
}

}  // namespace
}  // namespace myriarm
