// SPDX-License-Identifier: Apache-2.0
// A file from which inputs are read, with messages that name the option that gave it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace myriarm::cli {

/// No input may be larger, nor all inputs that are kept in memory together.
constexpr uint64_t kMostInputBytes = uint64_t{1} << 32;

class InputFile {
 public:
  /// "-" is standard input. Throws ArgumentError if the file cannot be opened, as the other functions if it cannot be read.
  InputFile(const char* option, std::string path);
  InputFile(const InputFile&) = delete;
  ~InputFile();

  /// Appends a block to `bytes`; false at the end.
  bool append(std::vector<uint8_t>& bytes);
  /// The whole file, from which nothing was read yet. Throws ArgumentError if it has more than kMostInputBytes.
  std::vector<uint8_t> read_all();
  /// Whether append() returns at once; waits for that if it is not so yet.
  bool is_ready(int milliseconds) const;
  [[noreturn]] void refuse(const std::string& why) const;
  const std::string& path() const { return path_; }
  /// The bytes of a regular file; nothing of a pipe.
  std::optional<uint64_t> size() const;

 private:
  [[noreturn]] void fail() const;
  [[noreturn]] void refuse_size() const;
  /// Throws ArgumentError if there is no memory for so many.
  void resize(std::vector<uint8_t>& bytes, size_t size) const;
  /// Reads at most so many bytes; 0 at the end.
  size_t read(uint8_t* to, size_t most);

  const char* option_;
  std::string path_;
  int file_;
};

}  // namespace myriarm::cli
