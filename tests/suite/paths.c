// SPDX-License-Identifier: Apache-2.0
// Checks of calls on names and attributes, by their manual pages: mkdir(2), mknod(2), unlink(2), rmdir(2), symlink(2), link(2), rename(2), readlink(2),
// stat(2), statx(2), access(2), chmod(2), chown(2), utimensat(2), chdir(2), getcwd(2), getdents64(2), statfs(2), umask(2), setxattr(2) and its relatives.
#include "checking.h"

#include <dirent.h>
#include <linux/fs.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

static char text[8192], long_name[300], long_path[5000];
static struct stat status;
static mode_t mode_of(const char* path) { return lstat(path, &status) == 0 ? status.st_mode : 0; }
static long links_of(const char* path) { return lstat(path, &status) == 0 ? (long)status.st_nlink : -1; }
static void make(const char* path, const char* content) {
  const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
  if (write(fd, content, strlen(content)) >= 0) close(fd);
}
static int file, folder;  // descriptors

// Errors that all calls with a path have. FOLLOWS: the last name may be a link. The path that is there is "file".
#define PATH_ERRORS(call, MAKE)                                                     \
  FAILS(call, "a folder that is not there", ENOENT, MAKE(AT_FDCWD, "none/x"));      \
  FAILS(call, "no path", ENOENT, MAKE(AT_FDCWD, ""));                               \
  FAILS(call, "a file as a folder in the path", ENOTDIR, MAKE(AT_FDCWD, "file/x")); \
  FAILS(call, "below the descriptor of a file", ENOTDIR, MAKE(file, "x"));          \
  FAILS(call, "no descriptor of a folder", EBADF, MAKE(kNoDescriptor, "x"));        \
  FAILS(call, "links in the path without end", ELOOP, MAKE(AT_FDCWD, "loop/x"));    \
  FAILS(call, "a name of 256 bytes", ENAMETOOLONG, MAKE(AT_FDCWD, long_name));      \
  FAILS(call, "a path of 4096 bytes", ENAMETOOLONG, MAKE(AT_FDCWD, long_path));     \
  FAILS(call, "a path that cannot be read", EFAULT, MAKE(AT_FDCWD, nowhere));       \
  FAILS(call, "in a folder that only another may search", EACCES, MAKE(AT_FDCWD, "/mnt/theirs/closed/x"))

#define MKDIRAT(at, path) mkdirat(at, path, 0755)
#define MKNODAT(at, path) mknodat(at, path, S_IFREG | 0644, 0)
#define UNLINKAT(at, path) unlinkat(at, path, 0)
#define SYMLINKAT(at, path) symlinkat("target", at, path)
#define LINKAT(at, path) linkat(at, path, AT_FDCWD, "never", 0)
#define RENAMEAT(at, path) syscall(SYS_renameat, at, path, AT_FDCWD, "never")
#define RENAMEAT2(at, path) syscall(SYS_renameat2, at, path, AT_FDCWD, "never", 0)
#define READLINKAT(at, path) readlinkat(at, path, text, sizeof text)
#define NEWFSTATAT(at, path) syscall(SYS_newfstatat, at, path, &status, 0)
#define STATX(at, path) syscall(SYS_statx, at, path, 0, STATX_BASIC_STATS, &extended)
#define FACCESSAT(at, path) syscall(SYS_faccessat, at, path, F_OK)
#define FACCESSAT2(at, path) syscall(SYS_faccessat2, at, path, F_OK, 0)
#define FCHMODAT(at, path) syscall(SYS_fchmodat, at, path, 0600)
#define FCHMODAT2(at, path) syscall(SYS_fchmodat2, at, path, 0600, 0)
#define FCHOWNAT(at, path) fchownat(at, path, 1000, 1000, 0)
#define UTIMENSAT(at, path) syscall(SYS_utimensat, at, path, NULL, 0)
#define SYS_fchmodat2 452

