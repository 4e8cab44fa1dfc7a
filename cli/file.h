// SPDX-License-Identifier: Apache-2.0
// A file that the command line writes.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <string>
#include <utility>

namespace myriarm::cli {

/// A file that was opened for writing, or none.
class File {
 public:
  File() = default;
  /// `flags`: those of open(2) beside O_WRONLY and O_CLOEXEC.
  explicit File(const std::string& path, int flags = O_CREAT | O_TRUNC)
      : descriptor_(::open(path.c_str(), O_WRONLY | O_CLOEXEC | flags, 0666)) {}
  /// Takes a descriptor that is open for writing; -1 is none.
  explicit File(int descriptor) : descriptor_(descriptor) {}
  File(File&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  File& operator=(File&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~File() { (void)close(); }

  int descriptor() const { return descriptor_; }
  explicit operator bool() const { return descriptor_ >= 0; }
  /// Returns false if what was written is lost.
  bool close() { return descriptor_ < 0 || ::close(std::exchange(descriptor_, -1)) == 0; }

 private:
  int descriptor_ = -1;
};

}  // namespace myriarm::cli
