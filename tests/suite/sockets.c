// SPDX-License-Identifier: Apache-2.0
// Checks of sockets, by their manual pages: socket(2), socketpair(2), bind(2), listen(2), accept(2), connect(2), getsockname(2), getpeername(2),
// send(2), recv(2), getsockopt(2), shutdown(2), unix(7). A lane has pairs of sockets alone.
#include "checking.h"

#include <sys/socket.h>
#include <sys/un.h>

static char block[1 << 18];
static struct sockaddr_un address = {AF_UNIX, "socket"};
static struct sockaddr_storage name;
static socklen_t length;

static void making(void) {
  int pair[2];
  GIVES(socket, "AF_UNIX, SOCK_STREAM", 0, opens(socket(AF_UNIX, SOCK_STREAM, 0)));
  GIVES(socket, "AF_UNIX, SOCK_DGRAM", 0, opens(socket(AF_UNIX, SOCK_DGRAM, 0)));
  FAILS(socket, "a family that is unknown", EAFNOSUPPORT, socket(77, SOCK_STREAM, 0));
  FAILS(socket, "a type that is unknown", EINVAL, socket(AF_UNIX, 15, 0));
  FAILS(socket, "a protocol that is unknown", EPROTONOSUPPORT, socket(AF_UNIX, SOCK_STREAM, 77));
  FAILS(socket, "a flag that is unknown", EINVAL, socket(AF_UNIX, SOCK_STREAM | 1 << 20, 0));
  GIVES(socketpair, "AF_UNIX, SOCK_STREAM", 0,
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair));
  GIVES(socketpair, "SOCK_CLOEXEC", FD_CLOEXEC, fcntl(pair[1], F_GETFD));
  GIVES(socketpair, "SOCK_NONBLOCK", O_NONBLOCK, fcntl(pair[1], F_GETFL) & O_NONBLOCK);
  close(pair[0]), close(pair[1]);
  FAILS(socketpair, "a family that is unknown", EAFNOSUPPORT, socketpair(77, SOCK_STREAM, 0, pair));
  FAILS(socketpair, "AF_INET", EOPNOTSUPP, socketpair(AF_INET, SOCK_STREAM, 0, pair));
  FAILS(socketpair, "a protocol that is unknown", EPROTONOSUPPORT, socketpair(AF_UNIX, SOCK_STREAM, 77, pair));
  FAILS(socketpair, "a type that is unknown", EINVAL, socketpair(AF_UNIX, 15, 0, pair));
  FAILS(socketpair, "to where nothing can be written", EFAULT, socketpair(AF_UNIX, SOCK_STREAM, 0, nowhere));
  setrlimit(RLIMIT_NOFILE, &(struct rlimit){4, 1024});
  FAILS(socketpair, "as many descriptors as there may be", EMFILE, socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
  dup(0);
  FAILS(socket, "as many descriptors as there may be", EMFILE, socket(AF_UNIX, SOCK_STREAM, 0));
  close(3);
  setrlimit(RLIMIT_NOFILE, &(struct rlimit){1024, 1024});
}

