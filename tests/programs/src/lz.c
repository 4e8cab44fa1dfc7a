// SPDX-License-Identifier: Apache-2.0
// An LZ77 compressor with hash chains and its expander: the expanded text must be the original.
#include "guest.h"

enum { kMost = 16384, kHashes = 1024, kLongest = 66, kShortest = 3, kWindow = 8191, kTries = 16 };
static int last_place[kHashes], previous[kMost];
static uint8_t packed[kMost * 2], unpacked[kMost];

static uint32_t hash3(const uint8_t* p) { return ((uint32_t)p[0] << 10 ^ (uint32_t)p[1] << 5 ^ p[2]) * 2654435761u >> 22; }

// A stream of literals (0 to 127 more bytes after a count byte) and matches (0x80 | length - 3 over two bytes).
static int compress(const uint8_t* in, int size, uint8_t* out) {
  int produced = 0, literal_start = 0, at = 0;
  for (int i = 0; i < kHashes; i++) last_place[i] = -1;
  while (at < size) {
    int best = 0, distance = 0;
    if (at + kShortest <= size) {
      uint32_t h = hash3(in + at);
      int place = last_place[h];
      for (int tries = 0; tries < kTries && place >= 0 && at - place <= kWindow; tries++, place = previous[place]) {
        int length = 0, most = size - at < kLongest ? size - at : kLongest;
        while (length < most && in[place + length] == in[at + length]) length++;
        if (length > best) {
          best = length;
          distance = at - place;
        }
      }
    }
    int step = best >= kShortest ? best : 1;
    if (best >= kShortest || at - literal_start == 127) {
      if (at > literal_start) {
        out[produced++] = (uint8_t)(at - literal_start);
        memcpy(out + produced, in + literal_start, (size_t)(at - literal_start));
        produced += at - literal_start;
      }
      literal_start = at;
    }
    if (best >= kShortest) {
      out[produced++] = (uint8_t)(0x80 | (best - kShortest));
      out[produced++] = (uint8_t)(distance >> 8);
      out[produced++] = (uint8_t)distance;
      literal_start = at + best;
    }
    for (int i = 0; i < step; i++, at++) {
      if (at + kShortest > size) continue;
      uint32_t h = hash3(in + at);
      previous[at] = last_place[h];
      last_place[h] = at;
    }
  }
  for (; literal_start < size;) {
    int count = size - literal_start < 127 ? size - literal_start : 127;
    out[produced++] = (uint8_t)count;
    memcpy(out + produced, in + literal_start, (size_t)count);
    produced += count;
    literal_start += count;
  }
  return produced;
}

static int expand(const uint8_t* in, int size, uint8_t* out) {
  int produced = 0;
  for (int at = 0; at < size;) {
    int count = in[at++];
    if (count & 0x80) {
      int from = produced - (in[at] << 8 | in[at + 1]);
      at += 2;
      for (int i = 0; i < (count & 0x7F) + kShortest; i++) out[produced++] = out[from++];
    } else {
      memcpy(out + produced, in + at, (size_t)count);
      produced += count;
      at += count;
    }
  }
  return produced;
}

static char* make_text(uint64_t seed, size_t* size) {
  static const char* const kWords[] = {"lane", "warp", "page", "frame", "guest", "register", "fetch", "decode", "of", "the", "a", "and"};
  Random random = {seed};
  char* text = malloc(kMost);
  *size = 0;
  while (*size < 6000) {
    const char* word = kWords[next_random(&random) % 12];
    memcpy(text + *size, word, strlen(word));
    *size += strlen(word);
    text[(*size)++] = next_random(&random) % 9 ? ' ' : '\n';
    if (next_random(&random) % 20 == 0) text[(*size)++] = (char)next_random(&random);
  }
  return text;
}

int main(int argc, char** argv) {
  size_t size;
  char* text = read_all(&size);
  if (size == 0) text = make_text(argument(argc, argv, 1, 0), &size);
  if (size > kMost) size = kMost;
  int small = compress((const uint8_t*)text, (int)size, packed);
  int back = expand(packed, small, unpacked);
  bool same = back == (int)size && memcmp(text, unpacked, size) == 0;
  print("%lu bytes became %d: %s\nchecksum %016lx\n", size, small, same ? "the same text came back" : "DAMAGED",
        hash_bytes(kHashStart, packed, (size_t)small));
  return !same;
}
