// SPDX-License-Identifier: Apache-2.0
#include "linux/input_calls.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

#include "myriarm/linux.h"

namespace myriarm::linux_process {
namespace {

enum class Call : uint32_t {
#define SYSCALL(number, name, place, handler, signature) name = number,
#include "kernel/syscalls.inc"
#undef SYSCALL
};

/// No folder but the root exists, so that a path which leads to the file ends with its name.
bool may_be_input_file(const Fleet& fleet, uint64_t address) {
  constexpr uint32_t kLongestPath = 4096;
  const std::vector<uint8_t> bytes = mapped_bytes(fleet, address, kLongestPath);
  const auto end = std::find(bytes.begin(), bytes.end(), 0);
  const std::string_view path(reinterpret_cast<const char*>(bytes.data()), static_cast<size_t>(end - bytes.begin()));
  const std::string_view file = kInputFile;
  return path.substr(path.rfind('/') + 1) == file.substr(file.rfind('/') + 1);
}

bool polls_standard_input(const Fleet& fleet, uint64_t records, uint64_t count) {
  constexpr uint64_t kRecordBytes = 8, kMost = 1024;  // more is an error
  const auto bytes = mapped_bytes(fleet, records, static_cast<uint32_t>(std::min(count, kMost) * kRecordBytes));
  for (size_t at = 0; at + kRecordBytes <= bytes.size(); at += kRecordBytes) {
    int32_t descriptor;
    std::memcpy(&descriptor, &bytes[at], sizeof descriptor);
    if (descriptor == 0) return true;
  }
  return false;
}

bool selects_standard_input(const Fleet& fleet, std::span<const uint64_t> sets) {
  return std::any_of(sets.begin(), sets.end(), [&](uint64_t set) {
    const std::vector<uint8_t> first = set == 0 ? std::vector<uint8_t>() : mapped_bytes(fleet, set, 1);
    return !first.empty() && (first[0] & 1) != 0;
  });
}

}  // namespace

// Until such a call was made, descriptor 0 alone can be standard input, and no descriptor is the input file. So status,
// positions and mappings of what is open are the same in all lanes.
std::vector<uint8_t> mapped_bytes(const Fleet& fleet, uint64_t address, uint32_t size) {
  std::vector<uint8_t> bytes(size);
  const Transfer transfer = {0, size, address, 0};
  uint32_t done = 0;
  fleet.read({&transfer, 1}, bytes, {&done, 1});
  bytes.resize(done);
  return bytes;
}

bool asks_for_input(const Fleet& fleet, uint32_t number, std::span<const uint64_t> arguments) {
  const bool first_is_input = static_cast<uint32_t>(arguments[0]) == 0;
  switch (static_cast<Call>(number)) {
    case Call::read:
    case Call::readv:
    case Call::dup:
    case Call::dup3: return first_is_input;
    case Call::fcntl: {
      constexpr uint32_t kDuplicate = 0, kDuplicateClosedOnExec = 1030;
      const auto command = static_cast<uint32_t>(arguments[1]);
      return first_is_input && (command == kDuplicate || command == kDuplicateClosedOnExec);
    }
    case Call::openat:
    case Call::faccessat:
    case Call::faccessat2:
    case Call::statx:
    case Call::newfstatat:
    case Call::readlinkat: return may_be_input_file(fleet, arguments[1]);
    case Call::ppoll: return polls_standard_input(fleet, arguments[0], static_cast<uint32_t>(arguments[1]));
    case Call::pselect6: return selects_standard_input(fleet, arguments.subspan(1, 3));
    default: return false;
  }
}

}  // namespace myriarm::linux_process
