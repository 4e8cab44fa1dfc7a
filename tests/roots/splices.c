// SPDX-License-Identifier: Apache-2.0
// Numbered checks of splice(2), tee(2), vmsplice(2), sendfile(2) and copy_file_range(2), each effect and each error, printed with
// their results: moves_test.py runs the program natively on the host's Linux and here.
#include "checks.h"
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>

#define SHOW(value) CHECK(value)

static void* nowhere = (void*)8;
static char block[1 << 18], got[1 << 18];
static volatile int runs;
static void count_signal(int signal) {
  (void)signal;
  runs++;
}
static void on_signal(int signal, int flags) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = count_signal;
  action.sa_flags = flags;
  sigaction(signal, &action, NULL);
  runs = 0;
}
/// A call that a signal ends, however late it begins to wait.
static long interrupted;
static void alarms(int microseconds) {
  setitimer(ITIMER_REAL, &(struct itimerval){{0, microseconds}, {0, microseconds}}, NULL);
}
#define INTERRUPTED(call) (runs = 0, alarms(3000), errno = 0, interrupted = (call), alarms(0), say(#call, interrupted), CHECK(runs != 0))

/// The bytes of a pipe, by their number and their sum; it is empty then.
static void show_pipe(const char* what, int fd) {
  int ready = -1;
  ioctl(fd, FIONREAD, &ready);
  const long size = ready > 0 ? read(fd, got, sizeof got) : 0;
  printf("  %s: %d ready, %ld read, sum %x\n", what, ready, size, sum_of((unsigned char*)got, size > 0 ? (size_t)size : 0, 0));
}
static void show_at(int fd) { printf("  at %ld\n", (long)lseek(fd, 0, SEEK_CUR)); }
/// How many writes of one byte to a pipe fit, in slots of their own if the last cannot take more.
static int free_room(int fd) {
  int writes = 0;
  while (write(fd, block, 4096) == 4096) writes++;
  return writes;
}
static int file(const char* name, int flags, long size) {
  const int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0644);
  for (long done = 0; done < size; done += 10000) write(fd, block + done % 1000, (size_t)(size - done < 10000 ? size - done : 10000));
  close(fd);
  return open(name, flags);
}

static void splice_errors(void) {
  int p[2], q[2], pair[2];
  long at = 0;
  pipe2(p, O_NONBLOCK);
  pipe2(q, O_NONBLOCK);
  socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
  const int in = file("in", O_RDONLY, 20000), out = file("out", O_RDWR, 0), more = open("out", O_WRONLY | O_APPEND);
  const int folder = open(".", O_RDONLY), path = open("in", O_PATH), path_only = open("out", O_PATH);
  CHECK(splice(in, NULL, p[1], NULL, 0, 0));
  CHECK(splice(-1, NULL, -1, NULL, 0, 99));
  CHECK(splice(in, NULL, p[1], NULL, 10, 16));
  CHECK(splice(in, NULL, p[1], NULL, 10, ~0u));
  CHECK(splice(-1, NULL, p[1], NULL, 10, 0));
  CHECK(splice(in, NULL, -1, NULL, 10, 0));
  CHECK(splice(99, NULL, p[1], NULL, 10, 0));
  CHECK(splice(path, NULL, p[1], NULL, 10, 0));
  CHECK(splice(p[0], NULL, path_only, NULL, 10, 0));
  CHECK(splice(more, NULL, p[1], NULL, 10, 0));    // not for reading
  CHECK(splice(p[0], NULL, in, NULL, 10, 0));      // not for writing
  CHECK(splice(p[1], NULL, out, NULL, 10, 0));
  CHECK(splice(in, NULL, p[0], NULL, 10, 0));
  CHECK(splice(in, NULL, out, NULL, 10, 0));       // no pipe
  CHECK(splice(pair[0], NULL, pair[1], NULL, 10, 0));
  CHECK(splice(pair[0], NULL, out, NULL, 10, 0));
  CHECK(splice(folder, NULL, p[1], NULL, 10, 0));
  CHECK(splice(in, NULL, p[1], &at, 10, 0));
  CHECK(splice(p[0], &at, out, NULL, 10, 0));
  CHECK(splice(p[0], &at, q[1], NULL, 10, 0));
  CHECK(splice(p[0], NULL, q[1], &at, 10, 0));
  CHECK(splice(p[0], nowhere, q[1], nowhere, 10, 0));
  CHECK(splice(p[0], NULL, p[1], NULL, 10, 0));    // one pipe
  CHECK(splice(in, nowhere, p[1], NULL, 10, 0));
  CHECK(splice(p[0], NULL, out, nowhere, 10, 0));
  at = -1;
  CHECK(splice(in, &at, p[1], NULL, 10, 0));
  CHECK(splice(p[0], NULL, out, &at, 10, 0));
  at = LONG_MAX - 3;
  CHECK(splice(in, &at, p[1], NULL, 10, 0));
  at = 0;
  CHECK(splice(in, NULL, p[1], NULL, -1, 0));
  CHECK(splice(p[0], NULL, out, NULL, -1, 0));
  CHECK(splice(p[0], NULL, more, NULL, 10, 0));    // appends
  CHECK(splice(p[0], NULL, out, NULL, 10, 0));     // empty, O_NONBLOCK
  CHECK(splice(p[0], NULL, out, &at, 10, SPLICE_F_NONBLOCK));
  CHECK(splice(p[0], NULL, q[1], NULL, 10, 0));
  CHECK(splice(p[0], NULL, pair[0], NULL, 10, 0));
  CHECK(splice(pair[0], &at, p[1], NULL, 10, 0));
  CHECK(splice(pair[0], NULL, p[1], NULL, 10, SPLICE_F_NONBLOCK));
  write(p[1], "abc", 3);
  CHECK(splice(p[0], NULL, pair[0], &at, 10, 0));
  CHECK(splice(p[0], NULL, folder, NULL, 10, 0));
  show_pipe("p", p[0]);
  int* all[] = {p, q, pair};
  for (int i = 0; i < 3; i++) CHECK(close(all[i][0]) | close(all[i][1]));
  CHECK(close(in) | close(out) | close(more) | close(folder) | close(path) | close(path_only));
}

