// SPDX-License-Identifier: Apache-2.0
// Checks of pipes.c by the clauses of socketpair(2), send(2), recv(2), shutdown(2), unix(7).
#pragma once

#include "printing.h"

static void pairs_of(int type) {
  int fds[2], type_is = 0;
  socklen_t size = sizeof type_is;
  CHECK(socketpair(AF_UNIX, type, 0, fds));
  struct stat status;
  CHECK(fstat(fds[0], &status));
  SHOW(S_ISSOCK(status.st_mode));
  CHECK(fcntl(fds[0], F_GETFL) == O_RDWR);
  CHECK(lseek(fds[0], 0, SEEK_SET));
  CHECK(getsockopt(fds[0], SOL_SOCKET, SO_TYPE, &type_is, &size));
  SHOW(type_is == type);
  SHOW(size);
  CHECK(getsockopt(fds[0], SOL_SOCKET, 9999, &type_is, &size));
  CHECK(getsockopt(1, SOL_SOCKET, SO_TYPE, &type_is, &size) < 0);
  SHOW(events_of(fds[0], POLLIN | POLLOUT | POLLRDHUP));
  CHECK(recv(fds[0], block, 10, MSG_DONTWAIT));
  CHECK(write(fds[0], "abcdef", 6));
  CHECK(send(fds[0], "gh", 2, 0));
  CHECK(recv(fds[1], block, 4, MSG_PEEK));
  SHOW(memcmp(block, "abcd", 4));
  SHOW(events_of(fds[1], POLLIN | POLLOUT | POLLRDHUP));
  CHECK(read(fds[1], block, 4));
  CHECK(recv(fds[1], block, 10, 0));
  CHECK(recv(fds[1], block, 10, MSG_DONTWAIT));
  CHECK(send(fds[1], nowhere, 5, 0));
  CHECK(write(fds[1], "xyz", 3));
  CHECK(recv(fds[0], nowhere, 3, 0));
  CHECK(recv(fds[0], block, 3, MSG_DONTWAIT));
  struct iovec pieces[2] = {{"one", 3}, {"two", 3}}, into[2] = {{block, 2}, {block + 100, 50}};
  struct msghdr message;
  memset(&message, 0, sizeof message);
  message.msg_iov = pieces;
  message.msg_iovlen = 2;
  CHECK(sendmsg(fds[0], &message, 0));
  CHECK(sendmsg(fds[0], nowhere, 0));
  message.msg_iov = into;
  CHECK(recvmsg(fds[1], &message, 0));
  SHOW(message.msg_flags);
  SHOW(message.msg_controllen);
  SHOW(memcmp(block, "on", 2) | memcmp(block + 100, "etwo", 4));
  CHECK(write(fds[0], "abcdef", 6));
  message.msg_iovlen = 1;
  CHECK(recvmsg(fds[1], &message, 0));
  SHOW(message.msg_flags);
  CHECK(recv(fds[1], block, 10, MSG_DONTWAIT));
  struct mmsghdr several[3];
  struct iovec texts[3] = {{"first", 5}, {"second", 6}, {"third", 5}},
               places[3] = {{block, 4}, {block + 9, 20}, {block + 40, 20}};
  memset(several, 0, sizeof several);
  for (int i = 0; i < 3; i++) {
    several[i].msg_hdr.msg_iov = &texts[i];
    several[i].msg_hdr.msg_iovlen = 1;
  }
  CHECK(sendmmsg(fds[0], several, 3, 0));
  SHOW(several[0].msg_len * 100 + several[1].msg_len * 10 + several[2].msg_len);
  CHECK(sendmmsg(fds[0], several, 0, 0));
  CHECK(sendmmsg(fds[0], nowhere, 1, 0));
  CHECK(sendmmsg(1, several, 1, 0) < 0);
  for (int i = 0; i < 3; i++) several[i].msg_hdr.msg_iov = &places[i];
  memset(block, 0, 100);
  CHECK(recvmmsg(fds[1], several, 3, MSG_WAITFORONE, NULL));
  SHOW(several[0].msg_len * 10 + several[1].msg_len);
  SHOW(several[0].msg_hdr.msg_flags);
  SHOW(memcmp(block, "firs", 4));
  SHOW(block[9]);
  SHOW(block[40]);
  CHECK(recvmmsg(fds[1], several, 3, MSG_DONTWAIT, NULL));
  CHECK(recvmmsg(fds[1], several, 0, 0, NULL));
  struct timespec wrong = {0, 2000000000};
  CHECK(recvmmsg(fds[1], several, 1, MSG_DONTWAIT, &wrong));
  CHECK(recvmmsg(fds[1], several, 1, MSG_DONTWAIT, nowhere));
  for (int i = 0; i < 3; i++) several[i].msg_hdr.msg_iov = i == 1 ? nowhere : &texts[i];
  CHECK(sendmmsg(fds[0], several, 3, 0));
  CHECK(recv(fds[1], block, 100, MSG_DONTWAIT));
  CHECK(recv(fds[1], block, 100, MSG_DONTWAIT));
  int ready_bytes;
  CHECK(write(fds[0], "abcdef", 6));
  CHECK(write(fds[0], "abc", 3));
  CHECK(ioctl(fds[1], FIONREAD, &ready_bytes));
  SHOW(ready_bytes);
  CHECK(read(fds[1], block, 100));
  CHECK(recv(fds[1], block, 100, MSG_DONTWAIT));
  CHECK(shutdown(fds[0], 3));
  CHECK(shutdown(1, SHUT_WR) < 0);
  struct sockaddr_storage address;
  socklen_t length = sizeof address;
  CHECK(getsockname(fds[0], (struct sockaddr*)&address, &length));
  SHOW(length);
  SHOW(address.ss_family);
  length = sizeof address;
  CHECK(getpeername(fds[0], (struct sockaddr*)&address, &length));
  SHOW(length);
  CHECK(listen(fds[0], 1) < 0);
  // Half closed.
  on_signal(SIGPIPE, 0);
  CHECK(shutdown(fds[0], SHUT_WR));
  CHECK(write(fds[0], "x", 1));
  SHOW(runs);
  CHECK(send(fds[0], "x", 1, MSG_NOSIGNAL));
  SHOW(runs);
  if (type != SOCK_DGRAM) {
    CHECK(read(fds[1], block, 10));
    SHOW(events_of(fds[1], POLLIN | POLLOUT | POLLRDHUP));
    SHOW(events_of(fds[0], POLLIN | POLLOUT | POLLRDHUP));
  }
  CHECK(write(fds[1], "back", 4));
  CHECK(read(fds[0], block, 10));
  CHECK(close(fds[0]));
  runs = 0;
  CHECK(write(fds[1], "x", 1));
  SHOW(runs);
  if (type != SOCK_DGRAM) SHOW(events_of(fds[1], POLLIN | POLLOUT | POLLRDHUP));
  CHECK(close(fds[1]));
  // Bytes that are left when a socket ends.
  CHECK(socketpair(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds));
  CHECK(fcntl(fds[0], F_GETFD));
  CHECK(fcntl(fds[0], F_GETFL) == (O_RDWR | O_NONBLOCK));
  CHECK(write(fds[0], "left", 4));
  CHECK(write(fds[1], "other", 5));
  CHECK(close(fds[0]));
  CHECK(read(fds[1], block, 10));
  CHECK(read(fds[1], block, 10));
  CHECK(read(fds[1], block, 10));
  CHECK(close(fds[1]));
  signal(SIGPIPE, SIG_DFL);
}

static void sockets(void) {
  int fds[2];
  CHECK(socketpair(AF_UNIX, 99, 0, fds));
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 77, fds));
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, nowhere));
  CHECK(send(1, block, 1, 0) < 0);
  CHECK(send(99, block, 1, 0));
  CHECK(recv(99, block, 1, 0));
  CHECK(shutdown(99, 0));
  pairs_of(SOCK_STREAM);
  pairs_of(SOCK_DGRAM);
  pairs_of(SOCK_SEQPACKET);
  // Messages without bytes.
  CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, fds));
  CHECK(send(fds[0], "", 0, 0));
  CHECK(send(fds[0], block, 20000, 0));
  CHECK(send(fds[0], "abc", 3, 0));
  CHECK(recv(fds[1], block, 10, 0));
  CHECK(recv(fds[1], block, 30000, 0));
  CHECK(recv(fds[1], block, 10, 0));
  CHECK(recv(fds[1], block, 10, 0));
  CHECK(send(fds[0], block, 1 << 20, 0));
  close(fds[0]);
  close(fds[1]);
}
