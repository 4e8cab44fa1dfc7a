// SPDX-License-Identifier: Apache-2.0
// Programs that are not ELF files: raw bytes in flat memory, and reading files from the host.
#include "myriarm/program.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "myriarm/error.h"
#include "support/text.h"

namespace myriarm {
namespace {

/// A regular file that is open for reading. Throws ArgumentError.
class OpenFile {
 public:
  explicit OpenFile(const std::string& path) : path_(path) {
    if (const size_t nul = path.find('\0'); nul != std::string::npos) {
      throw ArgumentError("the path that begins with \"" + path.substr(0, nul) +
                          "\" holds a NUL character, which no path can; give the path of a readable file");
    }
    descriptor_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    constexpr off_t kLargestFile = off_t{1} << 32;
    struct stat status;
    if (descriptor_ < 0 || fstat(descriptor_, &status) != 0) fail(std::strerror(errno));
    if (S_ISDIR(status.st_mode)) fail(std::strerror(EISDIR));
    if (!S_ISREG(status.st_mode)) fail("it is not a regular file");
    if (status.st_size > kLargestFile) fail("it is larger than 4 GiB");
    size_ = static_cast<size_t>(status.st_size);
  }
  ~OpenFile() { close(); }
  OpenFile(const OpenFile&) = delete;

  size_t size() const { return size_; }

  std::vector<uint8_t> read() {
    std::vector<uint8_t> bytes(size_);
    size_t have = 0;
    while (have < bytes.size()) {
      ssize_t n = ::read(descriptor_, bytes.data() + have, bytes.size() - have);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) fail(std::strerror(errno));
      if (n == 0) break;
      have += static_cast<size_t>(n);
    }
    bytes.resize(have);
    return bytes;
  }

 private:
  [[noreturn]] void fail(const std::string& what) {
    close();  // the constructor may throw, and then there is no destructor
    throw ArgumentError(path_ + ": cannot be read (" + what + "); give the path of a readable file");
  }
  void close() {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = -1;
  }

  const std::string path_;
  int descriptor_ = -1;
  size_t size_ = 0;
};

void check_raw(const std::string& name, uint64_t size, uint64_t address, uint64_t memory) {
  if (memory == 0 || memory % kPageBytes != 0) {
    throw ArgumentError(name + ": a memory of " + std::to_string(memory) +
                        " bytes is not possible; use a multiple of 4 KiB above zero");
  }
  if (size == 0) throw ArgumentError(name + ": the file is empty; give a file that holds instructions");
  if (address % 4 != 0) {
    throw ArgumentError(name + ": the load address " + hex(address) +
                        " is not a multiple of 4, as the address of an instruction must be; use one that is");
  }
  if (address >= memory || size > memory - address) {
    throw ArgumentError(name + ": " + std::to_string(size) + " bytes at " + hex(address) +
                        " do not fit in a memory of " + hex(memory) +
                        " bytes that starts at 0; use a lower address or a larger memory");
  }
}

}  // namespace

Program raw_program(std::string name, std::vector<uint8_t> bytes, uint64_t address, uint64_t memory) {
  check_raw(name, bytes.size(), address, memory);
  constexpr uint32_t kAll = kRead | kWrite | kExecute;
  Program program;
  program.name = std::move(name);
  program.entry = address;
  program.stack_pointer = memory;
  if (address > 0) program.segments.push_back({0, address, kAll, {}});
  program.segments.push_back({address, memory - address, kAll, std::move(bytes)});
  return program;
}

Program load_raw(const std::string& path, uint64_t address, uint64_t memory) {
  OpenFile file(path);
  check_raw(path, file.size(), address, memory);
  return raw_program(path, file.read(), address, memory);
}

std::vector<uint8_t> read_file(const std::string& path) { return OpenFile(path).read(); }

}  // namespace myriarm
