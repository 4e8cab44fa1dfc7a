// SPDX-License-Identifier: Apache-2.0
#include "lane_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <filesystem>
#include <string_view>
#include <utility>

#include "folder_reader.h"
#include "myriarm/error.h"

namespace myriarm::cli {
namespace {

namespace fs = std::filesystem;

// Of an InputBlock.
constexpr uint64_t kMostBlockInputs = uint64_t{1} << 20, kMostBlockBytes = uint64_t{64} << 20;
// Of the first block of files, so that lanes begin soon.
constexpr uint64_t kFirstBlockBytes = uint64_t{1} << 20;
// How long a source waits for inputs before it says that there are none for now.
constexpr int kPatienceMilliseconds = 50;

/// The lines or the records of a file.
class FileSource final : public InputSource {
 public:
  FileSource(const char* option, const std::string& path, uint64_t record_bytes)
      : reader_(option, path), record_bytes_(record_bytes), size_(reader_.size()) {}

  bool next(std::vector<uint8_t>& bytes, std::string& name, uint64_t& number) override {
    name.clear();
    while (true) {
      if (const size_t size = whole_input(); size != 0) {
        number = given_;
        const auto begin = buffer_.begin() + static_cast<ptrdiff_t>(at_);
        bytes.assign(begin, begin + static_cast<ptrdiff_t>(size));
        take(size);
        return true;
      }
      drop_taken();
      if (!read_more() && buffer_.empty()) return false;
    }
  }

  bool is_ready(bool wait) override {
    while (!has_read_all_ && whole_input() == 0) {
      if (!reader_.is_ready(wait ? kPatienceMilliseconds : 0)) return false;
      drop_taken();
      read_more();
    }
    return true;
  }

  Supply next_block(InputBlock& block, bool wait) override {
    drop_taken();
    block.offsets.assign(1, 0);
    block.first_number = given_;
    while (true) {
      while (block.offsets.size() <= kMostBlockInputs && at_ < kMostBlockBytes) {
        const size_t size = whole_input();
        if (size == 0) break;
        take(size);
        block.offsets.push_back(at_);
      }
      const bool has_some = at_ != 0;
      const bool is_full =
          block.offsets.size() > kMostBlockInputs || at_ >= kMostBlockBytes || (has_some && is_too_long());
      if (is_full || (has_some && (has_read_all_ || !reader_.is_ready(0)))) break;
      if (!has_read_all_ && !reader_.is_ready(wait ? kPatienceMilliseconds : 0)) return Supply::later;
      if (!read_more() && !has_some && buffer_.empty()) return Supply::ended;
    }
    block.bytes = buffer_;
    return Supply::input;
  }

  std::optional<uint64_t> expected() const override {
    if (has_read_all_ && at_ == buffer_.size()) return given_;
    if (!size_) return std::nullopt;
    if (record_bytes_ != 0) return *size_ / record_bytes_;
    if (given_bytes_ == 0) return std::nullopt;
    const double each = static_cast<double>(given_bytes_) / static_cast<double>(given_);
    return given_ + static_cast<uint64_t>(static_cast<double>(*size_ - std::min(*size_, given_bytes_)) / each);
  }

 private:
  /// The size of the input that begins at at_, a line with its newline; 0 if its end was not read yet. Throws if it is
  /// too large, or the last record and not whole.
  size_t whole_input() {
    const size_t have = buffer_.size() - at_;
    if (record_bytes_ != 0 && have >= record_bytes_) return record_bytes_;
    if (record_bytes_ == 0 && have != searched_) {
      const uint8_t* begin = buffer_.data() + at_;
      const void* end = std::memchr(begin + searched_, '\n', have - searched_);
      const size_t size = end == nullptr ? 0 : static_cast<size_t>(static_cast<const uint8_t*>(end) - begin) + 1;
      if (size != 0 && size <= kMostLineBytes) return size;
      searched_ = size != 0 ? size : have;
    }
    const bool refused = is_too_long() || (has_read_all_ && have != 0 && record_bytes_ != 0);
    if (!refused) return has_read_all_ ? have : 0;
    if (at_ != 0) return 0;  // the inputs before it are given first
    if (is_too_long()) {
      reader_.refuse(
          fmt::format("line {} of {} has no end within 64 MiB; give shorter lines, or records with --record-size",
                      given_ + 1, reader_.path()));
    }
    reader_.refuse(fmt::format("the last record of {} has {} of {} bytes; give whole records", reader_.path(), have,
                               record_bytes_));
  }
  /// Whether a line begins at at_ that is longer than it may be.
  bool is_too_long() const { return searched_ > kMostLineBytes; }
  void take(size_t size) {
    at_ += size;
    searched_ = 0;
    given_++;
    given_bytes_ += size;
  }
  void drop_taken() {
    buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<ptrdiff_t>(at_));
    at_ = 0;
  }
  /// False: there was no more.
  bool read_more() {
    if (!has_read_all_) has_read_all_ = !reader_.append(buffer_);
    return !has_read_all_;
  }

  InputFile reader_;
  const uint64_t record_bytes_;
  const std::optional<uint64_t> size_;  // of the file
  std::vector<uint8_t> buffer_;
  size_t at_ = 0;                         // where the next input begins
  size_t searched_ = 0;                   // bytes of a line from there on, as far as it was looked for
  uint64_t given_ = 0, given_bytes_ = 0;  // inputs
  bool has_read_all_ = false;
};

class FolderSource final : public InputSource {
 public:
  FolderSource(const char* option, const std::string& path) : reader_(option, path, files_of_folder(option, path)) {}

