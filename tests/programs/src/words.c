// SPDX-License-Identifier: Apache-2.0
// Counts the words of standard input, or of a generated text, in a hash table and prints the most frequent.
#include "guest.h"

typedef struct Word {
  struct Word* next;
  uint32_t count;
  char text[];
} Word;

static Word* table[256];

static void count_word(const char* start, size_t size) {
  Word** place = &table[hash_bytes(kHashStart, start, size) & 255];
  for (; *place; place = &(*place)->next)
    if (memcmp((*place)->text, start, size) == 0 && !(*place)->text[size]) break;
  if (!*place) {
    Word* word = malloc(sizeof(Word) + size + 1);
    word->next = NULL;
    word->count = 0;
    memcpy(word->text, start, size);
    word->text[size] = 0;
    *place = word;
  }
  (*place)->count++;
}

int main(int argc, char** argv) {
  size_t size;
  char* text = read_all(&size);
  if (size == 0) {
    Random random = {argument(argc, argv, 1, 0)};
    free(text);
    text = malloc((size = 4000) + 1);
    for (size_t i = 0; i < size; i++) {
      uint64_t r = next_random(&random);
      text[i] = "etaoin      shr"[r % 15 & (r >> 8)];
    }
    text[size] = 0;
  }
  uint32_t words = 0, different = 0;
  for (char* p = text; *p;) {
    char* start = p;
    for (; *p && *p != ' ' && *p != '\n'; p++)
      if (*p >= 'A' && *p <= 'Z') *p |= 32;
    if (p > start) count_word(start, (size_t)(p - start)), words++;
    if (*p) p++;
  }
  for (int i = 0; i < 256; i++)
    for (Word* word = table[i]; word; word = word->next) different++;
  print("%u words, %u different\n", words, different);
  for (int rank = 0; rank < 8; rank++) {
    Word* best = NULL;
    for (int i = 0; i < 256; i++)
      for (Word* word = table[i]; word; word = word->next)
        if (word->count && (!best || word->count > best->count || (word->count == best->count && strcmp(word->text, best->text) < 0))) best = word;
    if (!best) break;
    print("%5u %s\n", best->count, best->text);
    best->count = 0;
  }
  return 0;
}
