// SPDX-License-Identifier: Apache-2.0
// File systems that processes have as their root: what a file is, the interface that the library asks, and folders of the
// host as such a file system. It is the same for all processes, and read-only: what a process writes is its own, in pages of
// its lane. Guest paths are followed in what was read of the folders, never by the host.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace myriarm {

/// What stat(2) says of a file. All times of a file are one.
struct FileFacts {
  uint64_t number = 0;  ///< of the inode
  uint32_t mode = 0;    ///< type and permissions
  uint32_t links = 1;   ///< names that it has; of a folder: 2, and one more for each folder in it
  uint32_t user = 0, group = 0;
  /// Of a device, its number as in st_rdev; of another file, which of those in /proc it is that the library makes (0: none).
  uint64_t device = 0;
  uint64_t size = 0;
  int64_t seconds = 0;  ///< since 1970: when it was last modified
  uint32_t nanoseconds = 0;
};

/// How FileTree::find() follows a path.
enum FindFlag : uint32_t {
  kFollowLast = 1,  ///< a symbolic link at the end of the path is followed
};

/// A read-only file system. Files have numbers from 0, which is the root. All functions may be called from several threads
/// at a time, and always say the same; none may throw.
class FileTree {
 public:
  virtual ~FileTree() = default;

  /// The file that a path leads to, by path_resolution(7) for a user who owns no file, or a negative number of errno(3).
  /// `from`: the folder at which a relative path begins. `program`: the path that /proc/self/exe leads to.
  virtual int64_t find(uint32_t from, std::string_view path, uint32_t flags, std::string_view program) const = 0;
  virtual FileFacts facts(uint32_t file) const = 0;
  /// The bytes of a regular file, the path in a link, or the records of getdents64(2) of a folder, ordered by name after
  /// "." and "..". They stay as they are as long as the tree does. False: they cannot be read.
  virtual bool content(uint32_t file, std::span<const uint8_t>& bytes) const = 0;
  /// The file that a folder has under a name other than "." and "..", or -ENOENT.
  virtual int64_t look_up(uint32_t folder, std::string_view name) const = 0;
  /// The folder in which a folder is; the root's is the root.
  virtual uint32_t parent(uint32_t folder) const = 0;
  /// Whether it is the link /proc/self/exe, which leads to each process's own program.
  virtual bool is_program_link(uint32_t file) const = 0;
};

/// A further folder of the host that processes see in their root.
struct BoundFolder {
  std::string folder;  ///< of the host
  std::string place;   ///< the path of the folder that it is in the guest; what the root has there is not seen
  /// Its files belong to the user of the processes, which can change them. What they change is kept with the lane, as all else
  /// that it writes: nothing is ever written to the folder of the host.
  bool is_writable = false;
};

/// A folder of the host as the root of processes. Its names, links and file attributes are read now, in the order of the
/// names, which also gives the files their numbers; the bytes of a regular file are read when a process first needs them,
/// and kept. A file that is no longer as it was then cannot be read (EIO). All files belong to user 0 and group 0. In place of
/// the folder's own, /dev has null, zero, full, random, urandom, tty, fd, stdin, stdout and stderr, and /proc has self with exe, fd, task, auxv, cmdline, comm, environ, maps and status; and /tmp is a folder in which
/// everybody may make files. Throws ArgumentError if the folder cannot be read, has more than a million files, or folders
/// nested more than 200 deep; or for a bind whose folder cannot be read, or whose place is no path of a folder.
std::shared_ptr<const FileTree> read_root(const std::string& folder, std::span<const BoundFolder> binds = {});

/// A file that a process has left in its file system.
struct CollectedFile {
  std::string path;            ///< in the guest, from the root, without links
  uint32_t mode = 0;           ///< type and permissions: a folder, a regular file, a symbolic link or a FIFO
  std::vector<uint8_t> bytes;  ///< of a regular file; of a link, the path in it
  bool left_out = false;       ///< its bytes are not there: they are more than was asked for, or cannot be read
  int64_t seconds = 0;         ///< since 1970: when it was last modified
  uint32_t nanoseconds = 0;
};

}  // namespace myriarm
