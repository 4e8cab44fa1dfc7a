// SPDX-License-Identifier: Apache-2.0
// Checks of calls on the descriptors of files, by their manual pages: open(2), openat2(2), close(2), read(2), write(2), readv(2), pread(2),
// lseek(2), dup(2), fcntl(2), close_range(2), truncate(2), fallocate(2), fsync(2), sync_file_range(2), posix_fadvise(2), readahead(2), flock(2).
#include "checking.h"

#include <linux/openat2.h>
#include <sys/epoll.h>
#include <sys/file.h>

static char text[8192], long_name[300], long_path[5000];
static int make(const char* path, const char* content) {
  const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
  if (write(fd, content, strlen(content)) < 0) return -1;
  lseek(fd, 0, SEEK_SET);
  return fd;
}
static mode_t mode_of(const char* path) {
  struct stat status;
  return lstat(path, &status) == 0 ? status.st_mode & 07777 : 0;
}
static long size_of(int fd) {
  struct stat status;
  return fstat(fd, &status) == 0 ? (long)status.st_size : -1;
}

/// Open file description locks, which two openings of one process keep from each other.
static void locks_of_openings(int file) {
  const int other = open("file", O_RDWR);
  struct flock lock = {.l_type = F_WRLCK, .l_start = 2, .l_len = 3};
  GIVES(fcntl, "F_OFD_SETLK", 0, fcntl(file, F_OFD_SETLK, &lock));
  GIVES(fcntl, "F_OFD_SETLK of what the opening has", 0, fcntl(file, F_OFD_SETLK, &lock));
  FAILS(fcntl, "F_OFD_SETLK of what another opening has", EAGAIN, fcntl(other, F_OFD_SETLK, &lock));
  FAILS(fcntl, "F_SETLK of what an opening has", EAGAIN, fcntl(file, F_SETLK, &lock));
  lock.l_start = 0, lock.l_len = 0;
  GIVES(fcntl, "F_OFD_GETLK", 0, fcntl(other, F_OFD_GETLK, &lock));
  GIVES(fcntl, "F_OFD_GETLK tells the place", 23, lock.l_start * 10 + lock.l_len);
  GIVES(fcntl, "F_OFD_GETLK tells no process", -1, lock.l_pid);
  lock = (struct flock){.l_type = F_RDLCK, .l_len = 1, .l_pid = 7};
  FAILS(fcntl, "F_OFD_SETLK with a process", EINVAL, fcntl(other, F_OFD_SETLK, &lock));
  lock = (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_END};
  GIVES(fcntl, "F_OFD_SETLK from the end of the file", 0, fcntl(other, F_OFD_SETLK, &lock));
  lseek(other, 4, SEEK_SET);
  lock = (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_CUR, .l_start = 1, .l_len = -1};
  FAILS(fcntl, "F_OFD_SETLK in front of the position", EAGAIN, fcntl(other, F_OFD_SETLK, &lock));
  GIVES(flock, "does not see locks of fcntl()", 0, flock(other, LOCK_EX | LOCK_NB));
  close(other);
  lock = (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_END};
  GIVES(fcntl, "F_OFD_SETLK of what an opening that has ended had", 0, fcntl(file, F_OFD_SETLK, &lock));
  lock = (struct flock){.l_type = F_UNLCK};
  GIVES(fcntl, "F_OFD_SETLK lets go", 0, fcntl(file, F_OFD_SETLK, &lock));
}

