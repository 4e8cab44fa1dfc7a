// SPDX-License-Identifier: Apache-2.0
// The files that a process writes, as src/kernel/ keeps them: what calls do, where memory for them ends, that it is given back,
// and that a call which is abandoned at any point gives the same when it is made again. tests/roots/writes.c compares the
// effects and errors of the calls with Linux.
#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>

#include "kernel_caller.h"
#include "root_folder.h"

namespace myriarm {
namespace {

using namespace test;

// clang-format off
enum LayerCall : u32 { kFlock = 32, kMkdirat = 34, kUnlinkat = 35, kSymlinkat = 36, kLinkat = 37, kRenameat = 38, kTruncate = 45, kMknodat = 33, kSplice = 76,
                       kFtruncate = 46, kFallocate = 47, kChdir = 49, kFchmod = 52, kGetdents = 61, kPwrite64 = 68,
                       kUtimensat = 88, kMemfdCreate = 279 };
// clang-format on
constexpr u64 kCreateFlags = 0102, kTruncateFlags = 01102, kRemoveFolder = 0x200;
constexpr u64 kManyPages = 300;

template <class M>
class Files {
 public:
  explicit Files(const FileTree& tree, u64 pages = kManyPages) {
    m.tree = &tree;
    m.set_layer_pages(pages);
  }
  static constexpr u64 kPath = M::kData + 0x800, kOther = M::kData + 0xA00, kOut = M::kData + 0x1000;
  u64 at(const std::string& path, u64 address = kPath) {
    m.put_path(address, path);
    return address;
  }
  i64 call(u32 number, const std::vector<u64>& arguments) {
    m.abandon(mode);
    const i64 value = m.value(number, arguments);
    m.abandon(Abandon::never);
    results.push_back(value);
    return value;
  }
  i64 open(const std::string& path, u64 flags = 0, u64 mode_bits = 0644) {
    return call(kOpenat, {kHere, at(path), flags, mode_bits});
  }
  i64 write(i64 fd, const std::string& text) {
    m.put_text(kOut, text);
    return call(kWrite64, {static_cast<u64>(fd), kOut, text.size()});
  }
  i64 write_at(i64 fd, const std::string& text, u64 position) {
    m.put_text(kOut, text);
    return call(kPwrite64, {static_cast<u64>(fd), kOut, text.size(), position});
  }
  std::string read(i64 fd, u64 position = 0, u64 size = 100) {
    const i64 got = call(kPread64, {static_cast<u64>(fd), kOut, size, position});
    return got < 0 ? "error " + std::to_string(-got) : m.text(kOut, static_cast<u64>(got));
  }
  std::string content(const std::string& path) {
    const i64 fd = open(path);
    if (fd < 0) return "error " + std::to_string(-fd);
    const std::string text = read(fd);
    close(fd);
    return text;
  }
  i64 close(i64 fd) { return call(kClose, {static_cast<u64>(fd)}); }
  i64 remove(const std::string& path, u64 flags = 0) { return call(kUnlinkat, {kHere, at(path), flags}); }
  i64 make_folder(const std::string& path) { return call(kMkdirat, {kHere, at(path), 0755}); }
  i64 rename(const std::string& from, const std::string& to) {
    return call(kRenameat, {kHere, at(from), kHere, at(to, kOther)});
  }
  /// The names in a folder, in the order of the listing.
  std::vector<std::string> names(const std::string& path) {
    std::vector<std::string> found;
    const i64 fd = open(path, O_DIRECTORY);
    for (i64 size; (size = call(kGetdents, {static_cast<u64>(fd), kOut, 100})) > 0;) {
      for (u64 record = kOut; record < kOut + static_cast<u64>(size);) {
        const std::string text = m.text(record, 100);
        found.emplace_back(text.c_str() + 19);
        record += static_cast<u8>(text[16]);
      }
    }
    close(fd);
    return found;
  }
  /// Pages that are taken, apart from those that an empty layer has.
  u64 taken() const { return kernel::layer_word(m, kernel::kTakenPages); }