static void from_files(void) {
  int p[2];
  long at = 0;
  pipe2(p, O_NONBLOCK);
  const int in = file("in", O_RDONLY, 150000);
  CHECK(splice(in, NULL, p[1], NULL, 100, 0));
  show_at(in);
  show_pipe("p", p[0]);
  CHECK(splice(in, NULL, p[1], NULL, 5000, 0));
  show_at(in);
  show_pipe("p", p[0]);
  at = 149990;
  CHECK(splice(in, &at, p[1], NULL, 5000, SPLICE_F_MOVE | SPLICE_F_MORE));
  SHOW(at);
  CHECK(splice(in, &at, p[1], NULL, 5000, 0));
  SHOW(at);
  at = 500000;
  CHECK(splice(in, &at, p[1], NULL, 5000, 0));
  show_at(in);
  show_pipe("p", p[0]);
  at = 0;
  CHECK(splice(in, &at, p[1], NULL, 150000, 0));
  SHOW(at);
  CHECK(splice(in, &at, p[1], NULL, 1, 0));
  CHECK(splice(in, &at, p[1], NULL, 1, SPLICE_F_NONBLOCK));
  CHECK(write(p[1], "x", 1));
  show_pipe("p", p[0]);
  // Pages that are not filled, and into which nothing else goes.
  at = 100;
  CHECK(splice(in, &at, p[1], NULL, 8192, 0));
  SHOW(free_room(p[1]));
  show_pipe("p", p[0]);
  at = 10;
  CHECK(splice(in, &at, p[1], NULL, 10, 0));
  CHECK(write(p[1], "abc", 3));
  CHECK(write(p[1], "def", 3));
  SHOW(free_room(p[1]));
  show_pipe("p", p[0]);
  for (int i = 0; i < 20; i++) {
    at = 4096 * i;
    CHECK(splice(in, &at, p[1], NULL, 1, 0));
  }
  show_pipe("p", p[0]);
  CHECK(fcntl(p[1], F_SETPIPE_SZ, 8192));
  at = 4000;
  CHECK(splice(in, &at, p[1], NULL, 150000, 0));
  SHOW(at);
  show_pipe("p", p[0]);
  // A file with holes.
  const int sparse = open("sparse", O_RDWR | O_CREAT, 0600);
  pwrite(sparse, "begin", 5, 3);
  pwrite(sparse, "end", 3, 9000);
  CHECK(splice(sparse, NULL, p[1], NULL, 10000, 0));
  show_pipe("p", p[0]);
  CHECK(splice(sparse, NULL, p[1], NULL, 10000, 0));
  show_pipe("p", p[0]);
  // What has been spliced stays as it was read, or is what the file has become; here it is read at once.
  CHECK(close(p[0]));
  on_signal(SIGPIPE, 0);
  at = 0;
  CHECK(splice(in, &at, p[1], NULL, 10, 0));
  SHOW(at);
  SHOW(runs);
  at = 500000;
  CHECK(splice(in, &at, p[1], NULL, 10, 0));
  SHOW(runs);
  CHECK(close(p[1]) | close(in) | close(sparse));
}

