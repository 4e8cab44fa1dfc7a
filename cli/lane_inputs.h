// SPDX-License-Identifier: Apache-2.0
// The files from which `myriarm run` takes an input or arguments for each lane: --inputs and --args-file. They are read
// as inputs are asked for, so that a queue can take them from a pipe that never ends.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "input_file.h"
#include "myriarm/queue.h"

namespace myriarm::cli {

/// Inputs that follow each other: input i has the bytes from offsets[i] to offsets[i + 1].
struct InputBlock {
  std::span<const uint8_t> bytes;  ///< of the source that gave it, until it is called again
  std::vector<uint64_t> offsets;
  uint64_t first_number = 0;  ///< of the first one
};

/// A line may have so many bytes: input that has no newline would else take all memory.
constexpr uint64_t kMostLineBytes = uint64_t{64} << 20;

/// One input after the other, or block after block.
class InputSource {
 public:
  InputSource() = default;
  InputSource(const InputSource&) = delete;
  virtual ~InputSource() = default;
  /// Reads the next input; false: there is none. `name` is that of its file, if each input is a file of a folder, else
  /// empty. `number`: how many come before it. A file of a folder that cannot be read, or has more than kMostInputBytes, is
  /// left out and keeps its number. Throws ArgumentError if there is none and files were left out; for a file that cannot
  /// be read, a line of more than kMostLineBytes, or a last record that is not whole.
  virtual bool next(std::vector<uint8_t>& bytes, std::string& name, uint64_t& number) = 0;
  /// Whether next() returns at once. `wait`: it may wait some 50 ms for that.
  virtual bool is_ready(bool wait) = 0;
  /// As next(), for many inputs: those that are there, of a pipe at least one, and up to 2^20 or, by the last of them,
  /// 64 MiB. Files of a folder come 1 MiB at first, then 2, 4 and so on, and a block ends before a file that is left out.
  /// `wait`: it may wait some 50 ms for the first. Copies no input by itself.
  virtual Supply next_block(InputBlock& block, bool wait) = 0;
  /// How many inputs there are in all: of lines an estimate from those that were read. Nothing if that is not known, as of a
  /// pipe.
  virtual std::optional<uint64_t> expected() const = 0;
};

/// The names of the files of a folder that are its inputs, in order: not those that begin with a dot. `option` is for messages.
std::vector<std::string> files_of_folder(const char* option, const std::string& path);

/// The files of a folder in the order of their names, without those that begin with a dot, which threads read ahead
/// (folder_reader.h); the lines of a file, each with
/// the newline that ends it; or, if `record_bytes` is not 0, its records of that many bytes. "-" is standard input.
/// `option` is for messages. Throws ArgumentError.
std::unique_ptr<InputSource> open_inputs(const char* option, const std::string& path, uint64_t record_bytes);

/// What --inputs and --args-file give one lane after the other.
class InputFeeder {
 public:
  struct Options {
    std::string inputs, args_file;       ///< paths; empty: not given
    uint64_t record_bytes = 0;           ///< of inputs; 0: lines, or the files of a folder
    std::vector<std::string> arguments;  ///< what the words of a line are appended to
    bool standard_input_is_given = false;
  };
  explicit InputFeeder(Options options);
  /// Reads what the next lane gets; `name` and `number` as in InputSource. An input is a file if an argument of the first lane names it
  /// (kInputFileMark), else standard input. Throws ArgumentError.
  bool next(ProcessInput& item, std::string& name, uint64_t& number);
  /// See InputSource.
  bool is_ready(bool wait);
  /// As next(), for many inputs, which have no arguments of their own. `wait`, and how long the bytes stay: see
  /// InputSource::next_block().
  Supply next_batch(InputBatch& batch, bool wait);
  /// See InputSource.
  std::optional<uint64_t> expected() const { return (inputs_ ? inputs_ : lines_)->expected(); }

 private:
  /// To be called for each lane; `words`: its arguments, of which those of the first lane count.
  void choose_place(const std::vector<std::string>& words);

  const Options options_;
  std::unique_ptr<InputSource> inputs_, lines_;
  uint64_t inputs_read_ = 0, lines_read_ = 0;
  bool place_is_chosen_ = false, as_file_ = false;
  InputBlock block_;
};

/// Splits a line into words at blanks. '...', "..." and a backslash quote, as for xargs; a quoted part ends in its line.
/// `where` is for messages. Throws ArgumentError.
std::vector<std::string> split_words(std::span<const uint8_t> line, const std::string& where);

}  // namespace myriarm::cli
