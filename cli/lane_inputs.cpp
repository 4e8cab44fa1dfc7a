// SPDX-License-Identifier: Apache-2.0
// A file is read in blocks and cut into inputs as they arrive, so that its bytes are not in memory twice.
#include "lane_inputs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>
#include <span>
#include <string_view>

#include "myriarm/error.h"

namespace myriarm::cli {
namespace {

namespace fs = std::filesystem;

constexpr size_t kBlockBytes = size_t{1} << 20;
constexpr uint64_t kMostBytes = uint64_t{1} << 32;

/// Reads files one after the other, and refuses more than kMostBytes in all.
class Reader {
 public:
  explicit Reader(const char* option) : option_(option) {}

  /// Calls `use` with each block of the file.
  void read(const std::string& path, const std::function<void(std::span<const uint8_t>)>& use) {
    const bool standard = path == "-";
    const int file = standard ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) fail(path, std::strerror(errno));
    block_.resize(kBlockBytes);
    while (true) {
      const ssize_t n = ::read(file, block_.data(), block_.size());
      const int error = errno;
      if (n < 0 && error == EINTR) continue;
      if (n > 0) total_ += static_cast<uint64_t>(n);
      if (n > 0 && total_ <= kMostBytes) {
        use({block_.data(), static_cast<size_t>(n)});
        continue;
      }
      if (!standard) ::close(file);
      if (n < 0) fail(path, std::strerror(error));
      if (n > 0) throw ArgumentError(fmt::format("{}: {} holds more than 4 GiB; give less at a time", option_, path));
      return;
    }
  }

 private:
  [[noreturn]] void fail(const std::string& path, const char* why) const {
    throw ArgumentError(
        fmt::format("{}: {} cannot be read ({}); give a folder, a file, or - for standard input", option_, path, why));
  }

  const char* option_;
  uint64_t total_ = 0;
  std::vector<uint8_t> block_;
};

/// Cuts a stream of blocks into lines, or into records.
class Cutter {
 public:
  Cutter(uint64_t record_bytes, std::function<void(std::span<const uint8_t>)> use)
      : record_bytes_(record_bytes), use_(std::move(use)) {}

  void take(std::span<const uint8_t> block) {
    while (!block.empty()) {
      size_t size = block.size();
      bool whole = false;
      if (record_bytes_ != 0) {
        size = std::min<uint64_t>(size, record_bytes_ - begun_.size());
        whole = begun_.size() + size == record_bytes_;
      } else if (const void* end = std::memchr(block.data(), '\n', block.size())) {
        size = static_cast<size_t>(static_cast<const uint8_t*>(end) - block.data()) + 1;
        whole = true;
      }
      if (whole && begun_.empty()) {
        use_(block.first(size));
      } else {
        begun_.insert(begun_.end(), block.begin(), block.begin() + static_cast<ptrdiff_t>(size));
        if (whole) {
          use_(begun_);
          begun_.clear();
        }
      }
      block = block.subspan(size);
    }
  }
  /// What follows the last newline or the last whole record.
  std::span<const uint8_t> rest() const { return begun_; }

 private:
  const uint64_t record_bytes_;
  std::function<void(std::span<const uint8_t>)> use_;
  std::vector<uint8_t> begun_;
};

LaneInputs read_folder(const std::string& path) {
  LaneInputs result;
  std::error_code error;
  for (fs::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error)) {
    std::string name = entry->path().filename().string();
    if (name[0] != '.' && entry->is_regular_file(error)) result.names.push_back(std::move(name));
    error.clear();  // a link that leads nowhere is no file
  }
  if (error)
    throw ArgumentError(fmt::format("--inputs: {} cannot be listed ({}); give another", path, error.message()));
  std::sort(result.names.begin(), result.names.end());
  Reader reader("--inputs");
  std::vector<uint8_t> bytes;
  for (const std::string& name : result.names) {
    bytes.clear();
    reader.read((fs::path(path) / name).string(),
                [&](std::span<const uint8_t> block) { bytes.insert(bytes.end(), block.begin(), block.end()); });
    result.inputs.add(bytes);
  }
  return result;
}

std::vector<std::string> split_words(std::string_view line, const std::string& where) {
  std::vector<std::string> words;
  bool in_word = false;
  char quote = 0;
  for (size_t at = 0; at < line.size(); at++) {
    const char c = line[at];
    if (quote != 0) {
      if (c == quote) quote = 0;
      else words.back() += c;
      continue;
    }
    if (c == ' ' || c == '\t') {
      in_word = false;
      continue;
    }
    if (!in_word) words.emplace_back();
    in_word = true;
    if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '\\') {
      if (++at == line.size()) throw ArgumentError(where + " ends with a backslash; put a character after it");
      words.back() += line[at];
    } else {
      words.back() += c;
    }
  }
  if (quote != 0) throw ArgumentError(fmt::format("{} has no second {}; close what it quotes", where, quote));
  return words;
}

}  // namespace

LaneInputs read_lane_inputs(const std::string& path, uint64_t record_bytes) {
  std::error_code error;
  LaneInputs result;
  if (path != "-" && fs::is_directory(path, error)) {
    if (record_bytes != 0) {
      throw ArgumentError("--record-size: " + path + " is a folder, each file of which is an input; leave it out");
    }
    result = read_folder(path);
  } else {
    Cutter cutter(record_bytes, [&](std::span<const uint8_t> input) { result.inputs.add(input); });
    Reader("--inputs").read(path, [&](std::span<const uint8_t> block) { cutter.take(block); });
    if (!cutter.rest().empty() && record_bytes != 0) {
      throw ArgumentError(fmt::format("--inputs: the last record of {} has {} of {} bytes; give whole records", path,
                                      cutter.rest().size(), record_bytes));
    }
    if (!cutter.rest().empty()) result.inputs.add(cutter.rest());
  }
  if (result.inputs.empty()) {
    throw ArgumentError("--inputs: " + path + " holds no input; give a folder with files, or a file with lines");
  }
  return result;
}

std::vector<std::vector<std::string>> read_lane_arguments(const std::string& path) {
  std::vector<std::vector<std::string>> result;
  const auto add = [&](std::span<const uint8_t> bytes) {
    std::string_view line(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (line.ends_with('\n')) line.remove_suffix(1);
    const std::string where = fmt::format("--args-file: line {} of {}", result.size() + 1, path);
    if (line.find('\0') != line.npos) throw ArgumentError(where + " holds a NUL character; remove it");
    result.push_back(split_words(line, where));
  };
  Cutter cutter(0, add);
  Reader("--args-file").read(path, [&](std::span<const uint8_t> block) { cutter.take(block); });
  if (!cutter.rest().empty()) add(cutter.rest());
  if (result.empty()) throw ArgumentError("--args-file: " + path + " holds no line; give one for each lane");
  return result;
}

}  // namespace myriarm::cli
