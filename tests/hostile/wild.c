// SPDX-License-Identifier: Apache-2.0
// A program that reaches for what it must not have, in the way that its first argument names: memory that is not its
// own, other lanes, the host. wild.py says what each way must end in.
#include "call.h"
#include "guest.h"

// clang-format off
enum { kSysExecve = 221, kSysClone = 220, kSysSigprocmask = 135, kSysMunmap = 215, kSysMmap = 222, kSysMprotect = 226,
       kSysMremap = 216, kSigChild = 17 };
enum { kPage = 4096, kArenaPages = 64, kBlock = 1 << 16 };
// clang-format on

static char block[kBlock];

static long map(uint64_t size, int protection) { return call(kSysMmap, 0, size, (uint64_t)protection, 0x22, ~0ul, 0); }

/// Whether the kernel can read 8 bytes there.
static bool is_readable(uint64_t address) { return call(kSysSigprocmask, 0, address, 0, 8, 0, 0) == 0; }

static __attribute__((noinline)) int recurse(int depth) {
  volatile char frame[kPage];
  frame[0] = (char)depth;
  if (depth < 0) return 0;  // never
  return recurse(depth + 1) + frame[0];
}

static uint64_t word(const char* text) {  // a number in hexadecimal
  uint64_t value = 0;
  for (; *text; text++) value = value << 4 | (uint64_t)(*text <= '9' ? *text - '0' : *text - 'a' + 10);
  return value;
}

/// Asks for files and processes of the host. Returns how many of the calls succeeded.
static int escape(void) {
  static const char* const paths[] = {
      "/etc/passwd",     "../../etc/passwd", "/proc/self/mem", "/proc/1/exe", "/dev/zero",
      "/proc/self/fd/0", "/dev/shm",         "/home",          "etc",         ""};
  int good = 0;
  for (unsigned i = 0; i < sizeof paths / sizeof *paths; i++) {
    const uint64_t path = (uint64_t)paths[i], here = (uint64_t)-100l, to = (uint64_t)block;
    good += call(56, here, path, 0, 0, 0, 0) >= 0;      // openat
    good += call(437, here, path, to, 24, 0, 0) >= 0;   // openat2
    good += call(78, here, path, to, 4096, 0, 0) >= 0;  // readlinkat
    good += call(49, path, 0, 0, 0, 0, 0) >= 0;         // chdir
    good += call(34, here, path, 0777, 0, 0, 0) >= 0;   // mkdirat
    good += call(35, here, path, 0, 0, 0, 0) >= 0;      // unlinkat
    good += call(kSysExecve, path, 0, 0, 0, 0, 0) >= 0;
  }
  // Processes of its own are no escape, but those that see more of the host than it does: CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWPID.
  static const uint64_t spaces[] = {0x20000, 0x10000000, 0x20000000};
  for (unsigned i = 0; i < sizeof spaces / sizeof *spaces; i++) {
    good += call(kSysClone, spaces[i] | kSigChild, 0, 0, 0, 0, 0) >= 0;
  }
  static const uint16_t calls[] = {
      435 /* clone3 */, 198 /* socket */,         117 /* ptrace */, 40 /* mount */,        270 /* process_vm_readv */,
      280 /* bpf */,    425 /* io_uring_setup */, 142 /* reboot */, 105 /* init_module */, 241 /* perf_event_open */};
  for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++) good += call(calls[i], 1, 1, 1, 1, 0, 0) >= 0;
  for (int process = -3; process < 70000; process += 7) {
    if (process != 0 && process != 1) good += call(129, (uint64_t)process, 9, 0, 0, 0, 0) >= 0;  // kill
  }
  return good;
}

/// Calls with arguments that are absurd, or almost right. Returns a hash of what they did.
static uint64_t call_at_random(uint64_t seed, uint64_t count) {
  static const uint64_t odd[] = {
      0,         1,         2,          3,          8,          15,        63,
      64,        4095,      4096,       4097,       65536,      1ul << 31, 1ul << 32,
      1ul << 40, 1ul << 47, 1ul << 48,  1ul << 63,  ~0ul,       ~0ul - 7,  ~0ul - 4095,
      ~0ul >> 1, ~0ul - 99, 0xffffffff, 0x80000000, 0x7fffffff, 0x400000,  0x5600000000400000};
  Random random = {seed};
  const uint64_t arena = (uint64_t)map(kArenaPages * kPage, 3);
  uint64_t hash = kHashStart;
  for (uint64_t i = 0; i < count; i++) {
    const uint64_t number = next_random(&random) % 8 ? next_random(&random) % 300 : next_random(&random) % 600;
    uint64_t a[6];
    for (int k = 0; k < 6; k++) {
      switch (next_random(&random) % 5) {
        case 0: a[k] = odd[next_random(&random) % (sizeof odd / sizeof *odd)]; break;
        case 1: a[k] = (uint64_t)block + next_random(&random) % kBlock; break;
        case 2: a[k] = arena + next_random(&random) % kArenaPages * kPage; break;
        case 3: a[k] = next_random(&random) % 64 * kPage; break;
        default: a[k] = next_random(&random) % 300;
      }
    }
    // Exits, signals to itself, timers that send one, and the return from a handler that did not run.
    const bool ends = number == kSysExit || number == kSysExitGroup || (number >= 129 && number <= 131) ||
                      number == 134 || number == 103 || number == 110 || number == 138 || number == 139 ||
                      number == 240;
    const bool changes_memory = number == kSysMunmap || number == kSysMmap || number == kSysMprotect ||
                                number == kSysMremap || number == kSysBrk || number == 233;
    // It must not take its own code and stack away, or there would be few calls.
    if (changes_memory && a[0] - arena >= kArenaPages * kPage / 2) a[0] = arena;
    if (changes_memory) a[1] %= kArenaPages * kPage / 2;
    if (number == kSysMremap) a[4] = arena;
    if (number == kSysWrite) a[2] %= kPage;                        // guest.c floods the output
    if (number == kSysClone) a[0] = (a[0] & ~0xfful) | kSigChild;  // any other signal of a child would end it
    if (ends) continue;
    const long result = call((long)number, a[0], a[1], a[2], a[3], a[4], a[5]);
    hash = hash_bytes(hash, &result, sizeof result);
  }
  return hash_bytes(hash, block, sizeof block);  // what the calls have stored
}

