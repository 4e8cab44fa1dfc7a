// SPDX-License-Identifier: Apache-2.0
#include "linux/syscall_text.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "kernel/signal_numbers.h"
#include "support/text.h"

namespace myriarm::linux_process {
namespace {

constexpr uint64_t kMostShown = 32, kMostPath = 4096;
constexpr int64_t kLargestError = 4095;
constexpr uint64_t kCreate = 0100;  // O_CREAT

struct Name {
  uint64_t value;
  const char* name;
};
// clang-format off
constexpr Name kAccessModes[] = {{4, "R_OK"}, {2, "W_OK"}, {1, "X_OK"}};
constexpr Name kAdvice[] = {{0, "MADV_NORMAL"}, {1, "MADV_RANDOM"}, {2, "MADV_SEQUENTIAL"}, {3, "MADV_WILLNEED"},
                            {4, "MADV_DONTNEED"}, {8, "MADV_FREE"}, {9, "MADV_REMOVE"}, {10, "MADV_DONTFORK"},
                            {11, "MADV_DOFORK"}, {12, "MADV_MERGEABLE"}, {13, "MADV_UNMERGEABLE"},
                            {14, "MADV_HUGEPAGE"}, {15, "MADV_NOHUGEPAGE"}, {16, "MADV_DONTDUMP"},
                            {17, "MADV_DODUMP"}, {18, "MADV_WIPEONFORK"}, {19, "MADV_KEEPONFORK"}, {20, "MADV_COLD"},
                            {21, "MADV_PAGEOUT"}};
constexpr Name kClocks[] = {{0, "CLOCK_REALTIME"}, {1, "CLOCK_MONOTONIC"}, {2, "CLOCK_PROCESS_CPUTIME_ID"},
                            {3, "CLOCK_THREAD_CPUTIME_ID"}, {4, "CLOCK_MONOTONIC_RAW"}, {5, "CLOCK_REALTIME_COARSE"},
                            {6, "CLOCK_MONOTONIC_COARSE"}, {7, "CLOCK_BOOTTIME"}, {8, "CLOCK_REALTIME_ALARM"},
                            {9, "CLOCK_BOOTTIME_ALARM"}, {11, "CLOCK_TAI"}};
constexpr Name kCommands[] = {{0, "F_DUPFD"}, {1, "F_GETFD"}, {2, "F_SETFD"}, {3, "F_GETFL"}, {4, "F_SETFL"},
                              {5, "F_GETLK"}, {6, "F_SETLK"}, {7, "F_SETLKW"}, {8, "F_SETOWN"}, {9, "F_GETOWN"},
                              {1030, "F_DUPFD_CLOEXEC"}, {1031, "F_SETPIPE_SZ"}, {1032, "F_GETPIPE_SZ"}};
constexpr Name kDescriptorFlags[] = {{1, "FD_CLOEXEC"}};
constexpr Name kFutexOperations[] = {{0, "FUTEX_WAIT"}, {1, "FUTEX_WAKE"}, {3, "FUTEX_REQUEUE"},
                                     {4, "FUTEX_CMP_REQUEUE"}, {5, "FUTEX_WAKE_OP"}, {6, "FUTEX_LOCK_PI"},
                                     {7, "FUTEX_UNLOCK_PI"}, {8, "FUTEX_TRYLOCK_PI"}, {9, "FUTEX_WAIT_BITSET"}, {10, "FUTEX_WAKE_BITSET"}};
constexpr Name kHow[] = {{0, "SIG_BLOCK"}, {1, "SIG_UNBLOCK"}, {2, "SIG_SETMASK"}};
constexpr Name kMapFlags[] = {{1, "MAP_SHARED"}, {2, "MAP_PRIVATE"}, {0x10, "MAP_FIXED"}, {0x20, "MAP_ANONYMOUS"},
                              {0x100, "MAP_GROWSDOWN"}, {0x4000, "MAP_NORESERVE"}, {0x8000, "MAP_POPULATE"},
                              {0x20000, "MAP_STACK"}, {0x40000, "MAP_HUGETLB"}, {0x100000, "MAP_FIXED_NOREPLACE"}};
constexpr Name kOpenFlags[] = {{1, "O_WRONLY"}, {2, "O_RDWR"}, {0100, "O_CREAT"}, {0200, "O_EXCL"}, {0400, "O_NOCTTY"},
                               {01000, "O_TRUNC"}, {02000, "O_APPEND"}, {04000, "O_NONBLOCK"}, {040000, "O_DIRECTORY"},
                               {0100000, "O_NOFOLLOW"}, {0400000, "O_LARGEFILE"}, {02000000, "O_CLOEXEC"},
                               {010000000, "O_PATH"}};
constexpr Name kOptions[] = {{1, "PR_SET_PDEATHSIG"}, {2, "PR_GET_PDEATHSIG"}, {3, "PR_GET_DUMPABLE"},
                             {4, "PR_SET_DUMPABLE"}, {15, "PR_SET_NAME"}, {16, "PR_GET_NAME"}, {21, "PR_GET_SECCOMP"},
                             {22, "PR_SET_SECCOMP"}, {23, "PR_CAPBSET_READ"}, {24, "PR_CAPBSET_DROP"},
                             {29, "PR_SET_TIMERSLACK"}, {30, "PR_GET_TIMERSLACK"}, {38, "PR_SET_NO_NEW_PRIVS"},
                             {39, "PR_GET_NO_NEW_PRIVS"}, {41, "PR_SET_THP_DISABLE"}, {0x53564d41, "PR_SET_VMA"}};
constexpr Name kOrigins[] = {{0, "SEEK_SET"}, {1, "SEEK_CUR"}, {2, "SEEK_END"}, {3, "SEEK_DATA"}, {4, "SEEK_HOLE"}};
constexpr Name kPathFlags[] = {{0x100, "AT_SYMLINK_NOFOLLOW"}, {0x400, "AT_SYMLINK_FOLLOW"}, {0x800, "AT_NO_AUTOMOUNT"},
                               {0x1000, "AT_EMPTY_PATH"}};
constexpr Name kProtections[] = {{1, "PROT_READ"}, {2, "PROT_WRITE"}, {4, "PROT_EXEC"}};
constexpr Name kRandomFlags[] = {{1, "GRND_NONBLOCK"}, {2, "GRND_RANDOM"}, {4, "GRND_INSECURE"}};
constexpr Name kRemapFlags[] = {{1, "MREMAP_MAYMOVE"}, {2, "MREMAP_FIXED"}, {4, "MREMAP_DONTUNMAP"}};
constexpr Name kRequests[] = {{0x5401, "TCGETS"}, {0x5402, "TCSETS"}, {0x5403, "TCSETSW"}, {0x5404, "TCSETSF"},
                              {0x540f, "TIOCGPGRP"}, {0x5410, "TIOCSPGRP"}, {0x5413, "TIOCGWINSZ"},
                              {0x5414, "TIOCSWINSZ"}, {0x541b, "FIONREAD"}, {0x5421, "FIONBIO"}, {0x5450, "FIONCLEX"},
                              {0x5451, "FIOCLEX"}, {0x5452, "FIOASYNC"}};
constexpr Name kResources[] = {{0, "RLIMIT_CPU"}, {1, "RLIMIT_FSIZE"}, {2, "RLIMIT_DATA"}, {3, "RLIMIT_STACK"},
                               {4, "RLIMIT_CORE"}, {5, "RLIMIT_RSS"}, {6, "RLIMIT_NPROC"}, {7, "RLIMIT_NOFILE"},
                               {8, "RLIMIT_MEMLOCK"}, {9, "RLIMIT_AS"}, {10, "RLIMIT_LOCKS"}, {11, "RLIMIT_SIGPENDING"},
                               {12, "RLIMIT_MSGQUEUE"}, {13, "RLIMIT_NICE"}, {14, "RLIMIT_RTPRIO"},
                               {15, "RLIMIT_RTTIME"}};
constexpr Name kTimers[] = {{0, "ITIMER_REAL"}, {1, "ITIMER_VIRTUAL"}, {2, "ITIMER_PROF"}};
constexpr Name kTimerFlags[] = {{1, "TIMER_ABSTIME"}};
constexpr Name kWhose[] = {{0, "RUSAGE_SELF"}, {1, "RUSAGE_THREAD"}, {0xffffffff, "RUSAGE_CHILDREN"}};

/// What a letter of a signature stands for: one of the names, or, if `none` is given, bits, of which it is the text if
/// none is set.
struct Constants {
  char letter;
  std::span<const Name> names;
  const char* none = nullptr;
};
constexpr Constants kConstants[] = {
    {'A', kAccessModes, "F_OK"}, {'B', kAdvice}, {'C', kClocks}, {'E', kOpenFlags, "0"}, {'F', kCommands},
    {'G', kRandomFlags, "0"}, {'H', kHow}, {'I', kRequests}, {'K', kTimers}, {'L', kResources}, {'M', kMapFlags, "0"},
    {'N', kTimerFlags, "0"}, {'P', kProtections, "PROT_NONE"}, {'R', kOptions}, {'T', kPathFlags, "0"},
    {'V', kRemapFlags, "0"}, {'W', kOrigins}, {'Y', kWhose}};
// clang-format on

std::string bits_text(uint64_t value, std::span<const Name> bits, const char* none) {
  std::string text;
  for (const Name& bit : bits) {
    if (!(value & bit.value)) continue;
    text += (text.empty() ? "" : "|") + std::string(bit.name);
    value &= ~bit.value;
  }
  if (value != 0) text += (text.empty() ? "" : "|") + hex(value);
  return text.empty() ? none : text;
}

std::string choice_text(uint64_t value, std::span<const Name> names) {
  const auto number = static_cast<uint32_t>(value);
  for (const Name& choice : names) {
    if (number == choice.value) return choice.name;
  }
  constexpr uint32_t kCodes = 0x1000;  // large numbers are made of fields
  const auto with_sign = static_cast<int32_t>(number);
  return with_sign < static_cast<int32_t>(kCodes) ? std::to_string(with_sign) : hex(number);
}

std::string octal(uint64_t value) {
  std::string text;
  for (; value != 0; value >>= 3) text.insert(text.begin(), static_cast<char>('0' + (value & 7)));
  return "0" + text;
}

std::string open_flags_text(uint64_t value) {
  constexpr uint64_t kWriteOnly = 1, kReadWrite = 2;
  if (value & (kWriteOnly | kReadWrite)) return bits_text(value, kOpenFlags, "");
  return "O_RDONLY" + std::string(value == 0 ? "" : "|") + bits_text(value, kOpenFlags, "");
}

std::string futex_text(uint64_t value) {
  constexpr uint64_t kPrivate = 128, kRealtimeClock = 256;
  return choice_text(value & ~(kPrivate | kRealtimeClock), kFutexOperations) + (value & kPrivate ? "_PRIVATE" : "") +
         (value & kRealtimeClock ? "|FUTEX_CLOCK_REALTIME" : "");
}

/// What follows a command of fcntl(); empty if it has no argument.
std::string command_text(uint64_t command, uint64_t value) {
  enum Command : uint32_t { kGetDescriptorFlags = 1, kSetDescriptorFlags = 2, kGetFlags = 3, kSetFlags = 4 };
  switch (static_cast<uint32_t>(command)) {
    case kGetDescriptorFlags:
    case kGetFlags: return "";
    case kSetDescriptorFlags: return bits_text(value, kDescriptorFlags, "0");
    case kSetFlags: return open_flags_text(value);
    default: return std::to_string(static_cast<int32_t>(value));
  }
}

std::string signal_text(uint64_t number) {
  if (number >= kernel::kFirstRealTime && number <= 64)
    return "SIGRT_" + std::to_string(number - kernel::kFirstRealTime);
  const char* name = sigabbrev_np(static_cast<int>(number));
  return name == nullptr ? std::to_string(static_cast<int32_t>(number)) : "SIG" + std::string(name);
}

// si_code, as strace names it: those of any signal, and those of faults by signal.
constexpr Name kSignalCodes[] = {{0, "SI_USER"},           {0x80, "SI_KERNEL"},      {0xffffffff, "SI_QUEUE"},
                                 {0xfffffffe, "SI_TIMER"}, {0xfffffffd, "SI_MESGQ"}, {0xfffffffc, "SI_ASYNCIO"},
                                 {0xfffffffb, "SI_SIGIO"}, {0xfffffffa, "SI_TKILL"}};
constexpr Name kIllegalCodes[] = {{1, "ILL_ILLOPC"}};
constexpr Name kTrapCodes[] = {{1, "TRAP_BRKPT"}};
constexpr Name kBusCodes[] = {{1, "BUS_ADRALN"}, {2, "BUS_ADRERR"}};
constexpr Name kSegmentCodes[] = {{1, "SEGV_MAPERR"}, {2, "SEGV_ACCERR"}};

/// The names of the codes that a fault has; none for signals that are no faults.
std::span<const Name> fault_codes(uint32_t number) {
  switch (number) {
    case kernel::kSignalIllegal: return kIllegalCodes;
    case kernel::kSignalTrap: return kTrapCodes;
    case kernel::kSignalBus: return kBusCodes;
    case kernel::kSignalSegment: return kSegmentCodes;
    default: return {};
  }
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

std::string signal_line(std::span<const uint64_t, 6> information) {
  const auto number = static_cast<uint32_t>(information[0]);
  const auto code = static_cast<int32_t>(information[1]);
  const std::string name = signal_text(number);
  const bool fault = code > 0 && code < kernel::kByKernel && !fault_codes(number).empty();
  std::string text = "--- " + name + " {si_signo=" + name + ", si_code=" +
                     choice_text(static_cast<uint32_t>(code), fault ? fault_codes(number) : kSignalCodes);
  if (fault) {
    text += ", si_addr=" + (information[2] == 0 ? std::string("NULL") : hex(information[2]));
  } else if (code != kernel::kByKernel) {
    text += ", si_pid=" + std::to_string(static_cast<int32_t>(information[2])) +
            ", si_uid=" + std::to_string(static_cast<uint32_t>(information[2] >> 32));
    constexpr int32_t kQueued = -1;
    if (code == kQueued) {
      text += ", si_int=" + std::to_string(static_cast<int32_t>(information[3])) +
              ", si_ptr=" + (information[3] == 0 ? std::string("NULL") : hex(information[3]));
    }
  }
  return text + "} ---";
}

std::string killed_line(std::span<const uint64_t, 6> information) {
  return "+++ killed by " + signal_text(static_cast<uint32_t>(information[0])) + " +++";
}

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
    if (signature_[i] == 'f' && command_text(arguments_[i - 1], arguments_[i]).empty()) continue;
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
    case 'l': return std::to_string(static_cast<int64_t>(value));
    case 'u': return std::to_string(value);
    case 'p': return value == 0 ? "NULL" : hex(value);
    case 's': return quoted(read, value, kMostPath, true);
    case 'w': return quoted(read, value, arguments_[index + 1], false);
    case 'r':
      return result == nullptr || *result < 0 ? hex(value) : quoted(read, value, static_cast<uint64_t>(*result), false);
    case 'D': return static_cast<int32_t>(value) == -100 ? "AT_FDCWD" : std::to_string(static_cast<int32_t>(value));
    case 'S': return signal_text(value);
    case 'O': return open_flags_text(value);
    case 'U': return futex_text(value);
    case 'f': return command_text(arguments_[index - 1], value);
    case 'm':
    case 'o': return octal(value);
    default: break;
  }
  for (const Constants& constants : kConstants) {
    if (constants.letter != letter) continue;
    return constants.none ? bits_text(value, constants.names, constants.none) : choice_text(value, constants.names);
  }
  return hex(value);
}

}  // namespace myriarm::linux_process