// Names, and those who listen at them.
static void naming(void) {
  const socklen_t size = sizeof address;
  unlink("socket");
  const int listener = socket(AF_UNIX, SOCK_STREAM, 0), client = socket(AF_UNIX, SOCK_STREAM, 0),
            datagrams = socket(AF_UNIX, SOCK_DGRAM, 0);
  const int alone = socket(AF_UNIX, SOCK_SEQPACKET, 0);
  FAILS(bind, "no descriptor", EBADF, bind(kNoDescriptor, (void*)&address, size));
  FAILS(bind, "what is no socket", ENOTSOCK, bind(0, (void*)&address, size));
  FAILS(listen, "no descriptor", EBADF, listen(kNoDescriptor, 1));
  FAILS(listen, "what is no socket", ENOTSOCK, listen(0, 1));
  FAILS(accept, "no descriptor", EBADF, accept(kNoDescriptor, NULL, NULL));
  FAILS(accept, "what is no socket", ENOTSOCK, accept(0, NULL, NULL));
  FAILS(accept4, "no descriptor", EBADF, accept4(kNoDescriptor, NULL, NULL, 0));
  FAILS(accept4, "what is no socket", ENOTSOCK, accept4(0, NULL, NULL, 0));
  FAILS(connect, "no descriptor", EBADF, connect(kNoDescriptor, (void*)&address, size));
  FAILS(connect, "what is no socket", ENOTSOCK, connect(0, (void*)&address, size));
  FAILS(connect, "a name that is not there", ENOENT, connect(client, (void*)&address, size));
  FAILS(bind, "a name that cannot be read", EFAULT, bind(listener, nowhere, size));
  FAILS(bind, "a size that is none", EINVAL, bind(listener, (void*)&address, 1));
#define BIND(path) bind(listener, (void*)&(struct sockaddr_un){AF_UNIX, path}, size)
  FAILS(bind, "a folder that is not there", ENOENT, BIND("none/x"));
  FAILS(bind, "a file as a folder in the path", ENOTDIR, BIND("program/x"));
  FAILS(bind, "in another's folder", EACCES, BIND("/mnt/theirs/x"));
  symlink("loop", "loop");
  FAILS(bind, "a link to itself in the path", ELOOP, BIND("loop/x"));
  FAILS(bind, "another family", EINVAL, bind(listener, (void*)&(struct sockaddr_un){AF_INET, "x"}, size));
  FAILS(connect, "a name that cannot be read", EFAULT, connect(client, nowhere, size));
  GIVES(bind, "a name", 0, bind(listener, (void*)&address, size));
  FAILS(bind, "a second name", EINVAL, bind(listener, (void*)&(struct sockaddr_un){AF_UNIX, "socket2"}, size));
  FAILS(bind, "a name that is taken", EADDRINUSE, bind(client, (void*)&address, size));
  FAILS(connect, "where nobody listens", ECONNREFUSED, connect(client, (void*)&address, size));
  FAILS(accept, "a socket that does not listen", EINVAL, accept(listener, NULL, NULL));
  FAILS(accept, "a socket for datagrams", EOPNOTSUPP, accept(datagrams, NULL, NULL));
  FAILS(listen, "a socket for datagrams", EOPNOTSUPP, listen(datagrams, 1));
  GIVES(listen, "a socket with a name", 0, listen(listener, 5));
  alarms(0);
  FAILS(accept, "a signal while it waits", EINTR, accept(listener, NULL, NULL));
  FAILS(accept4, "a signal while it waits", EINTR, accept4(listener, NULL, NULL, 0));
  no_alarms();
  FAILS(connect, "a socket of another type", EPROTOTYPE, connect(datagrams, (void*)&address, size));
  GIVES(connect, "where somebody listens", 0, connect(client, (void*)&address, size));
  FAILS(connect, "once more", EISCONN, connect(client, (void*)&address, size));
  length = sizeof name;
  const int server = accept4(listener, (void*)&name, &length, SOCK_CLOEXEC);
  GIVES(accept4, "who has connected", 1, server >= 0);
  GIVES(accept4, "SOCK_CLOEXEC", FD_CLOEXEC, fcntl(server, F_GETFD));
  GIVES(accept4, "who has connected has no name", 2, length);
  const int others = socket(AF_UNIX, SOCK_STREAM, 0);
  connect(others, (void*)&address, size);
  length = 16;
  FAILS(accept, "a name to where nothing can be written", EFAULT, accept(listener, nowhere, &length));
  FAILS(accept4, "a name to where nothing can be written", EFAULT,
        (close(others), connect(socket(AF_UNIX, SOCK_STREAM, 0), (void*)&address, size),
         accept4(listener, nowhere, &length, 0)));
  setrlimit(RLIMIT_NOFILE, &(struct rlimit){3, 1024});
  FAILS(accept, "as many descriptors as there may be", EMFILE, accept(listener, NULL, NULL));
  FAILS(accept4, "as many descriptors as there may be", EMFILE, accept4(listener, NULL, NULL, 0));
  setrlimit(RLIMIT_NOFILE, &(struct rlimit){1024, 1024});
  fcntl(listener, F_SETFL, O_NONBLOCK);
  FAILS(accept, "nobody has connected", EAGAIN, accept(listener, NULL, NULL));
  FAILS(accept4, "nobody has connected", EAGAIN, accept4(listener, NULL, NULL, 0));
  FAILS(accept4, "a flag that is unknown", EINVAL, accept4(listener, NULL, NULL, 1));
  GIVES(sendto, "to the other end", 3, send(client, "abc", 3, 0));
  GIVES(recvfrom, "from the other end", 3, recv(server, block, 10, 0));
  FAILS(sendto, "without a connection", ENOTCONN, send(listener, "abc", 3, 0));
  FAILS(recvfrom, "without a connection", EINVAL, recv(listener, block, 3, 0));
  FAILS(getpeername, "without a connection", ENOTCONN,
        (length = sizeof name, getpeername(listener, (void*)&name, &length)));
  FAILS(shutdown, "without a connection", ENOTCONN, shutdown(alone, SHUT_RDWR));
  FAILS(sendto, "datagrams without an address", ENOTCONN, send(datagrams, "abc", 3, 0));
  FAILS(sendmsg, "datagrams without an address", ENOTCONN, sendmsg(datagrams, &(struct msghdr){0}, 0));
  close(listener), close(client), close(server), close(datagrams), close(alone);
}

