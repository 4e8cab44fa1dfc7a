// SPDX-License-Identifier: Apache-2.0
// ppoll and pselect6. What can be open never blocks: standard input is a pipe whose writers have closed it, output goes to
// pipes that take everything, and a file is always ready. So a wait ends at once, or when its time is over.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "linux/guest_time.h"
#include "linux/syscall_server.h"

namespace myriarm::linux_process {
namespace {

// clang-format off
enum Event : uint16_t { kReadable = 1, kWritable = 4, kError = 8, kHangUp = 16, kNotOpen = 32,
                        kReadNormal = 64, kWriteNormal = 256 };
// clang-format on
constexpr uint32_t kPollRecord = 8;  // struct pollfd: descriptor, events that are asked for, events that are there

}  // namespace

/// The events that are there for a descriptor of the call's lane, whether they are asked for or not.
uint32_t SyscallServer::events_of(const Call& call, uint64_t descriptor) const {
  const int stream = stream_of(call, descriptor);
  if (stream < 0) return kNotOpen;
  if (stream >= kFirstOpening) return kReadable | kReadNormal | kWritable | kWriteNormal;
  if (stream != 0) return kWritable | kWriteNormal;
  const bool more = lanes_[call.lane].input_position < standard_input(call.lane).size();
  return kHangUp | (more ? kReadable | kReadNormal : 0u);
}

/// Ends a wait for which nothing is ready: argument number `timeout` points to how long it lasts. Returns the result.
int64_t SyscallServer::wait_in_vain(Call& call, unsigned timeout) {
  if (call.arguments[timeout] == 0) return -EDEADLK;  // Linux would wait forever
  int64_t result = -EFAULT;
  Call* one = &call;
  fetch_structures(Calls(&one, 1), timeout, kTimespecBytes, [&](Call&, std::span<const uint8_t> bytes) {
    const int64_t time = duration(bytes);  // valid, or the call would have failed before
    Lane& lane = lanes_[call.lane];
    lane.slept = std::min(lane.slept + static_cast<uint64_t>(time), kEndOfTime);
    // Linux stores the time that is left, if it can.
    (void)store_all(call, call.arguments[timeout], std::array<uint8_t, kTimespecBytes>{});
    result = 0;
  });
  return result;
}

/// The calls whose argument `timeout` is null or points to a valid struct timespec; the others fail.
std::vector<SyscallServer::Call*> SyscallServer::with_valid_timeout(Calls calls, unsigned timeout) {
  std::vector<Call*> good, timed;
  for (Call* call : calls) (call->arguments[timeout] == 0 ? good : timed).push_back(call);
  fetch_structures(timed, timeout, kTimespecBytes, [&](Call& call, std::span<const uint8_t> bytes) {
    call.result = -EINVAL;
    if (duration(bytes) >= 0) good.push_back(&call);
  });
  return good;
}

void SyscallServer::ppoll(Calls calls) {
  constexpr uint64_t kMaskBytes = 8;
  gather_more_arguments(calls);
  for (Call* call : with_valid_timeout(calls, 2)) {
    const uint64_t count = static_cast<uint32_t>(call->arguments[1]), size = count * kPollRecord;
    if (call->arguments[3] != 0 && call->arguments[4] != kMaskBytes) {
      call->result = -EINVAL;
    } else if (count > kMostFiles) {
      call->result = -EINVAL;
    } else if (accessible(call->lane, call->arguments[0], size, kRead) != size ||
               (call->arguments[3] != 0 &&
                accessible(call->lane, call->arguments[3], kMaskBytes, kRead) != kMaskBytes)) {
      call->result = -EFAULT;
    } else {
      poll_files(*call, count);
    }
  }
}

void SyscallServer::poll_files(Call& call, uint64_t count) {
  const auto size = static_cast<uint32_t>(count * kPollRecord);
  std::vector<uint8_t> records;
  int64_t ready = 0;
  std::vector<Transfer> transfer = {{call.lane, size, call.arguments[0], 0}};
  if (count != 0) {
    fetch(transfer, [&](size_t, std::span<const uint8_t> bytes) { records.assign(bytes.begin(), bytes.end()); });
  }
  for (uint64_t i = 0; i < count; i++) {
    int32_t descriptor;
    uint16_t wanted;
    std::memcpy(&descriptor, &records[i * kPollRecord], 4);
    std::memcpy(&wanted, &records[i * kPollRecord + 4], 2);
    const uint32_t there = descriptor < 0 ? 0 : events_of(call, static_cast<uint32_t>(descriptor));
    const auto events = static_cast<uint16_t>(there & (wanted | kError | kHangUp | kNotOpen));
    ready += events != 0;
    std::memcpy(&records[i * kPollRecord + 6], &events, 2);
  }
  call.result = ready != 0 ? ready : wait_in_vain(call, 2);
  if (call.result >= 0 && !store_all(call, call.arguments[0], records)) call.result = -EFAULT;
}

void SyscallServer::pselect6(Calls calls) {
  gather_more_arguments(calls);
  for (Call* call : with_valid_timeout(calls, 4)) {
    const auto count = static_cast<int32_t>(call->arguments[0]);
    if (count < 0) call->result = -EINVAL;
    else select_files(*call, std::min<uint64_t>(static_cast<uint64_t>(count), kMostFiles));
  }
}

void SyscallServer::select_files(Call& call, uint64_t count) {
  constexpr unsigned kSets = 3;  // arguments 1 to 3: descriptors to read from, to write to, with exceptional conditions
  constexpr uint32_t kEvents[kSets] = {kReadable | kHangUp | kError, kWritable | kError, 0};
  const uint64_t size = (count + 63) / 64 * 8;
  std::array<std::vector<uint8_t>, kSets> sets;
  for (unsigned s = 0; s < kSets; s++) {
    const uint64_t address = call.arguments[1 + s];
    if (address == 0 || size == 0) continue;
    if (accessible(call.lane, address, size, kRead) != size || accessible(call.lane, address, size, kWrite) != size) {
      call.result = -EFAULT;
      return;
    }
    std::vector<Transfer> transfer = {{call.lane, static_cast<uint32_t>(size), address, 0}};
    fetch(transfer, [&](size_t, std::span<const uint8_t> bytes) { sets[s].assign(bytes.begin(), bytes.end()); });
  }
  int64_t ready = 0;
  for (unsigned s = 0; s < kSets; s++) {
    for (uint64_t fd = 0; fd < sets[s].size() * 8; fd++) {
      const auto bit = static_cast<uint8_t>(1u << fd % 8);
      if (!(sets[s][fd / 8] & bit)) continue;
      const uint32_t there = fd < count ? events_of(call, fd) : 0;
      if (there == kNotOpen) {
        call.result = -EBADF;
        return;
      }
      if (there & kEvents[s]) ready++;
      else sets[s][fd / 8] &= static_cast<uint8_t>(~bit);
    }
  }
  call.result = ready != 0 ? ready : wait_in_vain(call, 4);
  if (call.result < 0) return;
  for (unsigned s = 0; s < kSets; s++) (void)store_all(call, call.arguments[1 + s], sets[s]);
}

}  // namespace myriarm::linux_process