static void opening(void) {
  const int file = make("file", "0123456789"), folder = open(".", O_RDONLY | O_DIRECTORY);
  symlink("file", "link");
  symlink("loop", "loop");
  symlink("nothing", "dangling");
  mkfifo("fifo", 0644);
  mkdir("folder", 0755);
  FAILS(openat, "a file that is not there", ENOENT, openat(AT_FDCWD, "none", O_RDONLY));
  FAILS(openat, "no path", ENOENT, openat(AT_FDCWD, "", O_RDONLY));
  FAILS(openat, "a folder that is not there", ENOENT, openat(AT_FDCWD, "none/file", O_RDWR | O_CREAT, 0644));
  FAILS(openat, "a link to nothing", ENOENT, openat(AT_FDCWD, "dangling", O_RDONLY));
  FAILS(openat, "no descriptor of a folder", EBADF, openat(kNoDescriptor, "file", O_RDONLY));
  GIVES(openat, "with an absolute path the descriptor does not matter", 0,
        opens(openat(kNoDescriptor, "/mnt/own/file", O_RDONLY)));
  GIVES(openat, "below the descriptor of a folder", 0, opens(openat(folder, "file", O_RDONLY)));
  FAILS(openat, "below the descriptor of a file", ENOTDIR, openat(file, "file", O_RDONLY));
  FAILS(openat, "a file as a folder in the path", ENOTDIR, openat(AT_FDCWD, "file/x", O_RDONLY));
  FAILS(openat, "O_DIRECTORY of a file", ENOTDIR, openat(AT_FDCWD, "file", O_RDONLY | O_DIRECTORY));
  FAILS(openat, "a folder for writing", EISDIR, openat(AT_FDCWD, "folder", O_WRONLY));
  FAILS(openat, "O_CREAT of a folder", EISDIR, openat(AT_FDCWD, "folder", O_RDONLY | O_CREAT, 0644));
  FAILS(openat, "O_EXCL of a file that is there", EEXIST, openat(AT_FDCWD, "file", O_RDWR | O_CREAT | O_EXCL, 0644));
  FAILS(openat, "O_EXCL of a link to nothing", EEXIST, openat(AT_FDCWD, "dangling", O_RDWR | O_CREAT | O_EXCL, 0644));
  FAILS(openat, "another's file for writing", EACCES, openat(AT_FDCWD, "/mnt/theirs/readable", O_WRONLY));
  FAILS(openat, "another's file that only they may read", EACCES, openat(AT_FDCWD, "/mnt/theirs/secret", O_RDONLY));
  FAILS(openat, "in a folder that only they may search", EACCES, openat(AT_FDCWD, "/mnt/theirs/closed/x", O_RDONLY));
  FAILS(openat, "a new file in another's folder", EACCES, openat(AT_FDCWD, "/mnt/theirs/new", O_RDWR | O_CREAT, 0644));
  FAILS(openat, "O_TRUNC of another's file", EACCES, openat(AT_FDCWD, "/mnt/theirs/readable", O_RDONLY | O_TRUNC));
  FAILS(openat, "O_NOATIME of another's file", EPERM, openat(AT_FDCWD, "/mnt/theirs/readable", O_RDONLY | O_NOATIME));
  FAILS(openat, "a link to itself", ELOOP, openat(AT_FDCWD, "loop", O_RDONLY));
  FAILS(openat, "O_NOFOLLOW of a link", ELOOP, openat(AT_FDCWD, "link", O_RDONLY | O_NOFOLLOW));
  FAILS(openat, "a name of 256 bytes", ENAMETOOLONG, openat(AT_FDCWD, long_name, O_RDONLY));
  FAILS(openat, "a path of 4096 bytes", ENAMETOOLONG, openat(AT_FDCWD, long_path, O_RDONLY));
  FAILS(openat, "a path that cannot be read", EFAULT, openat(AT_FDCWD, nowhere, O_RDONLY));
  FAILS(openat, "a FIFO without a reader", ENXIO, openat(AT_FDCWD, "fifo", O_WRONLY | O_NONBLOCK));
  GIVES(openat, "a FIFO without a writer", 0, opens(openat(AT_FDCWD, "fifo", O_RDONLY | O_NONBLOCK)));
  alarms(0);
  FAILS(openat, "a signal while it waits for a reader of a FIFO", EINTR, openat(AT_FDCWD, "fifo", O_WRONLY));
  no_alarms();
  FAILS(openat, "the program that runs, for writing", ETXTBSY, openat(AT_FDCWD, "program", O_WRONLY));
  FAILS(openat, "O_TMPFILE that is not for writing", EINVAL, openat(AT_FDCWD, ".", O_TMPFILE | O_RDONLY, 0600));
  GIVES(openat, "O_TMPFILE makes a file without a name", 0, opens(openat(AT_FDCWD, ".", O_TMPFILE | O_RDWR, 0600)));
  const struct rlimit few = {10, 1024};
  setrlimit(RLIMIT_NOFILE, &few);
  int last = 0, made[20], count = 0;
  while (count < 20 && (last = openat(AT_FDCWD, "file", O_RDONLY)) >= 0) made[count++] = last;
  GIVES(openat, "the highest descriptor is below the limit", 9, count ? made[count - 1] : -1);
  FAILS(openat, "as many descriptors as there may be", EMFILE, openat(AT_FDCWD, "file", O_RDONLY));
  FAILS(dup, "as many descriptors as there may be", EMFILE, dup(file));
  FAILS(dup3, "a number at the limit", EBADF, dup3(file, 10, 0));
  FAILS(openat2, "as many descriptors as there may be", EMFILE,
        syscall(SYS_openat2, AT_FDCWD, "file", &(struct open_how){O_RDONLY}, sizeof(struct open_how)));
  FAILS(fcntl, "F_DUPFD at the limit", EINVAL, fcntl(file, F_DUPFD, 10));
  FAILS(fcntl, "F_DUPFD with as many descriptors as there may be", EMFILE, fcntl(file, F_DUPFD, 5));
  FAILS(memfd_create, "as many descriptors as there may be", EMFILE, syscall(SYS_memfd_create, "x", 0));
  while (count > 0) close(made[--count]);
  setrlimit(RLIMIT_NOFILE, &(struct rlimit){1024, 1024});
  const int lowest = open("file", O_RDONLY), second = open("file", O_RDONLY);
  GIVES(openat, "the next descriptor", 1, second - lowest);
  close(lowest);
  GIVES(openat, "the lowest free descriptor", 0, open("file", O_RDONLY) - lowest);
  GIVES(openat, "without O_CLOEXEC", 0, fcntl(lowest, F_GETFD));
  close(lowest);
  GIVES(openat, "O_CLOEXEC", FD_CLOEXEC, fcntl(open("file", O_RDONLY | O_CLOEXEC), F_GETFD));
  close(lowest);
  close(second);
  umask(027);
  GIVES(openat, "a new file", 0, opens(openat(AT_FDCWD, "new", O_WRONLY | O_CREAT, 0666)));
  GIVES(openat, "its mode, less the mask", 0640, mode_of("new"));
  GIVES(openat, "a new file that may not be written is open for writing", 1,
        write(open("unwritable", O_WRONLY | O_CREAT, 0400), "x", 1));
  umask(022);
  int append = open("new", O_WRONLY | O_APPEND);
  write(append, "abc", 3);
  lseek(append, 0, SEEK_SET);
  write(append, "def", 3);
  GIVES(openat, "O_APPEND writes at the end", 6, size_of(append));
  GIVES(openat, "O_APPEND moves the offset to the end", 6, lseek(append, 0, SEEK_CUR));
  close(append);
  GIVES(openat, "O_TRUNC", 0, opens(openat(AT_FDCWD, "new", O_WRONLY | O_TRUNC)));
  append = open("new", O_RDONLY);
  GIVES(openat, "the size behind O_TRUNC", 0, size_of(append));
  close(append);
  const int path = openat(AT_FDCWD, "file", O_PATH);
  FAILS(read, "a descriptor of O_PATH", EBADF, read(path, text, 1));
  FAILS(fcntl, "F_SETFL of a descriptor of O_PATH", EBADF, fcntl(path, F_SETFL, 0));
  GIVES(openat, "O_PATH of a file that may not be read", 0, opens(openat(AT_FDCWD, "/mnt/theirs/secret", O_PATH)));
  GIVES(openat, "O_PATH and O_NOFOLLOW of a link", 0, opens(openat(AT_FDCWD, "link", O_PATH | O_NOFOLLOW)));
  close(path);
  // openat2
  struct open_how how = {O_RDONLY, 0, 0};
  struct {
    struct open_how how;
    uint64_t more;
  } longer = {how, 0};
#define OPENAT2(at, path, flags, mode, resolve, size) \
  (how = (struct open_how){flags, mode, resolve}, opens(syscall(SYS_openat2, at, path, &how, size)))
  GIVES(openat2, "a file", 0, OPENAT2(AT_FDCWD, "file", O_RDONLY, 0, 0, sizeof how));
  FAILS(openat2, "a size that is too small", EINVAL, OPENAT2(AT_FDCWD, "file", O_RDONLY, 0, 0, 8));
  GIVES(openat2, "a longer structure of zeros", 0,
        opens(syscall(SYS_openat2, AT_FDCWD, "file", &longer, sizeof longer)));
  longer.more = 1;
  FAILS(openat2, "a longer structure with more in it", E2BIG,
        syscall(SYS_openat2, AT_FDCWD, "file", &longer, sizeof longer));
  FAILS(openat2, "a flag that is unknown", EINVAL, OPENAT2(AT_FDCWD, "file", 1ull << 40, 0, 0, sizeof how));
  FAILS(openat2, "a way to resolve that is unknown", EINVAL,
        OPENAT2(AT_FDCWD, "file", O_RDONLY, 0, 1 << 20, sizeof how));
  FAILS(openat2, "a mode without O_CREAT", EINVAL, OPENAT2(AT_FDCWD, "file", O_RDONLY, 0644, 0, sizeof how));
  FAILS(openat2, "a mode with more than 07777", EINVAL,
        OPENAT2(AT_FDCWD, "file", O_RDWR | O_CREAT, 010000, 0, sizeof how));
  FAILS(openat2, "RESOLVE_BENEATH and RESOLVE_IN_ROOT", EINVAL,
        OPENAT2(AT_FDCWD, "file", O_RDONLY, 0, RESOLVE_BENEATH | RESOLVE_IN_ROOT, sizeof how));
  FAILS(openat2, "RESOLVE_NO_SYMLINKS and a link", ELOOP,
        OPENAT2(AT_FDCWD, "link", O_RDONLY, 0, RESOLVE_NO_SYMLINKS, sizeof how));
  FAILS(openat2, "RESOLVE_BENEATH and a path that leaves", EXDEV,
        OPENAT2(AT_FDCWD, "../own/file", O_RDONLY, 0, RESOLVE_BENEATH, sizeof how));
  FAILS(openat2, "RESOLVE_BENEATH and an absolute path", EXDEV,
        OPENAT2(AT_FDCWD, "/mnt", O_RDONLY, 0, RESOLVE_BENEATH, sizeof how));
  GIVES(openat2, "RESOLVE_BENEATH and a path that stays", 0,
        OPENAT2(AT_FDCWD, "folder/../file", O_RDONLY, 0, RESOLVE_BENEATH, sizeof how));
  GIVES(openat2, "RESOLVE_IN_ROOT and an absolute path", 0,
        OPENAT2(folder, "/file", O_RDONLY, 0, RESOLVE_IN_ROOT, sizeof how));
  GIVES(openat2, "RESOLVE_IN_ROOT and a path that would leave", 0,
        OPENAT2(folder, "../../file", O_RDONLY, 0, RESOLVE_IN_ROOT, sizeof how));
  FAILS(openat2, "a structure that cannot be read", EFAULT,
        syscall(SYS_openat2, AT_FDCWD, "file", nowhere, sizeof how));
  FAILS(openat2, "no descriptor of a folder", EBADF, OPENAT2(kNoDescriptor, "file", O_RDONLY, 0, 0, sizeof how));
  FAILS(openat2, "a file as a folder in the path", ENOTDIR, OPENAT2(AT_FDCWD, "file/x", O_RDONLY, 0, 0, sizeof how));
  FAILS(openat2, "a folder for writing", EISDIR, OPENAT2(AT_FDCWD, "folder", O_WRONLY, 0, 0, sizeof how));
  FAILS(openat2, "O_EXCL of a file that is there", EEXIST,
        OPENAT2(AT_FDCWD, "file", O_RDWR | O_CREAT | O_EXCL, 0644, 0, sizeof how));
  FAILS(openat2, "another's file for writing", EACCES,
        OPENAT2(AT_FDCWD, "/mnt/theirs/readable", O_WRONLY, 0, 0, sizeof how));
  FAILS(openat2, "a name of 256 bytes", ENAMETOOLONG, OPENAT2(AT_FDCWD, long_name, O_RDONLY, 0, 0, sizeof how));
  FAILS(openat2, "a FIFO without a reader", ENXIO, OPENAT2(AT_FDCWD, "fifo", O_WRONLY | O_NONBLOCK, 0, 0, sizeof how));
  FAILS(openat2, "O_NOATIME of another's file", EPERM,
        OPENAT2(AT_FDCWD, "/mnt/theirs/readable", O_RDONLY | O_NOATIME, 0, 0, sizeof how));
  FAILS(openat2, "the program that runs, for writing", ETXTBSY,
        OPENAT2(AT_FDCWD, "program", O_WRONLY, 0, 0, sizeof how));
  FAILS(openat2, "a file that is not there", ENOENT, OPENAT2(AT_FDCWD, "none", O_RDONLY, 0, 0, sizeof how));
  close(file);
  close(folder);
}

