// SPDX-License-Identifier: Apache-2.0
// System calls that are not input or output: memory, time, randomness, identity, the end of a process.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "linux/random_stream.h"
#include "linux/syscall_server.h"

namespace myriarm::linux_process {
namespace {

// Guest time: a retired instruction is a nanosecond, and the wall clock starts at 2024-01-01 00:00:00 UTC.
constexpr uint64_t kEpochSeconds = 1'704'067'200;
constexpr uint64_t kNanoseconds = 1'000'000'000;

enum Clock : uint32_t { kRealtime = 0, kRealtimeCoarse = 5, kBoottimeAlarm = 9, kRealtimeAlarm = 8, kTai = 11 };

bool clock_exists(uint64_t clock) {
  auto id = static_cast<uint32_t>(clock);
  return id <= kBoottimeAlarm || id == kTai;
}
bool clock_has_date(uint64_t clock) {
  auto id = static_cast<uint32_t>(clock);
  return id == kRealtime || id == kRealtimeCoarse || id == kRealtimeAlarm || id == kTai;
}

/// Two words as they lie in memory: struct timespec, timeval, timezone.
std::array<uint8_t, 16> word_pair(uint64_t first, uint64_t second) {
  std::array<uint8_t, 16> bytes;
  std::memcpy(bytes.data(), &first, 8);
  std::memcpy(bytes.data() + 8, &second, 8);
  return bytes;
}

}  // namespace

void SyscallServer::unimplemented(Calls calls) {
  // A guest may try every number there is; the report stays short.
  constexpr size_t kMostNames = 1000;
  for (Call* call : calls) {
    auto row = rows().find(call->number);
    std::string name = row != rows().end() ? row->second.name : "syscall_" + std::to_string(call->number);
    if (unimplemented_.size() >= kMostNames && !unimplemented_.count(name)) name = "other";
    unimplemented_[name]++;
    call->result = -ENOSYS;
  }
}

void SyscallServer::brk(Calls calls) {
  auto page_up = [](uint64_t address) { return (address + kPageBytes - 1) & ~(kPageBytes - 1); };
  struct Change {
    std::vector<uint32_t> lanes;
    std::vector<std::pair<Call*, uint64_t>> breaks;  // as they were
  };
  std::map<std::pair<uint64_t, uint64_t>, Change> changes;  // by old and new end in pages
  for (Call* call : calls) {
    Lane& lane = lanes_[call->lane];
    uint64_t wanted = call->arguments[0];
    if (wanted >= break_start_ && wanted <= heap_limit_) {
      if (page_up(wanted) != page_up(lane.break_end)) {
        Change& change = changes[{page_up(lane.break_end), page_up(wanted)}];
        change.lanes.push_back(call->lane);
        change.breaks.push_back({call, lane.break_end});
      }
      lane.break_end = wanted;
    }
    call->result = static_cast<int64_t>(lane.break_end);
  }
  for (const auto& [ends, change] : changes) {
    auto [before, after] = ends;
    try {
      if (after > before) fleet_.map(change.lanes, before, after - before, kRead | kWrite);
      else fleet_.map(change.lanes, after, before - after, 0);
    } catch (const DeviceError&) {
      // The pool is spent. A break that did not move is how Linux says so; pages that were to go may as well stay,
      // since they are mapped anew before the break is above them again.
      if (after < before) continue;
      for (auto [call, old_break] : change.breaks) {
        lanes_[call->lane].break_end = old_break;
        call->result = static_cast<int64_t>(old_break);
      }
    }
  }
}

void SyscallServer::exit(Calls calls) {
  for (Call* call : calls) {
    call->ended = true;
    call->result = static_cast<int64_t>(call->arguments[0] & 0xff);
  }
}

void SyscallServer::clock_gettime(Calls calls) {
  for (Call* call : calls) {
    if (!clock_exists(call->arguments[0])) {
      call->result = -EINVAL;
      continue;
    }
    uint64_t seconds = call->instructions / kNanoseconds + (clock_has_date(call->arguments[0]) ? kEpochSeconds : 0);
    auto time = word_pair(seconds, call->instructions % kNanoseconds);
    call->result = store_all(*call, call->arguments[1], time) ? 0 : -EFAULT;
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
    auto time = word_pair(kEpochSeconds + call->instructions / kNanoseconds, call->instructions % kNanoseconds / 1000);
    auto zone = std::array<uint8_t, 8>{};  // minutes west of Greenwich, kind of daylight saving
    bool good = (call->arguments[0] == 0 || store_all(*call, call->arguments[0], time)) &&
                (call->arguments[1] == 0 || store_all(*call, call->arguments[1], zone));
    call->result = good ? 0 : -EFAULT;
  }
}

void SyscallServer::getrandom(Calls calls) {
  constexpr uint64_t kMost = (1 << 25) - 1;  // as Linux
  constexpr uint32_t kNonblock = 1, kRandom = 2, kInsecure = 4;
  std::vector<uint8_t> bytes;
  for (Call* call : calls) {
    auto flags = static_cast<uint32_t>(call->arguments[2]);
    if ((flags & ~(kNonblock | kRandom | kInsecure)) || (flags & (kRandom | kInsecure)) == (kRandom | kInsecure)) {
      call->result = -EINVAL;
      continue;
    }
    uint64_t wanted = std::min(call->arguments[1], kMost);
    uint64_t size = accessible(call->lane, call->arguments[0], wanted, kWrite);
    if (size == 0 && wanted != 0) {
      call->result = -EFAULT;
      continue;
    }
    Lane& lane = lanes_[call->lane];
    bytes.resize(size);
    random_bytes(seed_, call->lane, lane.random_position, bytes);
    lane.random_position += size;
    queue_store(call->lane, call->arguments[0], bytes);
    call->result = static_cast<int64_t>(size);
  }
}

void SyscallServer::uname(Calls calls) {
  // struct new_utsname: system, node, release, version, machine, domain.
  constexpr size_t kFieldBytes = 65;
  static constexpr const char* fields[] = {"Linux", "myriarm", "6.1.0", "#1 SMP myriarm", "aarch64", "(none)"};
  std::array<uint8_t, kFieldBytes * std::size(fields)> names = {};
  for (size_t i = 0; i < std::size(fields); i++) {
    std::memcpy(&names[i * kFieldBytes], fields[i], std::strlen(fields[i]));
  }
  for (Call* call : calls) call->result = store_all(*call, call->arguments[0], names) ? 0 : -EFAULT;
}

void SyscallServer::set_robust_list(Calls calls) {
  constexpr uint64_t kHeadBytes = 24;  // struct robust_list_head
  // Nobody else can hold a lock of a process of one thread, so that the list is never walked.
  for (Call* call : calls) call->result = call->arguments[1] == kHeadBytes ? 0 : -EINVAL;
}

void SyscallServer::process_id(Calls calls) {
  for (Call* call : calls) call->result = kProcessId;
}
void SyscallServer::parent_id(Calls calls) {
  for (Call* call : calls) call->result = kParentId;
}
void SyscallServer::user_id(Calls calls) {
  for (Call* call : calls) call->result = kUserId;
}
void SyscallServer::zero(Calls calls) {
  for (Call* call : calls) call->result = 0;
}

}  // namespace myriarm::linux_process
