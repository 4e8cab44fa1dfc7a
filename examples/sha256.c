// SPDX-License-Identifier: Apache-2.0
// Prints the SHA-256 of standard input, as sha256sum does.
#include "sha256.h"

int main(void) {
  static uint8_t buffer[4096];
  uint8_t digest[32];
  Sha256 s;
  sha256_tables();
  sha256_init(&s);
  for (long got; (got = read(0, buffer, sizeof buffer)) > 0;) sha256_add(&s, buffer, (size_t)got);
  sha256_end(&s, digest);
  put_hex(digest, 32);
  print("  -\n");
  return 0;
}
