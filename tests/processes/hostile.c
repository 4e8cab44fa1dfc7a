// SPDX-License-Identifier: Apache-2.0
// What a lane must survive, or end alone by:
//   hostile bomb          each process forks for ever
//   hostile locks         locks of a file until there is no more room: ends with their number
//   hostile chain N       each process forks the next one, N deep, and waits for it
//   hostile files SEED N  programs and scripts with random bytes are executed: prints how the children ended
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static uint64_t state;
static uint64_t draw(void) {
  state += 0x9e3779b97f4a7c15;
  uint64_t z = state;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

static int take_locks(void) {
  const int fd = memfd_create("locks", 0);
  int taken = 0;
  struct flock lock = {.l_type = F_WRLCK, .l_len = 3};
  for (; fcntl(fd, F_SETLK, &lock) == 0; lock.l_start += 5) taken++;
  if (errno != ENOLCK || flock(fd, LOCK_SH) == 0 || errno != ENOLCK) return 1;
  struct flock middle = {.l_type = F_UNLCK, .l_start = 1, .l_len = 1}, first = {.l_type = F_UNLCK, .l_len = 3};
  if (fcntl(fd, F_SETLK, &middle) == 0 || errno != ENOLCK) return 2;  // one more would be left
  if (fcntl(fd, F_SETLK, &first) != 0 || fcntl(fd, F_SETLK, &lock) != 0) return 3;
  return taken;
}

static struct {
  Elf64_Ehdr header;
  Elf64_Phdr segments[3];
  uint32_t code[4];
  uint8_t rest[8192];
} file;
static void make_file(void) {
  memset(&file, 0, sizeof file);
  const uint64_t base = 0x400000, code = (uint64_t)((char*)file.code - (char*)&file);
  memcpy(file.header.e_ident, "\177ELF\2\1\1", 7);
  file.header.e_type = draw() % 3 == 0 ? ET_DYN : ET_EXEC;
  file.header.e_machine = 183;
  file.header.e_version = 1;
  file.header.e_entry = base + code;
  file.header.e_phoff = sizeof file.header;
  file.header.e_ehsize = sizeof file.header;
  file.header.e_phentsize = sizeof file.segments[0];
  file.header.e_phnum = 3;
  file.segments[0] = (Elf64_Phdr){PT_LOAD, PF_R | PF_X, 0, base, base, 4096, 4096, 4096};
  file.segments[1] = (Elf64_Phdr){PT_LOAD, PF_R | PF_W, 4096, base + 0x10000, base + 0x10000, 2048, 20000, 4096};
  file.segments[2] = (Elf64_Phdr){draw() % 2 ? PT_GNU_STACK : PT_INTERP, PF_R | PF_W, 4096, 0, 0, 16, 16, 1};
  const uint32_t words[] = {0xd2800ba8, 0xd28000e0, 0xd4000001, 0xd4200000};  // exit(7)
  memcpy(file.code, words, sizeof words);
}
static void damage(void) {
  uint8_t* bytes = (uint8_t*)&file;
  const size_t head = sizeof file.header + sizeof file.segments;
  for (uint64_t i = draw() % 5; i != 0; i--) {
    static const uint64_t values[] = {0,          1,          0xff,       0xfff,      0x1000, 0x7fffffff,
                                      0xffffffff, 1ull << 47, 1ull << 48, 1ull << 63, ~0ull};
    switch (draw() % 3) {
      case 0: bytes[draw() % head] ^= (uint8_t)(1 << draw() % 8); break;
      case 1: bytes[draw() % head] = (uint8_t)draw(); break;
      default: memcpy(&bytes[draw() % (head / 8) * 8], &values[draw() % (sizeof values / 8)], 8);
    }
  }
}

int main(int count, char** arguments) {
  setvbuf(stdout, NULL, _IONBF, 0);
  if (count > 1 && strcmp(arguments[1], "bomb") == 0) {
    while (1) fork();
  }
  if (count > 2 && strcmp(arguments[1], "chain") == 0) {
    const int depth = atoi(arguments[2]);
    for (int i = 0; i < depth; i++) {
      const pid_t child = fork();
      if (child < 0) {
        printf("%s at %d\n", strerrorname_np(errno), i);
        _exit(0);
      }
      if (child != 0) {
        int status;
        wait(&status);
        _exit(WEXITSTATUS(status) + 1);
      }
    }
    _exit(0);
  }
  if (count == 2 && strcmp(arguments[1], "locks") == 0) return take_locks();
  if (count < 4) return 1;
  state = strtoull(arguments[2], NULL, 0);
  int exits = 0, signals = 0, refused = 0, others = 0;
  for (long i = atol(arguments[3]); i != 0; i--) {
    size_t size = sizeof file;
    make_file();
    damage();
    if (draw() % 8 == 0) size = draw() % sizeof file;
    if (draw() % 8 == 0)
      size = (size_t)snprintf((char*)&file, sizeof file, "#!%c/tmp/hostile%s%c", (int)(draw() % 3 + 31),
                              draw() % 2 ? " x" : "", (int)draw());
    const int fd = open("/tmp/hostile", O_WRONLY | O_CREAT | O_TRUNC, 0700);
    write(fd, &file, size);
    close(fd);
    const pid_t child = fork();
    if (child == 0) {
      alarm(1);
      execl("/tmp/hostile", "hostile", "argument", NULL);
      _exit(100);
    }
    int status;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status)) signals++;
    else if (WEXITSTATUS(status) == 7) exits++;
    else if (WEXITSTATUS(status) == 100) refused++;
    else others++;
  }
  printf("%d exited, %d by signals, %d refused, %d otherwise\n", exits, signals, refused, others);
  return 0;
}
