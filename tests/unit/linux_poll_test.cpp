// SPDX-License-Identifier: Apache-2.0
// ppoll and pselect6 against poll() and select() of the host's Linux, on pipes like the guest's standard streams and on
// a file; and the calls about who the process is.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/select.h>
#include <unistd.h>

#include <cerrno>
#include <random>

#include "linux/process_layout.h"
#include "linux_caller.h"

namespace myriarm {
namespace {

using namespace kernel;
using namespace linux_process;
using namespace test;

constexpr uint64_t kPollRecords = kData, kSets = kData, kTime = kData + 0x1000, kPath = kData + 0x1800;

/// The host's descriptors 0 to 3 of the guest: a pipe that its writer has closed, two pipes to write to, a file.
struct Host {
  explicit Host(const std::string& input) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    EXPECT_EQ(write(ends[1], input.data(), input.size()), static_cast<ssize_t>(input.size()));
    ::close(ends[1]);
    descriptors[0] = ends[0];
    for (int i : {1, 2}) {
      EXPECT_EQ(pipe(ends), 0);
      descriptors[i] = ends[1];
      readers[i - 1] = ends[0];
    }
    descriptors[3] = open("/proc/self/exe", O_RDONLY);
    EXPECT_GE(descriptors[3], 0);
  }
  ~Host() {
    for (int descriptor : descriptors) ::close(descriptor);
    for (int descriptor : readers) ::close(descriptor);
  }
  int descriptors[4];
  int readers[2];
};

LinuxOptions options_with(const std::string& input) {
  LinuxOptions options;
  options.standard_input = bytes_of(input);
  options.files.add(bytes_of("file"));
  return options;
}

/// Opens the input file, as descriptor 3.
void open_file(Caller& guest) {
  guest.put_text(kPath, std::string(kInputFile) + '\0');
  ASSERT_EQ(guest.call(kOpenat, static_cast<uint64_t>(AT_FDCWD), kPath, O_RDONLY), 3);
}

TEST(LinuxPoll, AgreesWithTheHost) {
  std::mt19937_64 random(1);
  for (const char* input : {"", "some input"}) {
    const Host host(input);
    Caller guest(1, options_with(input));
    open_file(guest);
    for (int step = 0; step < 400; step++) {
      pollfd records[5];
      std::vector<uint64_t> words;
      const uint64_t count = random() % 6;
      for (uint64_t i = 0; i < count; i++) {
        const auto descriptor = static_cast<int>(random() % 7) - 1;  // -1: is left out; 4 and 5: not open
        const auto events = static_cast<short>(random() % 2 ? random() : random() & (POLLIN | POLLOUT | POLLRDNORM));
        records[i] = {
            descriptor < 0 || descriptor > 3 ? (descriptor < 0 ? -1 : 1000 + descriptor) : host.descriptors[descriptor],
            events, 77};
        words.push_back(static_cast<uint32_t>(descriptor) | uint64_t{static_cast<uint16_t>(events)} << 32 |
                        uint64_t{77} << 48);
      }
      guest.put(kPollRecords, words.empty() ? std::vector<uint64_t>{0} : words);
      guest.put(kTime, {0, 1000});
      const int expected = poll(records, count, 0);
      ASSERT_EQ(guest.call(kPpoll, kPollRecords, count, kTime, 0, 8), expected) << step;
      for (uint64_t i = 0; i < count; i++) {
        EXPECT_EQ(guest.word(kPollRecords + 8 * i) >> 48, static_cast<uint16_t>(records[i].revents))
            << "descriptor " << static_cast<int32_t>(words[i]) << " events " << (words[i] >> 32 & 0xffff);
      }
    }
  }
}

TEST(LinuxSelect, AgreesWithTheHost) {
  constexpr int kNotOpen = 60;  // select() leaves out numbers above those that the process has had
  ASSERT_EQ(fcntl(kNotOpen, F_GETFD), -1);
  std::mt19937_64 random(2);
  for (const char* input : {"", "some input"}) {
    const Host host(input);
    Caller guest(1, options_with(input));
    open_file(guest);
    for (int step = 0; step < 400; step++) {
      uint64_t mine[3];
      fd_set theirs[3];
      const uint64_t count = random() % 6;
      int highest = 0;
      for (int s = 0; s < 3; s++) {
        mine[s] = random() & random() & (random() % 8 ? 15 : 31);
        FD_ZERO(&theirs[s]);
        for (uint64_t fd = 0; fd < 5; fd++) {
          if (!(mine[s] >> fd & 1) || fd >= count) continue;
          const int descriptor = fd < 4 ? host.descriptors[fd] : kNotOpen;
          FD_SET(descriptor, &theirs[s]);
          highest = std::max(highest, descriptor);
        }
      }
      guest.put(kSets, {mine[0], mine[1], mine[2]});
      guest.put(kTime, {0, 1000});
      timeval none = {0, 0};
      const int result = select(highest + 1, &theirs[0], &theirs[1], &theirs[2], &none);
      const int64_t expected = result < 0 ? -errno : result;
      ASSERT_EQ(guest.call(kPselect6, count, kSets, kSets + 8, kSets + 16, kTime, 0), expected) << step;
      if (expected < 0) continue;
      for (int s = 0; s < 3; s++) {
        uint64_t wanted = 0;
        for (uint64_t fd = 0; fd < 4; fd++) wanted |= uint64_t{FD_ISSET(host.descriptors[fd], &theirs[s]) != 0} << fd;
        EXPECT_EQ(guest.word(kSets + 8 * s) & ((1u << count) - 1), wanted) << step << " set " << s;
      }
    }
  }
}

TEST(LinuxPoll, AWaitTakesGuestTimeOnly) {
  Caller guest(1);
  guest.put(kPollRecords, {0});
  const auto seconds = [&] {
    EXPECT_EQ(guest.call(kClockGettime, 1, kTime + 64), 0);
    return guest.word(kTime + 64);
  };
  const uint64_t begin = seconds();
  guest.put(kTime, {3600, 5});
  EXPECT_EQ(guest.call(kPpoll, kPollRecords, 0, kTime, 0, 8), 0);
  EXPECT_EQ(guest.word(kTime), 0u) << "the time that is left";
  EXPECT_EQ(seconds() - begin, 3600u);
  guest.put(kTime, {7200, 0});
  EXPECT_EQ(guest.call(kPselect6, 0, 0, 0, 0, kTime, 0), 0);
  EXPECT_EQ(seconds() - begin, 10800u);
  EXPECT_EQ(guest.call(kPpoll, kPollRecords, 0, 0, 0, 8), -EDEADLK) << "nothing could end it";
  EXPECT_EQ(guest.call(kPselect6, 0, 0, 0, 0, 0, 0), -EDEADLK);
  // With something that is ready, no time passes.
  guest.put(kPollRecords, {1 | uint64_t{POLLOUT} << 32});
  guest.put(kTime, {3600, 0});
  EXPECT_EQ(guest.call(kPpoll, kPollRecords, 1, kTime, 0, 8), 1);
  EXPECT_EQ(seconds() - begin, 10800u);
}

TEST(LinuxPoll, Mistakes) {
  Caller guest(1);
  guest.put(kPollRecords, {1 | uint64_t{POLLOUT} << 32});
  EXPECT_EQ(guest.call(kPpoll, kPollRecords, 1025, 0, 0, 8), -EINVAL);
  EXPECT_EQ(guest.call(kPpoll, 16, 1, 0, 0, 8), -EFAULT);
  EXPECT_EQ(guest.call(kPpoll, kPollRecords, 1, 16, 0, 8), -EFAULT);
  EXPECT_EQ(guest.call(kPpoll, kPollRecords, 1, 0, kData, 4), -EINVAL) << "the size of a signal mask";
  EXPECT_EQ(guest.call(kPpoll, kPollRecords, 1, 0, 16, 8), -EFAULT);
  guest.put(kTime, {0, 1000000000});
  EXPECT_EQ(guest.call(kPpoll, kPollRecords, 1, kTime, 0, 8), -EINVAL);
  EXPECT_EQ(guest.call(kPselect6, 1, kSets, 0, 0, kTime, 0), -EINVAL);
  EXPECT_EQ(guest.call(kPselect6, ~uint64_t{0}, kSets, 0, 0, 0, 0), -EINVAL);
  EXPECT_EQ(guest.call(kPselect6, 1, 16, 0, 0, 0, 0), -EFAULT);
}

TEST(LinuxIdentity, IsThatOfAUserWithoutPrivileges) {
  constexpr uint64_t kGetcwd = 17, kSetregid = 143, kSetgid = 144, kSetuid = 146, kSetresuid = 147, kGetresuid = 148,
                     kSetpgid = 154, kGetpgid = 155, kGetsid = 156, kSetsid = 157, kGetgroups = 158, kUmask = 166,
                     kPrctl = 167;
  constexpr uint64_t kUnchanged = ~uint64_t{0};
  Caller guest(1);
  EXPECT_EQ(guest.call(kGetpgid, 0), kProcessId);
  EXPECT_EQ(guest.call(kGetsid, kProcessId), kProcessId);
  EXPECT_EQ(guest.call(kGetpgid, 77), -ESRCH);
  EXPECT_EQ(guest.call(kSetpgid, 0, 0), -EPERM);
  EXPECT_EQ(guest.call(kSetpgid, 77, 0), -ESRCH);
  EXPECT_EQ(guest.call(kSetpgid, 0, kUnchanged), -EINVAL);
  EXPECT_EQ(guest.call(kSetsid), -EPERM);
  EXPECT_EQ(guest.call(kSetuid, kUserId), 0);
  EXPECT_EQ(guest.call(kSetgid, 0), -EPERM);
  EXPECT_EQ(guest.call(kSetgid, kUnchanged), -EINVAL);
  EXPECT_EQ(guest.call(kSetregid, kUserId, kUnchanged, 0), 0) << "two arguments";
  EXPECT_EQ(guest.call(kSetresuid, kUserId, kUnchanged, 0), -EPERM) << "three";
  EXPECT_EQ(guest.call(kGetresuid, kData, kData + 4, kData + 8), 0);
  EXPECT_EQ(guest.word(kData), kUserId * 0x100000001);
  EXPECT_EQ(guest.call(kGetresuid, kData, 16, kData), -EFAULT);
  EXPECT_EQ(guest.call(kGetgroups, 10, kData), 0);
  EXPECT_EQ(guest.call(kUmask, 077), 022);
  EXPECT_EQ(guest.call(kUmask, ~uint64_t{0}), 077);
  EXPECT_EQ(guest.call(kUmask, 0), 0777);
  EXPECT_EQ(guest.call(kGetcwd, kData, 100), 2);
  EXPECT_EQ(guest.word(kData) & 0xffff, uint64_t{'/'});
  EXPECT_EQ(guest.call(kGetcwd, kData, 1), -ERANGE);
  EXPECT_EQ(guest.call(kGetcwd, 16, 100), -EFAULT);
  const auto name = [&] {
    EXPECT_EQ(guest.call(kPrctl, 16, kData), 0);
    const std::string bytes = text(guest.machine.fleet().read(0, kData, 16));
    EXPECT_EQ(bytes[15], 0);
    return bytes.substr(0, bytes.find('\0'));
  };
  EXPECT_EQ(name(), "guest");
  guest.put_text(kTime, std::string("a name that is too long\0", 24));
  EXPECT_EQ(guest.call(kPrctl, 15, kTime), 0);
  EXPECT_EQ(name(), "a name that is ");
  EXPECT_EQ(guest.call(kPrctl, 15, 16), -EFAULT);
  EXPECT_EQ(guest.call(kPrctl, 23, 40), 0) << "PR_CAPBSET_READ: it does not have the capability";
  EXPECT_EQ(guest.call(kPrctl, 23, 41), -EINVAL);
  EXPECT_EQ(guest.call(kPrctl, 9999), -ENOSYS);
}

}  // namespace
}  // namespace myriarm
