// SPDX-License-Identifier: Apache-2.0
// Checks of calls that copy and map files, by their manual pages: copy_file_range(2), sendfile(2), memfd_create(2), mmap(2), mprotect(2).
#include "checking.h"

#include <sys/sendfile.h>

static char text[8192], long_name[300];
static int make(const char* path, const char* content) {
  const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
  if (write(fd, content, strlen(content)) < 0) return -1;
  lseek(fd, 0, SEEK_SET);
  return fd;
}
static long size_of(int fd) {
  struct stat status;
  return fstat(fd, &status) == 0 ? (long)status.st_size : -1;
}

static void mapping(void) {
  const int file = make("mapped", "0123456789"), readable = open("mapped", O_RDONLY),
            writable = open("mapped", O_WRONLY);
  char* area = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE, readable, 0);
  GIVES(mmap, "a file", 0, memcmp(area, "0123456789", 10));
  GIVES(mmap, "zeros behind its end", 0, area[10] | area[4095]);
  area[0] = 'X';
  GIVES(mmap, "MAP_PRIVATE leaves the file", '0', pread(file, text, 1, 0) == 1 ? text[0] : -1);
  munmap(area, 8192);
  FAILS(mmap, "MAP_SHARED for writing, of a file that is open for reading", EACCES,
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, readable, 0) == MAP_FAILED ? -1 : 0);
  FAILS(mmap, "a file that is open for writing alone", EACCES,
        mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, writable, 0) == MAP_FAILED ? -1 : 0);
  area = mmap(NULL, 4096, PROT_READ, MAP_SHARED, readable, 0);
  FAILS(mprotect, "for writing, of a file that is open for reading", EACCES,
        mprotect(area, 4096, PROT_READ | PROT_WRITE));
  munmap(area, 4096);
  area = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  GIVES(mmap, "MAP_SHARED for writing changes the file", 'Y',
        area == MAP_FAILED                                                  ? -1
        : (area[1] = 'Y', munmap(area, 4096), pread(file, text, 1, 1) == 1) ? text[0]
                                                                            : -1);
  area = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, readable, 0);
  close(readable);
  GIVES(mmap, "stays when the file is closed", '2', area[2]);
  munmap(area, 4096);
  close(file), close(writable);
}

static void copying_bytes(void) {
  const int from = make("from", "0123456789"), to = make("to", ""), readable = open("to", O_RDONLY),
            folder = open(".", O_RDONLY);
  int pipe_of[2];
  pipe(pipe_of);
  loff_t in = 2, out = 1;
  GIVES(copy_file_range, "a part", 4, copy_file_range(from, NULL, to, NULL, 4, 0));
  GIVES(copy_file_range, "moves both offsets", 8, lseek(from, 0, SEEK_CUR) + lseek(to, 0, SEEK_CUR));
  GIVES(copy_file_range, "with offsets", 3, copy_file_range(from, &in, to, &out, 3, 0));
  GIVES(copy_file_range, "moves those offsets", 9, in + out);
  GIVES(copy_file_range, "the bytes", 0, pread(to, text, 4, 0) == 4 ? memcmp(text, "0234", 4) : 1);
  GIVES(copy_file_range, "up to the end", 6, copy_file_range(from, NULL, to, NULL, 100, 0));
  GIVES(copy_file_range, "at the end", 0, copy_file_range(from, NULL, to, NULL, 100, 0));
  FAILS(copy_file_range, "no descriptor", EBADF, copy_file_range(kNoDescriptor, NULL, to, NULL, 4, 0));
  FAILS(copy_file_range, "to a file that is open for reading", EBADF,
        copy_file_range(from, NULL, readable, NULL, 4, 0));
  in = 0;
  FAILS(copy_file_range, "from a folder", EISDIR, copy_file_range(folder, NULL, to, NULL, 4, 0));
  FAILS(copy_file_range, "from a pipe", EINVAL, copy_file_range(pipe_of[0], NULL, to, NULL, 4, 0));
  FAILS(copy_file_range, "a flag", EINVAL, copy_file_range(from, NULL, to, NULL, 4, 1));
  in = 0, out = 2;
  FAILS(copy_file_range, "within a file, parts that overlap", EINVAL, copy_file_range(from, &in, from, &out, 5, 0));
  FAILS(copy_file_range, "offsets that cannot be read", EFAULT, copy_file_range(from, nowhere, to, NULL, 5, 0));
  const int append = open("to", O_WRONLY | O_APPEND);
  FAILS(copy_file_range, "to a file that is open with O_APPEND", EBADF,
        copy_file_range(from, NULL, append, NULL, 4, 0));
  // sendfile
  off_t offset = 3;
  lseek(from, 0, SEEK_SET);
  GIVES(sendfile, "to a pipe", 4, sendfile(pipe_of[1], from, NULL, 4));
  GIVES(sendfile, "moves the offset of the file", 4, lseek(from, 0, SEEK_CUR));
  GIVES(sendfile, "with an offset", 7, sendfile(pipe_of[1], from, &offset, 100));
  GIVES(sendfile, "moves that offset", 10, offset);
  GIVES(sendfile, "leaves the offset of the file", 4, lseek(from, 0, SEEK_CUR));
  GIVES(sendfile, "the bytes", 0, read(pipe_of[0], text, 100) == 11 ? memcmp(text, "01233456789", 11) : 1);
  GIVES(sendfile, "to a file", 6, sendfile(to, from, NULL, 100));
  GIVES(sendfile, "at the end", 0, sendfile(to, from, NULL, 100));
  FAILS(sendfile, "no descriptor", EBADF, sendfile(kNoDescriptor, from, NULL, 4));
  FAILS(sendfile, "to a file that is open for reading", EBADF, sendfile(readable, from, NULL, 4));
  FAILS(sendfile, "to a file that is open with O_APPEND", EINVAL, sendfile(append, from, NULL, 4));
  FAILS(sendfile, "from a pipe with an offset", ESPIPE, sendfile(to, pipe_of[0], &offset, 4));
  FAILS(sendfile, "an offset that cannot be read", EFAULT, sendfile(to, from, nowhere, 4));
  offset = -1;
  FAILS(sendfile, "a negative offset", EINVAL, sendfile(to, from, &offset, 4));
  fcntl(pipe_of[1], F_SETFL, O_NONBLOCK);
  while (write(pipe_of[1], text, 4096) > 0) {
  }
  lseek(from, 0, SEEK_SET);
  FAILS(sendfile, "to a pipe that is full", EAGAIN, sendfile(pipe_of[1], from, NULL, 4));
  close(append), close(from), close(to), close(readable), close(folder), close(pipe_of[0]), close(pipe_of[1]);
}

