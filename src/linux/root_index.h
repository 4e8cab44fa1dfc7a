// SPDX-License-Identifier: Apache-2.0
// What the folder that is a root contains: names, links and attributes, read once. Nothing here follows a path or a link.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "myriarm/file_tree.h"

namespace myriarm::linux_process {

struct RootEntry {
  std::string name;
  uint32_t file;
};

/// A file of the root; its number is its index.
struct RootFile {
  uint32_t mode = 0;
  uint32_t links = 0;
  uint64_t size = 0, device = 0;
  uint32_t owner = 0;   // its user and its group
  uint32_t source = 0;  // the folder of the host in which it lies: 0 is the root's, n that of bind n - 1
  int64_t seconds = 0;
  uint32_t nanoseconds = 0;
  // Of the folder in which it was found first. With the name it says where the file lies on the host; the root is its own.
  uint32_t parent = 0;
  std::string name;
  uint64_t host_device = 0, host_number = 0;  // its identity on the host; 0, 0: it is not there
  std::string target;                         // of a link
  std::vector<RootEntry> entries;             // of a folder, in the order of the names
  std::string path;                           // of a folder, in the guest
  std::vector<uint8_t> records;               // of a folder: those of getdents64

  bool is_folder() const { return S_ISDIR(mode); }
  bool is_link() const { return S_ISLNK(mode); }
};

struct RootIndex {
  std::vector<RootFile> files;  // the root first
  uint32_t program_link = 0;    // /proc/<number>/exe
  std::vector<uint32_t> tops;   // by source: the file that is its folder
};

/// A folder of the host that is in the index.
struct BoundSource {
  int folder;  // a descriptor
  const BoundFolder& bound;
};

/// The number of the inode that the guest sees.
constexpr uint64_t inode_of(uint32_t file) { return uint64_t{file} + 2; }

/// Reads the folder behind an open descriptor, and those bound into it. `name`: for messages. Throws ArgumentError.
RootIndex read_index(int folder, const std::string& name, std::span<const BoundSource> binds);

}  // namespace myriarm::linux_process
