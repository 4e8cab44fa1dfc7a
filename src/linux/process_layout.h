// SPDX-License-Identifier: Apache-2.0
// Where the parts of a Linux process lie in the guest's window. A pure function
// from an ElfImage and options to a Program, so that it can be tested and fuzzed without a fleet.
//
//   window begin                                                                    window end
//   | image | heap, from break_start up to heap_limit ->   | gap        | stack               |
//
// The code to which handlers of signals return lies within a page of the image if there is room.
#pragma once

#include <cstdint>

#include "linux/initial_stack.h"
#include "myriarm/linux.h"

namespace myriarm::linux_process {

struct ProcessLayout {
  /// The image and the stack, complete except for the lane bytes. If lanes have arguments or an environment of their
  /// own, nothing is on the stack.
  Program program;
  StackFacts stack;
  uint64_t window_end = 0;
  uint64_t lane_bytes = 0;  ///< address of LaneBytes; 0 if nothing is on the stack
  uint64_t break_start = 0;
  uint64_t heap_limit = 0;  ///< the highest address at which the heap may end
};

/// The lowest page of the program; without segments the end of all addresses.
uint64_t window_begin_of(const ElfImage& image);

/// A process with a root may execute programs that lie lower than its first one: the window begins where Linux lets programs
/// begin, and ends where it did. A small one stays as it is.
void widen_window(uint64_t& window_begin, uint64_t& memory);

/// Lays out a process in `memory` bytes of guest address space from `window_begin` on, which is at most that of the image.
/// Throws ArgumentError if it does not fit.
ProcessLayout lay_out_process(const ElfImage& image, uint64_t window_begin, uint64_t memory,
                              const LinuxOptions& options);
/// The same from the lowest page of the program on.
ProcessLayout lay_out_process(const ElfImage& image, uint64_t memory, const LinuxOptions& options);

}  // namespace myriarm::linux_process
