// SPDX-License-Identifier: Apache-2.0
// What guest programs that compare calls with Linux print: numbered results, and what files are.
#pragma once

#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <unistd.h>

static int number;
static void say(const char* what, long result) {
  if (result < 0) printf("%d %s: %s\n", ++number, what, strerrorname_np(errno));
  else printf("%d %s: %ld\n", ++number, what, result);
}
#define CHECK(call) (errno = 0, say(#call, (long)(call)))
static long opens(long fd) {
  if (fd >= 0) close((int)fd);
  return fd >= 0 ? 0 : -1;
}
// The arguments as they are written: the numbers of flags differ between processors.
#define OPENS(...) (errno = 0, say("open(" #__VA_ARGS__ ")", opens(open(__VA_ARGS__))))

static unsigned sum_of(const unsigned char* bytes, size_t size, unsigned sum) {
  for (size_t i = 0; i < size; i++) sum = sum * 31 + bytes[i];
  return sum;
}
// Size and sum of a file's bytes; of a link, its target.
static void show(const char* path) {
  struct stat status;
  if (lstat(path, &status) != 0) {
    printf("  %s: %s\n", path, strerrorname_np(errno));
    return;
  }
  printf("  %s: %o %ld %d:%d", path, status.st_mode, (long)status.st_nlink, (int)status.st_uid, (int)status.st_gid);
  if (S_ISLNK(status.st_mode)) {
    char target[PATH_MAX + 1];
    const ssize_t size = readlink(path, target, PATH_MAX);
    printf(" -> %.*s", (int)(size < 0 ? 0 : size), target);
  } else if (S_ISREG(status.st_mode)) {
    unsigned char bytes[4096];
    unsigned sum = 0;
    long total = 0;
    const int fd = open(path, O_RDONLY);
    for (ssize_t size; fd >= 0 && total < 1000000 && (size = read(fd, bytes, sizeof bytes)) > 0; total += size)
      sum = sum_of(bytes, (size_t)size, sum);
    if (fd >= 0) close(fd);
    printf(" %ld %ld %x", (long)status.st_size, total, sum);
  }
  printf("\n");
}
static int by_name(const void* a, const void* b) { return strcmp(*(char* const*)a, *(char* const*)b); }
static void show_folder(const char* path, int depth) {
  DIR* folder = opendir(path);
  char* names[500];
  size_t count = 0;
  show(path);
  if (!folder) return;
  for (struct dirent* entry; count < 500 && (entry = readdir(folder));) {
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) names[count++] = strdup(entry->d_name);
  }
  closedir(folder);
  qsort(names, count, sizeof *names, by_name);
  for (size_t i = 0; i < count; i++) {
    char inner[PATH_MAX];
    struct stat status;
    snprintf(inner, sizeof inner, "%s/%s", path, names[i]);
    if (lstat(inner, &status) == 0 && S_ISDIR(status.st_mode) && depth < 20) show_folder(inner, depth + 1);
    else show(inner);
    free(names[i]);
  }
}
