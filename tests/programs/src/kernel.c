// SPDX-License-Identifier: Apache-2.0
// What the kernel passes to a process: arguments, environment, auxiliary vector, and the system calls of the runtime with good and
// bad arguments. Prints only what is the same on every Linux.
#include "guest.h"

static const char* verdict(bool good) { return good ? "ok" : "WRONG"; }

int main(int argc, char** argv) {
  print("%d arguments:", argc - 1);
  for (int i = 1; i < argc; i++) print(" [%s]", argv[i]);
  const char* lane = getenv("MYRIARM_LANE");
  print("\nlane %s\n", lane ? lane : "0");
  print("argv[argc] %s\n", verdict(argv[argc] == NULL));
  print("stack aligned %s\n", verdict(((uint64_t)(argv - 1) & 15) == 0));
  print("page size %lu\n", auxiliary(6));
  const uint8_t* random = (const uint8_t*)auxiliary(25);
  print("random %s\n", verdict(random && (random[0] | random[7] | random[15] | random[3])));
  const uint32_t* header = (const uint32_t*)auxiliary(3);
  print("program headers %s, %s\n", verdict(header && header[0] <= 7), verdict(auxiliary(4) == 56 && auxiliary(5) > 0));
  extern char _start[];
  print("entry %s\n", verdict(auxiliary(9) == (uint64_t)_start));

  uint64_t before = nanoseconds();
  for (volatile int i = 0; i < 1000; i++) {
  }
  print("time goes on %s\n", verdict(nanoseconds() >= before));
  int64_t time[2] = {-1, -1};
  print("clock_gettime %ld, %s\n", system_call(kSysClockGettime, 0, (long)time, 0),
        verdict(time[0] >= 0 && time[1] >= 0 && time[1] < 1000000000));
  print("clock_gettime of clock 99: %ld\n", system_call(kSysClockGettime, 99, (long)time, 0));

  uint8_t noise[64] = {0};
  int set = 0;
  print("getrandom %ld", system_call(kSysGetrandom, (long)noise, 40, 0));
  for (int i = 0; i < 40; i++) set += noise[i] != 0;
  print(", %s, %s\n", verdict(set > 10), verdict(noise[40] == 0 && noise[63] == 0));

  static char names[6][65];
  print("uname %ld: %s, %s\n", system_call(kSysUname, (long)names, 0, 0), names[0], names[4]);

  flush();
  struct {
    const char* bytes;
    uint64_t size;
  } pieces[3] = {{"one ", 4}, {NULL, 0}, {"two\n", 4}};
  long result = system_call(kSysWritev, 1, (long)pieces, 3);
  print("writev %ld\n", result);
  flush();
  print("write of nothing %ld\n", write(1, "x", 0));
  print("write to file 77: %ld\n", write(77, "x", 1));
  print("write from nowhere: %ld\n", write(1, NULL, 5));
  print("writev from nowhere: %ld\n", system_call(kSysWritev, 1, 8, 2));
  print("writev of -1 pieces: %ld\n", system_call(kSysWritev, 1, (long)pieces, -1));
  print("read from file 77: %ld\n", read(77, names, 1));
  print("read of nothing: %ld\n", read(0, names, 0));
  print("uname to nowhere: %ld\n", system_call(kSysUname, 8, 0, 0));
  print("getrandom to nowhere: %ld\n", system_call(kSysGetrandom, 8, 8, 0));
  print("system call 4999: %ld\n", system_call(4999, 0, 0, 0));
  char text[8] = {0};
  if (read(0, text, 1) == 1) print("read to nowhere: %ld\n", read(0, NULL, 5));  // at the end Linux looks at no address
  long got = read(0, text + 1, 5);
  print("read %ld, %s\n", got, text);
  system_call(kSysExit, (flush(), 300), 0, 0);
  return 0;
}
