// SPDX-License-Identifier: Apache-2.0
// Reads a JSON document (RFC 8259) from standard input and prints how many values it has and how deep they lie, or where
// it is wrong. Exit status 0: it is JSON; 1: it is not; 2: arrays and objects lie deeper than kDeepest in each other.
#include "guest.h"

enum { kDeepest = 64 };

typedef struct {
  const char* at;
  const char* end;
  uint32_t values, depth, deepest;
} Parser;

static bool value(Parser* p);

static char next(const Parser* p) { return p->at < p->end ? *p->at : '\0'; }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
static bool take(Parser* p, char c) {
  if (p->at == p->end || *p->at != c) return false;
  p->at++;
  return true;
}
static void space(Parser* p) {
  while (take(p, ' ') || take(p, '\t') || take(p, '\n') || take(p, '\r')) {}
}

static bool word(Parser* p, const char* text) {
  for (; *text; text++) {
    if (!take(p, *text)) return false;
  }
  return true;
}

static bool digits(Parser* p) {
  if (!is_digit(next(p))) return false;
  while (is_digit(next(p))) p->at++;
  return true;
}

static bool number(Parser* p) {
  take(p, '-');
  if (!take(p, '0') && !digits(p)) return false;
  if (take(p, '.') && !digits(p)) return false;
  if (!take(p, 'e') && !take(p, 'E')) return true;
  if (!take(p, '+')) take(p, '-');
  return digits(p);
}

static bool escape(Parser* p) {
  if (!take(p, 'u')) {
    for (const char* c = "\"\\/bfnrt"; *c; c++) {
      if (take(p, *c)) return true;
    }
    return false;
  }
  for (int i = 0; i < 4; i++) {
    if (!is_hex(next(p))) return false;
    p->at++;
  }
  return true;
}

static bool string(Parser* p) {
  if (!take(p, '"')) return false;
  while (p->at < p->end && (uint8_t)*p->at >= ' ') {
    if (take(p, '"')) return true;
    if (!take(p, '\\')) p->at++;
    else if (!escape(p)) return false;
  }
  return false;
}

/// What stands between the brackets of an array, or the braces of an object.
static bool members(Parser* p, char close, bool named) {
  if (p->depth == kDeepest) {
    print("deeper than %d\n", kDeepest);
    exit(2);
  }
  if (++p->depth > p->deepest) p->deepest = p->depth;
  space(p);
  bool well = take(p, close);
  while (!well) {
    space(p);
    if (named) {
      if (!string(p)) return false;
      space(p);
      if (!take(p, ':')) return false;
    }
    if (!value(p)) return false;
    well = take(p, close);
    if (!well && !take(p, ',')) return false;
  }
  p->depth--;
  return true;
}

static bool value(Parser* p) {
  space(p);
  p->values++;
  bool well;
  switch (next(p)) {
    case '{': p->at++, well = members(p, '}', true); break;
    case '[': p->at++, well = members(p, ']', false); break;
    case '"': well = string(p); break;
    case 't': well = word(p, "true"); break;
    case 'f': well = word(p, "false"); break;
    case 'n': well = word(p, "null"); break;
    default: well = number(p); break;
  }
  if (well) space(p);
  return well;
}

int main(void) {
  size_t size;
  const char* text = read_all(&size);
  Parser p = {text, text + size, 0, 0, 0};
  if (!value(&p) || p.at != p.end) {
    print("wrong at byte %lu\n", (uint64_t)(p.at - text));
    return 1;
  }
  print("%u values, depth %u\n", p.values, p.deepest);
  return 0;
}