static void moving(int type, int number_of_type) {
  int pair[2];
  struct iovec parts[2] = {{"abc", 3}, {"defg", 4}}, room[2] = {{block, 2}, {block + 100, 50}}, bad = {nowhere, 4};
  struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
  socketpair(AF_UNIX, type | SOCK_NONBLOCK, 0, pair);
#define ABOUT(text) \
  (number_of_type == 0 ? "a stream: " text : number_of_type == 1 ? "datagrams: " text : "packets: " text)
  FAILS(recvfrom, ABOUT("nothing is there"), EAGAIN, recv(pair[0], block, 10, 0));
  FAILS(recvmsg, ABOUT("nothing is there"), EAGAIN,
        recvmsg(pair[0], &(struct msghdr){.msg_iov = room, .msg_iovlen = 1}, 0));
  GIVES(sendto, ABOUT("bytes"), 6, send(pair[0], "012345", 6, 0));
  GIVES(sendto, ABOUT("more bytes"), 2, send(pair[0], "67", 2, 0));
  GIVES(recvfrom, ABOUT("MSG_PEEK"), 4, recv(pair[1], block, 4, MSG_PEEK));
  GIVES(recvfrom, ABOUT("MSG_PEEK leaves them"), 4, recv(pair[1], block, 4, 0));
  GIVES(recvfrom, ABOUT("what is cut off"), type == SOCK_STREAM ? 4 : 2, recv(pair[1], block, 100, 0));
  GIVES(recvfrom, ABOUT("the bytes"), 0, type == SOCK_STREAM ? memcmp(block, "4567", 4) : memcmp(block, "67", 2));
  GIVES(sendmsg, ABOUT("several buffers"), 7, sendmsg(pair[0], &message, 0));
  message.msg_iov = room, message.msg_iovlen = 2;
  GIVES(recvmsg, ABOUT("several buffers"), 7, recvmsg(pair[1], &message, 0));
  GIVES(recvmsg, ABOUT("the bytes"), 0, memcmp(block, "ab", 2) | memcmp(block + 100, "cdefg", 5));
  GIVES(recvmsg, ABOUT("no flags"), 0, message.msg_flags);
  send(pair[0], "0123456789", 10, 0);
  message.msg_iovlen = 1;
  GIVES(recvmsg, ABOUT("too little room"), 2, recvmsg(pair[1], &message, 0));
  GIVES(recvmsg, ABOUT("MSG_TRUNC"), type == SOCK_STREAM ? 0 : MSG_TRUNC, message.msg_flags & MSG_TRUNC);
  while (recv(pair[1], block, 100, 0) > 0) {
  }
  if (type != SOCK_STREAM) {
    send(pair[0], "0123456789", 10, 0);
    GIVES(recvfrom, ABOUT("MSG_TRUNC has the true length"), 10, recv(pair[1], block, 3, MSG_TRUNC));
    FAILS(sendto, ABOUT("more than a message can be"), EMSGSIZE, send(pair[0], block, sizeof block, 0));
    FAILS(sendmsg, ABOUT("more than a message can be"), EMSGSIZE,
          sendmsg(pair[0], &(struct msghdr){.msg_iov = &(struct iovec){block, sizeof block}, .msg_iovlen = 1}, 0));
  }
  FAILS(sendto, ABOUT("from where nothing can be read"), EFAULT, send(pair[0], nowhere, 4, 0));
  FAILS(sendmsg, ABOUT("a message that cannot be read"), EFAULT, sendmsg(pair[0], nowhere, 0));
  FAILS(sendmsg, ABOUT("bytes that cannot be read"), EFAULT,
        sendmsg(pair[0], &(struct msghdr){.msg_iov = &bad, .msg_iovlen = 1}, 0));
  FAILS(sendmsg, ABOUT("more than 1024 buffers"), EMSGSIZE,
        sendmsg(pair[0], &(struct msghdr){.msg_iov = parts, .msg_iovlen = 1025}, 0));
  FAILS(recvmsg, ABOUT("a message that cannot be read"), EFAULT, recvmsg(pair[1], nowhere, 0));
  send(pair[0], "x", 1, 0);
  FAILS(recvfrom, ABOUT("to where nothing can be written"), EFAULT, recv(pair[1], nowhere, 4, 0));
  while (recv(pair[1], block, 100, 0) > 0) {
  }
  if (type != SOCK_STREAM) FAILS(sendto, ABOUT("MSG_OOB"), EOPNOTSUPP, send(pair[0], "x", 1, MSG_OOB));
  while (send(pair[0], block, 1000, 0) > 0) {
  }
  FAILS(sendto, ABOUT("full"), EAGAIN, send(pair[0], block, 1000, 0));
  FAILS(sendmsg, ABOUT("full"), EAGAIN,
        sendmsg(pair[0], &(struct msghdr){.msg_iov = &(struct iovec){block, 1000}, .msg_iovlen = 1}, 0));
  fcntl(pair[0], F_SETFL, 0);
  alarms(0);
  FAILS(sendto, ABOUT("full, a signal while it waits"), EINTR, send(pair[0], block, 1000, 0));
  FAILS(sendmsg, ABOUT("full, a signal while it waits"), EINTR,
        sendmsg(pair[0], &(struct msghdr){.msg_iov = &(struct iovec){block, 1000}, .msg_iovlen = 1}, 0));
  no_alarms();
  while (recv(pair[1], block, 1000, 0) > 0) {
  }
  alarms(0);
  FAILS(recvfrom, ABOUT("a signal while it waits"), EINTR, recv(pair[0], block, 1, 0));
  FAILS(recvmsg, ABOUT("a signal while it waits"), EINTR,
        recvmsg(pair[0], &(struct msghdr){.msg_iov = room, .msg_iovlen = 1}, 0));
  no_alarms();
  FAILS(shutdown, ABOUT("what is no direction"), EINVAL, shutdown(pair[0], 3));
  GIVES(shutdown, ABOUT("SHUT_WR"), 0, shutdown(pair[0], SHUT_WR));
  on_signal(SIGPIPE, 0);
  FAILS(sendto, ABOUT("after SHUT_WR"), EPIPE, send(pair[0], "x", 1, 0));
  GIVES(sendto, ABOUT("after SHUT_WR there is a signal, where there are connections"), type != SOCK_DGRAM, runs);
  runs = 0;
  FAILS(sendto, ABOUT("MSG_NOSIGNAL"), EPIPE, send(pair[0], "x", 1, MSG_NOSIGNAL));
  GIVES(sendto, ABOUT("MSG_NOSIGNAL has no signal"), 0, runs);
  FAILS(sendmsg, ABOUT("after SHUT_WR"), EPIPE,
        sendmsg(pair[0], &(struct msghdr){.msg_iov = room, .msg_iovlen = 1}, MSG_NOSIGNAL));
  if (type != SOCK_DGRAM) GIVES(recvfrom, ABOUT("the end"), 0, recv(pair[1], block, 1, 0));
  GIVES(sendto, ABOUT("the other direction is open"), 1, send(pair[1], "x", 1, 0));
  GIVES(recvfrom, ABOUT("from the other direction"), 1, recv(pair[0], block, 1, 0));
  close(pair[0]), close(pair[1]);
}

