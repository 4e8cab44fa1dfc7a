// SPDX-License-Identifier: Apache-2.0
// Checks of processes.c: the files of /proc/self, by proc(5). What differs
// between hosts, such as addresses, is compared with what the process knows of
// itself.
#pragma once

#include "noting.h"

static char text_of_file[1 << 16];
/// The whole file, read in parts of `part` bytes; returns its size.
static long read_own(const char* name, size_t part) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/%s", name);
  const int file = open(path, O_RDONLY);
  if (file < 0) return -1;
  long size = 0;
  for (ssize_t more; (more = read(file, text_of_file + size, part)) > 0;) size += more;
  text_of_file[size] = 0;
  close(file);
  return size;
}
/// The number behind a name in /proc/self/status.
static unsigned long field(const char* name, int base) {
  if (read_own("status", 4096) < 0) return -1;
  const char* line = strstr(text_of_file, name);
  return line != NULL ? strtoul(line + strlen(name), NULL, base) : (unsigned long)-2;
}
/// Prints permissions and name of the mapping in which an address lies.
static void show_mapping(const char* what, const void* address) {
  const unsigned long at = (unsigned long)address;
  if (read_own("maps", 4096) < 0) {
    say(what, -1);
    return;
  }
  for (char* line = strtok(text_of_file, "\n"); line != NULL; line = strtok(NULL, "\n")) {
    unsigned long begin, end;
    char permissions[8], name[64] = "";
    if (sscanf(line, "%lx-%lx %7s %*s %*s %*s %63s", &begin, &end, permissions, name) < 3) continue;
    if (at < begin || at >= end) continue;
    printf("%d %s: %s %s\n", ++number, what, permissions, name[0] == '[' ? name : "");
    fflush(stdout);
    return;
  }
  printf("%d %s: nowhere\n", ++number, what);
  fflush(stdout);
}
static int is_text_of(char** strings, int count, long size) {
  long at = 0;
  for (int i = 0; i < count; i++) {
    const long bytes = (long)strlen(strings[i]) + 1;
    if (at + bytes > size || memcmp(text_of_file + at, strings[i], (size_t)bytes) != 0) return 0;
    at += bytes;
  }
  return at == size;
}
static void* threads_of_status(void* nothing) {
  (void)nothing;
  SHOW(field("Threads:", 10));
  SHOW(field("Tgid:", 10) == (unsigned long)getpid());
  SHOW(field("\nPid:", 10) == (unsigned long)syscall(SYS_gettid));
  return NULL;
}

/// Those that tell of the program, which was executed with these.
static void check_own_program(int count, char** arguments, char** environment) {
  int variables = 0;
  while (environment[variables] != NULL) variables++;
  for (size_t part = 1; part <= 4096; part *= 64) {
    SHOW(is_text_of(arguments, count, read_own("cmdline", part)));
    SHOW(is_text_of(environment, variables, read_own("environ", part)));
    const long size = read_own("auxv", part * 16);
    unsigned long pair[2], agree = size % 16 == 0, last = 1;
    for (long at = 0; at + 16 <= size; at += 16) {
      memcpy(pair, text_of_file + at, 16);
      last = pair[0];
      if (pair[0] != AT_NULL && pair[0] != AT_HWCAP && getauxval(pair[0]) != pair[1]) agree = 0;
    }
    SHOW(agree);
    SHOW(last);
  }
  SHOW(read_own("comm", 100) > 1 && text_of_file[strlen(text_of_file) - 1] == '\n');
}

