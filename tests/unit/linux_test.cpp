// SPDX-License-Identifier: Apache-2.0
// Linux processes: system calls, and how lanes end. How they begin is in linux_start_test.cpp.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <thread>

#include "linux/process_layout.h"
#include "linux_caller.h"
#include "myriarm/linux.h"
#include "until.h"

namespace myriarm {
namespace {

using namespace kernel;
using namespace linux_process;
using namespace test;

// ---- output and input

TEST(LinuxOutput, EachLaneHasItsOwn) {
  Caller caller(3);
  for (uint32_t lane = 0; lane < 3; lane++) caller.put_text(kData, "lane" + std::to_string(lane), lane);
  EXPECT_EQ(caller.call({{kWrite64, 1, kData, 5}, {kWrite64, 2, kData, 5}, {kWrite64, 1, kData, 4}}),
            (Results{5, 5, 4}));
  EXPECT_EQ(caller.call({{kWrite64, 1, kData + 4, 1}, {kWrite64, 1, kData, 0}, {kWrite64, 1, kData + 4, 1}}),
            (Results{1, 0, 1}));
  EXPECT_EQ(text(caller.machine.standard_output(0)), "lane00");
  EXPECT_EQ(text(caller.machine.standard_output(1)), "");
  EXPECT_EQ(text(caller.machine.standard_error(1)), "lane1");
  EXPECT_EQ(text(caller.machine.standard_output(2)), "lane2");
}

/// In the place of this process's standard output, a pipe.
class PipedOutput {
 public:
  PipedOutput() {
    std::fflush(stdout);
    EXPECT_EQ(pipe(ends_), 0);
    saved_ = dup(STDOUT_FILENO);
    dup2(ends_[1], STDOUT_FILENO);
    fcntl(ends_[0], F_SETFL, O_NONBLOCK);
  }
  ~PipedOutput() {
    dup2(saved_, STDOUT_FILENO);
    for (int descriptor : {saved_, ends_[0], ends_[1]}) close(descriptor);
  }
  /// Writes until the pipe can take no more. Returns how much that was.
  size_t fill() {
    const std::vector<char> block(4096);
    size_t written = 0;
    pollfd ready = {STDOUT_FILENO, POLLOUT, 0};
    while (poll(&ready, 1, 0) == 1) written += static_cast<size_t>(write(STDOUT_FILENO, block.data(), block.size()));
    return written;
  }
  void set_room(size_t bytes) { EXPECT_EQ(fcntl(ends_[1], F_SETPIPE_SZ, bytes), static_cast<int>(bytes)); }
  size_t size() const {
    int bytes = 0;
    EXPECT_EQ(ioctl(ends_[0], FIONREAD, &bytes), 0);
    return static_cast<size_t>(bytes);
  }
  /// What is in the pipe.
  std::string take() {
    std::string all;
    std::vector<char> block(65536);
    ssize_t n;
    while ((n = read(ends_[0], block.data(), block.size())) > 0) all.append(block.data(), static_cast<size_t>(n));
    return all;
  }

