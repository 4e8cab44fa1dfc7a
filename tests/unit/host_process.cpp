// SPDX-License-Identifier: Apache-2.0
// Makes a sequence of system calls in a child process of the test. The child allocates nothing, so that its break is its
// own, and leaves what it finds in memory that it shares with the test.
#include "host_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "myriarm/program.h"

namespace myriarm::test {
namespace {

constexpr uint64_t kPage = 4096;
constexpr size_t kMostSteps = 512, kMostBuffers = 4;
constexpr int kPipeBytes = 1 << 20;  // so that no write waits
// Below everything else, so that Linux places nothing there by itself; with a smaller address space, the second.
constexpr uint64_t kArenaPlaces[] = {uint64_t{1} << 45, uint64_t{1} << 37};

struct Shared {
  ModelOutcome outcomes[kMostSteps];
  uint64_t arena, heap, maps_size;
  char maps[64 * 1024];
  bool has_bytes[kModelPages];
  uint8_t bytes[kModelPages][kPage];
};

struct Child {
  Shared& shared;
  const char* file_path;

  uint64_t value(const ModelValue& value) const {
    return value.value + (value.base == ModelValue::arena  ? shared.arena
                          : value.base == ModelValue::heap ? shared.heap
                                                           : 0);
  }
  uint64_t page_address(uint64_t page) const {
    return page < kArenaPages ? shared.arena + page * kPage : shared.heap + (page - kArenaPages) * kPage;
  }
  template <class... Arguments>
  static int64_t call(long number, Arguments... arguments) {
    const long result = syscall(number, arguments...);
    return result == -1 ? -errno : result;
  }
  int64_t map(const uint64_t* a) const {
    const int64_t place = call(SYS_mmap, a[0], a[1], a[2], a[3], a[4], a[5]);
    if (place < 0 && place > -4096) return place;
    const uint64_t offset = static_cast<uint64_t>(place) - shared.arena;
    if (offset < kArenaPages * kPage) return static_cast<int64_t>(offset);
    const uint64_t in_heap = static_cast<uint64_t>(place) - shared.heap;
    if (in_heap < kHeapPages * kPage) return static_cast<int64_t>(in_heap);
    call(SYS_munmap, place, a[1]);
    return kElsewhere;
  }
  ModelOutcome status(int descriptor) const {
    struct stat status = {};
    const int64_t result = fstat(descriptor, &status) == 0 ? 0 : -errno;
    return {result, status.st_mode, static_cast<uint64_t>(status.st_size)};
  }
  int64_t control(const uint64_t* a) const {
    const int64_t result = call(SYS_fcntl, a[0], a[1], a[2]);
#ifdef __x86_64__
    constexpr int64_t kLargeFile = 0100000, kLargeFileOfGuest = 0400000;  // O_LARGEFILE, which the kernel sets
    if (a[1] == F_GETFL && result > 0 && (result & kLargeFile)) return (result & ~kLargeFile) | kLargeFileOfGuest;
#endif
    return result;
  }
  ModelOutcome make(const ModelStep& step) const {
    uint64_t a[2 * kMostBuffers + 1] = {};
    for (size_t i = 0; i < step.arguments.size(); i++) a[i] = value(step.arguments[i]);
    struct iovec buffers[kMostBuffers];
    const size_t count = step.arguments.size() / 2;
    for (size_t i = 0; i < kMostBuffers; i++) {
      buffers[i].iov_base = reinterpret_cast<void*>(a[1 + 2 * i]);
      buffers[i].iov_len = a[2 + 2 * i];
    }
    switch (step.call) {
      case ModelCall::mmap: return {map(a)};
      case ModelCall::munmap: return {call(SYS_munmap, a[0], a[1])};
      case ModelCall::mprotect: return {call(SYS_mprotect, a[0], a[1], a[2])};
      case ModelCall::madvise: return {call(SYS_madvise, a[0], a[1], a[2])};
      case ModelCall::brk: return {call(SYS_brk, a[0]) - static_cast<int64_t>(shared.heap)};
      case ModelCall::open: return {call(SYS_openat, AT_FDCWD, file_path, a[0])};
      case ModelCall::close: return {call(SYS_close, a[0])};
      case ModelCall::dup: return {call(SYS_dup, a[0])};
      case ModelCall::dup3: return {call(SYS_dup3, a[0], a[1], a[2])};
      case ModelCall::fcntl: return {control(a)};
      case ModelCall::ioctl: return {call(SYS_ioctl, a[0], a[1], a[2])};
      case ModelCall::fstat: return status(static_cast<int>(a[0]));
      case ModelCall::lseek: return {call(SYS_lseek, a[0], a[1], a[2])};
      case ModelCall::read: return {call(SYS_read, a[0], a[1], a[2])};
      case ModelCall::pread64: return {call(SYS_pread64, a[0], a[1], a[2], a[3])};
      case ModelCall::write: return {call(SYS_write, a[0], a[1], a[2])};
      case ModelCall::readv: return {call(SYS_readv, a[0], buffers, count)};
      case ModelCall::writev: return {call(SYS_writev, a[0], buffers, count)};
    }
    return {};
  }
  /// Of every page what /proc says, and what a system call can read of it.
  void leave_state() const {
    for (int fd : {0, 1, 2}) close(fd);
    const int maps = open("/proc/self/maps", O_RDONLY);
    for (ssize_t got = 1; got > 0; shared.maps_size += static_cast<uint64_t>(got)) {
      got = ::read(maps, shared.maps + shared.maps_size, sizeof shared.maps - shared.maps_size);
      if (got < 0) _exit(1);
    }
    int ends[2];
    if (pipe(ends) != 0) _exit(1);
    for (uint64_t page = 0; page < kModelPages; page++) {
      const uint64_t at = page_address(page);
      if (call(SYS_mprotect, at, kPage, PROT_READ) != 0) continue;
      if (call(SYS_write, ends[1], at, kPage) != static_cast<int64_t>(kPage)) continue;
      shared.has_bytes[page] = ::read(ends[0], shared.bytes[page], kPage) == static_cast<ssize_t>(kPage);
    }
  }
  [[noreturn]] void run(const std::vector<ModelStep>& steps, const int (&descriptors)[3]) const {
    constexpr rlim_t kMostFiles = 1024;
    struct rlimit files = {};
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = kMostFiles;
    if (setrlimit(RLIMIT_NOFILE, &files) != 0) _exit(1);
    for (int fd : {0, 1, 2}) dup2(descriptors[fd], fd);
    for (int fd = 3; fd < 1024; fd++) close(fd);
    shared.heap = (static_cast<uint64_t>(call(SYS_brk, 0)) + kPage - 1) / kPage * kPage;
    call(SYS_brk, shared.heap);
    for (uint64_t place : kArenaPlaces) {
      shared.arena = place;
      if (call(SYS_mmap, place, kArenaPages * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
               0) == static_cast<int64_t>(place)) {
        call(SYS_munmap, place, kArenaPages * kPage);
        break;
      }
    }
    for (size_t i = 0; i < steps.size(); i++) shared.outcomes[i] = make(steps[i]);
    leave_state();
    _exit(0);
  }
};

void read_permissions(const Shared& shared, std::vector<ModelPage>& pages) {
  std::istringstream lines(std::string(shared.maps, shared.maps_size));
  const auto first = [&](size_t page) {
    return page < kArenaPages ? shared.arena + page * kPage : shared.heap + (page - kArenaPages) * kPage;
  };
  for (std::string line; std::getline(lines, line);) {
    unsigned long long begin = 0, end = 0;
    char flags[5] = {};
    if (std::sscanf(line.c_str(), "%llx-%llx %4s", &begin, &end, flags) != 3) continue;
    for (size_t i = 0; i < pages.size(); i++) {
      if (first(i) < begin || first(i) >= end) continue;
      pages[i].mapped = true;
      const bool writes = flags[1] == 'w';
      pages[i].permissions = (flags[0] == 'r' || writes ? uint32_t{kRead} : 0) | (writes ? uint32_t{kWrite} : 0) |
                             (flags[2] == 'x' ? uint32_t{kExecute} : 0);
    }
  }
}

std::string read_all(int descriptor) {
  std::string all;
  char piece[4096];
  for (ssize_t got; (got = read(descriptor, piece, sizeof piece)) > 0;) all.append(piece, static_cast<size_t>(got));
  close(descriptor);
  return all;
}

}  // namespace

const char* name(ModelCall call) {
  constexpr const char* kNames[] = {"mmap",  "munmap", "mprotect", "madvise", "brk",   "open",
                                    "close", "dup",    "dup3",     "fcntl",   "ioctl", "fstat",
                                    "lseek", "read",   "pread64",  "write",   "readv", "writev"};
  return kNames[static_cast<size_t>(call)];
}

std::string text_of(const ModelStep& step) {
  std::ostringstream text;
  text << name(step.call) << "(" << std::hex;
  for (size_t i = 0; i < step.arguments.size(); i++) {
    constexpr const char* kBases[] = {"", "arena+", "heap+"};
    text << (i == 0 ? "" : ", ") << kBases[step.arguments[i].base] << "0x" << step.arguments[i].value;
  }
  return text.str() + ")";
}

ModelState run_on_host(const std::vector<ModelStep>& steps, const std::string& input, const std::string& file_path) {
  EXPECT_LE(steps.size(), kMostSteps);
  void* place = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  EXPECT_NE(place, MAP_FAILED);
  auto& shared = *static_cast<Shared*>(place);
  int in[2], out[2], error[2];
  EXPECT_EQ(pipe(in) | pipe(out) | pipe(error), 0);
  for (int fd : {in[1], out[1], error[1]}) EXPECT_GE(fcntl(fd, F_SETPIPE_SZ, kPipeBytes), kPipeBytes);
  EXPECT_EQ(write(in[1], input.data(), input.size()), static_cast<ssize_t>(input.size()));
  close(in[1]);
  const pid_t process = fork();
  if (process == 0) Child{shared, file_path.c_str()}.run(steps, {in[0], out[1], error[1]});
  for (int fd : {in[0], out[1], error[1]}) close(fd);
  int status = -1;
  EXPECT_EQ(waitpid(process, &status, 0), process);
  EXPECT_EQ(status, 0) << "the model's process did not come to its end";
  ModelState state;
  state.outcomes.assign(shared.outcomes, shared.outcomes + steps.size());
  state.pages.resize(kModelPages);
  read_permissions(shared, state.pages);
  for (size_t i = 0; i < kModelPages; i++) {
    ModelPage& page = state.pages[i];
    page.has_bytes = shared.has_bytes[i];
    if (page.has_bytes) page.bytes.assign(shared.bytes[i], shared.bytes[i] + kPage);
    if (!page.has_bytes) page.permissions = 0;
  }
  state.output = read_all(out[0]);
  state.errors = read_all(error[0]);
  munmap(place, sizeof(Shared));
  return state;
}

}  // namespace myriarm::test