static void making(void) {
  GIVES(mkdirat, "a new folder", 0, mkdirat(AT_FDCWD, "made", 0777));
  GIVES(mkdirat, "its mode, less the mask", S_IFDIR | 0755, mode_of("made"));
  GIVES(mkdirat, "its links", 2, links_of("made"));
  GIVES(mkdirat, "below the descriptor of a folder", 0, mkdirat(folder, "made/inner", 0700));
  GIVES(mkdirat, "a path with a slash at its end", 0, mkdirat(AT_FDCWD, "slash/", 0755));
  FAILS(mkdirat, "a name that is there", EEXIST, mkdirat(AT_FDCWD, "file", 0755));
  FAILS(mkdirat, "a link to nothing", EEXIST, mkdirat(AT_FDCWD, "dangling", 0755));
  FAILS(mkdirat, "in another's folder", EACCES, mkdirat(AT_FDCWD, "/mnt/theirs/new", 0755));
  PATH_ERRORS(mkdirat, MKDIRAT);
  GIVES(mknodat, "a file", 0, mknodat(AT_FDCWD, "node", S_IFREG | 0640, 0));
  GIVES(mknodat, "its mode", S_IFREG | 0640, mode_of("node"));
  GIVES(mknodat, "a file, with no type given", 0, mknodat(AT_FDCWD, "node2", 0600, 0));
  GIVES(mknodat, "a FIFO", 0, mknodat(AT_FDCWD, "fifo2", S_IFIFO | 0600, 0));
  GIVES(mknodat, "the mode of a FIFO", S_IFIFO | 0600, mode_of("fifo2"));
  GIVES(mknodat, "the name of a socket", 0, mknodat(AT_FDCWD, "socket", S_IFSOCK | 0600, 0));
  FAILS(mknodat, "a device", EPERM, mknodat(AT_FDCWD, "device", S_IFCHR | 0600, makedev(1, 3)));
  FAILS(mknodat, "a folder", EPERM, mknodat(AT_FDCWD, "device", S_IFDIR | 0600, 0));
  FAILS(mknodat, "a type that is unknown", EINVAL, mknodat(AT_FDCWD, "device", 0170000 | 0600, 0));
  FAILS(mknodat, "a name that is there", EEXIST, mknodat(AT_FDCWD, "file", S_IFREG | 0644, 0));
  FAILS(mknodat, "in another's folder", EACCES, mknodat(AT_FDCWD, "/mnt/theirs/new", S_IFREG | 0644, 0));
  PATH_ERRORS(mknodat, MKNODAT);
  GIVES(symlinkat, "a link", 0, symlinkat("what/ever", AT_FDCWD, "new_link"));
  GIVES(symlinkat, "its size is that of its target", 9, lstat("new_link", &status) == 0 ? (long)status.st_size : -1);
  FAILS(symlinkat, "a name that is there", EEXIST, symlinkat("target", AT_FDCWD, "file"));
  FAILS(symlinkat, "to no path", ENOENT, symlinkat("", AT_FDCWD, "never"));
  FAILS(symlinkat, "to a path of 4096 bytes", ENAMETOOLONG, symlinkat(long_path, AT_FDCWD, "never"));
  FAILS(symlinkat, "to a path that cannot be read", EFAULT, symlinkat(nowhere, AT_FDCWD, "never"));
  FAILS(symlinkat, "in another's folder", EACCES, symlinkat("target", AT_FDCWD, "/mnt/theirs/new"));
  PATH_ERRORS(symlinkat, SYMLINKAT);
  GIVES(readlinkat, "a link", 9, readlinkat(AT_FDCWD, "new_link", text, sizeof text));
  GIVES(readlinkat, "the bytes", 0, memcmp(text, "what/ever", 9));
  GIVES(readlinkat, "a buffer that is too small", 4, readlinkat(AT_FDCWD, "new_link", text, 4));
  FAILS(readlinkat, "a file", EINVAL, readlinkat(AT_FDCWD, "file", text, sizeof text));
  FAILS(readlinkat, "no buffer", EINVAL, readlinkat(AT_FDCWD, "new_link", text, 0));
  FAILS(readlinkat, "a buffer that cannot be written", EFAULT, readlinkat(AT_FDCWD, "new_link", nowhere, 10));
  const int link_itself = open("new_link", O_PATH | O_NOFOLLOW);
  GIVES(readlinkat, "a descriptor of the link and no path", 9, readlinkat(link_itself, "", text, sizeof text));
  close(link_itself);
  PATH_ERRORS(readlinkat, READLINKAT);
}

