// SPDX-License-Identifier: Apache-2.0
// What a process is, and a lane with several: the words of its kernel pages, and what the host tells all processes of a program. The kernel pages
// follow the guest's window in the lane's page table and allow the guest nothing, so that they are copied on write, saved
// in snapshots and restored as all other pages are.
#pragma once

#include "core/memory.h"
#include "core/portable.h"

namespace myriarm::kernel {

constexpr u32 kMostFiles = 1024;     // descriptors of a process: the hard RLIMIT_NOFILE
constexpr u32 kMostOpenings = 1024;  // open file descriptions
constexpr u32 kMostObjects = 1024;   // pipes, timers and their like: objects.h
constexpr u32 kMostTimers = 64;      // of timer_create()
constexpr u32 kMostFileLocks = 127;  // of all processes of a lane; their table is a page
constexpr u32 kFileLockBytes = 32;
constexpr u32 kLimits = 16;        // RLIMIT_*
constexpr u32 kMostRanges = 4096;  // like vm.max_map_count of Linux; changes that a full process may make need few more
constexpr u32 kSpareRanges = 16;
constexpr u32 kMostMappings = 128;  // of files, that are no copies
constexpr u32 kMappingBytes = 32;
constexpr u32 kMostSignals = 64;
/// Signals that wait with their siginfo: so many (RLIMIT_SIGPENDING), and those up to 31, each of which waits at most twice,
/// for the thread and for the process, and those of timers.
constexpr u32 kMostQueued = 128;
constexpr u32 kQueueRecords = kMostQueued + 2 * 31 + kMostTimers;
constexpr u32 kQueueRecordBytes = 7 * 8;
constexpr u32 kIntervalTimers = 3;     // ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF
constexpr u32 kNameBytes = 16;         // of a thread's name, with the NUL
constexpr u32 kStartRandomBytes = 16;  // of its stream: AT_RANDOM has taken them
constexpr u32 kMostThreads = 128;      // RLIMIT_NPROC
constexpr u32 kThreadHeadBytes = 80, kThreadRecordBytes = 1024;
constexpr u32 kMostProcesses = 64;  // in a lane
constexpr u32 kProcessRecordBytes = 128;

// The identity of the process, as auxv and system calls tell it.
constexpr u32 kUserId = 1000;
constexpr u32 kProcessId = 1000;
constexpr u32 kParentId = 1;

/// Where words lie, in bytes from the beginning of the kernel pages. What nearly every process changes is in the first page.
enum Word : u32 {
  /// The lane's words. They lie in the first page of the process that runs, and go with the lane: process_table.h.
  kRandomPosition = 0,  // in its stream of random bytes
  kInputPosition = 8,   // in standard input
  kSlept = 16,          // nanoseconds that its clocks are ahead of its instruction count
  kOutputSize = 24,     // bytes written to standard output; the next word: to standard error
  kOpeningCount = 40,
  kLayerPages = 48,  // of its layer that are mapped: layer.h
  // Its threads: threads.h. All are 0 until there is a second one.
  kThreads = 56,        // that have not left
  kThreadSlots = 64,    // of kThreadHeads that were in use
  kCurrentThread = 72,  // the slot of the one that runs
  kReadyThreads = 80,   // others that could run
  kSliceEnd = 88,       // the count of instructions at which one of these goes on
  kNextWake = 96,       // nothing that waits for the clocks comes before; kNever
  kNewestTicket = 104,
  kNewestThread = 112,     // its id
  kProcessSlots = 120,     // of kProcesses that were in use; 0 until there is a second process
  kCurrentProcess = 128,   // the slot of the one that runs
  kReservedBuffers = 136,  // pages of the layer that are kept for pipes: pipes.h
  kObjectCount = 144,      // records in kObjects, some of them free
  kObjectsMade = 152,      // ever: they number them
  kOpeningsMade = 160,
  kLaneWordsEnd = 168,

