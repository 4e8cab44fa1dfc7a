// SPDX-License-Identifier: Apache-2.0
// glibc's own vector code and what rests on it: string and memory functions over all alignments and lengths, qsort and
// bsearch, strtok, setjmp, wide characters, sscanf, and a long text through stdio.
#define _GNU_SOURCE
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <time.h>
#include <wchar.h>

#include "common.h"

static uint8_t a[512], b[512];

static int sign(int value) { return (value > 0) - (value < 0); }

static uint64_t sweep(Random* random) {
  uint64_t hash = kHashStart;
  for (size_t i = 0; i < sizeof a; i++) a[i] = (uint8_t)(1 + next_random(random) % 255);
  for (size_t offset = 0; offset < 17; offset += 3) {
    for (size_t length = 0; length < 150; length += 1 + length / 5) {
      memset(b, 0xAA, sizeof b);
      memcpy(b + offset, a + length % 13, length);
      b[offset + length] = 0;
      const char* text = (const char*)b + offset;
      int letter = length ? b[offset + length / 2] : 'x';
      hash = hash_word(hash, strlen(text) * 31 + strnlen(text, 40));
      const char* found = memchr(text, letter, length);
      hash = hash_word(hash, found ? (uint64_t)(found - text) : 999);
      found = memrchr(text, letter, length);
      hash = hash_word(hash, found ? (uint64_t)(found - text) : 999);
      found = strchr(text, letter);
      hash = hash_word(hash, found ? (uint64_t)(found - text) : 999);
      found = strchrnul(text, 1);
      hash = hash_word(hash, (uint64_t)(found - text));
      found = strrchr(text, letter);
      hash = hash_word(hash, found ? (uint64_t)(found - text) : 999);
      hash = hash_word(hash, (uint64_t)sign(memcmp(text, a + length % 13, length)) + 7);
      hash = hash_word(hash, (uint64_t)sign(strcmp(text, (const char*)a)) + 7);
      hash = hash_word(hash, (uint64_t)sign(strncmp(text, (const char*)a + length % 13, length + 1)) + 7);
      memmove(b + offset + 5, b + offset, length);
      memmove(b + offset + 1, b + offset + 6, length);
      memset(b + 300 + offset, (int)length, length);
      hash = hash_bytes(hash, b, sizeof b);
      char copy[200];
      stpncpy(copy, text, sizeof copy - 1);
      copy[sizeof copy - 1] = 0;
      strncat(copy, "tail", sizeof copy - 1 - strlen(copy));
      hash = hash_bytes(hash, copy, strlen(copy));
    }
  }
  return hash;
}

typedef struct {
  uint32_t key, order;
  double weight;
} Item;
static int by_key(const void* x, const void* y) {
  const Item *p = x, *q = y;
  return p->key != q->key ? (p->key < q->key ? -1 : 1) : (p->order > q->order) - (p->order < q->order);
}
static int by_text(const void* x, const void* y) { return strcmp(*(char* const*)x, *(char* const*)y); }

static jmp_buf place;
static void __attribute__((noinline)) leave(int depth, volatile double* kept) {
  *kept = *kept * 1.5 + depth;
  if (depth < 0) return;
  if (depth > 0) leave(depth - 1, kept);
  else longjmp(place, 42);
  *kept = -1;
}
static void jump(void) {
  volatile double kept = 0.25;
  int from = setjmp(place);
  if (from == 0) leave(12, &kept);
  printf("longjmp %d %.10g\n", from, kept);
}

static int collect(char* out, size_t size, const char* format, ...) {
  va_list list;
  va_start(list, format);
  int n = vsnprintf(out, size, format, list);
  va_end(list);
  return n;
}

int main(int argc, char** argv) {
  uint64_t seed = seed_of(argc, argv);
  Random random = {seed};
  printf("sweep %016" PRIx64 "\n", sweep(&random));

  static Item items[300];
  for (uint32_t i = 0; i < 300; i++) items[i] = (Item){(uint32_t)(next_random(&random) % 100), i, next_unit(&random)};
  qsort(items, 300, sizeof *items, by_key);
  Item key = {items[150].key, items[150].order, 0};
  const Item* found = bsearch(&key, items, 300, sizeof *items, by_key);
  printf("sorted %016" PRIx64 " found %td\n", hash_bytes(kHashStart, items, sizeof items), found ? found - items : -1);

  char text[] = "the quick brown fox; jumps over, the lazy dog -- and 1 2 3 more";
  char *words[32], *state;
  size_t count = 0;
  for (char* word = strtok_r(text, " ,;-", &state); word; word = strtok_r(NULL, " ,;-", &state))
    words[count++] = strdup(word);
  qsort(words, count, sizeof *words, by_text);
  for (size_t i = 0; i < count; i++) {
    for (char* c = words[i]; *c; c++) *c = (char)((i + seed) % 2 ? toupper(*c) : *c);
    printf("%s%s", i ? " " : "", words[i]);
    free(words[i]);
  }
  putchar('\n');
  printf("%s %zu %zu %s\n", strstr("haystack with a needle in it", "needle"), strspn("aabbcc", "ab"),
         strcspn("hello", "lo"), strpbrk("key=value", "=:"));

  jump();
  int n1, n2;
  double d;
  char name[20];
  printf("%d ", sscanf("12 -0x1f 3.5e-2 word,rest", "%d %i %lf %19[a-z]", &n1, &n2, &d, name));
  printf("%d %d %g %s\n", n1, n2, d, name);
  char line[64];
  int needed = collect(line, sizeof line, "%s/%08.3f/%-8d|%+d|%#x|%lc", "mixed", 3.14159, 42, 7, 255, (wint_t)L'w');
  printf("%d %s\n", needed, line);
  wchar_t wide[32];
  swprintf(wide, 32, L"wide %d %ls", 5, L"text");
  printf("%zu %ls %ld\n", wcslen(wide), wide, wcstol(L"-123", NULL, 10));

  time_t moment = (time_t)(86400 * 365.25 * (double)(seed % 80) + 12345);
  struct tm parts;
  gmtime_r(&moment, &parts);
  strftime(line, sizeof line, "%Y-%m-%d %H:%M:%S %A week %U day %j", &parts);
  printf("%s %d\n", line, timegm(&parts) == moment);

  for (int i = 0; i < 60; i++)
    printf("%04d %s %*.*f|", i, "a line that fills the buffer of stdout again and again", 9, i % 6, i * 1.37);
  puts("");
  fprintf(stderr, "to standard error %d\n", (int)(seed % 10));
  char* grown = NULL;
  size_t size = 0;
  FILE* stream = open_memstream(&grown, &size);
  for (int i = 0; i < 200; i++) fprintf(stream, "%d,", i * i);
  fclose(stream);
  printf("%zu %.30s\n", size, grown);
  free(grown);
  return (int)(seed % 50);
}
