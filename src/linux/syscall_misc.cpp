// SPDX-License-Identifier: Apache-2.0
// The other system calls: randomness, the system, resources, the end of a process.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "linux/random_stream.h"
#include "linux/syscall_server.h"

namespace myriarm::linux_process {

void SyscallServer::unimplemented(Calls calls) {
  // A guest may try every number; this bounds the report.
  constexpr size_t kMostNames = 1000;
  for (Call* call : calls) {
    auto row = rows().find(call->number);
    std::string name = row != rows().end() ? row->second.name : "syscall_" + std::to_string(call->number);
    if (unimplemented_.size() >= kMostNames && !unimplemented_.count(name)) name = "other";
    call->result = -ENOSYS;
    if (unimplemented_[name].count++ != 0) continue;
    gather_more_arguments(Calls(&call, 1));
    const uint64_t pc = fleet_.get(Field::pc, call->lane) - 4;  // an SVC has retired
    unimplemented_[name] = {1, call->lane, pc, text_of(*call).returned(call->result)};
  }
}

void SyscallServer::exit(Calls calls) {
  for (Call* call : calls) {
    call->ended = true;
    call->status = static_cast<uint32_t>(call->arguments[0] & 0xff);
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
    random_bytes(seed_, lane.number, lane.random_position, bytes);
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
  // The list tells other threads which locks a dead thread held. There are no other threads.
  for (Call* call : calls) call->result = call->arguments[1] == kHeadBytes ? 0 : -EINVAL;
}

void SyscallServer::zero(Calls calls) {
  for (Call* call : calls) call->result = 0;
}
/// For calls that older kernels, or kernels built without an option, lack: a C library works without them.
void SyscallServer::not_offered(Calls calls) {
  for (Call* call : calls) call->result = -ENOSYS;
}

/// Stores a struct rlimit; returns the call's result.
int64_t SyscallServer::resource_limits(Call& call, uint64_t resource, uint64_t address) {
  // clang-format off
  enum Resource : uint32_t { kStackBytes = 3, kCoreBytes = 4, kProcesses = 6, kOpenFiles = 7, kLockedBytes = 8,
                             kPendingSignals = 11, kQueueBytes = 12, kNice = 13, kRealtimePriority = 14,
                             kResources = 16 };
  // clang-format on
  constexpr uint64_t kUnlimited = ~uint64_t{0};
  std::array<uint64_t, 2> limits = {kUnlimited, kUnlimited};  // soft limit, hard limit
  switch (static_cast<uint32_t>(resource)) {
    case kStackBytes: limits = {stack_bytes_, stack_bytes_}; break;
    case kOpenFiles: limits = {kMostFiles, kMostFiles}; break;
    case kProcesses: limits = {1, 1}; break;
    case kCoreBytes:
    case kLockedBytes:
    case kPendingSignals:
    case kQueueBytes:
    case kNice:
    case kRealtimePriority: limits = {0, 0}; break;
    default:
      if (static_cast<uint32_t>(resource) >= kResources) return -EINVAL;
  }
  std::array<uint8_t, sizeof limits> bytes;
  std::memcpy(bytes.data(), limits.data(), sizeof limits);
  return address == 0 || store_all(call, address, bytes) ? 0 : -EFAULT;
}

void SyscallServer::getrlimit(Calls calls) {
  for (Call* call : calls) {
    call->result = call->arguments[1] ? resource_limits(*call, call->arguments[0], call->arguments[1]) : -EFAULT;
  }
}

void SyscallServer::prlimit64(Calls calls) {
  gather_more_arguments(calls);
  std::vector<Call*> setting;
  for (Call* call : calls) {
    const auto process = static_cast<uint32_t>(call->arguments[0]);
    if (process != 0 && process != kProcessId) call->result = -ESRCH;
    else if (call->arguments[2] != 0) setting.push_back(call);
    else call->result = resource_limits(*call, call->arguments[1], call->arguments[3]);
  }
  if (!setting.empty()) unimplemented(setting);
}

void SyscallServer::sched_getaffinity(Calls calls) {
  constexpr uint64_t kMaskBytes = 8;
  constexpr std::array<uint8_t, kMaskBytes> mask = {1};  // processor 0
  for (Call* call : calls) {
    const auto process = static_cast<uint32_t>(call->arguments[0]), size = static_cast<uint32_t>(call->arguments[1]);
    if (size < kMaskBytes || size % kMaskBytes != 0) call->result = -EINVAL;
    else if (process != 0 && process != kProcessId) call->result = -ESRCH;
    else call->result = store_all(*call, call->arguments[2], mask) ? static_cast<int64_t>(kMaskBytes) : -EFAULT;
  }
}

void SyscallServer::sysinfo(Calls calls) {
  for (Call* call : calls) {
    std::array<uint64_t, 14> info = {};
    info[0] = nanoseconds(*call) / 1'000'000'000;     // uptime
    info[4] = info[5] = window_end_ - window_begin_;  // totalram, freeram
    info[10] = 1;                                     // procs
    info[13] = 1;                                     // mem_unit
    std::array<uint8_t, sizeof info> bytes;
    std::memcpy(bytes.data(), info.data(), sizeof info);
    call->result = store_all(*call, call->arguments[0], bytes) ? 0 : -EFAULT;
  }
}

}  // namespace myriarm::linux_process
