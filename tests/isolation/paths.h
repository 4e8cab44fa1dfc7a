// SPDX-License-Identifier: Apache-2.0
// Attempts to reach files of the host, or of the root that are not the process's to change, by names.
#pragma once
#include <pthread.h>
#include <sys/mount.h>

#include "trying.h"

static void dots(void) {
  TRY(open("/../../../../../../../etc/hostname", O_RDONLY));
  TRY(open("../../../../../../../etc/passwd", O_RDONLY));
  TRY(open("/own/../../../../home", O_RDONLY));
  TRY(open("//..//.././../root", O_RDONLY));
  report();
}
static void link_of_host(void) {
  TRY(open("way-out/hostname", O_RDONLY));
  TRY(open("way-out", O_RDONLY));
  TRY(open("way-out/new", O_WRONLY | O_CREAT, 0600));
  report();
}
static void link_upwards(void) {
  struct stat root, up;
  symlink("../../../../../../../..", "/tmp/up");
  TRY(open("/tmp/up/etc/hostname", O_RDONLY));
  if (stat("/", &root) != 0 || stat("/tmp/up", &up) != 0 || root.st_ino != up.st_ino)
    printf("SUCCEEDED: it is not the root\n");
  report();
}
static void link_loop(void) {
  symlink("/tmp/b", "/tmp/a");
  symlink("/tmp/a", "/tmp/b");
  symlink("self/self", "/tmp/self");
  TRY(open("/tmp/a/x", O_CREAT | O_WRONLY, 0600));
  TRY(stat("/tmp/self", &(struct stat){0}));
  report();
}
static void link_chain(void) {
  char name[20] = "/own/text";
  for (int i = 0; i < 41; i++) {
    char next[20];
    snprintf(next, sizeof next, "/tmp/link%d", i);
    symlink(name, next);
    strcpy(name, next);
  }
  TRY(open(name, O_RDONLY));
  report();
}
static void long_names(void) {
  static char path[70000];
  memset(path, 'x', sizeof path - 1);
  TRY(open(path, O_CREAT | O_WRONLY, 0600));
  path[256] = 0;
  TRY(open(path, O_CREAT | O_WRONLY, 0600));
  for (int i = 0; i < 4200; i += 2) memcpy(path + i, "./", 2);
  path[4200] = 0;
  TRY(mkdir(path, 0700));
  report();
}
static void moved_folder(void) {
  mkdir("/tmp/from", 0700), mkdir("/tmp/from/in", 0700), mkdir("/tmp/to", 0700);
  const int in = open("/tmp/from/in", O_RDONLY | O_DIRECTORY);
  rename("/tmp/from", "/tmp/to/from");
  TRY(openat(in, "../../../../../etc/hostname", O_RDONLY));
  report();
}
static void removed_folder(void) {
  mkdir("/tmp/gone", 0700);
  const int in = open("/tmp/gone", O_RDONLY | O_DIRECTORY);
  chdir("/tmp/gone");
  rmdir("/tmp/gone");
  TRY(openat(in, "../../etc/hostname", O_RDONLY));
  TRY(openat(in, "x", O_WRONLY | O_CREAT, 0600));
  TRY(open("x", O_WRONLY | O_CREAT, 0600));
  TRY(syscall(SYS_getcwd, (char[100]){0}, 100));
  report();
}
static void change_root(void) {
  TRY(chroot("/tmp"));
  TRY(syscall(SYS_pivot_root, "/tmp", "/tmp"));
  report();
}
static void mounts(void) {
  TRY(mount("/", "/tmp", "none", MS_BIND, NULL));
  TRY(mount("proc", "/tmp", "proc", 0, NULL));
  TRY(umount2("/own", MNT_DETACH));
  TRY(syscall(428 /* open_tree */, -100, "/", 1));
  TRY(syscall(430 /* fsopen */, "tmpfs", 0));
  report();
}
static void namespaces(void) {
  static const unsigned long spaces[] = {0x20000 /* mount */,  0x4000000, 0x8000000, 0x10000000 /* user */,
                                         0x20000000 /* pid */, 0x40000000};
  for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++) {
    TRY(syscall(SYS_unshare, spaces[i]));
    TRY(syscall(SYS_clone, spaces[i] | SIGCHLD, 0, 0, 0, 0));
  }
  TRY(syscall(SYS_setns, 1, 0));
  report();
}
static void handles(void) {
  struct {
    unsigned bytes;
    int type;
    char handle[64];
  } handle = {64, 1, {2}};
  int mount;
  TRY(syscall(SYS_name_to_handle_at, AT_FDCWD, "/", &handle, &mount, 0));
  TRY(syscall(SYS_open_by_handle_at, AT_FDCWD, &handle, O_RDONLY));
  TRY(syscall(437 /* openat2 */, AT_FDCWD, "/../etc/passwd", (uint64_t[3]){0}, 24));
  report();
}
static void devices(void) {
  static const char* const names[] = {"/dev/mem",   "/dev/kmem",    "/dev/sda",    "/dev/vda",
                                      "/dev/kvm",   "/dev/nvidia0", "/dev/pts/0",  "/dev/stdout",
                                      "/dev/fd/77", "/dev/shm/x",   "/dev/mapper", "/dev/console"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) TRY(open(names[i], O_RDONLY));
  TRY(open("/dev/tty", O_RDWR));
  report();
}
static void new_devices(void) {
  TRY(mknod("/tmp/memory", S_IFCHR | 0666, 0x101));
  TRY(mknod("/tmp/disk", S_IFBLK | 0666, 0x800));
  report();
}
static void proc(void) {
  static const char* const names[] = {
      "/proc/1/root",     "/proc/1/environ",     "/proc/self/root",      "/proc/self/cwd/..",
      "/proc/self/fd/77", "/proc/self/mem",      "/proc/kcore",          "/proc/sys/kernel/core_pattern",
      "/proc/2/maps",     "/proc/self/task/1",   "/proc/kallsyms",       "/proc/self/ns/mnt",
      "/sys/kernel",      "/proc/sysrq-trigger", "/proc/self/../1/maps", "/proc/thread-self"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) TRY(open(names[i], O_RDONLY));
  report();
}
static void root_files(void) {
  TRY(open("/bin/isolation", O_RDWR));
  TRY(truncate("/bin/isolation", 0));
  TRY(unlink("/bin/isolation"));
  TRY(rename("/bin/isolation", "/tmp/x"));
  TRY(symlink("x", "/bin/x"));
  TRY(link("/bin/isolation", "/tmp/x"));
  TRY(chmod("/bin/isolation", 0777));
  TRY(chown("/bin/isolation", 1000, 1000));
  TRY(utimensat(AT_FDCWD, "/bin/isolation", (struct timespec[2]){{0}}, 0));
  report();
}
static void root_folders(void) {
  TRY(open("/new", O_CREAT | O_WRONLY, 0600));
  TRY(mkdir("/dev/new", 0700));
  TRY(mkdir("/proc/new", 0700));
  TRY(rename("/own", "/tmp/own"));
  TRY(rmdir("/tmp"));
  TRY(unlink("/dev/null"));
  TRY(chmod("/", 0777));
  TRY(chmod("/tmp", 0700));
  report();
}
static void read_only_bind(void) {
  TRY(open("/given/file", O_WRONLY));
  TRY(open("/given/new", O_WRONLY | O_CREAT, 0600));
  TRY(unlink("/given/file"));
  TRY(rename("/given/file", "/own/file"));
  TRY(chmod("/given", 0777));
  report();
}
static void privileges(void) {
  TRY(setuid(0));
  TRY(setgid(0));
  TRY(setresuid(0, 0, 0));
  TRY(syscall(SYS_setgroups, 1, (gid_t[1]){0}));
  TRY(chown("text", 0, 0));
  report();
  chmod("text", 06777);  // bits that would make root of whoever executes it
  printf("%d %d\n", (int)geteuid(), (int)getegid());
}
static void running_program(void) {
  TRY(open("/proc/self/exe", O_WRONLY));
  TRY(unlink("/proc/self/exe"));
  TRY(rename("/tmp", "/proc/self/exe"));
  report();
}