static void to_files(void) {
  int p[2];
  long at = 0;
  pipe2(p, O_NONBLOCK);
  const int out = file("out", O_RDWR, 10);
  write(p[1], "hello world", 11);
  CHECK(splice(p[0], NULL, out, NULL, 5, 0));
  show_at(out);
  CHECK(splice(p[0], NULL, out, NULL, 500, 0));
  show_at(out);
  CHECK(splice(p[0], NULL, out, NULL, 500, 0));
  show("out");
  write(p[1], block, 30000);
  at = 20000;
  CHECK(splice(p[0], NULL, out, &at, 10000, 0));
  SHOW(at);
  show_at(out);
  at = 5;
  CHECK(splice(p[0], NULL, out, &at, 100, SPLICE_F_MOVE));
  at = LONG_MAX - 3;
  CHECK(splice(p[0], NULL, out, &at, 3, 0));
  at = 0;
  CHECK(splice(p[0], NULL, out, &at, 65536, 0));
  show("out");
  // Over what lies below, and with mode bits that a write takes away.
  const int given = open("given/large", O_RDWR);
  CHECK(fchmod(given, 06755));
  write(p[1], "over", 4);
  at = 4094;
  CHECK(splice(p[0], NULL, given, &at, 4, 0));
  show("given/large");
  // Packets are bytes here.
  int direct[2];
  pipe2(direct, O_DIRECT | O_NONBLOCK);
  write(direct[1], "one", 3);
  write(direct[1], "two", 3);
  write(direct[1], "three", 5);
  CHECK(splice(direct[0], NULL, out, NULL, 5, 0));
  CHECK(read(direct[0], got, 100));
  CHECK(read(direct[0], got, 100));
  CHECK(read(direct[0], got, 100));
  // The end of the pipe.
  write(p[1], "last", 4);
  CHECK(close(p[1]));
  CHECK(splice(p[0], NULL, out, NULL, 3, 0));
  CHECK(splice(p[0], NULL, out, NULL, 3, 0));
  CHECK(splice(p[0], NULL, out, NULL, 3, 0));
  show("out");
  CHECK(close(p[0]) | close(out) | close(given) | close(direct[0]) | close(direct[1]));
}

static void between_pipes(void) {
  int p[2], q[2];
  pipe2(p, O_NONBLOCK);
  pipe2(q, O_NONBLOCK);
  on_signal(SIGPIPE, 0);
  write(p[1], "hello world", 11);
  CHECK(splice(p[0], NULL, q[1], NULL, 5, 0));
  CHECK(write(q[1], "!", 1));
  CHECK(splice(p[0], NULL, q[1], NULL, 50, 0));
  CHECK(write(q[1], "!", 1));
  CHECK(splice(p[0], NULL, q[1], NULL, 50, 0));
  SHOW(free_room(q[1]));  // what was divided takes no more, what was moved does
  show_pipe("q", q[0]);
  for (int i = 0; i < 5; i++) write(p[1], block + i, 5000);
  CHECK(splice(p[0], NULL, q[1], NULL, 7000, 0));
  CHECK(splice(p[0], NULL, q[1], NULL, 1, 0));
  CHECK(splice(p[0], NULL, q[1], NULL, 100000, 0));
  show_pipe("p", p[0]);
  SHOW(free_room(q[1]));
  show_pipe("q", q[0]);
  // A full one.
  free_room(q[1]);
  write(p[1], "abc", 3);
  CHECK(splice(p[0], NULL, q[1], NULL, 1, 0));
  read(q[0], got, 4096);
  CHECK(splice(p[0], NULL, q[1], NULL, 1, 0));
  CHECK(splice(p[0], NULL, q[1], NULL, 1, 0));
  show_pipe("p", p[0]);
  show_pipe("q", q[0]);
  // Packets stay packets.
  int direct[2];
  pipe2(direct, O_DIRECT | O_NONBLOCK);
  write(direct[1], "one", 3);
  write(direct[1], "two", 3);
  CHECK(splice(direct[0], NULL, q[1], NULL, 5, 0));
  CHECK(read(q[0], got, 100));
  CHECK(read(q[0], got, 100));
  CHECK(read(direct[0], got, 100));
  write(q[1], "three", 5);
  write(q[1], "four", 4);
  CHECK(splice(q[0], NULL, direct[1], NULL, 100, 0));
  CHECK(read(direct[0], got, 100));
  // Ends.
  write(p[1], "abc", 3);
  close(p[1]);
  CHECK(splice(p[0], NULL, q[1], NULL, 100, 0));
  CHECK(splice(p[0], NULL, q[1], NULL, 100, 0));
  free_room(q[1]);
  CHECK(splice(p[0], NULL, q[1], NULL, 100, 0));
  close(q[0]);
  CHECK(splice(p[0], NULL, q[1], NULL, 100, 0));
  SHOW(runs);
  close(p[0]);
  close(q[1]);
  close(direct[0]);
  close(direct[1]);
}

