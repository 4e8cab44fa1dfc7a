// SPDX-License-Identifier: Apache-2.0
// A folder of the host for the tests of roots, which is removed at the end.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "myriarm/file_tree.h"

namespace myriarm::test {

class RootFolder {
 public:
  RootFolder() {
    std::string name = testing::TempDir() + "/root-XXXXXX";
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    ::chmod(name.c_str(), 0755);
    path_ = name;
  }
  ~RootFolder() { std::filesystem::remove_all(path_); }
  RootFolder(const RootFolder&) = delete;
  RootFolder& operator=(const RootFolder&) = delete;

  std::string path(const std::string& inside = "") const { return path_ + "/" + inside; }
  void folder(const std::string& name, unsigned mode = 0755) const {
    std::filesystem::create_directories(path(name));
    ::chmod(path(name).c_str(), mode);
  }
  void file(const std::string& name, const std::string& content, unsigned mode = 0644) const {
    std::ofstream(path(name)) << content;
    ::chmod(path(name).c_str(), mode);
  }
  void link(const std::string& name, const std::string& target) const {
    EXPECT_EQ(::symlink(target.c_str(), path(name).c_str()), 0) << name;
  }

 private:
  std::string path_;
};

/// What a regular file or a link contains.
inline std::string content_of(const FileTree& tree, const std::string& path, uint32_t flags = kFollowLast) {
  const int64_t file = tree.find(0, path, flags, "/program");
  std::span<const uint8_t> bytes;
  if (file < 0 || !tree.content(static_cast<uint32_t>(file), bytes)) return "error " + std::to_string(-file);
  return {bytes.begin(), bytes.end()};
}

}  // namespace myriarm::test