  /// The words of a process.
  kBreakEnd = kLaneWordsEnd,
  kModeMask = 176,  // umask()
  kRangeCount = 184,
  kWorkingFolder = 192,   // a file of the tree
  kPendingShared = 200,   // signals sent to the process
  kQueuedSignals = 208,   // records in kSignalQueue
  kTimers = 216,          // two words each: when it expires, 0 if never, and its interval
  kBarriers = 264,        // what membarrier() has registered
  kProcess = 272,         // its id; 0: kProcessId
  kProcessThreads = 280,  // that have not left; 0: one
  kEnding = 288,          // what ends it and 1, from then on until it has ended
  kAway = 296,            // instructions that the lane has retired while others ran
  kLeftAt = 304,          // if it does not run, the count at which it last did
  kChildrenRan = 312,     // instructions of children that it has waited for
  // When the first of the timers of timer_create() expires, 0 if none does: of those on clocks that count sleep, and the others.
  kNextTimer = 320,
  kNextWorkTimer = 328,
  kTimerCount = 336,   // of these timers, some of them free
  kSignalsSent = 344,  // ever
  kPersonality = 352,
  kProcessFlags = 360,  // ProcessFlag
  // Of its program:
  kBreakStart = 368,
  kHeapLimit = 376,
  kSignalReturn = 384,     // code that makes the call rt_sigreturn, for handlers without a restorer; 0: there is none
  kProgramPathSize = 392,  // of kProgramPath
  // Of mappings of files that are no copies: file_mappings.h.
  kMappingCount = 400,
  kGrowthsSeen = 408,  // kGrowths of the layer, when they were last looked at

  /// The words of the thread that runs. Those of the others are in kThreadRecords.
  kThreadWords = 416,
  kThread = kThreadWords,   // its id; 0: that of the process, whose first thread it is
  kBlocked = kThread + 8,   // signals: bit n - 1 is signal n
  kPending = kBlocked + 8,  // those sent to it
  kName = kPending + 8,     // two words
  kSavedMask = kName + 16,  // what kBlocked becomes again when signals have been delivered, if kMaskIsSaved is not 0
  kMaskIsSaved = kSavedMask + 8,
  kSignalStack = kMaskIsSaved + 8,  // as sigaltstack() gives it: address, size, flags
  kFaultAddress =
      kSignalStack + 24,  // of its last fault, as a signal frame shows it, and its ESR_EL1, 0 if there is none
  kFaultSyndrome = kFaultAddress + 8,
  kWaitState = kFaultSyndrome + 8,  // a WaitState
  /// Of a call that has waited and is made again (waiting.h): the time by the clocks at which its wait ends, 0 if none was made;
  /// and what it has moved.
  kWaitEnd = kWaitState + 8,
  kWaitDone = kWaitEnd + 8,
  kClearThread = kWaitDone + 8,  // where its id becomes 0 when it leaves (set_tid_address()); 0: nowhere
  kRobustList = kClearThread + 8,
  kNice = kRobustList + 8,
  kPolicy = kNice + 8,         // of scheduling, with SCHED_RESET_ON_FORK
  kThreadRan = kPolicy + 8,    // instructions that it has retired before it began to run the last time
  kRunBegan = kThreadRan + 8,  // the count of instructions at which it did that
  kThreadWordsEnd = kRunBegan + 8,

  /// By resource, what setrlimit() has set: the soft and the hard limit and 1, 0 if it has not.
  kLimitWords = kThreadWordsEnd,
  kProgramPath = kLimitWords + kLimits * 16,  // of its program's file in the guest, kPathBytes
  /// By descriptor, 16 bits each: 0 nothing; n: stream n - 1; and kCloseOnExec.
  kFiles = kProgramPath + 256,
  /// kRangeCount mappings in rising order: begin | flags of RangeFlag, then end.
  kRanges = kFiles + kMostFiles * 2,
  /// By signal, from 1 on, the kernel's struct sigaction: handler, flags, restorer, mask.
  kActions = kRanges + (kMostRanges + kSpareRanges) * 16,
  /// kQueuedSignals records in the order in which they were sent: the first 48 bytes of a siginfo_t, then the id of the thread
  /// to which the signal was sent, 0: to the process, and above it the timer that sent it, and 1.
  kSignalQueue = kActions + kMostSignals * 32,
  /// Timers of timer_create(): posix_timers.h.
  kPosixTimers = (kSignalQueue + kQueueRecords * kQueueRecordBytes + 63) / 64 * 64,
  kPosixTimersEnd = kPosixTimers + kMostTimers * 64,
  kMappings = kPosixTimersEnd,
  kMappingsEnd = kMappings + kMostMappings * kMappingBytes,

