// SPDX-License-Identifier: Apache-2.0
// Why a lane stopped. What a guest does is data and never an exception.
#pragma once

#include <cstdint>

namespace myriarm {

enum class StopReason : uint8_t {
  none,           ///< has not stopped: it may run
  halt,           ///< HLT; pc is that of the HLT, which has not retired
  syscall,        ///< SVC; it has retired, pc is the next instruction's
  breakpoint,     ///< BRK; pc is that of the BRK, which has not retired
  budget,         ///< it has reached its instruction limit; after a higher limit it goes on
  fault,          ///< a memory access was refused; pc is that of the instruction, which has not retired
  undefined,      ///< no such instruction, or one not implemented; `address` holds the instruction word
  out_of_memory,  ///< no memory is left in the pool; grow_pool() and resume()
  cancelled,      ///< cancel() was called or time ran out; the lane is between two instructions and can go on
  exited,         ///< the program has ended
};

enum class FaultKind : uint8_t {
  none,
  unmapped,   ///< no page there
  read,       ///< a page without read permission
  write,      ///< a page without write permission
  execute,    ///< a page without execute permission
  alignment,  ///< an access that must be aligned is not, or pc is not a multiple of 4
};

/// The stop of one lane.
struct Stop {
  StopReason reason = StopReason::none;
  FaultKind fault = FaultKind::none;
  uint32_t detail = 0;   ///< imm16 of SVC, BRK, HLT; the exit status of an exited lane (linux.h)
  uint64_t address = 0;  ///< fault: the first inaccessible byte; undefined: the instruction word
};

/// Number of values of StopReason.
constexpr unsigned kStopReasons = 10;

/// The state of a lane or of a whole batch in one number. The first four are those of the earlier systems that myriarm
/// replaces (docs/kvrm.md).
enum class Signal : uint8_t {
  running = 0,     ///< no stop
  halt = 1,        ///< halt, exited
  syscall = 2,     ///< syscall
  checkpoint = 3,  ///< budget: a batch ended normally
  fault = 4,       ///< fault, undefined, out_of_memory
  breakpoint = 5,  ///< breakpoint
  cancelled = 6,   ///< cancelled
};
/// The signal that belongs to a stop.
Signal signal_of(StopReason reason);

/// Lower-case name as the command line and JSON print it: "halt", "out_of_memory", ...
const char* name(StopReason reason);
const char* name(FaultKind kind);
const char* name(Signal signal);

}  // namespace myriarm
