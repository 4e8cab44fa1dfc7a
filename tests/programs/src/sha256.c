// SPDX-License-Identifier: Apache-2.0
// SHA-256: known answers, then digests of messages of many lengths.
#include "sha256.h"

static uint8_t message[1024];

static void digest_of(const void* bytes, size_t size, uint8_t digest[32]) {
  Sha256 s;
  sha256_init(&s);
  sha256_add(&s, bytes, size);
  sha256_end(&s, digest);
}

int main(int argc, char** argv) {
  static const uint8_t kAbc[4] = {0xba, 0x78, 0x16, 0xbf}, kEmpty[4] = {0xe3, 0xb0, 0xc4, 0x42};
  uint8_t digest[32];
  sha256_tables();
  digest_of("", 0, digest);
  int wrong = memcmp(digest, kEmpty, 4) != 0;
  digest_of("abc", 3, digest);
  wrong += memcmp(digest, kAbc, 4) != 0;
  put_hex(digest, 32);
  print("  abc\n");
  Random random = {argument(argc, argv, 1, 0)};
  for (size_t i = 0; i < sizeof message; i++) message[i] = (uint8_t)next_random(&random);
  uint64_t sum = kHashStart;
  for (size_t size = 0; size <= 130; size += 5) {
    digest_of(message + size, size, digest);
    sum = hash_bytes(sum, digest, 32);
  }
  digest_of(message, sizeof message, digest);
  put_hex(digest, 32);
  print("  message\nwrong %d\nchecksum %016lx\n", wrong, sum);
  return wrong;
}
