// SPDX-License-Identifier: Apache-2.0
// Sequences of system calls on memory and descriptors, and the host's Linux as the process that makes them: the model with
// which linux_model_test.cpp compares lanes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace myriarm::test {

// What both processes have: an arena of pages at an address of its own, and the heap from the first break on.
constexpr uint64_t kArenaPages = 24, kHeapPages = 8, kModelPages = kArenaPages + kHeapPages;

enum class ModelCall : uint8_t {
  mmap,
  munmap,
  mprotect,
  madvise,
  brk,
  open,
  close,
  dup,
  dup3,
  fcntl,
  ioctl,
  fstat,
  lseek,
  read,
  pread64,
  write,
  readv,
  writev,
};
const char* name(ModelCall call);

/// An argument: a number, or an address relative to the arena or the heap.
struct ModelValue {
  enum Base : uint8_t { number, arena, heap };
  Base base = number;
  uint64_t value = 0;
};
/// A call. `open` opens the input file with the flags that its argument is. The arguments of readv and writev are the
/// descriptor, then an address and a size for each buffer.
struct ModelStep {
  ModelCall call;
  std::vector<ModelValue> arguments;
};
std::string text_of(const ModelStep& step);

/// What a call gives: what Linux leaves in the register, with addresses relative to the arena or the heap, and the type and the
/// size of the file for fstat.
struct ModelOutcome {
  int64_t result = 0;
  uint64_t mode = 0, size = 0;
  bool operator==(const ModelOutcome&) const = default;
};
/// In place of an address that mmap has chosen itself; the process unmaps it again at once.
constexpr int64_t kElsewhere = int64_t{1} << 62;

/// A page of the arena or of the heap.
struct ModelPage {
  bool mapped = false;
  bool has_bytes = false;    ///< false: not mapped, or behind the end of a mapped file
  uint32_t permissions = 0;  ///< of myriarm::Permission; write permission includes read permission
  std::vector<uint8_t> bytes;
};
struct ModelState {
  std::vector<ModelOutcome> outcomes;
  std::vector<ModelPage> pages;  ///< kArenaPages of the arena, then kHeapPages of the heap
  std::string output, errors;    ///< what was written to descriptors 1 and 2
};

/// Makes the calls in a new process of the host that begins with a pipe with `input` as descriptor 0, pipes as 1 and 2, no other
/// descriptor, and nothing mapped in the arena.
ModelState run_on_host(const std::vector<ModelStep>& steps, const std::string& input, const std::string& file_path);

}  // namespace myriarm::test
