// SPDX-License-Identifier: Apache-2.0
// Control flow: deep recursion, tables of functions, dense and sparse switches, a byte-code machine with computed goto,
// a tail-calling parser of sums on standard input.
#include "guest.h"

static uint32_t ackermann(uint32_t m, uint32_t n) {
  if (m == 0) return n + 1;
  return ackermann(m - 1, n == 0 ? 1 : ackermann(m, n - 1));
}

static uint64_t moves;
static void hanoi(int disks, int from, int to) {
  if (disks == 0) return;
  hanoi(disks - 1, from, 6 - from - to);
  moves = moves * 7 + (uint64_t)(from * 3 + to);
  hanoi(disks - 1, 6 - from - to, to);
}

static int64_t op_add(int64_t a, int64_t b) { return a + b; }
static int64_t op_subtract(int64_t a, int64_t b) { return a - b; }
static int64_t op_multiply(int64_t a, int64_t b) { return a * b; }
static int64_t op_divide(int64_t a, int64_t b) { return b ? a / b : a; }
static int64_t (*const operations[])(int64_t, int64_t) = {op_add, op_subtract, op_multiply, op_divide};

static int64_t machine(const uint8_t* code, int64_t input) {
  static const void* const kLabels[] = {&&push, &&add, &&twice, &&swap, &&loop, &&end};
  int64_t stack[16] = {input}, counter = input & 31;
  int top = 0;
  const uint8_t* pc = code;
#define NEXT goto* kLabels[*pc++]
  NEXT;
push:
  stack[++top] = (int8_t)*pc++;
  NEXT;
add:
  top--;
  stack[top] += stack[top + 1];
  NEXT;
twice:
  stack[top] = (int64_t)((uint64_t)stack[top] * 2) ^ stack[top] >> 61;
  NEXT;
swap: {
  int64_t t = stack[top];
  stack[top] = stack[top - 1];
  stack[top - 1] = t;
}
  NEXT;
loop:
  if (--counter > 0) pc = code;
  NEXT;
end:
  return stack[top];
}

static const char* at;
static int64_t expression(int level);
static int64_t primary(void) {
  while (*at == ' ') at++;
  if (*at == '-') return at++, -primary();
  if (*at != '(') {
    int64_t value = (int64_t)parse_number(at);
    while (*at >= '0' && *at <= '9') at++;
    return value;
  }
  at++;
  int64_t value = expression(0);
  if (*at == ')') at++;
  return value;
}
static int64_t expression(int level) {
  int64_t value = level == 2 ? primary() : expression(level + 1);
  while (level < 2) {
    while (*at == ' ') at++;
    int which = *at == '+' ? 0 : *at == '-' ? 1 : *at == '*' ? 2 : *at == '/' ? 3 : 4;
    if (which / 2 != level) break;
    at++;
    value = operations[which](value, expression(level + 1));
  }
  return value;
}

static const char* day(uint64_t n) {
  switch (n % 9) {
    case 0: return "Monday";
    case 1: return "Tuesday";
    case 2: return "Wednesday";
    case 3: return "Thursday";
    case 4: return "Friday";
    case 5: return "Saturday";
    case 6: return "Sunday";
    default: return "never";
  }
}

static int sparse(uint64_t n) {
  switch (n) {
    case 3: return 1;
    case 1000: return 2;
    case 123456789: return 3;
    case 0x123456789ABC: return 4;
    default: return n & 1 ? 5 : 6;
  }
}

int main(int argc, char** argv) {
  static const uint8_t kCode[] = {0, 5, 1, 2, 0, 0xFD, 3, 1, 4, 5};
  uint64_t seed = argument(argc, argv, 1, 0);
  print("ackermann(2, %lu) = %u\n", seed % 30, ackermann(2, (uint32_t)(seed % 30)));
  hanoi(10, 1, 3);
  print("hanoi %016lx\n", moves);
  int64_t total = 0;
  for (int i = 0; i < 300; i++) total = operations[(seed + (uint64_t)i * 7 / 3) & 3](total, i % 13 - 4);
  print("operations %ld\n", total);
  print("machine %ld\n", machine(kCode, (int64_t)(seed * 0x9E3779B97F4A7C15u | 9)));
  print("%s, %s\n", day(seed), day(seed + 5));
  print("sparse %d%d%d%d%d\n", sparse(seed), sparse(3), sparse(1000), sparse(123456789), sparse(0x123456789ABC));
  size_t size;
  char* text = read_all(&size);
  for (at = text; *at;) {
    print("%ld\n", expression(0));
    while (*at && *at != '\n') at++;
    while (*at == '\n') at++;
  }
  return (int)(seed % 200);
}