static void naming(void) {
  GIVES(linkat, "a second name", 0, linkat(AT_FDCWD, "file", AT_FDCWD, "second", 0));
  GIVES(linkat, "two links", 2, links_of("file"));
  GIVES(linkat, "to a link itself", 0, linkat(AT_FDCWD, "link", AT_FDCWD, "link2", 0));
  GIVES(linkat, "is a link", S_IFLNK, mode_of("link2") & S_IFMT);
  GIVES(linkat, "AT_SYMLINK_FOLLOW", 0, linkat(AT_FDCWD, "link", AT_FDCWD, "followed", AT_SYMLINK_FOLLOW));
  GIVES(linkat, "AT_SYMLINK_FOLLOW names the file", 3, links_of("file"));
  FAILS(linkat, "a name that is there", EEXIST, linkat(AT_FDCWD, "file", AT_FDCWD, "second", 0));
  FAILS(linkat, "a folder", EPERM, linkat(AT_FDCWD, "folder", AT_FDCWD, "never", 0));
  FAILS(linkat, "another's file that one may not write", EPERM,
        linkat(AT_FDCWD, "/mnt/theirs/readable", AT_FDCWD, "never", 0));
  FAILS(linkat, "a flag that is unknown", EINVAL, linkat(AT_FDCWD, "file", AT_FDCWD, "never", 1));
  FAILS(linkat, "in another file system", EXDEV, linkat(AT_FDCWD, "file", AT_FDCWD, "/dev/never", 0));
  FAILS(linkat, "in another's folder", EACCES, linkat(AT_FDCWD, "file", AT_FDCWD, "/mnt/theirs/new", 0));
  PATH_ERRORS(linkat, LINKAT);
  GIVES(renameat, "a file", 0, syscall(SYS_renameat, AT_FDCWD, "second", AT_FDCWD, "renamed"));
  FAILS(newfstatat, "a name that has gone", ENOENT, stat("second", &status));
  make("replaced", "x");
  GIVES(renameat, "over a file", 0, syscall(SYS_renameat, AT_FDCWD, "renamed", AT_FDCWD, "replaced"));
  GIVES(renameat, "the same file is there", 3, links_of("replaced"));
  GIVES(renameat, "to another name of the same file", 0, syscall(SYS_renameat, AT_FDCWD, "replaced", AT_FDCWD, "file"));
  GIVES(renameat, "then both names stay", 3, links_of("replaced"));
  GIVES(renameat, "a folder over an empty one", 0,
        (mkdir("a", 0755), mkdir("b", 0755), syscall(SYS_renameat, AT_FDCWD, "a", AT_FDCWD, "b")));
  FAILS(renameat, "a folder over one with names", ENOTEMPTY,
        (mkdir("a", 0755), mkdir("b/c", 0755), syscall(SYS_renameat, AT_FDCWD, "a", AT_FDCWD, "b")));
  FAILS(renameat, "a file over a folder", EISDIR, syscall(SYS_renameat, AT_FDCWD, "file", AT_FDCWD, "b"));
  FAILS(renameat, "a folder over a file", ENOTDIR, syscall(SYS_renameat, AT_FDCWD, "b", AT_FDCWD, "file"));
  FAILS(renameat, "a folder into itself", EINVAL, syscall(SYS_renameat, AT_FDCWD, "b", AT_FDCWD, "b/c/d"));
  FAILS(renameat, "the folder itself", EBUSY, syscall(SYS_renameat, AT_FDCWD, ".", AT_FDCWD, "never"));
  FAILS(renameat, "to another file system", EXDEV, syscall(SYS_renameat, AT_FDCWD, "file", AT_FDCWD, "/dev/never"));
  FAILS(renameat, "to another's folder", EACCES, syscall(SYS_renameat, AT_FDCWD, "file", AT_FDCWD, "/mnt/theirs/new"));
  FAILS(renameat, "another's file in a folder with the sticky bit", EPERM,
        syscall(SYS_renameat, AT_FDCWD, "/mnt/theirs/open/x", AT_FDCWD, "/mnt/theirs/open/y"));
  PATH_ERRORS(renameat, RENAMEAT);
  GIVES(renameat2, "RENAME_NOREPLACE", 0, renameat2(AT_FDCWD, "replaced", AT_FDCWD, "placed", RENAME_NOREPLACE));
  FAILS(renameat2, "RENAME_NOREPLACE over a file", EEXIST,
        renameat2(AT_FDCWD, "placed", AT_FDCWD, "file", RENAME_NOREPLACE));
  GIVES(renameat2, "RENAME_EXCHANGE", 0, renameat2(AT_FDCWD, "placed", AT_FDCWD, "b", RENAME_EXCHANGE));
  GIVES(renameat2, "RENAME_EXCHANGE back", 0, renameat2(AT_FDCWD, "placed", AT_FDCWD, "b", RENAME_EXCHANGE));
  FAILS(renameat2, "RENAME_EXCHANGE with a name that is not there", ENOENT,
        renameat2(AT_FDCWD, "placed", AT_FDCWD, "none", RENAME_EXCHANGE));
  FAILS(renameat2, "RENAME_NOREPLACE and RENAME_EXCHANGE", EINVAL,
        renameat2(AT_FDCWD, "placed", AT_FDCWD, "b", RENAME_EXCHANGE | RENAME_NOREPLACE));
  FAILS(renameat2, "a flag that is unknown", EINVAL, renameat2(AT_FDCWD, "placed", AT_FDCWD, "never", 1 << 20));
  FAILS(renameat2, "a folder over one with names", ENOTEMPTY, renameat2(AT_FDCWD, "a", AT_FDCWD, "b", 0));
  FAILS(renameat2, "a file over a folder", EISDIR, renameat2(AT_FDCWD, "file", AT_FDCWD, "b", 0));
  FAILS(renameat2, "the folder itself", EBUSY, renameat2(AT_FDCWD, ".", AT_FDCWD, "never", 0));
  FAILS(renameat2, "to another file system", EXDEV, renameat2(AT_FDCWD, "file", AT_FDCWD, "/dev/never", 0));
  FAILS(renameat2, "another's file in a folder with the sticky bit", EPERM,
        renameat2(AT_FDCWD, "/mnt/theirs/open/x", AT_FDCWD, "/mnt/theirs/open/y", 0));
  PATH_ERRORS(renameat2, RENAMEAT2);
  GIVES(unlinkat, "a name", 0, unlinkat(AT_FDCWD, "placed", 0));
  GIVES(unlinkat, "the file is still there", 2, links_of("file"));
  const int open_one = open("unlinked", O_RDWR | O_CREAT, 0644);
  GIVES(unlinkat, "the last name of an open file", 0, unlinkat(AT_FDCWD, "unlinked", 0));
  GIVES(unlinkat, "which can be written", 3, write(open_one, "abc", 3));
  GIVES(unlinkat, "it has no links", 0, fstat(open_one, &status) == 0 ? (long)status.st_nlink : -1);
  close(open_one);
  GIVES(unlinkat, "a link to nothing", 0, unlinkat(AT_FDCWD, "dangling2", 0));
  GIVES(unlinkat, "AT_REMOVEDIR of an empty folder", 0, unlinkat(AT_FDCWD, "slash", AT_REMOVEDIR));
  FAILS(unlinkat, "AT_REMOVEDIR of a folder with names", ENOTEMPTY, unlinkat(AT_FDCWD, "b", AT_REMOVEDIR));
  FAILS(unlinkat, "AT_REMOVEDIR of a file", ENOTDIR, unlinkat(AT_FDCWD, "file", AT_REMOVEDIR));
  FAILS(unlinkat, "AT_REMOVEDIR of the folder itself", EINVAL, unlinkat(AT_FDCWD, ".", AT_REMOVEDIR));
  FAILS(unlinkat, "AT_REMOVEDIR of the folder above", ENOTEMPTY, unlinkat(AT_FDCWD, "b/..", AT_REMOVEDIR));
  FAILS(unlinkat, "AT_REMOVEDIR of the root", EBUSY, unlinkat(AT_FDCWD, "/", AT_REMOVEDIR));
  FAILS(unlinkat, "a folder", EISDIR, unlinkat(AT_FDCWD, "folder", 0));
  FAILS(unlinkat, "a flag that is unknown", EINVAL, unlinkat(AT_FDCWD, "file", 1));
  FAILS(unlinkat, "in another's folder", EACCES, unlinkat(AT_FDCWD, "/mnt/theirs/readable", 0));
  FAILS(unlinkat, "another's file in a folder with the sticky bit", EPERM, unlinkat(AT_FDCWD, "/mnt/theirs/open/x", 0));
  PATH_ERRORS(unlinkat, UNLINKAT);
}