// A name that is a folder at one time and a link out of it at another, and a name that is moved.
enum { kRounds = 50 };
static volatile bool stop_swapping;
static void* swap_names(void* unused) {
  while (!stop_swapping) {
    rename("/tmp/swap", "/tmp/kept");
    symlink("/../../../..", "/tmp/swap");
    unlink("/tmp/swap");
    rename("/tmp/kept", "/tmp/swap");
  }
  return unused;
}
static void race_of_threads(void) {
  pthread_t thread;
  mkdir("/tmp/swap", 0700);
  pthread_create(&thread, NULL, swap_names, NULL);
  for (int i = 0; i < kRounds; i++) {
    TRY(open("/tmp/swap/etc/hostname", O_RDONLY));
    TRY(open("/tmp/swap/../../etc/passwd", O_RDONLY));
    sched_yield();
  }
  stop_swapping = true;
  pthread_join(thread, NULL);
  report();
}
static void race_of_processes(void) {
  mkdir("/tmp/a", 0700), mkdir("/tmp/b", 0700), mkdir("/tmp/a/in", 0700);
  const pid_t child = fork();
  for (int i = 0; child == 0 || i < kRounds; i++) {
    if (child == 0) {
      rename("/tmp/a/in", "/tmp/b/in");
      rename("/tmp/b/in", "/tmp/a/in");
      continue;
    }
    TRY(open("/tmp/a/in/../../../etc/hostname", O_RDONLY));
    TRY(open("/tmp/b/in/../../../../etc/passwd", O_RDONLY));
    sched_yield();
  }
  kill(child, SIGKILL);
  report();
  report_child(child);
}
static void folder_into_itself(void) {
  mkdir("/tmp/a", 0700), mkdir("/tmp/a/b", 0700);
  TRY(rename("/tmp/a", "/tmp/a/b/c"));
  TRY(rename("/tmp/a/b", "/tmp/a/b/b"));
  TRY(rename("/tmp", "/tmp/a"));
  report();
}
static void exchange(void) {
  mkdir("/tmp/a", 0700);
  symlink("/", "/tmp/b");
  TRY(renameat2(AT_FDCWD, "/tmp/a", AT_FDCWD, "/tmp/b", RENAME_EXCHANGE));
  TRY(renameat2(AT_FDCWD, "/tmp/a", AT_FDCWD, "/own", RENAME_EXCHANGE));
  report();
}
static void other_lanes_files(void) {
  TRY(open("/tmp/mark", O_RDONLY));
  TRY(open("/own/mark", O_RDONLY));
  TRY(open("/tmp/a", O_RDONLY));
  TRY(open("/tmp/file", O_RDONLY));
  TRY(open("/tmp/honest0", O_RDONLY));
  report();
  close(make_file("/tmp/mark", "x")), close(make_file("/own/mark", "x"));
}
