// SPDX-License-Identifier: Apache-2.0
// Attempts with descriptors: those that are closed, of another process, of the host, copied beyond every limit, or that hold each other.
#pragma once
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <time.h>

#include "trying.h"

static void closed_descriptors(void) {
  char byte;
  for (int fd = 3; fd < 1100; fd++) close(fd);
  for (int fd = 3; fd < 1100; fd += 13) {
    TRY(read(fd, &byte, 1));
    TRY(write(fd, &byte, 1));
    TRY(fchdir(fd));
    TRY(dup(fd));
    TRY(fstat(fd, &(struct stat){0}));
    TRY(lseek(fd, 0, SEEK_CUR));
  }
  TRY(openat(-1, "x", O_RDONLY));
  TRY(read(-1, &byte, 1));
  TRY(close(0x7fffffff));
  report();
}
static void large_descriptors(void) {
  TRY(dup2(1, 1024));
  TRY(dup2(1, 1 << 20));
  TRY(dup2(1, 0x7fffffff));
  TRY(fcntl(1, F_DUPFD, 1 << 30));
  TRY(fcntl(1, F_DUPFD, -1));
  TRY(syscall(SYS_close_range, 10, 5, 0));
  report();
}
static void descriptor_flood(void) {
  int made = 0;
  while (open("text", O_RDONLY) >= 0) made++;
  printf("%s after %d\n", strerrorname_np(errno), made);
}
static void copies_flood(void) {
  int made = 0;
  while (dup(1) >= 0) made++;
  printf("%s after %d\n", strerrorname_np(errno), made);
}
static void file_as_folder(void) {
  const int file = open("text", O_RDONLY);
  TRY(openat(file, "..", O_RDONLY));
  TRY(fchdir(file));
  TRY(fstatat(file, "x", &(struct stat){0}, 0));
  report();
}
static void path_descriptors(void) {
  char byte = 0;
  const int fd = open("/bin/isolation", O_PATH);
  TRY(read(fd, &byte, 1));
  TRY(write(fd, &byte, 1));
  TRY(fchmod(fd, 0777));
  TRY(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED ? -1 : 0);
  TRY(ioctl(fd, FIONREAD, &byte));
  report();
}
static void epoll_cycles(void) {
  struct epoll_event event = {.events = EPOLLIN};
  const int a = epoll_create1(0), b = epoll_create1(0);
  TRY(epoll_ctl(a, EPOLL_CTL_ADD, a, &event));
  epoll_ctl(a, EPOLL_CTL_ADD, b, &event);
  TRY(epoll_ctl(b, EPOLL_CTL_ADD, a, &event));
  int last = b;
  for (int i = 0; i < 20; i++) {
    const int next = epoll_create1(0);
    if (epoll_ctl(next, EPOLL_CTL_ADD, last, &event) != 0) break;
    last = next;
  }
  keep_error(errno);
  report();
}
static void epoll_flood(void) {
  int made = 0;
  while (epoll_create1(0) >= 0) made++;
  printf("%s after %d\n", strerrorname_np(errno), made);
}
static void pipe_flood(void) {
  int made = 0, ends[2];
  while (pipe(ends) == 0) made++;
  printf("%s after %d\n", strerrorname_np(errno), made);
}
static void pipe_fill(void) {
  int ends[2];
  static char block[1 << 16];
  pipe2(ends, O_NONBLOCK);
  long written = 0, now;
  while ((now = write(ends[1], block, sizeof block)) > 0) written += now;
  keep_error(errno);
  TRY(fcntl(ends[1], F_SETPIPE_SZ, 1 << 30));
  report();
  printf("after %ld\n", written);
}
static void sockets(void) {
  static const int families[] = {AF_INET, AF_INET6, AF_NETLINK, AF_PACKET, AF_VSOCK, AF_ALG, AF_BLUETOOTH};
  for (size_t i = 0; i < sizeof families / sizeof *families; i++) TRY(socket(families[i], SOCK_DGRAM, 0));
  TRY(socket(AF_UNIX, SOCK_STREAM, 0));
  int ends[2];
  struct sockaddr_un name = {AF_UNIX, "/run/docker.sock"};
  socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
  TRY(connect(ends[0], (struct sockaddr*)&name, sizeof name));
  strcpy(name.sun_path, "/tmp/socket");
  TRY(bind(ends[0], (struct sockaddr*)&name, sizeof name));
  report();
}
static void passed_descriptors(void) {
  int ends[2], sent = 0;
  if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, ends) != 0) printf("no pair\n");
  for (int i = 0; i < 100000; i++) {  // an end is sent through itself
    char byte = 0, control[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec part = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    struct cmsghdr* head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET, head->cmsg_type = SCM_RIGHTS, head->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(head), &ends[i % 2], sizeof(int));
    if (sendmsg(ends[0], &message, 0) < 0) break;
    sent++;
  }
  keep_error(errno);
  report();
  if (sent >= 100000) printf("SUCCEEDED: %d were sent\n", sent);
}
static void controls(void) {
  char byte = 'x';
  for (int fd = 0; fd < 3; fd++) {
    TRY(ioctl(fd, TIOCSTI, &byte));
    TRY(ioctl(fd, TIOCSCTTY, 1));
    TRY(ioctl(fd, TIOCSWINSZ, &byte));
    TRY(ioctl(fd, 0x40049409 /* FICLONE */, 1));
    TRY(ioctl(fd, 0xC0DEC0DE, &byte));
  }
  report();
}
static void of_another_process(void) {
  int ends[2];
  pipe(ends);
  const pid_t child = fork();
  if (child == 0) {
    const int fd = open("text", O_RDONLY);
    write(ends[1], &fd, sizeof fd);
    _exit(0);
  }
  int fd = -1;
  read(ends[0], &fd, sizeof fd);
  TRY(fcntl(fd, F_GETFL));
  TRY(syscall(SYS_pidfd_open, child, 0));
  TRY(syscall(438 /* pidfd_getfd */, 3, fd, 0));
  TRY(syscall(SYS_kcmp, child, getpid(), 0, 0, 0));
  report();
}
static void memory_file_flood(void) {
  int made = 0;
  static char block[1 << 16];
  const int fd = syscall(SYS_memfd_create, "flood", 0);
  while (write(fd, block, sizeof block) > 0) made++;
  TRY(write(fd, block, sizeof block));
  TRY(ftruncate(fd, -1));
  report();
  if (made > 64) printf("SUCCEEDED: %d blocks\n", made);
}
static void timer_flood(void) {
  int made = 0;
  timer_t timer;
  struct sigevent event = {.sigev_notify = SIGEV_NONE};
  while (timer_create(CLOCK_MONOTONIC, &event, &timer) == 0 && made < 100000) made++;
  printf("%s after %d\n", strerrorname_np(errno), made);
}
