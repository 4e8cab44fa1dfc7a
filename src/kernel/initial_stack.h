// SPDX-License-Identifier: Apache-2.0
// The stack on which a program begins: argc, argv, envp and the auxiliary vector, and above them the strings. The one place that
// knows the layout: for the first program of a lane (src/linux/initial_stack.cpp), and for those that execve() loads.
//
//   pointer | argc argv.. 0 envp.. 0 auxv.. | platform | arguments | variables | name | lane variable | random | pointer | zeros | end
#pragma once

#include "kernel/auxiliary_vector.h"
#include "kernel/start_bytes.h"

namespace myriarm::kernel {

/// What is to be put on it. Bytes are with the NULs.
struct StackTexts {
  u64 arguments, argument_bytes, variables, variable_bytes, name_bytes;
  bool has_lane;  // one more variable: kLaneVariable, with start_bytes() behind it
};
MYR_TABLE char kLaneVariable[] = "MYRIARM_LANE=";
constexpr u32 kLaneVariableBytes = sizeof kLaneVariable - 1;
MYR_TABLE char kPlatform[] = "aarch64";

/// How many bytes below the stack stay free. As on Linux it is more than a page. Of a large stack it is so much that what is mapped
/// directly below, which of a dynamic program is the memory of its thread, is not the stack's distance from the frames of main():
/// tables in which a page has its place by the lower bits of its number would have one place for both.
MYR_FN u64 stack_gap(u64 stack_bytes) {
  constexpr u64 kPart = 32;
  const u64 gap = stack_bytes / kPart & ~(u64)(kPageSize - 1);
  return gap != 0 ? gap : kPageSize;
}

/// Addresses.
struct StackPlaces {
  u64 random;         // of kStartRandomBytes
  u64 lane_digits;    // of kLaneDigitBytes, in front of `random`
  u64 lane_variable;  // in front of its digits; 0: there is none
  u64 name, variables, arguments, platform;
  u64 pointer;
};

/// Where the pointer is kept for files of /proc: in the first half of what Linux has as zeros.
constexpr u64 kStackHead = 16;
MYR_FN u64 stack_pointer_place(u64 end) { return end - kStackHead; }

MYR_FN StackPlaces place_stack(u64 end, const StackTexts& texts) {
  constexpr u64 kAlignment = 16;
  StackPlaces places = {};
  places.random = end - kStackHead - kStartRandomBytes;
  u64 at = places.random;
  if (texts.has_lane) {
    places.lane_digits = at - kLaneDigitBytes;
    at = places.lane_variable = places.lane_digits - kLaneVariableBytes;
  }
  places.name = at - texts.name_bytes;
  places.variables = places.name - texts.variable_bytes;
  places.arguments = places.variables - texts.argument_bytes;
  places.platform = places.arguments - sizeof kPlatform;
  const u64 words = 1 + texts.arguments + 1 + texts.variables + texts.has_lane + 1 + 2 * kAuxiliaryPairs;
  places.pointer = (places.platform & ~(kAlignment - 1)) - (words + words % 2) * 8;
  return places;
}

/// Puts all words, with put(word), from the pointer on. put_argument(i, address) and put_variable(i, address) put the string and
/// return its bytes, with the NUL.
template <class Put, class PutArgument, class PutVariable>
MYR_FN void put_stack(const StackTexts& texts, const StackPlaces& places, const AuxiliaryFacts& facts, u64 hwcap,
                      u64 hwcap2, Put put, PutArgument put_argument, PutVariable put_variable) {
  put(texts.arguments);
  u64 at = places.arguments;
  for (u64 i = 0; i < texts.arguments; i++) {
    put(at);
    at += put_argument(i, at);
  }
  put((u64)0);
  at = places.variables;
  for (u64 i = 0; i < texts.variables; i++) {
    put(at);
    at += put_variable(i, at);
  }
  if (texts.has_lane) put(places.lane_variable);
  put((u64)0);
  for_auxiliary(facts, hwcap, hwcap2, [&](u64 tag, u64 value) {
    put(tag);
    put(value);
  });
}

}  // namespace myriarm::kernel