static void tees(void) {
  int p[2], q[2], pair[2];
  pipe2(p, O_NONBLOCK);
  pipe2(q, O_NONBLOCK);
  socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
  const int in = file("in", O_RDWR, 100);
  on_signal(SIGPIPE, 0);
  CHECK(tee(p[0], q[1], 0, 0));
  CHECK(tee(p[0], q[1], 10, 16));
  CHECK(tee(-1, q[1], 10, 0));
  CHECK(tee(p[0], -1, 10, 0));
  CHECK(tee(p[1], q[1], 10, 0));
  CHECK(tee(p[0], q[0], 10, 0));
  CHECK(tee(in, q[1], 10, 0));
  CHECK(tee(p[0], in, 10, 0));
  CHECK(tee(p[0], pair[0], 10, 0));
  CHECK(tee(p[0], p[1], 10, 0));
  CHECK(tee(p[0], q[1], 10, 0));
  CHECK(tee(p[0], q[1], 10, SPLICE_F_NONBLOCK));
  write(p[1], "hello", 5);
  CHECK(tee(p[0], q[1], 3, 0));
  CHECK(tee(p[0], q[1], 100, 0));
  CHECK(write(p[1], " world", 6));
  CHECK(write(q[1], "!", 1));
  SHOW(free_room(q[1]));
  CHECK(tee(p[0], q[1], 3, 0));
  show_pipe("q", q[0]);
  show_pipe("p", p[0]);
  for (int i = 0; i < 3; i++) write(p[1], block + i, 5000);
  CHECK(tee(p[0], q[1], 9000, 0));
  CHECK(tee(p[0], q[1], 90000, SPLICE_F_MOVE | SPLICE_F_MORE | SPLICE_F_GIFT));
  SHOW(free_room(q[1]));
  show_pipe("q", q[0]);
  CHECK(tee(p[0], q[1], -1, 0));
  show_pipe("q", q[0]);
  show_pipe("p", p[0]);
  write(p[1], "end", 3);
  close(p[1]);
  CHECK(tee(p[0], q[1], 2, 0));
  read(p[0], got, 3);
  CHECK(tee(p[0], q[1], 2, 0));
  free_room(q[1]);
  CHECK(tee(p[0], q[1], 2, 0));
  close(q[0]);
  CHECK(tee(p[0], q[1], 2, 0));
  SHOW(runs);
  close(p[0]);
  close(q[1]);
  close(in);
  close(pair[0]);
  close(pair[1]);
}

static void vmsplices(void) {
  int p[2], pair[2];
  static char pages[5 * 4096] __attribute__((aligned(4096)));
  memcpy(pages, block, sizeof pages);
  pipe2(p, O_NONBLOCK);
  socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
  const int in = file("in", O_RDWR, 100), path = open("in", O_PATH);
  struct iovec one = {pages, 10}, parts[4] = {{pages + 4090, 12}, {NULL, 0}, {pages + 100, 5000}, {pages + 1, 1}};
  on_signal(SIGPIPE, 0);
  CHECK(vmsplice(p[1], &one, 1, 16));
  CHECK(vmsplice(-1, &one, 1, 0));
  CHECK(vmsplice(path, &one, 1, 0));
  CHECK(vmsplice(in, &one, 1, 0));
  CHECK(vmsplice(in, &one, 0, 0));
  CHECK(vmsplice(in, nowhere, 1, 0));
  CHECK(vmsplice(pair[0], &one, 1, 0));
  CHECK(vmsplice(p[1], nowhere, 1, 0));
  CHECK(vmsplice(p[1], &one, 1025, 0));
  CHECK(vmsplice(p[1], &one, -1, 0));
  CHECK(vmsplice(p[1], &one, 0, 0));
  CHECK(vmsplice(p[1], &(struct iovec){pages, 0}, 1, 0));
  CHECK(vmsplice(p[1], &(struct iovec){pages, -1}, 1, 0));
  CHECK(vmsplice(p[1], &(struct iovec){nowhere, 1}, 1, 0));
  CHECK(vmsplice(p[0], &one, 1, SPLICE_F_NONBLOCK));
  CHECK(vmsplice(p[0], &one, 0, 0));
  CHECK(vmsplice(p[1], &one, 1, 0));
  CHECK(vmsplice(p[1], parts, 4, 0));
  CHECK(write(p[1], "x", 1));
  SHOW(free_room(p[1]));
  CHECK(vmsplice(p[1], &one, 1, SPLICE_F_NONBLOCK));
  show_pipe("p", p[0]);
  CHECK(vmsplice(p[1], &(struct iovec){pages, sizeof pages}, 1, SPLICE_F_GIFT));
  CHECK(vmsplice(p[0], &(struct iovec){got, 5000}, 1, 0));
  printf("  sum %x\n", sum_of((unsigned char*)got, 5000, 0));
  CHECK(vmsplice(p[0], (struct iovec[]){{got, 3}, {got + 3, 100000}}, 2, 0));
  printf("  sum %x\n", sum_of((unsigned char*)got, sizeof pages - 5000, 0));
  CHECK(vmsplice(p[0], &(struct iovec){got, 1}, 1, SPLICE_F_NONBLOCK));
  write(p[1], "abcdef", 6);
  CHECK(vmsplice(p[0], &(struct iovec){nowhere, 1}, 1, 0));
  CHECK(vmsplice(p[0], &(struct iovec){got, 4}, 1, 0));
  show_pipe("p", p[0]);
  // As much as there is room for.
  for (int i = 0; i < 5; i++) CHECK(vmsplice(p[1], &(struct iovec){pages, sizeof pages}, 1, SPLICE_F_NONBLOCK));
  show_pipe("p", p[0]);
  CHECK(vmsplice(p[1], (struct iovec[]){{pages, 10}, {nowhere, 10}}, 2, 0));
  show_pipe("p", p[0]);
  int direct[2];
  pipe2(direct, O_DIRECT | O_NONBLOCK);
  CHECK(vmsplice(direct[1], parts, 4, 0));
  CHECK(read(direct[0], got, 10000));
  write(direct[1], "one", 3);
  write(direct[1], "two", 3);
  CHECK(vmsplice(direct[0], &(struct iovec){got, 5}, 1, 0));
  CHECK(read(direct[0], got, 10000));
  write(p[1], "abc", 3);
  close(p[1]);
  CHECK(vmsplice(p[0], &(struct iovec){got, 10}, 1, 0));
  CHECK(vmsplice(p[0], &(struct iovec){got, 10}, 1, 0));
  close(p[0]);
  pipe2(p, 0);
  close(p[0]);
  CHECK(vmsplice(p[1], &one, 1, 0));
  SHOW(runs);
  CHECK(vmsplice(p[1], &(struct iovec){nowhere, 10}, 1, 0));
  SHOW(runs);
  close(p[1]);
  close(pair[0]);
  close(pair[1]);
  close(direct[0]);
  close(direct[1]);
  close(in);
  close(path);
}

