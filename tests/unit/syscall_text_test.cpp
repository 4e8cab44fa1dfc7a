// SPDX-License-Identifier: Apache-2.0
// System calls as text: the constants that strace(1) names, for every call that has some.
#include "linux/syscall_text.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>

namespace myriarm::linux_process {
namespace {

const char* signature_of(std::string_view name) {
#define SYSCALL(number, known, place, handler, signature) \
  if (name == #known) return signature;
#include "kernel/syscalls.inc"
#undef SYSCALL
  ADD_FAILURE() << "there is no call " << name;
  return nullptr;
}

struct Case {
  std::string name;
  std::array<uint64_t, 6> arguments;
  std::string text;  // between the brackets
};

TEST(SyscallText, ConstantsHaveTheirNames) {
  constexpr uint64_t kMinusOne = ~uint64_t{0};
  const Case cases[] = {
      {"prctl", {16, 0x1000}, "PR_GET_NAME, 0x1000, 0x0, 0x0, 0x0"},
      {"prctl", {0x53564d41}, "PR_SET_VMA, 0x0, 0x0, 0x0, 0x0"},
      {"prctl", {999}, "999, 0x0, 0x0, 0x0, 0x0"},
      {"prlimit64", {0, 3, 0, 0x1000}, "0, RLIMIT_STACK, NULL, 0x1000"},
      {"prlimit64", {0, 16}, "0, 16, NULL, NULL"},
      {"getrlimit", {7, 0x1000}, "RLIMIT_NOFILE, 0x1000"},
      {"getrusage", {kMinusOne, 0x1000}, "RUSAGE_CHILDREN, 0x1000"},
      {"getrusage", {1, 0}, "RUSAGE_THREAD, NULL"},
      {"mmap",
       {0, 4096, 3, 0x22, kMinusOne, 0},
       "NULL, 4096, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0x0"},
      {"mmap", {0, 1, 0, 1, 3, 0}, "NULL, 1, PROT_NONE, MAP_SHARED, 3, 0x0"},
      {"mremap", {0x1000, 1, 2, 1, 0}, "0x1000, 1, 2, MREMAP_MAYMOVE, NULL"},
      {"mremap", {0x1000, 1, 2, 3, 0x2000}, "0x1000, 1, 2, MREMAP_MAYMOVE|MREMAP_FIXED, 0x2000"},
      {"mremap", {0x1000, 1, 2, 0, 0}, "0x1000, 1, 2, 0, NULL"},
      {"madvise", {0x1000, 4096, 4}, "0x1000, 4096, MADV_DONTNEED"},
      {"fcntl", {1, 1, 7}, "1, F_GETFD"},
      {"fcntl", {1, 2, 1}, "1, F_SETFD, FD_CLOEXEC"},
      {"fcntl", {1, 3}, "1, F_GETFL"},
      {"fcntl", {1, 4, 04001}, "1, F_SETFL, O_WRONLY|O_NONBLOCK"},
      {"fcntl", {1, 1030, 10}, "1, F_DUPFD_CLOEXEC, 10"},
      {"fcntl", {1, 77, 10}, "1, 77, 10"},
      {"dup3", {1, 5, 02000000}, "1, 5, O_CLOEXEC"},
      {"dup3", {1, 5, 0}, "1, 5, 0"},
      {"ioctl", {1, 0x5401, 0x1000}, "1, TCGETS, 0x1000"},
      {"ioctl", {1, 0x1234, 0x1000}, "1, 0x1234, 0x1000"},
      {"lseek", {3, uint64_t{1} << 40, 0}, "3, 1099511627776, SEEK_SET"},
      {"lseek", {3, kMinusOne, 2}, "3, -1, SEEK_END"},
      {"lseek", {3, 0, 9}, "3, 0, 9"},
      {"newfstatat", {1, 0, 0x1000, 0x1100}, "1, NULL, 0x1000, AT_SYMLINK_NOFOLLOW|AT_EMPTY_PATH"},
      {"newfstatat", {1, 0, 0x1000, 0}, "1, NULL, 0x1000, 0"},
      {"openat", {0xffffff9c, 0, 0101, 0644}, "AT_FDCWD, NULL, O_WRONLY|O_CREAT, 0644"},
      {"openat", {0xffffff9c, 0, 02000000, 0644}, "AT_FDCWD, NULL, O_RDONLY|O_CLOEXEC"},
      {"openat", {0xffffff9c, 0, 0, 0}, "AT_FDCWD, NULL, O_RDONLY"},
      {"umask", {022}, "022"},
      {"umask", {0}, "0"},
      {"futex", {0x1000, 128, 1, 0, 0}, "0x1000, FUTEX_WAIT_PRIVATE, 1, NULL, NULL"},
      {"futex", {0x1000, 1, 1, 0, 0}, "0x1000, FUTEX_WAKE, 1, NULL, NULL"},
      {"futex", {0x1000, 0x189, 1, 0, 0}, "0x1000, FUTEX_WAIT_BITSET_PRIVATE|FUTEX_CLOCK_REALTIME, 1, NULL, NULL"},
      {"clock_gettime", {1, 0x1000}, "CLOCK_MONOTONIC, 0x1000"},
      {"clock_gettime", {10, 0x1000}, "10, 0x1000"},
      {"clock_nanosleep", {0, 1, 0x1000, 0}, "CLOCK_REALTIME, TIMER_ABSTIME, 0x1000, NULL"},
      {"rt_sigprocmask", {2, 0x1000, 0, 8}, "SIG_SETMASK, 0x1000, NULL, 8"},
      {"kill", {1000, 6}, "1000, SIGABRT"},
      {"getrandom", {0, 8, 1}, "NULL, 8, GRND_NONBLOCK"},
      {"getrandom", {0, 8, 0}, "NULL, 8, 0"},
      {"faccessat", {0xffffff9c, 0, 5}, "AT_FDCWD, NULL, R_OK|X_OK"},
      {"faccessat", {0xffffff9c, 0, 0}, "AT_FDCWD, NULL, F_OK"},
  };
  const ReadMemory nothing = [](uint64_t, uint64_t) { return std::vector<uint8_t>(); };
  for (const Case& known : cases) {
    const CallText call(known.name, signature_of(known.name), known.arguments, nothing);
    EXPECT_EQ(call.returned(0, nothing).substr(0, known.name.size() + known.text.size() + 6),
              known.name + "(" + known.text + ") = 0");
  }
}

}  // namespace
}  // namespace myriarm::linux_process
