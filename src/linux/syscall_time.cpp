// SPDX-License-Identifier: Apache-2.0
// Guest time: clocks, sleeping, and futex, whose waits only a timeout ends. A retired instruction takes one nanosecond,
// and the calendar starts at 2024-01-01 00:00:00 UTC. A sleep takes no host time: it moves the lane's clocks forward,
// but not CNTVCT_EL0, which counts instructions.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "linux/guest_time.h"
#include "linux/syscall_server.h"

namespace myriarm::linux_process {
namespace {

constexpr uint64_t kEpochSeconds = 1'704'067'200;

// clang-format off
enum Clock : uint32_t { kRealtime = 0, kProcessTime = 2, kThreadTime = 3, kMonotonicRaw = 4, kRealtimeCoarse = 5,
                        kMonotonicCoarse = 6, kRealtimeAlarm = 8, kBoottimeAlarm = 9, kTai = 11 };
// clang-format on

bool clock_exists(uint64_t clock) {
  auto id = static_cast<uint32_t>(clock);
  return id <= kBoottimeAlarm || id == kTai;
}
bool clock_has_date(uint64_t clock) {
  auto id = static_cast<uint32_t>(clock);
  return id == kRealtime || id == kRealtimeCoarse || id == kRealtimeAlarm || id == kTai;
}
/// Whether a clock counts only the time that the process runs, not its sleep.
bool clock_counts_work(uint64_t clock) {
  auto id = static_cast<uint32_t>(clock);
  return id == kProcessTime || id == kThreadTime;
}

/// Two words as they lie in memory, for struct timespec, timeval and timezone.
std::array<uint8_t, 16> word_pair(uint64_t first, uint64_t second) {
  std::array<uint8_t, 16> bytes;
  std::memcpy(bytes.data(), &first, 8);
  std::memcpy(bytes.data() + 8, &second, 8);
  return bytes;
}

}  // namespace

uint64_t SyscallServer::nanoseconds(const Call& call) const {
  return std::min(call.instructions, kEndOfTime) + lanes_[call.lane].slept;
}

void SyscallServer::clock_gettime(Calls calls) {
  for (Call* call : calls) {
    const uint64_t clock = call->arguments[0];
    if (!clock_exists(clock)) {
      call->result = -EINVAL;
      continue;
    }
    const uint64_t now = clock_counts_work(clock) ? call->instructions : nanoseconds(*call);
    const uint64_t seconds = now / kNanoseconds + (clock_has_date(clock) ? kEpochSeconds : 0);
    call->result = store_all(*call, call->arguments[1], word_pair(seconds, now % kNanoseconds)) ? 0 : -EFAULT;
  }
}

void SyscallServer::clock_getres(Calls calls) {
  for (Call* call : calls) {
    if (!clock_exists(call->arguments[0])) call->result = -EINVAL;
    else if (call->arguments[1] == 0) call->result = 0;
    else call->result = store_all(*call, call->arguments[1], word_pair(0, 1)) ? 0 : -EFAULT;
  }
}

void SyscallServer::gettimeofday(Calls calls) {
  for (Call* call : calls) {
    const uint64_t now = nanoseconds(*call);
    auto time = word_pair(kEpochSeconds + now / kNanoseconds, now % kNanoseconds / 1000);
    auto zone = std::array<uint8_t, 8>{};  // minutes west of Greenwich, kind of daylight saving
    bool good = (call->arguments[0] == 0 || store_all(*call, call->arguments[0], time)) &&
                (call->arguments[1] == 0 || store_all(*call, call->arguments[1], zone));
    call->result = good ? 0 : -EFAULT;
  }
}

void SyscallServer::getrusage(Calls calls) {
  constexpr uint64_t kSelf = 0, kThread = 1, kChildren = 0xffffffff;
  constexpr size_t kBytes = 144;  // struct rusage: it begins with the user time, the only field that is counted
  for (Call* call : calls) {
    const uint64_t who = call->arguments[0] & 0xffffffff;
    std::array<uint8_t, kBytes> usage = {};
    if (who == kSelf || who == kThread) {
      auto time = word_pair(call->instructions / kNanoseconds, call->instructions % kNanoseconds / 1000);
      std::copy(time.begin(), time.end(), usage.begin());
    } else if (who != kChildren) {
      call->result = -EINVAL;
      continue;
    }
    call->result = store_all(*call, call->arguments[1], usage) ? 0 : -EFAULT;
  }
}

/// Argument number `request` points to the duration. With `absolute_allowed`, arguments 0 and 1 are a clock and flags.
void SyscallServer::sleep(Calls calls, unsigned request, bool absolute_allowed) {
  constexpr uint64_t kAbsolute = 1;
  fetch_structures(calls, request, kTimespecBytes, [&](Call& call, std::span<const uint8_t> bytes) {
    const int64_t wanted = duration(bytes);
    if (wanted < 0) {
      call.result = -EINVAL;
      return;
    }
    auto time = static_cast<uint64_t>(wanted);
    Lane& lane = lanes_[call.lane];
    if (absolute_allowed && (call.arguments[1] & kAbsolute)) {
      const uint64_t start = clock_has_date(call.arguments[0]) ? kEpochSeconds * kNanoseconds : 0;
      const uint64_t now = start + nanoseconds(call);
      time = time > now ? time - now : 0;
    }
    lane.slept = std::min(lane.slept + time, kEndOfTime);
    call.result = 0;
  });
}

void SyscallServer::nanosleep(Calls calls) { sleep(calls, 0, false); }

void SyscallServer::clock_nanosleep(Calls calls) {
  std::vector<Call*> good;
  for (Call* call : calls) {
    const auto clock = static_cast<uint32_t>(call->arguments[0]);
    const bool coarse = clock == kRealtimeCoarse || clock == kMonotonicCoarse;
    if (!clock_exists(clock)) call->result = -EINVAL;
    else if (clock_counts_work(clock) || clock == kMonotonicRaw || coarse) call->result = -EOPNOTSUPP;
    else good.push_back(call);
  }
  sleep(good, 2, true);
}

void SyscallServer::futex(Calls calls) {
  // clang-format off
  enum Operation : uint32_t { kWait = 0, kWake = 1, kWaitBits = 9, kWakeBits = 10, kOptions = 128 | 256,
                              kRealtimeClock = 256 };
  // clang-format on
  gather_more_arguments(calls);
  std::vector<Call*> waits, others;
  for (Call* call : calls) {
    const uint32_t operation = static_cast<uint32_t>(call->arguments[1]) & ~uint32_t{kOptions};
    const bool bits = operation == kWaitBits || operation == kWakeBits;
    if ((operation != kWait && operation != kWake && !bits) ||
        ((call->arguments[1] & kRealtimeClock) && operation != kWaitBits)) {
      others.push_back(call);
    } else if (call->arguments[0] % 4 != 0 || (bits && static_cast<uint32_t>(call->arguments[5]) == 0)) {
      call->result = -EINVAL;
    } else if (operation == kWake || operation == kWakeBits) {
      call->result = 0;  // there is no other thread
    } else {
      waits.push_back(call);
    }
  }
  std::vector<Call*> timed;
  fetch_structures(waits, 0, 4, [&](Call& call, std::span<const uint8_t> bytes) {
    uint32_t value;
    std::memcpy(&value, bytes.data(), 4);
    if (value != static_cast<uint32_t>(call.arguments[2])) call.result = -EAGAIN;
    else if (call.arguments[3] == 0) call.result = -EDEADLK;  // Linux would wait forever
    else timed.push_back(&call);
  });
  fetch_structures(timed, 3, kTimespecBytes, [&](Call& call, std::span<const uint8_t> bytes) {
    const int64_t wanted = duration(bytes);
    call.result = wanted < 0 ? -EINVAL : -ETIMEDOUT;
    if (wanted < 0) return;
    auto time = static_cast<uint64_t>(wanted);
    const auto operation = static_cast<uint32_t>(call.arguments[1]);
    if ((operation & ~uint32_t{kOptions}) == kWaitBits) {  // its time is when the wait ends, not how long it lasts
      const uint64_t now = nanoseconds(call) + (operation & kRealtimeClock ? kEpochSeconds * kNanoseconds : 0);
      time = time > now ? time - now : 0;
    }
    Lane& lane = lanes_[call.lane];
    lane.slept = std::min(lane.slept + time, kEndOfTime);
  });
  if (!others.empty()) unimplemented(others);
}

}  // namespace myriarm::linux_process