  bool next(std::vector<uint8_t>& bytes, std::string& name, uint64_t& number) override {
    while (reader_.taken() != reader_.count()) {
      number = reader_.taken();
      std::optional<FolderReader::File> file = read();
      if (!file) continue;
      bytes = std::move(file->bytes);
      name = std::move(file->name);
      return true;
    }
    tell_left_out();
    return false;
  }

  bool is_ready(bool wait) override {
    return reader_.is_ready(0, std::chrono::milliseconds(wait ? kPatienceMilliseconds : 0));
  }

  Supply next_block(InputBlock& block, bool wait) override {
    if (reader_.taken() == reader_.count()) {
      tell_left_out();
      return Supply::ended;
    }
    const bool enough = reader_.is_ready(block_bytes_, std::chrono::milliseconds(wait ? kPatienceMilliseconds : 0));
    uint64_t ready = reader_.ready();
    if (ready == 0 || (!enough && !wait)) return Supply::later;
    bytes_.clear();
    block.offsets.assign(1, 0);
    for (; ready != 0 && bytes_.size() < block_bytes_ && block.offsets.size() <= kMostBlockInputs; ready--) {
      const uint64_t number = reader_.taken();
      const std::optional<FolderReader::File> file = read();
      const bool is_first = block.offsets.size() == 1;
      if (!file && is_first) continue;
      if (!file) break;
      if (is_first) block.first_number = number;
      bytes_.insert(bytes_.end(), file->bytes.begin(), file->bytes.end());
      block.offsets.push_back(bytes_.size());
    }
    if (block.offsets.size() == 1) return Supply::later;
    block.bytes = bytes_;
    block_bytes_ = std::min(2 * block_bytes_, kMostBlockBytes);
    return Supply::input;
  }

  std::optional<uint64_t> expected() const override { return reader_.count(); }

 private:
  /// The next file; nothing if it is left out.
  std::optional<FolderReader::File> read() {
    try {
      return reader_.take();
    } catch (const ArgumentError& error) {
      if (left_out_++ == 0) why_ = error.what();
      return std::nullopt;
    }
  }
  /// Throws for the files that were left out, once.
  void tell_left_out() {
    const uint64_t count = std::exchange(left_out_, 0);
    if (count == 0) return;
    throw ArgumentError(fmt::format("{}; {} of {} files {} no input: mend {}, or take {} out of the folder",
                                    why_.substr(0, why_.rfind("; ")), count, reader_.count(), count == 1 ? "is" : "are",
                                    count == 1 ? "it" : "them", count == 1 ? "it" : "them"));
  }

  FolderReader reader_;
  uint64_t block_bytes_ = kFirstBlockBytes;  // of the next block, and one file more
  std::vector<uint8_t> bytes_;               // of a block
  uint64_t left_out_ = 0;                    // files that cannot be read
  std::string why_;                          // the first of them cannot
};

}  // namespace

std::vector<std::string> files_of_folder(const char* option, const std::string& path) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error)) {
    std::string name = entry->path().filename().string();
    if (name[0] != '.' && entry->is_regular_file(error)) names.push_back(std::move(name));
    error.clear();  // a link that leads nowhere is no file
  }
  if (error) {
    throw ArgumentError(fmt::format("{}: {} cannot be listed ({}); give another", option, path, error.message()));
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::unique_ptr<InputSource> open_inputs(const char* option, const std::string& path, uint64_t record_bytes) {
  std::error_code error;
  if (record_bytes > kMostInputBytes)
    throw ArgumentError("--record-size: a record has at most 4 GiB; give a smaller size");
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

bool InputFeeder::next(ProcessInput& item, std::string& name, uint64_t& number) {
  std::vector<uint8_t> input, line;
  std::string unused;
  item = {};
  uint64_t line_number = 0;
  const bool has_input = inputs_ && inputs_->next(input, name, number);
  inputs_read_ += has_input;
  bool has_line = false;
  do {
    has_line = lines_ && lines_->next(line, unused, line_number);
    lines_read_ += has_line;
  } while (has_line && has_input && line_number < number);  // the files before it were left out
  if (inputs_ && lines_ && has_input != has_line) {
    throw ArgumentError(fmt::format("{} has {} {}, and {} has more; give as many",
                                    has_input ? "--args-file" : "--inputs", has_input ? lines_read_ : inputs_read_,
                                    has_input ? "lines" : "inputs", has_input ? "--inputs" : "--args-file"));
  }
  if (!has_input && !has_line) return false;
  if (!has_input) number = line_number;
  if (has_line) {
    const std::string where = fmt::format("--args-file: line {} of {}", lines_read_, options_.args_file);
    item.arguments = options_.arguments;
    const std::vector<std::string> words = split_words(line, where);
    item.arguments->insert(item.arguments->end(), words.begin(), words.end());
  }
  if (!has_input) return true;
  choose_place(item.arguments ? *item.arguments : options_.arguments);
  (as_file_ ? item.file : item.standard_input) = std::move(input);
  return true;
}

bool InputFeeder::is_ready(bool wait) {
  return (!inputs_ || inputs_->is_ready(wait)) && (!lines_ || lines_->is_ready(wait));
}

Supply InputFeeder::next_batch(InputBatch& batch, bool wait) {
  const Supply supply = inputs_->next_block(block_, wait);
  if (supply != Supply::input) return supply;
  choose_place(options_.arguments);
  batch = {block_.first_number, block_.bytes, block_.offsets, as_file_};
  return supply;
}

void InputFeeder::choose_place(const std::vector<std::string>& words) {
  if (std::exchange(place_is_chosen_, true)) return;
  as_file_ = std::any_of(words.begin(), words.end(),
                         [](const std::string& word) { return word.find(kInputFileMark) != word.npos; });
  if (as_file_ || !options_.standard_input_is_given) return;
  throw ArgumentError("--inputs: the lanes read --stdin already; leave it out, or name the input in an argument: @@");
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
