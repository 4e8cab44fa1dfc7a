// SPDX-License-Identifier: Apache-2.0
// How a Linux process begins: its first stack, its registers, and its random bytes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "kernel/random_stream.h"
#include "linux/process_layout.h"
#include "linux_caller.h"
#include "myriarm/isa.h"
#include "myriarm/linux.h"

namespace myriarm {
namespace {

using namespace linux_process;
using namespace test;

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
      EXPECT_EQ(start.auxiliary[AT_HWCAP], hardware_capabilities().hwcap);
      EXPECT_EQ(start.auxiliary[AT_HWCAP2], hardware_capabilities().hwcap2);
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
  auto capability = [&](unsigned bit) { return (hardware_capabilities().hwcap >> bit & 1) != 0; };
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
  EXPECT_EQ(capability(9), field(2, 16) == 1) << "FPHP";
  EXPECT_EQ(capability(10), field(2, 20) == 1) << "ASIMDHP";
  EXPECT_EQ(capability(13), field(1, 12) >= 1) << "JSCVT";
  EXPECT_EQ(capability(14), field(1, 16) >= 1) << "FCMA";
  EXPECT_EQ(capability(15), field(1, 20) >= 1) << "LRCPC";
  EXPECT_EQ(capability(16), field(1, 0) >= 1) << "DCPOP";
  EXPECT_EQ(capability(17), field(0, 32) >= 1) << "SHA3";
  EXPECT_EQ(capability(18), field(0, 36) >= 1) << "SM3";
  EXPECT_EQ(capability(19), field(0, 40) >= 1) << "SM4";
  EXPECT_EQ(capability(20), field(0, 44) >= 1) << "ASIMDDP";
  EXPECT_EQ(capability(21), field(0, 12) >= 2) << "SHA512";
  EXPECT_EQ(capability(23), field(0, 48) >= 1) << "ASIMDFHM";
  EXPECT_EQ(capability(27), field(0, 52) >= 1) << "FLAGM";
}

TEST(LinuxStart, StackIsAnEighthOfMemoryAtTheEnd) {
  ProcessLayout layout = lay_out_process(image_of({kSvc}), 1 << 20, {});
  EXPECT_EQ(layout.window_end, 0x500000u);
  EXPECT_EQ(layout.heap_limit, 0x500000u - (1 << 17) - 4096);
  layout = lay_out_process(image_of({kSvc}), uint64_t{1} << 30, {});
  EXPECT_EQ(layout.heap_limit, 0x400000 + (uint64_t{1} << 30) - (8 << 20) - (256 << 10))
      << "a 32nd of it stays free below";
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

/// Bytes of a stream, as getrandom() gives them.
std::vector<uint8_t> random_bytes(uint64_t seed, uint64_t number, uint64_t position, size_t size) {
  std::vector<uint8_t> bytes(size);
  const uint64_t start = kernel::random_start(seed, number);
  for (size_t i = 0; i < size; i++) {
    const uint64_t at = position + i;
    bytes[i] = static_cast<uint8_t>(kernel::random_word(start, at / 8) >> at % 8 * 8);
  }
  return bytes;
}

TEST(LinuxRandom, IsSplitMix64) {
  using kernel::kGoldenGamma, kernel::mix64;
  // The first outputs of the published generator from state 1234567.
  EXPECT_EQ(mix64(1234567 + 1 * kGoldenGamma), 6457827717110365317u);
  EXPECT_EQ(mix64(1234567 + 2 * kGoldenGamma), 3203168211198807973u);
  EXPECT_EQ(mix64(1234567 + 3 * kGoldenGamma), 9817491932198370423u);
}

TEST(LinuxRandom, GetrandomGoesOnWhereItEnded) {
  LinuxOptions options;
  options.seed = 11;
  Caller caller(2, options);
  EXPECT_EQ(caller.call({{kGetrandom, kData, 5}, {kGetrandom, kData, 0}}), (Results{5, 0}));
  EXPECT_EQ(caller.call({{kGetrandom, kData + 5, 8, 1}, {kGetrandom, kData, 13, 2}}), (Results{8, 13}));
  for (uint32_t lane : {0u, 1u}) {
    EXPECT_EQ(caller.machine.fleet().read(lane, kData, 13), random_bytes(11, lane, kRandomBytes, 13));
  }
  EXPECT_EQ(caller.call({{kGetrandom, kData, 1, 8}, {kGetrandom, kCode, 1}}), (Results{-EINVAL, -EFAULT}));
  EXPECT_EQ(caller.call({{kGetrandom, kData, 1, 6}, {kGetrandom, kDataEnd - 3, 10}}), (Results{-EINVAL, 3}));
}

}  // namespace
}  // namespace myriarm
