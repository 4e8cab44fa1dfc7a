// SPDX-License-Identifier: Apache-2.0
// Compares a line of standard input with a secret, and stops at the first character that differs, as strcmp() does: the
// number of instructions tells how many characters were right. Exit status 0 if all were, else 1.
#include "guest.h"

static const char kSecret[] = "open sesame, 40 thieves!";

int main(void) {
  size_t size;
  const char* line = read_all(&size);
  if (size && line[size - 1] == '\n') size--;
  bool right = true;
  for (size_t i = 0; right && i < sizeof kSecret; i++) right = (i < size ? line[i] : '\0') == kSecret[i];
  print(right ? "it opens\n" : "wrong\n");
  return right ? 0 : 1;
}
