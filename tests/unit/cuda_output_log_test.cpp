// SPDX-License-Identifier: Apache-2.0
// The log of output of the CUDA backend, with threads in place of lanes: the host takes chunks while records are written,
// none is lost, and those of a lane come in order. Needs no device.
#include "backends/cuda/process/output_log.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

namespace myriarm::cuda {
namespace {

struct HostAtomics {
  static u64 add(u64& word, u64 value) { return std::atomic_ref(word).fetch_add(value, std::memory_order_acq_rel); }
  static u64 add_release(u64& word, u64 value) { return add(word, value); }
  static void maximum(u64& word, u64 value) {
    u64 now = read(word);
    while (now < value && !std::atomic_ref(word).compare_exchange_weak(now, value)) {
    }
  }
  static u64 read(u64& word) { return std::atomic_ref(word).load(std::memory_order_acquire); }
  static void write(u64& word, u64 value) { std::atomic_ref(word).store(value, std::memory_order_relaxed); }
  static void tell_host(u64& word, u64 value) { std::atomic_ref(word).store(value, std::memory_order_release); }
};

constexpr u64 kChunk = 1024;
constexpr u32 kLanesOfThread = 5;

/// A ring, its head and the host, who notes how far each lane has come.
class Log {
 public:
  explicit Log(u32 lanes) : memory_((sizeof(OutputRing) + kOutputChunks * kChunk) / sizeof(u64)), next_(lanes) {
    ring().taken = 0;
    for (u64& fill : ring().fill) fill = 0;
    ring().complete = complete_;
  }
  OutputRing& ring() { return *reinterpret_cast<OutputRing*>(memory_.data()); }
  u64 head = 0;

  /// Writes the next record of a lane. Returns false if there is no room.
  bool write(u32 lane, u64 number, u64 size) {
    u32 slot = 0;
    u64* to = room_for<HostAtomics>(ring(), head, kChunk, record_bytes(size), slot);
    if (to == nullptr) return false;
    const OutputRecord record = OutputRecord::of(lane, 1 + lane % 2, number, size);
    std::memcpy(to, &record, sizeof record);
    std::memset(to + sizeof record / sizeof(u64), byte_of(lane, number), size);
    note_fill<HostAtomics>(ring(), slot, record_bytes(size));
    return true;
  }
  /// What the host does while records are written. Returns whether there was a chunk.
  bool take_chunk() {
    u64& complete = complete_[taken_ % kOutputChunks];
    const u64 bytes = HostAtomics::read(complete);
    if (bytes == 0) return false;
    complete = 0;
    take(bytes);
    std::atomic_ref(ring().taken).store(++taken_, std::memory_order_release);
    return true;
  }
  /// And when no more are.
  void take_rest() {
    while (take_chunk()) {
    }
    const OutputHead end{head};
    if (taken_ == end.chunk()) take(end.offset());
    EXPECT_LE(taken_, end.chunk() + 1);
  }
  u64 taken() const { return taken_; }
  /// Records of a lane that the host has got.
  u64 next(u32 lane) const { return next_[lane]; }

 private:
  static u8 byte_of(u32 lane, u64 number) { return static_cast<u8>(lane * 31 + number); }
  void take(u64 bytes) {
    ASSERT_LE(bytes, kChunk);
    const u8* const chunk = reinterpret_cast<const u8*>(&ring() + 1) + taken_ % kOutputChunks * kChunk;
    for (u64 at = 0; at < bytes;) {
      OutputRecord record;
      std::memcpy(&record, chunk + at, sizeof record);
      ASSERT_LT(record.lane, next_.size());
      EXPECT_EQ(record.stream(), 1 + record.lane % 2);
      EXPECT_EQ(record.position, next_[record.lane]) << "lane " << record.lane;
      next_[record.lane] = record.position + 1;
      for (u64 i = 0; i < record.size(); i++) {
        ASSERT_EQ(chunk[at + sizeof record + i], byte_of(record.lane, record.position)) << "lane " << record.lane;
      }
      at += record_bytes(record.size());
    }
  }

  std::vector<u64> memory_;
  u64 complete_[kOutputChunks] = {};
  std::vector<u64> next_;
  u64 taken_ = 0;
};

/// Writes records of several lanes, as many as `most` of each, until there is no room and `waits` is false.
void write_records(Log& log, u32 thread, u64 most, bool waits, std::vector<u64>& written) {
  std::minstd_rand random(thread + 1);
  for (u64 number = 0; number < most; number++) {
    for (u32 i = 0; i < kLanesOfThread; i++) {
      const u32 lane = thread * kLanesOfThread + i;
      const u64 size = random() % 16 == 0 ? random() % (kChunk / 4) : random() % 32;
      while (!log.write(lane, number, size)) {
        if (!waits) return;
        std::this_thread::yield();
      }
      written[lane]++;
    }
  }
}

TEST(CudaOutputLog, HasAllRecordsInOrderWhileItIsTaken) {
  constexpr u32 kThreads = 4;
  constexpr u64 kRecords = 5000;
  Log log(kThreads * kLanesOfThread);
  std::vector<u64> written(kThreads * kLanesOfThread);
  std::atomic<u32> running{kThreads};
  std::vector<std::jthread> threads;
  for (u32 thread = 0; thread < kThreads; thread++) {
    threads.emplace_back([&, thread] {
      write_records(log, thread, kRecords, true, written);
      running--;
    });
  }
  while (running != 0) {
    if (!log.take_chunk()) std::this_thread::yield();
  }
  threads.clear();
  log.take_rest();
  EXPECT_GT(log.taken(), 50 * kOutputChunks);
  for (u32 lane = 0; lane < kThreads * kLanesOfThread; lane++) EXPECT_EQ(log.next(lane), kRecords) << "lane " << lane;
}

TEST(CudaOutputLog, KeepsWhatWasWrittenWhenItIsFull) {
  constexpr u32 kThreads = 4;
  Log log(kThreads * kLanesOfThread);
  std::vector<u64> written(kThreads * kLanesOfThread);
  std::vector<std::jthread> threads;
  for (u32 thread = 0; thread < kThreads; thread++) {
    threads.emplace_back([&, thread] { write_records(log, thread, ~u64{0}, false, written); });
  }
  threads.clear();
  log.take_rest();
  EXPECT_EQ(log.taken(), kOutputChunks);
  u64 all = 0;
  for (u32 lane = 0; lane < kThreads * kLanesOfThread; lane++) {
    EXPECT_EQ(log.next(lane), written[lane]) << "lane " << lane;
    all += written[lane];
  }
  EXPECT_GT(all, kOutputChunks);
}

TEST(CudaOutputLog, AChunkMayBeFullToTheLastByte) {
  Log log(1);
  for (u64 number = 0; number < 9; number++) ASSERT_TRUE(log.write(0, number, kChunk / 4 - sizeof(OutputRecord)));
  EXPECT_TRUE(log.take_chunk());
  EXPECT_TRUE(log.take_chunk());
  EXPECT_FALSE(log.take_chunk());
  log.take_rest();
  EXPECT_EQ(log.next(0), 9u);
}

}  // namespace
}  // namespace myriarm::cuda
