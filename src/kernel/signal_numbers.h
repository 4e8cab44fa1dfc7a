// SPDX-License-Identifier: Apache-2.0
// The numbers of signals and what goes with them on Linux for AArch64 (signal(7), sigaction(2), asm-generic/signal.h), under
// their own names: those of the host's C library are macros.
#pragma once

#include "core/portable.h"

namespace myriarm::kernel {

// clang-format off
enum Signal : u32 { kSignalIllegal = 4, kSignalTrap = 5, kSignalBus = 7, kSignalFloat = 8, kSignalKill = 9,
                    kSignalSegment = 11, kSignalPipe = 13, kSignalAlarm = 14, kSignalChild = 17, kSignalContinue = 18,
                    kSignalStop = 19, kSignalStopTyped = 20, kSignalTerminalOut = 22, kSignalUrgent = 23,
                    kSignalVirtualAlarm = 26, kSignalProfile = 27, kSignalWindowChange = 28, kSignalSystem = 31,
                    kFirstRealTime = 32 };
// si_code: what has sent a signal.
enum SignalCode : i32 { kByUser = 0, kByKernel = 0x80, kByTimer = -2, kByThread = -6, kIllegalOpcode = 1, kBreakpointTrap = 1,
                        kUnmappedAddress = 1, kRefusedAccess = 2, kBadAlignment = 1, kNoObject = 2 };
// sa_flags.
enum ActionFlag : u64 { kWithInformation = 4, kOnSignalStack = 0x08000000, kRestarts = 0x10000000,
                        kNotDeferred = 0x40000000, kResets = 0x80000000, kHasRestorer = 0x04000000,
                        kKnownActionFlags = 0xDC000807 };
// clang-format on

}  // namespace myriarm::kernel
