// SPDX-License-Identifier: Apache-2.0
// Calls on the tree of a process, as src/kernel/ serves them: each effect and each error, and that a call which is
// abandoned at any point gives the same when it is made again.
#include <fcntl.h>

#include <cerrno>

#include "kernel_caller.h"
#include "root_folder.h"

namespace myriarm {
namespace {

using namespace test;

// clang-format off
enum TreeCall : u32 { kGetdents = 61, kMkdirat = 34, kUnlinkat = 35, kSymlinkat = 36, kLinkat = 37, kRenameat = 38, kStatfs = 43,
                      kTruncate = 45, kFtruncate = 46, kChdir = 49, kFchdir = 50, kFchmod = 52, kFchmodat = 53, kFchownat = 54,
                      kFsync = 82, kUtimensat = 88, kFadvise = 223, kMincore = 232, kFaccessat2 = 439 };
// clang-format on
constexpr u64 kLargeFile = 0400000, kDirectory = 040000, kNoFollowLink = 0100000, kPathOnly = 010000000;

template <class M>
class KernelTree : public KernelCaller<M> {
 protected:
  KernelTree() {
    folder_.folder("a/b");
    folder_.file("a/f", "0123456789");
    folder_.file("a/hidden", "", 0600);
    folder_.file("a/tool", "", 0755);
    folder_.folder("locked", 0700);
    folder_.link("l", "a/f");
    folder_.link("la", "/a");
    folder_.file("program", "it");
    tree_ = read_root(folder_.path());
    this->m.tree = tree_.get();
  }
  static constexpr u64 kPath = M::kData + 0x800, kOther = M::kData + 0xA00, kOut = M::kData + 0x1000;
  u64 at(const std::string& path, u64 address = kPath) {
    this->m.put_path(address, path);
    return address;
  }
  i64 open(const std::string& path, u64 flags = 0, u64 from = kHere) {
    return this->call(kOpenat, {from, at(path), flags, 0644});
  }
  std::string read(i64 fd, u64 size = 100) {
    const i64 got = this->call(kRead63, {static_cast<u64>(fd), kOut, size});
    return got < 0 ? "error " + std::to_string(-got) : this->m.text(kOut, static_cast<u64>(got));
  }
  i64 access(const std::string& path, u64 mode) { return this->call(kFaccessat, {kHere, at(path), mode}); }
  std::string working_folder() {
    const i64 size = this->call(kGetcwdCall, {kOut, 100});
    return size < 0 ? "error " + std::to_string(-size) : this->m.text(kOut, static_cast<u64>(size) - 1);
  }