static void sockets(void) {
  int p[2], pair[2];
  long at = 0;
  const int types[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET};
  on_signal(SIGPIPE, 0);
  for (int i = 0; i < 3; i++) {
    printf("type %d\n", types[i]);
    pipe2(p, O_NONBLOCK);
    socketpair(AF_UNIX, types[i] | SOCK_NONBLOCK, 0, pair);
    CHECK(splice(pair[0], NULL, p[1], NULL, 10, 0));
    CHECK(splice(pair[0], &at, p[1], NULL, 10, 0));
    write(pair[1], "hello world", 11);
    write(pair[1], "again", 5);
    CHECK(splice(pair[0], NULL, p[1], NULL, 5, 0));
    CHECK(write(p[1], "!", 1));
    CHECK(splice(pair[0], NULL, p[1], NULL, 500, 0));
    CHECK(splice(pair[0], NULL, p[1], NULL, 500, 0));
    if (i != 0) SHOW(free_room(p[1]));  // how a stream keeps its bytes is not promised
    show_pipe("p", p[0]);
    write(p[1], "one", 3);
    CHECK(splice(p[0], NULL, pair[0], NULL, 2, 0));
    CHECK(splice(p[0], NULL, pair[0], NULL, 20, 0));
    CHECK(splice(p[0], NULL, pair[0], NULL, 20, 0));
    CHECK(recv(pair[1], got, 100, 0));
    CHECK(recv(pair[1], got, 100, 0));
    write(p[1], block, 10000);
    CHECK(splice(p[0], NULL, pair[0], NULL, 20000, 0));
    CHECK(recv(pair[1], got, 20000, 0));
    const int in = file("in", O_RDONLY, 9000);
    CHECK(sendfile(pair[0], in, NULL, 5000));
    CHECK(sendfile(pair[0], in, NULL, 5000));
    CHECK(sendfile(pair[0], in, NULL, 5000));
    CHECK(recv(pair[1], got, 20000, 0));
    printf("  sum %x\n", sum_of((unsigned char*)got, 5000, 0));
    CHECK(recv(pair[1], got, 20000, 0));
    CHECK(sendfile(pair[0], pair[1], NULL, 10));
    CHECK(sendfile(p[1], pair[1], NULL, 10));
    write(pair[0], "abc", 3);
    CHECK(sendfile(p[1], pair[1], NULL, 10));
    at = 0;
    CHECK(sendfile(p[1], pair[1], &at, 10));
    show_pipe("p", p[0]);
    write(p[1], "abc", 3);
    close(pair[1]);
    CHECK(splice(pair[0], NULL, p[1], NULL, 10, 0));
    CHECK(splice(p[0], NULL, pair[0], NULL, 10, 0));
    SHOW(runs);
    if (i != 1) CHECK(sendfile(pair[0], in, &at, 10));  // datagrams: a second attempt is another error
    SHOW(runs);
    close(in);
    close(pair[0]);
    close(p[0]);
    close(p[1]);
  }
}

