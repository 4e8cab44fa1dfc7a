// SPDX-License-Identifier: Apache-2.0
// A thread of a process in a lane. A lane runs one at a time: its fields (fleet.h) are the registers of that one, and its memory is
// that of its process.
#pragma once

#include <array>
#include <cstdint>

namespace myriarm {

struct GuestThread {
  uint32_t id = 0;          ///< as gettid() gives it; 0: the program is no process
  uint32_t process = 0;     ///< as getpid() gives it; 0 likewise
  bool is_running = false;  ///< its registers are the lane's
  bool is_waiting =
      false;  ///< in the system call x[8], before whose SVC it stands. Neither: it is ready, and will have its turn
  std::array<uint64_t, 31> x = {};
  uint64_t sp = 0, pc = 0, nzcv = 0, tpidr = 0, fpcr = 0, fpsr = 0;  ///< nzcv as Field::nzcv
  std::array<std::array<uint64_t, 2>, 32> v = {};                    ///< low half, high half
};

}  // namespace myriarm
