// SPDX-License-Identifier: Apache-2.0
// Time, signals, polling, identity and the system, as src/kernel/ serves them.
#include "kernel_caller.h"
#include "myriarm/linux.h"

namespace myriarm {
namespace {

using namespace test;

static_assert(kKilledBySignal == kKilledStatus);

template <class M>
class KernelProcess : public KernelCaller<M> {};
TYPED_TEST_SUITE(KernelProcess, Machines, MachineNames);

TYPED_TEST(KernelProcess, Time) {
  using M = TypeParam;
  constexpr u64 kEpoch = 1704067200;
  const u64 time = this->kFirst;
  EXPECT_EQ(this->call(kClockGettime, {1, time}), 0);
  EXPECT_EQ(this->m.word_at(time), 0u);
  EXPECT_EQ(this->m.word_at(time + 8), 1000u);  // of each call: see KernelMachine::call()
  EXPECT_EQ(this->call(kClockGettime, {10, time}), -EINVAL);
  EXPECT_EQ(this->call(kClockGettime, {0, M::kReadOnly}), -EFAULT);
  this->m.put_words(this->kSecond, {2, 5000});
  EXPECT_EQ(this->call(kNanosleep, {this->kSecond, 0}), 0);
  EXPECT_EQ(this->call(kClockGettime, {0, time}), 0);
  EXPECT_EQ(this->m.word_at(time), kEpoch + 2);
  EXPECT_EQ(this->m.word_at(time + 8), 10000u);
  EXPECT_EQ(this->call(kClockGettime, {2, time}), 0);  // does not count the sleep
  EXPECT_EQ(this->m.word_at(time), 0u);
  EXPECT_EQ(this->m.word_at(time + 8), 6000u);
  EXPECT_EQ(this->call(kGettimeofday, {time, this->kThird}), 0);
  EXPECT_EQ(this->m.word_at(time), kEpoch + 2);
  EXPECT_EQ(this->m.word_at(time + 8), 12u);
  EXPECT_EQ(this->m.word_at(this->kThird), 0u);
  this->m.put_words(time, {77, 77});
  EXPECT_EQ(this->call(kGettimeofday, {time, M::kReadOnly}), -EFAULT);
  EXPECT_EQ(this->m.word_at(time), kEpoch + 2);
  EXPECT_EQ(this->call(kGettimeofday, {0, 0}), 0);
  EXPECT_EQ(this->call(kClockGetres, {1, time}), 0);
  EXPECT_EQ(this->m.word_at(time + 8), 1u);
  EXPECT_EQ(this->call(kClockGetres, {1, 0}), 0);
  EXPECT_EQ(this->call(kClockGetres, {12, 0}), -EINVAL);

  // Until 5 s after the start, and the calendar's time that is past.
  this->m.put_words(this->kSecond, {5, 0});
  EXPECT_EQ(this->call(kClockNanosleep, {1, 1, this->kSecond, 0}), 0);
  EXPECT_EQ(this->call(kClockNanosleep, {0, 1, this->kSecond, 0}), 0);
  EXPECT_EQ(this->call(kClockGettime, {1, time}), 0);
  EXPECT_EQ(this->m.word_at(time), 5u);
  EXPECT_EQ(this->m.word_at(time + 8), 2000u);
  EXPECT_EQ(this->call(kClockNanosleep, {2, 0, this->kSecond, 0}), -EOPNOTSUPP);
  EXPECT_EQ(this->call(kClockNanosleep, {10, 0, this->kSecond, 0}), -EINVAL);
  EXPECT_EQ(this->call(kNanosleep, {M::kUnmapped, 0}), -EFAULT);
  for (const std::vector<u64>& bad : {std::vector<u64>{~u64{0}, 0}, {0, ~u64{0}}, {0, 1000000000}}) {
    this->m.put_words(this->kSecond, bad);
    EXPECT_EQ(this->call(kNanosleep, {this->kSecond, 0}), -EINVAL);
  }
  this->m.put_words(this->kSecond, {~u64{0} >> 1, 999999999});
  for (int i = 0; i < 3; i++) EXPECT_EQ(this->call(kNanosleep, {this->kSecond, 0}), 0);
  EXPECT_EQ(this->m.kernel_word(kSlept), u64{1} << 62);

  EXPECT_EQ(this->call(kGetrusage, {0, this->kThird}), 0);
  EXPECT_EQ(this->m.word_at(this->kThird + 8), this->m.retired() / 1000);
  EXPECT_EQ(this->m.word_at(this->kThird + 136), 0u);
  EXPECT_EQ(this->call(kGetrusage, {~u64{0}, this->kThird}), 0);
  EXPECT_EQ(this->m.word_at(this->kThird + 8), 0u);
  EXPECT_EQ(this->call(kGetrusage, {2, this->kThird}), -EINVAL);
  EXPECT_EQ(this->call(kGetrusage, {0, M::kReadOnly}), -EFAULT);
}

TYPED_TEST(KernelProcess, Futex) {
  using M = TypeParam;
  const u64 lock = M::kData + 8, time = this->kFirst;
  this->m.put_words(lock, {5});
  this->m.put_words(time, {3, 0});
  EXPECT_EQ(this->call(kFutex, {lock, 1, 1}), 0);
  EXPECT_EQ(this->call(kFutex, {lock, 128, 4, time}), -EAGAIN);
  EXPECT_EQ(this->call(kFutex, {lock, 128, 5, 0}), -EDEADLK);
  EXPECT_EQ(this->call(kFutex, {lock + 1, 128, 5, 0}), -EINVAL);
  EXPECT_EQ(this->call(kFutex, {M::kUnmapped, 0, 5, 0}), -EFAULT);
  EXPECT_EQ(this->call(kFutex, {lock, 0, 5, M::kUnmapped}), -EFAULT);
  EXPECT_EQ(this->call(kFutex, {lock, 0, 5, time}), -ETIMEDOUT);
  EXPECT_EQ(this->m.kernel_word(kSlept), 3000000000u);
  EXPECT_EQ(this->call(kFutex, {lock, 9, 5, time, 0, 0}), -EINVAL);
  EXPECT_EQ(this->call(kFutex, {lock, 9, 5, time, 0, 1}), -ETIMEDOUT);  // that time is over
  EXPECT_EQ(this->m.kernel_word(kSlept), 3000000000u);
  this->m.put_words(time, {1704067210, 0});
  EXPECT_EQ(this->call(kFutex, {lock, 9 | 256, 5, time, 0, 1}), -ETIMEDOUT);
  EXPECT_EQ(this->m.kernel_word(kSlept) + this->m.retired(), 10000000000u);
  EXPECT_EQ(this->call(kFutex, {lock, 256, 5, time}), -ENOSYS) << "as Linux";
  EXPECT_TRUE(this->is_missing(kFutex, {lock, 2, 5, time}));
}

TYPED_TEST(KernelProcess, Polling) {
  using M = TypeParam;
  const u64 records = this->kFirst, time = this->kSecond;
  this->m.set_standard_input("ab");
  this->m.put_words(records, {poll_record(0, 1, 99), poll_record(1, 5, 99), poll_record(-1, 5, 99),
                              poll_record(77, 0, 99), poll_record(1, 1, 99)});
  EXPECT_EQ(this->call(kPpoll, {records, 5, 0, 0, 0}), 3);
  const u64 expected[] = {17, 4, 0, 32, 0};
  for (u64 i = 0; i < 5; i++) EXPECT_EQ(this->m.word_at(records + i * 8) >> 48, expected[i]) << i;
  EXPECT_EQ(this->m.word_at(records) & 0xFFFFFFFFFFFF, poll_record(0, 1, 0));
  EXPECT_EQ(this->call(kRead63, {0, this->kThird, 2}), 2);
  EXPECT_EQ(this->call(kPpoll, {records, 1, 0, 0, 0}), 1);
  EXPECT_EQ(this->m.word_at(records) >> 48, 16u);

  EXPECT_EQ(this->call(kPpoll, {records + 32, 1, 0, 0, 0}), -EDEADLK);
  this->m.put_words(time, {1, 5});
  EXPECT_EQ(this->call(kPpoll, {records + 32, 1, time, 0, 0}), 0);
  EXPECT_EQ(this->m.kernel_word(kSlept), 1000000005u);
  EXPECT_EQ(this->m.word_at(time + 8), 0u);
  EXPECT_EQ(this->call(kPpoll, {0, 0, time, 0, 0}), 0);
  this->m.put_words(M::kReadOnly, {1, 0});
  EXPECT_EQ(this->call(kPpoll, {0, 0, M::kReadOnly, 0, 0}), 0);  // the time left is not stored
  EXPECT_EQ(this->m.word_at(M::kReadOnly), 1u);
  EXPECT_EQ(this->m.kernel_word(kSlept), 2000000005u);
  EXPECT_EQ(this->call(kPpoll, {records, 1025, 0, 0, 0}), -EINVAL);
  EXPECT_EQ(this->call(kPpoll, {records, 1, 0, time, 4}), -EINVAL);
  EXPECT_EQ(this->call(kPpoll, {records, 1, 0, M::kUnmapped, 8}), -EFAULT);
  EXPECT_EQ(this->call(kPpoll, {M::kUnmapped, 1, 0, 0, 0}), -EFAULT);
  EXPECT_EQ(this->call(kPpoll, {records, 1, M::kUnmapped, 0, 0}), -EFAULT);
  this->m.put_words(M::kReadOnly, {poll_record(1, 4, 0)});
  EXPECT_EQ(this->call(kPpoll, {M::kReadOnly, 1, 0, 0, 0}), -EFAULT);
  this->m.put_words(time, {0, 1000000000});
  EXPECT_EQ(this->call(kPpoll, {records, 1, time, 0, 0}), -EINVAL);
}

TYPED_TEST(KernelProcess, Selecting) {
  using M = TypeParam;
  const u64 reading = this->kFirst, writing = this->kFirst + 16, exceptional = this->kFirst + 32, time = this->kSecond;
  this->call(kDup3, {1, 70, 0});
  this->m.put_words(reading, {3, ~u64{0} << 8});  // bits from 72 on are beyond the count
  this->m.put_words(writing, {7, 1 << 6});
  this->m.put_words(exceptional, {7, 0});
  EXPECT_EQ(this->call(kPselect6, {72, reading, writing, exceptional, 0, 0}), 4);
  EXPECT_EQ(this->m.word_at(reading), 1u);
  EXPECT_EQ(this->m.word_at(reading + 8), 0u);
  EXPECT_EQ(this->m.word_at(writing), 6u);
  EXPECT_EQ(this->m.word_at(writing + 8), 1u << 6);
  EXPECT_EQ(this->m.word_at(exceptional), 0u);
  this->m.put_words(reading, {8});
  EXPECT_EQ(this->call(kPselect6, {4, reading, 0, 0, 0, 0}), -EBADF);
  EXPECT_EQ(this->m.word_at(reading), 8u);
  EXPECT_EQ(this->call(kPselect6, {static_cast<u64>(-1), reading, 0, 0, 0, 0}), -EINVAL);
  EXPECT_EQ(this->call(kPselect6, {64, M::kReadOnly, 0, 0, 0, 0}), -EFAULT);
  EXPECT_EQ(this->call(kPselect6, {3, 0, 0, 0, 0, 0}), -EDEADLK);
  this->m.put_words(time, {1, 0});
  this->m.put_words(reading, {2});
  EXPECT_EQ(this->call(kPselect6, {3, reading, 0, 0, time, 0}), 0);
  EXPECT_EQ(this->m.word_at(reading), 0u);
  EXPECT_EQ(this->m.word_at(time), 0u);
  EXPECT_EQ(this->m.kernel_word(kSlept), 1000000000u);
  // One place for two sets: both get what they select, and the later one stays.
  this->m.put_words(reading, {7});
  EXPECT_EQ(this->call(kPselect6, {3, reading, reading, 0, 0, 0}), 3);
  EXPECT_EQ(this->m.word_at(reading), 6u);
}

TYPED_TEST(KernelProcess, Identity) {
  using M = TypeParam;
  EXPECT_EQ(this->call(kGetpid), 1000);
  EXPECT_EQ(this->call(173), 1);
  EXPECT_EQ(this->call(kGetuid), 1000);
  EXPECT_EQ(this->call(kSetTidAddress, {0}), 1000);
  EXPECT_EQ(this->call(kGetsid, {0}), 1000);
  EXPECT_EQ(this->call(kGetsid, {7}), -ESRCH);
  EXPECT_EQ(this->call(kSetsid), -EPERM);
  EXPECT_EQ(this->call(kSetpgid, {0, 0}), -EPERM);
  EXPECT_EQ(this->call(kSetpgid, {0, ~u64{0}}), -EINVAL);
  EXPECT_EQ(this->call(kSetpgid, {7, 0}), -ESRCH);
  EXPECT_EQ(this->call(kSetuid, {1000}), 0);
  EXPECT_EQ(this->call(kSetuid, {0}), -EPERM);
  EXPECT_EQ(this->call(kSetuid, {~u64{0}}), -EINVAL);
  EXPECT_EQ(this->call(kSetreuid, {1000, ~u64{0}, 0}), 0);
  EXPECT_EQ(this->call(kSetresuid, {1000, ~u64{0}, 0}), -EPERM);
  this->m.put_words(this->kThird, {0});
  EXPECT_EQ(this->call(kGetresuid, {this->kFirst, this->kThird, M::kReadOnly}), -EFAULT);
  EXPECT_EQ(this->m.word_at(this->kThird), 1000u);
  EXPECT_EQ(this->call(kGetresuid, {this->kFirst, this->kThird, this->kThird}), 0);
  EXPECT_EQ(this->call(kGetgroups, {~u64{0}}), -EINVAL);
  EXPECT_EQ(this->call(kGetgroups, {0}), 0);
  EXPECT_EQ(this->call(kUmaskCall, {01777}), 022);
  EXPECT_EQ(this->call(kUmaskCall, {0}), 0777);
  EXPECT_EQ(this->call(kGetcwdCall, {M::kData + kPageSize - 1, 2}), 2);
  EXPECT_EQ(this->m.text(M::kData + kPageSize - 1, 2), std::string("/\0", 2));
  EXPECT_EQ(this->call(kGetcwdCall, {this->kFirst, 1}), -ERANGE);
  EXPECT_EQ(this->call(kGetcwdCall, {0, 2}), -EFAULT);

  this->m.put_path(this->kFirst, "a name longer than that");
  EXPECT_EQ(this->call(kPrctlCall, {15, this->kFirst}), 0);
  EXPECT_EQ(this->call(kPrctlCall, {16, this->kThird}), 0);
  EXPECT_EQ(this->m.text(this->kThird, 16), std::string("a name longer t\0", 16));
  this->m.put_path(M::kDataEnd - 4, "abc");
  EXPECT_EQ(this->call(kPrctlCall, {15, M::kDataEnd - 4}), 0);
  EXPECT_EQ(this->call(kPrctlCall, {16, this->kThird}), 0);
  EXPECT_EQ(this->m.text(this->kThird, 16), std::string("abc") + std::string(13, '\0'));
  this->m.put_text(M::kNoAccess - 3, "abc");
  EXPECT_EQ(this->call(kPrctlCall, {15, M::kNoAccess - 3}), -EFAULT);
  EXPECT_EQ(this->call(kPrctlCall, {23, 40}), 0);
  EXPECT_EQ(this->call(kPrctlCall, {23, 41}), -EINVAL);
  EXPECT_TRUE(this->is_missing(kPrctlCall, {22, 0}));
}

TYPED_TEST(KernelProcess, System) {
  using M = TypeParam;
  EXPECT_EQ(this->call(kUname, {this->kFirst}), 0);
  const char* names[] = {"Linux", "myriarm", "6.1.0", "#1 SMP myriarm", "aarch64", "(none)"};
  for (u64 i = 0; i < 6; i++) {
    std::string name = names[i];
    name.resize(65);
    EXPECT_EQ(this->m.text(this->kFirst + i * 65, 65), name);
  }
  EXPECT_EQ(this->call(kUname, {M::kReadOnly}), -EFAULT);
  EXPECT_EQ(this->call(kSetRobustList, {0, 24}), 0);
  EXPECT_EQ(this->call(kSetRobustList, {0, 8}), -EINVAL);
  EXPECT_EQ(this->call(kGetrlimit, {7, this->kFirst}), 0);
  EXPECT_EQ(this->m.word_at(this->kFirst + 8), 1024u);
  EXPECT_EQ(this->call(kPrlimit64, {0, 3, 0, this->kFirst}), 0);
  EXPECT_EQ(this->m.word_at(this->kFirst), 2u * kPageSize);
  EXPECT_EQ(this->call(kPrlimit64, {1000, 0, 0, this->kFirst}), 0);
  EXPECT_EQ(this->m.word_at(this->kFirst), ~u64{0});
  EXPECT_EQ(this->call(kPrlimit64, {0, 16, 0, 0}), -EINVAL);
  EXPECT_EQ(this->call(kPrlimit64, {0, 15, 0, 0}), 0);
  EXPECT_EQ(this->call(kPrlimit64, {1, 15, 0, 0}), -ESRCH);
  EXPECT_EQ(this->call(kPrlimit64, {0, 3, this->kFirst, 0}), -EPERM) << "its hard limit is lower";
  EXPECT_EQ(this->call(kGetrlimit, {99, 0}), -EINVAL);
  EXPECT_EQ(this->call(kSchedGetaffinity, {0, 8, this->kThird}), 8);
  EXPECT_EQ(this->m.word_at(this->kThird), 1u);
  EXPECT_EQ(this->call(kSchedGetaffinity, {0, 12, this->kThird}), -EINVAL);
  EXPECT_EQ(this->call(kSchedGetaffinity, {1, 8, this->kThird}), -ESRCH);
  this->m.set_kernel_word(kSlept, 42000000000);
  EXPECT_EQ(this->call(kSysinfo, {this->kFirst}), 0);
  EXPECT_EQ(this->m.word_at(this->kFirst), 42u);
  EXPECT_EQ(this->m.word_at(this->kFirst + 32), M::kEnd - M::kBegin);
  EXPECT_EQ(this->m.word_at(this->kFirst + 80), 1u);
  EXPECT_EQ(this->m.word_at(this->kFirst + 104), 1u);
}

/// SplitMix64, as its authors give it.
u64 next_output(u64& state) {
  u64 z = state += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

TYPED_TEST(KernelProcess, RandomBytesAreThoseOfTheStream) {
  using M = TypeParam;
  u64 known = 1234567;
  ASSERT_EQ(next_output(known), 6457827717110365317u);
  ASSERT_EQ(next_output(known), 3203168211198807973u);
  u64 seed = M::kSeed, lane = next_output(seed) + M::kNumber, state = next_output(lane);
  std::string stream;
  for (int i = 0; i < 30; i++) {
    const u64 word = next_output(state);
    stream.append(reinterpret_cast<const char*>(&word), 8);
  }
  stream.erase(0, 16);  // AT_RANDOM has taken them
  u64 position = 0;
  for (u64 size : {8, 3, 16, 0, 21, 1, 40}) {
    for (u64 at : {M::kData, this->kFirst}) {
      ASSERT_EQ(this->call(kGetrandom, {at, size, 0}), static_cast<i64>(size));
      EXPECT_EQ(this->m.text(at, size), stream.substr(position, size));
      position += size;
    }
  }
  EXPECT_EQ(this->m.kernel_word(kRandomPosition), 16 + position);
  EXPECT_EQ(this->call(kGetrandom, {M::kDataEnd - 5, 100, 0}), 5);
  EXPECT_EQ(this->call(kGetrandom, {M::kReadOnly, 100, 0}), -EFAULT);
  EXPECT_EQ(this->call(kGetrandom, {M::kReadOnly, 0, 0}), 0);
  EXPECT_EQ(this->call(kGetrandom, {M::kData, 1, 6}), -EINVAL);
  EXPECT_EQ(this->call(kGetrandom, {M::kData, 1, 8}), -EINVAL);
}

}  // namespace
}  // namespace myriarm