  M m;
  Abandon mode = Abandon::never;
  std::vector<i64> results;
};

class KernelLayer : public testing::Test {
 protected:
  KernelLayer() {
    folder_.folder("own");
    folder_.file("own/large", std::string(3 * kPageSize, 'l'));
    folder_.file("own/one", "one");
    folder_.folder("own/sub/inner");
    folder_.file("own/sub/x", "x");
    folder_.link("own/link", "one");
    folder_.file("program", "it");
    const BoundFolder bind = {folder_.path("own"), "/w", true};
    tree_ = read_root(folder_.path(), {&bind, 1});
  }

  /// Makes calls that `first` has made, and abandons each on its way.
  template <class Seen>
  void expect_the_same_if_abandoned(Seen (*make_calls)(Files<KernelMachine<1>>&), const Files<KernelMachine<1>>& first,
                                    const Seen& expected) {
    for (Abandon mode : {Abandon::each_once, Abandon::after_changes}) {
      Files<KernelMachine<1>> f(*tree_);
      f.mode = mode;
      EXPECT_EQ(make_calls(f), expected);
      EXPECT_EQ(f.results, first.results);
      EXPECT_EQ(f.m.state(), first.m.state());
      EXPECT_EQ(f.m.mistakes(), std::vector<std::string>());
    }
  }

