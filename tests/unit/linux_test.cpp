// SPDX-License-Identifier: Apache-2.0
// Linux processes: the first stack, and system calls. The guest of most tests is `svc #0; brk #0`: the test sets the
// registers of each lane, runs, and looks at what the call left.
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "elf_builder.h"
#include "linux/process_layout.h"
#include "linux/random_stream.h"
#include "linux/syscall_server.h"
#include "myriarm/linux.h"

namespace myriarm {
namespace {

using namespace linux_process;
using test::program_of;

constexpr uint32_t kSvc = 0xd4000001, kBrk = 0xd4200000, kHlt = 0xd4400020;
constexpr uint32_t kLoopForEver = 0x14000000;  // b .
constexpr uint32_t kLoadX0 = 0xf9400000;       // ldr x0, [x0]
constexpr uint32_t kStoreX0 = 0xf9000000;      // str x0, [x0]
constexpr uint32_t kBranchX0 = 0xd61f0000;     // br x0
constexpr uint32_t kUndefined = 0x00000000;    // udf #0
constexpr uint64_t kCode = 0x401000, kData = 0x410000, kDataEnd = 0x413000;

// clang-format off
enum Number : uint64_t {
  kIoctl = 29, kRead63 = 63, kWrite64 = 64, kReadv = 65, kWritev = 66, kOpenat = 56, kExit = 93, kExitGroup = 94,
  kSetTidAddress = 96, kSetRobustList = 99, kClockGettime = 113, kClockGetres = 114, kUname = 160, kGettimeofday = 169,
  kGetpid = 172, kGetuid = 174, kGettid = 178, kBrkCall = 214, kMmap = 222, kGetrandom = 278,
};
// clang-format on

std::string test_device() {
  const char* device = std::getenv("MYRIARM_TEST_DEVICE");
  return device ? device : "cpu";
}

FleetOptions fleet_of(uint64_t lanes, uint64_t memory = uint64_t{1} << 20) {
  FleetOptions options;
  options.device = test_device();
  options.lanes = lanes;
  options.memory = memory;
  return options;
}

ElfImage image_of(const std::vector<uint32_t>& words) { return parse_elf(program_of(words).bytes(), "guest"); }

std::string text(const std::vector<uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }
std::vector<uint8_t> bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

using Results = std::vector<int64_t>;

/// Makes system calls in lanes, one batch at a time.
struct Caller {
  explicit Caller(uint64_t lanes, LinuxOptions options = {})
      : machine(image_of({kSvc, kBrk}), fleet_of(lanes), options) {}

  struct Request {
    uint64_t number, x0 = 0, x1 = 0, x2 = 0;
  };
  /// One request a lane; returns x0 of each lane.
  std::vector<int64_t> call(const std::vector<Request>& requests) {
    Fleet& fleet = machine.fleet();
    std::vector<uint64_t> values(requests.size());
    auto set = [&](Field field, auto&& value) {
      std::transform(requests.begin(), requests.end(), values.begin(), value);
      fleet.set_all(field, values);
    };
    set(x(8), [](const Request& r) { return r.number; });
    set(x(0), [](const Request& r) { return r.x0; });
    set(x(1), [](const Request& r) { return r.x1; });
    set(x(2), [](const Request& r) { return r.x2; });
    fleet.fill(Field::pc, kCode);
    fleet.resume_all();
    machine.run();
    std::vector<int64_t> results;
    for (uint32_t lane = 0; lane < requests.size(); lane++) {
      EXPECT_EQ(fleet.stops()[lane].reason, StopReason::breakpoint);
      results.push_back(static_cast<int64_t>(fleet.get(x(0), lane)));
    }
    return results;
  }
  int64_t call(uint64_t number, uint64_t x0 = 0, uint64_t x1 = 0, uint64_t x2 = 0) {
    return call({{number, x0, x1, x2}})[0];
  }
  uint64_t word(uint64_t address, uint32_t lane = 0) {
    uint64_t value;
    std::memcpy(&value, machine.fleet().read(lane, address, 8).data(), 8);
    return value;
  }
  void put(uint64_t address, std::vector<uint64_t> words, uint32_t lane = 0) {
    std::vector<uint8_t> bytes(words.size() * 8);
    std::memcpy(bytes.data(), words.data(), bytes.size());
    machine.fleet().write(lane, address, bytes);
  }
  void put_text(uint64_t address, const std::string& text, uint32_t lane = 0) {
    machine.fleet().write(lane, address, bytes_of(text));
  }
  LinuxFleet machine;
};

// ---- the first stack

/// Reads a stack as _start would.
struct Start {
  std::vector<std::string> arguments, environment;
  std::map<uint64_t, uint64_t> auxiliary;
  std::vector<uint64_t> environment_addresses;
  uint64_t sp;

