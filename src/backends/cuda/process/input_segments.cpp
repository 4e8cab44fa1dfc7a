// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/process/input_segments.h"

#include <algorithm>
#include <utility>

#include "myriarm/error.h"

namespace myriarm::cuda {
namespace {

/// Segments whose bytes are all kept. If there are more, one is shrunk.
constexpr u64 kMostWhole = 3;

void check_batch(const InputBatch& batch) {
  u64 before = 0;
  for (u64 offset : batch.offsets) {
    if (offset < before || offset > batch.bytes.size()) {
      throw ArgumentError("the inputs of a batch have the offsets " + std::to_string(before) + " and " +
                          std::to_string(offset) + " in " + std::to_string(batch.bytes.size()) +
                          " bytes; offsets must rise, and lie within the bytes");
    }
    before = offset;
  }
}

}  // namespace

InputSegments::InputSegments(int device) {
  check(cudaSetDevice(device), "selecting the CUDA device");
  cudaStream_t stream;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a stream for inputs");
  copies_.reset(stream);
}

void InputSegments::add(const InputBatch& batch) {
  check_batch(batch);
  std::unique_ptr<InputSegment> segment;
  if (spare_.empty()) {
    segment = std::make_unique<InputSegment>();
  } else {
    segment = std::move(spare_.back());
    spare_.pop_back();
  }
  segment->first_ticket = next_ticket_;
  next_ticket_ += batch.size();
  segment->first_number = batch.first_number;
  segment->count = batch.size();
  segment->begun = segment->running = 0;
  segment->as_file = batch.as_file;
  segment->shrunk = false;
  segment->skipped = batch.offsets.front();
  const std::span<const u8> bytes = batch.bytes.subspan(segment->skipped, batch.offsets.back() - segment->skipped);
  segment->bytes.resize(std::max<u64>(bytes.size(), 1), "allocating a queue's inputs");
  segment->offsets.resize(batch.offsets.size(), "allocating a queue's inputs");
  segment->bytes.upload(bytes, copies_.get());
  segment->offsets.upload(batch.offsets, copies_.get());
  segment->has_numbers = !batch.numbers.empty();
  if (segment->has_numbers) {
    segment->numbers.resize(batch.numbers.size(), "allocating a queue's inputs");
    segment->numbers.upload(batch.numbers, copies_.get());
  }
  check(cudaStreamSynchronize(copies_.get()), "sending a queue's inputs");
  segments_.push_back(std::move(segment));
}

InputSegment* InputSegments::current() {
  const auto found =
      std::ranges::find_if(segments_, [](const auto& segment) { return segment->begun < segment->count; });
  return found == segments_.end() ? nullptr : found->get();
}

u64 InputSegments::waiting() const {
  u64 sum = 0;
  for (const auto& segment : segments_) sum += segment->count - segment->begun;
  return sum;
}

u64 InputSegments::running() const {
  u64 sum = 0;
  for (const auto& segment : segments_) sum += segment->running;
  return sum;
}

void InputSegments::ended(u64 ticket) {
  for (const auto& segment : segments_) {
    if (ticket - segment->first_ticket < segment->count) segment->running--;
  }
}

void InputSegments::tidy(kernel::ProcessInput* inputs, const QueuedLane* lanes, u64 count, cudaStream_t stream) {
  u64 whole = 0;
  for (std::unique_ptr<InputSegment>& segment : segments_) {
    const bool used_up = segment->begun == segment->count;
    if (used_up && segment->running == 0) {
      if (!segment->shrunk) spare_.push_back(std::move(segment));
      segment.reset();
    } else {
      whole += !segment->shrunk;
    }
  }
  std::erase(segments_, nullptr);
  for (const auto& segment : segments_) {
    if (whole <= kMostWhole) break;
    if (segment->shrunk || segment->begun != segment->count) continue;
    shrink(*segment, inputs, lanes, count, stream);
    whole--;
  }
}

void InputSegments::shrink(InputSegment& segment, kernel::ProcessInput* inputs, const QueuedLane* lanes, u64 count,
                           cudaStream_t stream) {
  std::vector<kernel::ProcessInput> all(count);
  std::vector<QueuedLane> queued(count);
  check(cudaMemcpyAsync(all.data(), inputs, count * sizeof all[0], cudaMemcpyDeviceToHost, stream), "moving inputs");
  check(cudaMemcpyAsync(queued.data(), lanes, count * sizeof queued[0], cudaMemcpyDeviceToHost, stream),
        "moving inputs");
  check(cudaStreamSynchronize(stream), "moving inputs");
  std::vector<u32> moved;
  u64 size = 0;
  for (u32 lane = 0; lane < count; lane++) {
    const bool own = queued[lane].ticket - segment.first_ticket < segment.count;
    if (queued[lane].state == QueuedState::idle || !own) continue;
    moved.push_back(lane);
    size += segment.as_file ? all[lane].file.size : all[lane].standard_input.size;
  }
  DeviceArray<u8> own(std::max<u64>(size, 1), "moving inputs");
  std::vector<kernel::ProcessInput> values;
  u64 at = 0;
  for (u32 lane : moved) {
    kernel::Bytes& bytes = segment.as_file ? all[lane].file : all[lane].standard_input;
    if (bytes.size != 0) {
      check(cudaMemcpyAsync(own.data() + at, bytes.data, bytes.size, cudaMemcpyDeviceToDevice, stream),
            "moving inputs");
    }
    bytes.data = own.data() + at;
    at += bytes.size;
    values.push_back(all[lane]);
  }
  if (!moved.empty()) {
    DeviceArray<u32> device_lanes(moved.size(), "moving inputs");
    DeviceArray<kernel::ProcessInput> device_values(moved.size(), "moving inputs");
    device_lanes.upload(moved, stream);
    device_values.upload(values, stream);
    launch_place_inputs(device_lanes.data(), device_values.data(), moved.size(), inputs, stream);
    check(cudaStreamSynchronize(stream), "moving inputs");
  }
  check(cudaStreamSynchronize(stream), "moving inputs");
  auto spare = std::make_unique<InputSegment>();
  std::swap(spare->bytes, segment.bytes);
  std::swap(segment.bytes, own);
  spare_.push_back(std::move(spare));
  segment.shrunk = true;
}

}  // namespace myriarm::cuda
