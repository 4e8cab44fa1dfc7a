// SPDX-License-Identifier: Apache-2.0
// Random code with system calls in it.
#include "generate/processes.h"

#include <cstring>
#include <string>

#include "engines/guest_words.h"

namespace myriarm {
namespace {

using Layout = ProcessLayout;

// What lies in the page of records, by offset.
constexpr u64 kPaths = 0, kPathRoom = 32, kBuffers = 0x100, kPolled = 0x200, kSelected = 0x300, kTimes = 0x400,
              kSignalSets = 0x500, kActions = 0x600;
constexpr const char* kPathTexts[] = {"/input",         "input", "./../input", "/",
                                      "/proc/self/exe", "",      "/elsewhere", "/input/"};

// The letters of GeneratedCall::arguments.
// clang-format off
enum Letter : char {
  kDescriptor = 'f', kOpened = 'o', kFolder = 'D', kBuffer = 'b', kSize = 's', kRecords = 'v', kFew = 'i', kPath = 't',
  kPlace = 'a', kLength = 'l', kProtection = 'r', kMapFlags = 'm', kRemapFlags = 'M', kAdvice = 'd', kBreak = 'B',
  kOffset = 'p', kOrigin = 'w', kCloexec = 'c', kCommand = 'C', kRequest = 'R', kPolls = 'P', kSets = 'S', kTime = 'T',
  kClock = 'k', kSmall = 'n', kSignal = 'g', kMask = 'q', kAction = 'A', kEight = '8', kHow = 'h', kIdentity = 'I',
  kProcess = 'y', kZero = '0', kAnonymous = 'z', kOption = 'x',
};
// clang-format on

constexpr GeneratedCall kCalls[] = {
    {"read", 63, "fbs", 10},
    {"readv", 65, "fvi", 4},
    {"pread64", 67, "obsp", 3},
    {"write", 64, "fbs", 10},
    {"writev", 66, "fvi", 4},
    {"lseek", 62, "opw", 4},
    {"dup", 23, "f", 3},
    {"dup3", 24, "ffc", 3},
    {"close", 57, "o", 3},
    {"fcntl", 25, "fCn", 3},
    {"ioctl", 29, "fRb", 1},
    {"fstat", 80, "fb", 3},
    {"openat", 56, "Dt00", 4},
    {"faccessat", 48, "Dtn", 1},
    {"newfstatat", 79, "Dtb0", 2},
    {"readlinkat", 78, "Dtbs", 1},
    {"ppoll", 73, "PiT0", 2},
    {"pselect6", 72, "nSSST0", 2},
    {"brk", 214, "B", 6},
    {"mmap", 222, "alrmz0", 14},
    {"mmap of a file", 222, "alrmop", 3},
    {"munmap", 215, "al", 6},
    {"mprotect", 226, "alr", 8},
    {"mremap", 216, "allMa", 4},
    {"madvise", 233, "ald", 3},
    {"clock_gettime", 113, "kb", 5},
    {"clock_getres", 114, "kb", 1},
    {"gettimeofday", 169, "bb", 1},
    {"nanosleep", 101, "Tb", 1},
    {"clock_nanosleep", 115, "knTb", 1},
    {"getrusage", 165, "nb", 1},
    {"futex", 98, "bnnT00", 1},
    {"getrandom", 278, "bsn", 4},
    {"uname", 160, "b", 1},
    {"sysinfo", 179, "b", 1},
    {"getrlimit", 163, "nb", 1},
    {"prlimit64", 261, "yn0b", 1},
    {"sched_getaffinity", 123, "ysb", 1},
    {"rt_sigprocmask", 135, "hqb8", 4},
    {"rt_sigaction", 134, "gAb8", 3},
    {"rt_sigpending", 136, "bn", 1},
    {"kill", 129, "yg", 2},
    {"tkill", 130, "yg", 1},
    {"umask", 166, "n", 2},
    {"getcwd", 17, "bs", 1},
    {"prctl", 167, "xb", 2},
    {"getpid", 172, "", 1},
    {"getresuid", 148, "bbb", 1},
    {"setresuid", 147, "III", 1},
    {"getgroups", 158, "nb", 1},
    {"set_tid_address", 96, "b", 1},
    {"set_robust_list", 99, "bs", 1},
    {"pipe2", 59, "bc", 4},
    {"eventfd2", 19, "nc", 2},
    {"timerfd_create", 85, "kc", 1},
    {"timerfd_settime", 86, "onTb", 2},
    {"epoll_create1", 20, "c", 1},
    {"epoll_ctl", 21, "onob", 3},
    {"epoll_pwait", 22, "obnn00", 2},
    {"socketpair", 199, "nn0b", 1},
    {"close_range", 436, "ff0", 1},
    {"setrlimit", 164, "nb", 1},
    {"personality", 92, "n", 1},
    {"times", 153, "b", 1},
    {"not implemented", 1000, "nn", 1},
    {"exit_group", 94, "n", 1},
};

template <class T, size_t kCount>
T one_of(Random& random, const T (&values)[kCount]) {
  return values[random.below(kCount)];
}

u64 pages(Random& random, u64 count) { return random.below(count) * kPageBytes; }

/// Somewhere in memory that is mostly mapped and writable.
u64 buffer(Random& random) {
  switch (random.below(16)) {
    case 0: return Layout::constant + random.below(kPageBytes);
    case 1: return Layout::records + random.below(Layout::records_bytes);
    case 2: return Layout::stack + random.below(Layout::stack_bytes);
    case 3: return Layout::arena + pages(random, 16) - random.below(9);
    case 4: return Layout::break_start + random.below(4 * kPageBytes);
    case 5: return Layout::data + random.below(Layout::data_bytes);
    default: return Layout::data + random.below(Layout::data_bytes - 256);
  }
}
u64 size(Random& random) {
  if (random.one_in(40)) return random.edge(64);
  return random.one_in(8) ? random.below(3 * kPageBytes) : random.below(40);
}
u64 descriptor(Random& random) { return random.one_in(12) ? random.edge(32) : random.below(7); }

u64 argument(Random& random, char letter) {
  if (random.one_in(60)) return random.edge(64);
  switch (letter) {
    case kDescriptor: return descriptor(random);
    case kOpened: return random.one_in(12) ? descriptor(random) : 3 + random.below(4);
    case kFolder: return random.one_in(8) ? descriptor(random) : 0xFFFFFF9C /* AT_FDCWD */;
    case kBuffer: return buffer(random);
    case kSize: return size(random);
    case kRecords: return Layout::records + kBuffers + random.below(8) * 16;
    case kFew: return random.below(6);
    case kPath: return Layout::records + kPaths + random.below(std::size(kPathTexts)) * kPathRoom;
    case kPlace:
      if (random.one_in(50)) return Layout::code + pages(random, Layout::window_bytes / kPageBytes + 2);
      switch (random.below(10)) {
        case 0: return 0;
        case 1: return Layout::break_start + pages(random, 24);
        case 2: return Layout::arena + random.below(Layout::arena_bytes);
        default: return Layout::arena + pages(random, 16);
      }
    case kLength: return random.one_in(8) ? size(random) : kPageBytes * (1 + random.below(4)) - random.below(2);
    case kProtection: return random.one_in(12) ? random.edge(32) : random.one_in(2) ? 3 : random.below(8);
    case kMapFlags:
      return one_of(random, {0x22ull, 0x22ull, 0x32ull, 0x32ull, 0x32ull, 0x21ull, 0x100022ull, 0x23ull}) ^
             (random.one_in(40) ? random.edge(20) : 0);
    case kRemapFlags: return one_of(random, {0ull, 1ull, 1ull, 3ull, 3ull, 2ull});
    case kAdvice: return one_of(random, {4ull, 4ull, 4ull, 0ull, 8ull, 100ull});
    case kBreak: return random.one_in(6) ? 0 : Layout::break_start + random.below(8 * kPageBytes);
    case kOffset: return one_of(random, {random.below(300), kPageBytes * random.below(3), ~random.below(20)});
    case kOrigin: return random.below(6);
    case kCloexec: return one_of(random, {0ull, 02000000ull});
    case kCommand: return one_of(random, {0ull, 1ull, 2ull, 3ull, 4ull, 1030ull, 5ull});
    case kRequest: return one_of(random, {0x5401ull, 0x541bull, 0x8912ull});
    case kPolls: return Layout::records + kPolled + random.below(8) * 8;
    case kSets: return random.one_in(3) ? 0 : Layout::records + kSelected + random.below(4) * 8;
    case kTime: return random.one_in(6) ? 0 : Layout::records + kTimes + random.below(5) * 16;
    case kClock: return random.below(13);
    case kSignal: return one_of(random, {0ull, 17ull, 18ull, 23ull, 28ull, 10ull, 13ull, 65ull});
    case kMask: return random.one_in(4) ? 0 : Layout::records + kSignalSets + random.below(4) * 8;
    case kAction: return random.one_in(3) ? 0 : Layout::records + kActions + random.below(3) * 32;
    case kEight: return 8;
    case kHow: return random.below(4);
    case kIdentity: return one_of(random, {1000ull, ~0ull, 0ull});
    case kProcess: return one_of(random, {0ull, 1000ull, 1000ull, 7ull});
    case kAnonymous: return ~u64{0};
    case kOption: return one_of(random, {15ull, 16ull, 16ull, 23ull, 4ull});
    case kSmall: return random.below(70);
    default: return 0;
  }
}

void load_constant(std::vector<u32>& code, u32 reg, u64 value) {
  const auto part = [&](u32 shift) { return static_cast<u32>(value >> shift) & 0xFFFF; };
  code.push_back(guest::movz(reg, part(0)));
  for (u32 shift : {16u, 32u, 48u}) {
    if (part(shift) != 0) code.push_back(guest::movk(reg, part(shift), shift));
  }
}

/// Sets the registers and makes the call. Some arguments take the lane's own small numbers, so that lanes differ in what
/// they ask for, and some results become addresses.
void append_call(Random& random, const GeneratedCall& call, std::vector<u32>& code) {
  constexpr u32 kOffsets = 24, kAddresses = 16;  // the first registers of RegisterRoles::offsets and addresses
  u32 reg = 0;
  for (const char* letter = call.arguments; *letter != 0; letter++, reg++) {
    load_constant(code, reg, argument(random, *letter));
    const u32 own = kOffsets + static_cast<u32>(random.below(3));
    if ((*letter == kSize || *letter == kBuffer || *letter == kBreak) && random.one_in(4)) {
      code.push_back(guest::add_register(reg, reg, own));
    } else if (*letter == kPlace && random.one_in(4)) {
      code.push_back(guest::add_register(reg, reg, own) | 12 << 10);  // pages
    }
  }
  load_constant(code, 8, call.number);
  code.push_back(guest::svc(0));
  const bool maps =
      std::strchr(call.arguments, kPlace) != nullptr && std::strchr(call.arguments, kAnonymous) != nullptr;
  if (maps && random.one_in(4)) {
    code.push_back(guest::tbnz(0, 63, 2));  // an error
    code.push_back(guest::add(kAddresses + static_cast<u32>(random.below(8)), 0, 0));
  } else {
    code.push_back(guest::eor_register(14, 14, 0));  // what the call gave has an effect on all that follows
  }
}

const GeneratedCall& draw_call(Random& random) {
  u64 total = 0;
  for (const GeneratedCall& call : kCalls) total += call.weight;
  u64 at = random.below(total);
  const GeneratedCall* call = kCalls;
  while (at >= call->weight) at -= (call++)->weight;
  return *call;
}

void put(std::vector<u8>& bytes, u64 offset, u64 word) { std::memcpy(&bytes[offset], &word, sizeof word); }

std::vector<u8> record_bytes(Random& random) {
  std::vector<u8> bytes(Layout::records_bytes);
  for (size_t i = 0; i < std::size(kPathTexts); i++) {
    std::memcpy(&bytes[kPaths + i * kPathRoom], kPathTexts[i], std::strlen(kPathTexts[i]) + 1);
  }
  for (u64 i = 0; i < 16; i++) {
    put(bytes, kBuffers + i * 16, buffer(random));
    put(bytes, kBuffers + i * 16 + 8, random.below(20));
    put(bytes, kPolled + i * 8, random.below(6) | random.below(8) << 32);
    put(bytes, kSelected + i * 8, random.below(8));
  }
  const u64 times[][2] = {{0, 5}, {1, 0}, {0, 1'000'000'000}, {~u64{0} >> 1, 999'999'999}, {3, 77}, {0, 0}};
  for (size_t i = 0; i < std::size(times); i++) {
    put(bytes, kTimes + i * 16, times[i][0]);
    put(bytes, kTimes + i * 16 + 8, times[i][1]);
  }
  for (u64 i = 0; i < 8; i++) put(bytes, kSignalSets + i * 8, random.edge(64));
  for (u64 i = 0; i < 3; i++) {
    put(bytes, kActions + i * 32, i == 2 ? Layout::code : i);  // default, ignored, a handler
    put(bytes, kActions + i * 32 + 24, random.edge(64));
  }
  return bytes;
}

std::vector<u8> random_bytes(Random& random, u64 count) {
  std::vector<u8> bytes(count);
  for (u8& byte : bytes) byte = static_cast<u8>(random.next());
  return bytes;
}

}  // namespace

std::span<const GeneratedCall> generated_calls() { return kCalls; }

std::vector<u16> process_rows() {
  constexpr u16 kOneIn = 40;  // there are many, and in some programs all lanes would end at the first of them
  std::vector<u16> rows = generatable_rows();
  std::erase_if(rows, [](u16 row) {
    const std::string_view group = kRowInfos[row].group;
    const bool aligned = is_exclusive_row(row) || group == "memop" || group == "ldstord" ||
                         group.starts_with("comswap") || group.starts_with("ldapstl");
    const std::string_view syntax = kRowInfos[row].syntax;
    const bool system = syntax.starts_with("mrs ") || syntax.starts_with("msr ") || syntax.starts_with("sys") ||
                        syntax.starts_with("udf ");
    return system || is_exception_row(row) || is_indirect_branch_row(row) || group.starts_with("loadlit") ||
           (aligned && row % kOneIn != 0);
  });
  return rows;
}

RandomProcess random_process(Random& random, const BlockGenerator& generator) {
  RandomProcess made;
  BlockOptions block;
  block.branches_in_100 = 6;
  block.memory_in_100 = 15;
  block.steady = true;
  std::vector<u32> code;
  constexpr size_t kRoom = 24;  // words of the longest call and of the way back
  for (;;) {
    std::vector<u32> piece;
    block.length = 1 + static_cast<u32>(random.below(10));
    // The address registers may have been lost.
    for (int i = 0; i < 2; i++) {
      load_constant(piece, 16 + static_cast<u32>(random.below(8)), first_value(random, 16));
    }
    generator.append(random, block, piece);
    piece.pop_back();  // the HLT
    append_call(random, draw_call(random), piece);
    if ((code.size() + piece.size() + kRoom) * 4 > Layout::code_bytes) break;
    made.starts.push_back(Layout::code + code.size() * 4);
    code.insert(code.end(), piece.begin(), piece.end());
  }
  code.push_back(guest::b(-static_cast<i32>(code.size())));
  Program& program = made.program;
  program.name = "process";
  program.entry = Layout::code;
  program.stack_pointer = Layout::end - 64;
  std::vector<u8> words(code.size() * 4);
  std::memcpy(words.data(), code.data(), words.size());
  program.segments = {{Layout::code, Layout::code_bytes, kRead | kExecute, std::move(words)},
                      {Layout::data, Layout::data_bytes, kRead | kWrite, random_bytes(random, Layout::data_bytes)},
                      {Layout::records, Layout::records_bytes, kRead | kWrite, record_bytes(random)},
                      {Layout::constant, kPageBytes, kRead, random_bytes(random, kPageBytes)}};
  for (u64 at = Layout::arena; at < Layout::break_start; at += 2 * kPageBytes) {
    program.segments.push_back({at, kPageBytes, kRead | kWrite, random_bytes(random, 100)});
  }
  program.segments.push_back({Layout::stack, Layout::stack_bytes, kRead | kWrite, {}});
  program.process = ProcessStart{Layout::break_start, Layout::heap_limit, Layout::stack_bytes, "/program"};
  return made;
}

u64 first_value(Random& random, u32 n) {
  const RegisterRoles roles;
  if (n == 31) return Layout::data + 1024 + (random.below(kPageBytes) & ~u64{15});
  if (roles.addresses >> n & 1) {
    return Layout::data + 512 + (random.below(Layout::data_bytes - 1024) & ~u64{random.one_in(16) ? 0u : 15u});
  }
  if (roles.offsets >> n & 1) return random.below(24);
  if (n == roles.code) return Layout::code + 4 * random.below(64);
  return random.edge(64);
}

}  // namespace myriarm
