// SPDX-License-Identifier: Apache-2.0
// Calls on paths, and those on descriptors that do not move data: open, close, dup, fcntl, lseek, stat, access, readlink,
// ioctl. There are the three standard streams, which the guest sees as pipes, and a lane's input file, if it has one.
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
  files[fd] = static_cast<int16_t>(stream);
  return static_cast<int64_t>(fd);
}

/// Makes the place of an opening free if no descriptor of the lane refers to it any more.
void SyscallServer::forget_opening(Lane& lane, int stream) {
  if (stream < kFirstOpening || std::find(lane.files.begin(), lane.files.end(), stream) != lane.files.end()) return;
  lane.openings[stream - kFirstOpening] = kClosed;
}

/// What a path leads to. If it is an error to follow it, sets the result of the call to that.
SyscallServer::Place SyscallServer::find_place(Call& call, const std::string& path) const {
  constexpr auto kHere = static_cast<uint32_t>(-100);  // AT_FDCWD; the working directory is the root
  if (path[0] != '/' && static_cast<uint32_t>(call.arguments[0]) != kHere) {
    call.result = stream_of(call, call.arguments[0]) < 0 ? -EBADF : -ENOTDIR;
    return Place::error;
  }
  // Nothing in the root is a folder, so that "." and ".." can only lead to the root.
  std::string_view rest = path;
  while (!rest.empty()) {
    const std::string_view part = rest.substr(0, rest.find('/'));
    if (!part.empty() && part != "." && part != "..") break;
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
  }
  if (rest.empty()) return Place::root;
  return has_input_file(call.lane) && rest == kInputFile + 1 ? Place::input_file : Place::nowhere;
}

void SyscallServer::openat(Calls calls) {
  constexpr uint32_t kAccess = 3, kCreate = 0100, kExclusive = 0200, kTruncate = 01000, kDirectory = 040000,
                     kPathOnly = 010000000;
  gather_more_arguments(calls);
  std::vector<Call*> others;
  with_paths(calls, 1, [&](Call& call, const std::string& path) {
    const auto flags = static_cast<uint32_t>(call.arguments[2]);
    const Place place = path.empty() ? Place::nowhere : find_place(call, path);
    if (place == Place::error) return;
    if (path.empty()) {
      call.result = -ENOENT;
    } else if (place != Place::input_file) {
      others.push_back(&call);
    } else if ((flags & (kCreate | kExclusive)) == (kCreate | kExclusive)) {
      call.result = -EEXIST;
    } else if (flags & kDirectory) {
      call.result = -ENOTDIR;
    } else if ((flags & kAccess) != 0 || (flags & kTruncate)) {
      call.result = -EACCES;
    } else if (flags & kPathOnly) {
      others.push_back(&call);
    } else {
      auto& openings = lanes_[call.lane].openings;
      const auto free = std::find(openings.begin(), openings.end(), kClosed);
      const auto index = free - openings.begin();
      call.result = add_file(call, kFirstOpening + static_cast<int>(index), 0);
      if (call.result < 0) return;
      if (free == openings.end()) openings.push_back(0);
      else *free = 0;
    }
  });
  if (!others.empty()) unimplemented(others);
}

void SyscallServer::faccessat(Calls calls) {
  constexpr uint32_t kMayExecute = 1, kMayRead = 4, kMayAll = 7;
  std::vector<Call*> others;
  with_paths(calls, 1, [&](Call& call, const std::string& path) {
    const auto mode = static_cast<uint32_t>(call.arguments[2]);
    const Place place = path.empty() ? Place::nowhere : find_place(call, path);
    if (mode & ~kMayAll) call.result = -EINVAL;
    else if (path.empty()) call.result = -ENOENT;
    else if (place == Place::root) call.result = mode & ~(kMayRead | kMayExecute) ? -EACCES : 0;
    else if (place == Place::input_file) call.result = mode & ~kMayRead ? -EACCES : 0;
    else if (place == Place::nowhere) others.push_back(&call);
  });
  if (!others.empty()) unimplemented(others);
}

void SyscallServer::close(Calls calls) {
  for (Call* call : calls) {
    const int stream = stream_of(*call, call->arguments[0]);
    call->result = stream >= 0 ? 0 : -EBADF;
    if (stream < 0) continue;
    lanes_[call->lane].files[static_cast<uint32_t>(call->arguments[0])] = -1;
    forget_opening(lanes_[call->lane], stream);
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
      const int replaced = files[to];
      files[to] = static_cast<int16_t>(stream);
      forget_opening(lanes_[call->lane], replaced);
      call->result = to;
    }
  }
}

void SyscallServer::fcntl(Calls calls) {
  // clang-format off
  enum Command : uint32_t { kDuplicate = 0, kGetDescriptorFlags = 1, kSetDescriptorFlags = 2, kGetFlags = 3,
                            kSetFlags = 4, kDuplicateCloseOnExec = 1030 };
  // clang-format on
  constexpr int64_t kReadOnly = 0, kWriteOnly = 1, kLargeFile = 0400000;
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
      case kGetFlags:
        call->result = stream == 0 ? kReadOnly : stream < kFirstOpening ? kWriteOnly : kReadOnly | kLargeFile;
        break;
      default: others.push_back(call);
    }
  }
  if (!others.empty()) unimplemented(others);
}