  /// The lane's part, in pages that all its processes have in common.
  kLanePart = (kMappingsEnd + kPageSize - 1) / kPageSize * kPageSize,
  /// Open file descriptions, kOpeningCount of them: openings.h. Descriptors of all processes refer to them.
  kOpenings = kLanePart,
  /// By slot, its processes: process_table.h.
  kProcesses = kOpenings + kMostOpenings * 32,
  /// By slot, what is to be known of threads that do not run, and their registers: threads.h. Pages of zeros, which all lanes
  /// share, until there is a second thread.
  kThreadHeads = kProcesses + kMostProcesses * kProcessRecordBytes,
  kThreadRecords = kThreadHeads + kMostThreads * kThreadHeadBytes,
  /// What is behind openings that are no files: objects.h.
  kObjects = (kThreadRecords + kMostThreads * kThreadRecordBytes + 255) / 256 * 256,
  /// Locks of files: file_locks.h.
  kFileLocks = (kObjects + kMostObjects * 256 + kPageSize - 1) / kPageSize * kPageSize,
  kProcessBytes = kFileLocks + (1 + kMostFileLocks) * kFileLockBytes,
};
// What lies before kFiles is in one page: a call that has made one of these words own may set all of them.
// A position that a call follows is never at 0, which means none.
static_assert(kInputPosition != 0);
static_assert(kTimers + kIntervalTimers * 16 <= kBarriers && kGrowthsSeen < kThreadWords &&
              kThreadWordsEnd <= kProgramPath && kProgramPath % 8 == 0 && kFiles < kPageSize);
/// Pages that each process has of its own; those behind them are the lane's.
constexpr u64 kOwnPages = kLanePart / kPageSize;
/// Few lanes ever change the pages behind these: openings after the first 128, what several processes and threads need, objects.
constexpr u64 kUsualPages = kOpenings / kPageSize + 1;
/// Behind them in the lane's page table lie those of its layer.
constexpr u64 kKernelPages = (kProcessBytes + kPageSize - 1) / kPageSize;
/// Pages of the layer that pipes and their like may take, beside those of files.
constexpr u64 kBufferPages = 2048;

/// Flags of a range, beside the permissions kPageReadable, kPageWritable and kPageExecutable. With no permission its
/// pages are in use, but every access faults.
enum RangeFlag : u32 {
  kAnonymous = 8,  // zeros, mapped by a system call; else a part of the program, its stack or its input file
  // Pages of a mapping behind the one in which the file ends, with no permissions: an access is a SIGBUS. mprotect() makes
  // them pages like others.
  kBehindFile = 16,
  kSharedMemory = 32,   // a process that is forked has these pages in common with its parent
  kSharedFile = 64,     // and they are pages of a file: file_mappings.h
  kReadOnlyFile = 128,  // that was not opened for writing: the pages never become writable
};

/// A stream that a descriptor refers to: the standard streams, then one for each opening.
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
  u64 stack_bytes;
  u64 seed;
  u64 layer_pages;  // the most that the files which a process has written may take; 0: its tree is read-only

  bool operator==(const ProcessFacts&) const = default;
};

/// A file of the tree that tells of the process, or of the system: its number is where a device has its own.
enum class MadeFile : u8 {
  none,
  // Regular files, which have no bytes of their own:
  maps,
  status,
  name,
  arguments,
  environment,
  process_statistics,
  process_sizes,
  login_user,
  control_group,
  memory_score,
  memory,
  processors,
  statistics,
  uptime,
  load,
  mounts,
  numbered_mounts,
  file_systems,
  version,
  system_name,
  host_name,
  domain_name,
  release,
  release_version,
  most_ids,
  most_threads,
  most_areas,
  overcommit,
  auxiliary,  // the last one
  // Folders that have further names: a link for each descriptor, the threads, the process by its number; and the link
  // to that.
  descriptors,
  threads,
  processes,
  self,
};

/// The file that ProcessInput::file is, in the root of a file system that has nothing else.
MYR_TABLE char kInputFileName[] = "input";
constexpr u32 kInputFileNameBytes = 5;

}  // namespace myriarm::kernel
