// SPDX-License-Identifier: Apache-2.0
// What a process is: the words of its kernel pages, and what the host tells all processes of a program. The kernel pages
// follow the guest's window in the lane's page table and allow the guest nothing, so that they are copied on write, saved
// in snapshots and restored as all other pages are.
#pragma once

#include "core/memory.h"
#include "core/portable.h"

namespace myriarm::kernel {

constexpr u32 kMostFiles = 1024;   // RLIMIT_NOFILE
constexpr u32 kMostRanges = 4096;  // like vm.max_map_count of Linux; changes that a full process may make need few more
constexpr u32 kSpareRanges = 16;
constexpr u32 kMostSignals = 64;
/// Signals that wait with their siginfo: so many (RLIMIT_SIGPENDING), and those up to 31, each of which waits at most twice,
/// for the thread and for the process.
constexpr u32 kMostQueued = 128;
constexpr u32 kQueueRecords = kMostQueued + 2 * 31;
constexpr u32 kQueueRecordBytes = 7 * 8;
constexpr u32 kIntervalTimers = 3;     // ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF
constexpr u32 kNameBytes = 16;         // of a thread's name, with the NUL
constexpr u32 kStartRandomBytes = 16;  // of its stream: AT_RANDOM has taken them

// The identity of the process, as auxv and system calls tell it.
constexpr u32 kUserId = 1000;
constexpr u32 kProcessId = 1000;
constexpr u32 kParentId = 1;

/// Where the words of a process lie, in bytes from the beginning of its kernel pages. What nearly every process changes
/// is in the first page.
enum Word : u32 {
  kBreakEnd = 0,
  kInputPosition = 8,    // in standard input
  kRandomPosition = 16,  // in its stream of random bytes
  kSlept = 24,           // nanoseconds that its clocks are ahead of its instruction count
  kBlocked = 32,         // signals: bit n - 1 is signal n
  kPending = 40,         // those sent to its thread
  kOutputSize = 48,      // bytes that it has written to standard output; the next word: to standard error
  kModeMask = 64,        // umask()
  kName = 72,            // of its thread: two words
  kRangeCount = 88,
  kOpeningCount = 96,
  kWorkingFolder = 104,  // a file of the tree
  kPendingShared = 112,  // signals sent to the process
  kQueuedSignals = 120,  // records in kSignalQueue
  kSavedMask = 128,      // what kBlocked becomes again when signals have been delivered, if kMaskIsSaved is not 0
  kMaskIsSaved = 136,
  kSignalStack = 144,   // as sigaltstack() gives it: address, size, flags
  kFaultAddress = 168,  // of the last fault, as a signal frame shows it, and its ESR_EL1, 0 if there is none
  kFaultSyndrome = 176,
  kTimers = 184,      // two words each: when it expires, 0 if never, and its interval
  kLayerPages = 232,  // of its layer that are mapped: layer.h
  /// By descriptor, 16 bits each: 0 nothing; n: stream n - 1.
  kFiles = 256,
  /// kRangeCount mappings in rising order: begin | flags of RangeFlag, then end.
  kRanges = kFiles + kMostFiles * 2,
  /// By signal, from 1 on, the kernel's struct sigaction: handler, flags, restorer, mask.
  kActions = kRanges + (kMostRanges + kSpareRanges) * 16,
  /// Positions in the file, one for each open(), or kClosed. Copies of a descriptor share theirs.
  kOpenings = kActions + kMostSignals * 32,
  /// What each opening is of, kInputOpened or a file of the tree: its number and 1, then flags of OpenedFlag.
  kOpened = kOpenings + kMostFiles * 8,
  /// kQueuedSignals records in the order in which they were sent: the first 48 bytes of a siginfo_t, then whether the
  /// signal was sent to the process.
  kSignalQueue = kOpened + kMostFiles * 8,
  kProcessBytes = kSignalQueue + kQueueRecords * kQueueRecordBytes,
};
// What lies before kFiles is in one page: a call that has made one of these words own may set all of them.
static_assert(kTimers + kIntervalTimers * 16 <= kLayerPages && kLayerPages < kFiles && kFiles < kPageSize);
constexpr u64 kInputOpened = 0;  // the input file
/// Behind them in the lane's page table lie those of its layer.
constexpr u64 kKernelPages = (kProcessBytes + kPageSize - 1) / kPageSize;
constexpr u64 kClosed = ~(u64)0;

/// Flags of a range, beside the permissions kPageReadable, kPageWritable and kPageExecutable. With no permission its
/// pages are in use, but every access faults.
enum RangeFlag : u32 {
  kAnonymous = 8,  // zeros, mapped by a system call; else a part of the program, its stack or its input file
  // Pages of a mapping behind the one in which the file ends, with no permissions: an access is a SIGBUS. mprotect() makes
  // them pages like others.
  kBehindFile = 16,
};

/// A stream that a descriptor refers to: the standard streams, then one for each open() of the input file or of a file of
/// the tree.
constexpr u32 kStandardInput = 0, kStandardOutput = 1, kStandardError = 2, kFirstOpening = 3;

/// Bytes that the host has given, in memory that the lane's device can read.
struct Bytes {
  const u8* data;
  u64 size;
};

/// What a lane's process has of its own from outside.
struct ProcessInput {
  u64 number;  // of the lane, or of the input that it works on: its random bytes depend on it
  Bytes standard_input;
  Bytes file;        // what the input file is; only with has_file
  u64 output_limit;  // bytes of each output stream; a write beyond them fails with ENOSPC
  u8 has_file;
  u8 on_host;  // its calls are served on the host: they are traced, or what it writes is passed on at once
};

constexpr u32 kPathBytes = 256;

/// What is the same for all processes of a program.
struct ProcessFacts {
  u64 window_begin, window_end;  // addresses of the guest
  u64 break_start;
  u64 heap_limit;  // mappings and the heap end here, below the stack's guard page
  u64 stack_bytes;
  u64 seed;
  u64 signal_return;  // code that makes the call rt_sigreturn, for handlers without a restorer; 0: there is none
  u64 layer_pages;    // the most that the files which a process has written may take; 0: its tree is read-only
  u32 path_bytes;
  char path[kPathBytes];  // of the program's file in the guest; zeros behind it

  bool operator==(const ProcessFacts&) const = default;
};

/// The file that ProcessInput::file is, in the root of a file system that has nothing else.
MYR_TABLE char kInputFileName[] = "input";
constexpr u32 kInputFileNameBytes = 5;

}  // namespace myriarm::kernel
