// SPDX-License-Identifier: Apache-2.0
// Who the process is: a user without privileges, the leader of its session and of its process group, in the root of a
// file system. Nothing of it can be changed but the mask of file modes and the thread's name.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "linux/syscall_server.h"

namespace myriarm::linux_process {
namespace {

constexpr uint32_t kUnchanged = ~uint32_t{0};  // of setreuid() and its relatives

bool is_self(uint64_t process) {
  const auto id = static_cast<uint32_t>(process);
  return id == 0 || id == kProcessId;
}

}  // namespace

void SyscallServer::process_id(Calls calls) {
  for (Call* call : calls) call->result = kProcessId;
}
void SyscallServer::parent_id(Calls calls) {
  for (Call* call : calls) call->result = kParentId;
}
void SyscallServer::user_id(Calls calls) {
  for (Call* call : calls) call->result = kUserId;
}
/// getpgid and getsid.
void SyscallServer::group_id(Calls calls) {
  for (Call* call : calls) call->result = is_self(call->arguments[0]) ? int64_t{kProcessId} : -ESRCH;
}
void SyscallServer::setpgid(Calls calls) {
  for (Call* call : calls) {
    if (static_cast<int32_t>(call->arguments[1]) < 0) call->result = -EINVAL;
    else call->result = is_self(call->arguments[0]) ? -EPERM : -ESRCH;  // it leads a session
  }
}
void SyscallServer::setsid(Calls calls) {
  for (Call* call : calls) call->result = -EPERM;
}
/// setuid and setgid.
void SyscallServer::set_id(Calls calls) {
  for (Call* call : calls) {
    const auto id = static_cast<uint32_t>(call->arguments[0]);
    call->result = id == kUserId ? 0 : id == kUnchanged ? -EINVAL : -EPERM;
  }
}
/// setreuid, setregid, setresuid and setresgid: two or three ids, each of which may stay as it is.
void SyscallServer::set_ids(Calls calls) {
  constexpr uint32_t kSetreuid = 145, kSetregid = 143;
  for (Call* call : calls) {
    const size_t count = call->number == kSetreuid || call->number == kSetregid ? 2 : 3;
    const auto may = [](uint64_t id) {
      return static_cast<uint32_t>(id) == kUserId || static_cast<uint32_t>(id) == kUnchanged;
    };
    call->result = std::all_of(call->arguments.begin(), call->arguments.begin() + count, may) ? 0 : -EPERM;
  }
}
/// getresuid and getresgid.
void SyscallServer::get_ids(Calls calls) {
  for (Call* call : calls) {
    std::array<uint8_t, sizeof kUserId> id;
    std::memcpy(id.data(), &kUserId, id.size());
    call->result = 0;
    for (size_t i = 0; i < 3 && call->result == 0; i++) {
      if (!store_all(*call, call->arguments[i], id)) call->result = -EFAULT;
    }
  }
}
void SyscallServer::getgroups(Calls calls) {
  // No group but its own, which Linux does not list.
  for (Call* call : calls) call->result = static_cast<int32_t>(call->arguments[0]) < 0 ? -EINVAL : 0;
}

void SyscallServer::umask(Calls calls) {
  constexpr uint64_t kModes = 0777;
  for (Call* call : calls) {
    Lane& lane = lanes_[call->lane];
    call->result = lane.mode_mask;
    lane.mode_mask = static_cast<uint16_t>(call->arguments[0] & kModes);
  }
}

void SyscallServer::getcwd(Calls calls) {
  constexpr std::array<uint8_t, 2> root = {'/', 0};
  for (Call* call : calls) {
    if (call->arguments[1] < root.size()) call->result = -ERANGE;
    else call->result = store_all(*call, call->arguments[0], root) ? int64_t{root.size()} : -EFAULT;
  }
}

void SyscallServer::prctl(Calls calls) {
  constexpr uint32_t kSetName = 15, kGetName = 16, kReadCapability = 23;
  constexpr uint64_t kCapabilities = 41;  // of Linux 6.1
  std::vector<Call*> others;
  for (Call* call : calls) {
    std::array<uint8_t, kNameBytes>& name = lanes_[call->lane].name;
    switch (static_cast<uint32_t>(call->arguments[0])) {
      case kGetName: call->result = store_all(*call, call->arguments[1], name) ? 0 : -EFAULT; break;
      case kSetName: set_name(*call); break;
      case kReadCapability: call->result = call->arguments[1] < kCapabilities ? 0 : -EINVAL; break;
      default: others.push_back(call);
    }
  }
  if (!others.empty()) unimplemented(others);
}

/// Reads up to the NUL, at most what fits in front of one.
void SyscallServer::set_name(Call& call) {
  const uint64_t size = accessible(call.lane, call.arguments[1], kNameBytes - 1, kRead);
  call.result = -EFAULT;
  if (size == 0) return;
  std::vector<Transfer> transfer = {{call.lane, static_cast<uint32_t>(size), call.arguments[1], 0}};
  fetch(transfer, [&](size_t, std::span<const uint8_t> bytes) {
    const auto end = std::find(bytes.begin(), bytes.end(), 0);
    if (end == bytes.end() && size < kNameBytes - 1) return;
    auto& name = lanes_[call.lane].name;
    name = {};
    std::copy(bytes.begin(), end, name.begin());
    call.result = 0;
  });
}

}  // namespace myriarm::linux_process
