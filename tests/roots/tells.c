// SPDX-License-Identifier: Apache-2.0
// Numbered checks of what /proc tells of the system and of the process, by proc(5), against what calls say of the same. Natively each holds
// too. moves_test.py runs the program there and here.
#include "checks.h"

#include <mntent.h>
#include <sys/sysinfo.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <time.h>

#define SHOW(value) CHECK(value)
static char text[1 << 16], other[1 << 16];

// Reads a file in pieces; its size, or -1.
static long take(const char* path, char* to, size_t piece) {
  const int fd = open(path, O_RDONLY);
  long size = 0;
  if (fd < 0) return -1;
  for (ssize_t got; (got = read(fd, to + size, piece)) > 0;) size += got;
  close(fd);
  to[size] = 0;
  return size;
}
static long number_in(const char* name) {
  const char* at = strstr(text, name);
  return at ? strtol(at + strlen(name), NULL, 10) : -1;
}
static int lines(void) {
  int count = 0;
  for (const char* at = text; *at; at++) count += *at == '\n';
  return count;
}
static int is_line(const char* path, const char* line) {
  return take(path, text, sizeof text - 1) == (long)strlen(line) + 1 && strncmp(text, line, strlen(line)) == 0;
}

static void system_files(void) {
  struct sysinfo facts;
  struct utsname names;
  float one, two, three;
  int running, all, newest;
  sysinfo(&facts);
  uname(&names);
  SHOW(take("/proc/meminfo", text, sizeof text - 1) > 0);
  SHOW(number_in("MemTotal:") == (long)(facts.totalram * facts.mem_unit >> 10));
  SHOW(number_in("MemFree:") >= 0 && number_in("MemAvailable:") >= 0 && number_in("SwapTotal:") >= 0);
  SHOW(strstr(text, "MemTotal:  ") == text);
  SHOW(take("/proc/cpuinfo", text, sizeof text - 1) > 0);
  SHOW(strncmp(text, "processor\t: 0\n", 14));
  SHOW(take("/proc/stat", text, sizeof text - 1) > 0);
  SHOW(strncmp(text, "cpu  ", 5));
  SHOW(strstr(text, "\ncpu0 ") != NULL);
  SHOW(number_in("btime ") > 0 && number_in("btime ") <= time(NULL));
  SHOW(number_in("procs_running ") >= 1);
  SHOW(take("/proc/uptime", text, sizeof text - 1) > 0);
  SHOW(sscanf(text, "%f %f", &one, &two));
  SHOW(take("/proc/loadavg", text, sizeof text - 1) > 0);
  SHOW(sscanf(text, "%f %f %f %d/%d %d", &one, &two, &three, &running, &all, &newest));
  SHOW(running >= 1 && all >= running && newest >= 1);
  SHOW(take("/proc/version", text, sizeof text - 1) > 0);
  SHOW(strncmp(text, "Linux version ", 14));
  SHOW(strncmp(text + 14, names.release, strlen(names.release)));
  SHOW(lines());
  SHOW(take("/proc/filesystems", text, sizeof text - 1) > 0);
  SHOW(strstr(text, "nodev\tproc\n") != NULL);
  SHOW(is_line("/proc/sys/kernel/osrelease", names.release));
  SHOW(is_line("/proc/sys/kernel/ostype", names.sysname));
  SHOW(is_line("/proc/sys/kernel/hostname", names.nodename));
  SHOW(is_line("/proc/sys/kernel/domainname", names.domainname));
  SHOW(is_line("/proc/sys/kernel/version", names.version));
  SHOW(take("/proc/sys/kernel/pid_max", text, sizeof text - 1) > 0);
  SHOW(atol(text) > getpid());
  SHOW(take("/proc/sys/kernel/threads-max", text, sizeof text - 1) > 0);
  SHOW(take("/proc/sys/vm/max_map_count", text, sizeof text - 1) > 0);
  SHOW(take("/proc/sys/vm/overcommit_memory", text, sizeof text - 1));
  SHOW(take("/proc/sys/kernel/nothing", text, sizeof text - 1));
  OPENS("/proc/meminfo", O_WRONLY);
  OPENS("/proc/meminfo", O_RDWR);
  OPENS("/proc/sys/kernel", O_RDONLY | O_DIRECTORY);
  CHECK(unlink("/proc/version"));
}

static void mounts(void) {
  struct stat status;
  stat("/", &status);
  FILE* file = setmntent("/proc/mounts", "r");
  SHOW(file != NULL);
  int found = 0;
  for (struct mntent* mount; (mount = getmntent(file));)
    found += strcmp(mount->mnt_dir, "/") == 0 && hasmntopt(mount, "rw");
  SHOW(found);
  endmntent(file);
  SHOW(take("/proc/self/mounts", text, sizeof text - 1) == take("/proc/mounts", other, 11));
  SHOW(strcmp(text, other));
  CHECK(readlink("/proc/mounts", other, 100));
  SHOW(take("/proc/self/mountinfo", text, sizeof text - 1) > 0);
  found = 0;
  for (char* line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
    unsigned major_number, minor_number;
    char root[100], place[100];
    if (sscanf(line, "%*d %*d %u:%u %99s %99s", &major_number, &minor_number, root, place) != 4) continue;
    found += strcmp(place, "/") == 0 && makedev(major_number, minor_number) == status.st_dev && strstr(line, " - ");
  }
  SHOW(found);
}

static void process_files(void) {
  char name[100];
  int parent, group, session, count = 0;
  take("/proc/self/comm", name, sizeof name - 1);
  name[strcspn(name, "\n")] = 0;
  SHOW(take("/proc/self/stat", text, sizeof text - 1) > 0);
  SHOW(lines());
  SHOW(atoi(text) == getpid());
  const char* behind = strrchr(text, ')');
  SHOW(strncmp(strchr(text, '(') + 1, name, strlen(name)));
  SHOW(sscanf(behind, ") R %d %d %d", &parent, &group, &session));
  SHOW(parent == getppid() && group == getpgrp() && session == getsid(0));
  for (const char* at = behind; *at; at++) count += *at == ' ';
  SHOW(count);
  long threads, size;
  SHOW(sscanf(behind, ") R %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %ld %*d %*u %ld", &threads,
              &size));
  SHOW(threads);
  SHOW(size > 0 && size % 4096 == 0);
  SHOW(take("/proc/self/statm", text, sizeof text - 1) > 0);
  long pages[7];
  SHOW(sscanf(text, "%ld %ld %ld %ld %ld %ld %ld", pages, pages + 1, pages + 2, pages + 3, pages + 4, pages + 5,
              pages + 6));
  SHOW(pages[0] == size / 4096 && pages[1] <= pages[0]);
  SHOW(take("/proc/self/loginuid", text, sizeof text - 1) > 0);
  SHOW(text[0] >= '0' && text[0] <= '9' && lines() == 0);
  SHOW(take("/proc/self/cgroup", text, sizeof text - 1) > 0);
  SHOW(take("/proc/self/oom_score_adj", text, sizeof text - 1) > 0);
  struct stat status;
  CHECK(stat("/dev/shm", &status));
  SHOW(status.st_mode);
}

int main(void) {
  setvbuf(stdout, NULL, _IOLBF, 1 << 16);
  system_files();
  mounts();
  process_files();
  return 0;
}
