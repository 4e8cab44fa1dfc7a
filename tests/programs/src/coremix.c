// SPDX-License-Identifier: Apache-2.0
// A mix in the manner of CoreMark, written anew: linked lists, a matrix, a state machine over text, and a CRC over all.
#include "guest.h"

typedef struct Item {
  struct Item* next;
  int16_t value, order;
} Item;

enum { kItems = 120, kSide = 10 };
static Item items[kItems];
static int16_t a[kSide][kSide], b[kSide][kSide];
static int32_t c[kSide][kSide];

static uint16_t crc16(uint16_t r, uint32_t value) {
  for (int i = 0; i < 32; i++, value >>= 1) r = (uint16_t)(r >> 1 ^ (((r ^ value) & 1) ? 0xA001 : 0));
  return r;
}

static int by_value(const Item* x, const Item* y) { return x->value - y->value; }
static int by_order(const Item* x, const Item* y) { return x->order - y->order; }

static Item* merge_lists(Item* list, int (*compare)(const Item*, const Item*)) {
  for (int size = 1;; size *= 2) {
    Item *from = list, *head = NULL, **tail = &head;
    int merges = 0;
    while (from) {
      merges++;
      Item* other = from;
      int left = 0, right = size;
      for (; left < size && other; left++) other = other->next;
      while (left > 0 || (right > 0 && other)) {
        Item* taken;
        if (left > 0 && (right == 0 || !other || compare(from, other) <= 0)) {
          taken = from;
          from = from->next;
          left--;
        } else {
          taken = other;
          other = other->next;
          right--;
        }
        *tail = taken;
        tail = &taken->next;
      }
      from = other;
    }
    *tail = NULL;
    list = head;
    if (merges <= 1) return list;
  }
}

static Item* reverse(Item* list) {
  Item* result = NULL;
  while (list) {
    Item* next = list->next;
    list->next = result;
    result = list;
    list = next;
  }
  return result;
}

typedef enum { kBegin, kInteger, kFraction, kExponent, kSign, kInvalid, kStates } State;

static State classify(const char** text, uint32_t counts[kStates]) {
  State state = kBegin;
  for (; **text && **text != ','; ++*text) {
    char ch = **text;
    bool digit = ch >= '0' && ch <= '9';
    switch (state) {
      case kBegin: state = digit ? kInteger : ch == '+' || ch == '-' ? kSign : kInvalid; break;
      case kSign: state = digit ? kInteger : ch == '.' ? kFraction : kInvalid; break;
      case kInteger: state = digit ? kInteger : ch == '.' ? kFraction : ch == 'e' ? kExponent : kInvalid; break;
      case kFraction: state = digit ? kFraction : ch == 'e' ? kExponent : kInvalid; break;
      case kExponent: state = digit ? kExponent : kInvalid; break;
      default: break;
    }
    counts[state]++;
  }
  if (**text) ++*text;
  return state;
}

int main(int argc, char** argv) {
  Random random = {argument(argc, argv, 1, 0)};
  uint16_t crc = 0xFFFF;
  for (int round = 0; round < 6; round++) {
    for (int i = 0; i < kItems; i++)
      items[i] = (Item){i + 1 < kItems ? &items[i + 1] : NULL, (int16_t)next_random(&random), (int16_t)i};
    Item* list = merge_lists(items, by_value);
    uint16_t list_crc = 0;
    for (Item* item = list; item; item = item->next) list_crc = crc16(list_crc, (uint16_t)item->value);
    list = reverse(merge_lists(reverse(list), by_order));
    for (Item* item = list; item; item = item->next) list_crc = crc16(list_crc, (uint16_t)item->order);
    crc = crc16(crc, list_crc);

    uint16_t matrix_crc = 0;
    for (int i = 0; i < kSide; i++)
      for (int j = 0; j < kSide; j++) a[i][j] = (int16_t)next_random(&random), b[i][j] = (int16_t)(i * j + round);
    for (int i = 0; i < kSide; i++)
      for (int j = 0; j < kSide; j++) {
        c[i][j] = 0;
        for (int k = 0; k < kSide; k++) c[i][j] += (a[i][k] * b[k][j]) >> 2 & 0xFFFF;
        matrix_crc = crc16(matrix_crc, (uint32_t)c[i][j]);
      }
    crc = crc16(crc, matrix_crc);

    char text[400];
    uint32_t finals[kStates] = {0}, counts[kStates] = {0};
    for (int i = 0; i < 399; i++) text[i] = "0123456789+-.e,,512T"[next_random(&random) % (20 - (i % 3 == 0))];
    text[399] = 0;
    for (const char* p = text; *p;) finals[classify(&p, counts)]++;
    for (int i = 0; i < kStates; i++) crc = crc16(crc16(crc, finals[i]), counts[i]);
    print("round %d: list %04x, matrix %04x, states %u %u %u %u %u %u\n", round, list_crc, matrix_crc, finals[0], finals[1],
          finals[2], finals[3], finals[4], finals[5]);
  }
  print("crc %04x\n", crc);
  return crc & 0x7F;
}
