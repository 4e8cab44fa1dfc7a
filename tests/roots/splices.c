// SPDX-License-Identifier: Apache-2.0
// Numbered checks of splice(2) and tee(2), each effect and each error, printed with their results: moves_test.py runs
// the program natively on the host's Linux and here.
#include "moving.h"

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
  CHECK(splice(more, NULL, p[1], NULL, 10, 0));  // not for reading
  CHECK(splice(p[0], NULL, in, NULL, 10, 0));    // not for writing
  CHECK(splice(p[1], NULL, out, NULL, 10, 0));
  CHECK(splice(in, NULL, p[0], NULL, 10, 0));
  CHECK(splice(in, NULL, out, NULL, 10, 0));  // no pipe
  CHECK(splice(pair[0], NULL, pair[1], NULL, 10, 0));
  CHECK(splice(pair[0], NULL, out, NULL, 10, 0));
  CHECK(splice(folder, NULL, p[1], NULL, 10, 0));
  CHECK(splice(in, NULL, p[1], &at, 10, 0));
  CHECK(splice(p[0], &at, out, NULL, 10, 0));
  CHECK(splice(p[0], &at, q[1], NULL, 10, 0));
  CHECK(splice(p[0], NULL, q[1], &at, 10, 0));
  CHECK(splice(p[0], nowhere, q[1], nowhere, 10, 0));
  CHECK(splice(p[0], NULL, p[1], NULL, 10, 0));  // one pipe
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
  CHECK(splice(p[0], NULL, more, NULL, 10, 0));  // appends
  CHECK(splice(p[0], NULL, out, NULL, 10, 0));   // empty, O_NONBLOCK
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

static void waits(void) {
  int p[2], q[2];
  pipe2(p, 0);
  pipe2(q, 0);
  const int in = file("in", O_RDONLY, 1000), out = file("out", O_RDWR, 0);
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

int main(void) {
  begin();
  splice_errors();
  from_files();
  to_files();
  between_pipes();
  tees();
  waits();
  threads();
  return 0;
}
