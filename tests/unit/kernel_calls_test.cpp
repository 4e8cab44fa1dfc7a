// SPDX-License-Identifier: Apache-2.0
// Descriptors, paths, reading and writing, as src/kernel/ serves them.
#include "kernel_caller.h"
#include "myriarm/linux.h"

namespace myriarm {
namespace {

using namespace test;

static_assert(std::string_view(kInputFile).substr(1) == std::string_view(kInputFileName, kInputFileNameBytes));

template <class M>
class KernelFiles : public KernelCaller<M> {};
TYPED_TEST_SUITE(KernelFiles, Machines, MachineNames);

TYPED_TEST(KernelFiles, WhatIsServed) {
  EXPECT_TRUE(this->is_missing(kUnimplemented));
  EXPECT_TRUE(this->is_missing(5000));
  EXPECT_EQ(this->call(kRseq), -ENOSYS);
  EXPECT_EQ(this->call(124), 0);  // sched_yield
  EXPECT_EQ(this->status(kExit, {0x1234}), 0x34);
  EXPECT_EQ(this->status(kExitGroup, {1}), 1);
}

TYPED_TEST(KernelFiles, Descriptors) {
  this->m.set_file("0123456789");
  EXPECT_EQ(this->call(kDup, {1}), 3);
  EXPECT_EQ(this->call(kDup, {9}), -EBADF);
  EXPECT_EQ(this->call(kDup3, {2, 7, 02000000}), 7);
  EXPECT_EQ(this->call(kDup3, {2, 2, 0}), -EINVAL);
  EXPECT_EQ(this->call(kDup3, {2, 1024, 0}), -EBADF);
  EXPECT_EQ(this->call(kDup3, {5, 6, 0}), -EBADF);
  EXPECT_EQ(this->call(kFcntl, {7, 0, 5}), 5);
  EXPECT_EQ(this->call(kFcntl, {7, 1030, 1023}), 1023);
  EXPECT_EQ(this->call(kFcntl, {7, 0, 1023}), -EMFILE);
  EXPECT_EQ(this->call(kFcntl, {7, 0, 1024}), -EINVAL);
  EXPECT_EQ(this->call(kFcntl, {0, 3, 0}), 0);
  EXPECT_EQ(this->call(kFcntl, {7, 3, 0}), 1);
  EXPECT_TRUE(this->is_missing(kFcntl, {7, 5, 0}));
  EXPECT_EQ(this->call(kClose, {7}), 0);
  EXPECT_EQ(this->call(kClose, {7}), -EBADF);
  EXPECT_EQ(this->call(kIoctl, {1, 0x5401}), -ENOTTY);
  EXPECT_EQ(this->call(kIoctl, {7, 0x5401}), -EBADF);
  EXPECT_EQ(this->call(kIoctl, {1, 0x541b, this->kFirst}), 0);
  EXPECT_TRUE(this->is_missing(kIoctl, {1, 0x8912}));
}

TYPED_TEST(KernelFiles, OpeningsShareAPositionAndAreUsedAgain) {
  this->m.set_file("0123456789");
  const u64 first = this->open_input(), second = this->open_input();
  EXPECT_EQ(first, 3u);
  EXPECT_EQ(second, 4u);
  EXPECT_EQ(this->call(kFcntl, {first, 3, 0}), 0400000);
  EXPECT_EQ(this->call(kDup, {first}), 5);
  EXPECT_EQ(this->call(kLseek, {5, 4, 0}), 4);
  EXPECT_EQ(this->call(kLseek, {first, 0, 1}), 4);
  EXPECT_EQ(this->call(kLseek, {second, 0, 1}), 0);
  EXPECT_EQ(this->call(kLseek, {second, static_cast<u64>(-3), 2}), 7);
  EXPECT_EQ(this->call(kLseek, {second, static_cast<u64>(-8), 1}), -EINVAL);
  EXPECT_EQ(this->call(kLseek, {second, 2, 3}), 2);
  EXPECT_EQ(this->call(kLseek, {second, 2, 4}), 10);
  EXPECT_EQ(this->call(kLseek, {second, 10, 3}), -ENXIO);
  EXPECT_EQ(this->call(kLseek, {second, 0, 5}), -EINVAL);
  EXPECT_EQ(this->call(kLseek, {0, 0, 0}), -ESPIPE);
  EXPECT_EQ(this->call(kLseek, {9, 0, 0}), -EBADF);
  // The first opening's place is free when its last descriptor goes.
  EXPECT_EQ(this->call(kClose, {first}), 0);
  EXPECT_EQ(this->m.kernel_word(kOpenings), 4u);
  EXPECT_EQ(this->call(kDup3, {1, 5, 0}), 5);
  EXPECT_EQ(this->m.kernel_word(opening_word(0, kOpeningHolders)), 0u);
  EXPECT_EQ(this->open_input(), 3u);
  EXPECT_EQ(this->m.kernel_word(kOpenings), 0u);
  EXPECT_EQ(this->m.kernel_word(kOpeningCount), 2u);
}

TYPED_TEST(KernelFiles, AllDescriptorsMayBeOpenings) {
  this->m.set_file("x");
  for (u64 fd = 3; fd < kMostFiles; fd++) ASSERT_EQ(this->open_input(), fd);
  EXPECT_EQ(static_cast<i64>(this->open_input()), -EMFILE);
  EXPECT_EQ(this->call(kDup, {4}), -EMFILE);
  EXPECT_EQ(this->call(kClose, {1023}), 0);
  EXPECT_EQ(this->open_input(), 1023u);
}

TYPED_TEST(KernelFiles, WordsThatTheHostHasSpoiledReachNothingElse) {
  this->m.set_file("0123456789");
  this->m.set_kernel_word(kFiles, 0xFFFF'FFFE'8000'0405);
  this->m.set_kernel_word(kOpeningCount, ~u64{0});
  for (u64 fd : {0, 1, 2, 3}) {
    this->m.set_kernel_word(opening_word(kMostOpenings - 1, kOpeningWhat), ~u64{0});
    this->call(kLseek, {fd, 0, 1});
    this->call(kRead63, {fd, this->kFirst, 8});
    this->call(kFstat, {fd, this->kFirst});
    this->call(kDup3, {fd, fd + 100, 0});
    this->call(kClose, {fd});
  }
  this->open_input();
  this->m.set_kernel_word(kSlept, ~u64{0});
  EXPECT_EQ(this->call(kClockGettime, {1, this->kFirst}), 0);
  EXPECT_EQ(this->m.word_at(this->kFirst), (u64{1} << 62) / 1000000000);
  this->m.set_kernel_word(kFiles, 1);
  this->m.set_kernel_word(kInputPosition, ~u64{0});
  EXPECT_EQ(this->call(kRead63, {0, this->kFirst, 8}), 0);
}

TYPED_TEST(KernelFiles, Status) {
  using M = TypeParam;
  this->m.set_file(std::string(1000, 'x'));
  this->open_input();
  for (u64 at : {this->kFirst, this->kSecond, this->kThird}) {
    EXPECT_EQ(this->call(kFstat, {3, at}), 0);
    const u64 expected[16] = {12, 4, 0100444 | u64{1} << 32, 1000 | u64{1000} << 32, 0, 0, 1000, 4096, 2};
    for (u64 i = 0; i < 16; i++) EXPECT_EQ(this->m.word_at(at + i * 8), expected[i]) << i;
  }
  EXPECT_EQ(this->call(kFstat, {1, this->kThird}), 0);
  EXPECT_EQ(this->m.word_at(this->kThird + 8), 2u);
  EXPECT_EQ(this->m.word_at(this->kThird + 16), 0010600 | u64{1} << 32);
  EXPECT_EQ(this->call(kFstat, {9, this->kThird}), -EBADF);
  for (u64 bad : {M::kReadOnly, M::kUnmapped, M::kDataEnd - 127, u64{0}, u64{1} << 56 | M::kData}) {
    EXPECT_EQ(this->call(kFstat, {1, bad}), -EFAULT);
  }
}

TYPED_TEST(KernelFiles, Paths) {
  using M = TypeParam;
  this->m.set_file("0123456789");
  const auto path = [&](const std::string& text) {
    this->m.put_path(this->kFirst, text);
    return this->kFirst;
  };
  const auto open = [&](const std::string& text, u64 flags = 0, u64 at = kHere) {
    const Result result = this->m.call(kOpenat, {at, path(text), flags});
    return result.served == Served::missing ? 1 : result.value;
  };
  EXPECT_EQ(open("/input"), 3);
  EXPECT_EQ(open("input"), 4);
  EXPECT_EQ(open("//./..//input"), 5);
  for (const char* elsewhere : {"/", "/input/", "/inpu", "/inputs", "/.input", "/...", "..input", "/./../."}) {
    EXPECT_EQ(open(elsewhere), 1) << elsewhere;
  }
  EXPECT_EQ(open(""), -ENOENT);
  EXPECT_EQ(open("input", 0, 1), -ENOTDIR);
  EXPECT_EQ(open("input", 0, 77), -EBADF);
  EXPECT_EQ(open("/input", 0, 77), 6);
  EXPECT_EQ(open("/input", 0300), -EEXIST);
  EXPECT_EQ(open("/input", 040000), -ENOTDIR);
  EXPECT_EQ(open("/input", 1), -EACCES);
  EXPECT_EQ(open("/input", 01000), -EACCES);
  EXPECT_EQ(open("/input", 010000000), 1);
  // The longest path, one that is too long, and one whose end is not readable.
  EXPECT_EQ(open("/" + std::string(4089, '/') + "input"), 7);
  EXPECT_EQ(open("/" + std::string(4090, '/') + "input"), -ENAMETOOLONG);
  this->m.put_text(M::kReadOnly + 10, std::string(kPageSize - 10, 'x'));
  EXPECT_EQ(this->call(kOpenat, {kHere, M::kReadOnly + 10, 0}), -EFAULT);
  EXPECT_EQ(this->call(kOpenat, {kHere, M::kUnmapped, 0}), -EFAULT);

  const auto access = [&](const std::string& text, u64 mode) {
    const Result result = this->m.call(kFaccessat, {kHere, path(text), mode});
    return result.served == Served::missing ? 1 : result.value;
  };
  EXPECT_EQ(access("/", 5), 0);
  EXPECT_EQ(access("/", 2), -EACCES);
  EXPECT_EQ(access("/input", 4), 0);
  EXPECT_EQ(access("/input", 1), -EACCES);
  EXPECT_EQ(access("/other", 4), 1);
  EXPECT_EQ(access("/...", 4), 1);
  EXPECT_EQ(access("/other", 8), -EINVAL);
  EXPECT_EQ(access("", 8), -EINVAL);
  EXPECT_EQ(access("", 4), -ENOENT);

  const auto status = [&](const std::string& text, u64 flags = 0, u64 at = kHere) {
    const Result result = this->m.call(kNewfstatat, {at, path(text), this->kThird, flags});
    return result.served == Served::missing ? 1 : result.value;
  };
  EXPECT_EQ(status("/."), 0);
  EXPECT_EQ(this->m.word_at(this->kThird + 16), 0040555 | u64{2} << 32);
  EXPECT_EQ(status("input", 0x100), 0);
  EXPECT_EQ(this->m.word_at(this->kThird + 48), 10u);
  EXPECT_EQ(status("", 0x1000, 0), 0);
  EXPECT_EQ(this->m.word_at(this->kThird + 16), 0010600 | u64{1} << 32);
  EXPECT_EQ(status("", 0x1000, 77), -EBADF);
  EXPECT_EQ(status("", 0), -ENOENT);
  EXPECT_EQ(status("/input", 2), -EINVAL);
  EXPECT_EQ(status("/nowhere"), 1);

  const auto link = [&](const std::string& text, u64 room) {
    const Result result = this->m.call(kReadlinkat, {kHere, path(text), this->kThird, room});
    return result.served == Served::missing ? 1 : result.value;
  };
  EXPECT_EQ(link("/proc/self/exe", 100), 8);
  EXPECT_EQ(this->m.text(this->kThird, 8), "/program");
  EXPECT_EQ(link("/proc/1000/exe", 3), 3);
  EXPECT_EQ(link("/proc/1000/exe", 0), -EINVAL);
  EXPECT_EQ(link("/input", 9), -EINVAL);
  EXPECT_EQ(link("/proc/self/exes", 9), 1);
  EXPECT_EQ(link("", 9), -ENOENT);
  EXPECT_EQ(this->call(kReadlinkat, {kHere, path("/proc/self/exe"), M::kReadOnly, 9}), -EFAULT);
}

TYPED_TEST(KernelFiles, WithoutAnInputFile) { EXPECT_TRUE(this->is_missing(kOpenat, {kHere, this->kFirst, 0})); }

TYPED_TEST(KernelFiles, Reading) {
  using M = TypeParam;
  this->m.set_standard_input("abcdefghijklmnopqrstuvwxyz");
  this->m.set_file("0123456789");
  EXPECT_EQ(this->call(kRead63, {0, this->kFirst, 8}), 8);
  EXPECT_EQ(this->m.text(this->kFirst, 8), "abcdefgh");
  EXPECT_EQ(this->call(kRead63, {0, this->kFirst, 0}), 0);
  EXPECT_EQ(this->call(kRead63, {0, M::kReadOnly, 0}), 0);
  EXPECT_EQ(this->call(kRead63, {0, M::kReadOnly, 1}), -EFAULT);
  EXPECT_EQ(this->call(kRead63, {1, this->kFirst, 1}), -EBADF);
  EXPECT_EQ(this->call(kRead63, {0, M::kDataEnd - 3, 9}), 3);  // only three bytes have a place
  EXPECT_EQ(this->m.text(M::kDataEnd - 3, 3), "ijk");
  // Pieces: 2 bytes, none, 3 bytes, one that may not be written, which ends the call.
  this->m.put_words(this->kSecond, {this->kFirst, 2, 0, 0, this->kThird, 3, M::kReadOnly, 5, this->kFirst, 5});
  EXPECT_EQ(this->call(kReadv, {0, this->kSecond, 5}), 5);
  EXPECT_EQ(this->m.text(this->kFirst, 3), "lmc");
  EXPECT_EQ(this->m.text(this->kThird, 3), "nop");
  EXPECT_EQ(this->call(kReadv, {0, this->kSecond, 0}), 0);
  EXPECT_EQ(this->call(kReadv, {0, this->kSecond, 1025}), -EINVAL);
  EXPECT_EQ(this->call(kReadv, {0, M::kUnmapped, 1}), -EFAULT);
  this->m.put_words(this->kSecond + 64, {this->kFirst, ~u64{0}});
  EXPECT_EQ(this->call(kReadv, {0, this->kSecond, 5}), -EINVAL);
  EXPECT_EQ(this->call(kRead63, {0, this->kFirst, ~u64{0}}), 10);
  EXPECT_EQ(this->call(kRead63, {0, this->kFirst, 100}), 0);
  EXPECT_EQ(this->call(kRead63, {0, M::kReadOnly, 100}), 0);

  this->open_input();
  EXPECT_EQ(this->call(kPread64, {3, this->kFirst, 100, 7}), 3);
  EXPECT_EQ(this->m.text(this->kFirst, 3), "789");
  EXPECT_EQ(this->call(kPread64, {3, this->kFirst, 100, 10}), 0);
  EXPECT_EQ(this->call(kPread64, {3, this->kFirst, 100, ~u64{0}}), -EINVAL);
  EXPECT_EQ(this->call(kPread64, {0, this->kFirst, 100, ~u64{0}}), -EINVAL);
  EXPECT_EQ(this->call(kPread64, {1, this->kFirst, 100, 0}), -ESPIPE);
  EXPECT_EQ(this->call(kPread64, {9, this->kFirst, 100, 0}), -EBADF);
  EXPECT_EQ(this->call(kRead63, {3, this->kFirst, 4}), 4);
  EXPECT_EQ(this->m.text(this->kFirst, 4), "0123");
  EXPECT_EQ(this->call(kLseek, {3, 100, 0}), 100);
  EXPECT_EQ(this->call(kRead63, {3, this->kFirst, 4}), 0);
}

TYPED_TEST(KernelFiles, ReadingOverTheArrayOfBuffersEndsTheCall) {
  this->m.set_standard_input(std::string(100, 'z'));
  const u64 records = this->kSecond;
  // Each 'z' would be a part of an address outside the window.
  this->m.put_words(records, {this->kFirst, 3, records + 8, 60, this->kThird, 5, this->kThird, 5, this->kThird, 5});
  EXPECT_EQ(this->call(kReadv, {0, records, 5}), 63);
  EXPECT_EQ(this->m.text(records + 8, 60), std::string(60, 'z'));
  EXPECT_EQ(this->m.kernel_word(kInputPosition), 63u);
}

TYPED_TEST(KernelFiles, Writing) {
  using M = TypeParam;
  this->m.put_text(this->kFirst, "0123456789");
  EXPECT_EQ(this->call(kWrite64, {1, this->kFirst, 10}), 10);
  EXPECT_EQ(this->call(kWrite64, {2, this->kFirst + 5, 5}), 5);
  EXPECT_EQ(this->call(kWrite64, {1, this->kFirst, 0}), 0);
  EXPECT_EQ(this->call(kWrite64, {0, this->kFirst, 1}), -EBADF);
  EXPECT_EQ(this->call(kWrite64, {1, M::kUnmapped, 1}), -EFAULT);
  this->m.put_text(M::kDataEnd - 2, "ab");
  this->m.put_text(M::kReadOnly, "c");
  EXPECT_EQ(this->call(kWrite64, {1, M::kDataEnd - 2, 3}), 3);
  EXPECT_EQ(this->call(kWrite64, {1, M::kNoAccess - 1, 3}), 1);
  this->m.put_words(this->kSecond, {this->kFirst, 2, M::kUnmapped, 0, this->kFirst + 4, 3, M::kUnmapped, 1});
  EXPECT_EQ(this->call(kWritev, {2, this->kSecond, 4}), 5);
  EXPECT_EQ(this->call(kWritev, {2, this->kSecond + 48, 1}), -EFAULT);
  EXPECT_EQ(this->m.output(1).substr(0, 13), "0123456789abc");
  EXPECT_EQ(this->m.output(1).size(), 14u);
  EXPECT_EQ(this->m.output(2), "5678901456");

  // The share of a stream, and a host without memory.
  this->m.set_output_limit(16);
  EXPECT_EQ(this->call(kWrite64, {1, this->kFirst, 10}), 2);
  EXPECT_EQ(this->call(kWrite64, {1, this->kFirst, 10}), -ENOSPC);
  this->m.most_output = 12;
  EXPECT_EQ(this->call(kWritev, {2, this->kSecond, 3}), 2);
  EXPECT_EQ(this->call(kWrite64, {2, this->kFirst, 1}), -ENOSPC);
  EXPECT_EQ(this->m.output(2), "567890145601");
}

TYPED_TEST(KernelFiles, WritingToAStreamThatNobodyReads) {
  this->m.no_more = PutKind::closed;
  this->m.most_output = 3;
  this->m.put_words(this->kSecond, {1, 0, 0, 0});  // SIGPIPE is ignored
  EXPECT_EQ(this->call(kRtSigaction, {13, this->kSecond, 0, 8}), 0);
  EXPECT_EQ(this->call(kWrite64, {1, this->kFirst, 10}), 3);
  EXPECT_EQ(this->call(kWrite64, {1, this->kFirst, 10}), -EPIPE);
  this->m.put_words(this->kSecond, {0, 0, 0, 0});
  EXPECT_EQ(this->call(kRtSigaction, {13, this->kSecond, 0, 8}), 0);
  this->m.put_words(this->kSecond, {1 << 12});  // blocked
  EXPECT_EQ(this->call(kRtSigprocmask, {0, this->kSecond, 0, 8}), 0);
  EXPECT_EQ(this->call(kWrite64, {1, this->kFirst, 10}), -EPIPE);
  EXPECT_EQ(this->m.kernel_word(kPending), 1u << 12);
  this->m.set_kernel_word(kBlocked, 0);
  EXPECT_EQ(this->status(kWrite64, {2, this->kFirst, 10}), 0x100 + 13);
}

TYPED_TEST(KernelFiles, AWriteThatIsInterruptedIsMadeAgain) {
  this->m.put_text(this->kFirst, "0123456789");
  this->m.interruptions = 3;
  EXPECT_EQ(this->call(kWrite64, {1, this->kFirst, 10}), 10);
  EXPECT_EQ(this->m.interruptions, 0u);
  EXPECT_EQ(this->m.output(1), "0123456789");
}

}  // namespace
}  // namespace myriarm
