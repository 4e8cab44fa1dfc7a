// SPDX-License-Identifier: Apache-2.0
// A JSON parser and printer: standard input, or a built-in text, goes into a tree and comes out with its members
// sorted by name. Bad text ends with status 1 and the place of the mistake.
#include "guest.h"

typedef enum { kNull, kFalse, kTrue, kNumber, kString, kArray, kObject } Kind;
typedef struct Value {
  Kind kind;
  struct Value *child, *next;  // of arrays and objects
  char* name;                  // of a member
  char* text;                  // of strings and numbers
} Value;

static const char *text, *at;
static int values, deepest;
static int64_t sum;

static void __attribute__((noreturn)) fail(const char* what) {
  int line = 1, column = 1;
  for (const char* p = text; p < at; p++) column = *p == '\n' ? (line++, 1) : column + 1;
  print("line %d, column %d: %s\n", line, column, what);
  exit(1);
}

static void skip_space(void) {
  while (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r') at++;
}

static char* put_utf8(char* out, uint32_t c) {
  if (c < 0x80) {
    *out++ = (char)c;
  } else if (c < 0x800) {
    *out++ = (char)(0xC0 | c >> 6);
    *out++ = (char)(0x80 | (c & 63));
  } else {
    *out++ = (char)(0xE0 | c >> 12);
    *out++ = (char)(0x80 | (c >> 6 & 63));
    *out++ = (char)(0x80 | (c & 63));
  }
  return out;
}

static char* parse_string(void) {
  const char* end = ++at;
  while (*end && *end != '"') end += *end == '\\' && end[1] ? 2 : 1;
  char *result = malloc((size_t)(end - at) + 1), *out = result;
  while (*at != '"') {
    if ((uint8_t)*at < 0x20) fail(*at ? "a control character in a string" : "the string does not end");
    if (*at != '\\') {
      *out++ = *at++;
      continue;
    }
    at++;
    uint32_t code = 0;
    switch (*at) {
      case '"': case '\\': case '/': *out++ = *at; break;
      case 'b': *out++ = '\b'; break;
      case 'f': *out++ = '\f'; break;
      case 'n': *out++ = '\n'; break;
      case 'r': *out++ = '\r'; break;
      case 't': *out++ = '\t'; break;
      case 'u':
        for (int i = 0; i < 4; i++) {
          char c = *++at;
          if (c >= '0' && c <= '9') code = code * 16 + (uint32_t)(c - '0');
          else if ((c | 32) >= 'a' && (c | 32) <= 'f') code = code * 16 + (uint32_t)((c | 32) - 'a' + 10);
          else fail("four hexadecimal digits must follow \\u");
        }
        out = put_utf8(out, code);
        break;
      default: fail("no such escape");
    }
    at++;
  }
  at++;
  *out = 0;
  return result;
}

static void digits(void) {
  if (*at < '0' || *at > '9') fail("a digit is missing");
  while (*at >= '0' && *at <= '9') at++;
}

static Value* parse_value(int depth) {
  Value* value = malloc(sizeof(Value));
  memset(value, 0, sizeof *value);
  values++;
  if (depth > deepest) deepest = depth;
  if (depth > 100) fail("nested too deeply");
  skip_space();
  if (*at == '{' || *at == '[') {
    char close = *at == '{' ? '}' : ']';
    value->kind = *at++ == '{' ? kObject : kArray;
    Value** place = &value->child;
    skip_space();
    if (*at == close) {
      at++;
      return value;
    }
    for (;;) {
      char* name = NULL;
      skip_space();
      if (value->kind == kObject) {
        if (*at != '"') fail("a member must begin with a name");
        name = parse_string();
        skip_space();
        if (*at++ != ':') at--, fail("a colon is missing");
      }
      Value* child = parse_value(depth + 1);
      child->name = name;
      if (value->kind == kObject) {  // by name
        for (place = &value->child; *place && strcmp((*place)->name, name) <= 0;) place = &(*place)->next;
        child->next = *place;
        *place = child;
      } else {
        *place = child;
        place = &child->next;
      }
      skip_space();
      if (*at == close) break;
      if (*at != ',') fail("a comma or the end of the list is missing");
      at++;
    }
    at++;
  } else if (*at == '"') {
    value->kind = kString;
    value->text = parse_string();
  } else if (*at == '-' || (*at >= '0' && *at <= '9')) {
    const char* start = at;
    value->kind = kNumber;
    if (*at == '-') at++;
    int64_t whole = (int64_t)parse_number(at);
    if (*at == '0') at++;
    else digits();
    sum += *start == '-' ? -whole : whole;
    if (*at == '.') at++, digits();
    if ((*at | 32) == 'e') {
      at++;
      if (*at == '+' || *at == '-') at++;
      digits();
    }
    value->text = malloc((size_t)(at - start) + 1);
    memcpy(value->text, start, (size_t)(at - start));
    value->text[at - start] = 0;
  } else {
    static const char* const kWords[] = {"null", "false", "true"};
    for (int i = 0; i < 3; i++) {
      if (memcmp(at, kWords[i], 2) != 0 || memcmp(at, kWords[i], strlen(kWords[i])) != 0) continue;
      at += strlen(kWords[i]);
      value->kind = (Kind)i;
      return value;
    }
    fail("this is no value");
  }
  return value;
}

static void show_string(const char* s) {
  print("\"");
  for (; *s; s++) {
    if (*s == '"' || *s == '\\') print("\\%c", *s);
    else if ((uint8_t)*s < 0x20) print("\\u%04x", (unsigned)*s);
    else print("%c", *s);
  }
  print("\"");
}

static void show(const Value* value, int indent) {
  static const char* const kWords[] = {"null", "false", "true"};
  if (value->kind <= kTrue) {
    print("%s", kWords[value->kind]);
  } else if (value->kind == kNumber) {
    print("%s", value->text);
  } else if (value->kind == kString) {
    show_string(value->text);
  } else {
    print(value->kind == kObject ? "{" : "[");
    for (const Value* child = value->child; child; child = child->next) {
      print("\n");
      for (int i = 0; i <= indent; i++) print("  ");
      if (child->name) show_string(child->name), print(": ");
      show(child, indent + 1);
      if (child->next) print(",");
    }
    if (value->child) {
      print("\n");
      for (int i = 0; i < indent; i++) print("  ");
    }
    print(value->kind == kObject ? "}" : "]");
  }
}

static const char kBuiltIn[] =
    "{\"name\": \"myriarm\", \"lanes\": [1, 32, 33, 1000, 202752], \"ratio\": -1.5e+3, \"nested\": {\"z\": null, \"a\": "
    "true,\n \"m\": [[], {}, [[\"deep\"]], false]}, \"text\": \"tab\\t quote\\\" e-acute \\u00e9 euro \\u20AC\"}";

int main(int argc, char** argv) {
  size_t size;
  char* input = read_all(&size);
  if (size == 0) {  // the built-in text, cut short where the seed says so
    input = malloc(sizeof kBuiltIn);
    memcpy(input, kBuiltIn, sizeof kBuiltIn);
    uint64_t seed = argument(argc, argv, 1, 0);
    if (seed) input[seed * 7 % sizeof kBuiltIn] = seed % 2 ? 0 : ',';
  }
  text = at = input;
  Value* root = parse_value(0);
  skip_space();
  if (*at) fail("text after the end");
  show(root, 0);
  print("\n%d values, %d deep, whole parts sum to %ld\n", values, deepest, sum);
  return 0;
}
