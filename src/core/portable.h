// SPDX-License-Identifier: Apache-2.0
// The only file that asks which compiler this is, and for which machine. Everything in core/ is written against these
// names, so that one text of the semantics serves gcc and clang on the host, nvcc, and clang that makes LLVM bitcode of it for
// the host and for NVPTX. It is freestanding: no std, no exceptions, no virtual, no recursion, no goto.
#pragma once

#include <stdint.h>

namespace myriarm {
using i8 = int8_t;
using i16 = int16_t;
using i32 = int32_t;
using i64 = int64_t;
using u8 = uint8_t;
using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
}  // namespace myriarm

// MYR_FN: an inline function for every side. MYR_COLD: the same, but kept out of line, so that rare
// work does not cost the callers registers. MYR_OUTLINE: out of line too, and not rare. MYR_TABLE: a
// constant array that every side can index.
// Under nvcc all of it is device code: what the host does with the same text is compiled from .cpp files.
#if defined(__CUDACC__)
#define MYR_FN __device__ inline __attribute__((always_inline))
#define MYR_COLD __device__ static __attribute__((noinline))
#define MYR_OUTLINE __device__ static __attribute__((noinline))
#else
#define MYR_FN inline __attribute__((always_inline))
#define MYR_COLD static __attribute__((noinline, cold, unused))
#define MYR_OUTLINE static __attribute__((noinline, unused))
#endif

// MYR_DEVICE: this is code for a GPU.
#if defined(__CUDA_ARCH__)
#define MYR_DEVICE 1
#define MYR_TABLE static __device__ const
#elif defined(__NVPTX__)
#define MYR_DEVICE 1
#define MYR_TABLE static constexpr
#else
#define MYR_DEVICE 0
#define MYR_TABLE static constexpr
#endif

// Whether lanes may part at each branch, so that a condition is worth less than the branches that it saves. A test may say so too.
#if defined(MYR_LANES_PART)
#elif defined(__NVPTX__) && !defined(__CUDACC__)
#define MYR_LANES_PART 1
#else
#define MYR_LANES_PART 0
#endif

#define MYR_LIKELY(condition) (__builtin_expect(!!(condition), 1))
#define MYR_UNLIKELY(condition) (__builtin_expect(!!(condition), 0))

