// SPDX-License-Identifier: Apache-2.0
// The other system calls: randomness, the system, resources.
#pragma once

#include "kernel/guest_time.h"
#include "kernel/identity_calls.h"
#include "kernel/limit_calls.h"
#include "kernel/random_stream.h"
#include "kernel/system_names.h"

namespace myriarm::kernel {

template <Machine M>
MYR_OUTLINE Result getrandom(M& m) {
  constexpr u64 kMost = (1 << 25) - 1;  // as Linux
  constexpr u32 kNonblock = 1, kRandom = 2, kInsecure = 4;
  const u64 address = m.argument(0), wanted = lesser(m.argument(1), kMost);
  const u32 flags = (u32)m.argument(2);
  if ((flags & ~(kNonblock | kRandom | kInsecure)) || (flags & (kRandom | kInsecure)) == (kRandom | kInsecure)) {
    return error(kEINVAL);
  }
  const u64 size = accessible(m, address, wanted, kPageWritable);
  if (size == 0) return wanted != 0 ? error(kEFAULT) : answer(0);
  if (prepare(m, address, size) == Storing::again || !own_word(m, kRandomPosition)) return again();
  const u64 start = random_start(m.facts().seed, m.input().number), position = word(m, kRandomPosition);
  for (u64 done = 0; done < size;) {
    const u64 at = position + done, bytes = random_word(start, at / 8);
    if (at % 8 == 0 && size - done >= 8) {
      store<u64>(m, address + done, bytes);
      done += 8;
    } else {
      store<u8>(m, address + done, (u8)(bytes >> at % 8 * 8));
      done++;
    }
  }
  set_word(m, kRandomPosition, position + size);
  return answer((i64)size);
}

constexpr u32 kSystemNameBytes = 65;  // of struct new_utsname, each
template <Machine M>
MYR_OUTLINE Result uname(M& m) {
  const u64 address = m.argument(0);
  const Storing storing = prepare(m, address, kSystemNames * kSystemNameBytes);
  if (storing != Storing::allowed) return not_stored(storing);
  for (u32 i = 0; i < kSystemNames; i++) {
    const u64 field = address + i * kSystemNameBytes;
    for (u32 at = 0; at < kSystemNameBytes; at++) {
      store<u8>(m, field + at, at < kMostNameBytes ? (u8)kSystemName[i][at] : (u8)0);
    }
  }
  return answer(0);
}

template <Machine M>
MYR_FN Result zero(M&) {
  return answer(0);
}
/// For calls that older kernels, or kernels built without an option, lack: a C library works without them.
template <Machine M>
MYR_FN Result not_offered(M&) {
  return error(kENOSYS);
}

template <Machine M>
MYR_OUTLINE Result sysinfo(M& m) {
  // Words of struct sysinfo.
  constexpr u32 kUptime = 0, kTotalMemory = 4, kFreeMemory = 5, kTasks = 10, kMemoryUnit = 13, kWords = 14;
  const u64 address = m.argument(0), memory = m.facts().window_end - m.facts().window_begin;
  const Storing storing = prepare(m, address, kWords * 8);
  if (storing != Storing::allowed) return not_stored(storing);
  clear_words(m, address, kWords);
  store<u64>(m, address + kUptime * 8, nanoseconds(m) / kNanoseconds);
  store<u64>(m, address + kTotalMemory * 8, memory);
  store<u64>(m, address + kFreeMemory * 8, memory);
  store<u64>(m, address + kTasks * 8, greater(word(m, kThreads), 1));
  store<u64>(m, address + kMemoryUnit * 8, 1);
  return answer(0);
}

}  // namespace myriarm::kernel
