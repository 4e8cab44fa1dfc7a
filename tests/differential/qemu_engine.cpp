// SPDX-License-Identifier: Apache-2.0
// Starts QEMU and reads the results of a batch. Program, output and messages are files in memory.
#include "qemu_engine.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>

namespace myriarm::differential {
namespace {

/// A batch takes a second. This ends a case that would never end.
constexpr unsigned kMostSeconds = 120;
/// Bounds the restarts: a row that QEMU does not have kills a process in each of its cases.
constexpr int kMostKilled = 8;

/// A file in memory that child processes inherit.
class MemoryFile {
 public:
  explicit MemoryFile(const char* name) : fd_(memfd_create(name, 0)) {
    if (fd_ < 0) throw std::runtime_error("no file in memory could be made");
  }
  ~MemoryFile() { close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  int fd() const { return fd_; }
  void write(std::span<const uint8_t> bytes) {
    while (!bytes.empty()) {
      const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
      if (written <= 0) throw std::runtime_error("a file in memory could not be written");
      bytes = bytes.subspan(static_cast<size_t>(written));
    }
  }
  std::string text() const {
    char buffer[4096];
    const ssize_t size = pread(fd_, buffer, sizeof buffer, 0);
    return {buffer, size > 0 ? static_cast<size_t>(size) : 0};
  }

 private:
  int fd_;
};

/// The contents of a file in memory.
class Mapping {
 public:
  Mapping(int fd, size_t size) : size_(size) {
    if (ftruncate(fd, static_cast<off_t>(size)) != 0) throw std::runtime_error("a file in memory could not grow");
    void* begin = mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
    if (begin == MAP_FAILED) throw std::runtime_error("a file in memory could not be mapped");
    begin_ = static_cast<const uint8_t*>(begin);
  }
  ~Mapping() { munmap(const_cast<uint8_t*>(begin_), size_); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  const uint8_t* begin() const { return begin_; }

 private:
  const uint8_t* begin_;
  size_t size_;
};

/// Runs a program to its end and returns its status from waitpid; exit status 127 if it does not start.
int spawn(const std::vector<std::string>& command, int output, int messages) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  // vfork, because fork would make the large batches of this process copy-on-write each time.
  const rlimit no_core = {0, 0};
  const pid_t child = vfork();
  if (child < 0) throw std::runtime_error("no process could be started");
  if (child == 0) {
    setrlimit(RLIMIT_CORE, &no_core);
    dup2(output, 1);
    dup2(messages, 2);
    alarm(kMostSeconds);
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace

std::optional<OracleVersion> QemuEngine::version() const {
  MemoryFile output("version"), messages("messages");
  const int status = spawn({program_, "--version"}, output.fd(), messages.fd());
  OracleVersion version;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 ||
      std::sscanf(output.text().c_str(), "qemu-aarch64 version %u.%u.%u", &version.major, &version.minor,
                  &version.micro) != 3) {
    return std::nullopt;
  }
  return version;
}

void QemuEngine::run(const Batch& batch, std::span<const uint32_t> lanes) {
  cases_.assign(lanes.size(), {});
  failure_.clear();
  size_t first = 0;
  for (int killed = 0; first < lanes.size() && killed < kMostKilled; killed++) {
    run_once(batch, lanes, first);
    while (first < lanes.size() && cases_[first].done) first++;
    first++;  // the case in which QEMU ended
  }
}

void QemuEngine::run_once(const Batch& batch, std::span<const uint32_t> lanes, size_t first) {
  const QemuProgram program = make_qemu_program(batch, lanes.subspan(first));
  MemoryFile elf("program"), output("output"), messages("messages");
  elf.write(program.elf);
  const Mapping mapping(output.fd(), program.output_bytes);
  const std::string path = "/proc/self/fd/" + std::to_string(elf.fd());
  const int status = spawn({program_, "-cpu", "max", path}, output.fd(), messages.fd());
  if (WIFEXITED(status) && WEXITSTATUS(status) != 0) {
    throw std::runtime_error(program_ + " ended with status " + std::to_string(WEXITSTATUS(status)) + ": " +
                             messages.text());
  }
  if (WIFSIGNALED(status)) failure_ = "killed by signal " + std::to_string(WTERMSIG(status));
  const size_t memory_bytes = writable_pages().size() * kPageBytes;
  for (size_t i = 0; first + i < lanes.size(); i++) {
    Case& result = cases_[first + i];
    std::memcpy(&result.record, mapping.begin() + i * sizeof(QemuRecord), sizeof(QemuRecord));
    const size_t end = program.end_index(result.record.place);
    if (end == program.ends.size()) break;
    result.done = true;
    result.end = program.ends[end];
    if (const uint64_t offset = program.memory_offset[i]) {
      result.memory.assign(mapping.begin() + offset, mapping.begin() + offset + memory_bytes);
    }
  }
}

bool QemuEngine::memory_agrees(const Batch& batch, size_t index, const uint8_t* ours) const {
  const std::vector<uint8_t>& memory = cases_[index].memory;
  if (memory.empty()) return std::memcmp(ours, batch.data.data(), batch.data.size()) == 0;
  size_t offset = 0;
  for (size_t page = 0; page < Layout::pages.size(); page++) {
    const size_t begin = page * kPageBytes;
    const bool is_writable = (Layout::pages[page] & kWrite) != 0;
    const uint8_t* theirs = is_writable ? &memory[offset] : &batch.data[begin];
    if (std::memcmp(ours + begin, theirs, kPageBytes) != 0) return false;
    if (is_writable) offset += kPageBytes;
  }
  return true;
}

std::optional<State> QemuEngine::state(const Batch& batch, size_t index, const State& like, bool memory) const {
  const Case& result = cases_[index];
  if (!result.done) return std::nullopt;
  State state;
  for (size_t i = 0; i < batch.fields.size(); i++) {
    const unsigned n = static_cast<unsigned>(batch.fields[i]);
    const unsigned low = static_cast<unsigned>(Field::v0_low), high = static_cast<unsigned>(Field::v0_high);
    uint64_t value;
    switch (batch.fields[i]) {
      case Field::sp: value = result.record.sp; break;
      case Field::pc: value = result.end; break;
      case Field::nzcv: value = result.record.nzcv >> 28; break;
      case Field::tpidr: value = like.values[i]; break;
      case Field::fpcr: value = result.record.fpcr; break;
      case Field::fpsr: value = result.record.fpsr; break;
      default: value = n < 31 ? result.record.x[n] : result.record.v[n >= high ? n - high : n - low][n >= high];
    }
    state.values.push_back(value);
  }
  state.instructions = like.instructions;
  state.stop = like.stop;
  if (!memory) return state;
  state.memory = batch.data;
  for (size_t i = 0; i < writable_pages().size() && !result.memory.empty(); i++) {
    std::memcpy(&state.memory[writable_pages()[i] * kPageBytes], &result.memory[i * kPageBytes], kPageBytes);
  }
  return state;
}

}  // namespace myriarm::differential
