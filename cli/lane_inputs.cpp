// SPDX-License-Identifier: Apache-2.0
#include "lane_inputs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

#include "myriarm/error.h"

namespace myriarm::cli {
namespace {

namespace fs = std::filesystem;

constexpr size_t kBlockBytes = size_t{1} << 18;

/// The bytes of a file, or of standard input.
class Reader {
 public:
  Reader(const char* option, std::string path) : option_(option), path_(std::move(path)) {
    file_ = path_ == "-" ? STDIN_FILENO : ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    if (file_ < 0) fail();
  }
  Reader(const Reader&) = delete;
  ~Reader() {
    if (file_ > STDERR_FILENO) ::close(file_);
  }
  /// Appends a block to `bytes`; false at the end.
  bool append(std::vector<uint8_t>& bytes) {
    const size_t size = bytes.size();
    bytes.resize(size + kBlockBytes);
    ssize_t n;
    do n = ::read(file_, bytes.data() + size, kBlockBytes);
    while (n < 0 && errno == EINTR);
    if (n < 0) fail();
    bytes.resize(size + static_cast<size_t>(n));
    return n != 0;
  }
  [[noreturn]] void refuse(const std::string& why) const { throw ArgumentError(fmt::format("{}: {}", option_, why)); }
  const std::string& path() const { return path_; }
  /// The bytes of a regular file from its beginning here; nothing of a pipe.
  std::optional<uint64_t> size() const {
    struct stat facts = {};
    if (path_ == "-" || ::fstat(file_, &facts) != 0 || !S_ISREG(facts.st_mode)) return std::nullopt;
    return static_cast<uint64_t>(facts.st_size);
  }

 private:
  [[noreturn]] void fail() const {
    refuse(fmt::format("{} cannot be read ({}); give a folder, a file, or - for standard input", path_,
                       std::strerror(errno)));
  }

  const char* option_;
  std::string path_;
  int file_;
};

/// The lines or the records of a file.
class FileSource final : public InputSource {
 public:
  FileSource(const char* option, const std::string& path, uint64_t record_bytes)
      : reader_(option, path), record_bytes_(record_bytes), size_(reader_.size()) {}

  bool next(std::vector<uint8_t>& bytes, std::string& name) override {
    name.clear();
    size_t searched = 0;  // from at_ on
    while (true) {
      const size_t have = buffer_.size() - at_;
      const size_t size = record_bytes_ != 0 ? (have >= record_bytes_ ? record_bytes_ : 0) : line_size(searched);
      if (size != 0) return take(size, bytes);
      searched = have;
      if (have > kMostInputBytes)
        reader_.refuse(reader_.path() + " holds an input of more than 4 GiB; give smaller ones");
      buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<ptrdiff_t>(at_));
      at_ = 0;
      if (reader_.append(buffer_)) continue;
      if (buffer_.empty()) {
        has_ended_ = true;
        return false;
      }
      if (record_bytes_ != 0) {
        reader_.refuse(fmt::format("the last record of {} has {} of {} bytes; give whole records", reader_.path(),
                                   buffer_.size(), record_bytes_));
      }
      return take(buffer_.size(), bytes);
    }
  }

  std::optional<uint64_t> expected() const override {
    if (has_ended_) return given_;
    if (!size_) return std::nullopt;
    if (record_bytes_ != 0) return *size_ / record_bytes_;
    if (given_bytes_ == 0) return std::nullopt;
    const double each = static_cast<double>(given_bytes_) / static_cast<double>(given_);
    return given_ + static_cast<uint64_t>(static_cast<double>(*size_ - std::min(*size_, given_bytes_)) / each);
  }

 private:
  /// The size of the line that begins at at_, with its newline; 0 if its end was not read yet.
  size_t line_size(size_t searched) const {
    const uint8_t* begin = buffer_.data() + at_;
    const size_t have = buffer_.size() - at_;
    const void* end = have == searched ? nullptr : std::memchr(begin + searched, '\n', have - searched);
    return end == nullptr ? 0 : static_cast<size_t>(static_cast<const uint8_t*>(end) - begin) + 1;
  }
  bool take(size_t size, std::vector<uint8_t>& bytes) {
    const auto begin = buffer_.begin() + static_cast<ptrdiff_t>(at_);
    bytes.assign(begin, begin + static_cast<ptrdiff_t>(size));
    at_ += size;
    given_++;
    given_bytes_ += size;
    return true;
  }