static void looking(void) {
  struct statx extended;
  GIVES(newfstatat, "a file", 0, NEWFSTATAT(AT_FDCWD, "file"));
  GIVES(newfstatat, "its mode", S_IFREG | 0644, status.st_mode);
  GIVES(newfstatat, "its size", 10, status.st_size);
  GIVES(newfstatat, "its owner", 1000, status.st_uid);
  GIVES(newfstatat, "its group", 1000, status.st_gid);
  GIVES(newfstatat, "through a link", S_IFREG,
        syscall(SYS_newfstatat, AT_FDCWD, "link", &status, 0) == 0 ? status.st_mode & S_IFMT : 0);
  GIVES(newfstatat, "AT_SYMLINK_NOFOLLOW", S_IFLNK,
        syscall(SYS_newfstatat, AT_FDCWD, "link", &status, AT_SYMLINK_NOFOLLOW) == 0 ? status.st_mode & S_IFMT : 0);
  GIVES(newfstatat, "AT_EMPTY_PATH", 0, syscall(SYS_newfstatat, file, "", &status, AT_EMPTY_PATH));
  FAILS(newfstatat, "a flag that is unknown", EINVAL, syscall(SYS_newfstatat, AT_FDCWD, "file", &status, 1));
  FAILS(newfstatat, "a link to itself", ELOOP, syscall(SYS_newfstatat, AT_FDCWD, "loop", &status, 0));
  FAILS(newfstatat, "to where nothing can be written", EFAULT, syscall(SYS_newfstatat, AT_FDCWD, "file", nowhere, 0));
  PATH_ERRORS(newfstatat, NEWFSTATAT);
  GIVES(fstat, "a file", 0, fstat(file, &status));
  GIVES(fstat, "its size", 10, status.st_size);
  GIVES(fstat, "a folder", S_IFDIR, fstat(folder, &status) == 0 ? status.st_mode & S_IFMT : 0);
  GIVES(fstat, "a pipe", S_IFIFO, fstat(0, &status) == 0 ? status.st_mode & S_IFMT : 0);
  FAILS(fstat, "no descriptor", EBADF, syscall(SYS_fstat, kNoDescriptor, &status));
  FAILS(fstat, "to where nothing can be written", EFAULT, syscall(SYS_fstat, file, nowhere));
  GIVES(statx, "a file", 0, STATX(AT_FDCWD, "file"));
  GIVES(statx, "it has what was asked for", STATX_BASIC_STATS, extended.stx_mask & STATX_BASIC_STATS);
  GIVES(statx, "its size", 10, extended.stx_size);
  GIVES(statx, "its mode", S_IFREG | 0644, extended.stx_mode);
  GIVES(statx, "AT_SYMLINK_NOFOLLOW", S_IFLNK,
        syscall(SYS_statx, AT_FDCWD, "link", AT_SYMLINK_NOFOLLOW, STATX_TYPE, &extended) == 0
            ? extended.stx_mode & S_IFMT
            : 0);
  GIVES(statx, "AT_EMPTY_PATH", 0, syscall(SYS_statx, file, "", AT_EMPTY_PATH, STATX_SIZE, &extended));
  FAILS(statx, "a flag that is unknown", EINVAL, syscall(SYS_statx, AT_FDCWD, "file", 1, STATX_SIZE, &extended));
  FAILS(statx, "both ways to synchronise", EINVAL,
        syscall(SYS_statx, AT_FDCWD, "file", AT_STATX_SYNC_TYPE, STATX_SIZE, &extended));
  FAILS(statx, "a reserved bit of the mask", EINVAL, syscall(SYS_statx, AT_FDCWD, "file", 0, 0x80000000u, &extended));
  FAILS(statx, "to where nothing can be written", EFAULT, syscall(SYS_statx, AT_FDCWD, "file", 0, STATX_SIZE, nowhere));
  PATH_ERRORS(statx, STATX);
  GIVES(faccessat, "it is there", 0, syscall(SYS_faccessat, AT_FDCWD, "file", F_OK));
  GIVES(faccessat, "it may be read and written", 0, syscall(SYS_faccessat, AT_FDCWD, "file", R_OK | W_OK));
  FAILS(faccessat, "it may not be executed", EACCES, syscall(SYS_faccessat, AT_FDCWD, "file", X_OK));
  FAILS(faccessat, "another's may not be written", EACCES,
        syscall(SYS_faccessat, AT_FDCWD, "/mnt/theirs/readable", W_OK));
  GIVES(faccessat, "another's may be executed", 0, syscall(SYS_faccessat, AT_FDCWD, "/mnt/theirs/tool", X_OK));
  FAILS(faccessat, "a mode that is unknown", EINVAL, syscall(SYS_faccessat, AT_FDCWD, "file", 8));
  FAILS(faccessat, "a link to nothing", ENOENT, syscall(SYS_faccessat, AT_FDCWD, "dangling", F_OK));
  PATH_ERRORS(faccessat, FACCESSAT);
  GIVES(faccessat2, "AT_EACCESS", 0, syscall(SYS_faccessat2, AT_FDCWD, "file", R_OK, AT_EACCESS));
  GIVES(faccessat2, "AT_SYMLINK_NOFOLLOW of a link to nothing", 0,
        syscall(SYS_faccessat2, AT_FDCWD, "dangling", F_OK, AT_SYMLINK_NOFOLLOW));
  GIVES(faccessat2, "AT_EMPTY_PATH", 0, syscall(SYS_faccessat2, file, "", R_OK, AT_EMPTY_PATH));
  FAILS(faccessat2, "it may not be executed", EACCES, syscall(SYS_faccessat2, AT_FDCWD, "file", X_OK, 0));
  FAILS(faccessat2, "a flag that is unknown", EINVAL, syscall(SYS_faccessat2, AT_FDCWD, "file", F_OK, 1));
  FAILS(faccessat2, "a mode that is unknown", EINVAL, syscall(SYS_faccessat2, AT_FDCWD, "file", 8, 0));
  PATH_ERRORS(faccessat2, FACCESSAT2);
}

