// SPDX-License-Identifier: Apache-2.0
// System calls about descriptors, time, signals and resources: their results are those of Linux, and no lane affects
// another. Reading, writing and memory are tested in files of their own.
#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>
#include <random>
#include <set>

#include "linux/process_layout.h"
#include "linux_caller.h"

namespace myriarm {
namespace {

using namespace kernel;
using namespace linux_process;
using namespace test;

constexpr uint64_t kNowhere = 16, kLast = kDataEnd - 4;
constexpr uint64_t kHere = static_cast<uint64_t>(-100);  // AT_FDCWD

uint32_t half_word(Caller& caller, uint64_t address, uint32_t lane = 0) {
  return static_cast<uint32_t>(caller.word(address, lane));
}

// ---- descriptors

TEST(LinuxFiles, AreOpenedByDupAndClosed) {
  Caller caller(2);
  EXPECT_EQ(caller.call({{kDup, 1}, {kClose, 0}}), (Results{3, 0}));
  EXPECT_EQ(caller.call({{kDup, 2}, {kDup, 2}}), (Results{4, 0})) << "the lowest that is free";
  EXPECT_EQ(caller.call({{kDup, 99}, {kClose, 77}}), (Results{-EBADF, -EBADF}));
  EXPECT_EQ(caller.call({{kDup3, 1, 100, 0}, {kDup3, 1, 1, 0}}), (Results{100, -EINVAL}));
  EXPECT_EQ(caller.call({{kDup3, 1, 2000, 0}, {kDup3, 1, 100, 5}}), (Results{-EBADF, -EINVAL}));
  EXPECT_EQ(caller.call({{kDup3, 9, 5, 0}, {kDup3, ~uint64_t{0}, 5, 0}}), (Results{-EBADF, -EBADF}));
  for (uint32_t lane : {0u, 1u}) caller.put_text(kData, "text", lane);
  EXPECT_EQ(caller.call({{kWrite64, 100, kData, 4}, {kWrite64, 100, kData, 4}}), (Results{4, -EBADF}));
  EXPECT_EQ(caller.call({{kWrite64, 4, kData, 2}, {kWrite64, 0, kData, 3}}), (Results{2, 3}));
  EXPECT_EQ(caller.call({{kClose, 100}, {kRead63, 0, kData, 1}}), (Results{0, -EBADF}));
  EXPECT_EQ(caller.call({{kWrite64, 100, kData, 4}, {kClose, ~uint64_t{0}}}), (Results{-EBADF, -EBADF}));
  EXPECT_EQ(text(caller.machine.standard_output(0)), "text");
  EXPECT_EQ(text(caller.machine.standard_error(0)), "te");
  EXPECT_EQ(text(caller.machine.standard_error(1)), "tex") << "descriptor 0 had become standard error";
}

TEST(LinuxFiles, ThereAreOnlySoMany) {
  Caller caller(1);
  int64_t last = 0, result;
  while ((result = caller.call(kDup, 1)) >= 0) last = result;
  EXPECT_EQ(result, -EMFILE);
  EXPECT_EQ(last, 1023);
  EXPECT_EQ(caller.call(kFcntl, 1, 0, 1023), -EMFILE);
  EXPECT_EQ(caller.call(kFcntl, 1, 0, 1024), -EINVAL);
  EXPECT_EQ(caller.call(kClose, 512), 0);
  EXPECT_EQ(caller.call(kFcntl, 1, 0, 100), 512);
}

TEST(LinuxFiles, FlagsAndSeeking) {
  Caller caller(1);
  EXPECT_EQ(caller.call(kFcntl, 0, 3), 0) << "read only";
  EXPECT_EQ(caller.call(kFcntl, 1, 3), 1) << "write only";
  EXPECT_EQ(caller.call(kFcntl, 1, 1), 0);
  EXPECT_EQ(caller.call(kFcntl, 5, 3), -EBADF);
  EXPECT_EQ(caller.call(kFcntl, 1, 0, uint64_t{1} << 32 | 10), 10) << "Linux looks at 32 bits";
  EXPECT_EQ(caller.call(kFcntl, 1, 0, ~uint64_t{0}), -EINVAL);
  EXPECT_EQ(caller.call(kFcntl, 1, 777), -EINVAL) << "no command of Linux";
  EXPECT_EQ(caller.call(kFcntl, 1, 1024), -ENOSYS) << "F_SETLEASE, which is missing";
  EXPECT_EQ(caller.machine.unimplemented().at("fcntl").count, 1u);
  EXPECT_EQ(caller.call(kLseek, 0, 0, 1), -ESPIPE);
  EXPECT_EQ(caller.call(kLseek, 9, 0, 1), -EBADF);
}

TEST(LinuxFiles, ArePipesToStat) {
  Caller caller(2);
  EXPECT_EQ(caller.call({{kFstat, 1, kData}, {kFstat, 3, kData}}), (Results{0, -EBADF}));
  EXPECT_EQ(half_word(caller, kData + 16), 0010600u);
  EXPECT_EQ(half_word(caller, kData + 24), kUserId);
  EXPECT_EQ(half_word(caller, kData + 56), 4096u) << "the size of a buffer";
  EXPECT_EQ(caller.call({{kFstat, 1, kNowhere}, {kFstat, 1, kDataEnd - 127}}), (Results{-EFAULT, -EFAULT}));
  for (uint32_t lane : {0u, 1u}) caller.put_text(kData + 0x800, std::string("\0/etc/passwd\0", 13), lane);
  const uint64_t empty = kData + 0x800, path = kData + 0x801;
  EXPECT_EQ(caller.call({{kNewfstatat, 2, empty, kData + 0x100, 0x1000}, {kNewfstatat, 2, empty, kData, 0}}),
            (Results{0, -ENOENT}));
  EXPECT_EQ(half_word(caller, kData + 0x110), 0010600u);
  EXPECT_EQ(caller.call({{kNewfstatat, kHere, path, kData, 0}, {kNewfstatat, 2, empty, kData, 2}}),
            (Results{-ENOSYS, -EINVAL}));
  EXPECT_EQ(caller.call({{kNewfstatat, 2, kNowhere, kData, 0x1000}, {kNewfstatat, 8, empty, kData, 0x1000}}),
            (Results{-EFAULT, -EBADF}));
}

TEST(LinuxFiles, ThePathOfTheProgram) {
  Caller caller(1);
  caller.put_text(kData, std::string("/proc/self/exe\0/proc/1/exe", 27));
  ASSERT_EQ(caller.call(kReadlinkat, kHere, kData, kData + 0x100, 4096), 6);
  EXPECT_EQ(text(caller.machine.fleet().read(0, kData + 0x100, 6)), "/guest");
  EXPECT_EQ(caller.call(kReadlinkat, kHere, kData, kData + 0x100, 3), 3) << "cut, as Linux does";
  EXPECT_EQ(caller.call(kReadlinkat, kHere, kData, kData + 0x100, 0), -EINVAL);
  EXPECT_EQ(caller.call(kReadlinkat, kHere, kData, kData + 0x100, 0xffffffff), -EINVAL);
  EXPECT_EQ(caller.call(kReadlinkat, kHere, kData, kNowhere, 100), -EFAULT);
  EXPECT_EQ(caller.call(kReadlinkat, kHere, kNowhere, kData, 100), -EFAULT);
  EXPECT_EQ(caller.call(kReadlinkat, kHere, kData + 14, kData, 100), -ENOENT);
  EXPECT_EQ(caller.call(kReadlinkat, kHere, kData + 15, kData, 100), -ENOSYS);
  caller.put_text(kData, std::string(4096, 'a'));
  EXPECT_EQ(caller.call(kReadlinkat, kHere, kData, kData, 100), -ENAMETOOLONG);
  caller.put_text(kDataEnd - 3, "abc");
  EXPECT_EQ(caller.call(kReadlinkat, kHere, kDataEnd - 3, kData, 100), -EFAULT) << "it has no end";
}

TEST(LinuxFiles, ThePathOfTheProgramHasNoFolderOfTheHost) {
  LinuxFleet machine(parse_elf(program_of({kSvc, kBrk}).bytes(), "some/where/program"), fleet_of(1), {});
  Fleet& fleet = machine.fleet();
  fleet.write(0, kData, bytes_of(std::string("/proc/self/exe", 15)));
  fleet.set(x(8), 0, kReadlinkat);
  fleet.set(x(1), 0, kData);
  fleet.set(x(2), 0, kData + 0x100);
  fleet.set(x(3), 0, 100);
  machine.run();
  ASSERT_EQ(fleet.get(x(0), 0), 8u);
  EXPECT_EQ(text(fleet.read(0, kData + 0x100, 8)), "/program");
}

// ---- time

TEST(LinuxSleep, PutsTheClocksOfItsLaneForward) {
  Caller caller(2);
  for (uint32_t lane : {0u, 1u}) caller.put(kData, {5, 250}, lane);
  EXPECT_EQ(caller.call({{kNanosleep, kData}, {kGetpid}}), (Results{0, kProcessId}));
  EXPECT_EQ(caller.call({{kClockGettime, 1, kData + 16}, {kClockGettime, 1, kData + 16}}), (Results{0, 0}));
  EXPECT_EQ(caller.word(kData + 16, 0), 5u);
  EXPECT_EQ(caller.word(kData + 16, 1), 0u);
  EXPECT_GE(caller.word(kData + 24, 0), 250u);
  EXPECT_LT(caller.word(kData + 24, 0), 300u);
  EXPECT_EQ(caller.call({{kClockGettime, 2, kData + 16}, {kClockNanosleep, 1, 0, kData}}), (Results{0, 0}));
  EXPECT_EQ(caller.word(kData + 16, 0), 0u) << "the process's own time stands still";
  // A sleep until 7 s, which lane 0 reaches after 2 s; a second one is over at once.
  for (uint32_t lane : {0u, 1u}) caller.put(kData, {7, 0}, lane);
  for (int again = 0; again < 2; again++) {
    EXPECT_EQ(caller.call({{kClockNanosleep, 1, 1, kData}, {kClockNanosleep, 1, 1, kData}}), (Results{0, 0}));
    EXPECT_EQ(caller.call({{kClockGettime, 1, kData + 16}, {kClockGettime, 1, kData + 16}}), (Results{0, 0}));
    EXPECT_EQ(caller.word(kData + 16, 0), 7u);
    EXPECT_EQ(caller.word(kData + 16, 1), 7u);
  }
}

TEST(LinuxSleep, BadArguments) {
  Caller caller(1);
  EXPECT_EQ(caller.call(kNanosleep, kNowhere), -EFAULT);
  EXPECT_EQ(caller.call(kClockNanosleep, 99, 0, kData), -EINVAL);
  EXPECT_EQ(caller.call(kClockNanosleep, 3, 0, kData), -EOPNOTSUPP);
  EXPECT_EQ(caller.call(kClockNanosleep, 4, 0, kData), -EOPNOTSUPP);
  caller.put(kData, {0, 1'000'000'000});
  EXPECT_EQ(caller.call(kNanosleep, kData), -EINVAL);
  caller.put(kData, {~uint64_t{0}, 0});
  EXPECT_EQ(caller.call(kNanosleep, kData), -EINVAL);
  for (int again = 0; again < 5; again++) {  // several centuries must not overflow
    caller.put(kData, {~uint64_t{0} >> 1, 999'999'999});
    EXPECT_EQ(caller.call(kNanosleep, kData), 0);
  }
  EXPECT_EQ(caller.call(kClockGettime, 1, kData), 0);
  EXPECT_GE(caller.word(kData), (uint64_t{1} << 62) / 1'000'000'000);
  EXPECT_LT(caller.word(kData), (uint64_t{1} << 63) / 1'000'000'000);
}

TEST(LinuxFutex, OfOneThread) {
  Caller caller(1);
  caller.put(kData, {7});
  caller.put(kData + 16, {1, 500});
  EXPECT_EQ(caller.call(kFutex, kData, 1, 100), 0) << "nobody waits";
  EXPECT_EQ(caller.call(kFutex, kData, 0, 8, 0), -EAGAIN);
  EXPECT_EQ(caller.call(kFutex, kData, 128, 7, kData + 16), -ETIMEDOUT);
  EXPECT_EQ(caller.call(kFutex, kData, 0, 7, 0), -EDEADLK) << "nobody could end it";
  EXPECT_EQ(caller.call(kFutex, kData + 1, 0, 7, 0), -EINVAL);
  EXPECT_EQ(caller.call(kFutex, kNowhere, 0, 7, 0), -EFAULT);
  EXPECT_EQ(caller.call(kFutex, kData, 0, 7, kNowhere), -EFAULT);
  EXPECT_EQ(caller.call(kFutex, kData, 2, 7), -ENOSYS);
  EXPECT_EQ(caller.call(kFutex, kData, 3, 7, 1, kData + 8), 0) << "nobody is moved";
  EXPECT_EQ(caller.call(kFutex, kData, 9, 7, kData + 16, 0, 0), -EINVAL) << "waits for no bit";
  EXPECT_EQ(caller.call(kFutex, kData, 10, 1, 0, 0, 0), -EINVAL) << "wakes no bit";
  EXPECT_EQ(caller.call(kFutex, kData, 1 | 256, 1), -ENOSYS) << "a clock, where none is asked";
  EXPECT_EQ(caller.call(kClockGettime, 1, kData + 32), 0);
  EXPECT_EQ(caller.word(kData + 32), 1u) << "the timeout has passed";
}

TEST(LinuxUsage, IsTheInstructionCount) {
  Caller caller(1);
  caller.machine.fleet().set(Field::instructions, 0, 3'000'002'000);
  EXPECT_EQ(caller.call(kGetrusage, 0, kData), 0);
  EXPECT_EQ(caller.word(kData), 3u);
  EXPECT_EQ(caller.word(kData + 8), 2u);
  EXPECT_EQ(caller.call(kGetrusage, ~uint64_t{0}, kData), 0);
  EXPECT_EQ(caller.word(kData), 0u);
  EXPECT_EQ(caller.call(kGetrusage, 7, kData), -EINVAL);
  EXPECT_EQ(caller.call(kGetrusage, 0, kDataEnd - 143), -EFAULT);
}

// ---- signals

/// How a lane ends that makes this call.
LaneOutcome outcome_of(Caller& caller, uint64_t number, uint64_t x0, uint64_t x1, uint64_t x2 = 0, uint64_t x3 = 0) {
  Fleet& fleet = caller.machine.fleet();
  for (auto [field, value] : {std::pair{x(8), number}, {x(0), x0}, {x(1), x1}, {x(2), x2}, {x(3), x3}}) {
    fleet.fill(field, value);
  }
  fleet.fill(Field::pc, kCode);
  fleet.resume_all();
  caller.machine.run();
  return caller.machine.outcome(0);
}

TEST(LinuxSignal, EndsTheProcessThatSendsItself) {
  for (uint64_t number : {SIGABRT, SIGKILL, SIGTERM, SIGUSR1, 64}) {
    for (bool thread : {false, true}) {
      Caller caller(1);
      const LaneOutcome outcome = thread ? outcome_of(caller, kTgkill, kProcessId, kProcessId, number)
                                         : outcome_of(caller, kKill, kProcessId, number);
      EXPECT_EQ(outcome.stop.reason, StopReason::exited);
      EXPECT_EQ(outcome.signal, static_cast<int>(number));
      EXPECT_EQ(outcome.exit_status, -1);
      EXPECT_EQ(outcome.stop.detail, kKilledStatus + number);
      EXPECT_EQ(linux_signal(outcome.stop), static_cast<int>(number));
    }
  }
}

TEST(LinuxSignal, BadArguments) {
  Caller caller(2);
  EXPECT_EQ(caller.call({{kKill, kProcessId, 65}, {kKill, 4711, SIGTERM}}), (Results{-EINVAL, -ESRCH}));
  EXPECT_EQ(caller.call({{kKill, kProcessId, 0}, {kKill, kProcessId, ~uint64_t{0}}}), (Results{0, -EINVAL}));
  EXPECT_EQ(caller.call({{kKill, ~uint64_t{0}, SIGTERM}, {kKill, 0, 0}}), (Results{-ESRCH, 0})) << "all are all others";
  EXPECT_EQ(caller.call({{kTkill, kProcessId, 0}, {kTkill, 0, 0}}), (Results{0, -EINVAL}));
  EXPECT_EQ(caller.call({{kTgkill, kProcessId, 1, SIGTERM}, {kTgkill, ~uint64_t{0}, 1, SIGTERM}}),
            (Results{-ESRCH, -EINVAL}));
  EXPECT_EQ(caller.call({{kKill, kProcessId, SIGCHLD}, {kTkill, kProcessId, SIGWINCH}}), (Results{0, 0}));
}

TEST(LinuxSignal, AHandlerRuns) {
  Caller caller(1);
  const uint64_t old = kData + 0x100;
  caller.put(kData, {0x401234, 5, 6, 7});
  EXPECT_EQ(caller.call(kRtSigaction, SIGUSR1, kData, old, 8), 0);
  EXPECT_EQ(caller.word(old), 0u);
  EXPECT_EQ(caller.call(kRtSigaction, SIGUSR1, 0, old, 8), 0);
  EXPECT_EQ(caller.word(old), 0x401234u);
  EXPECT_EQ(caller.word(old + 24), 7u);
  // In place of the instruction behind the call: there is none.
  const LaneOutcome outcome = outcome_of(caller, kKill, kProcessId, SIGUSR1);
  EXPECT_EQ(outcome.signal, SIGILL);
  EXPECT_EQ(caller.machine.fleet().get(Field::pc, 0), 0x401234u);
  EXPECT_EQ(caller.machine.fleet().get(x(0), 0), static_cast<uint64_t>(SIGUSR1));
  caller.machine.fleet().fill(Field::sp, kDataEnd);
  caller.put(kData, {1, 0, 0, 0});  // SIG_IGN
  EXPECT_EQ(caller.call(kRtSigaction, SIGUSR1, kData, 0, 8), 0);
  EXPECT_EQ(caller.call(kKill, kProcessId, SIGUSR1), 0);

  EXPECT_EQ(caller.call(kRtSigaction, SIGUSR1, kData, 0, 4), -EINVAL);
  EXPECT_EQ(caller.call(kRtSigaction, 0, 0, old, 8), -EINVAL);
  EXPECT_EQ(caller.call(kRtSigaction, 65, 0, old, 8), -EINVAL);
  EXPECT_EQ(caller.call(kRtSigaction, SIGKILL, kData, 0, 8), -EINVAL);
  EXPECT_EQ(caller.call(kRtSigaction, SIGKILL, 0, old, 8), 0);
  EXPECT_EQ(caller.call(kRtSigaction, SIGUSR1, kNowhere, 0, 8), -EFAULT);
  EXPECT_EQ(caller.call(kRtSigaction, SIGUSR1, kLast, 0, 8), -EFAULT);
  EXPECT_EQ(caller.call(kRtSigaction, SIGUSR1, 0, kLast, 8), -EFAULT);
}

TEST(LinuxSignal, ABlockedOneWaits) {
  Caller caller(1);
  const uint64_t mask = uint64_t{1} << (SIGTERM - 1);
  caller.put(kData, {mask | 1 << (SIGKILL - 1)});
  EXPECT_EQ(caller.call(kRtSigprocmask, 0, kData, kData + 8, 8), 0);
  EXPECT_EQ(caller.word(kData + 8), 0u);
  EXPECT_EQ(caller.call(kKill, kProcessId, SIGTERM), 0);
  EXPECT_EQ(caller.call(kRtSigpending, kData + 16, 8), 0);
  EXPECT_EQ(caller.word(kData + 16), mask);
  EXPECT_EQ(caller.call(kRtSigprocmask, 0, 0, kData + 8, 8), 0);
  EXPECT_EQ(caller.word(kData + 8), mask) << "SIGKILL cannot be blocked";
  EXPECT_EQ(caller.call(kRtSigprocmask, 3, kData, 0, 8), -EINVAL);
  EXPECT_EQ(caller.call(kRtSigprocmask, 0, kData, 0, 16), -EINVAL);
  EXPECT_EQ(caller.call(kRtSigprocmask, 0, kNowhere, 0, 8), -EFAULT);
  EXPECT_EQ(caller.call(kRtSigprocmask, 0, kData, kLast, 8), -EFAULT);
  EXPECT_EQ(caller.call(kRtSigpending, kNowhere, 8), -EFAULT);
  EXPECT_EQ(caller.call(kRtSigpending, kData, 9), -EINVAL);
  const LaneOutcome outcome = outcome_of(caller, kRtSigprocmask, 1, kData, 0, 8);
  EXPECT_EQ(outcome.signal, SIGTERM);
}

// ---- resources

TEST(LinuxLimits, OfTheProcess) {
  Caller caller(2);
  EXPECT_EQ(caller.call({{kPrlimit64, 0, 3, 0, kData}, {kGetrlimit, 7, kData}}), (Results{0, 0}));
  EXPECT_EQ(caller.word(kData, 0), (uint64_t{1} << 20) / 8) << "the stack";
  EXPECT_EQ(caller.word(kData, 1), 1024u) << "open files";
  EXPECT_EQ(caller.call({{kPrlimit64, 0, 16, 0, kData}, {kGetrlimit, 99, kData}}), (Results{-EINVAL, -EINVAL}));
  EXPECT_EQ(caller.call({{kPrlimit64, 5, 3, 0, kData}, {kGetrlimit, 3, 0}}), (Results{-ESRCH, -EFAULT}));
  EXPECT_EQ(caller.call({{kPrlimit64, kProcessId, 3, 0, kNowhere}, {kPrlimit64, 0, 3, kData, 0}}),
            (Results{-EFAULT, 0}));
}

TEST(LinuxResources, OneProcessorAndTheWindow) {
  Caller caller(2);
  EXPECT_EQ(caller.call({{kSchedGetaffinity, 0, 128, kData}, {kSchedGetaffinity, 0, 4, kData}}), (Results{8, -EINVAL}));
  EXPECT_EQ(caller.word(kData), 1u);
  EXPECT_EQ(caller.call({{kSchedGetaffinity, 0, 12, kData}, {kSchedGetaffinity, 0, 8, kNowhere}}),
            (Results{-EINVAL, -EFAULT}));
  EXPECT_EQ(caller.call({{kSysinfo, kData}, {kSysinfo, kDataEnd - 111}}), (Results{0, -EFAULT}));
  EXPECT_EQ(caller.word(kData + 32), uint64_t{1} << 20);
  EXPECT_EQ(caller.call({{kRseq, kData, 32, 0, 0}, {kGetpid}}), (Results{-ENOSYS, kProcessId}));
  EXPECT_TRUE(caller.machine.unimplemented().empty()) << "rseq is not missed";
}

// ---- all of them

/// Every system call number, with arguments at every edge: the host must not fail, and the guest goes on.
TEST(LinuxCalls, SurviveHostileArguments) {
  constexpr uint32_t kLanes = 4;
  LinuxOptions options;
  options.standard_input = std::vector<uint8_t>(1000, 'x');
  options.output_limit = 1;
  Caller caller(kLanes, options);
  Fleet& fleet = caller.machine.fleet();
  const uint64_t stack = fleet.get(Field::sp, 0) / kPageBytes * kPageBytes;
  std::mt19937_64 random(3);
  auto number = [&]() -> uint64_t {
    const uint64_t edges[] = {0,
                              1,
                              2,
                              8,
                              16,
                              24,
                              128,
                              kCode,
                              kData,
                              kData + 0x800,
                              kDataEnd,
                              stack,
                              fleet.memory_end(),
                              uint64_t{1} << 31,
                              uint64_t{1} << 32,
                              uint64_t{1} << 63,
                              ~uint64_t{0},
                              kProcessId};
    const uint64_t edge = edges[random() % std::size(edges)];
    switch (random() % 4) {
      case 0: return edge;
      case 1: return edge + random() % 17 - 8;
      case 2: return kData + random() % 0x3100;
      default: return random() >> random() % 64;
    }
  };
  // Without those that end a process, and those that unmap its memory (linux_memory_test.cpp tests these).
  constexpr uint64_t kSetitimer = 103, kTimerSettime = 110, kClone = 220, kRtSigqueueinfo = 138, kRtSigreturn = 139,
                     kRtTgsigqueueinfo = 240;
  const std::set<uint64_t> left_out = {
      kExit,        kExitGroup,        kKill,    kTkill,  kTgkill, kSetitimer, kTimerSettime, kClone,  kRtSigqueueinfo,
      kRtSigreturn, kRtTgsigqueueinfo, kBrkCall, kMunmap, kMremap, kMmap,      kMprotect,     kMadvise};
  for (int step = 0; step < 6000; step++) {
    std::vector<Caller::Request> requests;
    for (uint32_t lane = 0; lane < kLanes; lane++) {
      uint64_t call = step < 500 ? static_cast<uint64_t>(step) : random() % 470;
      if (left_out.count(call)) call = kGetpid;
      requests.push_back({call, number(), number(), number(), number(), number(), number()});
    }
    for (int64_t result : caller.call(requests)) ASSERT_TRUE(result >= -4095) << "step " << step;
    if (HasFailure()) FAIL() << "step " << step;
  }
  EXPECT_EQ(caller.call(std::vector<Caller::Request>(kLanes, {kGetpid})), Results(kLanes, kProcessId));
}

}  // namespace
}  // namespace myriarm