static void sendfiles(void) {
  int p[2];
  long at = 0;
  pipe2(p, O_NONBLOCK);
  const int in = file("in", O_RDONLY, 100000), out = file("out", O_RDWR, 20), more = open("out", O_WRONLY | O_APPEND);
  const int folder = open(".", O_RDONLY), path = open("in", O_PATH);
  CHECK(sendfile(out, -1, NULL, 10));
  CHECK(sendfile(-1, in, NULL, 10));
  CHECK(sendfile(out, path, NULL, 10));
  CHECK(sendfile(path, in, NULL, 10));
  CHECK(sendfile(out, more, NULL, 10));
  CHECK(sendfile(in, in, NULL, 10));
  CHECK(sendfile(more, in, NULL, 10));
  CHECK(sendfile(out, folder, NULL, 10));
  CHECK(sendfile(p[1], folder, NULL, 10));
  CHECK(sendfile(out, p[0], NULL, 10));
  CHECK(sendfile(out, p[0], &at, 10));
  CHECK(sendfile(p[1], p[0], NULL, 10));
  CHECK(sendfile(out, in, nowhere, 10));
  at = -1;
  CHECK(sendfile(out, in, &at, 10));
  SHOW(at);
  at = LONG_MAX - 3;
  CHECK(sendfile(out, in, &at, 10));
  CHECK(sendfile(out, in, NULL, -1));
  at = 0;
  CHECK(sendfile(out, in, NULL, 0));
  CHECK(sendfile(out, in, NULL, 1000));
  show_at(in);
  show_at(out);
  at = 99990;
  CHECK(sendfile(out, in, &at, 1000));
  SHOW(at);
  CHECK(sendfile(out, in, &at, 1000));
  SHOW(at);
  at = 200000;
  CHECK(sendfile(out, in, &at, 1000));
  SHOW(at);
  show_at(in);
  show_at(out);
  show("out");
  at = 7;
  CHECK(sendfile(out, in, &at, 200000));
  SHOW(at);
  show("out");
  CHECK(sendfile(p[1], in, NULL, 100));
  show_at(in);
  at = 0;
  CHECK(sendfile(p[1], in, &at, 100000));
  SHOW(at);
  CHECK(sendfile(p[1], in, &at, 100000));
  show_pipe("p", p[0]);
  CHECK(sendfile(p[1], in, NULL, 0));
  const int null = open("/dev/null", O_RDWR), zero = open("/dev/zero", O_RDWR), full = open("/dev/full", O_RDWR);
  at = 0;
  CHECK(sendfile(null, in, &at, 5000));
  CHECK(sendfile(zero, in, &at, 5000));
  CHECK(sendfile(full, in, &at, 5000));
  SHOW(at);
  CHECK(sendfile(p[1], zero, NULL, 5000));
  show_pipe("p", p[0]);
  CHECK(sendfile(p[1], null, NULL, 5000));
  CHECK(splice(zero, NULL, p[1], NULL, 10, 0));
  CHECK(write(p[1], "abc", 3));
  SHOW(free_room(p[1]));
  CHECK(splice(p[0], NULL, null, NULL, 100000, 0));
  write(p[1], "abc", 3);
  CHECK(splice(p[0], NULL, zero, NULL, 2, 0));
  CHECK(splice(p[0], NULL, full, NULL, 1, 0));
  show_pipe("p", p[0]);
  CHECK(sendfile(out, zero, NULL, 5000));
  show("out");
  // Each to the standard streams.
  fflush(stdout);
  at = 0;
  const int text = file("text", O_RDWR, 0);
  write(text, "  some text\n", 12);
  CHECK(lseek(text, 0, SEEK_SET));
  fflush(stdout);
  long sent = sendfile(1, text, NULL, 100);
  CHECK(sent);
  write(p[1], "  more text\n", 12);
  fflush(stdout);
  sent = splice(p[0], NULL, 1, NULL, 100, 0);
  CHECK(sent);
  fflush(stdout);
  sent = splice(text, &at, 1, NULL, 100, 0);
  CHECK(sent);
  write(p[1], "  teed text\n", 12);
  fflush(stdout);
  sent = tee(p[0], 1, 100, 0);
  CHECK(sent);
  show_pipe("p", p[0]);
  fflush(stdout);
  sent = vmsplice(1, &(struct iovec){"  your text\n", 12}, 1, 0);
  CHECK(sent);
  CHECK(splice(0, NULL, p[1], NULL, 3, 0));
  CHECK(tee(0, p[1], 5, 0));
  CHECK(tee(0, p[1], 5, 0));
  CHECK(splice(0, NULL, out, NULL, 4, 0));
  CHECK(vmsplice(0, &(struct iovec){got, 2}, 1, 0));
  CHECK(splice(0, &at, out, NULL, 4, 0));
  CHECK(splice(text, NULL, 1, &at, 4, 0));
  CHECK(splice(text, NULL, 0, NULL, 4, 0));
  CHECK(splice(1, NULL, p[1], NULL, 4, 0));
  fflush(stdout);
  sent = splice(0, NULL, 1, NULL, 100, 0);
  CHECK(sent);
  CHECK(splice(0, NULL, p[1], NULL, 100, 0));
  CHECK(tee(0, p[1], 100, 0));
  CHECK(sendfile(out, 0, NULL, 100));
  show_pipe("p", p[0]);
  CHECK(close(p[0]) | close(p[1]) | close(in) | close(out) | close(more) | close(folder) | close(path) | close(null));
  CHECK(close(zero) | close(full) | close(text));
}

