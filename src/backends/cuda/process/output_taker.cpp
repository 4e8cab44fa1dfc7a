// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/process/output_taker.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <span>
#include <utility>

namespace myriarm::cuda {
namespace {

/// Room for what a lane usually writes in some milliseconds.
constexpr u64 kLogBytesOfLane = 4096, kLeastLog = u64{1} << 20, kMostLog = u64{64} << 20;
/// So many bytes of records are worth a thread of their own.
constexpr u64 kBytesOfThread = u64{1} << 17;
constexpr u64 kMostThreads = 16;
/// Lanes whose records one thread passes on, so that two threads seldom write to one cache line.
constexpr u64 kLanesTogether = 64;

constexpr const char* kTaking = "fetching the lanes' output";

}  // namespace

OutputTaker::OutputTaker(ProcessHost& host, u64 lanes)
    : host_(host),
      chunk_bytes_(std::clamp(lanes * kLogBytesOfLane, kLeastLog, kMostLog) / kOutputChunks),
      is_refused_(lanes) {
  constexpr const char* kAllocating = "allocating the log of output";
  log_.resize(sizeof(OutputRing) + kOutputChunks * chunk_bytes_, kAllocating);
  host_log_.resize(kOutputChunks * chunk_bytes_, kAllocating);
  complete_.resize(kOutputChunks, kAllocating);
  taken_.resize(kOutputChunks, kAllocating);
  // What is copied here waits for no launch.
  cudaStream_t own = nullptr;
  check(cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking), kAllocating);
  stream_.reset(own);
  for (Event& event : copied_event_) {
    cudaEvent_t made = nullptr;
    check(cudaEventCreateWithFlags(&made, cudaEventDisableTiming), kAllocating);
    event.reset(made);
  }
}

OutputRing* OutputTaker::ring() const { return reinterpret_cast<OutputRing*>(log_.data()); }

void OutputTaker::begin(cudaStream_t stream) {
  if (is_clean_) return;
  finish();
  check(cudaStreamSynchronize(stream_.get()), kTaking);
  std::fill_n(complete_.data(), kOutputChunks, 0);
  OutputRing ring = {};
  ring.complete = complete_.data();
  check(cudaMemcpyAsync(log_.data(), &ring, sizeof ring, cudaMemcpyHostToDevice, stream), kTaking);
  copied_ = passed_ = 0;
  for (u32 lane : refused_) is_refused_[lane] = 0;
  refused_.clear();
  is_clean_ = true;
}

void OutputTaker::copy(u64 bytes) {
  const u64 slot = copied_ % kOutputChunks, at = slot * chunk_bytes_;
  bytes_[slot] = bytes;
  check(cudaMemcpyAsync(host_log_.data() + at, log_.data() + sizeof(OutputRing) + at, bytes, cudaMemcpyDeviceToHost,
                        stream_.get()),
        kTaking);
  taken_.data()[slot] = ++copied_;
  check(cudaMemcpyAsync(log_.data() + offsetof(OutputRing, taken), &taken_.data()[slot], sizeof(u64),
                        cudaMemcpyHostToDevice, stream_.get()),
        kTaking);
  check(cudaEventRecord(copied_event_[slot].get(), stream_.get()), kTaking);
}

bool OutputTaker::take_some() {
  while (copied_ < passed_ + kOutputChunks) {
    const std::atomic_ref<u64> complete(*this->complete(copied_));
    const u64 bytes = complete.load(std::memory_order_acquire);
    if (bytes == 0) break;
    complete.store(0, std::memory_order_relaxed);
    is_clean_ = false;
    copy(bytes);
  }
  if (working_.load(std::memory_order_acquire) != 0) return false;
  finish();
  u64 ready = 0;
  for (; passed_ + ready < copied_; ready++) {
    const cudaError_t state = cudaEventQuery(copied_event_[(passed_ + ready) % kOutputChunks].get());
    if (state == cudaErrorNotReady) break;
    check(state, kTaking);
  }
  if (ready != 0) pass_on(ready);
  return passed_ < copied_;
}

std::vector<u32> OutputTaker::take_rest(OutputHead head) {
  if (head.bits == 0) return {};
  is_clean_ = false;
  const auto take_all = [&] {
    finish();
    while (take_some()) finish();
  };
  take_all();
  // Of the last chunk, if no record was too long for it.
  if (copied_ == head.chunk() && head.offset() != 0) {
    copy(head.offset());
    take_all();
  }
  return refused_;
}

void OutputTaker::pass_on(u64 chunks) {
  u64 bytes = 0;
  for (u64 number = passed_; number < passed_ + chunks; number++) bytes += bytes_[number % kOutputChunks];
  const u64 most = std::clamp<u64>(std::thread::hardware_concurrency(), 1, kMostThreads);
  const u64 count = std::clamp<u64>(bytes / kBytesOfThread, 1, most);
  under_way_ = chunks;
  if (count == 1) return pass_on_part(0, 1);
  working_ = count;
  for (u64 i = 0; i < count; i++) {
    threads_.emplace_back([this, i, count] {
      pass_on_part(i, count);
      working_.fetch_sub(1, std::memory_order_release);
    });
  }
}

void OutputTaker::finish() {
  threads_.clear();  // waits for them
  passed_ += std::exchange(under_way_, 0);
}

void OutputTaker::pass_on_part(u64 thread, u64 threads) {
  for (u64 number = passed_; number < passed_ + under_way_; number++) {
    const u64 slot = number % kOutputChunks;
    const u8* at = host_log_.data() + slot * chunk_bytes_;
    const u8* const end = at + bytes_[slot];
    OutputRecord record;
    for (; at < end; at += record_bytes(record.size())) {
      std::memcpy(&record, at, sizeof record);
      // The records of one lane must stay in order: one thread passes on all of them.
      if (record.lane / kLanesTogether % threads != thread) continue;
      if (is_refused_[record.lane] != 0) continue;  // what follows a gap is of no use
      const std::span<const u8> text(at + sizeof record, record.size());
      const PutOut put = host_.put_out(record.lane, record.stream(), record.position, text);
      if (put.kind == PutOut::Kind::taken) continue;
      is_refused_[record.lane] = 1;
      const std::lock_guard lock(mutex_);
      refused_.push_back(record.lane);
    }
  }
}

}  // namespace myriarm::cuda
