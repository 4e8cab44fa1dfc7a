// SPDX-License-Identifier: Apache-2.0
// Exclusives, acquire and release, CRC32 instructions and, where the compiler may use them, LSE atomics.
#include "guest.h"

static uint64_t cell, other;
static _Alignas(16) uint64_t wide[2];

static uint64_t add_exclusive(uint64_t* p, uint64_t n) {
  uint64_t old, sum;
  uint32_t failed;
  __asm__ volatile(
      "1: ldaxr %0, [%3]\n add %1, %0, %4\n stlxr %w2, %1, [%3]\n cbnz %w2, 1b"
      : "=&r"(old), "=&r"(sum), "=&r"(failed)
      : "r"(p), "r"(n)
      : "memory");
  return old;
}

static void swap_pair(uint64_t* p, uint64_t low, uint64_t high, uint64_t old[2]) {
  uint32_t failed;
  __asm__ volatile(
      "1: ldxp %0, %1, [%3]\n stxp %w2, %4, %5, [%3]\n cbnz %w2, 1b"
      : "=&r"(old[0]), "=&r"(old[1]), "=&r"(failed)
      : "r"(p), "r"(low), "r"(high)
      : "memory");
}

// A store after CLREX must fail and leave memory alone.
static uint32_t store_after_clear(uint32_t* p) {
  uint32_t old, failed;
  __asm__ volatile("ldxr %w0, [%2]\n clrex\n stxr %w1, %w3, [%2]" : "=&r"(old), "=&r"(failed) : "r"(p), "r"(99) : "memory");
  return failed;
}

#define CRC(step, crc, value) __asm__(".arch armv8-a+crc\n" step " %w0, %w0, %w1" : "+r"(crc) : "r"((uint32_t)(value)))
#define CRCX(step, crc, value) __asm__(".arch armv8-a+crc\n" step " %w0, %w0, %x1" : "+r"(crc) : "r"(value))

int main(int argc, char** argv) {
  Random random = {argument(argc, argv, 1, 0)};
  uint64_t sum = 0, old[2];
  uint8_t byte = 0;
  uint16_t half = 0;
  uint32_t word = 0;
  for (int i = 0; i < 200; i++) {
    uint64_t r = next_random(&random);
    sum = sum * 3 + add_exclusive(&cell, r);
    sum = sum * 3 + __atomic_fetch_add(&cell, r, __ATOMIC_SEQ_CST);
    sum = sum * 3 + __atomic_fetch_xor(&word, (uint32_t)r, __ATOMIC_ACQ_REL);
    sum = sum * 3 + __atomic_fetch_or(&half, (uint16_t)(r >> 9), __ATOMIC_RELEASE);
    sum = sum * 3 + __atomic_fetch_and(&byte, (uint8_t)(r >> 17), __ATOMIC_ACQUIRE);
    sum = sum * 3 + __atomic_exchange_n(&byte, (uint8_t)(r >> 3), __ATOMIC_RELAXED);
    sum = sum * 3 + __atomic_sub_fetch(&half, (uint16_t)r, __ATOMIC_SEQ_CST);
    uint64_t expected = i % 3 ? other : r;
    sum = sum * 3 + __atomic_compare_exchange_n(&other, &expected, r ^ sum, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    sum ^= expected;
    uint32_t expected_word = i % 2 ? word : (uint32_t)r;
    sum = sum * 3 + __atomic_compare_exchange_n(&word, &expected_word, (uint32_t)sum, true, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
    swap_pair(wide, r, sum, old);
    sum = sum * 3 + old[0] + (old[1] << 1);
#ifdef __ARM_FEATURE_ATOMICS
    // What compilers rarely choose: minima, maxima, and the pair compare-and-swap.
    uint64_t seen;
    __asm__ volatile("ldsmax %2, %0, %1" : "=r"(seen), "+Q"(cell) : "r"(r));
    sum += seen;
    __asm__ volatile("ldumin %w2, %w0, %1" : "=r"(seen), "+Q"(word) : "r"(r));
    sum += (uint32_t)seen;
    __asm__ volatile("ldsminalb %w2, %w0, %1" : "=r"(seen), "+Q"(byte) : "r"(r));
    sum += (uint32_t)seen;
    __asm__ volatile("ldumaxah %w2, %w0, %1" : "=r"(seen), "+Q"(half) : "r"(r));
    sum += (uint32_t)seen;
    register uint64_t x2 __asm__("x2") = i % 2 ? wide[0] : r, x3 __asm__("x3") = wide[1];
    register uint64_t x4 __asm__("x4") = r, x5 __asm__("x5") = ~r;
    __asm__ volatile("caspal x2, x3, x4, x5, [%4]" : "+r"(x2), "+r"(x3) : "r"(x4), "r"(x5), "r"(wide) : "memory");
    sum += x2 ^ x3;
#else
    // The same, by compare-and-swap loops, so that every build of this program prints the same.
    int64_t most = (int64_t)cell;
    sum += cell;
    cell = (uint64_t)(most > (int64_t)r ? most : (int64_t)r);
    sum += word;
    word = word < (uint32_t)r ? word : (uint32_t)r;
    sum += byte;
    byte = (int8_t)byte < (int8_t)r ? byte : (uint8_t)r;
    sum += half;
    half = half > (uint16_t)r ? half : (uint16_t)r;
    uint64_t low = wide[0], high = wide[1];
    if (i % 2 || r == low) wide[0] = r, wide[1] = ~r;
    sum += low ^ high;
#endif
  }
  uint32_t failed = store_after_clear(&word), crc = ~0u, crcc = ~0u;
  for (const char* p = "123456789"; *p; p++) CRC("crc32b", crc, *p);
  for (const char* p = "123456789"; *p; p++) CRC("crc32cb", crcc, *p);
  print("crc32 %08x crc32c %08x\n", ~crc, ~crcc);
  int wrong = ~crc != 0xCBF43926 || ~crcc != 0xE3069283 || failed != 1 || word == 99;
  for (int i = 0; i < 50; i++) {
    uint64_t r = next_random(&random);
    CRCX("crc32x", crc, r);
    CRC("crc32w", crc, r >> 5);
    CRC("crc32h", crc, r >> 9);
    CRCX("crc32cx", crcc, r);
    CRC("crc32cw", crcc, r >> 5);
    CRC("crc32ch", crcc, r >> 9);
  }
  uint64_t acquired = __atomic_load_n(&cell, __ATOMIC_ACQUIRE);
  __atomic_store_n(&other, acquired, __ATOMIC_RELEASE);
  print("crc32 %08x crc32c %08x\ncell %016lx byte %02x half %04x word %08x\nwrong %d\nchecksum %016lx\n", crc, crcc,
        acquired, byte, half, word, wrong, sum + other);
  return wrong;
}