static void changing(void) {
  GIVES(fchmodat, "a file", 0, syscall(SYS_fchmodat, AT_FDCWD, "file", 04751));
  GIVES(fchmodat, "its mode", S_IFREG | 04751, mode_of("file"));
  GIVES(fchmodat, "through a link", S_IFREG | 0600, (syscall(SYS_fchmodat, AT_FDCWD, "link", 0600), mode_of("file")));
  FAILS(fchmodat, "another's file", EPERM, syscall(SYS_fchmodat, AT_FDCWD, "/mnt/theirs/readable", 0600));
  FAILS(fchmodat, "a link to itself", ELOOP, syscall(SYS_fchmodat, AT_FDCWD, "loop", 0600));
  PATH_ERRORS(fchmodat, FCHMODAT);
  GIVES(fchmod, "a file", S_IFREG | 0640, (fchmod(file, 0640), mode_of("file")));
  FAILS(fchmod, "no descriptor", EBADF, fchmod(kNoDescriptor, 0600));
  const int theirs = open("/mnt/theirs/readable", O_RDONLY), path = open("file", O_PATH);
  FAILS(fchmod, "another's file", EPERM, fchmod(theirs, 0600));
  FAILS(fchmod, "a descriptor of O_PATH", EBADF, fchmod(path, 0600));
  GIVES(fchmodat2, "a file", S_IFREG | 0644, (syscall(SYS_fchmodat2, AT_FDCWD, "file", 0644, 0), mode_of("file")));
  FAILS(fchmodat2, "AT_SYMLINK_NOFOLLOW of a link", EOPNOTSUPP,
        syscall(SYS_fchmodat2, AT_FDCWD, "link", 0644, AT_SYMLINK_NOFOLLOW));
  GIVES(fchmodat2, "AT_EMPTY_PATH", 0, syscall(SYS_fchmodat2, file, "", 0644, AT_EMPTY_PATH));
  FAILS(fchmodat2, "a flag that is unknown", EINVAL, syscall(SYS_fchmodat2, AT_FDCWD, "file", 0644, 1));
  FAILS(fchmodat2, "another's file", EPERM, syscall(SYS_fchmodat2, AT_FDCWD, "/mnt/theirs/readable", 0600, 0));
  PATH_ERRORS(fchmodat2, FCHMODAT2);
  chmod("file", 06755);
  GIVES(fchownat, "to oneself", 0, fchownat(AT_FDCWD, "file", 1000, 1000, 0));
  GIVES(fchownat, "clears the bits of set-user-ID and set-group-ID", S_IFREG | 0755, mode_of("file"));
  GIVES(fchownat, "no change", 0, fchownat(AT_FDCWD, "file", -1, -1, 0));
  GIVES(fchownat, "AT_SYMLINK_NOFOLLOW of a link to nothing", 0,
        fchownat(AT_FDCWD, "dangling", 1000, 1000, AT_SYMLINK_NOFOLLOW));
  GIVES(fchownat, "AT_EMPTY_PATH", 0, fchownat(file, "", 1000, 1000, AT_EMPTY_PATH));
  FAILS(fchownat, "to another user", EPERM, fchownat(AT_FDCWD, "file", 0, -1, 0));
  FAILS(fchownat, "to another group", EPERM, fchownat(AT_FDCWD, "file", -1, 0, 0));
  FAILS(fchownat, "another's file", EPERM, fchownat(AT_FDCWD, "/mnt/theirs/readable", 1000, -1, 0));
  FAILS(fchownat, "a flag that is unknown", EINVAL, fchownat(AT_FDCWD, "file", 1000, 1000, 1));
  PATH_ERRORS(fchownat, FCHOWNAT);
  GIVES(fchown, "to oneself", 0, fchown(file, 1000, 1000));
  FAILS(fchown, "to another user", EPERM, fchown(file, 0, -1));
  FAILS(fchown, "another's file", EPERM, fchown(theirs, 1000, -1));
  FAILS(fchown, "no descriptor", EBADF, fchown(kNoDescriptor, 1000, 1000));
  FAILS(fchown, "a descriptor of O_PATH", EBADF, fchown(path, 1000, 1000));
  // Times.
  struct timespec times[2] = {{1000000, 123456789}, {2000000, 987654321}};
  GIVES(utimensat, "two times", 0, utimensat(AT_FDCWD, "file", times, 0));
  stat("file", &status);
  GIVES(utimensat, "the time of the last access", 1000000, status.st_atim.tv_sec);
  GIVES(utimensat, "the time of the last change", 2000000, status.st_mtim.tv_sec);
  GIVES(utimensat, "nanoseconds", 987654321, status.st_mtim.tv_nsec);
  times[0].tv_nsec = UTIME_OMIT, times[1].tv_nsec = UTIME_OMIT;
  GIVES(utimensat, "UTIME_OMIT twice needs no file", 0, utimensat(AT_FDCWD, "none", times, 0));
  times[1].tv_sec = 5, times[1].tv_nsec = 0;
  GIVES(utimensat, "UTIME_OMIT leaves a time", 1000000,
        (utimensat(AT_FDCWD, "file", times, 0), stat("file", &status), status.st_atim.tv_sec));
  times[0].tv_nsec = UTIME_NOW, times[1].tv_nsec = UTIME_NOW;
  GIVES(utimensat, "UTIME_NOW", 1,
        utimensat(AT_FDCWD, "file", times, 0) == 0 && stat("file", &status) == 0 && status.st_mtim.tv_sec > 1000000000);
  GIVES(utimensat, "no times are now", 0, utimensat(AT_FDCWD, "file", NULL, 0));
  GIVES(utimensat, "of a descriptor", 0, syscall(SYS_utimensat, file, NULL, NULL, 0));
  GIVES(utimensat, "AT_SYMLINK_NOFOLLOW of a link to nothing", 0,
        utimensat(AT_FDCWD, "dangling", NULL, AT_SYMLINK_NOFOLLOW));
  times[0].tv_nsec = 1000000000;
  FAILS(utimensat, "nanoseconds that are a second", EINVAL, utimensat(AT_FDCWD, "file", times, 0));
  times[0] = times[1] = (struct timespec){5, 5};
  FAILS(utimensat, "a flag that is unknown", EINVAL, utimensat(AT_FDCWD, "file", times, 1));
  FAILS(utimensat, "times that cannot be read", EFAULT, syscall(SYS_utimensat, AT_FDCWD, "file", nowhere, 0));
  FAILS(utimensat, "another's file", EPERM, utimensat(AT_FDCWD, "/mnt/theirs/readable", times, 0));
  FAILS(utimensat, "another's file, now", EACCES, utimensat(AT_FDCWD, "/mnt/theirs/readable", NULL, 0));
  PATH_ERRORS(utimensat, UTIMENSAT);
  close(theirs), close(path);
  GIVES(umask, "the mask before", 022, umask(077));
  GIVES(umask, "more than 0777 is left out", 077, (umask(01022), umask(022) == 022 ? 077 : 0));
}