  RootFolder folder_;
  std::shared_ptr<const FileTree> tree_;
};

/// Calls of each kind, with what they leave.
template <class M>
std::vector<std::string> change_much(Files<M>& f) {
  std::vector<std::string> seen;
  EXPECT_GE(f.open("/w/new", kCreateFlags), 0);
  EXPECT_EQ(f.write(3, "hello"), 5);
  EXPECT_EQ(f.write_at(3, "far", 3 * kPageSize - 1), 3);
  EXPECT_EQ(f.make_folder("/w/d"), 0);
  EXPECT_EQ(f.call(kLinkat, {kHere, f.at("/w/new"), kHere, f.at("/w/d/hard", f.kOther), 0}), 0);
  EXPECT_EQ(f.rename("/w/sub", "/w/d/moved"), 0);
  EXPECT_EQ(f.open("/w/large", 2), 4);
  EXPECT_EQ(f.write_at(4, "LLL", kPageSize + 10), 3);
  EXPECT_EQ(f.call(kFtruncate, {4, kPageSize + 12}), 0);
  EXPECT_EQ(f.call(kFtruncate, {4, 2 * kPageSize}), 0);
  seen.push_back(f.read(4, kPageSize + 8, 8));
  EXPECT_EQ(f.call(kSymlinkat, {f.at("d/moved/x", f.kOther), kHere, f.at("/w/l")}), 0);
  seen.push_back(f.content("/w/l"));
  EXPECT_EQ(f.call(kUtimensat, {kHere, f.at("/w/one"), 0, 0}), 0);
  EXPECT_EQ(f.remove("/w/one"), 0);
  EXPECT_EQ(f.remove("/w/d/hard"), 0);
  EXPECT_EQ(f.rename("/w/new", "/w/link"), 0);
  EXPECT_EQ(f.call(kFchmod, {3, 0600}), 0);
  EXPECT_EQ(f.call(kFallocate, {3, 0, 0, 4 * kPageSize}), 0);
  EXPECT_EQ(f.remove("/w/d/moved/inner", kRemoveFolder), 0);
  EXPECT_EQ(f.open("/w/d/moved/x", kTruncateFlags), 5);
  EXPECT_EQ(f.remove("/w/d/moved/x"), 0);
  EXPECT_EQ(f.write(5, "no name"), 7);
  seen.push_back(f.read(5));
  EXPECT_EQ(f.close(5), 0);
  EXPECT_EQ(f.call(kMemfdCreate, {f.at("memory"), 0}), 5);
  EXPECT_EQ(f.call(kChdir, {f.at("/w/d/moved")}), 0);
  f.call(kGetcwdCall, {f.kOut, 50});
  seen.push_back(f.m.text(f.kOut, 10));
  for (const std::string& name : f.names("/w")) seen.push_back(name);
  return seen;
}

TEST_F(KernelLayer, WhatCallsLeave) {
  Files<KernelMachine<1>> f(*tree_);
  const std::vector<std::string> expected = {
      std::string("llLL\0\0\0\0", 8), "x", "no name", "/w/d/moved", ".", "..", "large", "link", "l", "d"};
  EXPECT_EQ(change_much(f), expected);
  EXPECT_EQ(f.m.mistakes(), std::vector<std::string>());
}

TEST_F(KernelLayer, CallsThatWereAbandonedGiveTheSame) {
  Files<KernelMachine<1>> first(*tree_);
  const std::vector<std::string> expected = change_much(first);
  expect_the_same_if_abandoned(change_much<KernelMachine<1>>, first, expected);
  Files<KernelMachine<2>> interleaved(*tree_);
  interleaved.mode = Abandon::each_once;
  EXPECT_EQ(change_much(interleaved), expected);
  EXPECT_EQ(interleaved.results, first.results);
  EXPECT_EQ(interleaved.m.mistakes(), std::vector<std::string>());
}

/// FIFOs and links of descriptors: what the links show.
template <class M>
std::vector<std::string> use_fifos(Files<M>& f) {
  std::vector<std::string> seen;
  const auto see_link = [&](i64 fd) {
    const u64 path = f.at("/proc/self/fd/" + std::to_string(fd));
    const i64 size = f.call(kReadlinkat, {kHere, path, f.kOut, 100});
    seen.push_back(size < 0 ? "error " + std::to_string(-size) : f.m.text(f.kOut, static_cast<u64>(size)));
  };
  EXPECT_EQ(f.call(kMknodat, {kHere, f.at("/w/fifo"), 010600, 0}), 0);
  EXPECT_EQ(f.open("/w/fifo", O_WRONLY | O_NONBLOCK), -ENXIO);
  EXPECT_EQ(f.open("/w/fifo"), -EDEADLK);
  EXPECT_EQ(f.open("/w/fifo", O_NONBLOCK), 3);
  EXPECT_EQ(f.open("/w/fifo", O_WRONLY), 4);
  EXPECT_EQ(f.write(4, std::string(300, 'a')), 300);
  EXPECT_EQ(f.open("/w/large"), 5);
  EXPECT_EQ(f.call(kSplice, {5, 0, 4, 0, 5000, 0}), 5000);
  EXPECT_EQ(f.open("/proc/self/fd/3", O_NONBLOCK), 6);
  see_link(3);
  EXPECT_EQ(f.rename("/w/fifo", "/w/sub/moved"), 0);
  see_link(6);
  EXPECT_EQ(f.call(kRead63, {6, f.kOut, 100}), 100);
  EXPECT_EQ(f.call(kFchmod, {3, 0640}), 0);
  EXPECT_EQ(f.remove("/w/sub/moved"), 0);
  see_link(4);
  see_link(5);
  see_link(7);
  for (const std::string& name : f.names("/proc/self/fd")) seen.push_back(name);
  for (i64 fd = 3; fd <= 6; fd++) EXPECT_EQ(f.close(fd), 0);
  return seen;
}

TEST_F(KernelLayer, FifosThatWereAbandonedGiveTheSame) {
  Files<KernelMachine<1>> first(*tree_);
  const std::vector<std::string> expected = {
      "/w/fifo", "/w/sub/moved", "/ (deleted)", "/w/large", "error 2", ".", "..", "0", "1", "2", "3", "4", "5", "6",
      "7"};
  EXPECT_EQ(use_fifos(first), expected);
  EXPECT_EQ(first.m.mistakes(), std::vector<std::string>());
  expect_the_same_if_abandoned(use_fifos<KernelMachine<1>>, first, expected);
  Files<KernelMachine<2>> interleaved(*tree_);
  interleaved.mode = Abandon::each_once;
  EXPECT_EQ(use_fifos(interleaved), expected);
  EXPECT_EQ(interleaved.results, first.results);
  const u64 taken = first.taken(), objects = first.m.kernel_word(kernel::kObjectCount);
  for (int turn = 0; turn < 3; turn++) EXPECT_EQ(use_fifos(first).size(), expected.size());
  EXPECT_EQ(first.taken(), taken) << "what a FIFO takes is given back";
  EXPECT_EQ(first.m.kernel_word(kernel::kObjectCount), objects);
  EXPECT_EQ(first.m.kernel_word(kernel::kReservedBuffers), 0u);
}

/// Locks of a file by two openings and by the process: the records that F_OFD_GETLK finds then, by a third one.
template <class M>
std::vector<u64> use_locks(Files<M>& f) {
  const u64 own = 36, get = 5, set = 6, waits = 7, read = 0, write = 1, none = 2;
  const auto record = [&](u64 fd, u64 command, u64 type, u64 begin, u64 length) {
    f.m.put_words(f.kOut, {type, begin, length, 0});
    return f.call(kFcntl, {fd, command, f.kOut});
  };
  EXPECT_EQ(f.open("/w/one", O_RDWR), 3);
  EXPECT_EQ(f.open("/w/one", O_RDWR), 4);
  EXPECT_EQ(f.open("/w/one", O_RDWR), 5);
  EXPECT_EQ(record(3, own + 1, write, 0, 10), 0);
  EXPECT_EQ(record(3, own + 1, read, 3, 2), 0);
  EXPECT_EQ(record(4, own + 1, write, 3, 1), -EAGAIN);
  EXPECT_EQ(record(4, own + 1, read, 3, 1), 0);
  EXPECT_EQ(record(4, own + 2, write, 0, 1), -EDEADLK);  // nobody could let it go meanwhile
  EXPECT_EQ(record(3, own + 1, none, 8, 1), 0);
  EXPECT_EQ(record(3, set, write, 20, 0), 0);
  EXPECT_EQ(record(3, waits, read, 18, 4), 0);
  EXPECT_EQ(record(3, set, read, 16, 3), 0);
  EXPECT_EQ(record(3, set, read, 20, 4), 0);
  EXPECT_EQ(record(3, get, write, 20, 1), 0);
  EXPECT_EQ(f.m.word_at(f.kOut) & 3, none) << "the process has it itself";
  std::vector<u64> seen;
  for (u64 at = 0; at < 25; at++) {
    EXPECT_EQ(record(5, own, write, at, 1), 0);
    seen.push_back((f.m.word_at(f.kOut) & 3) * 10000 + f.m.word_at(f.kOut + 8) * 100 + f.m.word_at(f.kOut + 16));
  }
  EXPECT_EQ(f.call(kFlock, {3, LOCK_EX}), 0);
  EXPECT_EQ(f.call(kFlock, {4, LOCK_SH | LOCK_NB}), -EAGAIN);
  EXPECT_EQ(f.call(kFlock, {4, LOCK_SH}), -EDEADLK);
  EXPECT_EQ(f.call(kFlock, {3, LOCK_SH}), 0);
  EXPECT_EQ(f.call(kFlock, {4, LOCK_SH}), 0);
  EXPECT_EQ(f.call(kFlock, {4, LOCK_EX | LOCK_NB}), -EAGAIN);
  EXPECT_EQ(f.call(kFlock, {3, LOCK_EX | LOCK_NB}), 0);
  EXPECT_EQ(f.m.kernel_word(kernel::kFileLocks), 8u);
  EXPECT_EQ(f.call(kDup, {3}), 6);
  EXPECT_EQ(f.close(6), 0);
  EXPECT_EQ(f.m.kernel_word(kernel::kFileLocks), 6u)
      << "the two records of the process have gone, and none of the opening";
  EXPECT_EQ(f.close(5), 0);
  EXPECT_EQ(f.close(3), 0);
  EXPECT_EQ(f.m.kernel_word(kernel::kFileLocks), 1u);
  EXPECT_EQ(f.close(4), 0);
  EXPECT_EQ(f.m.kernel_word(kernel::kFileLocks), 0u);
  return seen;
}

TEST_F(KernelLayer, LocksThatWereAbandonedGiveTheSame) {
  Files<KernelMachine<1>> first(*tree_);
  // Type, first byte and length: of a lock for reading 0, 0 and so on.
  std::vector<u64> expected(25, 20000);
  for (u64 at = 0; at < 3; at++) expected[at] = 10003;
  expected[3] = 301;  // of the other opening; the one of two bytes would be as right
  expected[4] = 302;
  for (u64 at = 5; at < 8; at++) expected[at] = 10503;
  expected[8] = 20801;
  expected[9] = 10901;
  for (u64 at = 10; at < 16; at++) expected[at] = 20001 + at * 100;
  for (u64 at = 16; at < 24; at++) expected[at] = 1608;
  expected[24] = 12400;
  EXPECT_EQ(use_locks(first), expected);
  EXPECT_EQ(first.m.mistakes(), std::vector<std::string>());
  expect_the_same_if_abandoned(use_locks<KernelMachine<1>>, first, expected);
}

TEST_F(KernelLayer, NothingIsTakenBeforeTheFirstWrite) {
  Files<KernelMachine<1>> f(*tree_);
  EXPECT_EQ(f.content("/w/one"), "one");
  EXPECT_EQ(f.open("/w/none"), -ENOENT);
  EXPECT_EQ(f.open("/program", 1), -EACCES);
  EXPECT_EQ(f.m.kernel_word(kLayerPages), 0u);
  EXPECT_EQ(f.m.entry(f.m.guest_pages() + kKernelPages), 0u) << "no page of it is mapped";
}

TEST_F(KernelLayer, AWrittenPageOfALargeFileCostsThatPage) {
  Files<KernelMachine<1>> f(*tree_);
  const i64 fd = f.open("/w/large", 2);
  EXPECT_EQ(f.write_at(fd, "1", 5), 1);
  const u64 taken = f.taken();
  EXPECT_EQ(f.write_at(fd, "2", 6), 1);
  EXPECT_EQ(f.taken(), taken);
  EXPECT_EQ(f.write_at(fd, "3", kPageSize), 1);
  EXPECT_EQ(f.taken(), taken + 2) << "a page and a node";
  EXPECT_EQ(f.read(fd, 4, 4), "l12l");
  EXPECT_EQ(f.read(fd, kPageSize - 1, 3), "l3l");
  EXPECT_EQ(f.m.mistakes(), std::vector<std::string>());
}

TEST_F(KernelLayer, PagesAreGivenBack) {
  Files<KernelMachine<1>> f(*tree_);
  const i64 kept = f.open("/w/kept", kCreateFlags);
  ASSERT_GE(kept, 0);
  f.close(kept);
  const u64 taken = f.taken();
  for (int turn = 0; turn < 3; turn++) {
    const i64 fd = f.open("/w/a", kCreateFlags);
    for (u64 page : {0, 1, 5, 2000, 3'000'000}) EXPECT_EQ(f.write_at(fd, "x", page * kPageSize), 1);
    EXPECT_GT(f.taken(), taken + 5);
    EXPECT_EQ(f.remove("/w/a"), 0);
    EXPECT_GT(f.taken(), taken + 5) << "it is open";
    f.close(fd);
    EXPECT_EQ(f.taken(), taken) << turn;
    const i64 other = f.open("/w/a", kCreateFlags);
    EXPECT_EQ(f.write_at(other, "x", 7 * kPageSize), 1);
    EXPECT_EQ(f.call(kFtruncate, {static_cast<u64>(other), 0}), 0);
    EXPECT_EQ(f.taken(), taken);
    EXPECT_EQ(f.rename("/w/a", "/w/kept"), 0);
    EXPECT_EQ(f.make_folder("/w/folder"), 0);
    EXPECT_EQ(f.make_folder("/w/folder/inner"), 0);
    EXPECT_EQ(f.remove("/w/folder/inner", kRemoveFolder), 0);
    EXPECT_EQ(f.remove("/w/folder", kRemoveFolder), 0);
    f.close(other);
    EXPECT_EQ(f.taken(), taken) << turn;
  }
  EXPECT_EQ(f.m.mistakes(), std::vector<std::string>());
}

TEST_F(KernelLayer, PagesBehindANewEndAreGivenBack) {
  Files<KernelMachine<1>> f(*tree_);
  const i64 fd = f.open("/w/a", kCreateFlags);
  EXPECT_EQ(f.write_at(fd, "x", 0), 1);
  EXPECT_EQ(f.write_at(fd, "x", 9 * kPageSize), 1);
  const u64 taken = f.taken();
  for (u64 page : {3, 7, 8}) EXPECT_EQ(f.write_at(fd, "x", page * kPageSize + 5), 1);
  EXPECT_EQ(f.taken(), taken + 3);
  EXPECT_EQ(f.call(kFtruncate, {static_cast<u64>(fd), 7 * kPageSize + 2}), 0);
  EXPECT_EQ(f.taken(), taken + 1);
  EXPECT_EQ(f.call(kFtruncate, {static_cast<u64>(fd), 8 * kPageSize}), 0);
  EXPECT_EQ(f.read(fd, 7 * kPageSize, 8), std::string(8, '\0')) << "what was behind the end is gone";
}

TEST_F(KernelLayer, InodesAndNamesThatAreFreeGivePagesBack) {
  Files<KernelMachine<1>> f(*tree_);
  f.close(f.open("/w/kept", kCreateFlags));
  const u64 taken = f.taken();
  const auto name = [](int i) { return "/w/" + std::string(60, 'n') + std::to_string(i); };
  for (int i = 0; i < 120; i++) f.close(f.open(name(i), kCreateFlags));
  EXPECT_GE(f.taken(), taken + 5);
  for (int i = 0; i < 120; i++) EXPECT_EQ(f.remove(name(i)), 0);
  EXPECT_EQ(f.taken(), taken + 4) << "two pages of names, and a node each for names and inodes";
  for (const char* given : {"/w/kept", "/w/large", "/w/link", "/w/one"}) EXPECT_EQ(f.remove(given), 0);
  EXPECT_EQ(f.rename("/w/sub", "/tmp/sub"), 0);
  EXPECT_EQ(f.names("/w").size(), 2u);
  EXPECT_EQ(f.m.mistakes(), std::vector<std::string>());
}

TEST_F(KernelLayer, AFullLayerRefusesAndStaysAsItIs) {
  for (u64 pages = 1; pages < 40; pages++) {
    Files<KernelMachine<1>> f(*tree_, pages);
    const i64 fd = f.open("/w/new", kCreateFlags);
    if (fd < 0) {
      EXPECT_EQ(fd, -ENOSPC) << pages;
      EXPECT_EQ(f.names("/w").size(), 6u);
      continue;
    }
    i64 result = 0;
    u64 written = 0;
    while ((result = f.write(fd, std::string(kPageSize, 'w'))) > 0) written += static_cast<u64>(result);
    EXPECT_EQ(result, -ENOSPC);
    EXPECT_LT(written, pages * kPageSize);
    EXPECT_LE(f.taken(), pages);
    EXPECT_EQ(f.call(kFtruncate, {static_cast<u64>(fd), 0}), 0);
    EXPECT_EQ(f.m.mistakes(), std::vector<std::string>());
  }
}

TEST_F(KernelLayer, AListingGoesOnWhileItsNamesGo) {
  Files<KernelMachine<1>> f(*tree_);
  const i64 fd = f.open("/w", O_DIRECTORY);
  const auto next = [&] {  // one name at a time
    const i64 size = f.call(kGetdents, {static_cast<u64>(fd), f.kOut, 32});
    return size <= 0 ? std::string() : std::string(f.m.text(f.kOut + 19, 12).c_str());
  };
  EXPECT_EQ(next(), ".");
  EXPECT_EQ(next(), "..");
  EXPECT_EQ(next(), "large");
  EXPECT_EQ(f.remove("/w/large"), 0) << "now the names are those of the layer";
  EXPECT_EQ(next(), "link");
  EXPECT_EQ(f.remove("/w/one"), 0);
  EXPECT_EQ(next(), "sub");
  EXPECT_EQ(next(), "");
  EXPECT_EQ(f.m.mistakes(), std::vector<std::string>());
}

}  // namespace
}  // namespace myriarm