static void check_own_files(void) {
  int status;
  fflush(stdout);
  if (fork() == 0) {
    char* const variables[] = {"A=1", "", "LONG=0123456789012345678901234567890123456789", NULL};
    execle(program, program, "-", "files", "one", "", "three words here", NULL, variables);
    _exit(127);
  }
  wait(&status);
  SHOW(status);
  fflush(stdout);
  if (fork() == 0) {
    char* const none[] = {NULL};
    execle(program, program, "-", "files", NULL, none);
    _exit(127);
  }
  wait(&status);
  SHOW(status);
  CHECK(prctl(PR_SET_NAME, "another name", 0, 0, 0));
  SHOW(read_own("comm", 3));
  printf("%s", text_of_file);
  SHOW(field("Name:\t", 10));
  SHOW(strstr(text_of_file, "Name:\tanother name\n") != NULL);
  umask(027);
  SHOW(field("Umask:", 8));
  umask(022);
  SHOW(field("PPid:", 10) == (unsigned long)getppid());
  SHOW(field("TracerPid:", 10));
  SHOW(field("Threads:", 10));
  pthread_t thread;
  pthread_create(&thread, NULL, threads_of_status, NULL);
  pthread_join(thread, NULL);
  SHOW(field("Threads:", 10));
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  sigaddset(&set, 40);
  sigprocmask(SIG_SETMASK, &set, NULL);
  SHOW(field("SigBlk:", 16));
  raise(SIGUSR1);
  SHOW(field("SigPnd:", 16));
  kill(getpid(), 40);
  SHOW(field("ShdPnd:", 16));
  signal(SIGUSR1, SIG_IGN);
  signal(40, SIG_IGN);
  handle(SIGUSR2, 0);
  SHOW(field("SigIgn:", 16) >> (SIGUSR1 - 1) & 1);
  SHOW(field("SigCgt:", 16) >> (SIGUSR2 - 1) & 1);
  SHOW(field("SigCgt:", 16) >> (SIGUSR1 - 1) & 1);
  sigemptyset(&set);
  sigprocmask(SIG_SETMASK, &set, NULL);
  signal(SIGUSR1, SIG_DFL);
  signal(40, SIG_DFL);
  if (fork() == 0) {
    SHOW(field("Tgid:", 10) == (unsigned long)getpid() && getpid() != self);
    SHOW(field("PPid:", 10) == (unsigned long)self);
    _exit(0);
  }
  wait(&status);
  number += 2;

  int local;
  static int data = 1;
  show_mapping("stack", &local);
  show_mapping("code", (void*)&check_own_files);
  show_mapping("data", &data);
  show_mapping("heap", sbrk(4096));
  char* area = mmap(NULL, 4 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  show_mapping("private", area);
  mprotect(area + 4096, 4096, PROT_NONE);
  mprotect(area + 2 * 4096, 4096, PROT_READ);
  show_mapping("none", area + 4096);
  show_mapping("readable", area + 2 * 4096);
  munmap(area + 3 * 4096, 4096);
  show_mapping("unmapped", area + 3 * 4096);
  show_mapping("shared", mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  pthread_attr_t attributes;
  void* stack = NULL;
  size_t bytes = 0;
  CHECK(pthread_getattr_np(pthread_self(), &attributes));
  CHECK(pthread_attr_getstack(&attributes, &stack, &bytes));
  SHOW((char*)&local >= (char*)stack && (char*)&local < (char*)stack + bytes);

  const long whole = read_own("maps", sizeof text_of_file - 1);
  static char before[sizeof text_of_file];
  memcpy(before, text_of_file, sizeof before);
  SHOW(read_own("maps", 1000) == whole && memcmp(before, text_of_file, (size_t)whole) == 0);
  const int file = open("/proc/self/maps", O_RDONLY);
  SHOW(pread(file, text_of_file, 100, 50) == 100 && memcmp(text_of_file, before + 50, 100) == 0);
  CHECK(lseek(file, 20, SEEK_SET));
  SHOW(read(file, text_of_file, 10) == 10 && memcmp(text_of_file, before + 20, 10) == 0);
  CHECK(lseek(file, 0, SEEK_CUR));
  CHECK(pread(file, text_of_file, 100, 1 << 20));
  struct stat found;
  CHECK(fstat(file, &found));
  SHOW(found.st_size);
  SHOW(found.st_mode);
  SHOW(found.st_rdev);
  SHOW(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, file, 0) == MAP_FAILED ? errno : 0);
  CHECK(read(file, (void*)8, 10));
  close(file);
  CHECK(access("/proc/self/maps", R_OK));
  CHECK(access("/proc/self/maps", X_OK));
  CHECK(open("/proc/self/maps/more", O_RDONLY));
  CHECK(open("/proc/self/nothing", O_RDONLY));
}
