// SPDX-License-Identifier: Apache-2.0
// Where the command line writes: standard output, standard error, the JSON file. A stream that cannot be written to is
// an error with a sentence, and never ends the process in any other way.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <iterator>
#include <string>
#include <string_view>

#include "myriarm/error.h"

namespace myriarm::cli {

/// Opens /dev/null for each standard stream that is closed, so that no file gets its number. Reading standard input, or
/// writing to the other two, then fails as with a closed stream. To be called before anything else is opened.
void occupy_standard_streams();

/// A pipe whose reader has gone, and a file that has the size of `ulimit -f`, are errors of the write from here on, as any
/// other, instead of signals that end this process before it has written its files.
void make_signals_of_writes_errors();

/// What Output throws when the user has ended a write that waited for a reader.
struct WriteEnded : Error {
  using Error::Error;
};

/// What Output throws when nobody can read what it writes any more, as in `myriarm isa | head -n 1`: no mistake of the
/// user, so the command ends without a message.
struct ReaderGone : Error {
  using Error::Error;
};

/// A buffered writer.
class Output {
 public:
  /// What happens when the stream cannot be written to.
  enum class Failure { is_thrown, is_ignored };
  /// Counts the user's requests to end the command.
  using Requests = std::function<unsigned()>;

  /// `name` is for messages. While a write waits for a reader, a new request ends it with WriteEnded.
  Output(int descriptor, std::string name, Failure failure = Failure::is_thrown, Requests requests = {});
  /// Writes what is left, and ignores errors: call flush() before.
  ~Output();
  Output(const Output&) = delete;

  template <class... Arguments>
  void print(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(buffer_), format, std::forward<Arguments>(arguments)...);
    if (buffer_.size() >= kMostBuffered) flush();
  }
  void write(std::string_view text);
  /// Throws Error if not everything can be written; ReaderGone, if the reader has gone.
  void flush();
  /// Whether something could not be written.
  bool failed() const { return failed_; }

 private:
  static constexpr size_t kMostBuffered = 1 << 16;

  void send(std::string_view text);
  /// Returns when the descriptor can take something, or has an error.
  void wait_until_writable() const;

  const int descriptor_;
  const std::string name_;
  const Failure failure_;
  const Requests requests_;
  size_t most_at_once_;
  bool failed_ = false;
  std::string buffer_;
};

/// For messages: writes to standard error what it can, and never throws.
template <class... Arguments>
void print_error(fmt::format_string<Arguments...> format, Arguments&&... arguments) noexcept {
  try {
    Output(2, "standard error", Output::Failure::is_ignored).print(format, std::forward<Arguments>(arguments)...);
  } catch (...) {
    // There is nowhere left to say it.
  }
}

}  // namespace myriarm::cli
