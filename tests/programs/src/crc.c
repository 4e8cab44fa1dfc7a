// SPDX-License-Identifier: Apache-2.0
// Cyclic redundancy checks: bit by bit, by table and by four tables, of several widths; Adler-32.
#include "guest.h"

static uint8_t data[4000];
static uint32_t table[4][256];

static uint32_t bitwise(uint32_t polynomial, const uint8_t* p, size_t size) {
  uint32_t r = ~0u;
  for (size_t i = 0; i < size; i++) {
    r ^= p[i];
    for (int k = 0; k < 8; k++) r = r >> 1 ^ (polynomial & (0 - (r & 1)));
  }
  return ~r;
}

static void make_tables(uint32_t polynomial) {
  for (uint32_t i = 0; i < 256; i++) {
    uint32_t r = i;
    for (int k = 0; k < 8; k++) r = r >> 1 ^ (polynomial & (0 - (r & 1)));
    table[0][i] = r;
  }
  for (int t = 1; t < 4; t++)
    for (int i = 0; i < 256; i++) table[t][i] = table[t - 1][i] >> 8 ^ table[0][table[t - 1][i] & 255];
}

static uint32_t by_table(const uint8_t* p, size_t size) {
  uint32_t r = ~0u;
  for (size_t i = 0; i < size; i++) r = table[0][(r ^ p[i]) & 255] ^ r >> 8;
  return ~r;
}

static uint32_t by_four(const uint8_t* p, size_t size) {
  uint32_t r = ~0u;
  for (; size >= 4; size -= 4, p += 4) {
    uint32_t word;
    memcpy(&word, p, 4);
    r ^= word;
    r = table[3][r & 255] ^ table[2][r >> 8 & 255] ^ table[1][r >> 16 & 255] ^ table[0][r >> 24];
  }
  while (size--) r = table[0][(r ^ *p++) & 255] ^ r >> 8;
  return ~r;
}

static uint16_t crc16(const uint8_t* p, size_t size) {
  uint16_t r = 0xFFFF;
  for (size_t i = 0; i < size; i++) {
    r = (uint16_t)(r ^ p[i] << 8);
    for (int k = 0; k < 8; k++) r = (uint16_t)(r & 0x8000 ? r << 1 ^ 0x1021 : r << 1);
  }
  return r;
}

static uint64_t crc64(const uint8_t* p, size_t size) {
  uint64_t r = 0;
  for (size_t i = 0; i < size; i++) {
    r ^= (uint64_t)p[i] << 56;
    for (int k = 0; k < 8; k++) r = (int64_t)r < 0 ? r << 1 ^ 0x42F0E1EBA9EA3693u : r << 1;
  }
  return r;
}

static uint32_t adler32(const uint8_t* p, size_t size) {
  uint32_t a = 1, b = 0;
  for (size_t i = 0; i < size; i++) {
    a = (a + p[i]) % 65521;
    b = (b + a) % 65521;
  }
  return b << 16 | a;
}

int main(int argc, char** argv) {
  const uint8_t* check = (const uint8_t*)"123456789";
  int wrong = bitwise(0xEDB88320, check, 9) != 0xCBF43926;
  wrong += bitwise(0x82F63B78, check, 9) != 0xE3069283;
  wrong += crc16(check, 9) != 0x29B1;
  wrong += crc64(check, 9) != 0x6C40DF5F0B497347u;
  Random random = {argument(argc, argv, 1, 0)};
  for (size_t i = 0; i < sizeof data; i++) data[i] = (uint8_t)(next_random(&random) >> 11);
  make_tables(0xEDB88320);
  uint32_t slow = bitwise(0xEDB88320, data + 1, 3001), fast = by_table(data + 1, 3001), wide = by_four(data + 1, 3001);
  wrong += slow != fast || slow != wide;
  print("crc32 %08x %08x %08x\ncrc32c %08x\ncrc16 %04x\ncrc64 %016lx\nadler32 %08x\nwrong %d\n", slow, fast, wide,
        bitwise(0x82F63B78, data, 1000), crc16(data, 1000), crc64(data, 1000), adler32(data, sizeof data), wrong);
  return wrong;
}