  Start(Fleet& fleet, uint32_t lane) : sp(fleet.get(Field::sp, lane)) {
    auto word = [&](uint64_t address) {
      uint64_t value;
      std::memcpy(&value, fleet.read(lane, address, 8).data(), 8);
      return value;
    };
    auto string = [&](uint64_t address) {
      std::string result;
      while (uint8_t c = fleet.read(lane, address++, 1)[0]) result += static_cast<char>(c);
      return result;
    };
    uint64_t at = sp;
    uint64_t count = word(at);
    for (at += 8; word(at); at += 8) arguments.push_back(string(word(at)));
    EXPECT_EQ(arguments.size(), count);
    for (at += 8; word(at); at += 8) {
      environment_addresses.push_back(word(at));
      environment.push_back(string(word(at)));
    }
    for (at += 8; word(at) != AT_NULL; at += 16) auxiliary[word(at)] = word(at + 8);
    EXPECT_EQ(string(auxiliary[AT_EXECFN]), arguments.empty() ? "guest" : arguments[0]);
    EXPECT_EQ(string(auxiliary[AT_PLATFORM]), "aarch64");
  }
};

TEST(LinuxStart, StackHoldsArgumentsEnvironmentAndAuxiliaryVector) {
  for (size_t arguments = 0; arguments < 4; arguments++) {
    LinuxOptions options;
    for (size_t i = 0; i < arguments; i++) options.arguments.push_back(std::string(i * 3, 'a'));
    options.environment = {"A=1", "MYRIARM_LANE=99", "B="};
    LinuxFleet machine(image_of({kSvc}), fleet_of(13), options);
    for (uint32_t lane : {0u, 9u, 10u, 12u}) {
      Start start(machine.fleet(), lane);
      EXPECT_EQ(start.sp % 16, 0u);
      EXPECT_EQ(start.arguments, options.arguments);
      EXPECT_EQ(start.environment, (std::vector<std::string>{"A=1", "B=", "MYRIARM_LANE=" + std::to_string(lane)}));
      EXPECT_EQ(start.auxiliary[AT_PHDR], 0x400000 + sizeof(Elf64_Ehdr));
      EXPECT_EQ(start.auxiliary[AT_PHENT], sizeof(Elf64_Phdr));
      EXPECT_EQ(start.auxiliary[AT_PHNUM], 2u);
      EXPECT_EQ(start.auxiliary[AT_PAGESZ], 4096u);
      EXPECT_EQ(start.auxiliary[AT_ENTRY], kCode);
      EXPECT_EQ(start.auxiliary[AT_SECURE], 0u);
      EXPECT_EQ(start.auxiliary[AT_CLKTCK], 100u);
      EXPECT_EQ(start.auxiliary[AT_UID], start.auxiliary[AT_EUID]);
      EXPECT_EQ(start.auxiliary[AT_HWCAP], hardware_capabilities());
      EXPECT_EQ(start.sp, Start(machine.fleet(), 0).sp);
      EXPECT_EQ(start.environment_addresses, Start(machine.fleet(), 0).environment_addresses);
    }
  }
}

TEST(LinuxStart, RegistersAreZero) {
  LinuxFleet machine(image_of({kSvc}), fleet_of(2), {});
  for (unsigned n = 0; n <= 30; n++) EXPECT_EQ(machine.fleet().get(x(n), 1), 0u) << n;
  EXPECT_EQ(machine.fleet().get(Field::pc, 1), kCode);
}

TEST(LinuxStart, RandomBytesDifferByLaneAndSeedAndRepeat) {
  auto random = [](uint64_t seed, uint32_t lane) {
    LinuxOptions options;
    options.seed = seed;
    LinuxFleet machine(image_of({kSvc}), fleet_of(3), options);
    Start start(machine.fleet(), lane);
    return machine.fleet().read(lane, start.auxiliary[AT_RANDOM], 16);
  };
  EXPECT_EQ(random(1, 2), random(1, 2));
  EXPECT_NE(random(1, 2), random(1, 1));
  EXPECT_NE(random(1, 2), random(2, 2));
}

TEST(LinuxStart, TheLargestLaneNumberFits) {
  LaneBytes bytes = lane_bytes(0, 0xffffffff);
  EXPECT_STREQ(reinterpret_cast<const char*>(bytes.data()), "4294967295");
}

TEST(LinuxStart, HardwareCapabilitiesAgreeWithTheIdRegisters) {
  constexpr uint32_t kIsar0 = 0xd5380600, kIsar1 = 0xd5380621, kPfr0 = 0xd5380402;  // mrs x0, mrs x1, mrs x2
  LinuxFleet machine(image_of({kIsar0, kIsar1, kPfr0, kBrk}), fleet_of(1), {});
  machine.run();
  ASSERT_EQ(machine.outcome(0).stop.reason, StopReason::breakpoint);
  auto field = [&](unsigned reg, unsigned low_bit) { return machine.fleet().get(x(reg), 0) >> low_bit & 15; };
  auto capability = [&](unsigned bit) { return (hardware_capabilities() >> bit & 1) != 0; };
  EXPECT_EQ(capability(0), field(2, 16) != 15) << "FP";
  EXPECT_EQ(capability(1), field(2, 20) != 15) << "ASIMD";
  EXPECT_EQ(capability(3), field(0, 4) >= 1) << "AES";
  EXPECT_EQ(capability(4), field(0, 4) >= 2) << "PMULL";
  EXPECT_EQ(capability(5), field(0, 8) >= 1) << "SHA1";
  EXPECT_EQ(capability(6), field(0, 12) >= 1) << "SHA2";
  EXPECT_EQ(capability(7), field(0, 16) >= 1) << "CRC32";
  EXPECT_EQ(capability(8), field(0, 20) >= 2) << "ATOMICS";
  EXPECT_TRUE(capability(11)) << "CPUID";
  EXPECT_EQ(capability(12), field(0, 28) >= 1) << "ASIMDRDM";
  EXPECT_EQ(capability(15), field(1, 20) >= 1) << "LRCPC";
  EXPECT_EQ(capability(16), field(1, 0) >= 1) << "DCPOP";
}

TEST(LinuxStart, StackIsAnEighthOfMemoryAtTheEnd) {
  ProcessLayout layout = lay_out_process(image_of({kSvc}), 1 << 20, {});
  EXPECT_EQ(layout.window_end, 0x500000u);
  EXPECT_EQ(layout.heap_limit, 0x500000u - (1 << 17) - 4096);
  layout = lay_out_process(image_of({kSvc}), uint64_t{1} << 30, {});
  EXPECT_EQ(layout.heap_limit, 0x400000 + (uint64_t{1} << 30) - (8 << 20) - 4096);
}

TEST(LinuxStart, AnExecutableStackIsGivenWhenAsked) {
  test::ElfFile file = program_of({kSvc});
  file.add(PT_GNU_STACK, PF_R | PF_W | PF_X, 0, 0, 0, 0);
  auto stack = [](const ElfImage& image) { return lay_out_process(image, 1 << 20, {}).program.segments.back(); };
  EXPECT_TRUE(stack(parse_elf(file.bytes(), "guest")).permissions & kExecute);
  EXPECT_FALSE(stack(image_of({kSvc})).permissions & kExecute);
}

TEST(LinuxStart, WhatDoesNotFitIsRefused) {
  EXPECT_THROW(lay_out_process(image_of({kSvc}), 0, {}), ArgumentError);
  EXPECT_THROW(lay_out_process(image_of({kSvc}), 4097, {}), ArgumentError);
  EXPECT_THROW(lay_out_process(image_of({kSvc}), 0x13000 + 4096, {}), ArgumentError);
  EXPECT_THROW(lay_out_process(image_of({kSvc}), ~uint64_t{0xfff}, {}), ArgumentError);
  LinuxOptions options;
  options.arguments = {"guest", std::string(40000, 'x')};
  EXPECT_THROW(lay_out_process(image_of({kSvc}), 1 << 20, options), ArgumentError);
  EXPECT_THROW(LinuxFleet(image_of({kSvc}), fleet_of(0), {}), ArgumentError);
}

// ---- randomness

TEST(LinuxRandom, IsSplitMix64) {
  // The first outputs of the published generator from state 1234567.
  EXPECT_EQ(mix64(1234567 + 1 * kGoldenGamma), 6457827717110365317u);
  EXPECT_EQ(mix64(1234567 + 2 * kGoldenGamma), 3203168211198807973u);
  EXPECT_EQ(mix64(1234567 + 3 * kGoldenGamma), 9817491932198370423u);
}

TEST(LinuxRandom, AnyPositionCanBeRead) {
  std::vector<uint8_t> all(100);
  random_bytes(7, 5, 0, all);
  for (size_t position = 0; position < 90; position++) {
    std::vector<uint8_t> some(10);
    random_bytes(7, 5, position, some);
    EXPECT_TRUE(std::equal(some.begin(), some.end(), all.begin() + static_cast<ptrdiff_t>(position)));
  }
}

TEST(LinuxRandom, GetrandomGoesOnWhereItEnded) {
  LinuxOptions options;
  options.seed = 11;
  Caller caller(2, options);
  EXPECT_EQ(caller.call({{kGetrandom, kData, 5}, {kGetrandom, kData, 0}}), (Results{5, 0}));
  EXPECT_EQ(caller.call({{kGetrandom, kData + 5, 8, 1}, {kGetrandom, kData, 13, 2}}), (Results{8, 13}));
  std::vector<uint8_t> expected(13);
  for (uint32_t lane : {0u, 1u}) {
    random_bytes(11, lane, kRandomBytes, expected);
    EXPECT_EQ(caller.machine.fleet().read(lane, kData, 13), expected);
  }
  EXPECT_EQ(caller.call({{kGetrandom, kData, 1, 8}, {kGetrandom, kCode, 1}}), (Results{-EINVAL, -EFAULT}));
  EXPECT_EQ(caller.call({{kGetrandom, kData, 1, 6}, {kGetrandom, kDataEnd - 3, 10}}), (Results{-EINVAL, 3}));
}

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
  LinuxOptions options;
  options.standard_input = bytes_of("hello world");
  LinuxFleet machine(image_of({kSvc, kBrk}), fleet, options);
  machine.fleet().fill(x(8), kRead63);
  machine.fleet().fill(x(1), kData);
  machine.fleet().fill(x(2), 5);
  for (int again = 0; again < 2; again++) {
    machine.run();
    EXPECT_EQ(machine.outcome(0).stop.reason, StopReason::breakpoint);
    EXPECT_EQ(machine.outcome(1).stop.reason, StopReason::out_of_memory);
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
  EXPECT_THROW(caller.put(limit, {1}), ArgumentError) << "the guard page";
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
  EXPECT_EQ(caller.call({{kOpenat}, {kMmap}, {kOpenat}}), (Results{-ENOSYS, -ENOSYS, -ENOSYS}));
  EXPECT_EQ(caller.call({{9999}, {~uint64_t{0}}, {kGetpid}}), (Results{-ENOSYS, -ENOSYS, kProcessId}));
  EXPECT_EQ(
      caller.machine.unimplemented(),
      (std::map<std::string, uint64_t>{{"openat", 2}, {"mmap", 1}, {"syscall_9999", 1}, {"syscall_4294967295", 1}}));
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
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    machine.cancel();
  });
  machine.run();
  other.join();
  for (uint32_t lane = 0; lane < 3; lane++) EXPECT_EQ(machine.outcome(lane).stop.reason, StopReason::cancelled);
  uint64_t before = machine.fleet().get(Field::instructions, 0);
  machine.fleet().fill(Field::limit, before + 10);
  machine.run();
  EXPECT_EQ(machine.fleet().get(Field::instructions, 0), before + 10);
}

TEST(LinuxEnd, ProgressIsToldAndDoesNotChangeCounts) {
  LinuxFleet machine(image_of({kLoopForEver}), fleet_of(2), {});
  machine.fleet().fill(Field::limit, 60'000'000);
  uint64_t told = 0, last = 0;
  RunResult result = machine.run([&](const LinuxProgress& progress) {
    told++;
    EXPECT_GE(progress.instructions, last);
    last = progress.instructions;
    EXPECT_LE(progress.lanes_done, 2u);
  });
  EXPECT_GE(told, 2u);
  EXPECT_EQ(result.instructions, 120'000'000u);
  EXPECT_EQ(machine.fleet().get(Field::instructions, 1), 60'000'000u);
  EXPECT_EQ(machine.outcome(1).stop.reason, StopReason::budget);
}

}  // namespace
}  // namespace myriarm
