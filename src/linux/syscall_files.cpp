// SPDX-License-Identifier: Apache-2.0
// Calls on descriptors that do not move data: close, dup, fcntl, lseek, stat, readlink, ioctl. Only the three standard
// streams can be open, and the guest sees them as pipes: it cannot seek, and they are no terminal.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "linux/syscall_server.h"

namespace myriarm::linux_process {
namespace {

constexpr uint64_t kMostPathBytes = 4096;

}  // namespace

int SyscallServer::stream_of(const Call& call, uint64_t descriptor) const {
  const auto& files = lanes_[call.lane].files;
  const auto fd = static_cast<uint32_t>(descriptor);  // Linux reads 32 bits of the register
  return fd < files.size() ? files[fd] : -1;
}

/// Opens the lowest free descriptor from `lowest` on for a stream, and returns it, or -EMFILE.
int64_t SyscallServer::add_file(Call& call, int stream, uint64_t lowest) {
  auto& files = lanes_[call.lane].files;
  uint64_t fd = lowest;
  while (fd < files.size() && files[fd] >= 0) fd++;
  if (fd >= kMostFiles) return -EMFILE;
  if (fd >= files.size()) files.resize(fd + 1, -1);
  files[fd] = static_cast<int8_t>(stream);
  return static_cast<int64_t>(fd);
}

void SyscallServer::close(Calls calls) {
  for (Call* call : calls) {
    const bool open = stream_of(*call, call->arguments[0]) >= 0;
    call->result = open ? 0 : -EBADF;
    if (open) lanes_[call->lane].files[static_cast<uint32_t>(call->arguments[0])] = -1;
  }
}

void SyscallServer::dup(Calls calls) {
  for (Call* call : calls) {
    const int stream = stream_of(*call, call->arguments[0]);
    call->result = stream < 0 ? -EBADF : add_file(*call, stream, 0);
  }
}

void SyscallServer::dup3(Calls calls) {
  constexpr uint32_t kCloseOnExec = 02000000;
  for (Call* call : calls) {
    const int stream = stream_of(*call, call->arguments[0]);
    const auto from = static_cast<uint32_t>(call->arguments[0]), to = static_cast<uint32_t>(call->arguments[1]);
    if ((static_cast<uint32_t>(call->arguments[2]) & ~kCloseOnExec) || from == to) call->result = -EINVAL;
    else if (stream < 0 || to >= kMostFiles) call->result = -EBADF;
    else {
      auto& files = lanes_[call->lane].files;
      if (to >= files.size()) files.resize(to + 1, -1);
      files[to] = static_cast<int8_t>(stream);
      call->result = to;
    }
  }
}

void SyscallServer::fcntl(Calls calls) {
  // clang-format off
  enum Command : uint32_t { kDuplicate = 0, kGetDescriptorFlags = 1, kSetDescriptorFlags = 2, kGetFlags = 3,
                            kSetFlags = 4, kDuplicateCloseOnExec = 1030 };
  // clang-format on
  constexpr int64_t kReadOnly = 0, kWriteOnly = 1;
  std::vector<Call*> others;
  for (Call* call : calls) {
    const int stream = stream_of(*call, call->arguments[0]);
    if (stream < 0) {
      call->result = -EBADF;
      continue;
    }
    uint32_t lowest;
    switch (static_cast<uint32_t>(call->arguments[1])) {
      case kDuplicate:
      case kDuplicateCloseOnExec:
        lowest = static_cast<uint32_t>(call->arguments[2]);
        call->result = lowest >= kMostFiles ? -EINVAL : add_file(*call, stream, lowest);
        break;
      case kGetDescriptorFlags:  // there is no exec, so close-on-exec has no effect
      case kSetDescriptorFlags:
      case kSetFlags: call->result = 0; break;  // O_NONBLOCK has no effect: no call blocks
      case kGetFlags: call->result = stream == 0 ? kReadOnly : kWriteOnly; break;
      default: others.push_back(call);
    }
  }
  if (!others.empty()) unimplemented(others);
}

void SyscallServer::lseek(Calls calls) {
  for (Call* call : calls) call->result = stream_of(*call, call->arguments[0]) < 0 ? -EBADF : -ESPIPE;
}

void SyscallServer::ioctl(Calls calls) {
  // isatty() and the start-up code of C libraries make these requests; no descriptor is a terminal.
  constexpr uint32_t kGetTerminal = 0x5401, kGetWindowSize = 0x5413;  // TCGETS, TIOCGWINSZ
  std::vector<Call*> others;
  for (Call* call : calls) {
    const auto request = static_cast<uint32_t>(call->arguments[1]);
    if (stream_of(*call, call->arguments[0]) < 0) call->result = -EBADF;
    else if (request == kGetTerminal || request == kGetWindowSize) call->result = -ENOTTY;
    else others.push_back(call);
  }
  if (!others.empty()) unimplemented(others);
}

/// Stores the struct stat of a pipe, in the generic layout, at an address. Returns the call's result.
int64_t SyscallServer::status_of_file(Call& call, int stream, uint64_t address) {
  constexpr uint32_t kPipeForUser = 0010600;
  std::array<uint32_t, 32> status = {};
  status[0] = 12;                                 // st_dev: arbitrary
  status[2] = static_cast<uint32_t>(stream) + 1;  // st_ino
  status[4] = kPipeForUser;                       // st_mode
  status[5] = 1;                                  // st_nlink
  status[6] = status[7] = kUserId;                // st_uid, st_gid
  status[14] = kPageBytes;                        // st_blksize
  std::array<uint8_t, sizeof status> bytes;
  std::memcpy(bytes.data(), status.data(), sizeof status);
  return store_all(call, address, bytes) ? 0 : -EFAULT;
}

void SyscallServer::fstat(Calls calls) {
  for (Call* call : calls) {
    const int stream = stream_of(*call, call->arguments[0]);
    call->result = stream < 0 ? -EBADF : status_of_file(*call, stream, call->arguments[1]);
  }
}

void SyscallServer::with_paths(Calls calls, unsigned argument,
                               const std::function<void(Call&, const std::string& path)>& use) {
  std::vector<Transfer> transfers;
  std::vector<Call*> owners;
  for (Call* call : calls) {
    const uint64_t address = call->arguments[argument];
    const uint64_t size = accessible(call->lane, address, kMostPathBytes, kRead);
    call->result = -EFAULT;
    if (size == 0) continue;
    transfers.push_back({call->lane, static_cast<uint32_t>(size), address, 0});
    owners.push_back(call);
  }
  fetch(transfers, [&](size_t index, std::span<const uint8_t> bytes) {
    const auto end = std::find(bytes.begin(), bytes.end(), 0);
    if (end != bytes.end()) use(*owners[index], {bytes.begin(), end});
    else if (bytes.size() == kMostPathBytes) owners[index]->result = -ENAMETOOLONG;
  });
}

void SyscallServer::newfstatat(Calls calls) {
  constexpr uint32_t kNoFollow = 0x100, kNoAutomount = 0x800, kEmptyPath = 0x1000;
  gather_more_arguments(calls);
  std::vector<Call*> others;
  with_paths(calls, 1, [&](Call& call, const std::string& path) {
    const auto flags = static_cast<uint32_t>(call.arguments[3]);
    const int stream = stream_of(call, call.arguments[0]);
    if (flags & ~(kNoFollow | kNoAutomount | kEmptyPath)) call.result = -EINVAL;
    else if (!path.empty()) others.push_back(&call);
    else if (!(flags & kEmptyPath)) call.result = -ENOENT;
    else call.result = stream < 0 ? -EBADF : status_of_file(call, stream, call.arguments[2]);
  });
  if (!others.empty()) unimplemented(others);
}

void SyscallServer::readlinkat(Calls calls) {
  gather_more_arguments(calls);
  std::vector<Call*> others;
  with_paths(calls, 1, [&](Call& call, const std::string& path) {
    const auto room = static_cast<int32_t>(call.arguments[3]);
    if (room <= 0) {
      call.result = -EINVAL;
    } else if (path.empty()) {
      call.result = -ENOENT;
    } else if (path == "/proc/self/exe" || path == "/proc/" + std::to_string(kProcessId) + "/exe") {
      const size_t size = std::min(static_cast<size_t>(room), program_file_.size());
      const auto* first = reinterpret_cast<const uint8_t*>(program_file_.data());
      call.result = store_all(call, call.arguments[2], {first, size}) ? static_cast<int64_t>(size) : -EFAULT;
    } else {
      others.push_back(&call);
    }
  });
  if (!others.empty()) unimplemented(others);
}

}  // namespace myriarm::linux_process