static void reading(void) {
  const int file = make("file", "0123456789"), writable = open("file", O_WRONLY), folder = open(".", O_RDONLY);
  struct iovec parts[3] = {{text, 3}, {text + 100, 0}, {text + 200, 4}}, bad[2] = {{text, 3}, {nowhere, 4}};
  struct iovec huge[1] = {{text, ~0ul}};
  GIVES(read, "a part", 4, read(file, text, 4));
  GIVES(read, "the bytes", 0, memcmp(text, "0123", 4));
  GIVES(read, "moves the offset", 4, lseek(file, 0, SEEK_CUR));
  GIVES(read, "fewer bytes than asked for", 6, read(file, text, 100));
  GIVES(read, "at the end", 0, read(file, text, 100));
  GIVES(read, "no bytes", 0, read(file, text, 0));
  FAILS(read, "no descriptor", EBADF, read(kNoDescriptor, text, 1));
  FAILS(read, "a file that is open for writing", EBADF, read(writable, text, 1));
  FAILS(read, "a folder", EISDIR, read(folder, text, 1));
  lseek(file, 0, SEEK_SET);
  FAILS(read, "to where nothing can be written", EFAULT, read(file, nowhere, 4));
  GIVES(readv, "several buffers", 7, readv(file, parts, 3));
  GIVES(readv, "the bytes", 0, memcmp(text, "012", 3) | memcmp(text + 200, "3456", 4));
  GIVES(readv, "no buffers", 0, readv(file, parts, 0));
  FAILS(readv, "a negative count", EINVAL, readv(file, parts, -1));
  FAILS(readv, "more than 1024 buffers", EINVAL, readv(file, parts, 1025));
  FAILS(readv, "a length that is no ssize_t", EINVAL, readv(file, huge, 1));
  FAILS(readv, "buffers that cannot be read", EFAULT, readv(file, nowhere, 2));
  FAILS(readv, "no descriptor", EBADF, readv(kNoDescriptor, parts, 2));
  FAILS(readv, "a folder", EISDIR, readv(folder, parts, 2));
  lseek(file, 0, SEEK_SET);
  GIVES(readv, "a second buffer that cannot be written", 3, readv(file, bad, 2));
  GIVES(pread64, "at an offset", 3, pread(file, text, 3, 5));
  GIVES(pread64, "the bytes", 0, memcmp(text, "567", 3));
  GIVES(pread64, "leaves the offset", 3, lseek(file, 0, SEEK_CUR));
  GIVES(pread64, "behind the end", 0, pread(file, text, 3, 50));
  FAILS(pread64, "a negative offset", EINVAL, pread(file, text, 3, -1));
  FAILS(pread64, "no descriptor", EBADF, pread(kNoDescriptor, text, 3, 0));
  FAILS(pread64, "to where nothing can be written", EFAULT, pread(file, nowhere, 3, 0));
  FAILS(pread64, "a folder", EISDIR, pread(folder, text, 3, 0));
  FAILS(pread64, "a pipe", ESPIPE, pread(0, text, 3, 0));
  GIVES(preadv, "several buffers at an offset", 7, preadv(file, parts, 3, 2));
  GIVES(preadv, "the bytes", 0, memcmp(text, "234", 3) | memcmp(text + 200, "5678", 4));
  FAILS(preadv, "a negative offset", EINVAL, preadv(file, parts, 3, -1));
  FAILS(preadv, "a negative count", EINVAL, preadv(file, parts, -1, 0));
  FAILS(preadv, "a length that is no ssize_t", EINVAL, preadv(file, huge, 1, 0));
  FAILS(preadv, "a pipe", ESPIPE, preadv(0, parts, 2, 0));
  FAILS(preadv, "a folder", EISDIR, preadv(folder, parts, 1, 0));
  FAILS(preadv, "buffers that cannot be read", EFAULT, preadv(file, nowhere, 2, 0));
  FAILS(preadv2, "a folder", EISDIR, preadv2(folder, parts, 1, 0, 0));
  FAILS(preadv2, "buffers that cannot be read", EFAULT, preadv2(file, nowhere, 2, 0, 0));
  FAILS(preadv2, "no descriptor", EBADF, preadv2(kNoDescriptor, parts, 2, 0, 0));
  FAILS(preadv, "no descriptor", EBADF, preadv(kNoDescriptor, parts, 2, 0));
  GIVES(preadv2, "at an offset", 3, preadv2(file, parts, 1, 4, 0));
  GIVES(preadv2, "at the offset of the file", 3, preadv2(file, parts, 1, -1, 0));
  GIVES(preadv2, "moves that offset", 6, lseek(file, 0, SEEK_CUR));
  FAILS(preadv2, "a flag that is unknown", EOPNOTSUPP, preadv2(file, parts, 1, 0, 1 << 20));
  FAILS(preadv2, "a negative offset", EINVAL, preadv2(file, parts, 1, -2, 0));
  FAILS(preadv2, "a negative count", EINVAL, preadv2(file, parts, -1, 0, 0));
  GIVES(preadv2, "RWF_HIPRI", 3, preadv2(file, parts, 1, 0, RWF_HIPRI));
  close(file);
  close(writable);
  close(folder);
}

