// SPDX-License-Identifier: Apache-2.0
// How texts of files that are made anew by each read are put together.
#pragma once

#include "kernel/guest_memory.h"

namespace myriarm::kernel {

// `Sink` has byte(u8).
namespace detail_of_texts {

struct Count {
  u64 size = 0;
  MYR_FN void byte(u8) { size++; }
};
/// Stores what lies at [from, from + size) of a text in guest memory.
template <MemoryMachine M>
struct Window {
  M& m;
  u64 from, size, address, at = 0;
  MYR_FN void byte(u8 value) {
    if (at >= from && at - from < size) store<u8>(m, address + (at - from), value);
    at++;
  }
};

template <class Sink>
MYR_OUTLINE void put_number(Sink& sink, u64 value, u32 base, u32 digits = 1) {
  u32 most = 1;
  for (u64 rest = value / base; rest != 0; rest /= base) most++;
  for (u32 n = greater(most, digits); n != 0; n--) {
    u64 rest = value;
    for (u32 i = 1; i < n; i++) rest /= base;
    const u32 digit = (u32)(rest % base);
    sink.byte((u8)(digit < 10 ? '0' + digit : 'a' + digit - 10));
  }
}
template <class Sink>
MYR_OUTLINE u32 put_text(Sink& sink, const char* text) {
  u32 size = 0;
  for (; text[size] != 0; size++) sink.byte((u8)text[size]);
  return size;
}
template <class Sink>
MYR_FN void put_line(Sink& sink, const char* name, u64 value, u32 base = 10, u32 digits = 1) {
  put_text(sink, name);
  sink.byte('\t');
  put_number(sink, value, base, digits);
  sink.byte('\n');
}

}  // namespace detail_of_texts

}  // namespace myriarm::kernel
