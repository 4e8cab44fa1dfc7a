// SPDX-License-Identifier: Apache-2.0
// Processor time of the calling thread.
#pragma once

#include <time.h>

namespace myriarm::translate {

inline double thread_seconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

}  // namespace myriarm::translate