void SyscallServer::lseek(Calls calls) {
  enum Origin : uint32_t { kSet, kCurrent, kEnd, kData, kHole };
  for (Call* call : calls) {
    const int stream = stream_of(*call, call->arguments[0]);
    if (stream < kFirstOpening) {
      call->result = stream < 0 ? -EBADF : -ESPIPE;
      continue;
    }
    uint64_t& position = lanes_[call->lane].openings[stream - kFirstOpening];
    const uint64_t size = input_file(call->lane).size(), offset = call->arguments[1];
    uint64_t target = offset;  // positions are below 2^63, so that a sum wraps at most into the negative numbers
    switch (static_cast<uint32_t>(call->arguments[2])) {
      case kSet: break;
      case kCurrent: target += position; break;
      case kEnd: target += size; break;
      case kData:
      case kHole:
        call->result = -ENXIO;
        if (offset >= size) continue;
        if (static_cast<uint32_t>(call->arguments[2]) == kHole) target = size;
        break;
      default: call->result = -EINVAL; continue;
    }
    call->result = -EINVAL;
    if (static_cast<int64_t>(target) < 0) continue;
    position = target;
    call->result = static_cast<int64_t>(target);
  }
}

void SyscallServer::ioctl(Calls calls) {
  // No descriptor is a terminal. A few of the numbers of terminals are requests for all kinds of files.
  constexpr uint32_t kTerminal = 0x54;                                           // bits 15:8 of the request
  constexpr uint32_t kForAllFiles[] = {0x541b, 0x5421, 0x5450, 0x5451, 0x5452};  // FIONREAD, FIONBIO, FIONCLEX, ...
  std::vector<Call*> others;
  for (Call* call : calls) {
    const auto request = static_cast<uint32_t>(call->arguments[1]);
    if (stream_of(*call, call->arguments[0]) < 0) call->result = -EBADF;
    else if (request >> 8 == kTerminal &&
             std::find(std::begin(kForAllFiles), std::end(kForAllFiles), request) == std::end(kForAllFiles))
      call->result = -ENOTTY;
    else others.push_back(call);
  }
  if (!others.empty()) unimplemented(others);
}

/// Stores a struct stat, in the generic layout, at an address. Returns the call's result.
int64_t SyscallServer::store_status(Call& call, const FileStatus& file, uint64_t address) {
  constexpr uint64_t kBlockBytes = 512;
  const uint64_t blocks = (file.size + kBlockBytes - 1) / kBlockBytes;
  std::array<uint32_t, 32> status = {};
  status[0] = 12;                           // st_dev: arbitrary
  status[2] = file.number;                  // st_ino
  status[4] = file.mode;                    // st_mode
  status[5] = file.is_folder() ? 2 : 1;     // st_nlink
  status[6] = status[7] = kUserId;          // st_uid, st_gid
  std::memcpy(&status[12], &file.size, 8);  // st_size
  status[14] = kPageBytes;                  // st_blksize
  std::memcpy(&status[16], &blocks, 8);     // st_blocks
  std::array<uint8_t, sizeof status> bytes;
  std::memcpy(bytes.data(), status.data(), sizeof status);
  return store_all(call, address, bytes) ? 0 : -EFAULT;
}

/// Of what is behind an open descriptor.
SyscallServer::FileStatus SyscallServer::status_of(const Call& call, int stream) const {
  constexpr uint32_t kPipeForUser = 0010600;
  if (stream >= kFirstOpening) return status_of_input(call);
  return {static_cast<uint32_t>(stream) + 1, kPipeForUser, 0};
}
SyscallServer::FileStatus SyscallServer::status_of_input(const Call& call) const {
  constexpr uint32_t kReadableFile = 0100444;
  return {4, kReadableFile, input_file(call.lane).size()};
}

void SyscallServer::fstat(Calls calls) {
  for (Call* call : calls) {
    const int stream = stream_of(*call, call->arguments[0]);
    call->result = stream < 0 ? -EBADF : store_status(*call, status_of(*call, stream), call->arguments[1]);
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
    const uint64_t address = call.arguments[2];
    if (flags & ~(kNoFollow | kNoAutomount | kEmptyPath)) {
      call.result = -EINVAL;
    } else if (path.empty()) {
      if (!(flags & kEmptyPath)) call.result = -ENOENT;
      else call.result = stream < 0 ? -EBADF : store_status(call, status_of(call, stream), address);
    } else {
      switch (find_place(call, path)) {
        case Place::root: call.result = store_status(call, kRootStatus, address); break;
        case Place::input_file: call.result = store_status(call, status_of_input(call), address); break;
        case Place::nowhere: others.push_back(&call); break;
        case Place::error: break;
      }
    }
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
      const Place place = find_place(call, path);
      if (place == Place::root || place == Place::input_file) call.result = -EINVAL;  // no link
      else if (place == Place::nowhere) others.push_back(&call);
    }
  });
  if (!others.empty()) unimplemented(others);
}

}  // namespace myriarm::linux_process
