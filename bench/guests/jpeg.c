// SPDX-License-Identifier: Apache-2.0
// Decodes a baseline JPEG file: `jpeg SEED TIMES`. The file is a grey image of 256 by 256 points, which an encoder makes first, with the
// Huffman tables for luminance of ITU-T T.81, annex K. The status is 1 if the decoded image is not near the original.
#include "guest.h"

enum { kSide = 256, kBlock = 64, kFile = 1 << 18 };
static const uint8_t dc_counts[16] = {0, 1, 5, 1, 1, 1, 1, 1, 1}, dc_symbols[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
static const uint8_t ac_counts[16] = {0, 2, 1, 3, 3, 2, 4, 3, 5, 5, 4, 4, 0, 0, 1, 0x7D};
static const uint8_t ac_symbols[] = {
    0x01, 0x02, 0x03, 0x00, 0x04, 0x11, 0x05, 0x12, 0x21, 0x31, 0x41, 0x06, 0x13, 0x51, 0x61, 0x07, 0x22, 0x71,
    0x14, 0x32, 0x81, 0x91, 0xA1, 0x08, 0x23, 0x42, 0xB1, 0xC1, 0x15, 0x52, 0xD1, 0xF0, 0x24, 0x33, 0x62, 0x72,
    0x82, 0x09, 0x0A, 0x16, 0x17, 0x18, 0x19, 0x1A, 0x25, 0x26, 0x27, 0x28, 0x29, 0x2A, 0x34, 0x35, 0x36, 0x37,
    0x38, 0x39, 0x3A, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48, 0x49, 0x4A, 0x53, 0x54, 0x55, 0x56, 0x57, 0x58, 0x59,
    0x5A, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68, 0x69, 0x6A, 0x73, 0x74, 0x75, 0x76, 0x77, 0x78, 0x79, 0x7A, 0x83,
    0x84, 0x85, 0x86, 0x87, 0x88, 0x89, 0x8A, 0x92, 0x93, 0x94, 0x95, 0x96, 0x97, 0x98, 0x99, 0x9A, 0xA2, 0xA3,
    0xA4, 0xA5, 0xA6, 0xA7, 0xA8, 0xA9, 0xAA, 0xB2, 0xB3, 0xB4, 0xB5, 0xB6, 0xB7, 0xB8, 0xB9, 0xBA, 0xC2, 0xC3,
    0xC4, 0xC5, 0xC6, 0xC7, 0xC8, 0xC9, 0xCA, 0xD2, 0xD3, 0xD4, 0xD5, 0xD6, 0xD7, 0xD8, 0xD9, 0xDA, 0xE1, 0xE2,
    0xE3, 0xE4, 0xE5, 0xE6, 0xE7, 0xE8, 0xE9, 0xEA, 0xF1, 0xF2, 0xF3, 0xF4, 0xF5, 0xF6, 0xF7, 0xF8, 0xF9, 0xFA};
// cos((2 x + 1) u pi / 16) / 2 in units of 1/8192; that of u = 0 is divided by the root of 2.
static const int16_t cosines[8][8] = {
    {2896, 2896, 2896, 2896, 2896, 2896, 2896, 2896},     {4017, 3406, 2276, 799, -799, -2276, -3406, -4017},
    {3784, 1567, -1567, -3784, -3784, -1567, 1567, 3784}, {3406, -799, -4017, -2276, 2276, 4017, 799, -3406},
    {2896, -2896, -2896, 2896, 2896, -2896, -2896, 2896}, {2276, -4017, 799, 3406, -3406, -799, 4017, -2276},
    {1567, -3784, 3784, -1567, -1567, 3784, -3784, 1567}, {799, -2276, 3406, -4017, 4017, -3406, 2276, -799}};

static uint8_t original[kSide][kSide], decoded[kSide][kSide], file[kFile], zigzag[kBlock], quantiser[kBlock];
static size_t size, place;
static uint32_t bits, bit_count;

static void make_zigzag(void) {
  int n = 0;
  for (int sum = 0; sum < 15; sum++) {
    for (int i = 0; i <= sum; i++) {
      const int row = sum & 1 ? i : sum - i, column = sum - row;
      if (row < 8 && column < 8) zigzag[n++] = (uint8_t)(row * 8 + column);
    }
  }
}
static uint32_t magnitude(int value) {
  uint32_t size_of = 0;
  for (uint32_t rest = (uint32_t)(value < 0 ? -value : value); rest; rest >>= 1) size_of++;
  return size_of;
}

static void put(uint32_t byte) { file[size++] = (uint8_t)byte; }
static void put_marker(uint32_t marker, uint32_t length) { put(0xFF), put(marker), put(length >> 8), put(length); }
static void put_bits(uint32_t value, uint32_t count) {
  for (uint32_t i = count; i-- > 0;) {
    bits = bits << 1 | (value >> i & 1);
    if (++bit_count < 8) continue;
    put(bits);
    if ((uint8_t)bits == 0xFF) put(0);
    bit_count = 0;
  }
}
static void put_symbol(const uint8_t* counts, const uint8_t* symbols, uint32_t symbol) {
  uint32_t code = 0, n = 0;
  for (uint32_t length = 1; length <= 16; length++, code <<= 1) {
    for (uint32_t i = 0; i < counts[length - 1]; i++, code++) {
      if (symbols[n++] == symbol) return put_bits(code, length);
    }
  }
}
static void put_value(int value, uint32_t size_of) {
  put_bits((uint32_t)(value < 0 ? value - 1 : value) & ((1u << size_of) - 1), size_of);
}
static void put_table(uint32_t number, const uint8_t* counts, const uint8_t* symbols, uint32_t symbol_count) {
  put_marker(0xC4, 19 + symbol_count);
  put(number);
  for (uint32_t i = 0; i < 16; i++) put(counts[i]);
  for (uint32_t i = 0; i < symbol_count; i++) put(symbols[i]);
}

static void encode_block(int row, int column, int* last) {
  int rows[8][8], coefficients[kBlock];
  for (int y = 0; y < 8; y++) {
    for (int u = 0; u < 8; u++) {
      int sum = 0;
      for (int x = 0; x < 8; x++) sum += (original[row + y][column + x] - 128) * cosines[u][x];
      rows[y][u] = sum >> 10;
    }
  }
  for (int v = 0; v < 8; v++) {
    for (int u = 0; u < 8; u++) {
      int sum = 0;
      for (int y = 0; y < 8; y++) sum += rows[y][u] * cosines[v][y];
      coefficients[v * 8 + u] = (sum >> 16) / quantiser[v * 8 + u];
    }
  }
  const int difference = coefficients[0] - *last;
  *last = coefficients[0];
  put_symbol(dc_counts, dc_symbols, magnitude(difference));
  put_value(difference, magnitude(difference));
  uint32_t zeros = 0;
  for (int i = 1; i < kBlock; i++) {
    const int value = coefficients[zigzag[i]];
    if (value == 0) {
      zeros++;
      continue;
    }
    for (; zeros > 15; zeros -= 16) put_symbol(ac_counts, ac_symbols, 0xF0);
    put_symbol(ac_counts, ac_symbols, zeros << 4 | magnitude(value));
    put_value(value, magnitude(value));
    zeros = 0;
  }
  if (zeros != 0) put_symbol(ac_counts, ac_symbols, 0);
}
static void encode(void) {
  size = bits = bit_count = 0;
  put(0xFF), put(0xD8);
  put_marker(0xDB, 67);
  put(0);
  for (int i = 0; i < kBlock; i++) put(quantiser[zigzag[i]]);
  put_marker(0xC0, 11);
  put(8), put(kSide >> 8), put(kSide & 255), put(kSide >> 8), put(kSide & 255), put(1), put(1), put(0x11), put(0);
  put_table(0x00, dc_counts, dc_symbols, sizeof dc_symbols);
  put_table(0x10, ac_counts, ac_symbols, sizeof ac_symbols);
  put_marker(0xDA, 8);
  put(1), put(1), put(0), put(0), put(63), put(0);
  int last = 0;
  for (int row = 0; row < kSide; row += 8) {
    for (int column = 0; column < kSide; column += 8) encode_block(row, column, &last);
  }
  put_bits(0x7F, 7);
  put(0xFF), put(0xD9);
}

typedef struct Table {
  int32_t first[17], last[17];  // the codes of each length
  uint32_t begin[17];
  const uint8_t* symbols;
} Table;
static Table tables[2];

static uint32_t next_bit(void) {
  if (bit_count == 0) {
    bits = file[place++];
    if (bits == 0xFF) place++;  // a stuffed zero
    bit_count = 8;
  }
  return bits >> --bit_count & 1;
}
static uint32_t next_symbol(const Table* table) {
  int32_t code = 0;
  for (uint32_t length = 1; length <= 16; length++) {
    code = code << 1 | (int32_t)next_bit();
    if (code <= table->last[length])
      return table->symbols[table->begin[length] + (uint32_t)(code - table->first[length])];
  }
  exit(3);
}
static int next_value(uint32_t size_of) {
  if (size_of == 0) return 0;
  int value = 0;
  for (uint32_t i = 0; i < size_of; i++) value = value << 1 | (int)next_bit();
  return value < 1 << (size_of - 1) ? value - (1 << size_of) + 1 : value;
}
static void read_table(const uint8_t* bytes) {
  Table* table = &tables[bytes[0] >> 4];
  table->symbols = bytes + 17;
  int32_t code = 0;
  uint32_t n = 0;
  for (uint32_t length = 1; length <= 16; length++, code <<= 1) {
    table->begin[length] = n;
    table->first[length] = code;
    n += bytes[length];
    code += bytes[length];
    table->last[length] = code - 1;
  }
}
static void decode_block(const uint8_t* factors, int row, int column, int* last) {
  int coefficients[kBlock] = {0}, rows[8][8];
  *last += next_value(next_symbol(&tables[0]));
  coefficients[0] = *last * factors[0];
  for (int i = 1; i < kBlock; i++) {
    const uint32_t symbol = next_symbol(&tables[1]);
    if (symbol == 0) break;
    i += (int)(symbol >> 4);
    coefficients[zigzag[i & 63]] = next_value(symbol & 15) * factors[i & 63];
  }
  for (int v = 0; v < 8; v++) {
    for (int x = 0; x < 8; x++) {
      int sum = 0;
      for (int u = 0; u < 8; u++) sum += coefficients[v * 8 + u] * cosines[u][x];
      rows[v][x] = sum >> 10;
    }
  }
  for (int y = 0; y < 8; y++) {
    for (int x = 0; x < 8; x++) {
      int sum = 0;
      for (int v = 0; v < 8; v++) sum += rows[v][x] * cosines[v][y];
      const int point = (sum >> 16) + 128;
      decoded[row + y][column + x] = (uint8_t)(point < 0 ? 0 : point > 255 ? 255 : point);
    }
  }
}
static void decode(void) {
  const uint8_t* factors = NULL;
  place = 2;
  for (;;) {
    const uint32_t marker = file[place + 1], length = (uint32_t)(file[place + 2] << 8 | file[place + 3]);
    if (marker == 0xDB) factors = file + place + 5;
    if (marker == 0xC4) read_table(file + place + 4);
    place += 2 + length;
    if (marker == 0xDA) break;
  }
  bits = bit_count = 0;
  int last = 0;
  for (int row = 0; row < kSide; row += 8) {
    for (int column = 0; column < kSide; column += 8) decode_block(factors, row, column, &last);
  }
}

int main(int argc, char** argv) {
  Random random = {argument(argc, argv, 1, 0)};
  const uint64_t times = argument(argc, argv, 2, 1);
  make_zigzag();
  for (int i = 0; i < kBlock; i++) quantiser[i] = (uint8_t)(4 + i / 8 + i % 8);
  for (int y = 0; y < kSide; y++) {
    for (int x = 0; x < kSide; x++) {
      original[y][x] = (uint8_t)(64 + ((x * x + 3 * y) >> 6) % 96 + (int)(next_random(&random) % 24));
    }
  }
  encode();
  for (uint64_t i = 0; i < times; i++) decode();
  int worst = 0;
  for (int y = 0; y < kSide; y++) {
    for (int x = 0; x < kSide; x++) {
      const int difference = decoded[y][x] - original[y][x], distance = difference < 0 ? -difference : difference;
      if (distance > worst) worst = distance;
    }
  }
  print("%lu bytes, image %016lx, worst point differs by %d\n", size, hash_bytes(kHashStart, decoded, sizeof decoded),
        worst);
  return worst > 64;
}
