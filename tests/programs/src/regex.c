// SPDX-License-Identifier: Apache-2.0
// A regular-expression matcher: the pattern becomes a small program (Thompson's construction), which is run both by
// backtracking and by a list of threads. Both must agree.
#include "guest.h"

enum { kCode = 256, kChar, kAny, kSet, kSplit, kJump, kMatch, kStart, kEnd };
typedef struct {
  int op, x, y;
} Op;

static Op code[kCode];
static uint32_t sets[16][8];
static int code_size, set_count;
static const char* pattern;

static int emit(int op, int x, int y) {
  code[code_size] = (Op){op, x, y};
  return code_size++;
}

// Makes room for one operation at `place`; jumps over it move.
static void insert(int place, int op, int x, int y) {
  for (int i = code_size++; i > place; i--) {
    code[i] = code[i - 1];
    if (code[i].op == kSplit || code[i].op == kJump) {
      if (code[i].x >= place) code[i].x++;
      if (code[i].op == kSplit && code[i].y >= place) code[i].y++;
    }
  }
  code[place] = (Op){op, x, y};
}

static void compile_alternatives(void);

static void compile_atom(void) {
  char c = *pattern++;
  if (c == '(') {
    compile_alternatives();
    if (*pattern == ')') pattern++;
  } else if (c == '.') {
    emit(kAny, 0, 0);
  } else if (c == '^') {
    emit(kStart, 0, 0);
  } else if (c == '$') {
    emit(kEnd, 0, 0);
  } else if (c == '[') {
    bool inverse = *pattern == '^';
    uint32_t* set = sets[set_count];
    if (inverse) pattern++;
    while (*pattern && *pattern != ']') {
      uint8_t first = (uint8_t)*pattern++, last = first;
      if (*pattern == '-' && pattern[1] != ']') {
        last = (uint8_t)pattern[1];
        pattern += 2;
      }
      for (int k = first; k <= last; k++) set[k / 32] |= 1u << (k % 32);
    }
    pattern++;
    for (int k = 0; inverse && k < 8; k++) set[k] = ~set[k];
    emit(kSet, set_count++, 0);
  } else {
    emit(kChar, c == '\\' ? *pattern++ : c, 0);
  }
}

static void compile_sequence(void) {
  while (*pattern && *pattern != '|' && *pattern != ')') {
    int start = code_size;
    compile_atom();
    for (; *pattern == '*' || *pattern == '+' || *pattern == '?'; pattern++) {
      if (*pattern == '+') {
        emit(kSplit, start, code_size + 1);
      } else {
        insert(start, kSplit, start + 1, code_size + 1 + (*pattern == '*'));
        if (*pattern == '*') emit(kJump, start, 0);
      }
    }
  }
}

static void compile_alternatives(void) {
  int start = code_size;
  compile_sequence();
  if (*pattern != '|') return;
  pattern++;
  insert(start, kSplit, start + 1, code_size + 2);
  int jump = emit(kJump, 0, 0);
  compile_alternatives();
  code[jump].x = code_size;
}

static void compile(const char* p) {
  memset(sets, 0, sizeof sets);
  code_size = set_count = 0;
  pattern = p;
  compile_alternatives();
  emit(kMatch, 0, 0);
}

static bool eats(const Op* op, char c) {
  uint8_t b = (uint8_t)c;
  return c && (op->op == kAny || (op->op == kChar && op->x == b) || (op->op == kSet && sets[op->x][b / 32] >> (b % 32) & 1));
}

static int steps;

// Length of the preferred match at `at`, or -1. Loops that eat nothing are cut at a depth.
static int backtrack(int pc, const char* text, const char* at, int depth) {
  steps++;
  if (depth > 300) return -1;
  for (;;) {
    const Op* op = &code[pc];
    if (op->op == kMatch) return (int)(at - text);
    if (op->op == kJump) {
      pc = op->x;
    } else if (op->op == kSplit) {
      int result = backtrack(op->x, text, at, depth + 1);
      if (result >= 0) return result;
      pc = op->y;
    } else if (op->op == kStart || op->op == kEnd) {
      if (op->op == kStart ? at != text : *at != 0) return -1;
      pc++;
    } else {
      if (!eats(op, *at)) return -1;
      at++;
      pc++;
    }
  }
}

static void add_thread(bool* set, int pc, const char* text, const char* at) {
  if (set[pc]) return;
  set[pc] = true;
  const Op* op = &code[pc];
  if (op->op == kJump || op->op == kSplit) add_thread(set, op->x, text, at);
  if (op->op == kSplit) add_thread(set, op->y, text, at);
  if ((op->op == kStart && at == text) || (op->op == kEnd && !*at)) add_thread(set, pc + 1, text, at);
}

static bool threads_match(const char* text) {
  static bool now[kCode], next[kCode];
  memset(now, 0, sizeof now);
  add_thread(now, 0, text, text);
  for (const char* at = text;; at++) {
    memset(next, 0, sizeof next);
    for (int pc = 0; pc < code_size; pc++) {
      if (!now[pc]) continue;
      if (code[pc].op == kMatch) return true;
      if (eats(&code[pc], *at)) add_thread(next, pc + 1, text, at + 1);
    }
    if (!*at) return false;
    memcpy(now, next, sizeof now);
  }
}

int main(int argc, char** argv) {
  static const char* const kPatterns[] = {"a*b",       "(a|b)*abb$", "[a-c]+x?y",       "^.b[^b]*$",
                                          "(ab|a)(c|bcd)", "a+b+c+",     "((a|b)(c|x))*y$", "x\\*?[y-z]?a"};
  enum { kPatternCount = sizeof kPatterns / sizeof kPatterns[0] };
  uint64_t seed = argument(argc, argv, 1, 0);
  int wrong = 0;
  if (argc > 3) {
    compile(argv[2]);
    print("%s on %s: %d\n", argv[2], argv[3], backtrack(0, argv[3], argv[3], 0));
  }
  for (int p = 0; p < kPatternCount; p++) {
    Random random = {seed};
    uint64_t bits = 0;
    int lengths = 0;
    compile(kPatterns[p]);
    for (int t = 0; t < 40; t++) {
      char text[16];
      int size = (int)(next_random(&random) % 12);
      for (int i = 0; i < size; i++) text[i] = "aabbabcy"[next_random(&random) & 7];
      text[size] = 0;
      int length = backtrack(0, text, text, 0);
      wrong += (length >= 0) != threads_match(text);
      bits = bits << 1 | (length >= 0);
      lengths += length > 0 ? length : 0;
    }
    print("%16s  %010lx  %d\n", kPatterns[p], bits, lengths);
  }
  print("%d steps, %d wrong\n", steps, wrong);
  return wrong != 0;
}
