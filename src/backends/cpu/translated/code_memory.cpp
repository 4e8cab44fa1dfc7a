// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/translated/code_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace myriarm::cpu {
namespace {

/// A mapping each: hosts have some 65,000 for a process.
constexpr u64 kChunkBytes = u64{1} << 20;
constexpr u64 kAlignment = 64;

}  // namespace

struct CodeMemory::Chunk {
  u8* begin = nullptr;
  u64 bytes = 0, used = 0;
  // A process that was forked from this one has the same memory: only one may write to what both run.
  pid_t process = getpid();

  explicit Chunk(u64 size) : bytes(size) {
    // No file is behind it, since the host may limit the size of files and kill whoever exceeds it.
    void* mapped = mmap(nullptr, bytes, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) throw std::runtime_error("the host gives no memory that it executes");
    begin = static_cast<u8*>(mapped);
  }
  Chunk(const Chunk&) = delete;
  ~Chunk() { munmap(begin, bytes); }
};

CodeMemory::Place CodeMemory::take(u64 bytes) {
  bytes = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  std::lock_guard lock(mutex_);
  if (chunk_ == nullptr || chunk_->bytes - chunk_->used < bytes || chunk_->process != getpid()) {
    chunk_ = std::make_shared<Chunk>(std::max(bytes, kChunkBytes));
  }
  Place place = {chunk_->begin + chunk_->used, chunk_};
  chunk_->used += bytes;
  return place;
}

void CodeMemory::write(const Place& place, std::span<const u8> code) {
  const u64 page = static_cast<u64>(sysconf(_SC_PAGESIZE));
  const u64 before = reinterpret_cast<u64>(place.address) % page;
  const u64 bytes = (before + code.size() + page - 1) / page * page;
  // An old size of 0 makes a second mapping of shared memory: mremap(2).
  void* mapped = mremap(place.address - before, 0, bytes, MREMAP_MAYMOVE);
  if (mapped == MAP_FAILED) throw std::runtime_error("the host gives no memory for code");
  const bool is_writable = mprotect(mapped, bytes, PROT_READ | PROT_WRITE) == 0;
  if (is_writable) std::memcpy(static_cast<u8*>(mapped) + before, code.data(), code.size());
  munmap(mapped, bytes);
  if (!is_writable) throw std::runtime_error("the host gives no memory for code");
}

}  // namespace myriarm::cpu