static void writing(void) {
  const int file = make("out", ""), readable = open("out", O_RDONLY);
  struct iovec parts[3] = {{"abc", 3}, {"", 0}, {"defg", 4}}, huge[1] = {{text, ~0ul}};
  GIVES(write, "new bytes", 5, write(file, "01234", 5));
  GIVES(write, "moves the offset", 5, lseek(file, 0, SEEK_CUR));
  GIVES(write, "makes the file longer", 5, size_of(file));
  GIVES(write, "no bytes", 0, write(file, "", 0));
  FAILS(write, "no descriptor", EBADF, write(kNoDescriptor, "x", 1));
  FAILS(write, "a file that is open for reading", EBADF, write(readable, "x", 1));
  FAILS(write, "from where nothing can be read", EFAULT, write(file, nowhere, 5));
  GIVES(writev, "several buffers", 7, writev(file, parts, 3));
  GIVES(writev, "the bytes", 0, pread(file, text, 12, 0) == 12 ? memcmp(text, "01234abcdefg", 12) : 1);
  FAILS(writev, "a negative count", EINVAL, writev(file, parts, -1));
  FAILS(writev, "more than 1024 buffers", EINVAL, writev(file, parts, 1025));
  FAILS(writev, "a length that is no ssize_t", EINVAL, writev(file, huge, 1));
  FAILS(writev, "buffers that cannot be read", EFAULT, writev(file, nowhere, 2));
  FAILS(writev, "a file that is open for reading", EBADF, writev(readable, parts, 2));
  GIVES(pwrite64, "at an offset", 3, pwrite(file, "XYZ", 3, 1));
  GIVES(pwrite64, "the bytes", 0, pread(file, text, 12, 0) == 12 ? memcmp(text, "0XYZ4abcdefg", 12) : 1);
  GIVES(pwrite64, "leaves the offset", 12, lseek(file, 0, SEEK_CUR));
  GIVES(pwrite64, "behind the end", 1, pwrite(file, "!", 1, 20));
  GIVES(pwrite64, "the gap reads as zeros", 0,
        pread(file, text, 9, 12) == 9 ? memcmp(text, "\0\0\0\0\0\0\0\0!", 9) : 1);
  FAILS(pwrite64, "a negative offset", EINVAL, pwrite(file, "x", 1, -1));
  FAILS(pwrite64, "a pipe", ESPIPE, pwrite(1, "x", 1, 0));
  FAILS(pwrite64, "a file that is open for reading", EBADF, pwrite(readable, "x", 1, 0));
  FAILS(pwrite64, "from where nothing can be read", EFAULT, pwrite(file, nowhere, 5, 0));
  GIVES(pwritev, "several buffers at an offset", 7, pwritev(file, parts, 3, 5));
  FAILS(pwritev, "a negative offset", EINVAL, pwritev(file, parts, 3, -1));
  FAILS(pwritev, "a negative count", EINVAL, pwritev(file, parts, -1, 0));
  FAILS(pwritev, "a pipe", ESPIPE, pwritev(1, parts, 2, 0));
  FAILS(pwritev, "buffers that cannot be read", EFAULT, pwritev(file, nowhere, 2, 0));
  FAILS(pwritev2, "buffers that cannot be read", EFAULT, pwritev2(file, nowhere, 2, 0, 0));
  FAILS(pwritev2, "no descriptor", EBADF, pwritev2(kNoDescriptor, parts, 2, 0, 0));
  FAILS(pwritev, "no descriptor", EBADF, pwritev(kNoDescriptor, parts, 2, 0));
  GIVES(pwritev2, "at an offset", 3, pwritev2(file, parts, 1, 0, 0));
  GIVES(pwritev2, "at the offset of the file", 3, pwritev2(file, parts, 1, -1, 0));
  GIVES(pwritev2, "moves that offset", 15, lseek(file, 0, SEEK_CUR));
  GIVES(pwritev2, "RWF_APPEND writes at the end", 3, pwritev2(file, parts, 1, 0, RWF_APPEND));
  GIVES(pwritev2, "the size behind RWF_APPEND", 24, size_of(file));
  FAILS(pwritev2, "a flag that is unknown", EOPNOTSUPP, pwritev2(file, parts, 1, 0, 1 << 20));
  FAILS(pwritev2, "a negative offset", EINVAL, pwritev2(file, parts, 1, -2, 0));
  FAILS(pwritev2, "a negative count", EINVAL, pwritev2(file, parts, -1, 0, 0));
  // The largest file.
  on_signal(SIGXFSZ, 0);
  setrlimit(RLIMIT_FSIZE, &(struct rlimit){30, RLIM_INFINITY});
  lseek(file, 0, SEEK_SET);
  GIVES(write, "up to RLIMIT_FSIZE", 30, write(file, text, 50));
  FAILS(write, "beyond RLIMIT_FSIZE", EFBIG, write(file, text, 1));
  GIVES(write, "beyond RLIMIT_FSIZE there is a signal", 1, runs);
  FAILS(pwrite64, "beyond RLIMIT_FSIZE", EFBIG, pwrite(file, text, 1, 30));
  FAILS(writev, "beyond RLIMIT_FSIZE", EFBIG, writev(file, parts, 1));
  FAILS(pwritev, "beyond RLIMIT_FSIZE", EFBIG, pwritev(file, parts, 1, 30));
  FAILS(pwritev2, "beyond RLIMIT_FSIZE", EFBIG, pwritev2(file, parts, 1, 30, 0));
  FAILS(copy_file_range, "beyond RLIMIT_FSIZE", EFBIG,
        copy_file_range(readable, &(loff_t){0}, file, &(loff_t){30}, 1, 0));
  FAILS(ftruncate, "beyond RLIMIT_FSIZE", EFBIG, ftruncate(file, 31));
  FAILS(truncate, "beyond RLIMIT_FSIZE", EFBIG, truncate("out", 31));
  FAILS(fallocate, "beyond RLIMIT_FSIZE", EFBIG, fallocate(file, 0, 0, 31));
  setrlimit(RLIMIT_FSIZE, &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY});
  signal(SIGXFSZ, SIG_DFL);
  const int full = open("/dev/full", O_WRONLY);
  FAILS(write, "a device that is full", ENOSPC, write(full, "x", 1));
  FAILS(writev, "a device that is full", ENOSPC, writev(full, parts, 1));
  FAILS(pwrite64, "a device that is full", ENOSPC, pwrite(full, "x", 1, 0));
  FAILS(pwritev, "a device that is full", ENOSPC, pwritev(full, parts, 1, 0));
  FAILS(pwritev2, "a device that is full", ENOSPC, pwritev2(full, parts, 1, 0, 0));
  close(full);
  close(file);
  close(readable);
}

