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

/// Closes the file however the function is left.
struct OpenFile {
  int descriptor;
  ~OpenFile() {
    if (descriptor >= 0) close(descriptor);
  }
};

constexpr off_t kLargestFile = off_t{1} << 32;

}  // namespace

Program raw_program(std::string name, std::vector<uint8_t> bytes, uint64_t address, uint64_t memory) {
  if (memory == 0 || memory % kPageBytes != 0) {
    throw ArgumentError(name + ": a memory of " + std::to_string(memory) +
                        " bytes is not possible; use a multiple of 4 KiB above zero");
  }
  if (bytes.empty()) throw ArgumentError(name + ": the file is empty; give a file that holds instructions");
  if (address % 4 != 0) {
    throw ArgumentError(name + ": the load address " + hex(address) +
                        " is not a multiple of 4, as the address of an instruction must be; use one that is");
  }
  if (address >= memory || bytes.size() > memory - address) {
    throw ArgumentError(name + ": " + std::to_string(bytes.size()) + " bytes at " + hex(address) +
                        " do not fit in a memory of " + hex(memory) +
                        " bytes that starts at 0; use a lower address or a larger memory");
  }
  constexpr uint32_t kAll = kRead | kWrite | kExecute;
  Program program;
  program.name = std::move(name);
  program.entry = address;
  program.stack_pointer = memory;
  if (address > 0) program.segments.push_back({0, address, kAll, {}});
  program.segments.push_back({address, memory - address, kAll, std::move(bytes)});
  return program;
}

std::vector<uint8_t> read_file(const std::string& path) {
  if (const size_t nul = path.find('\0'); nul != std::string::npos) {
    throw ArgumentError("the path that begins with \"" + path.substr(0, nul) +
                        "\" holds a NUL character, which no path can; give the path of a readable file");
  }
  auto fail = [&](const char* what) -> ArgumentError {
    return ArgumentError(path + ": cannot be read (" + what + "); give the path of a readable file");
  };
  OpenFile file{open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.descriptor < 0) throw fail(std::strerror(errno));
  struct stat status;
  if (fstat(file.descriptor, &status) != 0) throw fail(std::strerror(errno));
  if (S_ISDIR(status.st_mode)) throw fail(std::strerror(EISDIR));
  if (!S_ISREG(status.st_mode)) throw fail("it is not a regular file");
  if (status.st_size > kLargestFile) throw fail("it is larger than 4 GiB");
  std::vector<uint8_t> bytes(static_cast<size_t>(status.st_size));
  size_t have = 0;
  while (have < bytes.size()) {
    ssize_t n = ::read(file.descriptor, bytes.data() + have, bytes.size() - have);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw fail(std::strerror(errno));
    if (n == 0) break;
    have += static_cast<size_t>(n);
  }
  bytes.resize(have);
  return bytes;
}

}  // namespace myriarm
