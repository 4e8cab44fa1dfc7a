// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/process/processes.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <thread>

#include "backends/cuda/process/output_log.h"

namespace myriarm::cuda {
namespace {

/// The log of output: room for what a lane usually writes in some milliseconds.
constexpr u64 kLogBytesOfLane = 4096, kLeastLog = u64{1} << 20, kMostLog = u64{64} << 20;
/// So many records are worth a thread of their own.
constexpr size_t kRecordsOfThread = 4096;
constexpr size_t kMostThreads = 16;

}  // namespace

Processes::Processes(const Image& image, const ProcessOptions& options, u64 lanes, cudaStream_t stream)
    : host_(options.host), given_(lanes) {
  for (const ImageProgram& program : image.programs) facts_.push_back(program.process.value_or(kernel::ProcessFacts{}));
  for (const ImageProgram& program : image.programs) {
    lanes_end_.push_back((lanes_end_.empty() ? 0 : lanes_end_.back()) + program.lanes);
  }
  resend_inputs();
  device_facts_.resize(facts_.size(), "allocating the processes' state");
  device_facts_.upload(facts_, stream);
  inputs_.resize(lanes, "allocating the processes' state");
  check(cudaMemsetAsync(inputs_.data(), 0, inputs_.bytes(), stream), "allocating the processes' state");
  host_calls_.resize(lanes, "allocating the processes' state");
  const u64 log = std::clamp(lanes * kLogBytesOfLane, kLeastLog, kMostLog);
  output_.resize(log + sizeof(OutputRecord), "allocating the log of output");
  host_output_.resize(log, "allocating the log of output");
  view_.facts = device_facts_.data();
  view_.inputs = inputs_.data();
  view_.output = output_.data();
  view_.output_size = log;
  view_.host_calls = host_calls_.data();
  if (!host_->wants_each_unimplemented()) {
    lowest_.assign(kMissingCalls, ~u64{0});
    missing_.resize(kMissingCalls, "allocating the processes' state");
    missing_.upload(std::vector<MissingCall>(kMissingCalls, MissingCall{~u64{0}, 0}), stream);
    check(cudaStreamSynchronize(stream), "allocating the processes' state");
    view_.missing = missing_.data();
  }
  view_.keep_memory = options.keep_memory;
}

void Processes::resend_inputs() {
  u64 first = 0;
  for (u32 program = 0; program < facts_.size(); program++) {
    for (u64 lane = first; is_process(program) && lane < lanes_end_[program]; lane++) {
      changed_.push_back(static_cast<u32>(lane));
    }
    first = lanes_end_[program];
  }
}

void Processes::send_inputs(cudaStream_t stream) {
  if (changed_.empty()) return;
  std::sort(changed_.begin(), changed_.end());
  changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
  // All old ones first: the host may have put new bytes where the old ones were.
  for (u32 lane : changed_) {
    store_.release(given_[lane].standard_input);
    store_.release(given_[lane].file);
    given_[lane] = {};
  }
  std::vector<kernel::ProcessInput> values;
  values.reserve(changed_.size());
  for (u32 lane : changed_) {
    GivenInput& given = given_[lane];
    const GivenInput next = host_->input(lane);
    const u8* standard_input = store_.hold(next.standard_input);
    given.standard_input = next.standard_input;
    const u8* file = store_.hold(next.file);
    given = next;
    const u8 on_host = given.traced || given.host_writes;
    values.push_back({given.number,
                      {standard_input, given.standard_input.size()},
                      {file, given.file.size()},
                      given.output_limit,
                      given.has_file,
                      on_host});
  }
  store_.send(stream);
  input_lanes_.resize(changed_.size(), "allocating call arguments");
  input_lanes_.upload(changed_, stream);
  input_values_.resize(values.size(), "allocating call arguments");
  input_values_.upload(values, stream);
  launch_place_inputs(input_lanes_.data(), input_values_.data(), values.size(), inputs_.data(), stream);
  check(cudaStreamSynchronize(stream), "sending the lanes' inputs");
  changed_.clear();
}

std::vector<u32> Processes::take_output(u64 bytes, cudaStream_t stream) {
  bytes = std::min(bytes, view_.output_size);
  if (bytes == 0) return {};
  const u8* log = host_output_.data();
  check(cudaMemcpyAsync(host_output_.data(), output_.data(), bytes, cudaMemcpyDeviceToHost, stream),
        "fetching the lanes' output");
  check(cudaStreamSynchronize(stream), "fetching the lanes' output");
  const auto record_at = [&](u64 at) {
    OutputRecord record;
    std::memcpy(&record, log + at, sizeof record);
    return record;
  };
  std::vector<u64> records;  // where they begin
  for (u64 at = 0; at < bytes;) {
    const OutputRecord record = record_at(at);
    if (record.stream() == OutputRecord::kEnd) break;
    records.push_back(at);
    at += record_bytes(record.size());
  }

  // The records of one lane must stay in order: one thread passes on all of them.
  const size_t most = std::clamp<size_t>(std::thread::hardware_concurrency(), 1, kMostThreads);
  const size_t count = std::clamp<size_t>(records.size() / kRecordsOfThread, 1, most);
  std::vector<std::vector<u64>> own(count);
  for (u64 at : records) own[record_at(at).lane % count].push_back(at);
  std::vector<std::set<u32>> refused(count);
  const auto pass_on = [&](size_t thread) {
    for (u64 at : own[thread]) {
      const OutputRecord record = record_at(at);
      if (refused[thread].count(record.lane) != 0) continue;  // what follows a gap is of no use
      const std::span<const u8> text(log + at + sizeof record, record.size());
      const PutOut put = host_->put_out(record.lane, record.stream(), record.position, text);
      if (put.kind != PutOut::Kind::taken) refused[thread].insert(record.lane);
    }
  };
  std::vector<std::jthread> threads;
  for (size_t i = 1; i < count; i++) threads.emplace_back(pass_on, i);
  pass_on(0);
  threads.clear();  // waits for them
  std::vector<u32> all;
  for (const std::set<u32>& lanes : refused) all.insert(all.end(), lanes.begin(), lanes.end());
  return all;
}

void Processes::knows_missing(u32 number, u64 input, cudaStream_t stream) {
  if (view_.missing == nullptr || number >= kMissingCalls || input >= lowest_[number]) return;
  lowest_[number] = input;
  check(cudaMemcpyAsync(&missing_.data()[number].lowest, &lowest_[number], sizeof(u64), cudaMemcpyHostToDevice, stream),
        "serving a call");
}

void Processes::report_missing(cudaStream_t stream) {
  std::vector<MissingCall> calls(kMissingCalls);
  check(cudaMemcpyAsync(calls.data(), missing_.data(), missing_.bytes(), cudaMemcpyDeviceToHost, stream),
        "counting calls");
  check(cudaStreamSynchronize(stream), "counting calls");
  for (u32 number = 0; number < kMissingCalls; number++) {
    if (calls[number].count != 0) host_->unimplemented_again(number, calls[number].count);
    calls[number].count = 0;
  }
  missing_.upload(calls, stream);
  check(cudaStreamSynchronize(stream), "counting calls");
}

std::vector<u32> Processes::waiting(u32 count, cudaStream_t stream) {
  std::vector<u32> lanes(count);
  check(cudaMemcpyAsync(lanes.data(), host_calls_.data(), count * sizeof(u32), cudaMemcpyDeviceToHost, stream),
        "fetching the lanes that wait for the host");
  check(cudaStreamSynchronize(stream), "fetching the lanes that wait for the host");
  std::sort(lanes.begin(), lanes.end());
  return lanes;
}

}  // namespace myriarm::cuda
