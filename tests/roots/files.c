// SPDX-License-Identifier: Apache-2.0
// Reads files and folders of its root through the C library: files.c FOLDER. QEMU looks for the paths of some calls in the
// host's root, so that these are in calls.c.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static void show(const char* path) {
  struct stat status;
  char target[200] = "";
  if (lstat(path, &status) != 0) {
    printf("%s: %s\n", path, strerror(errno));
    return;
  }
  if (S_ISLNK(status.st_mode) && readlink(path, target, sizeof target - 1) < 0) perror("readlink");
  printf("%s: %o %ld %ld %s\n", path, status.st_mode, S_ISDIR(status.st_mode) ? 0L : (long)status.st_size,
         (long)status.st_mtime, target);
}

int main(int argc, char** argv) {
  char path[300], line[100];
  if (argc != 2) return 2;
  struct dirent** names;
  int count = scandir(argv[1], &names, NULL, alphasort);
  for (int i = 0; i < count; i++) {
    snprintf(path, sizeof path, "%s/%s", argv[1], names[i]->d_name);
    if (strcmp(names[i]->d_name, "..") != 0) show(path);
  }
  snprintf(path, sizeof path, "%s/text", argv[1]);
  FILE* file = fopen(path, "r");
  while (file && fgets(line, sizeof line, file)) printf("%s", line);
  if (file && fseek(file, -5, SEEK_END) == 0 && fgets(line, sizeof line, file)) printf("end: %s", line);
  int fd = open(path, O_RDONLY);
  char* mapped = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
  if (mapped != MAP_FAILED) {
    mapped[0] = '!';
    printf("mapped: %.20s, then %d\n", mapped, mapped[4000]);
  }
  char first = 0;
  printf("%zd %c\n", pread(fd, &first, 1, 0), first);
  printf("%d %d\n", open(path, O_RDONLY | O_DIRECTORY), errno == ENOTDIR);
  printf("%d %d\n", open("/nowhere/at/all", O_RDONLY), errno == ENOENT);
  return 0;
}