static void seeking(void) {
  const int file = make("file", "0123456789");
  int pipe_of[2];
  pipe(pipe_of);
  GIVES(lseek, "SEEK_SET", 3, lseek(file, 3, SEEK_SET));
  GIVES(lseek, "SEEK_CUR", 5, lseek(file, 2, SEEK_CUR));
  GIVES(lseek, "SEEK_END", 8, lseek(file, -2, SEEK_END));
  GIVES(lseek, "behind the end", 100, lseek(file, 100, SEEK_SET));
  GIVES(lseek, "does not make the file longer", 10, size_of(file));
  GIVES(lseek, "SEEK_DATA", 3, lseek(file, 3, SEEK_DATA));
  GIVES(lseek, "SEEK_HOLE", 10, lseek(file, 3, SEEK_HOLE));
  FAILS(lseek, "SEEK_DATA at the end", ENXIO, lseek(file, 10, SEEK_DATA));
  FAILS(lseek, "SEEK_HOLE at the end", ENXIO, lseek(file, 10, SEEK_HOLE));
  FAILS(lseek, "to a negative offset", EINVAL, lseek(file, -1, SEEK_SET));
  FAILS(lseek, "from no place that it knows", EINVAL, lseek(file, 0, 99));
  FAILS(lseek, "beyond what an offset can be", EINVAL, lseek(file, LONG_MAX, SEEK_END));
  FAILS(lseek, "no descriptor", EBADF, lseek(kNoDescriptor, 0, SEEK_SET));
  FAILS(lseek, "a pipe", ESPIPE, lseek(pipe_of[0], 0, SEEK_SET));
  ftruncate(file, 1 << 20);
  GIVES(lseek, "SEEK_DATA in a hole before the end", 0, lseek(file, 8192, SEEK_DATA) == -1 && errno == ENXIO ? 0 : 1);
  GIVES(lseek, "SEEK_HOLE behind data", 4096, lseek(file, 0, SEEK_HOLE));
  close(file);
  close(pipe_of[0]);
  close(pipe_of[1]);
}