  Reader reader_;
  const uint64_t record_bytes_;
  const std::optional<uint64_t> size_;  // of the file
  std::vector<uint8_t> buffer_;
  size_t at_ = 0;                         // where the next input begins
  uint64_t given_ = 0, given_bytes_ = 0;  // inputs
  bool has_ended_ = false;
};

class FolderSource final : public InputSource {
 public:
  FolderSource(const char* option, std::string path) : option_(option), path_(std::move(path)) {
    std::error_code error;
    for (fs::directory_iterator entry(path_, error), end; !error && entry != end; entry.increment(error)) {
      std::string name = entry->path().filename().string();
      if (name[0] != '.' && entry->is_regular_file(error)) names_.push_back(std::move(name));
      error.clear();  // a link that leads nowhere is no file
    }
    if (error) {
      throw ArgumentError(fmt::format("{}: {} cannot be listed ({}); give another", option_, path_, error.message()));
    }
    std::sort(names_.begin(), names_.end());
  }

  bool next(std::vector<uint8_t>& bytes, std::string& name) override {
    if (at_ == names_.size()) return false;
    name = names_[at_++];
    Reader reader(option_, (fs::path(path_) / name).string());
    bytes.clear();
    while (reader.append(bytes)) {
      if (bytes.size() > kMostInputBytes) reader.refuse(reader.path() + " has more than 4 GiB; give smaller files");
    }
    return true;
  }

  std::optional<uint64_t> expected() const override { return names_.size(); }

 private:
  const char* option_;
  std::string path_;
  std::vector<std::string> names_;
  size_t at_ = 0;
};

}  // namespace

std::unique_ptr<InputSource> open_inputs(const char* option, const std::string& path, uint64_t record_bytes) {
  std::error_code error;
  if (path == "-" || !fs::is_directory(path, error)) return std::make_unique<FileSource>(option, path, record_bytes);
  if (record_bytes != 0) {
    throw ArgumentError("--record-size: " + path + " is a folder, each file of which is an input; leave it out");
  }
  return std::make_unique<FolderSource>(option, path);
}

InputFeeder::InputFeeder(Options options) : options_(std::move(options)) {
  if (!options_.inputs.empty()) inputs_ = open_inputs("--inputs", options_.inputs, options_.record_bytes);
  if (!options_.args_file.empty()) {
    std::error_code error;
    if (fs::is_directory(options_.args_file, error)) {
      throw ArgumentError("--args-file: " + options_.args_file + " is a folder; give a file with a line for each lane");
    }
    lines_ = open_inputs("--args-file", options_.args_file, 0);
  }
}

bool InputFeeder::next(ProcessInput& item, std::string& name) {
  std::vector<uint8_t> input, line;
  std::string unused;
  item = {};
  const bool has_input = inputs_ && inputs_->next(input, name), has_line = lines_ && lines_->next(line, unused);
  if (inputs_ && lines_ && has_input != has_line) {
    throw ArgumentError(fmt::format("{} has {} {}, and {} has more; give as many",
                                    has_input ? "--args-file" : "--inputs", count_, has_input ? "lines" : "inputs",
                                    has_input ? "--inputs" : "--args-file"));
  }
  if (!has_input && !has_line) return false;
  count_++;
  if (has_line) {
    const std::string where = fmt::format("--args-file: line {} of {}", count_, options_.args_file);
    item.arguments = options_.arguments;
    const std::vector<std::string> words = split_words(line, where);
    item.arguments->insert(item.arguments->end(), words.begin(), words.end());
  }
  if (has_input) place(std::move(input), item);
  return true;
}

void InputFeeder::place(std::vector<uint8_t> bytes, ProcessInput& item) {
  if (count_ == 1) {
    const std::vector<std::string>& words = item.arguments ? *item.arguments : options_.arguments;
    as_file_ = std::any_of(words.begin(), words.end(),
                           [](const std::string& word) { return word.find(kInputFileMark) != word.npos; });
    if (!as_file_ && options_.standard_input_is_given) {
      throw ArgumentError(
          "--inputs: the lanes read --stdin already; leave it out, or name the input in an argument: @@");
    }
  }
  (as_file_ ? item.file : item.standard_input) = std::move(bytes);
}

std::vector<std::string> split_words(std::span<const uint8_t> bytes, const std::string& where) {
  std::string_view line(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (line.ends_with('\n')) line.remove_suffix(1);
  if (line.find('\0') != line.npos) throw ArgumentError(where + " holds a NUL character; remove it");
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

}  // namespace myriarm::cli