static void files_of_memory(void) {
  const int memory = (int)syscall(SYS_memfd_create, "name", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  GIVES(memfd_create, "MFD_CLOEXEC", FD_CLOEXEC, fcntl(memory, F_GETFD));
  GIVES(memfd_create, "it is empty", 0, size_of(memory));
  GIVES(memfd_create, "it can be written", 5, write(memory, "hello", 5));
  GIVES(memfd_create, "and read", 5, pread(memory, text, 10, 0));
  GIVES(memfd_create, "F_ADD_SEALS", 0, fcntl(memory, F_ADD_SEALS, F_SEAL_GROW));
  GIVES(memfd_create, "F_GET_SEALS", F_SEAL_GROW, fcntl(memory, F_GET_SEALS));
  FAILS(write, "a file that is sealed", EPERM, write(memory, "hello", 5));
  FAILS(fallocate, "a file that is sealed", EPERM, fallocate(memory, 0, 0, 100));
  FAILS(ftruncate, "a file that is sealed", EPERM, ftruncate(memory, 100));
  fcntl(memory, F_ADD_SEALS, F_SEAL_WRITE);
  struct iovec part = {"x", 1};
  FAILS(writev, "a file that is sealed", EPERM, writev(memory, &part, 1));
  FAILS(pwrite64, "a file that is sealed", EPERM, pwrite(memory, "x", 1, 0));
  FAILS(pwritev, "a file that is sealed", EPERM, pwritev(memory, &part, 1, 0));
  FAILS(pwritev2, "a file that is sealed", EPERM, pwritev2(memory, &part, 1, 0, 0));
  FAILS(mmap, "a file that is sealed, shared and written", EPERM,
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0) == MAP_FAILED ? -1 : 0);
  FAILS(memfd_create, "a flag that is unknown", EINVAL, syscall(SYS_memfd_create, "name", 1 << 20));
  FAILS(memfd_create, "a name that cannot be read", EFAULT, syscall(SYS_memfd_create, nowhere, 0));
  FAILS(memfd_create, "a name of 250 bytes", EINVAL, syscall(SYS_memfd_create, long_name, 0));
  const int unsealed = (int)syscall(SYS_memfd_create, "name", 0);
  GIVES(memfd_create, "without MFD_ALLOW_SEALING it is sealed for seals", F_SEAL_SEAL, fcntl(unsealed, F_GET_SEALS));
  FAILS(fcntl, "F_ADD_SEALS of what may not be sealed", EPERM, fcntl(unsealed, F_ADD_SEALS, F_SEAL_GROW));
  close(memory), close(unsealed);
}

int main(void) {
  memset(long_name, 'n', 256);
  mapping();
  copying_bytes();
  files_of_memory();
  return 0;
}
