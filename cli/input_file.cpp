// SPDX-License-Identifier: Apache-2.0
#include "input_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "myriarm/error.h"

namespace myriarm::cli {
namespace {

constexpr size_t kReadBytes = size_t{1} << 18;

}  // namespace

InputFile::InputFile(const char* option, std::string path) : option_(option), path_(std::move(path)) {
  file_ = path_ == "-" ? STDIN_FILENO : ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (file_ < 0) fail();
}

InputFile::~InputFile() {
  if (file_ > STDERR_FILENO) ::close(file_);
}

bool InputFile::append(std::vector<uint8_t>& bytes) {
  const size_t size = bytes.size();
  resize(bytes, size + kReadBytes);
  const size_t n = read(bytes.data() + size, kReadBytes);
  bytes.resize(size + n);
  return n != 0;
}

std::vector<uint8_t> InputFile::read_all() {
  const uint64_t expected = size().value_or(0);
  if (expected > kMostInputBytes) refuse_size();
  std::vector<uint8_t> bytes;
  resize(bytes, expected + 1);  // with room for the read that finds the end
  size_t at = 0;
  while (const size_t n = read(bytes.data() + at, bytes.size() - at)) {
    at += n;
    if (at > kMostInputBytes) refuse_size();
    if (at == bytes.size()) resize(bytes, at + std::max(at, kReadBytes));  // it has grown, or its size is not known
  }
  bytes.resize(at);
  return bytes;
}

bool InputFile::is_ready(int milliseconds) const {
  pollfd ready = {file_, POLLIN, 0};
  return ::poll(&ready, 1, milliseconds) > 0;
}

void InputFile::refuse(const std::string& why) const { throw ArgumentError(option_ + (": " + why)); }

std::optional<uint64_t> InputFile::size() const {
  struct stat facts = {};
  if (path_ == "-" || ::fstat(file_, &facts) != 0 || !S_ISREG(facts.st_mode)) return std::nullopt;
  return static_cast<uint64_t>(facts.st_size);
}

void InputFile::fail() const {
  refuse(path_ + " cannot be read (" + std::strerror(errno) + "); give a folder, a file, or - for standard input");
}

void InputFile::resize(std::vector<uint8_t>& bytes, size_t size) const {
  try {
    bytes.resize(size);
  } catch (const std::bad_alloc&) {
    refuse(path_ + " has an input of " + std::to_string(bytes.size() >> 20) +
           " MiB or more, for which this machine has too little memory; give smaller inputs");
  }
}

void InputFile::refuse_size() const { refuse(path_ + " has more than 4 GiB; give smaller files"); }

size_t InputFile::read(uint8_t* to, size_t most) {
  ssize_t n;
  do n = ::read(file_, to, most);
  while (n < 0 && errno == EINTR);
  if (n < 0) fail();
  return static_cast<size_t>(n);
}

}  // namespace myriarm::cli