static void walking(void) {
  GIVES(getcwd, "the folder", 9, syscall(SYS_getcwd, text, sizeof text));
  GIVES(getcwd, "its path", 0, strcmp(text, "/mnt/own"));
  FAILS(getcwd, "a buffer that is too small", ERANGE, syscall(SYS_getcwd, text, 8));
  FAILS(getcwd, "a buffer that cannot be written", EFAULT, syscall(SYS_getcwd, nowhere, 100));
  GIVES(chdir, "a folder", 0, chdir("folder"));
  GIVES(chdir, "where it is now", 0, strcmp(getcwd(text, sizeof text), "/mnt/own/folder"));
  GIVES(chdir, "the one above", 0, chdir(".."));
  FAILS(chdir, "a file", ENOTDIR, chdir("file"));
  FAILS(chdir, "what is not there", ENOENT, chdir("none"));
  FAILS(chdir, "no path", ENOENT, chdir(""));
  FAILS(chdir, "a link to itself", ELOOP, chdir("loop"));
  FAILS(chdir, "a folder that only another may search", EACCES, chdir("/mnt/theirs/closed"));
  FAILS(chdir, "a name of 256 bytes", ENAMETOOLONG, chdir(long_name));
  FAILS(chdir, "a path that cannot be read", EFAULT, chdir(nowhere));
  const int inner = open("folder", O_RDONLY | O_DIRECTORY), closed = open("/mnt/theirs/closed", O_PATH);
  GIVES(fchdir, "a folder", 0, fchdir(inner));
  GIVES(fchdir, "where it is now", 0, strcmp(getcwd(text, sizeof text), "/mnt/own/folder"));
  GIVES(fchdir, "back", 0, fchdir(folder));
  FAILS(fchdir, "a file", ENOTDIR, fchdir(file));
  FAILS(fchdir, "no descriptor", EBADF, fchdir(kNoDescriptor));
  FAILS(fchdir, "a folder that only another may search", EACCES, fchdir(closed));
  close(inner), close(closed);
  mkdir("gone", 0755), chdir("gone"), rmdir("../gone");
  FAILS(getcwd, "a folder that has been removed", ENOENT, syscall(SYS_getcwd, text, sizeof text));
  FAILS(openat, "a new file in a folder that has been removed", ENOENT, open("new", O_RDWR | O_CREAT, 0644));
  const int gone = open(".", O_RDONLY | O_DIRECTORY);
  FAILS(getdents64, "a folder that has been removed", ENOENT, syscall(SYS_getdents64, gone, text, sizeof text));
  close(gone);
  fchdir(folder);
  // getdents64
  mkdir("listed", 0755);
  make("listed/one", "1"), make("listed/two", "2"), symlink("one", "listed/three");
  const int listed = open("listed", O_RDONLY | O_DIRECTORY);
  long size = syscall(SYS_getdents64, listed, text, sizeof text), names = 0, types = 0;
  for (long at = 0; at < size; at += ((struct dirent64*)(text + at))->d_reclen) {
    names++;
    types += ((struct dirent64*)(text + at))->d_type;
  }
  GIVES(getdents64, "names, with . and ..", 5, names);
  GIVES(getdents64, "types", 2 * DT_DIR + 2 * DT_REG + DT_LNK, types);
  GIVES(getdents64, "at the end", 0, syscall(SYS_getdents64, listed, text, sizeof text));
  GIVES(getdents64, "again from the beginning", size,
        (lseek(listed, 0, SEEK_SET), syscall(SYS_getdents64, listed, text, sizeof text)));
  lseek(listed, 0, SEEK_SET);
  FAILS(getdents64, "a buffer that is too small", EINVAL, syscall(SYS_getdents64, listed, text, 10));
  FAILS(getdents64, "a buffer that cannot be written", EFAULT, syscall(SYS_getdents64, listed, nowhere, 1000));
  FAILS(getdents64, "a file", ENOTDIR, syscall(SYS_getdents64, file, text, sizeof text));
  FAILS(getdents64, "no descriptor", EBADF, syscall(SYS_getdents64, kNoDescriptor, text, sizeof text));
  close(listed);
  // statfs
  struct statfs system;
  GIVES(statfs, "a path", 0, statfs("file", &system));
  GIVES(statfs, "the longest name", 255, system.f_namelen);
  FAILS(statfs, "what is not there", ENOENT, statfs("none", &system));
  FAILS(statfs, "a file as a folder in the path", ENOTDIR, statfs("file/x", &system));
  FAILS(statfs, "a link to itself", ELOOP, statfs("loop", &system));
  FAILS(statfs, "a name of 256 bytes", ENAMETOOLONG, statfs(long_name, &system));
  FAILS(statfs, "in a folder that only another may search", EACCES, statfs("/mnt/theirs/closed/x", &system));
  FAILS(statfs, "a path that cannot be read", EFAULT, statfs(nowhere, &system));
  FAILS(statfs, "to where nothing can be written", EFAULT, syscall(SYS_statfs, "file", nowhere));
  GIVES(fstatfs, "a file", 0, fstatfs(file, &system));
  GIVES(fstatfs, "the size of a page", 4096, system.f_bsize);
  FAILS(fstatfs, "no descriptor", EBADF, fstatfs(kNoDescriptor, &system));
  FAILS(fstatfs, "to where nothing can be written", EFAULT, syscall(SYS_fstatfs, file, nowhere));
}