static void copying_descriptors(void) {
  const int file = make("file", "0123456789");
  int copy = dup(file);
  struct epoll_event event = {.events = EPOLLIN};
  const int set = epoll_create1(0);
  FAILS(epoll_ctl, "a file", EPERM, epoll_ctl(set, EPOLL_CTL_ADD, file, &event));
  close(set);
  GIVES(dup, "the offset is common", 4, (lseek(file, 4, SEEK_SET), lseek(copy, 0, SEEK_CUR)));
  GIVES(dup, "the status flags are common", O_APPEND,
        (fcntl(file, F_SETFL, O_APPEND), fcntl(copy, F_GETFL) & O_APPEND));
  fcntl(file, F_SETFL, 0);
  fcntl(file, F_SETFD, FD_CLOEXEC);
  GIVES(dup, "FD_CLOEXEC is not common", 0, fcntl(copy, F_GETFD));
  close(copy);
  copy = dup(file);
  GIVES(dup, "a copy has no FD_CLOEXEC", 0, fcntl(copy, F_GETFD));
  FAILS(dup, "no descriptor", EBADF, dup(kNoDescriptor));
  FAILS(dup, "a negative one", EBADF, dup(-1));
  GIVES(dup3, "the number that is asked for", 50, dup3(file, 50, O_CLOEXEC));
  GIVES(dup3, "O_CLOEXEC", FD_CLOEXEC, fcntl(50, F_GETFD));
  GIVES(dup3, "over one that is open", 50, dup3(0, 50, 0));
  FAILS(lseek, "a descriptor that dup3() has made another", ESPIPE, lseek(50, 0, SEEK_CUR));
  FAILS(dup3, "twice the same", EINVAL, dup3(file, file, 0));
  FAILS(dup3, "a flag that is unknown", EINVAL, dup3(file, 51, O_APPEND));
  FAILS(dup3, "no descriptor", EBADF, dup3(kNoDescriptor, 51, 0));
  GIVES(fcntl, "F_DUPFD from a number on", 60, fcntl(file, F_DUPFD, 60));
  GIVES(fcntl, "F_DUPFD from one that is open", 61, fcntl(file, F_DUPFD, 60));
  GIVES(fcntl, "F_DUPFD_CLOEXEC", FD_CLOEXEC, fcntl(fcntl(file, F_DUPFD_CLOEXEC, 70), F_GETFD));
  FAILS(fcntl, "no descriptor", EBADF, fcntl(kNoDescriptor, F_GETFD));
  FAILS(fcntl, "F_DUPFD of a negative number", EINVAL, fcntl(file, F_DUPFD, -1));
  FAILS(fcntl, "a command that is unknown", EINVAL, fcntl(file, 9999));
  GIVES(fcntl, "F_GETFL", O_RDWR, fcntl(file, F_GETFL) & O_ACCMODE);
  GIVES(fcntl, "F_SETFL leaves how it is open", O_RDWR,
        (fcntl(file, F_SETFL, O_WRONLY | O_NONBLOCK), fcntl(file, F_GETFL) & O_ACCMODE));
  GIVES(fcntl, "F_SETFL sets O_NONBLOCK", O_NONBLOCK, fcntl(file, F_GETFL) & O_NONBLOCK);
  FAILS(fcntl, "F_SETPIPE_SZ of a file", EBADF, fcntl(file, F_SETPIPE_SZ, 4096));
  FAILS(fcntl, "F_GETPIPE_SZ of a file", EBADF, fcntl(file, F_GETPIPE_SZ));
  // Locks of records.
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 5};
  GIVES(fcntl, "F_SETLK", 0, fcntl(file, F_SETLK, &lock));
  lock.l_type = F_WRLCK;
  GIVES(fcntl, "F_GETLK of one's own lock", 0, fcntl(file, F_GETLK, &lock));
  GIVES(fcntl, "F_GETLK finds no other's", F_UNLCK, lock.l_type);
  FAILS(fcntl, "F_SETLK of a structure that cannot be read", EFAULT, fcntl(file, F_SETLK, nowhere));
  lock = (struct flock){.l_type = 77};
  FAILS(fcntl, "F_SETLK of a type that is unknown", EINVAL, fcntl(file, F_SETLK, &lock));
  lock = (struct flock){.l_type = F_RDLCK, .l_start = -1};
  FAILS(fcntl, "F_SETLK from a negative place", EINVAL, fcntl(file, F_SETLK, &lock));
  const int readable = open("file", O_RDONLY);
  lock = (struct flock){.l_type = F_WRLCK};
  FAILS(fcntl, "F_SETLK for writing, of a file that is open for reading", EBADF, fcntl(readable, F_SETLK, &lock));
  lock = (struct flock){.l_type = F_UNLCK};
  GIVES(fcntl, "F_SETLK lets go", 0, fcntl(file, F_SETLK, &lock));
  lock = (struct flock){.l_type = F_WRLCK, .l_start = INT64_MAX, .l_len = 2};
  FAILS(fcntl, "F_SETLK beyond the last place of files", EOVERFLOW, fcntl(file, F_SETLK, &lock));
  lock = (struct flock){.l_type = F_WRLCK, .l_start = 5, .l_len = -6};
  FAILS(fcntl, "F_SETLK in front of the file", EINVAL, fcntl(file, F_SETLK, &lock));
  lock = (struct flock){.l_type = F_WRLCK, .l_whence = 77};
  FAILS(fcntl, "F_SETLK from an origin that is unknown", EINVAL, fcntl(file, F_SETLK, &lock));
  locks_of_openings(file);
  // flock
  GIVES(flock, "shared", 0, flock(file, LOCK_SH));
  GIVES(flock, "exclusive, from shared", 0, flock(file, LOCK_EX));
  GIVES(flock, "a copy of the descriptor has the lock", 0, flock(copy, LOCK_EX | LOCK_NB));
  FAILS(flock, "another opening has no lock", EAGAIN, flock(readable, LOCK_EX | LOCK_NB));
  alarms(0);
  FAILS(flock, "a signal while it waits", EINTR, flock(readable, LOCK_EX));
  no_alarms();
  GIVES(flock, "to let go", 0, flock(copy, LOCK_UN));
  GIVES(flock, "what was let go", 0, flock(readable, LOCK_EX | LOCK_NB));
  GIVES(flock, "shared, from exclusive", 0, flock(readable, LOCK_SH | LOCK_NB));
  GIVES(flock, "shared by two", 0, flock(file, LOCK_SH | LOCK_NB));
  FAILS(flock, "exclusive, where another has a shared one", EAGAIN, flock(readable, LOCK_EX | LOCK_NB));
  GIVES(flock, "who was refused another kind has lost its own", 0, flock(file, LOCK_EX | LOCK_NB));
  flock(file, LOCK_UN);
  FAILS(flock, "an operation that is unknown", EINVAL, flock(file, 77));
  FAILS(flock, "no descriptor", EBADF, flock(kNoDescriptor, LOCK_SH));
  close(readable);
  // Closing.
  FAILS(close, "no descriptor", EBADF, close(kNoDescriptor));
  FAILS(close, "a negative one", EBADF, close(-1));
  GIVES(close, "a descriptor", 0, close(copy));
  FAILS(close, "twice", EBADF, close(copy));
  dup3(file, 80, 0), dup3(file, 81, 0), dup3(file, 90, 0);
  GIVES(close_range, "a range with gaps", 0, close_range(79, 85, 0));
  FAILS(fcntl, "a descriptor that close_range() has closed", EBADF, fcntl(80, F_GETFD));
  GIVES(close_range, "leaves those behind it", 0, fcntl(90, F_GETFD));
  GIVES(close_range, "CLOSE_RANGE_CLOEXEC", 0, close_range(90, ~0u, CLOSE_RANGE_CLOEXEC));
  GIVES(close_range, "CLOSE_RANGE_CLOEXEC sets the flag", FD_CLOEXEC, fcntl(90, F_GETFD));
  GIVES(close_range, "CLOSE_RANGE_UNSHARE", 0, close_range(90, 95, CLOSE_RANGE_UNSHARE));
  FAILS(close_range, "a flag that is unknown", EINVAL, close_range(79, 85, 1 << 20));
  FAILS(close_range, "the first behind the last", EINVAL, close_range(85, 79, 0));
  close(file);
}

