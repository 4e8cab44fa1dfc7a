// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/process/input_segments.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <utility>

namespace myriarm::cuda {
namespace {

/// Segments whose bytes are all kept, and these bytes. If there are more, one is shrunk.
constexpr u64 kMostWhole = 16, kMostWholeBytes = u64{768} << 20;
constexpr u64 kStageBytes = u64{8} << 20;

/// A number that is higher for larger sizes: sizes that differ by less than a sixteenth may have the same.
u32 size_class(u64 size) {
  constexpr u32 kBits = 4;
  const u32 above = std::max(static_cast<u32>(std::bit_width(size)), kBits + 1) - (kBits + 1);
  return (above << kBits) + static_cast<u32>(size >> above);
}

/// Places in the batch, those of large inputs first and otherwise in their order. Empty: all are about as large.
std::vector<u32> large_first(std::span<const u64> offsets) {
  const size_t count = offsets.size() - 1;
  const auto class_of = [&](size_t i) { return size_class(offsets[i + 1] - offsets[i]); };
  std::vector<u32> begins;  // by class: at first how many inputs it has
  for (size_t i = 0; i < count; i++) {
    const u32 own = class_of(i);
    if (own >= begins.size()) begins.resize(own + 1);
    begins[own]++;
  }
  if (begins[class_of(0)] == count) return {};
  u32 before = 0;
  for (auto begin = begins.rbegin(); begin != begins.rend(); begin++) before += std::exchange(*begin, before);
  std::vector<u32> order(count);
  for (size_t i = 0; i < count; i++) order[begins[class_of(i)]++] = static_cast<u32>(i);
  return order;
}

}  // namespace

InputSegments::InputSegments(int device) {
  check(cudaSetDevice(device), "selecting the CUDA device");
  cudaStream_t stream;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a stream for inputs");
  copies_.reset(stream);
  for (Stage& stage : stages_) {
    stage.bytes.resize(kStageBytes, "allocating a queue's inputs");
    cudaEvent_t event;
    check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "making a stream for inputs");
    stage.copied.reset(event);
  }
}

void InputSegments::add(const InputBatch& batch) {
  if (batch.size() == 0) return;
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
  segment->size = batch.offsets.back() - batch.offsets.front();
  segment->order = large_first(batch.offsets);
  segment->skipped = segment->order.empty() ? batch.offsets.front() : 0;
  segment->bytes.resize(std::max<u64>(segment->size, 1), "allocating a queue's inputs");
  segment->offsets.resize(batch.offsets.size(), "allocating a queue's inputs");
  std::vector<u64> offsets, numbers;  // in the order of the segment
  for (u32 place : segment->order) {
    if (offsets.empty()) offsets.push_back(0);
    offsets.push_back(offsets.back() + batch.offsets[place + 1] - batch.offsets[place]);
    numbers.push_back(batch.numbers.empty() ? batch.first_number + place : batch.numbers[place]);
  }
  segment->offsets.upload(offsets.empty() ? batch.offsets : offsets, copies_.get());
  const std::span<const u64> sent_numbers = numbers.empty() ? batch.numbers : numbers;
  segment->has_numbers = !sent_numbers.empty();
  if (segment->has_numbers) {
    segment->numbers.resize(sent_numbers.size(), "allocating a queue's inputs");
    segment->numbers.upload(sent_numbers, copies_.get());
  }
  send_bytes(*segment, batch);
  check(cudaStreamSynchronize(copies_.get()), "sending a queue's inputs");
  segments_.push_back(std::move(segment));
}

void InputSegments::send_bytes(const InputSegment& segment, const InputBatch& batch) {
  u64 sent = 0, filled = 0;
  u32 turn = 0;
  const auto send = [&] {
    Stage& stage = stages_[turn++ % 2];
    check(
        cudaMemcpyAsync(segment.bytes.data() + sent, stage.bytes.data(), filled, cudaMemcpyHostToDevice, copies_.get()),
        "sending a queue's inputs");
    check(cudaEventRecord(stage.copied.get(), copies_.get()), "sending a queue's inputs");
    sent += std::exchange(filled, 0);
  };
  const auto add = [&](std::span<const u8> bytes) {
    while (!bytes.empty()) {
      const Stage& stage = stages_[turn % 2];
      if (filled == 0) check(cudaEventSynchronize(stage.copied.get()), "sending a queue's inputs");
      const u64 size = std::min(bytes.size(), kStageBytes - filled);
      std::memcpy(stage.bytes.data() + filled, bytes.data(), size);
      bytes = bytes.subspan(size);
      filled += size;
      if (filled == kStageBytes) send();
    }
  };
  if (segment.order.empty()) add(batch.bytes.subspan(batch.offsets.front(), segment.size));
  for (u32 place : segment.order) {
    add(batch.bytes.subspan(batch.offsets[place], batch.offsets[place + 1] - batch.offsets[place]));
  }
  if (filled != 0) send();
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

u64 InputSegments::waiting_bytes() const {
  u64 sum = 0;
  bool current = true;
  for (const auto& segment : segments_) {
    if (segment->begun == segment->count) continue;
    if (!current) sum += segment->size;
    current = false;
  }
  return sum;
}

u64 InputSegments::running() const {
  u64 sum = 0;
  for (const auto& segment : segments_) sum += segment->running;
  return sum;
}

u64 InputSegments::ended(u64 ticket) {
  const auto after =
      std::ranges::partition_point(segments_, [&](const auto& segment) { return segment->first_ticket <= ticket; });
  InputSegment& segment = **std::prev(after);
  segment.running--;
  return segment.order.empty() ? ticket : segment.first_ticket + segment.order[ticket - segment.first_ticket];
}

void InputSegments::tidy(kernel::ProcessInput* inputs, const QueuedLane* lanes, u64 count, cudaStream_t stream) {
  u64 whole = 0, whole_bytes = 0;
  for (std::unique_ptr<InputSegment>& segment : segments_) {
    const bool used_up = segment->begun == segment->count;
    if (used_up && segment->running == 0) {
      if (!segment->shrunk) spare_.push_back(std::move(segment));
      segment.reset();
    } else if (!segment->shrunk) {
      whole++;
      whole_bytes += segment->size;
    }
  }
  std::erase(segments_, nullptr);
  for (const auto& segment : segments_) {
    if (whole <= kMostWhole && whole_bytes <= kMostWholeBytes) break;
    if (segment->shrunk || segment->begun != segment->count) continue;
    shrink(*segment, inputs, lanes, count, stream);
    whole--;
    whole_bytes -= segment->size;
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