// Attributes: a set of calls for paths, for links themselves, for descriptors. NAME is what they are of.
#define ATTRIBUTES(set, get, list, drop, NAME)                                                                \
  GIVES(set, "a new attribute", 0, set(NAME, "user.one", "value", 5, XATTR_CREATE));                          \
  FAILS(set, "XATTR_CREATE of one that is there", EEXIST, set(NAME, "user.one", "value", 5, XATTR_CREATE));   \
  FAILS(set, "XATTR_REPLACE of one that is not", ENODATA, set(NAME, "user.none", "value", 5, XATTR_REPLACE)); \
  FAILS(set, "a name space that is unknown", EOPNOTSUPP, set(NAME, "nobody.one", "value", 5, 0));             \
  FAILS(set, "a flag that is unknown", EINVAL, set(NAME, "user.one", "value", 5, 77));                        \
  FAILS(set, "a name of 256 bytes", ERANGE, set(NAME, long_name, "value", 5, 0));                             \
  FAILS(set, "a value of more than 64 KiB", E2BIG, set(NAME, "user.one", text, 70000, 0));                    \
  FAILS(set, "a name that is kept for privileged ones", EPERM, set(NAME, "trusted.one", "value", 5, 0));      \
  GIVES(get, "the value", 5, get(NAME, "user.one", text, sizeof text));                                       \
  GIVES(get, "its size alone", 5, get(NAME, "user.one", NULL, 0));                                            \
  FAILS(get, "a buffer that is too small", ERANGE, get(NAME, "user.one", text, 3));                           \
  FAILS(get, "one that is not there", ENODATA, get(NAME, "user.none", text, sizeof text));                    \
  FAILS(get, "a name space that is unknown", EOPNOTSUPP, get(NAME, "nobody.one", text, sizeof text));         \
  GIVES(list, "the names", 9, list(NAME, text, sizeof text));                                                 \
  GIVES(list, "their size alone", 9, list(NAME, NULL, 0));                                                    \
  FAILS(list, "a buffer that is too small", ERANGE, list(NAME, text, 3));                                     \
  GIVES(drop, "an attribute", 0, drop(NAME, "user.one"));                                                     \
  FAILS(drop, "one that is not there", ENODATA, drop(NAME, "user.one"));                                      \
  FAILS(drop, "a name space that is unknown", EOPNOTSUPP, drop(NAME, "nobody.one"))