static void sizes(void) {
  struct stat status;
  const long program_size = stat("program", &status) == 0 ? (long)status.st_size : 0;
  int file = make("sized", "0123456789");
  const int readable = open("sized", O_RDONLY), folder = open(".", O_RDONLY);
  int pipe_of[2];
  pipe(pipe_of);
  GIVES(ftruncate, "shorter", 0, ftruncate(file, 4));
  GIVES(ftruncate, "the size", 4, size_of(file));
  GIVES(ftruncate, "longer", 0, ftruncate(file, 8));
  GIVES(ftruncate, "what is new is zeros", 0, pread(file, text, 8, 0) == 8 ? memcmp(text, "0123\0\0\0\0", 8) : 1);
  GIVES(ftruncate, "leaves the offset", 0, lseek(file, 0, SEEK_CUR));
  FAILS(ftruncate, "a negative size", EINVAL, ftruncate(file, -1));
  FAILS(ftruncate, "a file that is open for reading", EINVAL, ftruncate(readable, 1));
  FAILS(ftruncate, "a pipe", EINVAL, ftruncate(pipe_of[1], 1));
  FAILS(ftruncate, "no descriptor", EBADF, ftruncate(kNoDescriptor, 1));
  FAILS(ftruncate, "a folder", EINVAL, ftruncate(folder, 1));
  GIVES(truncate, "shorter", 0, truncate("sized", 2));
  GIVES(truncate, "the size", 2, size_of(file));
  FAILS(truncate, "a negative size", EINVAL, truncate("sized", -1));
  FAILS(truncate, "a folder", EISDIR, truncate("folder", 1));
  FAILS(truncate, "a file that is not there", ENOENT, truncate("none", 1));
  FAILS(truncate, "a file as a folder in the path", ENOTDIR, truncate("sized/x", 1));
  FAILS(truncate, "another's file", EACCES, truncate("/mnt/theirs/readable", 1));
  FAILS(truncate, "a link to itself", ELOOP, truncate("loop", 1));
  FAILS(truncate, "a name of 256 bytes", ENAMETOOLONG, truncate(long_name, 1));
  FAILS(truncate, "a path that cannot be read", EFAULT, truncate(nowhere, 1));
  FAILS(truncate, "the program that runs", ETXTBSY, truncate("program", (off_t)program_size));
  GIVES(fallocate, "makes the file longer", 0, fallocate(file, 0, 0, 5000));
  GIVES(fallocate, "the size", 5000, size_of(file));
  GIVES(fallocate, "FALLOC_FL_KEEP_SIZE", 0, fallocate(file, FALLOC_FL_KEEP_SIZE, 0, 9000));
  GIVES(fallocate, "FALLOC_FL_KEEP_SIZE leaves the size", 5000, size_of(file));
  memset(text, 'x', 5000);
  pwrite(file, text, 5000, 0);
  GIVES(fallocate, "FALLOC_FL_PUNCH_HOLE", 0, fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 10));
  FAILS(fallocate, "FALLOC_FL_PUNCH_HOLE without FALLOC_FL_KEEP_SIZE", EOPNOTSUPP,
        fallocate(file, FALLOC_FL_PUNCH_HOLE, 0, 10));
  FAILS(fallocate, "a mode that is unknown", EOPNOTSUPP, fallocate(file, 0x1000, 0, 10));
  FAILS(fallocate, "a negative offset", EINVAL, fallocate(file, 0, -1, 10));
  FAILS(fallocate, "no length", EINVAL, fallocate(file, 0, 0, 0));
  FAILS(fallocate, "beyond what an offset can be", EFBIG, fallocate(file, 0, LONG_MAX - 5, 10));
  FAILS(fallocate, "more than there is room for", ENOSPC, fallocate(file, 0, 0, 1l << 45));
  FAILS(fallocate, "no descriptor", EBADF, fallocate(kNoDescriptor, 0, 0, 10));
  FAILS(fallocate, "a file that is open for reading", EBADF, fallocate(readable, 0, 0, 10));
  FAILS(fallocate, "a pipe", ESPIPE, fallocate(pipe_of[1], 0, 0, 10));
  const int null = open("/dev/null", O_RDWR);
  FAILS(fallocate, "neither a file nor a folder", ENODEV, fallocate(null, 0, 0, 10));
  // Advice and synchronisation.
  GIVES(fsync, "a file", 0, fsync(file));
  GIVES(fsync, "a file that is open for reading", 0, fsync(readable));
  GIVES(fsync, "a folder", 0, fsync(folder));
  FAILS(fsync, "no descriptor", EBADF, fsync(kNoDescriptor));
  FAILS(fsync, "a pipe", EINVAL, fsync(pipe_of[1]));
  GIVES(fdatasync, "a file", 0, fdatasync(file));
  FAILS(fdatasync, "no descriptor", EBADF, fdatasync(kNoDescriptor));
  FAILS(fdatasync, "a pipe", EINVAL, fdatasync(pipe_of[1]));
  GIVES(sync, "always", 0, (sync(), 0));
  GIVES(syncfs, "a file", 0, syncfs(file));
  FAILS(syncfs, "no descriptor", EBADF, syncfs(kNoDescriptor));
  GIVES(sync_file_range, "a file", 0, sync_file_range(file, 0, 100, SYNC_FILE_RANGE_WRITE));
  FAILS(sync_file_range, "a flag that is unknown", EINVAL, sync_file_range(file, 0, 100, 1 << 20));
  FAILS(sync_file_range, "a negative offset", EINVAL, sync_file_range(file, -1, 100, 0));
  FAILS(sync_file_range, "a negative length", EINVAL, sync_file_range(file, 0, -1, 0));
  FAILS(sync_file_range, "no descriptor", EBADF, sync_file_range(kNoDescriptor, 0, 1, 0));
  FAILS(sync_file_range, "a pipe", ESPIPE, sync_file_range(pipe_of[1], 0, 1, 0));
  GIVES(fadvise64, "a file", 0, posix_fadvise(file, 0, 0, POSIX_FADV_SEQUENTIAL));
  RETURNS(fadvise64, "advice that is unknown", EINVAL, posix_fadvise(file, 0, 0, 99));
  RETURNS(fadvise64, "no descriptor", EBADF, posix_fadvise(kNoDescriptor, 0, 0, POSIX_FADV_NORMAL));
  RETURNS(fadvise64, "a pipe", ESPIPE, posix_fadvise(pipe_of[0], 0, 0, POSIX_FADV_NORMAL));
  RETURNS(fadvise64, "a negative length", EINVAL, posix_fadvise(file, 0, -1, POSIX_FADV_NORMAL));
  GIVES(readahead, "a file", 0, readahead(file, 0, 100));
  FAILS(readahead, "no descriptor", EBADF, readahead(kNoDescriptor, 0, 100));
  FAILS(readahead, "a pipe", EINVAL, readahead(pipe_of[0], 0, 100));
  FAILS(readahead, "a folder", EINVAL, readahead(folder, 0, 100));
  close(null);
  close(file);
  close(readable);
  close(folder);
  close(pipe_of[0]);
  close(pipe_of[1]);
}

int main(void) {
  memset(long_name, 'n', 256);
  memset(long_path, '/', 4096);
  opening();
  reading();
  writing();
  seeking();
  copying_descriptors();
  sizes();
  return 0;
}
