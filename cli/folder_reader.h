// SPDX-License-Identifier: Apache-2.0
// Reads the files of a folder with several threads, ahead of who takes them. They are taken in the order of their names,
// and what was read and not taken is bounded.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace myriarm::cli {

class FolderReader {
 public:
  struct Options {
    unsigned threads = 0;                       ///< 0: as many as are useful here
    uint64_t most_bytes = uint64_t{256} << 20;  ///< of files that were read and not taken
    uint64_t most_files = uint64_t{1} << 20;    ///< of the same
  };
  struct File {
    std::string name;
    std::vector<uint8_t> bytes;
  };

  /// The files of `folder` with these names. `option` is for messages. The threads begin with the first call below.
  FolderReader(const char* option, std::string folder, std::vector<std::string> names, const Options& options);
  FolderReader(const char* option, std::string folder, std::vector<std::string> names)
      : FolderReader(option, std::move(folder), std::move(names), Options()) {}
  ~FolderReader();
  FolderReader(const FolderReader&) = delete;

  /// Waits for the next file; nothing: all were taken. Throws ArgumentError for a file that cannot be read or is too large,
  /// when the files before it were taken.
  std::optional<File> take();
  /// Waits until take() would not wait for a file, nor for files of that many bytes or those that are left, but no longer
  /// than `patience`. Returns whether that is so.
  bool is_ready(uint64_t bytes, std::chrono::milliseconds patience);
  /// How many files take() would not wait for.
  uint64_t ready() const;
  /// How many files there are in all.
  uint64_t count() const { return names_.size(); }
  uint64_t taken() const { return taken_; }
  /// Bytes of files that were read and not taken, and of those that are being read. At most Options::most_bytes, or one file
  /// more: the next one is read in any case.
  uint64_t held_bytes() const;

 private:
  struct Slot {
    std::vector<uint8_t> bytes;
    uint64_t counted = 0;  // of held_
    bool done = false;
    std::exception_ptr error;
  };

  void start();
  void read_files();
  void read_one(const std::string& name, Slot& slot);

  const char* option_;
  const std::string folder_;
  std::vector<std::string> names_;
  const Options options_;
  uint64_t taken_ = 0;  // files; only the thread that takes them changes it
  std::vector<std::thread> threads_;

  mutable std::mutex mutex_;
  std::condition_variable for_readers_, for_taker_;
  std::deque<Slot> slots_;  // of files that were begun and not taken, in order
  uint64_t begun_ = 0;      // files
  uint64_t ready_ = 0;      // slots from the first on that are done
  uint64_t ready_bytes_ = 0;
  uint64_t held_ = 0;  // bytes
  bool ended_ = false;
};

}  // namespace myriarm::cli
