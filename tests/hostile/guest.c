// SPDX-License-Identifier: Apache-2.0
// A program that abuses what it runs on, in the way that its first argument names. hostile_test.py says what each way
// must end in. A number that follows is how much of it.
#include "call.h"
#include "guest.h"

enum { kMebibyte = 1 << 20, kPage = 4096 };
// clang-format off
enum { kSysReadv = 65, kSysSigaction = 134, kSysGetpid = 172, kSysMunmap = 215, kSysMremap = 216, kSysMmap = 222, kSysMprotect = 226 };
enum { kProtRead = 1, kProtWrite = 2, kProtExecute = 4, kPrivate = 2, kAnonymous = 0x20, kFixedNoReplace = 0x100000 };
// clang-format on

static char block[kMebibyte];

static long map(uint64_t size, int protection) {
  return call(kSysMmap, 0, (long)size, protection, kPrivate | kAnonymous, -1, 0);
}

static uint64_t write_blocks(int file, uint64_t mebibytes) {
  uint64_t written = 0;
  while (written < mebibytes * kMebibyte) {
    long now = write(file, block, sizeof block);
    if (now <= 0) break;
    written += (uint64_t)now;
  }
  return written;
}

int main(int argc, char** argv) {
  const char* attack = argc > 1 ? argv[1] : "";
  uint64_t amount = argc > 2 ? parse_number(argv[2]) : 1;

  // Output.
  if (!strcmp(attack, "letters")) {
    memset(block, 'A', sizeof block);
    return write_blocks(1, amount) != amount * kMebibyte;
  }
  if (!strcmp(attack, "zeros")) return write_blocks(1, amount) + write_blocks(2, amount) != 2 * amount * kMebibyte;
  if (!strcmp(attack, "bytes")) {
    memset(block, 0xff, sizeof block);
    return write_blocks(1, amount) != amount * kMebibyte;
  }
  if (!strcmp(attack, "write untouched")) {
    long at = map(amount * kMebibyte, kProtRead | kProtWrite);
    print("map %s, wrote ", at > 0 ? "good" : "bad");
    flush();
    long written = write(2, (void*)at, amount * kMebibyte);
    print("%ld\n", written);
    return 0;
  }
  if (!strcmp(attack, "wild writes")) {
    print("%ld ", write(1, (void*)~0ul, 16));
    print("%ld ", write(1, (void*)-8ul, 64));
    print("%ld ", write(1, 0, 0));
    print("%ld ", call(kSysWritev, 1, (long)~7ul, 2, 0, 0, 0));
    struct {
      void* base;
      uint64_t size;
    } pieces[3] = {{block, 0}, {block, ~0ul}, {0, 5}};
    print("%ld ", call(kSysWritev, 1, (long)pieces, 3, 0, 0, 0));
    print("%ld ", call(kSysWritev, 1, (long)pieces, 1025, 0, 0, 0));
    print("%ld\n", call(kSysWritev, 1, (long)pieces, -1, 0, 0, 0));
    return 0;
  }

  if (!strcmp(attack, "letters without SIGPIPE")) {
    static const uint64_t ignore[4] = {1};  // SIG_IGN
    call(kSysSigaction, 13, (long)ignore, 0, 8, 0, 0);
    write_blocks(1, amount);
    long error = write(1, block, 1);
    return (int)-error;
  }

  // Input.
  if (!strcmp(attack, "read all")) {
    uint64_t bytes = 0;
    for (long now; (now = read(0, block, 65536)) > 0;) bytes += (uint64_t)now;
    print("%lu\n", bytes);
    return 0;
  }
  if (!strcmp(attack, "read at once")) {
    long at = map(amount * kMebibyte, kProtRead | kProtWrite);
    print("%ld ", read(0, (void*)at, ~0ul >> 1));
    print("%ld\n", read(0, (void*)at, 1));
    return 0;
  }

  // Time.
  if (!strcmp(attack, "loop")) {
    for (;;) __asm__ volatile("");
  }
  if (!strcmp(attack, "calls")) {
    for (;;) call(kSysGetpid, 0, 0, 0, 0, 0, 0);
  }
  if (!strcmp(attack, "missing calls")) {
    for (uint64_t i = 0; i < amount; i++) call(1000 + (long)i, 0, 0, 0, 0, 0, 0);
    return 0;
  }

  // Memory.
  if (!strcmp(attack, "maps")) {
    uint64_t made = 0;
    for (uint64_t i = 0; i < amount; i++) made += map(kPage, i & 1 ? kProtRead | kProtWrite : kProtRead) > 0;
    print("%lu\n", made);
    return 0;
  }
  if (!strcmp(attack, "fragments")) {  // each lane in its own way
    long base = map((uint64_t)amount * 2 * kPage, kProtRead | kProtWrite);
    uint64_t lane = argument(argc, argv, 3, 0);
    const char* number = getenv("MYRIARM_LANE");
    if (number) lane = parse_number(number);
    uint64_t good = 0;
    for (uint64_t i = 0; i < amount; i++) {
      int protection = (i * 2654435761u * (lane + 1)) >> 16 & 1 ? 0 : kProtRead;
      good += call(kSysMprotect, base + (long)(i * 2 * kPage), kPage, protection, 0, 0, 0) == 0;
    }
    print("%s\n", good ? "some" : "none");
    return 0;
  }
  if (!strcmp(attack, "code") || !strcmp(attack, "code by lane")) {
    if (attack[4]) amount *= parse_number(getenv("MYRIARM_LANE")) + 1;
    long base = map(amount * kMebibyte, kProtRead | kProtWrite | kProtExecute);
    if (base < 0) return 1;
    for (uint64_t at = 0; at < amount * kMebibyte; at += kPage) {
      *(volatile uint32_t*)(base + (long)at) = 0xD65F03C0;  // ret
      ((void (*)(void))(base + (long)at))();
    }
    print("ok\n");
    return 0;
  }
  if (!strcmp(attack, "touch")) {
    long base = map(amount * kMebibyte, kProtRead | kProtWrite);
    if (base < 0) return 1;
    for (uint64_t at = 0; at < amount * kMebibyte; at += kPage) *(volatile char*)(base + (long)at) = 1;
    print("ok\n");
    return 0;
  }
  if (!strcmp(attack, "map sizes")) {
    static const uint64_t sizes[] = {0,         1,         4096,      1ul << 30, 1ul << 32,  1ul << 40,
                                     1ul << 47, 1ul << 48, 1ul << 63, ~0ul,      ~0ul - 4095};
    int good = 0, bad = 0;
    for (unsigned i = 0; i < sizeof sizes / 8; i++) {
      for (unsigned k = 0; k < sizeof sizes / 8; k++) {
        int flags = kPrivate | kAnonymous | (k & 1 ? kFixedNoReplace : 0);
        long at = call(kSysMmap, (long)sizes[k], (long)sizes[i], 7, flags, -1, 0);
        if (at < 0 && at > -4096) bad++;
        else good++;
        call(kSysMremap, (long)sizes[k], (long)sizes[i], (long)sizes[k], 1, 0, 0);
      }
    }
    print("%s %s\n", good ? "some" : "none", bad > good ? "most refused" : "most made");
    return 0;
  }
  if (!strcmp(attack, "unmap all")) {
    call(kSysMunmap, 0, 0xFFFFFFFFF000, 0, 0, 0, 0);
    return 0;  // there is no code to come back to
  }
  if (!strcmp(attack, "protect all")) {
    for (uint64_t at = 0; at < 1ul << 40; at += 1ul << 20) call(kSysMprotect, (long)at, 1 << 20, 0, 0, 0, 0);
    return 0;
  }
  print("there is no attack \"%s\"\n", attack);
  return 99;
}
