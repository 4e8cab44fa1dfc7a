// SPDX-License-Identifier: Apache-2.0
#include "linux/syscall_text.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "support/text.h"

namespace myriarm::linux_process {
namespace {

constexpr uint64_t kMostShown = 32, kMostPath = 4096;
constexpr int64_t kLargestError = 4095;
constexpr uint64_t kCreate = 0100;  // O_CREAT

struct Bit {
  uint64_t value;
  const char* name;
};
// clang-format off
constexpr Bit kProtections[] = {{1, "PROT_READ"}, {2, "PROT_WRITE"}, {4, "PROT_EXEC"}};
constexpr Bit kMapFlags[] = {{1, "MAP_SHARED"}, {2, "MAP_PRIVATE"}, {0x10, "MAP_FIXED"}, {0x20, "MAP_ANONYMOUS"},
                             {0x100, "MAP_GROWSDOWN"}, {0x4000, "MAP_NORESERVE"}, {0x8000, "MAP_POPULATE"},
                             {0x20000, "MAP_STACK"}, {0x40000, "MAP_HUGETLB"}, {0x100000, "MAP_FIXED_NOREPLACE"}};
constexpr Bit kOpenFlags[] = {{1, "O_WRONLY"}, {2, "O_RDWR"}, {0100, "O_CREAT"}, {0200, "O_EXCL"}, {0400, "O_NOCTTY"},
                              {01000, "O_TRUNC"}, {02000, "O_APPEND"}, {04000, "O_NONBLOCK"}, {040000, "O_DIRECTORY"},
                              {0100000, "O_NOFOLLOW"}, {0400000, "O_LARGEFILE"}, {02000000, "O_CLOEXEC"},
                              {010000000, "O_PATH"}};
constexpr Bit kAccessModes[] = {{4, "R_OK"}, {2, "W_OK"}, {1, "X_OK"}};
constexpr const char* kOrigins[] = {"SEEK_SET", "SEEK_CUR", "SEEK_END", "SEEK_DATA", "SEEK_HOLE"};
constexpr const char* kClocks[] = {"CLOCK_REALTIME", "CLOCK_MONOTONIC", "CLOCK_PROCESS_CPUTIME_ID",
                                   "CLOCK_THREAD_CPUTIME_ID", "CLOCK_MONOTONIC_RAW", "CLOCK_REALTIME_COARSE",
                                   "CLOCK_MONOTONIC_COARSE", "CLOCK_BOOTTIME"};
// clang-format on

std::string bits_text(uint64_t value, std::span<const Bit> bits, const char* none) {
  std::string text;
  for (const Bit& bit : bits) {
    if (!(value & bit.value)) continue;
    text += (text.empty() ? "" : "|") + std::string(bit.name);
    value &= ~bit.value;
  }
  if (value != 0) text += (text.empty() ? "" : "|") + hex(value);
  return text.empty() ? none : text;
}

std::string choice_text(uint64_t value, std::span<const char* const> names) {
  return value < names.size() ? names[value] : std::to_string(static_cast<int32_t>(value));
}

std::string signal_text(uint64_t number) {
  const char* name = sigabbrev_np(static_cast<int>(number));
  return name == nullptr ? std::to_string(static_cast<int32_t>(number)) : "SIG" + std::string(name);
}

std::string error_text(int64_t error) {
  const int number = static_cast<int>(error);
  const char* name = strerrorname_np(number);
  const char* meaning = strerrordesc_np(number);
  if (name == nullptr || meaning == nullptr) return "-1 (error " + std::to_string(number) + ")";
  return "-1 " + std::string(name) + " (" + meaning + ")";
}

void append_escaped(std::string& text, uint8_t byte, bool digit_follows) {
  switch (byte) {
    case '"': text += "\\\""; return;
    case '\\': text += "\\\\"; return;
    case '\n': text += "\\n"; return;
    case '\r': text += "\\r"; return;
    case '\t': text += "\\t"; return;
    default: break;
  }
  if (byte >= ' ' && byte <= '~') {
    text += static_cast<char>(byte);
    return;
  }
  // Octal, as short as it can be read back.
  const bool full = digit_follows;
  if (full || byte >= 0100)
    text += {'\\', static_cast<char>('0' + (byte >> 6)), static_cast<char>('0' + (byte >> 3 & 7))};
  else if (byte >= 010) text += {'\\', static_cast<char>('0' + (byte >> 3))};
  else text += '\\';
  text += static_cast<char>('0' + (byte & 7));
}

std::string quoted(const ReadMemory& read, uint64_t address, uint64_t size, bool to_nul) {
  if (address == 0) return "NULL";
  std::vector<uint8_t> bytes = read(address, to_nul ? size : std::min(size, kMostShown));
  const auto end = to_nul ? std::find(bytes.begin(), bytes.end(), 0) : bytes.end();
  const bool whole = to_nul ? end != bytes.end() : bytes.size() == size;
  if (to_nul ? !whole : bytes.empty() && size != 0) return hex(address);
  bytes.erase(end, bytes.end());
  std::string text = "\"";
  for (size_t i = 0; i < bytes.size(); i++) {
    const bool digit_follows = i + 1 < bytes.size() && bytes[i + 1] >= '0' && bytes[i + 1] <= '7';
    append_escaped(text, bytes[i], digit_follows);
  }
  return text + (whole ? "\"" : "\"...");
}

}  // namespace

CallText::CallText(std::string name, const char* signature, const std::array<uint64_t, 6>& arguments,
                   const ReadMemory& read)
    : name_(std::move(name)), signature_(signature == nullptr ? "xxxxxx" : signature), arguments_(arguments) {
  for (size_t i = 0; i < signature_.size() && signature_[i] != '='; i++) {
    const char letter = signature_[i];
    before_.push_back(letter == 's' || letter == 'w' ? argument(letter, i, nullptr, read) : "");
  }
}

std::string CallText::returned(int64_t result, const ReadMemory& read) const { return text(&result, read); }
std::string CallText::ended() const { return text(nullptr, {}); }

std::string CallText::text(const int64_t* result, const ReadMemory& read) const {
  std::string line = name_ + "(";
  for (size_t i = 0; i < before_.size(); i++) {
    if (signature_[i] == 'm' && !(arguments_[i - 1] & kCreate)) continue;
    if (i != 0) line += ", ";
    line += before_[i].empty() ? argument(signature_[i], i, result, read) : before_[i];
  }
  line += ") = ";
  if (result == nullptr) return line + "?";
  if (*result < 0 && *result >= -kLargestError) return line + error_text(-*result);
  return line + (signature_.ends_with("=p") ? hex(static_cast<uint64_t>(*result)) : std::to_string(*result));
}

std::string CallText::argument(char letter, size_t index, const int64_t* result, const ReadMemory& read) const {
  const uint64_t value = arguments_[index];
  switch (letter) {
    case 'i': return std::to_string(static_cast<int32_t>(value));
    case 'u': return std::to_string(value);
    case 'p': return value == 0 ? "NULL" : hex(value);
    case 's': return quoted(read, value, kMostPath, true);
    case 'w': return quoted(read, value, arguments_[index + 1], false);
    case 'r':
      return result == nullptr || *result < 0 ? hex(value) : quoted(read, value, static_cast<uint64_t>(*result), false);
    case 'D': return static_cast<int32_t>(value) == -100 ? "AT_FDCWD" : std::to_string(static_cast<int32_t>(value));
    case 'O':
      return ((value & 3) == 0 ? "O_RDONLY" : "") + std::string((value & 3) == 0 && value != 0 ? "|" : "") +
             bits_text(value, kOpenFlags, "");
    case 'A': return bits_text(value, kAccessModes, "F_OK");
    case 'W': return choice_text(value, kOrigins);
    case 'P': return bits_text(value, kProtections, "PROT_NONE");
    case 'M': return bits_text(value, kMapFlags, "0");
    case 'C': return choice_text(value, kClocks);
    case 'S': return signal_text(value);
    default: return hex(value);
  }
}

}  // namespace myriarm::linux_process
