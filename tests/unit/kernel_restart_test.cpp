// SPDX-License-Identifier: Apache-2.0
// A call that is abandoned anywhere and made again ends as one that is not.
#include <sys/mman.h>

#include <functional>

#include "kernel_caller.h"

namespace myriarm {
namespace {

using namespace test;

template <class M>
class KernelRestart : public KernelCaller<M> {};
TYPED_TEST_SUITE(KernelRestart, Machines, MachineNames);

/// Calls of all families that change something, one after the other; for each, its result.
template <class M>
std::vector<i64> make_many_calls(M& m) {
  const u64 first = M::kData + kPageSize - 4, second = M::kData + 0x1800, third = M::kData + 0x2805;
  std::vector<i64> results;
  const auto call = [&](u32 number, const std::vector<u64>& arguments) {
    const Result result = m.call(number, arguments);
    results.push_back(result.value + static_cast<i64>(result.served) * 1000000);
  };
  m.set_standard_input("abcdefghijklmnopqrstuvwxyz");
  m.set_file(std::string(5000, 'f'));
  m.put_path(second, "/input");
  call(kOpenat, {kHere, second, 0});
  call(kDup, {3});
  call(kDup3, {3, 9, 0});
  call(kFcntl, {1, 0, 20});
  call(kLseek, {3, 100, 0});
  call(kRead63, {9, first, 300});
  call(kClose, {3});
  call(kDup3, {1, 4, 0});
  call(kClose, {9});
  call(kFstat, {4, first});
  call(kNewfstatat, {kHere, second, first, 0});
  call(kOpenat, {kHere, second, 0});
  call(kPread64, {3, first, 4999, 7});
  m.put_path(second, "/proc/self/exe");
  call(kReadlinkat, {kHere, second, first, 100});
  m.put_words(second, {first, 5, third, 6, M::kReadOnly, 1});
  call(kReadv, {0, second, 3});
  call(kWritev, {1, second, 3});
  call(kWritev, {2, second, 2});
  call(kWrite64, {1, first, 6000});
  call(kWrite64, {1, first, 6000});
  call(kClockGettime, {0, first});
  call(kGettimeofday, {first, third});
  call(kGettimeofday, {first, M::kReadOnly});
  call(kGetrusage, {0, first});
  m.put_words(second, {3, 5});
  call(kNanosleep, {second});
  call(kClockNanosleep, {1, 0, second});
  m.put_words(M::kData, {77});
  call(kFutex, {M::kData, 0, 77, second});
  m.put_words(second, {1, 2, 3, 4});
  call(kRtSigaction, {10, second, first, 8});
  call(kRtSigaction, {10, second, second, 8});
  m.put_words(second, {~u64{0}});
  call(kRtSigprocmask, {0, second, first, 8});
  call(kKill, {1000, 17});
  call(kKill, {1000, 10});
  call(kRtSigpending, {first, 8});
  m.put_words(second, {0});
  call(kRtSigprocmask, {2, second, second, 8});
  // Signals, with the handlers that they begin and end.
  const auto deliver = [&] {
    const Result result = m.deliver();
    results.push_back(result.value + static_cast<i64>(result.served) * 1000000);
    for (u64 x : m.registers.x) results.push_back(static_cast<i64>(x));
    results.push_back(static_cast<i64>(m.registers.pc));
  };
  m.set_x(31, M::kEnd);
  m.put_words(second, {0x5000, 0x18000004, 0, 0});
  call(kRtSigaction, {10, second, 0, 8});
  call(kRtSigaction, {14, second, 0, 8});
  m.put_words(second, {M::kData + 0x2000, 0, 6000});
  call(kSigaltstack, {second, first});
  call(kTkill, {1000, 10});
  deliver();
  m.put_words(second, {0, 0, 0, 5000});
  call(kSetitimer, {0, second, first});
  call(kGetitimer, {0, third});
  m.put_words(second, {1, 5});
  call(kNanosleep, {second, first});
  deliver();
  call(kRtSigreturn, {});
  deliver();
  call(kRtSigreturn, {});
  deliver();
  m.put_words(second, {1 << 9, 0});
  m.put_words(third, {0, ~u64{5}, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20});
  call(kRtSigprocmask, {0, second, 0, 8});
  call(kRtSigqueueinfo, {1000, 10, third});
  call(kRtSigtimedwait, {second, first, second + 8, 8});
  call(kRtSigqueueinfo, {1000, 10, third});
  m.put_words(third, {0});
  call(kRtSigsuspend, {third, 8});
  deliver();
  call(kRtSigreturn, {});
  deliver();
  call(kRtSigprocmask, {1, second, 0, 8});
  const StopRecord fault = {StopCode::fault, FaultCode::unmapped, 0, 0, 0x1230};
  m.put_words(second, {0x6000, 0x08000000, 0, 0});
  call(kRtSigaction, {11, second, 0, 8});
  results.push_back(static_cast<i64>(m.deliver_fault(fault).served));
  results.push_back(static_cast<i64>(m.x(31)));
  call(kRtSigreturn, {});
  m.put_words(first, {poll_record(0, 1, 99), poll_record(1, 4, 99)});
  m.put_words(second, {1, 5});
  call(kPpoll, {first, 2, second});
  m.put_words(first, {poll_record(1, 1, 99)});
  call(kPpoll, {first, 1, second});
  m.put_words(first, {7, 6, 4});
  call(kPselect6, {3, first, first + 8, first + 16, second});
  m.put_words(first, {6});
  m.put_words(second, {1, 5});
  call(kPselect6, {3, first, 0, 0, second});
  call(kGetresuid, {first, third, third + 7});
  call(kGetresuid, {first, third, M::kReadOnly});
  call(kUmaskCall, {077});
  call(kGetcwdCall, {M::kData + kPageSize - 1, 9});
  call(kPrctlCall, {15, first});
  call(kPrctlCall, {16, first});
  call(kUname, {first});
  call(kGetrandom, {first, 500, 0});
  call(kGetrlimit, {7, first});
  call(kSchedGetaffinity, {0, 8, first});
  call(kSysinfo, {first});
  // Memory.
  call(kBrkCall, {M::kBreakStart + 3 * kPageSize});
  call(kBrkCall, {M::kBreakStart + kPageSize + 5});
  call(kMremap, {M::kBreakStart, kPageSize, kPageSize, 1});  // changes nothing, and splits no range
  call(kMmap, {0, 5 * kPageSize, 3, MAP_PRIVATE | MAP_ANONYMOUS, ~u64{0}, 0});
  const u64 mapped = static_cast<u64>(results.back());
  m.put_words(mapped, {1, 2, 3});
  call(kMprotect, {mapped + kPageSize, 2 * kPageSize, PROT_READ});
  call(kMunmap, {mapped + 2 * kPageSize, kPageSize});
  call(kMremap, {mapped, kPageSize, 3 * kPageSize, 1});
  call(kMmap, {0, 2 * kPageSize, 1, 2, 3, 0});
  call(kMmap, {M::kData + kPageSize, kPageSize, 3, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, ~u64{0}, 0});
  call(kMadvise, {mapped + 4 * kPageSize, kPageSize, 4});
  call(kExit, {1});
  return results;
}

/// The same for pipes and other objects.
template <class M>
std::vector<i64> make_object_calls(M& m) {
  constexpr u32 kEventfd2 = 19, kEpollCreate = 20, kEpollCtl = 21, kEpollWait = 22, kSignalfd4 = 74,
                kTimerfdCreate = 85, kTimerfdSettime = 86, kTimerCreate = 107, kTimerSettime = 110, kTimerDelete = 111,
                kSocketpair = 199, kShutdown = 210, kCloseRange = 436, kSendfile = 71, kVmsplice = 75, kSplice = 76,
                kTee = 77;
  const u64 first = M::kData + kPageSize - 4, second = M::kData + 0x1800, third = M::kData + 0x2805;
  std::vector<i64> results;
  const auto call = [&](u32 number, const std::vector<u64>& arguments) {
    const Result result = m.call(number, arguments);
    results.push_back(result.value + static_cast<i64>(result.served) * 1000000);
  };
  const auto deliver = [&] { results.push_back(m.deliver().value); };
  m.set_standard_input(std::string(6000, 's'));
  m.set_file(std::string(9000, 'f'));
  m.put_path(second, "/input");
  call(kOpenat, {kHere, second, 0});
  const u64 file = static_cast<u64>(results.back());
  call(kPipe2, {second, 04000});
  const u64 from = m.word_at(second) & 0xFFFFFFFF, to = m.word_at(second) >> 32;
  call(kPipe2, {second, 04000});
  const u64 out = m.word_at(second) & 0xFFFFFFFF, in = m.word_at(second) >> 32;
  call(kSplice, {0, 0, to, 0, 5000, 0});
  m.put_words(second, {3});
  call(kSplice, {file, second, to, 0, 5000, 0});
  call(kTee, {from, in, 6000, 0});
  call(kSplice, {from, 0, in, 0, 4500, 0});
  call(kSplice, {out, 0, 1, 0, 5000, 0});
  call(kSendfile, {1, file, 0, 6000});
  call(kSendfile, {in, file, second, 6000});
  m.put_words(third, {M::kData + 100, 5000, M::kData, 10});
  call(kVmsplice, {in, third, 2, 0});
  call(kVmsplice, {out, third, 2, 0});
  call(kTee, {out, 2, 100, 0});
  call(kSocketpair, {1, 1, 0, second});
  const u64 one = m.word_at(second) & 0xFFFFFFFF, other = m.word_at(second) >> 32;
  call(kSendfile, {one, file, 0, 9000});
  call(kSplice, {out, 0, one, 0, 3000, 0});
  call(kSplice, {other, 0, in, 0, 4000, 0});
  call(kVmsplice, {0, third, 2, 0});
  call(kCloseRange, {3, 100, 0});
  call(kPipe2, {second, 04000});
  const u64 reader = m.word_at(second) & 0xFFFFFFFF, writer = m.word_at(second) >> 32;
  call(kWrite64, {writer, M::kData, 9000});
  call(kRead63, {reader, first, 5000});
  call(kWrite64, {writer, M::kData, 7000});
  call(kFcntl, {writer, 1031, 1 << 18});
  call(kWrite64, {writer, M::kData, 16384});
  call(kDup, {writer});
  call(kClose, {writer});
  call(kRead63, {reader, M::kData, 16384});
  call(kEventfd2, {7, 0});
  const u64 counter = static_cast<u64>(results.back());
  call(kRead63, {counter, first, 8});
  m.put_words(second, {5});
  call(kWrite64, {counter, second, 8});
  call(kTimerfdCreate, {1, 0});
  const u64 timer = static_cast<u64>(results.back());
  m.put_words(second, {0, 700, 0, 5000});
  call(kTimerfdSettime, {timer, 0, second, first});
  call(kRead63, {timer, first, 8});  // it waits, and is made again
  call(kRead63, {timer, first, 8});
  m.put_words(second, {u64{1} << 35});
  call(kRtSigprocmask, {0, second, 0, 8});
  call(kSignalfd4, {~u64{0}, second, 8, 0});
  const u64 signals = static_cast<u64>(results.back());
  m.put_words(third, {5, 36, 0});
  call(kTimerCreate, {1, third, first});
  const u64 id = m.word_at(first) & 0xFFFFFFFF;
  m.put_words(third, {0, 300, 0, 5000});
  call(kTimerSettime, {id, 0, third, second});
  call(kRead63, {signals, first, 300});
  deliver();
  call(kRead63, {signals, first, 300});
  deliver();
  call(kTimerDelete, {id});
  call(kSocketpair, {1, 5, 0, second});
  const u64 left = m.word_at(second) & 0xFFFFFFFF, right = m.word_at(second) >> 32;
  call(kEpollCreate, {0});
  const u64 set = static_cast<u64>(results.back());
  m.put_words(third, {0x80000001, 77});
  call(kEpollCtl, {set, 1, right, third});
  m.put_words(third, {0x40000004, 78});
  call(kEpollCtl, {set, 1, left, third});
  call(kWrite64, {left, M::kData, 6000});
  call(kEpollWait, {set, first, 5, 10});
  call(kEpollWait, {set, first, 5, 10});
  call(kRead63, {right, first, 100});
  call(kEpollCtl, {set, 2, right, 0});
  call(kShutdown, {left, 1});
  call(kClose, {right});
  call(kCloseRange, {3, 100, 0});
  return results;
}

/// Makes calls again and again, abandoned at one event after the other.
template <class M>
void check_restarts(const std::function<std::vector<i64>(M&)>& make_calls) {
  M whole;
  const std::vector<i64> expected = make_calls(whole);
  const std::vector<u8> state = whole.state();
  const u64 events = whole.events();
  ASSERT_GT(events, 100u);
  for (u64 event = 0; event < events; event++) {
    M other;
    other.abandon_at(event);
    ASSERT_EQ(make_calls(other), expected) << "abandoned at event " << event;
    ASSERT_EQ(other.state(), state) << "abandoned at event " << event;
    ASSERT_EQ(other.mistakes(), std::vector<std::string>()) << "abandoned at event " << event;
    ASSERT_GT(other.events(), event + 1);
  }
  for (Abandon mode : {Abandon::each_once, Abandon::after_changes}) {
    M other;
    other.abandon(mode);
    ASSERT_EQ(make_calls(other), expected);
    ASSERT_EQ(other.state(), state);
    ASSERT_EQ(other.mistakes(), std::vector<std::string>());
  }
}

TYPED_TEST(KernelRestart, ACallThatIsAbandonedAnywhereAndMadeAgainEndsTheSame) {
  check_restarts<TypeParam>(make_many_calls<TypeParam>);
}
TYPED_TEST(KernelRestart, SoDoCallsOnPipesAndOtherObjects) { check_restarts<TypeParam>(make_object_calls<TypeParam>); }

}  // namespace
}  // namespace myriarm