 private:
  int ends_[2], saved_;
};

TEST(LinuxOutput, CancelTakesBackAWriteThatNobodyReads) {
  LinuxOptions options;
  options.pass_output = true;
  // So many turns that the lane publishes its count a moment before it comes to the write.
  constexpr uint64_t kTurns = 65'600, kBefore = 2 * kTurns;
  LinuxFleet machine(image_of({0xf100054a /* subs x10, x10, #1 */, 0x54ffffe1 /* b.ne -4 */, kSvc, kBrk}), fleet_of(1),
                     options);
  Fleet& fleet = machine.fleet();
  fleet.write(0, kData, bytes_of("text"));
  fleet.set(x(10), 0, kTurns);
  fleet.set(x(8), 0, kWrite64);
  fleet.set(x(0), 0, 1);
  fleet.set(x(1), 0, kData);
  fleet.set(x(2), 0, 4);
  PipedOutput output;
  const size_t before = output.fill();
  std::thread other([&] {
    uint64_t retired = 0;
    until([&] {
      fleet.poll_lanes({&retired, 1}, {});
      return retired != 0;
    });
    machine.cancel();
  });
  RunResult result = machine.run();
  other.join();
  EXPECT_EQ(fleet.stops()[0].reason, StopReason::cancelled);
  EXPECT_LE(fleet.get(Field::pc, 0), kCode + 8) << "before the SVC";
  EXPECT_LE(fleet.get(Field::instructions, 0), kBefore);
  EXPECT_EQ(output.take(), std::string(before, '\0'));
  const uint64_t first = result.instructions;
  result = machine.run();
  EXPECT_EQ(fleet.stops()[0].reason, StopReason::breakpoint);
  EXPECT_EQ(fleet.get(x(0), 0), 4u);
  EXPECT_EQ(first + result.instructions, kBefore + 1);
  EXPECT_EQ(output.take(), "text");
}

TEST(LinuxOutput, CancelEndsAWriteThatIsPartlyDone) {
  LinuxOptions options;
  options.pass_output = true;
  Caller caller(1, options);
  Fleet& fleet = caller.machine.fleet();
  fleet.set(x(8), 0, kWrite64);
  fleet.set(x(0), 0, 1);
  fleet.set(x(1), 0, kData);
  fleet.set(x(2), 0, kDataEnd - kData);
  PipedOutput output;
  const size_t room = 4096;
  output.set_room(room);
  std::thread other([&] {
    until([&] { return output.size() == room; });
    caller.machine.cancel();
  });
  caller.machine.run();
  other.join();
  EXPECT_EQ(fleet.stops()[0].reason, StopReason::cancelled);
  EXPECT_EQ(fleet.get(x(0), 0), room) << "as a signal ends it on Linux";
  EXPECT_EQ(fleet.get(Field::pc, 0), kCode + 4);
  EXPECT_EQ(fleet.get(Field::instructions, 0), 1u);
}

TEST(LinuxOutput, BadDescriptorsAndPointers) {
  Caller caller(1);
  EXPECT_EQ(caller.call(kWrite64, 0, kData, 1), -EBADF);
  EXPECT_EQ(caller.call(kWrite64, 3, kData, 1), -EBADF);
  EXPECT_EQ(caller.call(kWrite64, ~uint64_t{0}, kData, 1), -EBADF);
  EXPECT_EQ(caller.call(kWrite64, 0x100000001, kData, 1), 1);
  EXPECT_EQ(caller.call(kWrite64, 1, 0, 1), -EFAULT);
  EXPECT_EQ(caller.call(kWrite64, 1, 0, 0), 0);
  EXPECT_EQ(caller.call(kWrite64, 1, kDataEnd, 1), -EFAULT);
  EXPECT_EQ(caller.call(kWrite64, 1, kDataEnd - 2, 10), 2);
  EXPECT_EQ(caller.call(kWrite64, 1, kData | uint64_t{1} << 56, 1), -EFAULT) << "a tagged pointer";
  EXPECT_EQ(caller.call(kWrite64, 1, ~uint64_t{0}, ~uint64_t{0}), -EFAULT);
  EXPECT_EQ(caller.call(kWrite64, 1, kDataEnd - 2, ~uint64_t{0}), 2);
  EXPECT_EQ(caller.machine.standard_output(0).size(), 5u);
}

TEST(LinuxOutput, PagesThatTheGuestMayNotReadAreNotWritten) {
  test::ElfFile file = program_of({kSvc, kBrk});
  file.segments[0].p_flags = PF_X;
  LinuxFleet machine(parse_elf(file.bytes(), "guest"), fleet_of(1), {});
  machine.fleet().set(x(8), 0, kWrite64);
  machine.fleet().set(x(0), 0, 1);
  machine.fleet().set(x(1), 0, kCode);
  machine.fleet().set(x(2), 0, 4);
  machine.run();
  EXPECT_EQ(static_cast<int64_t>(machine.fleet().get(x(0), 0)), -EFAULT);
}

TEST(LinuxOutput, VectorsAreGathered) {
  Caller caller(2);
  caller.put_text(kData, "abcdef");
  caller.put(kData + 0x100, {kData, 2, kData + 4, 0, kData + 3, 3});
  EXPECT_EQ(caller.call({{kWritev, 1, kData + 0x100, 3}, {kWritev, 1, kDataEnd, 1}}), (Results{5, -EFAULT}));
  EXPECT_EQ(text(caller.machine.standard_output(0)), "abdef");
  caller.put(kData + 0x100, {kData, 2, 0, 4, kData + 3, 3});
  EXPECT_EQ(caller.call({{kWritev, 1, kData + 0x100, 3}, {kWritev, 1, kData, 0}}), (Results{2, 0}));
  EXPECT_EQ(text(caller.machine.standard_output(0)), "abdefab") << "ends at the bad buffer";
  caller.put(kData + 0x100, {kData, 2, kData, ~uint64_t{0}});
  EXPECT_EQ(caller.call({{kWritev, 1, kData + 0x100, 2}, {kWritev, 1, kData, 1025}}), (Results{-EINVAL, -EINVAL}));
  EXPECT_EQ(caller.call({{kWritev, 5, kData + 0x100, 2}, {kWritev, 1, kData, ~uint64_t{0}}}),
            (Results{-EBADF, -EINVAL}));
  EXPECT_EQ(text(caller.machine.standard_output(0)), "abdefab");
}

TEST(LinuxOutput, IsLimited) {
  LinuxOptions options;
  options.output_limit = 1;  // the least share is 64 KiB
  Caller caller(1, options);
  int64_t written = 0, result;
  while ((result = caller.call(kWrite64, 1, kData, 0x3000)) > 0) written += result;
  EXPECT_EQ(result, -ENOSPC);
  EXPECT_EQ(written, 65536);
  EXPECT_EQ(caller.machine.standard_output(0).size(), 65536u);
  EXPECT_EQ(caller.call(kWrite64, 2, kData, 1), 1) << "standard error has its own share";
}

TEST(LinuxInput, EachLaneReadsAllOfIt) {
  LinuxOptions options;
  options.standard_input = bytes_of("hello world");
  Caller caller(2, options);
  EXPECT_EQ(caller.call({{kRead63, 0, kData, 5}, {kRead63, 0, kData, 100}}), (Results{5, 11}));
  EXPECT_EQ(caller.call({{kRead63, 0, kData + 5, 100}, {kRead63, 0, kData, 100}}), (Results{6, 0}));
  EXPECT_EQ(text(caller.machine.fleet().read(0, kData, 11)), "hello world");
  EXPECT_EQ(text(caller.machine.fleet().read(1, kData, 11)), "hello world");
}

TEST(LinuxInput, BadDescriptorsAndPointers) {
  LinuxOptions options;
  options.standard_input = bytes_of("hello world");
  Caller caller(1, options);
  EXPECT_EQ(caller.call(kRead63, 1, kData, 1), -EBADF);
  EXPECT_EQ(caller.call(kRead63, 7, kData, 1), -EBADF);
  EXPECT_EQ(caller.call(kRead63, 0, kCode, 4), -EFAULT) << "code is not writable";
  EXPECT_EQ(caller.word(kCode) & 0xffffffff, kSvc);
  EXPECT_EQ(caller.call(kRead63, 0, 16, 4), -EFAULT);
  EXPECT_EQ(caller.call(kRead63, 0, 16, 0), 0);
  EXPECT_EQ(caller.call(kRead63, 0, kDataEnd - 2, 5), 2);
  EXPECT_EQ(caller.call(kRead63, 0, kData, 3), 3);
  EXPECT_EQ(text(caller.machine.fleet().read(0, kData, 3)), "llo") << "what failed consumed nothing";
}

TEST(LinuxInput, VectorsAreScattered) {
  LinuxOptions options;
  options.standard_input = bytes_of("hello world");
  Caller caller(1, options);
  caller.put(kData + 0x100, {kData, 2, kData + 0x10, 4});
  EXPECT_EQ(caller.call(kReadv, 0, kData + 0x100, 2), 6);
  EXPECT_EQ(text(caller.machine.fleet().read(0, kData, 2)), "he");
  EXPECT_EQ(text(caller.machine.fleet().read(0, kData + 0x10, 4)), "llo ");
}

TEST(LinuxInput, OfBuffersThatOverlapTheLastOneWins) {
  LinuxOptions options;
  options.standard_input = bytes_of("abcdefghijkl");
  Caller caller(2, options);
  for (uint32_t lane : {0u, 1u}) {
    caller.put(kData + 0x100, {kData, 4, kData + 8, 4, kData + 2, 4}, lane);
  }
  EXPECT_EQ(caller.call({{kReadv, 0, kData + 0x100, 3}, {kReadv, 0, kData + 0x100, 3}}), (Results{12, 12}));
  for (uint32_t lane : {0u, 1u}) {
    EXPECT_EQ(text(caller.machine.fleet().read(lane, kData, 6)), "abijkl");
    EXPECT_EQ(text(caller.machine.fleet().read(lane, kData + 8, 4)), "efgh");
  }
}

TEST(LinuxInput, ALaneForWhichThePoolIsTooSmallGoesOnWhenItHasGrown) {
  if (test_device() != "cpu") GTEST_SKIP() << "the pool is counted here in pages of one lane";
  FleetOptions fleet = fleet_of(2);
  fleet.pool = 3 * kPageBytes;  // a page of stack for each lane, and one more
  fleet.threads = 1;            // which the first lane gets
  LinuxOptions options;
  options.standard_input = bytes_of("hello world");
  LinuxFleet machine(image_of({kSvc, kBrk}), fleet, options);
  machine.fleet().fill(x(8), kRead63);
  machine.fleet().fill(x(1), kData);
  machine.fleet().fill(x(2), 5);
  for (int again = 0; again < 3; again++) {
    machine.run();
    EXPECT_EQ(machine.outcome(0).stop.reason, StopReason::breakpoint);
    EXPECT_EQ(machine.outcome(1).stop.reason, StopReason::out_of_memory);
    // Resumed too early, it must not go on without what it has read.
    if (again == 1) machine.fleet().resume(std::vector<uint32_t>{1});
  }
  machine.fleet().grow_pool(6 * kPageBytes);
  machine.run();
  for (uint32_t lane : {0u, 1u}) {
    EXPECT_EQ(machine.outcome(lane).stop.reason, StopReason::breakpoint);
    EXPECT_EQ(machine.fleet().get(x(0), lane), 5u);
    EXPECT_EQ(machine.fleet().get(Field::instructions, lane), 1u);
    EXPECT_EQ(text(machine.fleet().read(lane, kData, 5)), "hello");
  }
}

// ---- memory

TEST(LinuxBreak, GrowsAndShrinks) {
  Caller caller(3);
  auto start = static_cast<uint64_t>(caller.call({{kBrkCall}, {kBrkCall, 1}, {kBrkCall, kData}})[2]);
  EXPECT_EQ(start, kDataEnd);
  auto ends = caller.call({{kBrkCall, start + 5}, {kBrkCall, start + 0x3000}, {kBrkCall, start - 1}});
  EXPECT_EQ(ends, (Results{static_cast<int64_t>(start + 5), static_cast<int64_t>(start + 0x3000),
                           static_cast<int64_t>(start)}));
  caller.put(start + 0xff8, {42}, 0);
  EXPECT_THROW(caller.put(start + 0x1000, {42}, 0), ArgumentError);
  caller.put(start + 0x2ff8, {43}, 1);
  EXPECT_THROW(caller.put(start, {42}, 2), ArgumentError);
  // Shrinking gives pages back, and growing again brings zeros.
  caller.call({{kBrkCall, start + 1}, {kBrkCall, start + 0x2000}, {kBrkCall, start}});
  EXPECT_EQ(caller.word(start + 0xff8, 0), 42u) << "the same page all the time";
  EXPECT_THROW(caller.word(start + 0x2ff8, 1), ArgumentError);
  caller.call({{kBrkCall, start}, {kBrkCall, start + 0x3000}, {kBrkCall, start + 1}});
  EXPECT_EQ(caller.word(start + 0x2ff8, 1), 0u);
  EXPECT_THROW(caller.word(start, 0), ArgumentError);
  EXPECT_EQ(caller.word(start, 2), 0u);
}

TEST(LinuxBreak, StaysBelowTheStack) {
  Caller caller(1);
  uint64_t limit = lay_out_process(image_of({kSvc, kBrk}), 1 << 20, {}).heap_limit;
  EXPECT_EQ(caller.call(kBrkCall, limit + 1), static_cast<int64_t>(kDataEnd));
  EXPECT_EQ(caller.call(kBrkCall, ~uint64_t{0}), static_cast<int64_t>(kDataEnd));
  EXPECT_EQ(caller.call(kBrkCall, limit), static_cast<int64_t>(limit));
  caller.put(limit - 8, {1});
  EXPECT_THROW(caller.put(limit, {1}), ArgumentError) << "below the stack";
}

TEST(LinuxBreak, SystemCallsReachTheHeap) {
  Caller caller(2);
  caller.call({{kBrkCall, kDataEnd + 0x1000}, {kBrkCall}});
  EXPECT_EQ(caller.call({{kWrite64, 1, kDataEnd - 1, 4}, {kWrite64, 1, kDataEnd - 1, 4}}), (Results{4, 1}));
}

// ---- the rest

TEST(LinuxTime, IsTheInstructionCount) {
  Caller caller(1);
  auto now = [&] { return caller.machine.fleet().get(Field::instructions, 0); };
  EXPECT_EQ(caller.call(kClockGettime, 1, kData), 0);
  EXPECT_EQ(caller.word(kData), 0u);
  EXPECT_EQ(caller.word(kData + 8), now());
  caller.machine.fleet().set(Field::instructions, 0, 5'000'000'123);
  EXPECT_EQ(caller.call(kClockGettime, 0, kData), 0);
  EXPECT_EQ(caller.word(kData), 1704067205u);
  EXPECT_EQ(caller.word(kData + 8), 124u);
  EXPECT_EQ(now(), 5'000'000'124u);
  EXPECT_EQ(caller.call(kGettimeofday, kData, kData + 16), 0);
  EXPECT_EQ(caller.word(kData), 1704067205u);
  EXPECT_EQ(caller.word(kData + 8), 0u);
  EXPECT_EQ(caller.word(kData + 16), 0u);
  EXPECT_EQ(caller.call(kGettimeofday, 0, 0), 0);
  EXPECT_EQ(caller.call(kGettimeofday, 1, 0), -EFAULT);
  EXPECT_EQ(caller.call(kClockGettime, 0, kDataEnd - 8), -EFAULT);
  EXPECT_EQ(caller.call(kClockGettime, 10, kData), -EINVAL);
  EXPECT_EQ(caller.call(kClockGettime, 99, kData), -EINVAL);
  EXPECT_EQ(caller.call(kClockGetres, 1, kData), 0);
  EXPECT_EQ(caller.word(kData + 8), 1u);
  EXPECT_EQ(caller.call(kClockGetres, 1, 0), 0);
}

TEST(LinuxIdentity, UnameAndNumbers) {
  Caller caller(1);
  EXPECT_EQ(caller.call(kUname, kData), 0);
  auto field = [&](unsigned n) {
    std::vector<uint8_t> bytes = caller.machine.fleet().read(0, kData + n * 65, 65);
    return std::string(reinterpret_cast<const char*>(bytes.data()));
  };
  EXPECT_EQ(field(0), "Linux");
  EXPECT_EQ(field(2), "6.1.0");
  EXPECT_EQ(field(4), "aarch64");
  EXPECT_EQ(caller.call(kUname, kDataEnd - 100), -EFAULT);
  EXPECT_EQ(caller.call(kGetpid), caller.call(kGettid));
  EXPECT_EQ(caller.call(kSetTidAddress, kData), caller.call(kGettid));
  EXPECT_EQ(caller.call(kGetuid), static_cast<int64_t>(Start(caller.machine.fleet(), 0).auxiliary[AT_UID]));
  EXPECT_EQ(caller.call(kSetRobustList, kData, 24), 0);
  EXPECT_EQ(caller.call(kSetRobustList, kData, 23), -EINVAL);
  EXPECT_EQ(caller.call(kIoctl, 1, 0x5401, kData), -ENOTTY);
  EXPECT_EQ(caller.call(kIoctl, 4, 0x5401, kData), -EBADF);
  EXPECT_TRUE(caller.machine.unimplemented().empty());
}

TEST(LinuxUnimplemented, IsReportedByName) {
  Caller caller(3);
  constexpr uint64_t kInotifyInit1 = 26;
  EXPECT_EQ(caller.call({{kInotifyInit1}, {kStatx}, {kInotifyInit1}}), (Results{-ENOSYS, -ENOSYS, -ENOSYS}));
  EXPECT_EQ(caller.call({{9999}, {~uint64_t{0}}, {kGetpid}}), (Results{-ENOSYS, -ENOSYS, kProcessId}));
  EXPECT_EQ(counts_of(caller.machine),
            (std::map<std::string, uint64_t>{
                {"inotify_init1", 2}, {"statx", 1}, {"syscall_9999", 1}, {"syscall_4294967295", 1}}));
}

TEST(LinuxEnd, OfALaneThatIsNotThere) {
  LinuxFleet machine(image_of({kSvc, kBrk}), fleet_of(2), {});
  EXPECT_THROW(machine.outcome(2), ArgumentError);
  EXPECT_THROW(machine.standard_output(2), ArgumentError);
  EXPECT_THROW(machine.standard_error(~0u), ArgumentError);
}

TEST(LinuxEnd, ExitStatuses) {
  LinuxFleet machine(image_of({kSvc, kBrk}), fleet_of(2), {});
  machine.fleet().set_all(x(8), std::vector<uint64_t>{kExit, kExitGroup});
  machine.fleet().set_all(x(0), std::vector<uint64_t>{7, 0x1ff});
  RunResult result = machine.run();
  EXPECT_EQ(result.instructions, 2u);
  EXPECT_EQ(result.stopped, 2u);
  EXPECT_EQ(machine.outcome(0).exit_status, 7);
  EXPECT_EQ(machine.outcome(1).exit_status, 255);
  EXPECT_EQ(machine.outcome(1).stop.reason, StopReason::exited);
  EXPECT_EQ(machine.outcome(1).signal, 0);
  EXPECT_EQ(machine.run().instructions, 0u) << "the end is the end";
}

TEST(LinuxEnd, Signals) {
  struct Case {
    uint32_t word;
    uint64_t x0;
    int signal;
    StopReason reason;
  };
  for (const Case& c : {Case{kLoadX0, 0, SIGSEGV, StopReason::fault},
                        {kStoreX0, kCode, SIGSEGV, StopReason::fault},
                        {kBranchX0, kData, SIGSEGV, StopReason::fault},
                        {kBranchX0, kCode + 2, SIGBUS, StopReason::fault},
                        {kBrk, 0, SIGTRAP, StopReason::breakpoint},
                        {kHlt, 0, SIGILL, StopReason::halt},
                        {kUndefined, 0, SIGILL, StopReason::undefined}}) {
    LinuxFleet machine(image_of({c.word}), fleet_of(1), {});
    machine.fleet().set(x(0), 0, c.x0);
    machine.run();
    EXPECT_EQ(machine.outcome(0).stop.reason, c.reason) << std::hex << c.word;
    EXPECT_EQ(machine.outcome(0).signal, c.signal) << std::hex << c.word;
    EXPECT_EQ(machine.outcome(0).exit_status, -1);
  }
}

TEST(LinuxEnd, ABudgetStopsAndMoreGoesOn) {
  LinuxFleet machine(image_of({kLoopForEver}), fleet_of(2), {});
  machine.fleet().set_all(Field::limit, std::vector<uint64_t>{1000, 3});
  EXPECT_EQ(machine.run().instructions, 1003u);
  EXPECT_EQ(machine.outcome(0).stop.reason, StopReason::budget);
  machine.fleet().set_all(Field::limit, std::vector<uint64_t>{1000, 5});
  EXPECT_EQ(machine.run().instructions, 2u);
}

TEST(LinuxEnd, CancelEndsARunAndTheNextGoesOn) {
  LinuxFleet machine(image_of({kLoopForEver}), fleet_of(3), {});
  std::thread other([&] {
    until([&] { return machine.fleet().poll().instructions > 0; });
    machine.cancel();
  });
  EXPECT_GT(machine.run().instructions, 0u);
  other.join();
  for (uint32_t lane = 0; lane < 3; lane++) EXPECT_EQ(machine.outcome(lane).stop.reason, StopReason::cancelled);
  uint64_t before = machine.fleet().get(Field::instructions, 0);
  machine.fleet().fill(Field::limit, before + 10);
  machine.run();
  EXPECT_EQ(machine.fleet().get(Field::instructions, 0), before + 10);
}

/// The lanes of a team wait for each other at calls and returns of functions: not for ever, and also without a system call.
TEST(LinuxEnd, LanesThatCallFunctionsDoNotWaitForOneThatLoops) {
  const std::vector<uint32_t> words = {
      0xb4000014,  //        cbz  x20, .
      0x94000004,  // again: bl   function
      0xf1000694,  //        subs x20, x20, #1
      0x54ffffc1,  //        b.ne again
      kBrk,        //
      0xd65f03c0,  // function: ret
  };
  constexpr uint32_t kLanes = 40, kLoops = 3, kTurns = 1000;
  LinuxFleet machine(image_of(words), fleet_of(kLanes), {});
  std::vector<uint64_t> turns(kLanes, kTurns);
  turns[kLoops] = 0;
  machine.fleet().set_all(x(20), turns);
  std::thread other([&] {
    // Not how many lanes run: the one that loops does not between two of its slices, when another one still may.
    std::vector<Signal> signals(kLanes);
    until([&] {
      machine.fleet().poll_lanes({}, signals);
      return std::count(signals.begin(), signals.end(), Signal::breakpoint) == kLanes - 1;
    });
    machine.cancel();
  });
  machine.run();
  other.join();
  for (uint32_t lane = 0; lane < kLanes; lane++) {
    const StopReason wanted = lane == kLoops ? StopReason::cancelled : StopReason::breakpoint;
    EXPECT_EQ(machine.outcome(lane).stop.reason, wanted) << lane;
    if (lane == kLoops) continue;
    EXPECT_EQ(machine.fleet().get(Field::instructions, lane), 1 + 4 * kTurns) << lane;
  }
}

TEST(LinuxEnd, ACancelEndsOneRunOfTheProcessesOrOfTheirFleet) {
  const ElfImage image = image_of({kSvc});
  for (const bool fleet_first : {false, true}) {
    LinuxFleet machine(image, fleet_of(3), {});
    machine.fleet().fill(x(8), kExit);
    const auto run = [&](bool fleet) { return fleet ? machine.fleet().run() : machine.run(); };
    machine.cancel();
    EXPECT_EQ(run(fleet_first).signal, Signal::cancelled) << fleet_first;
    EXPECT_EQ(run(!fleet_first).stops[static_cast<unsigned>(StopReason::exited)], 3u) << fleet_first;
  }
}

TEST(LinuxEnd, ARunNamesItsEngine) {
  LinuxFleet machine(image_of({kSvc}), fleet_of(1), {});
  machine.fleet().set(x(8), 0, kExit);
  LinuxRunOptions options;
  options.engine = static_cast<Engine>(9);
  EXPECT_THROW(machine.run(options), ArgumentError);
  options.engine = Engine::stepper;
  EXPECT_EQ(machine.run(options).instructions, 1u);
}

TEST(LinuxTrace, OnCallMayAskForTheUnimplementedCallsAndCancel) {
  LinuxFleet* fleet = nullptr;
  std::vector<std::string> texts;
  LinuxOptions options;
  options.on_call = [&](uint32_t, std::string_view text) {
    texts.emplace_back(text);
    EXPECT_EQ(fleet->unimplemented().size(), 1u);
    fleet->cancel();
  };
  LinuxFleet machine(image_of({kSvc, kLoopForEver}), fleet_of(1), options);
  fleet = &machine;
  machine.fleet().set(x(8), 0, 999);
  EXPECT_EQ(machine.run().signal, Signal::cancelled);
  EXPECT_EQ(texts.size(), 1u);
}

TEST(LinuxEnd, ProgressIsToldWhileLanesRunAndDoesNotChangeCounts) {
  // Lane 0 exits; the others never end, and only the progress callback ends the run.
  LinuxFleet machine(image_of({kSvc, kLoopForEver}), fleet_of(3), {});
  Fleet& fleet = machine.fleet();
  fleet.set_all(x(8), std::vector<uint64_t>{kExit, kGetpid, kGetpid});
  std::vector<uint64_t> told;
  RunResult result = machine.run([&](const LinuxProgress& progress) {
    EXPECT_LE(progress.lanes_done, told.empty() ? 0u : 1u);
    told.push_back(progress.instructions);
    if (progress.lanes_done == 1 && progress.instructions > 1'000'000) machine.cancel();
  });
  ASSERT_GE(told.size(), 3u);
  EXPECT_EQ(told[0], 0u);
  EXPECT_TRUE(std::is_sorted(told.begin(), told.end()));
  EXPECT_GT(told[told.size() - 2], 1'000'000u) << "while the lanes ran";
  EXPECT_EQ(result.instructions, told.back());
  EXPECT_EQ(result.signal, Signal::cancelled);
  uint64_t sum = 0;
  for (uint32_t lane : {0u, 1u, 2u}) {
    const uint64_t count = fleet.get(Field::instructions, lane);
    sum += count;
    fleet.set(Field::limit, lane, count + 1000);
  }
  EXPECT_EQ(sum, result.instructions);
  // An interruption of the lanes for the progress is not a stop, and their instructions are counted once.
  result = machine.run([](const LinuxProgress&) {});
  EXPECT_EQ(result.instructions, 2000u);
  EXPECT_EQ(machine.outcome(0).stop.reason, StopReason::exited);
  EXPECT_EQ(machine.outcome(1).stop.reason, StopReason::budget);
  EXPECT_EQ(machine.outcome(2).stop.reason, StopReason::budget);
}

}  // namespace
}  // namespace myriarm