static void others(void) {
  int p[2];
  sigset_t set;
  sigemptyset(&set);
  pipe2(p, O_NONBLOCK);
  write(p[1], block, 1000);
  int q[2];
  pipe2(q, O_NONBLOCK);
  const int fds[] = {eventfd(7, EFD_NONBLOCK), timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK), signalfd(-1, &set, SFD_NONBLOCK),
                     epoll_create1(0)};
  for (int i = 0; i < 4; i++) {
    long at = 0;
    CHECK(splice(p[0], NULL, fds[i], NULL, 8, 0));
    CHECK(splice(p[0], NULL, fds[i], &at, 8, 0));
    CHECK(splice(fds[i], &at, q[1], NULL, 8, 0));
    CHECK(sendfile(fds[i], fds[i], NULL, 8));
    CHECK(tee(fds[i], q[1], 8, 0));
    CHECK(vmsplice(fds[i], &(struct iovec){got, 8}, 1, 0));
    if (i == 3) CHECK(splice(fds[i], NULL, q[1], NULL, 8, 0));
    close(fds[i]);
  }
  close(p[0]);
  close(p[1]);
  close(q[0]);
  close(q[1]);
}

static void waits(void) {
  int p[2], q[2];
  pipe2(p, 0);
  pipe2(q, 0);
  const int in = file("in", O_RDONLY, 1000), out = file("out", O_RDWR, 0);
  on_signal(SIGALRM, 0);
  INTERRUPTED(splice(p[0], NULL, out, NULL, 10, 0));
  INTERRUPTED(splice(p[0], NULL, q[1], NULL, 10, 0));
  INTERRUPTED(tee(p[0], q[1], 10, 0));
  INTERRUPTED(vmsplice(p[0], &(struct iovec){got, 10}, 1, 0));
  CHECK(splice(p[0], NULL, out, NULL, 10, SPLICE_F_NONBLOCK));
  CHECK(splice(p[0], NULL, q[1], NULL, 10, SPLICE_F_NONBLOCK));
  CHECK(tee(p[0], q[1], 10, SPLICE_F_NONBLOCK));
  // A pipe that does not block lets this call wait all the same.
  fcntl(p[0], F_SETFL, O_NONBLOCK);
  INTERRUPTED(vmsplice(p[0], &(struct iovec){got, 10}, 1, 0));
  fcntl(p[0], F_SETFL, 0);
  fcntl(q[1], F_SETFL, O_NONBLOCK);
  while (write(q[1], block, 4096) == 4096) {
  }
  CHECK(splice(in, NULL, q[1], NULL, 10, 0));
  CHECK(sendfile(q[1], in, NULL, 10));
  fcntl(q[1], F_SETFL, 0);
  CHECK(splice(in, NULL, q[1], NULL, 10, SPLICE_F_NONBLOCK));
  INTERRUPTED(splice(in, NULL, q[1], NULL, 10, 0));
  INTERRUPTED(sendfile(q[1], in, NULL, 10));
  INTERRUPTED(vmsplice(q[1], &(struct iovec){got, 10}, 1, 0));
  write(p[1], "abc", 3);
  INTERRUPTED(splice(p[0], NULL, q[1], NULL, 10, 0));
  INTERRUPTED(tee(p[0], q[1], 10, 0));
  show_at(in);
  int pair[2];
  socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
  read(q[0], got, 65536);
  INTERRUPTED(splice(pair[0], NULL, q[1], NULL, 10, 0));
  CHECK(close(p[0]) | close(p[1]) | close(q[0]) | close(q[1]) | close(in) | close(out));
}

/// Threads that take what others put.
static int from, to, through[2];
static void* put(void* unused) {
  for (int i = 0; i < 30; i++) write(from, block + i, 5000);
  close(from);
  return unused;
}
static void* pass(void* unused) {
  long size, total = 0;
  while ((size = splice(through[0], NULL, through[1], NULL, 6000, 0)) > 0) total += size;
  close(through[1]);
  return (void*)total;
}
static void threads(void) {
  int p[2], q[2];
  pthread_t threads[2];
  void* passed;
  pipe(p);
  pipe(q);
  from = p[1];
  through[0] = p[0];
  through[1] = q[1];
  const int out = file("out", O_RDWR, 0);
  pthread_create(&threads[0], NULL, put, NULL);
  pthread_create(&threads[1], NULL, pass, NULL);
  long size, total = 0;
  while ((size = splice(q[0], NULL, out, NULL, 7000, 0)) > 0) total += size;
  SHOW(total);
  pthread_join(threads[0], NULL);
  pthread_join(threads[1], &passed);
  SHOW((long)passed);
  show("out");
  close(p[0]);
  close(q[0]);
  close(out);
}

