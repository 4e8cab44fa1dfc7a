// SPDX-License-Identifier: Apache-2.0
// Writes code and runs it, changes it and runs it again. Linked with -N, so that its one segment is readable, writable
// and executable.
#include "guest.h"

typedef uint64_t (*Function)(uint64_t);

static _Alignas(4096) uint32_t page[2048];

// The cache maintenance that Arm requires between writing code and running it, by lines of the size in CTR_EL0.
static void publish(const void* start, size_t size) {
  uint64_t ctr;
  __asm__ volatile("mrs %0, ctr_el0" : "=r"(ctr));
  uint64_t data_line = 4u << (ctr >> 16 & 15), code_line = 4u << (ctr & 15), end = (uint64_t)start + size;
  for (uint64_t p = (uint64_t)start & ~(data_line - 1); p < end; p += data_line) __asm__ volatile("dc cvau, %0" ::"r"(p) : "memory");
  __asm__ volatile("dsb ish" ::: "memory");
  for (uint64_t p = (uint64_t)start & ~(code_line - 1); p < end; p += code_line) __asm__ volatile("ic ivau, %0" ::"r"(p) : "memory");
  __asm__ volatile("dsb ish\n isb" ::: "memory");
}

enum { kRet = 0xD65F03C0u };
static uint32_t add_x0(uint32_t imm) { return 0x91000000u | imm << 10; }            // add x0, x0, #imm
static uint32_t eor_shift(uint32_t amount) { return 0xCA400000u | amount << 10; }  // eor x0, x0, x0, lsr #amount

// A loop that rewrites the first instruction of its own body each time round: x0 gains 1, 2, 3, ... n.
static uint64_t __attribute__((noinline)) rewrite_self(uint32_t* place, uint64_t rounds) {
  uint64_t sum = 0;
  for (uint64_t i = 1; i <= rounds; i++) {
    place[0] = add_x0((uint32_t)i);
    place[1] = kRet;
    publish(place, 8);
    sum = ((Function)place)(sum);
  }
  return sum;
}

int main(int argc, char** argv) {
  uint64_t seed = argument(argc, argv, 1, 0), sum = 0;
  Random random = {seed};
  page[0] = add_x0(1);
  page[1] = kRet;
  publish(page, 8);
  Function function = (Function)page;
  int wrong = function(41) != 42;
  page[0] = add_x0(1000);
  publish(page, 4);
  wrong += function(41) != 1041;
  print("written once, changed once: %lu\n", function(41));

  uint64_t triangle = rewrite_self(page + 1023, 100);  // the two words lie on two pages
  wrong += triangle != 5050;
  print("changed 100 times: %lu\n", triangle);

  for (int program = 0; program < 40; program++) {  // random straight-line programs, each somewhere else
    uint32_t* code = page + next_random(&random) % 2000;
    uint64_t expected = seed + (uint64_t)program;
    int size = 1 + (int)(next_random(&random) % 40);
    for (int i = 0; i < size; i++) {
      uint32_t n = (uint32_t)next_random(&random);
      if (n & 1) {
        code[i] = add_x0(n >> 8 & 0xFFF);
        expected += n >> 8 & 0xFFF;
      } else {
        uint32_t amount = 1 + (n >> 8) % 63;
        code[i] = eor_shift(amount);
        expected ^= expected >> amount;
      }
    }
    code[size] = kRet;
    publish(code, (size_t)(size + 1) * 4);
    uint64_t result = ((Function)code)(seed + (uint64_t)program);
    wrong += result != expected;
    sum = sum * 31 + result;
  }
  print("wrong %d\nchecksum %016lx\n", wrong, sum);
  return wrong != 0;
}
