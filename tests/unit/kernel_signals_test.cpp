// SPDX-License-Identifier: Apache-2.0
// Signals as src/kernel/ sends and delivers them: who gets which, the frame of a handler, timers, and waits. That it is what Linux
// does is shown by tests/signals.
#include "kernel_caller.h"

namespace myriarm {
namespace {

using namespace test;

constexpr u64 kHandlerAt = 0x5000, kRestorerAt = 0x7000;
constexpr u64 kInforms = 4, kOnAlternative = 0x08000000, kDoesNotDefer = 0x40000000, kOnce = 0x80000000,
              kRestoresAt = 0x04000000;

template <class M>
class KernelSignals : public KernelCaller<M> {
 protected:
  KernelSignals() {
    this->m.set_x(31, M::kEnd);
    this->m.set_pc(0x1000);
  }
  void set(u32 number, u64 handler, u64 flags = 0, u64 mask = 0) {
    this->m.put_words(this->kSecond, {handler, flags, kRestorerAt, mask});
    EXPECT_EQ(this->call(kRtSigaction, {number, this->kSecond, 0, 8}), 0);
  }
  void block(u64 mask) {
    this->m.put_words(this->kSecond, {mask});
    EXPECT_EQ(this->call(kRtSigprocmask, {2, this->kSecond, 0, 8}), 0);
  }
  u64 pending() {
    EXPECT_EQ(this->call(kRtSigpending, {this->kThird, 8}), 0);
    return this->m.word_at(this->kThird);
  }
  void set_timer(u32 timer, u64 microseconds, u64 interval = 0) {
    this->m.put_words(this->kSecond, {0, interval, 0, microseconds});
    EXPECT_EQ(this->call(kSetitimer, {timer, this->kSecond, 0}), 0);
  }
  bool goes_on() { return this->m.deliver().served == Served::answered; }
  Result fault(StopCode code, FaultCode kind = FaultCode::none, u64 address = 0) {
    return this->m.deliver_fault({code, kind, 0, 0, address});
  }
};
TYPED_TEST_SUITE(KernelSignals, Machines, MachineNames);

TYPED_TEST(KernelSignals, DefaultActions) {
  EXPECT_EQ(this->status(kKill, {1000, 15}), 0x100 + 15);
  EXPECT_EQ(this->status(kTgkill, {1000, 1000, 6}), 0x100 + 6);
  EXPECT_EQ(this->status(kTkill, {1000, 40}), 0x100 + 40);
  for (u32 number : {17u, 18u, 20u, 21u, 22u, 23u, 28u}) EXPECT_EQ(this->status(kKill, {0, number}), -1) << number;
  EXPECT_EQ(this->status(kKill, {1000, 19}), 0x100 + 19) << "nobody could let it go on";
  EXPECT_EQ(this->call(kKill, {5, 15}), -ESRCH);
  EXPECT_EQ(this->call(kKill, {1000, 65}), -EINVAL);
  EXPECT_EQ(this->call(kTkill, {0, 15}), -EINVAL);
  EXPECT_EQ(this->call(kTkill, {1000, 0}), 0);
  EXPECT_EQ(this->call(kTgkill, {1000, 999, 1}), -ESRCH);
  EXPECT_EQ(this->m.told, (std::vector<i64>{-15, -6, -40, -19}));
}

TYPED_TEST(KernelSignals, AHandlerGetsTheFrameOfLinuxAndReturnsFromIt) {
  using M = TypeParam;
  for (u32 n = 0; n < 31; n++) this->m.set_x(n, 100 + n);
  for (u32 n = 0; n < 32; n++) this->m.set_v(n, n % 2, u64{n} << 40 | 7);
  this->m.set_nzcv(9);
  this->m.set_system(SystemField::fpcr, 0x00C00000);
  this->m.set_system(SystemField::fpsr, 0x11);
  this->m.set_system(SystemField::monitor, M::kData);
  this->block(0x10);
  this->m.set_x(31, M::kEnd - 24);  // not a multiple of 16
  this->set(10, kHandlerAt, kInforms | kRestoresAt, 0x100 | 1 << 20);
  EXPECT_EQ(this->call(kTkill, {1000, 10}), 0);
  const auto before = this->m.registers;
  const u64 retired = this->m.retired();
  EXPECT_TRUE(this->goes_on());
  EXPECT_EQ(this->m.retired(), retired + 1) << "a delivery is counted";
  const u64 record = (M::kEnd - 24 - 16) & ~u64{15}, frame = record - 4688;
  const u64 context = frame + 128, machine = context + 176, vectors = machine + 288;
  EXPECT_EQ(this->m.x(0), 10u);
  EXPECT_EQ(this->m.x(1), frame);
  EXPECT_EQ(this->m.x(2), context);
  EXPECT_EQ(this->m.x(29), record);
  EXPECT_EQ(this->m.x(30), kRestorerAt);
  EXPECT_EQ(this->m.x(31), frame);
  EXPECT_EQ(this->m.pc(), kHandlerAt);
  EXPECT_EQ(this->m.system(SystemField::monitor), kMonitorOpen);
  EXPECT_EQ(this->m.kernel_word(kBlocked), 0x10u | 1 << 9 | 1 << 20) << "SIGKILL cannot be blocked";
  EXPECT_EQ(this->m.word_at(record), 129u);
  EXPECT_EQ(this->m.word_at(record + 8), 130u);
  EXPECT_EQ(this->m.word_at(frame), 10u);
  EXPECT_EQ(this->m.word_at(frame + 8), 0xfffffffau) << "SI_TKILL";
  EXPECT_EQ(this->m.word_at(frame + 16), u64{1000} << 32 | 1000);
  EXPECT_EQ(this->m.word_at(context + 40), 0x10u) << "the mask";
  EXPECT_EQ(this->m.word_at(machine + 8 + 19 * 8), 119u);
  EXPECT_EQ(this->m.word_at(machine + 256), M::kEnd - 24);
  EXPECT_EQ(this->m.word_at(machine + 264), 0x1000u);
  EXPECT_EQ(this->m.word_at(machine + 272), u64{9} << 28);
  EXPECT_EQ(this->m.word_at(vectors), u64{528} << 32 | 0x46508001);
  EXPECT_EQ(this->m.word_at(vectors + 8), u64{0x00C00000} << 32 | 0x11);
  EXPECT_EQ(this->m.word_at(vectors + 16 + 5 * 16 + 8), u64{5} << 40 | 7);
  EXPECT_EQ(this->m.word_at(vectors + 528), 0u);

  for (u32 n = 0; n < 31; n++) this->m.set_x(n, 0);
  for (u32 n = 0; n < 32; n++) this->m.set_v(n, 1, 0);
  this->m.set_nzcv(0);
  const Result result = this->m.call(kRtSigreturn);
  EXPECT_EQ(result.served, Served::replaced);
  auto expected = before;
  expected.system[static_cast<u32>(SystemField::monitor)] = kMonitorOpen;
  EXPECT_TRUE(this->m.registers == expected);
  EXPECT_EQ(this->m.kernel_word(kBlocked), 0x10u);
  EXPECT_EQ(this->m.told, (std::vector<i64>{10}));
}

TYPED_TEST(KernelSignals, FlagsOfAnAction) {
  using M = TypeParam;
  this->set(10, kHandlerAt, kDoesNotDefer | kOnce | kOnAlternative);
  EXPECT_EQ(this->call(kTkill, {1000, 10}), 0);
  EXPECT_TRUE(this->goes_on());
  EXPECT_EQ(this->m.x(31), M::kEnd - 16 - 4688) << "there is no other stack";
  EXPECT_EQ(this->m.x(30), 0u) << "nothing to return to";
  EXPECT_EQ(this->m.kernel_word(kBlocked), 0u);
  EXPECT_EQ(this->m.kernel_word(action_word(10)), 0u);
  EXPECT_EQ(this->m.kernel_word(action_word(10, kActionFlags)), kDoesNotDefer | kOnce | kOnAlternative);
  const u64 top = M::kData + 3 * kPageSize;
  this->m.put_words(this->kFirst + 4, {top - 6000, 0, 6000});
  EXPECT_EQ(this->call(kSigaltstack, {this->kFirst + 4, 0}), 0);
  this->set(12, kHandlerAt, kOnAlternative);
  EXPECT_EQ(this->call(kTkill, {1000, 12}), 0);
  EXPECT_TRUE(this->goes_on());
  EXPECT_EQ(this->m.x(31), top - 16 - 4688);
  EXPECT_EQ(this->call(kSigaltstack, {this->kFirst + 4, this->kThird}), -EPERM) << "SP is in it";
  EXPECT_EQ(this->call(kSigaltstack, {0, this->kThird + 3}), 0);
  EXPECT_EQ(this->m.word_at(this->kThird + 11), 1u);
  this->m.set_x(31, M::kEnd);
  this->m.put_words(this->kFirst + 4, {top, 0, 5119});
  EXPECT_EQ(this->call(kSigaltstack, {this->kFirst + 4, 0}), -ENOMEM);
  this->m.put_words(this->kFirst + 4, {top, 5, 6000});
  EXPECT_EQ(this->call(kSigaltstack, {this->kFirst + 4, 0}), -EINVAL);
}

TYPED_TEST(KernelSignals, WithoutRoomForAFrameTheProcessGetsASegmentationFault) {
  using M = TypeParam;
  this->set(10, kHandlerAt);
  this->m.set_x(31, M::kReadOnly + 100);
  EXPECT_EQ(this->status(kTkill, {1000, 10}), 0x100 + 11);
  EXPECT_EQ(this->m.told, (std::vector<i64>{10, -11}));
  this->set(11, kHandlerAt + 8, kOnAlternative);
  this->m.put_words(this->kFirst + 4, {M::kData, 0, 8192});
  EXPECT_EQ(this->call(kSigaltstack, {this->kFirst + 4, 0}), 0);
  EXPECT_EQ(this->status(kTkill, {1000, 10}), -1) << "the handler of SIGSEGV has a stack";
  EXPECT_EQ(this->m.pc(), kHandlerAt + 8);
  this->m.set_x(31, 0);
  EXPECT_EQ(this->fault(StopCode::fault, FaultCode::unmapped, 8).served, Served::missing) << "blocked in its handler";
  this->block(0);
  EXPECT_EQ(this->fault(StopCode::fault, FaultCode::unmapped, 8).served, Served::answered) << "on the other stack";
  this->set(11, kHandlerAt);
  this->block(0);
  this->m.set_x(31, 0);
  EXPECT_EQ(this->fault(StopCode::fault, FaultCode::unmapped, 8).value, 0x100 + 11);
}

TYPED_TEST(KernelSignals, FaultsAndWhatTheyTell) {
  using M = TypeParam;
  struct Case {
    StopCode code;
    FaultCode kind;
    u64 address, pc;
    u32 number;
    i32 si_code;
    u64 si_address, noted;
    u32 syndrome;
  };
  const Case cases[] = {
      {StopCode::fault, FaultCode::unmapped, 0x123, 0x1000, 11, 1, 0x123, 0x123, 0x92000007},
      {StopCode::fault, FaultCode::unmapped, 0x1000, 0x1000, 11, 1, 0x1000, 0x1000, 0x82000007},
      {StopCode::fault, FaultCode::read, M::kNoAccess, 0x1000, 11, 2, M::kNoAccess, M::kNoAccess, 0x9200000F},
      {StopCode::fault, FaultCode::write, M::kReadOnly, 0x1000, 11, 2, M::kReadOnly, M::kReadOnly, 0x9200004F},
      {StopCode::fault, FaultCode::execute, M::kData, M::kData, 11, 2, M::kData, M::kData, 0x8200000F},
      {StopCode::fault, FaultCode::alignment, M::kData + 1, 0x1000, 7, 1, M::kData + 1, M::kData + 1, 0x92000021},
      {StopCode::fault, FaultCode::alignment, 0x1002, 0x1002, 7, 1, 0x1002, 0, 0x8A000000},
      {StopCode::fault, FaultCode::unmapped, 0x00FF000000000010, 0x1000, 11, 1, 0xFFFF000000000010, 0xFFFF000000000010,
       0x92000007},
      {StopCode::undefined, FaultCode::none, 0xD5000000, 0x1000, 4, 1, 0x1000, 0, 0},
      {StopCode::halt, FaultCode::none, 0, 0x1000, 4, 1, 0x1000, 0, 0},
      {StopCode::breakpoint, FaultCode::none, 0, 0x1000, 5, 1, 0x1000, 0, 0},
  };
  for (const Case& c : cases) {
    this->set(c.number, kHandlerAt, kInforms | kDoesNotDefer);
    this->m.set_x(31, M::kEnd);
    this->m.set_pc(c.pc);
    EXPECT_EQ(this->fault(c.code, c.kind, c.address).served, Served::answered);
    const u64 frame = this->m.x(31);
    EXPECT_EQ(this->m.x(0), c.number);
    EXPECT_EQ(this->m.word_at(frame), c.number);
    EXPECT_EQ(this->m.word_at(frame + 8), static_cast<u64>(c.si_code));
    EXPECT_EQ(this->m.word_at(frame + 16), c.si_address);
    EXPECT_EQ(this->m.word_at(frame + 304), c.noted);
    EXPECT_EQ(this->m.word_at(frame + 304 + 264), c.pc);
    const u64 record = frame + 592 + 528;
    EXPECT_EQ(this->m.word_at(record), c.syndrome == 0 ? 0 : u64{16} << 32 | 0x45535201);
    EXPECT_EQ(this->m.word_at(record + 8), c.syndrome);
  }
  EXPECT_EQ(this->fault(StopCode::budget).served, Served::missing);
  // What is ignored or blocked cannot be refused: the stop stays.
  this->set(11, 1);
  EXPECT_EQ(this->fault(StopCode::fault, FaultCode::unmapped, 8).served, Served::missing);
  this->set(11, kHandlerAt);
  this->block(1 << 10);
  EXPECT_EQ(this->fault(StopCode::fault, FaultCode::unmapped, 8).served, Served::missing);
}

TYPED_TEST(KernelSignals, BehindTheEndOfAFile) {
  using M = TypeParam;
  this->m.set_file(std::string(5000, 'f'));
  const u64 file = this->open_input();
  const u64 place = static_cast<u64>(this->call(kMmap, {0, 3 * kPageSize, 1, 2, file, 0}));
  this->set(7, kHandlerAt, kInforms);
  EXPECT_EQ(this->fault(StopCode::fault, FaultCode::read, place + 2 * kPageSize).served, Served::answered);
  EXPECT_EQ(this->m.x(0), 7u);
  EXPECT_EQ(this->m.word_at(this->m.x(1) + 8), 2u) << "BUS_ADRERR";
  (void)M::kPages;
}

TYPED_TEST(KernelSignals, TheQueueHasALimit) {
  this->block(~u64{0});
  this->m.put_words(this->kFirst + 4, std::vector<u64>(16));
  this->m.put_words(this->kFirst + 12, {0xFFFFFFFF, 0, 0});
  for (u32 i = 0; i < kMostQueued; i++) {
    this->m.put_words(this->kFirst + 28, {i});
    ASSERT_EQ(this->call(kRtSigqueueinfo, {1000, 32 + i % 3, this->kFirst + 4}), 0);
  }
  EXPECT_EQ(this->call(kRtSigqueueinfo, {1000, 32, this->kFirst + 4}), -EAGAIN);
  EXPECT_EQ(this->call(kKill, {1000, 40}), 0) << "without what goes with it";
  EXPECT_EQ(this->call(kTkill, {1000, 41}), -EAGAIN);
  for (u32 number = 1; number < 32; number++) {
    EXPECT_EQ(this->call(kKill, {1000, number}), 0);
    EXPECT_EQ(this->call(kTkill, {1000, number}), 0);
  }
  EXPECT_EQ(this->m.kernel_word(kQueuedSignals), kQueueRecords - kMostTimers - 2u)
      << "of SIGKILL and SIGSTOP nothing waits, and no timer sends one";
  (void)this->pending();
}

TYPED_TEST(KernelSignals, TimersExpireAtACount) {
  using M = TypeParam;
  this->set(14, kHandlerAt);
  this->set(26, kHandlerAt + 4);
  this->set_timer(0, 50);
  const u64 now = this->m.retired();
  EXPECT_EQ(next_expiry(this->m), now + 50'000);
  this->set_timer(1, 7, 3);
  EXPECT_EQ(next_expiry(this->m), now + 1000 + 7000);
  EXPECT_EQ(attention_at(this->m), now + 8000);
  this->m.pass(7000);
  EXPECT_TRUE(this->goes_on());
  EXPECT_EQ(this->m.pc(), kHandlerAt + 4);
  EXPECT_EQ(next_expiry(this->m), now + 8000 + 3000);
  this->set_timer(1, 0);
  this->m.set_x(31, M::kEnd);
  // A sleep beyond the alarm ends with it.
  this->m.put_words(this->kSecond, {10, 0});
  EXPECT_EQ(this->call(kNanosleep, {this->kSecond, this->kThird}), -EINTR);
  EXPECT_EQ(this->m.kernel_word(kSlept) + this->m.retired(), now + 50'000);
  EXPECT_EQ(this->m.word_at(this->kThird), 9u);
  EXPECT_TRUE(this->goes_on());
  EXPECT_EQ(this->m.x(0), 14u);
  this->m.set_x(31, M::kEnd);
  // A timer with an interval waits for its signal to be taken.
  this->block(1 << 13);
  this->set_timer(0, 50, 50);
  this->m.put_words(this->kSecond, {10, 0});
  EXPECT_EQ(this->call(kNanosleep, {this->kSecond, this->kThird}), 0);
  EXPECT_EQ(next_expiry(this->m) <= this->m.retired(), true);
  EXPECT_TRUE(this->goes_on());
  EXPECT_EQ(next_expiry(this->m), kNever);
  EXPECT_EQ(this->pending(), u64{1} << 13);
  this->m.put_words(this->kSecond, {1 << 13, 0, 0});
  EXPECT_EQ(this->call(kRtSigtimedwait, {this->kSecond, 0, this->kSecond + 8, 8}), 14);
  EXPECT_LE(next_expiry(this->m), this->m.retired() + 50'000);
  EXPECT_GT(next_expiry(this->m), this->m.retired());
  (void)M::kPages;
}

TYPED_TEST(KernelSignals, WaitsThatNothingEnds) {
  this->m.put_words(this->kSecond, {0, 0});
  EXPECT_EQ(this->call(kRtSigsuspend, {this->kSecond, 8}), -EDEADLK);
  EXPECT_EQ(this->call(kPpoll, {0, 0, 0, 0, 0}), -EDEADLK);
  EXPECT_EQ(this->call(kRtSigtimedwait, {this->kSecond, 0, 0, 8}), -EDEADLK);
  this->set(14, 1);
  this->set_timer(0, 50);
  EXPECT_EQ(this->call(kRtSigsuspend, {this->kSecond + 16, 8}), -EDEADLK) << "what is ignored ends nothing";
  // A futex is waited for again if the action says so.
  this->set(14, kHandlerAt, 0x10000000);
  this->set_timer(0, 50);
  this->m.put_words(this->kSecond, {5});
  const u64 pc = this->m.pc();
  const Result result = this->m.call(kFutex, {this->kSecond, 0, 5, 0});
  EXPECT_EQ(result.served, Served::replaced);
  EXPECT_EQ(this->m.pc(), pc - 4);
  EXPECT_TRUE(this->goes_on());
  EXPECT_EQ(this->m.word_at(this->m.x(31) + 568), pc - 4);
}

}  // namespace
}  // namespace myriarm