  RootFolder folder_;
  std::shared_ptr<const FileTree> tree_;
};
TYPED_TEST_SUITE(KernelTree, Machines, MachineNames);

TYPED_TEST(KernelTree, Open) {
  EXPECT_EQ(this->open("/a/f"), 3);
  EXPECT_EQ(this->open("a/../l", kLargeFile), 4);
  EXPECT_EQ(this->read(3, 4), "0123");
  EXPECT_EQ(this->read(3), "456789");
  EXPECT_EQ(this->read(3), "");
  EXPECT_EQ(this->read(4, 2), "01") << "a position of its own";
  EXPECT_EQ(this->call(kPread64, {3, this->kOut, 3, 5}), 3);
  EXPECT_EQ(this->m.text(this->kOut, 3), "567");
  EXPECT_EQ(this->call(kLseek, {3, static_cast<u64>(-1), 2}), 9);
  EXPECT_EQ(this->read(3), "9");
  EXPECT_EQ(this->call(kFcntl, {3, 3, 0}), 0400000);
  EXPECT_EQ(this->call(kWrite64, {3, this->kOut, 1}), -EBADF);
  EXPECT_EQ(this->open("/none"), -ENOENT);
  EXPECT_EQ(this->open(""), -ENOENT);
  EXPECT_EQ(this->open("/a/f/"), -ENOTDIR);
  EXPECT_EQ(this->open("/a/hidden"), -EACCES);
  EXPECT_EQ(this->open("/locked"), -EACCES);
  EXPECT_EQ(this->open("/l", kNoFollowLink), -ELOOP);
  EXPECT_EQ(this->open("/l", kNoFollowLink | kDirectory), -ENOTDIR);
  EXPECT_EQ(this->open("/a/f", kDirectory), -ENOTDIR);
  EXPECT_EQ(this->open("/dev/tty"), -ENXIO);
  EXPECT_EQ(this->open("/proc/self/exe"), 5);
  EXPECT_EQ(this->read(5), "it");
}

TYPED_TEST(KernelTree, NothingCanBeWritten) {
  for (u64 flags : {1, 2, 01000, 01001, 02001}) EXPECT_EQ(this->open("/a/f", flags), -EROFS) << flags;
  EXPECT_EQ(this->open("/a", 1), -EISDIR);
  EXPECT_EQ(this->open("/a", 0100), -EISDIR);
  EXPECT_EQ(this->open("/a/new", 0101), -EROFS);
  EXPECT_EQ(this->open("/x/new", 0101), -ENOENT);
  EXPECT_EQ(this->open("/a/f", 0301), -EEXIST);
  EXPECT_EQ(this->open("/l", 0301), -EEXIST);
  EXPECT_EQ(this->open("/a", 020000000 | kDirectory | 1), -EROFS) << "O_TMPFILE";
  EXPECT_EQ(this->open("/a/f", 0100), 3) << "it is there, and opened to read";
  EXPECT_EQ(this->call(kMkdirat, {kHere, this->at("/new"), 0777}), -EROFS);
  EXPECT_EQ(this->call(kMkdirat, {kHere, this->at("/a"), 0777}), -EEXIST);
  EXPECT_EQ(this->call(kMkdirat, {kHere, this->at("/x/y"), 0777}), -ENOENT);
  EXPECT_EQ(this->call(kMkdirat, {kHere, this->at(""), 0777}), -ENOENT);
  EXPECT_EQ(this->call(kUnlinkat, {kHere, this->at("/a/f"), 0}), -EROFS);
  EXPECT_EQ(this->call(kUnlinkat, {kHere, this->at("/a/f/x"), 0}), -ENOTDIR);
  EXPECT_EQ(this->call(kSymlinkat, {this->at("t", this->kOther), kHere, this->at("/new")}), -EROFS);
  EXPECT_EQ(this->call(kSymlinkat, {this->at("t", this->kOther), kHere, this->at("/l")}), -EEXIST);
  EXPECT_EQ(this->call(kLinkat, {kHere, this->at("/a/f", this->kOther), kHere, this->at("/new"), 0}), -EROFS);
  EXPECT_EQ(this->call(kLinkat, {kHere, this->at("/x", this->kOther), kHere, this->at("/new"), 0}), -ENOENT);
  EXPECT_EQ(this->call(kRenameat, {kHere, this->at("/a/f", this->kOther), kHere, this->at("/new")}), -EROFS);
  EXPECT_EQ(this->call(kFchmodat, {kHere, this->at("/a/f"), 0777}), -EROFS);
  EXPECT_EQ(this->call(kFchmodat, {kHere, this->at("/x"), 0777}), -ENOENT);
  EXPECT_EQ(this->call(kFchownat, {kHere, this->at("/a/f"), 1, 1, 0}), -EROFS);
  EXPECT_EQ(this->call(kFchmod, {3, 0777}), -EROFS);
  EXPECT_EQ(this->call(kFchmod, {9, 0777}), -EBADF);
  EXPECT_EQ(this->call(kUtimensat, {kHere, this->at("/a/f"), 0, 0}), -EROFS);
  EXPECT_EQ(this->call(kUtimensat, {3, 0, 0, 0}), -EROFS);
  EXPECT_EQ(this->call(kTruncate, {this->at("/a/f"), 0}), -EROFS);
  EXPECT_EQ(this->call(kTruncate, {this->at("/a"), 0}), -EISDIR);
  EXPECT_EQ(this->call(kFtruncate, {3, 0}), -EINVAL);
  EXPECT_EQ(this->call(kFsync, {3}), 0);
  EXPECT_EQ(this->call(kFsync, {0}), -EINVAL);
  EXPECT_EQ(this->call(kFadvise, {3, 0, 0, 2}), 0);
  EXPECT_EQ(this->call(kFadvise, {3, 0, 0, 9}), -EINVAL);
  EXPECT_EQ(this->call(kFadvise, {0, 0, 0, 2}), -ESPIPE);
}

TYPED_TEST(KernelTree, Access) {
  EXPECT_EQ(this->access("/a/f", 4), 0);
  EXPECT_EQ(this->access("/a/f", 1), -EACCES);
  EXPECT_EQ(this->access("/a/tool", 5), 0);
  EXPECT_EQ(this->access("/a/f", 2), -EROFS);
  EXPECT_EQ(this->access("/dev/null", 6), 0);
  EXPECT_EQ(this->access("/a/hidden", 0), 0);
  EXPECT_EQ(this->access("/a/hidden", 4), -EACCES);
  EXPECT_EQ(this->access("/locked/x", 0), -EACCES);
  EXPECT_EQ(this->access("/x", 0), -ENOENT);
  EXPECT_EQ(this->access("/x", 8), -EINVAL);
  EXPECT_EQ(this->call(kFaccessat2, {kHere, this->at("/l"), 4, 0x100}), 0);
  EXPECT_EQ(this->call(kFaccessat2, {kHere, this->at("/l"), 4, 1}), -EINVAL);
}

TYPED_TEST(KernelTree, Folders) {
  const auto fd = static_cast<u64>(this->open("/a", kDirectory));
  EXPECT_EQ(this->call(kRead63, {fd, this->kOut, 10}), -EISDIR);
  EXPECT_EQ(this->call(kGetdents, {fd, this->kOut, 10}), -EINVAL);
  std::string names;
  for (i64 size; (size = this->call(kGetdents, {fd, this->kOut, 50})) != 0;) {
    ASSERT_GT(size, 0);
    for (u64 at = 0; at < static_cast<u64>(size);) {
      const std::string record = this->m.text(this->kOut + at, 40);
      names += std::string(record.c_str() + 19) + " ";
      at += static_cast<u8>(record[16]);
    }
  }
  EXPECT_EQ(names, ". .. b f hidden tool ");
  EXPECT_EQ(this->call(kGetdents, {fd, this->kOut, 50}), 0);
  EXPECT_EQ(this->call(kLseek, {fd, 0, 0}), 0);
  EXPECT_EQ(this->call(kGetdents, {fd, this->kOut, 1000}), 24 * 6 + 8);
  EXPECT_EQ(this->call(kLseek, {fd, 3, 0}), 3) << "within b";
  EXPECT_EQ(this->call(kGetdents, {fd, this->kOut, 1000}), 24 * 3 + 8);
  EXPECT_EQ(this->call(kLseek, {fd, 0, 0}), 0);
  EXPECT_EQ(this->call(kGetdents, {fd, TypeParam::kUnmapped, 1000}), -EFAULT);
  EXPECT_EQ(this->call(kGetdents, {0, this->kOut, 1000}), -ENOTDIR);
  EXPECT_EQ(this->call(kGetdents, {9, this->kOut, 1000}), -EBADF);
  EXPECT_EQ(this->open("f", 0, fd), 4) << "relative to a folder";
  EXPECT_EQ(this->open("f", 0, 4), -ENOTDIR);
  EXPECT_EQ(this->open("f", 0, 1), -ENOTDIR);
  EXPECT_EQ(this->open("f", 0, 77), -EBADF);
  EXPECT_EQ(this->open("/a/f", 0, 77), 5);
}

TYPED_TEST(KernelTree, TheWorkingFolder) {
  EXPECT_EQ(this->working_folder(), "/");
  EXPECT_EQ(this->call(kChdir, {this->at("la/b/..")}), 0);
  EXPECT_EQ(this->working_folder(), "/a");
  EXPECT_EQ(this->open("f"), 3);
  EXPECT_EQ(this->open("a/f"), -ENOENT);
  EXPECT_EQ(this->call(kChdir, {this->at("f")}), -ENOTDIR);
  EXPECT_EQ(this->call(kChdir, {this->at("/locked")}), -EACCES);
  EXPECT_EQ(this->call(kChdir, {this->at("nothing")}), -ENOENT);
  EXPECT_EQ(this->call(kGetcwdCall, {this->kOut, 2}), -ERANGE);
  const auto root = static_cast<u64>(this->open("/", kDirectory | kPathOnly));
  EXPECT_EQ(this->call(kFchdir, {root}), 0);
  EXPECT_EQ(this->working_folder(), "/");
  EXPECT_EQ(this->call(kFchdir, {3}), -ENOTDIR);
  EXPECT_EQ(this->call(kFchdir, {0}), -ENOTDIR);
  EXPECT_EQ(this->call(kFchdir, {55}), -EBADF);
}

TYPED_TEST(KernelTree, TheInputFileIsThereToo) {
  this->m.set_file("input");
  EXPECT_EQ(this->read(this->open("/input")), "input");
  EXPECT_EQ(this->read(this->open("input")), "input");
  EXPECT_EQ(this->call(kChdir, {this->at("/a")}), 0);
  EXPECT_EQ(this->open("input"), -ENOENT);
  EXPECT_EQ(this->open("../input"), -ENOENT);
  EXPECT_EQ(this->read(this->open("/a/f")), "0123456789");
  EXPECT_EQ(this->call(kClose, {3}), 0);
  EXPECT_EQ(this->read(this->open("/a/f")), "0123456789") << "where the input was open before";
  EXPECT_EQ(this->call(kClose, {3}), 0);
  EXPECT_EQ(this->read(this->open("/input")), "input") << "and the other way";
}

TYPED_TEST(KernelTree, StatusAndLinks) {
  const u64 status = this->kOut;
  const auto word = [&](u64 offset) { return this->m.word_at(status + offset); };
  EXPECT_EQ(this->call(kNewfstatat, {kHere, this->at("/l"), status, 0}), 0);
  EXPECT_EQ(static_cast<u32>(word(16)), 0100644u);
  EXPECT_EQ(word(48), 10u);
  const u64 number = word(8);
  EXPECT_EQ(this->call(kNewfstatat, {kHere, this->at("/l"), status, 0x100}), 0);
  EXPECT_EQ(static_cast<u32>(word(16)), 0120777u);
  const auto fd = static_cast<u64>(this->open("/a/f"));
  EXPECT_EQ(this->call(kFstat, {fd, status}), 0);
  EXPECT_EQ(word(8), number);
  EXPECT_EQ(word(24), 0u) << "user and group 0";
  EXPECT_NE(word(88), 0u) << "a time";
  EXPECT_EQ(this->call(kNewfstatat, {fd, this->at(""), status, 0x1000}), 0);
  EXPECT_EQ(word(8), number);
  EXPECT_EQ(this->call(kNewfstatat, {kHere, this->at(""), status, 0x1000}), 0);
  EXPECT_EQ(word(8), 2u) << "the working folder";
  EXPECT_EQ(this->call(kNewfstatat, {kHere, this->at(""), status, 0}), -ENOENT);
  EXPECT_EQ(this->call(kNewfstatat, {kHere, this->at("/x"), status, 0}), -ENOENT);
  EXPECT_EQ(this->call(kNewfstatat, {kHere, this->at("/x"), status, 1}), -EINVAL);
  EXPECT_EQ(this->call(kNewfstatat, {kHere, this->at("/dev/zero"), status, 0}), 0);
  EXPECT_EQ(word(32), 0x105u);
  EXPECT_EQ(this->call(kStatx, {kHere, this->at("/a/f"), 0, 0x7ff, status}), 0);
  EXPECT_EQ(word(32), number);
  EXPECT_EQ(word(40), 10u);
  EXPECT_EQ(word(24) >> 32, 0100644u);
  EXPECT_EQ(this->call(kStatx, {kHere, this->at("/a/f"), 1, 0x7ff, status}), -EINVAL);
  EXPECT_EQ(this->call(kStatfs, {this->at("/a"), status}), 0);
  EXPECT_EQ(word(64), 255u);
  EXPECT_EQ(this->call(kStatfs, {this->at("/x"), status}), -ENOENT);
  EXPECT_EQ(this->call(kReadlinkat, {kHere, this->at("/la"), status, 100}), 2);
  EXPECT_EQ(this->m.text(status, 2), "/a");
  EXPECT_EQ(this->call(kReadlinkat, {kHere, this->at("/l"), status, 2}), 2) << "cut";
  EXPECT_EQ(this->call(kReadlinkat, {kHere, this->at("/a"), status, 100}), -EINVAL);
  EXPECT_EQ(this->call(kReadlinkat, {kHere, this->at("/x"), status, 100}), -ENOENT);
  EXPECT_EQ(this->call(kReadlinkat, {kHere, this->at("proc/self/exe"), status, 100}), 8);
  EXPECT_EQ(this->m.text(status, 8), "/program");
  const auto link = static_cast<u64>(this->open("/l", kPathOnly | kNoFollowLink));
  EXPECT_EQ(this->call(kReadlinkat, {link, this->at(""), status, 100}), 3);
  EXPECT_EQ(this->call(kRead63, {link, status, 1}), -EBADF);
  EXPECT_EQ(this->call(kLseek, {link, 0, 0}), -EBADF);
}

TYPED_TEST(KernelTree, Devices) {
  const i64 null = this->open("/dev/null", 2), zero = this->open("/dev/zero", 2), full = this->open("/dev/full", 1),
            random = this->open("/dev/urandom");
  EXPECT_EQ(this->read(null), "");
  EXPECT_EQ(this->read(zero, 3), std::string(3, '\0'));
  EXPECT_EQ(this->read(full), "error 9");
  EXPECT_EQ(this->call(kWrite64, {static_cast<u64>(null), this->kOut, 50}), 50);
  EXPECT_EQ(this->call(kWrite64, {static_cast<u64>(full), this->kOut, 50}), -ENOSPC);
  EXPECT_EQ(this->call(kWrite64, {static_cast<u64>(random), this->kOut, 50}), -EBADF);
  EXPECT_EQ(this->call(kLseek, {static_cast<u64>(zero), 100, 0}), 0);
  const std::string bytes = this->read(random, 20);
  EXPECT_EQ(bytes.size(), 20u);
  KernelMachine<1> other;  // the stream is that of getrandom()
  other.value(kGetrandom, {other.kData, 20, 0});
  EXPECT_EQ(bytes, other.text(other.kData, 20));
  EXPECT_NE(this->read(random, 20), bytes);
}

TYPED_TEST(KernelTree, Mappings) {
  const auto fd = static_cast<u64>(this->open("/a/f"));
  const i64 mapped = this->call(kMmap, {0, 2 * kPageSize, 3, 2, fd, 0});
  ASSERT_GT(mapped, 0);
  const auto place = static_cast<u64>(mapped);
  EXPECT_EQ(this->m.text(place, 12), std::string("0123456789\0\0", 12));
  EXPECT_EQ(this->m.entry(this->m.page_of(place)) & 7, 3u);
  EXPECT_EQ(this->m.entry(this->m.page_of(place + kPageSize)) & 7, 0u) << "behind the end of the file";
  EXPECT_EQ(this->call(kMmap, {0, kPageSize, 3, 1, fd, 0}), -EACCES);
  EXPECT_EQ(this->call(kMmap, {0, kPageSize, 1, 2, static_cast<u64>(this->open("/a")), 0}), -ENODEV);
  EXPECT_EQ(this->call(kMmap, {0, kPageSize, 1, 2, static_cast<u64>(this->open("/a/f", kPathOnly)), 0}), -EBADF);
  EXPECT_EQ(this->call(kMincore, {place, 2 * kPageSize, this->kOut}), 0);
  EXPECT_EQ(this->m.text(this->kOut, 2), std::string("\1\1"));
  EXPECT_EQ(this->call(kMincore, {place + 1, kPageSize, this->kOut}), -EINVAL);
  EXPECT_EQ(this->call(kMincore, {place, 100 * kPageSize, this->kOut}), -ENOMEM);
}

/// The results of many calls, and the state that they leave, when the machine abandons calls in this way.
std::vector<u8> leave(const FileTree& tree, Abandon mode, std::vector<i64>& results) {
  KernelMachine<1> m;
  m.tree = &tree;
  const u64 path = m.kData, out = m.kData + 0x1000;
  const auto call = [&](u32 number, const std::vector<u64>& arguments) {
    m.abandon(mode);
    results.push_back(m.value(number, arguments));
    m.abandon(Abandon::never);
  };
  m.put_path(path, "/a/f");
  m.put_path(path + 100, "/a");
  m.put_path(path + 200, "/dev/urandom");
  call(kOpenat, {kHere, path, 0});
  call(kRead63, {3, out, 4});
  call(kOpenat, {kHere, path + 100, 0});
  call(kGetdents, {4, out, 60});
  call(kNewfstatat, {kHere, path, out + 100, 0});
  call(kStatx, {kHere, path, 0, 0, out + 300});
  call(kChdir, {path + 100});
  call(kOpenat, {kHere, path + 200, 0});
  call(kRead63, {5, out + 600, 40});
  call(kMmap, {0, kPageSize, 3, 2, 3, 0});
  call(kClose, {3});
  call(kGetcwdCall, {out + 700, 50});
  EXPECT_EQ(m.mistakes(), std::vector<std::string>());
  return m.state();
}

TEST(KernelTreeRestart, CallsThatWereAbandonedGiveTheSame) {
  RootFolder folder;
  folder.folder("a/b");
  folder.file("a/f", "0123456789");
  const auto tree = read_root(folder.path());
  std::vector<i64> expected;
  const std::vector<u8> state = leave(*tree, Abandon::never, expected);
  for (Abandon mode : {Abandon::each_once, Abandon::after_changes}) {
    std::vector<i64> results;
    EXPECT_EQ(leave(*tree, mode, results), state);
    EXPECT_EQ(results, expected);
  }
}

TYPED_TEST(KernelTree, WithoutATreeItsCallsAreMissing) {
  this->m.tree = nullptr;
  EXPECT_TRUE(this->is_missing(kGetdents, {0, this->kOut, 100}));
  EXPECT_TRUE(this->is_missing(kChdir, {this->at("/")}));
  EXPECT_TRUE(this->is_missing(kStatx, {kHere, this->at("/"), 0, 0, this->kOut}));
  EXPECT_TRUE(this->is_missing(kOpenat, {kHere, this->at("/a/f"), 0}));
}

}  // namespace
}  // namespace myriarm
