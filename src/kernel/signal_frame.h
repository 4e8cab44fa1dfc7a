// SPDX-License-Identifier: Apache-2.0
// What Linux puts on the stack for a handler on AArch64 (arch/arm64/kernel/signal.c, asm/sigcontext.h), and takes back in
// rt_sigreturn(): struct rt_sigframe, and above it a frame record for unwinders.
#pragma once

#include "kernel/ranges.h"
#include "kernel/signals.h"

namespace myriarm::kernel {

// clang-format off
/// Offsets in struct rt_sigframe: the siginfo, then the ucontext with its sigcontext, whose last part holds records.
enum FrameOffset : u32 { kFrameContext = 128, kFrameLink = kFrameContext + 8, kFrameStack = kFrameContext + 16,
                         kFrameMask = kFrameContext + 40, kFrameMachine = kFrameContext + 176,
                         kFrameRegisters = kFrameMachine + 8, kFrameSp = kFrameRegisters + 31 * 8,
                         kFramePc = kFrameSp + 8, kFramePstate = kFramePc + 8, kFrameRecords = kFrameMachine + 288,
                         kFrameBytes = kFrameRecords + 4096 };
enum RecordMagic : u32 { kVectorRecord = 0x46508001 /* FPSIMD_MAGIC */, kSyndromeRecord = 0x45535201 /* ESR_MAGIC */ };
constexpr u32 kRecordHead = 8, kVectorRecordBytes = 528, kSyndromeRecordBytes = 16, kUnwindRecordBytes = 16;

// sigaltstack(2). The lowest flag is a mode, the highest is kept as it is.
enum StackFlag : u32 { kOnStack = 1, kNoStack = 2, kAutoDisarm = 0x80000000 };
constexpr u32 kStackBytes = 24, kLeastStack = 5120;  // struct sigaltstack; MINSIGSTKSZ
// clang-format on

struct SignalStack {
  u64 begin, size;
  u32 flags;

  /// Whether SP is in it.
  MYR_FN bool holds(u64 sp) const { return !(flags & kAutoDisarm) && sp > begin && sp - begin <= size; }
  /// The flags that sigaltstack() shows.
  MYR_FN u32 shown_flags(u64 sp) const {
    return (size == 0 ? (u32)kNoStack : holds(sp) ? (u32)kOnStack : 0) | (flags & kAutoDisarm);
  }
};
template <Machine M>
MYR_FN SignalStack signal_stack(const M& m) {
  return {word(m, kSignalStack), word(m, kSignalStack + 8), (u32)word(m, kSignalStack + 16)};
}
template <Machine M>
MYR_FN SignalStack signal_stack_at(const M& m, u64 address) {
  return {load<u64>(m, address), load<u64>(m, address + 16), load<u32>(m, address + 8)};
}
template <Machine M>
MYR_FN void set_signal_stack(M& m, const SignalStack& stack) {
  set_word(m, kSignalStack, stack.begin);
  set_word(m, kSignalStack + 8, stack.size);
  set_word(m, kSignalStack + 16, stack.flags);
}
/// What sigaltstack() does with a new stack: 0, or an error. The words must be own if `changes`.
template <Machine M>
MYR_FN i64 change_signal_stack(M& m, SignalStack next, bool changes) {
  const SignalStack now = signal_stack(m);
  const u32 mode = next.flags & ~(u32)kAutoDisarm;
  if (now.holds(m.x(kSlotSP))) return -kEPERM;
  if (mode != kNoStack && mode != kOnStack && mode != 0) return -kEINVAL;
  if (mode == kNoStack) next.begin = next.size = 0;
  else if (next.size < kLeastStack) return -kENOMEM;
  if (changes) set_signal_stack(m, next);
  return 0;
}

/// Where the frame of a handler begins, and the frame record above it.
struct FramePlace {
  u64 begin, unwind;
};
template <Machine M>
MYR_FN FramePlace place_frame(const M& m, u64 action_flags) {
  const u64 sp = m.x(kSlotSP);
  const SignalStack stack = signal_stack(m);
  const bool switches = (action_flags & kOnSignalStack) && stack.size != 0 && !stack.holds(sp);
  const u64 unwind = ((switches ? stack.begin + stack.size : sp) - kUnwindRecordBytes) & ~(u64)15;
  return {unwind - kFrameBytes, unwind};
}

/// Puts the frame there, which prepare() must have allowed: what the lane is, and the mask that it will have again. With
/// `information` also that.
template <Machine M>
MYR_OUTLINE void store_frame(M& m, const FramePlace& place, u64 mask, const SignalInformation* information) {
  const u64 frame = place.begin;
  if (information != nullptr) {
    for (u32 i = 0; i < kFrameContext / 8; i++) {
      store<u64>(m, frame + i * 8, i < kInformationWords ? information->words[i] : 0);
    }
  }
  store_words(m, place.unwind, m.x(29), m.x(30));
  store_words(m, frame + kFrameContext, 0, 0);  // uc_flags, uc_link
  const SignalStack stack = signal_stack(m);
  store_words(m, frame + kFrameStack, stack.begin, stack.flags);
  store<u64>(m, frame + kFrameStack + 16, stack.size);
  store<u64>(m, frame + kFrameMask, mask);
  store<u64>(m, frame + kFrameMachine, word(m, kFaultAddress));
  for (u32 n = 0; n <= kSlotSP; n++) store<u64>(m, frame + kFrameRegisters + n * 8, m.x(n));
  store_words(m, frame + kFramePc, m.pc(), (u64)m.nzcv() << 28);
  u64 record = frame + kFrameRecords;
  store<u64>(m, record, (u64)kVectorRecordBytes << 32 | kVectorRecord);
  store<u64>(m, record + 8, m.system(SystemField::fpcr) << 32 | (u32)m.system(SystemField::fpsr));
  for (u32 n = 0; n < 32; n++) store_words(m, record + 16 + n * 16, m.v(n, 0), m.v(n, 1));
  record += kVectorRecordBytes;
  if (const u64 syndrome = word(m, kFaultSyndrome); syndrome != 0) {
    store_words(m, record, (u64)kSyndromeRecordBytes << 32 | kSyndromeRecord, syndrome);
    record += kSyndromeRecordBytes;
  }
  store_words(m, record, 0, 0);
}

/// Finds the SIMD&FP registers among the records of a frame. Returns their address; 0 if a record is not as the kernel makes
/// them: then Linux ends the process with SIGSEGV.
template <Machine M>
MYR_OUTLINE u64 find_vectors(const M& m, u64 frame) {
  constexpr u32 kRecordsBytes = kFrameBytes - kFrameRecords;
  u64 found = 0;
  for (u32 at = 0; kRecordsBytes - at >= kRecordHead && at % 16 == 0;) {
    const u64 record = frame + kFrameRecords + at;
    const u32 magic = load<u32>(m, record), size = load<u32>(m, record + 4);
    if (size > kRecordsBytes - at) return 0;
    if (magic == 0) return size == 0 ? found : 0;
    if (size < kRecordHead) return 0;
    if (magic == kVectorRecord) {
      if (found != 0 || size != kVectorRecordBytes) return 0;
      found = record;
    } else if (magic != kSyndromeRecord) {
      return 0;
    }
    at += size;
  }
  return 0;
}

/// What a kernel that does not return to where the frame says makes of a bad one: the address is SP.
template <Machine M>
MYR_FN SignalInformation bad_frame(const M& m, u64 sp) {
  Range range;
  return signal_information(kSignalSegment, find_range(m, sp, range) ? kRefusedAccess : kUnmappedAddress, sp);
}

}  // namespace myriarm::kernel
