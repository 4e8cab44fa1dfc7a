// SPDX-License-Identifier: Apache-2.0
// Writes to descriptors with system calls: stdio neither says why a write failed nor lets a signal end one that blocks.
#include "output.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <limits>

namespace myriarm::cli {

void occupy_standard_streams() {
  for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest free number is this stream's, because those below it are open. Opened for the wrong direction, so that
    // each use fails with EBADF.
    (void)open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

void make_signals_of_writes_errors() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

Output::Output(int descriptor, std::string name, Failure failure, Requests requests)
    : descriptor_(descriptor), name_(std::move(name)), failure_(failure), requests_(std::move(requests)) {
  struct stat status = {};
  const bool file = fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
  // If a pipe, a terminal or a socket can take anything, it can take PIPE_BUF bytes without blocking. A write that
  // blocked could not be ended.
  most_at_once_ = file ? std::numeric_limits<size_t>::max() : PIPE_BUF;
}

Output::~Output() {
  try {
    flush();
  } catch (const Error&) {
    // The caller has left without flush() because of another error, which is the one to tell.
  }
}

void Output::write(std::string_view text) {
  if (buffer_.size() + text.size() < kMostBuffered) {
    buffer_ += text;
    return;
  }
  flush();
  send(text);
}

void Output::flush() {
  const std::string text = std::move(buffer_);
  buffer_.clear();
  send(text);
}

void Output::send(std::string_view text) {
  while (!text.empty() && !failed_) {
    wait_until_writable();
    const ssize_t n = ::write(descriptor_, text.data(), std::min(text.size(), most_at_once_));
    if (n >= 0) {
      text.remove_prefix(static_cast<size_t>(n));
    } else if (errno != EINTR && errno != EAGAIN) {
      failed_ = true;  // what follows would have a gap before it
      if (failure_ == Failure::is_ignored) return;
      if (errno == EPIPE) throw ReaderGone(name_ + " has lost its reader");
      throw Error(fmt::format("{} could not be written completely ({}); give it to a reader, or to a file with room",
                              name_, std::strerror(errno)));
    }
  }
}

void Output::wait_until_writable() const {
  constexpr int kMilliseconds = 50;  // between two looks at the requests
  const unsigned before = requests_ ? requests_() : 0;
  pollfd ready = {descriptor_, POLLOUT, 0};
  while (true) {
    const int count = poll(&ready, 1, kMilliseconds);
    if (count > 0 || (count < 0 && errno != EINTR)) return;
    if (requests_ && requests_() != before) throw WriteEnded(name_ + ": nobody reads it");
  }
}

}  // namespace myriarm::cli
