// SPDX-License-Identifier: Apache-2.0
// Signals that a process sends to itself: a signal is ignored, stays pending while it is blocked, or ends the process,
// as raise() and abort() need. Handlers are remembered but never run: a call that would run one is reported as
// unimplemented.
#include <array>
#include <bit>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "linux/syscall_server.h"

namespace myriarm::linux_process {
namespace {

constexpr uint64_t kMostSignals = 64, kSetBytes = 8;
constexpr uint64_t kDefault = 0, kIgnore = 1;  // SIG_DFL, SIG_IGN

// clang-format off
enum LinuxSignal : uint64_t { kKill = 9, kChild = 17, kContinue = 18, kStop = 19, kStopTyped = 20, kTerminalOut = 22,
                              kUrgent = 23, kWindowChange = 28 };
// clang-format on

constexpr uint64_t bit_of(uint64_t number) { return uint64_t{1} << (number - 1); }
constexpr uint64_t kUnblockable = bit_of(kKill) | bit_of(kStop);

bool is_ignored_by_default(uint64_t number) {
  return number == kChild || number == kContinue || number == kUrgent || number == kWindowChange;
}
bool stops_by_default(uint64_t number) { return number >= kStop && number <= kTerminalOut; }

template <size_t N>
std::array<uint8_t, 8 * N> bytes_of(const std::array<uint64_t, N>& words) {
  std::array<uint8_t, 8 * N> bytes;
  std::memcpy(bytes.data(), words.data(), bytes.size());
  return bytes;
}

}  // namespace

SyscallServer::Signals& SyscallServer::signals_of(const Call& call) {
  auto& signals = lanes_[call.lane].signals;
  if (!signals) signals = std::make_unique<Signals>();
  return *signals;
}

/// Delivers a signal to the process of the call, and sets the call's result.
void SyscallServer::raise(Call& call, uint64_t number) {
  call.result = 0;
  Signals& signals = signals_of(call);
  if (signals.blocked & bit_of(number)) {
    signals.pending |= bit_of(number);
    return;
  }
  auto action = signals.actions.find(number);
  const uint64_t handler = action == signals.actions.end() ? kDefault : action->second[0];
  if (handler == kIgnore || (handler == kDefault && is_ignored_by_default(number))) return;
  if (handler != kDefault || stops_by_default(number)) {  // no other process could continue it
    Call* one = &call;
    unimplemented(Calls(&one, 1));
    return;
  }
  call.ended = true;
  call.status = kKilledStatus + static_cast<uint32_t>(number);
}

void SyscallServer::kill(Calls calls) {
  for (Call* call : calls) {
    // A process can signal itself, also as its group (0). On Linux -1 means all other processes, and there are none.
    const auto process = static_cast<int32_t>(call->arguments[0]);
    const uint64_t number = static_cast<uint32_t>(call->arguments[1]);
    const bool self = process == static_cast<int32_t>(kProcessId) || process == 0;
    if (number > kMostSignals) call->result = -EINVAL;
    else if (!self) call->result = -ESRCH;
    else if (number == 0) call->result = 0;
    else raise(*call, number);
  }
}

void SyscallServer::tkill(Calls calls) {
  for (Call* call : calls) {
    const auto thread = static_cast<int32_t>(call->arguments[0]);
    const uint64_t number = static_cast<uint32_t>(call->arguments[1]);
    if (thread <= 0 || number > kMostSignals) call->result = -EINVAL;
    else if (thread != static_cast<int32_t>(kProcessId)) call->result = -ESRCH;
    else if (number == 0) call->result = 0;
    else raise(*call, number);
  }
}

void SyscallServer::tgkill(Calls calls) {
  for (Call* call : calls) {
    const auto process = static_cast<int32_t>(call->arguments[0]), thread = static_cast<int32_t>(call->arguments[1]);
    const uint64_t number = static_cast<uint32_t>(call->arguments[2]);
    const auto self = static_cast<int32_t>(kProcessId);
    if (process <= 0 || thread <= 0 || number > kMostSignals) call->result = -EINVAL;
    else if (process != self || thread != self) call->result = -ESRCH;
    else if (number == 0) call->result = 0;
    else raise(*call, number);
  }
}

void SyscallServer::rt_sigaction(Calls calls) {
  constexpr uint32_t kActionBytes = 32;
  gather_more_arguments(calls);
  std::vector<Call*> good, setting;
  for (Call* call : calls) {
    const uint64_t number = static_cast<uint32_t>(call->arguments[0]);
    const bool sets = call->arguments[1] != 0;
    const bool valid = number >= 1 && number <= kMostSignals && !(sets && (kUnblockable & bit_of(number)));
    if (call->arguments[3] != kSetBytes || !valid) call->result = -EINVAL;
    else (sets ? setting : good).push_back(call);
  }
  std::map<Call*, std::array<uint64_t, 4>> actions;
  for (Call* call : fetch_structures(setting, 1, kActionBytes, [&](Call&call, std::span<const uint8_t> bytes) {
         std::memcpy(actions[&call].data(), bytes.data(), kActionBytes);
       })) {
    good.push_back(call);
  }
  for (Call* call : good) {
    auto& known = signals_of(*call).actions;
    const uint64_t number = static_cast<uint32_t>(call->arguments[0]);
    const std::array<uint64_t, 4> old = known.count(number) ? known[number] : std::array<uint64_t, 4>{};
    call->result = 0;
    // As on Linux, the new action takes effect before the old one is stored, so a bad address does not undo it.
    if (auto action = actions.find(call); action != actions.end()) {
      known[number] = action->second;
      if (action->second[0] == kIgnore) signals_of(*call).pending &= ~bit_of(number);
    }
    if (call->arguments[2] != 0 && !store_all(*call, call->arguments[2], bytes_of(old))) call->result = -EFAULT;
  }
}

void SyscallServer::rt_sigprocmask(Calls calls) {
  enum How : uint32_t { kBlock = 0, kUnblock = 1, kSet = 2 };
  gather_more_arguments(calls);
  std::vector<Call*> good, setting;
  for (Call* call : calls) {
    if (call->arguments[3] != kSetBytes) call->result = -EINVAL;
    else (call->arguments[1] != 0 ? setting : good).push_back(call);
  }
  std::map<Call*, uint64_t> masks;
  for (Call* call : fetch_structures(setting, 1, kSetBytes, [&](Call&call, std::span<const uint8_t> bytes) {
         std::memcpy(&masks[&call], bytes.data(), kSetBytes);
       })) {
    const auto how = static_cast<uint32_t>(call->arguments[0]);
    if (how > kSet) call->result = -EINVAL;
    else good.push_back(call);
  }
  for (Call* call : good) {
    Signals& signals = signals_of(*call);
    const uint64_t old = signals.blocked;
    if (auto found = masks.find(call); found != masks.end()) {
      const auto how = static_cast<uint32_t>(call->arguments[0]);
      const uint64_t mask = found->second & ~kUnblockable;
      signals.blocked = how == kBlock ? old | mask : how == kUnblock ? old & ~mask : mask;
    }
    call->result = 0;
    if (call->arguments[2] != 0 && !store_all(*call, call->arguments[2], bytes_of(std::array{old}))) {
      call->result = -EFAULT;
    }
    while (const uint64_t due = signals.pending & ~signals.blocked) {
      const int64_t result = call->result;
      signals.pending &= ~(due & -due);
      raise(*call, static_cast<uint64_t>(std::countr_zero(due)) + 1);
      if (call->ended) break;
      if (call->result == 0) call->result = result;
    }
  }
}

void SyscallServer::rt_sigpending(Calls calls) {
  for (Call* call : calls) {
    const uint64_t size = call->arguments[1];
    const auto bytes = bytes_of(std::array{signals_of(*call).pending});
    if (size > kSetBytes) call->result = -EINVAL;
    else call->result = store_all(*call, call->arguments[0], std::span(bytes).first(size)) ? 0 : -EFAULT;
  }
}

}  // namespace myriarm::linux_process