static void copies(void) {
  long at = 0, to_at = 0;
  int p[2];
  pipe(p);
  const int in = file("in", O_RDWR, 10000), out = file("out", O_RDWR, 20), more = open("out", O_WRONLY | O_APPEND);
  const int folder = open(".", O_RDONLY), only = open("in", O_RDONLY), null = open("/dev/null", O_RDWR);
  const int path = open("in", O_PATH);
  CHECK(copy_file_range(-1, NULL, out, NULL, 10, 0));
  CHECK(copy_file_range(in, NULL, -1, NULL, 10, 0));
  CHECK(copy_file_range(path, NULL, out, NULL, 10, 0));
  CHECK(copy_file_range(in, NULL, out, NULL, 10, 1));
  CHECK(copy_file_range(folder, NULL, out, NULL, 10, 1));
  CHECK(copy_file_range(folder, NULL, out, NULL, 10, 0));
  CHECK(copy_file_range(p[0], NULL, out, NULL, 10, 0));
  CHECK(copy_file_range(in, NULL, p[1], NULL, 10, 0));
  CHECK(copy_file_range(in, NULL, null, NULL, 10, 0));
  CHECK(copy_file_range(in, NULL, more, NULL, 10, 0));
  CHECK(copy_file_range(in, NULL, only, NULL, 10, 0));
  CHECK(copy_file_range(more, NULL, out, NULL, 10, 0));
  CHECK(copy_file_range(in, nowhere, out, NULL, 10, 0));
  CHECK(copy_file_range(in, NULL, out, nowhere, 10, 0));
  CHECK(copy_file_range(in, nowhere, out, NULL, 10, 1));
  at = -1;
  CHECK(copy_file_range(in, &at, out, NULL, 10, 0));
  at = -20;
  CHECK(copy_file_range(in, &at, out, NULL, 10, 0));
  at = LONG_MAX - 3;
  CHECK(copy_file_range(in, &at, out, NULL, 10, 0));
  at = 0;
  to_at = LONG_MAX - 3;
  CHECK(copy_file_range(in, &at, out, &to_at, 10, 0));
  to_at = LONG_MAX;
  CHECK(copy_file_range(in, &at, out, &to_at, 10, 0));
  to_at = -20;
  CHECK(copy_file_range(in, &at, out, &to_at, 10, 0));
  to_at = -5;
  CHECK(copy_file_range(in, &at, out, &to_at, 10, 0));
  to_at = 0;
  CHECK(copy_file_range(in, NULL, out, NULL, -1, 0));
  CHECK(copy_file_range(in, &at, out, &to_at, LONG_MAX, 0));
  SHOW(at);
  SHOW(to_at);
  at = to_at = 0;
  CHECK(copy_file_range(in, &at, in, &to_at, 10, 0));
  to_at = 9;
  CHECK(copy_file_range(in, &at, in, &to_at, 10, 0));
  CHECK(copy_file_range(in, &to_at, in, &at, 10, 0));
  CHECK(copy_file_range(in, &at, in, &to_at, 9, 0));
  SHOW(at);
  SHOW(to_at);
  at = 9990;
  to_at = 9995;
  CHECK(copy_file_range(in, &at, in, &to_at, 4, 0));
  CHECK(copy_file_range(in, &at, in, &to_at, 50, 0));
  at = 9990;
  to_at = 20000;
  CHECK(copy_file_range(in, &at, in, &to_at, 50, 0));
  SHOW(at);
  show("in");
  CHECK(lseek(in, 5, SEEK_SET));
  CHECK(copy_file_range(in, NULL, out, NULL, 0, 0));
  CHECK(copy_file_range(in, NULL, out, NULL, 100, 0));
  show_at(in);
  show_at(out);
  CHECK(fchmod(out, 06755));
  CHECK(copy_file_range(in, NULL, out, NULL, 100, 0));
  show("out");
  CHECK(close(p[0]) | close(p[1]) | close(in) | close(out) | close(more) | close(folder) | close(only) | close(null));
  CHECK(close(path));
}

int main(void) {
  setvbuf(stdout, NULL, _IOFBF, 4096);
  for (unsigned i = 0; i < sizeof block; i++) block[i] = (char)(i * 7 % 251 + i / 4096);
  splice_errors();
  from_files();
  to_files();
  between_pipes();
  tees();
  vmsplices();
  sockets();
  sendfiles();
  others();
  waits();
  threads();
  copies();
  return 0;
}
