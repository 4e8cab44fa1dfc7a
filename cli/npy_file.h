// SPDX-License-Identifier: Apache-2.0
// A file of digests in NumPy's format NPY 1.0: a structured array of one dimension, whose header says how many were
// written before the last flush(). What was written after it is in the file behind them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "file.h"
#include "myriarm/inputs.h"
#include "output.h"

namespace myriarm::cli {

class NpyFile {
 public:
  /// Bytes before the first digest.
  static constexpr size_t kHeaderBytes = 512;

  /// Reads the digests of such a file, also of one whose writer was killed: those behind the header that are whole, whatever
  /// number it says. Throws ArgumentError if it is another file.
  static void read(const std::string& label, const std::string& path,
                   const std::function<void(const InputDigest&)>& take);

  /// Makes the file, or goes on behind its first `kept` digests; what is behind these is removed. `label` is for messages.
  /// Throws ArgumentError if it cannot be written, or is no file in which the header can be written again.
  NpyFile(std::string label, const std::string& path, uint64_t kept = 0);
  void write(std::span<const InputDigest> digests);
  /// Throws Error if not everything could be written.
  void flush();
  /// After flush(). Throws Error if what was written is lost.
  void close();

 private:
  /// Says how many digests there are. False: it could not be written.
  bool write_header() const;
  [[noreturn]] void fail() const;

  const std::string label_;
  File file_;
  std::optional<Output> out_;
  uint64_t written_;         // digests
  uint64_t written_before_;  // of these, before the last flush()
};

}  // namespace myriarm::cli
