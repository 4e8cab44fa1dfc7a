// SPDX-License-Identifier: Apache-2.0
// For the tests of src/linux/. Caller is a guest that executes `svc #0; brk #0`: the test sets the registers of each
// lane, runs, and reads the result of the call. Start is the stack of a new process, as _start reads it.
#pragma once

#include <elf.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "elf_builder.h"
#include "myriarm/linux.h"

namespace myriarm::test {

constexpr uint32_t kSvc = 0xd4000001, kBrk = 0xd4200000, kHlt = 0xd4400020;
constexpr uint32_t kLoopForEver = 0x14000000;  // b .
constexpr uint32_t kLoadX0 = 0xf9400000;       // ldr x0, [x0]
constexpr uint32_t kStoreX0 = 0xf9000000;      // str x0, [x0]
constexpr uint32_t kBranchX0 = 0xd61f0000;     // br x0
constexpr uint32_t kUndefined = 0x00000000;    // udf #0
constexpr uint64_t kCode = 0x401000, kData = 0x410000, kDataEnd = 0x413000;

// clang-format off
enum Number : uint64_t {
  kDup = 23, kDup3 = 24, kFcntl = 25, kIoctl = 29, kFaccessat = 48, kOpenat = 56, kClose = 57, kPipe2 = 59, kLseek = 62, kRead63 = 63, kWrite64 = 64,
  kReadv = 65, kWritev = 66, kPread64 = 67, kPselect6 = 72, kPpoll = 73, kReadlinkat = 78, kNewfstatat = 79, kFstat = 80, kExit = 93, kExitGroup = 94,
  kSetTidAddress = 96, kFutex = 98, kSetRobustList = 99, kNanosleep = 101, kClockGettime = 113, kClockGetres = 114,
  kClockNanosleep = 115, kSchedGetaffinity = 123, kKill = 129, kTkill = 130, kTgkill = 131, kRtSigaction = 134,
  kRtSigprocmask = 135, kRtSigpending = 136, kUname = 160, kGetrlimit = 163, kGetrusage = 165, kGettimeofday = 169,
  kGetpid = 172, kGetuid = 174, kGettid = 178, kSysinfo = 179, kBrkCall = 214, kMunmap = 215, kMremap = 216,
  kMmap = 222, kMprotect = 226, kMadvise = 233, kPrlimit64 = 261, kGetrandom = 278, kStatx = 291, kRseq = 293,
};
// clang-format on

inline std::string test_device() {
  const char* device = std::getenv("MYRIARM_TEST_DEVICE");
  return device ? device : "cpu";
}

inline FleetOptions fleet_of(uint64_t lanes, uint64_t memory = uint64_t{1} << 20) {
  FleetOptions options;
  options.device = test_device();
  options.lanes = lanes;
  options.memory = memory;
  return options;
}

inline ElfImage image_of(const std::vector<uint32_t>& words) { return parse_elf(program_of(words).bytes(), "guest"); }

inline std::string text(std::span<const uint8_t> bytes) { return {bytes.begin(), bytes.end()}; }
inline std::vector<uint8_t> bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

using Results = std::vector<int64_t>;

/// How often each system call that is not implemented was called.
inline std::map<std::string, uint64_t> counts_of(const LinuxFleet& machine) {
  std::map<std::string, uint64_t> counts;
  for (const auto& [name, call] : machine.unimplemented()) counts[name] = call.count;
  return counts;
}

/// Makes system calls in lanes, one batch at a time.
struct Caller {
  explicit Caller(uint64_t lanes, LinuxOptions options = {}) : Caller(fleet_of(lanes), options) {}
  Caller(const FleetOptions& fleet, LinuxOptions options) : machine(image_of({kSvc, kBrk}), fleet, options) {}
  Caller(const FleetOptions& fleet, const std::vector<uint32_t>& words) : machine(image_of(words), fleet, {}) {}

  struct Request {
    uint64_t number, x0 = 0, x1 = 0, x2 = 0, x3 = 0, x4 = 0, x5 = 0;
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
    set(x(3), [](const Request& r) { return r.x3; });
    set(x(4), [](const Request& r) { return r.x4; });
    set(x(5), [](const Request& r) { return r.x5; });
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
  int64_t call(uint64_t number, uint64_t x0 = 0, uint64_t x1 = 0, uint64_t x2 = 0, uint64_t x3 = 0, uint64_t x4 = 0,
               uint64_t x5 = 0) {
    return call({{number, x0, x1, x2, x3, x4, x5}})[0];
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

}  // namespace myriarm::test