namespace myriarm {

/// The value of `from` with its bits taken as a `To` of the same size.
template <class To, class From>
MYR_FN To bit_cast(const From& from) {
  static_assert(sizeof(To) == sizeof(From), "bit_cast keeps the size");
  To to;
  __builtin_memcpy(&to, &from, sizeof to);
  return to;
}

/// A T in guest memory. Where the machine underneath can reach any address its alignment is 1; a GPU cannot, and there
/// callers see to the alignment.
#if defined(__CUDA_ARCH__)
template <class T>
struct InMemory {
  using type = T;
};
#elif defined(__NVPTX__)
template <class T>
struct InMemory {
  typedef T type __attribute__((may_alias));
};
#else
template <class T>
struct InMemory {
  typedef T type __attribute__((aligned(1), may_alias));
};
#endif

/// Reads or writes guest memory once, at this place of the program.
template <class T>
MYR_FN T read_once(const u8* at) {
  return *(const volatile typename InMemory<T>::type*)at;
}
template <class T>
MYR_FN void write_once(u8* at, T value) {
  *(volatile typename InMemory<T>::type*)at = value;
}

/// Number of leading zero bits; 64 (or 32) for 0.
MYR_FN u32 count_leading_zeros64(u64 value) {
#if defined(__CUDA_ARCH__)
  return (u32)__clzll((long long)value);
#else
  return value ? (u32)__builtin_clzll(value) : 64;
#endif
}
MYR_FN u32 count_leading_zeros32(u32 value) {
#if defined(__CUDA_ARCH__)
  return (u32)__clz((int)value);
#else
  return value ? (u32)__builtin_clz(value) : 32;
#endif
}

/// Bits in reverse order.
MYR_FN u64 reverse_bits64(u64 value) {
#if defined(__CUDA_ARCH__)
  return __brevll(value);
#elif defined(__NVPTX__)
  return __builtin_bitreverse64(value);
#else
  value = ((value >> 1) & 0x5555555555555555u) | ((value & 0x5555555555555555u) << 1);
  value = ((value >> 2) & 0x3333333333333333u) | ((value & 0x3333333333333333u) << 2);
  value = ((value >> 4) & 0x0F0F0F0F0F0F0F0Fu) | ((value & 0x0F0F0F0F0F0F0F0Fu) << 4);
  return __builtin_bswap64(value);
#endif
}

/// Upper 64 bits of the 128-bit product.
MYR_FN u64 multiply_high_unsigned(u64 a, u64 b) {
#if defined(__CUDA_ARCH__)
  return __umul64hi(a, b);
#else
  return (u64)(((unsigned __int128)a * b) >> 64);
#endif
}
MYR_FN i64 multiply_high_signed(i64 a, i64 b) {
#if defined(__CUDA_ARCH__)
  return __mul64hi(a, b);
#else
  return (i64)(((__int128)a * b) >> 64);
#endif
}

/// The machine's own numbers of N bits, IEEE 754 binary32 and binary64.
template <int N>
struct MachineNumber;
template <>
struct MachineNumber<32> {
  using type = float;
  using bits = u32;
};
template <>
struct MachineNumber<64> {
  using type = double;
  using bits = u64;
};

#if defined(__CUDA_ARCH__)
MYR_FN float machine_add(float a, float b) { return __fadd_rn(a, b); }
MYR_FN double machine_add(double a, double b) { return __dadd_rn(a, b); }
MYR_FN float machine_multiply(float a, float b) { return __fmul_rn(a, b); }
MYR_FN double machine_multiply(double a, double b) { return __dmul_rn(a, b); }
MYR_FN float machine_divide(float a, float b) { return __fdiv_rn(a, b); }
MYR_FN double machine_divide(double a, double b) { return __ddiv_rn(a, b); }
MYR_FN float machine_sqrt(float a) { return __fsqrt_rn(a); }
MYR_FN double machine_sqrt(double a) { return __dsqrt_rn(a); }
MYR_FN float machine_fma(float a, float b, float c) { return __fmaf_rn(a, b, c); }
MYR_FN double machine_fma(double a, double b, double c) { return __fma_rn(a, b, c); }
MYR_FN bool machine_has_fma() { return true; }
constexpr bool kMachineRounds = true;
#elif defined(__NVPTX__)
// Builtins, and no operators: an operator's rounding is the code generator's to choose, and it may fuse two of them.
MYR_FN float machine_add(float a, float b) { return __nvvm_add_rn_f(a, b); }
MYR_FN double machine_add(double a, double b) { return __nvvm_add_rn_d(a, b); }
MYR_FN float machine_multiply(float a, float b) { return __nvvm_mul_rn_f(a, b); }
MYR_FN double machine_multiply(double a, double b) { return __nvvm_mul_rn_d(a, b); }
MYR_FN float machine_divide(float a, float b) { return __nvvm_div_rn_f(a, b); }
MYR_FN double machine_divide(double a, double b) { return __nvvm_div_rn_d(a, b); }
MYR_FN float machine_sqrt(float a) { return __nvvm_sqrt_rn_f(a); }
MYR_FN double machine_sqrt(double a) { return __nvvm_sqrt_rn_d(a); }
MYR_FN float machine_fma(float a, float b, float c) { return __nvvm_fma_rn_f(a, b, c); }
MYR_FN double machine_fma(double a, double b, double c) { return __nvvm_fma_rn_d(a, b, c); }
MYR_FN bool machine_has_fma() { return true; }
constexpr bool kMachineRounds = true;
#else
MYR_FN float machine_add(float a, float b) { return a + b; }
MYR_FN double machine_add(double a, double b) { return a + b; }
MYR_FN float machine_multiply(float a, float b) { return a * b; }
MYR_FN double machine_multiply(double a, double b) { return a * b; }
MYR_FN float machine_divide(float a, float b) { return a / b; }
MYR_FN double machine_divide(double a, double b) { return a / b; }
MYR_FN float machine_sqrt(float a) { return __builtin_sqrtf(a); }
MYR_FN double machine_sqrt(double a) { return __builtin_sqrt(a); }
#if defined(__x86_64__) && !defined(__FMA__)
// The compiler builds for any x86-64, and nearly every one that runs it has the instruction: core/machine.cpp asks the
// processor when the program starts. A translator that links bitcode of this text defines the symbol itself, as a constant.
// The instruction is volatile, so that the compiler does not move it before the question.
extern const bool kMachineHasFma __attribute__((visibility("hidden")));
MYR_FN bool machine_has_fma() { return kMachineHasFma; }
MYR_FN float machine_fma(float a, float b, float c) {
  asm volatile("vfmadd213ss %2, %1, %0" : "+x"(a) : "x"(b), "x"(c));
  return a;
}
MYR_FN double machine_fma(double a, double b, double c) {
  asm volatile("vfmadd213sd %2, %1, %0" : "+x"(a) : "x"(b), "x"(c));
  return a;
}
#else
MYR_FN float machine_fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
MYR_FN double machine_fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
#if defined(__FMA__) || defined(__aarch64__)
MYR_FN bool machine_has_fma() { return true; }
#else
MYR_FN bool machine_has_fma() { return false; }
#endif
#endif
/// Whether an operation is rounded once, to its own format.
constexpr bool kMachineRounds = __FLT_EVAL_METHOD__ == 0;
#endif

}  // namespace myriarm
