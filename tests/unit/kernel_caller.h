// SPDX-License-Identifier: Apache-2.0
// For the tests of the system calls in src/kernel/: makes calls on a KernelMachine, and checks after each test that none of
// them has made a mistake.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernel_machine.h"
#include "linux_caller.h"

namespace myriarm::test {

using namespace kernel;

// Calls that linux_caller.h does not name.
// clang-format off
enum More : u32 { kUnimplemented = 1, kGetcwdCall = 17, kGetitimer = 102, kSetitimer = 103, kSigaltstack = 132,
                  kRtSigsuspend = 133, kRtSigtimedwait = 137, kRtSigqueueinfo = 138, kRtSigreturn = 139, kSetreuid = 145, kSetuid = 146, kSetresuid = 147, kGetresuid = 148,
                  kSetpgid = 154, kGetsid = 156, kSetsid = 157, kGetgroups = 158, kUmaskCall = 166, kPrctlCall = 167 };
// clang-format on

constexpr u64 kHere = static_cast<u64>(-100);  // AT_FDCWD

template <class M>
class KernelCaller : public testing::Test {
 protected:
  // Places for structures in guest memory: at the end of a page, aligned, and at an odd address.
  static constexpr u64 kFirst = M::kData + kPageSize - 4, kSecond = M::kData + 0x1800, kThird = M::kData + 0x2805;

  void TearDown() override { EXPECT_EQ(m.mistakes(), std::vector<std::string>()); }
  i64 call(u32 number, const std::vector<u64>& arguments = {}) { return m.value(number, arguments); }
  bool is_missing(u32 number, const std::vector<u64>& arguments = {}) {
    return m.call(number, arguments).served == Served::missing;
  }
  /// The status of a process that a call ends, or the signals that it gets then; -1 if it goes on.
  i64 status(u32 number, const std::vector<u64>& arguments = {}) {
    Result result = m.call(number, arguments);
    if (result.served != Served::ended) result = m.deliver();
    return result.served == Served::ended ? result.value : -1;
  }
  u64 open_input() {
    m.put_path(kSecond, "/input");
    return static_cast<u64>(call(kOpenat, {kHere, kSecond, 0}));
  }

  M m;
};
using Machines = testing::Types<KernelMachine<1>, KernelMachine<2>>;
struct MachineNames {
  template <class M>
  static std::string GetName(int) {
    return M::kContiguous ? "contiguous" : "interleaved";
  }
};

/// A struct pollfd.
inline u64 poll_record(i32 descriptor, u64 events, u64 there) {
  return static_cast<u32>(descriptor) | events << 32 | there << 48;
}

}  // namespace myriarm::test
