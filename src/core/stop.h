// SPDX-License-Identifier: Apache-2.0
// Why a lane is not running. A stop is data: one record for each lane, which the engine writes and the host reads.
#pragma once

#include "core/portable.h"

namespace myriarm {

/// The order and the values are those of myriarm::StopReason in include/myriarm/stop.h.
enum class StopCode : u8 {
  none,           // may run
  halt,           // HLT; pc is that of the HLT, which has not retired
  syscall,        // SVC; it has retired, pc is the next instruction's; detail is imm16
  breakpoint,     // BRK; pc is that of the BRK, which has not retired; detail is imm16
  budget,         // the instruction limit is reached
  fault,          // a memory access was refused; pc is that of the instruction, which has not retired
  undefined,      // no such instruction, or one not implemented; address holds the instruction word
  out_of_memory,  // no frame was left; the instruction has not retired and can be run again
  cancelled,      // the host asked; the lane is at an instruction boundary
  exited,         // the program has ended (set by the host's system-call layer)
};

constexpr u32 kStopCodes = 10;

/// Whether the instruction that stopped its lane has retired: an SVC has, and its lane continues after it.
MYR_FN bool retires_as_it_stops(StopCode code) { return code == StopCode::syscall; }

enum class FaultCode : u8 {
  none,
  unmapped,   // no page there, or outside the guest's address window
  read,       // page without read permission
  write,      // page without write permission
  execute,    // page without execute permission
  alignment,  // an access that must be aligned is not, or pc is not a multiple of 4
};

/// The stop record of one lane. 16 bytes.
struct StopRecord {
  StopCode code;
  FaultCode fault;
  u16 reserved;
  u32 detail;
  u64 address;  // fault: the first inaccessible byte, tag removed; undefined: the instruction word
};
static_assert(sizeof(StopRecord) == 16, "one vector store");

/// A stop that is not a fault; fault_record() of core/memory.h makes faults.
MYR_FN StopRecord stop_record(StopCode code, u32 detail = 0, u64 address = 0) {
  return {code, FaultCode::none, 0, detail, address};
}

}  // namespace myriarm