static void options(void) {
  int pair[2], value = 0;
  struct timeval time = {1, 0};
  socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
  length = sizeof value;
  GIVES(getsockopt, "SO_TYPE", SOCK_STREAM,
        getsockopt(pair[0], SOL_SOCKET, SO_TYPE, &value, &length) == 0 ? value : -1);
  GIVES(getsockopt, "its size", 4, length);
  GIVES(getsockopt, "SO_DOMAIN", AF_UNIX,
        getsockopt(pair[0], SOL_SOCKET, SO_DOMAIN, &value, &length) == 0 ? value : -1);
  GIVES(getsockopt, "SO_ERROR", 0, getsockopt(pair[0], SOL_SOCKET, SO_ERROR, &value, &length) == 0 ? value : -1);
  GIVES(getsockopt, "SO_ACCEPTCONN", 0,
        getsockopt(pair[0], SOL_SOCKET, SO_ACCEPTCONN, &value, &length) == 0 ? value : -1);
  FAILS(getsockopt, "an option that is unknown", ENOPROTOOPT, getsockopt(pair[0], SOL_SOCKET, 9999, &value, &length));
  FAILS(getsockopt, "no descriptor", EBADF, getsockopt(kNoDescriptor, SOL_SOCKET, SO_TYPE, &value, &length));
  FAILS(getsockopt, "what is no socket", ENOTSOCK, getsockopt(0, SOL_SOCKET, SO_TYPE, &value, &length));
  FAILS(getsockopt, "to where nothing can be written", EFAULT,
        getsockopt(pair[0], SOL_SOCKET, SO_TYPE, nowhere, &length));
  length = (socklen_t)-1;
  FAILS(getsockopt, "a negative size", EINVAL, getsockopt(pair[0], SOL_SOCKET, SO_TYPE, &value, &length));
  GIVES(setsockopt, "SO_KEEPALIVE", 0, setsockopt(pair[0], SOL_SOCKET, SO_KEEPALIVE, &(int){0}, sizeof(int)));
  GIVES(setsockopt, "SO_RCVTIMEO", 0, setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time));
  FAILS(setsockopt, "an option that is unknown", ENOPROTOOPT, setsockopt(pair[0], SOL_SOCKET, 9999, &value, 4));
  FAILS(setsockopt, "a level that is unknown", EOPNOTSUPP, setsockopt(pair[0], 7777, SO_KEEPALIVE, &value, 4));
  FAILS(setsockopt, "no descriptor", EBADF, setsockopt(kNoDescriptor, SOL_SOCKET, SO_KEEPALIVE, &value, 4));
  FAILS(setsockopt, "what is no socket", ENOTSOCK, setsockopt(0, SOL_SOCKET, SO_KEEPALIVE, &value, 4));
  FAILS(setsockopt, "a value that cannot be read", EFAULT, setsockopt(pair[0], SOL_SOCKET, SO_KEEPALIVE, nowhere, 4));
  FAILS(setsockopt, "a value that is too small", EINVAL, setsockopt(pair[0], SOL_SOCKET, SO_KEEPALIVE, &value, 1));
  length = sizeof name;
  GIVES(getsockname, "of a pair", 0, getsockname(pair[0], (void*)&name, &length));
  GIVES(getsockname, "its family", AF_UNIX, name.ss_family);
  GIVES(getsockname, "its size", 2, length);
  length = 1;
  GIVES(getsockname, "too little room has the true size", 2,
        getsockname(pair[0], (void*)&name, &length) == 0 ? (long)length : -1);
  FAILS(getsockname, "no descriptor", EBADF, getsockname(kNoDescriptor, (void*)&name, &length));
  FAILS(getsockname, "what is no socket", ENOTSOCK, getsockname(0, (void*)&name, &length));
  FAILS(getsockname, "to where nothing can be written", EFAULT, (length = 16, getsockname(pair[0], nowhere, &length)));
  length = (socklen_t)-1;
  FAILS(getsockname, "a negative size", EINVAL, getsockname(pair[0], (void*)&name, &length));
  length = sizeof name;
  GIVES(getpeername, "of a pair", 0, getpeername(pair[0], (void*)&name, &length));
  GIVES(getpeername, "its size", 2, length);
  FAILS(getpeername, "no descriptor", EBADF, getpeername(kNoDescriptor, (void*)&name, &length));
  FAILS(getpeername, "what is no socket", ENOTSOCK, getpeername(0, (void*)&name, &length));
  FAILS(getpeername, "to where nothing can be written", EFAULT, (length = 16, getpeername(pair[0], nowhere, &length)));
  length = (socklen_t)-1;
  FAILS(getpeername, "a negative size", EINVAL, getpeername(pair[0], (void*)&name, &length));
  FAILS(sendto, "no descriptor", EBADF, send(kNoDescriptor, "x", 1, 0));
  FAILS(sendto, "what is no socket", ENOTSOCK, send(0, "x", 1, 0));
  FAILS(sendto, "an address although there is a connection", EISCONN,
        sendto(pair[0], "x", 1, 0, (void*)&address, sizeof address));
  FAILS(sendmsg, "an address although there is a connection", EISCONN,
        sendmsg(pair[0], &(struct msghdr){.msg_name = &address, .msg_namelen = sizeof address}, 0));
  FAILS(recvfrom, "no descriptor", EBADF, recv(kNoDescriptor, block, 1, 0));
  FAILS(recvfrom, "what is no socket", ENOTSOCK, recv(0, block, 1, 0));
  FAILS(sendmsg, "no descriptor", EBADF, sendmsg(kNoDescriptor, &(struct msghdr){0}, 0));
  FAILS(sendmsg, "what is no socket", ENOTSOCK, sendmsg(0, &(struct msghdr){0}, 0));
  FAILS(recvmsg, "no descriptor", EBADF, recvmsg(kNoDescriptor, &(struct msghdr){0}, 0));
  FAILS(recvmsg, "what is no socket", ENOTSOCK, recvmsg(0, &(struct msghdr){0}, 0));

  int several[2];
  socketpair(AF_UNIX, SOCK_SEQPACKET, 0, several);
  char first[8] = "ab", second[8] = "cde";
  struct iovec one = {first, 2}, other = {second, 3};
  struct mmsghdr messages[2] = {{{.msg_iov = &one, .msg_iovlen = 1}, 0}, {{.msg_iov = &other, .msg_iovlen = 1}, 0}};
  GIVES(sendmmsg, "several messages", 2, sendmmsg(several[0], messages, 2, 0));
  GIVES(sendmmsg, "the bytes of each", 203, messages[0].msg_len * 100 + messages[1].msg_len);
  one.iov_len = other.iov_len = sizeof first;
  messages[0].msg_len = messages[1].msg_len = 0;
  GIVES(recvmmsg, "several messages", 2, recvmmsg(several[1], messages, 2, 0, NULL));
  GIVES(recvmmsg, "the bytes of each", 203, messages[0].msg_len * 100 + messages[1].msg_len);
  FAILS(recvmmsg, "nothing is there", EAGAIN, recvmmsg(several[1], messages, 2, MSG_DONTWAIT, NULL));
  FAILS(recvmmsg, "a time that is none", EINVAL,
        recvmmsg(several[1], messages, 2, MSG_DONTWAIT, &(struct timespec){0, -1}));
  FAILS(sendmmsg, "messages that cannot be read", EFAULT, sendmmsg(several[0], nowhere, 1, 0));
  FAILS(sendmmsg, "no descriptor", EBADF, sendmmsg(kNoDescriptor, messages, 1, 0));
  FAILS(sendmmsg, "what is no socket", ENOTSOCK, sendmmsg(0, messages, 1, 0));
  FAILS(recvmmsg, "no descriptor", EBADF, recvmmsg(kNoDescriptor, messages, 1, 0, NULL));
  FAILS(recvmmsg, "what is no socket", ENOTSOCK, recvmmsg(0, messages, 1, 0, NULL));
  close(several[0]);
  close(several[1]);
  FAILS(shutdown, "no descriptor", EBADF, shutdown(kNoDescriptor, SHUT_WR));
  FAILS(shutdown, "what is no socket", ENOTSOCK, shutdown(0, SHUT_WR));
  FAILS(lseek, "a socket", ESPIPE, lseek(pair[0], 0, SEEK_SET));
  struct stat status;
  GIVES(fstat, "a socket", S_IFSOCK, fstat(pair[0], &status) == 0 ? status.st_mode & S_IFMT : 0);
  close(pair[0]), close(pair[1]);
}

int main(void) {
  making();
  moving(SOCK_STREAM, 0);
  moving(SOCK_DGRAM, 1);
  moving(SOCK_SEQPACKET, 2);
  options();
  naming();
  return 0;
}