int main(int argc, char** argv) {
  const char* attack = argc > 1 ? argv[1] : "";
  const char* number = getenv("MYRIARM_LANE");
  const uint64_t lane = number ? parse_number(number) : 0;

  if (!strcmp(attack, "load")) return *(volatile char*)word(argv[2]);
  if (!strcmp(attack, "load 16")) {
    uint64_t low, high;
    __asm__ volatile("ldp %0, %1, [%2]" : "=r"(low), "=r"(high) : "r"(word(argv[2])) : "memory");
    return (int)(low + high);
  }
  if (!strcmp(attack, "store")) {
    *(volatile char*)word(argv[2]) = 1;
    return 0;
  }
  if (!strcmp(attack, "zero a line")) {
    __asm__ volatile("dc zva, %0" : : "r"(word(argv[2])) : "memory");
    return 0;
  }
  if (!strcmp(attack, "jump")) ((void (*)(void))word(argv[2]))();
  if (!strcmp(attack, "jump to data")) ((void (*)(void))block)();
  if (!strcmp(attack, "stack")) {
    __asm__ volatile("mov sp, %0\n str xzr, [sp]" : : "r"(word(argv[2])) : "memory");
    return 0;
  }
  if (!strcmp(attack, "recursion")) return lane == 1 ? recurse(0) : 0;
  if (!strcmp(attack, "map over all")) {
    call(kSysMmap, 0x400000, 1 << 26, 7, 0x32, ~0ul, 0);
    return 0;  // there are zeros in the place of the code
  }
  if (!strcmp(attack, "move the stack")) {
    call(kSysMremap, (uint64_t)&attack & ~0xffful, kPage, 1 << 20, 1, 0, 0);
    return 0;
  }

  if (!strcmp(attack, "other lanes")) {
    static volatile uint64_t secret;
    secret = 0xDEADBEEF00000000 | lane;
    volatile uint64_t* heap = malloc(64);
    *heap = secret;
    uint64_t found = 0, own = 0;
    for (uint64_t page = kPage; page < 1ul << 23; page += kPage) {  // at 0, the call reads nothing
      if (!is_readable(page)) continue;
      for (uint64_t at = page; at < page + kPage; at += 8) {
        const uint64_t value = *(volatile uint64_t*)at;
        own += value == secret;
        found += value >> 32 == 0xDEADBEEF && (uint32_t)value != lane && (uint32_t)value != 0;
      }
    }
    print("%lu of others, %s of its own\n", found, own >= 2 ? "two" : "none");
    return 0;
  }
  if (!strcmp(attack, "old pages")) {
    for (int round = 0; round < 8; round++) {
      uint64_t* at = (uint64_t*)map(1 << 20, 3);
      for (unsigned i = 0; i < (1 << 20) / 8; i++) {
        if (at[i] != 0) return 1;
        at[i] = 0x5EC2E7;
      }
      call(kSysMunmap, (uint64_t)at, 1 << 20, 0, 0, 0, 0);
    }
    print("clean\n");
    return 0;
  }

  if (!strcmp(attack, "escape")) {
    print("%d\n", escape());
    return 0;
  }
  if (!strcmp(attack, "random calls")) {
    print("%lx\n", call_at_random(lane + argument(argc, argv, 2, 0), 1500));
    return 0;
  }
  if (!strcmp(attack, "random words")) {
    Random random = {lane + argument(argc, argv, 2, 0)};
    uint32_t* words = (uint32_t*)map(2 * kPage, 7);
    for (unsigned i = 0; i < 2 * kPage / 4; i++) words[i] = (uint32_t)next_random(&random);
    ((void (*)(void))words)();
    return 0;
  }
  print("there is no attack \"%s\"\n", attack);
  return 99;
}