static void attributes(void) {
  ATTRIBUTES(setxattr, getxattr, listxattr, removexattr, "file");
  ATTRIBUTES(lsetxattr, lgetxattr, llistxattr, lremovexattr, "file");
  ATTRIBUTES(fsetxattr, fgetxattr, flistxattr, fremovexattr, file);
  FAILS(setxattr, "what is not there", ENOENT, setxattr("none", "user.one", "value", 5, 0));
  FAILS(getxattr, "what is not there", ENOENT, getxattr("none", "user.one", text, 5));
  FAILS(listxattr, "what is not there", ENOENT, listxattr("none", text, 5));
  FAILS(removexattr, "what is not there", ENOENT, removexattr("none", "user.one"));
  FAILS(lsetxattr, "a link itself", EPERM, lsetxattr("link", "user.one", "value", 5, 0));
  FAILS(lgetxattr, "what is not there", ENOENT, lgetxattr("none", "user.one", text, 5));
  FAILS(llistxattr, "what is not there", ENOENT, llistxattr("none", text, 5));
  FAILS(lremovexattr, "what is not there", ENOENT, lremovexattr("none", "user.one"));
  FAILS(fsetxattr, "no descriptor", EBADF, fsetxattr(kNoDescriptor, "user.one", "value", 5, 0));
  FAILS(fgetxattr, "no descriptor", EBADF, fgetxattr(kNoDescriptor, "user.one", text, 5));
  FAILS(flistxattr, "no descriptor", EBADF, flistxattr(kNoDescriptor, text, 5));
  FAILS(fremovexattr, "no descriptor", EBADF, fremovexattr(kNoDescriptor, "user.one"));
}

int main(void) {
  memset(long_name, 'n', 256);
  memset(long_path, '/', 4096);
  umask(022);
  make("file", "0123456789");
  mkdir("folder", 0755);
  symlink("file", "link"), symlink("loop", "loop"), symlink("nothing", "dangling"), symlink("nothing", "dangling2");
  file = open("file", O_RDWR);
  folder = open(".", O_RDONLY | O_DIRECTORY);
  making();
  naming();
  looking();
  changing();
  walking();
  attributes();
  return 0;
}
