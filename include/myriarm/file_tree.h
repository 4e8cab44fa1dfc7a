// SPDX-License-Identifier: Apache-2.0
// Read-only file systems that processes have as their root: what a file is, the interface that the library asks, and a
// folder of the host as such a file system. Guest paths are followed in what was read of the folder, never by the host.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace myriarm {

/// What stat(2) says of a file. All times of a file are one.
struct FileFacts {
  uint64_t number = 0;  ///< of the inode
  uint32_t mode = 0;    ///< type and permissions
  uint32_t links = 1;   ///< names that it has; of a folder: 2, and one more for each folder in it
  uint32_t user = 0, group = 0;
  uint64_t device = 0;  ///< of a device, its number as in st_rdev
  uint64_t size = 0;
  int64_t seconds = 0;  ///< since 1970: when it was last modified
  uint32_t nanoseconds = 0;
};

/// How FileTree::find() follows a path; combine with |.
enum FindFlag : uint32_t {
  kFollowLast = 1,    ///< a symbolic link at the end of the path is followed
  kFindParent = 2,    ///< finds the folder in which the last name of the path is looked for, whether it is there or not
  kFindToCreate = 4,  ///< as open(2) with O_CREAT: -EROFS if the last name is missing, -EISDIR if a slash follows it
  kFindNew = 8,  ///< as for a new link: the file of the last name, -EROFS if it is missing, -ENOENT if a slash follows
  kFindNewFolder = 16,  ///< as kFindNew, and a slash may follow
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
  /// The path of a folder from the root, without a slash at the end unless it is the root.
  virtual std::string_view path(uint32_t folder) const = 0;
  /// Whether it is the link /proc/self/exe, which leads to each process's own program.
  virtual bool is_program_link(uint32_t file) const = 0;
};

/// A folder of the host as the root of processes. Its names, links and file attributes are read now, in the order of the
/// names, which also gives the files their numbers; the bytes of a regular file are read when a process first needs them,
/// and kept. A file that is no longer as it was then cannot be read (EIO). All files belong to user 0 and group 0. In place of
/// the folder's own, /dev has null, zero, full, random, urandom and tty, and /proc has self/exe. Throws ArgumentError if
/// the folder cannot be read, has more than a million files, or folders nested more than 200 deep.
std::shared_ptr<const FileTree> read_root(const std::string& folder);

}  // namespace myriarm
