// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/process/processes.h"

#include <algorithm>

namespace myriarm::cuda {
Processes::Processes(const Image& image, const ProcessOptions& options, u64 lanes, cudaStream_t stream)
    : host_(options.host), given_(lanes), output_(*host_, lanes) {
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
  wanted_files_.resize(lanes, "allocating the processes' state");
  counts_.resize(2, "allocating the processes' state");
  view_.facts = device_facts_.data();
  view_.inputs = inputs_.data();
  view_.output = output_.ring();
  view_.output_chunk = output_.chunk_bytes();
  view_.host_calls = host_calls_.data();
  view_.wanted_files = wanted_files_.data();
  if (!host_->wants_each_unimplemented()) {
    lowest_.assign(kMissingCalls, ~u64{0});
    missing_.resize(kMissingCalls, "allocating the processes' state");
    missing_.upload(std::vector<MissingCall>(kMissingCalls, MissingCall{~u64{0}, 0}), stream);
    check(cudaStreamSynchronize(stream), "allocating the processes' state");
    view_.missing = missing_.data();
  }
  view_.keep_memory = options.keep_memory || options.keep_files;
  if (const FileTree* const root = host_->root()) {
    tree_.emplace(*root, stream);
    view_.tree = tree_->index();
    view_.contents = tree_->contents();
  }
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

bool Processes::knows_missing(u32 number, u64 input, cudaStream_t stream) {
  if (view_.missing == nullptr || number >= kMissingCalls) return false;
  if (input >= lowest_[number]) return true;
  lowest_[number] = input;
  check(cudaMemcpyAsync(&missing_.data()[number].lowest, &lowest_[number], sizeof(u64), cudaMemcpyHostToDevice, stream),
        "serving a call");
  return true;
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

u32 Processes::teams_that_differ(const View& view, cudaStream_t stream) {
  constexpr const char* kDoing = "looking for pages in which lanes differ";
  u32 teams = 0;
  check(cudaMemsetAsync(counts_.data(), 0, sizeof teams, stream), kDoing);
  launch_count_differing(view, counts_.data(), stream);
  check(cudaMemcpyAsync(&teams, counts_.data(), sizeof teams, cudaMemcpyDeviceToHost, stream), kDoing);
  check(cudaStreamSynchronize(stream), kDoing);
  return teams;
}

Processes::Apart Processes::lanes_apart(const View& view, cudaStream_t stream) {
  constexpr const char* kDoing = "looking which lanes are in step";
  u32 counts[2] = {};
  check(cudaMemsetAsync(counts_.data(), 0, sizeof counts, stream), kDoing);
  launch_count_apart(view, counts_.data(), stream);
  check(cudaMemcpyAsync(counts, counts_.data(), sizeof counts, cudaMemcpyDeviceToHost, stream), kDoing);
  check(cudaStreamSynchronize(stream), kDoing);
  return {counts[0], counts[1]};
}

std::vector<HostCall> Processes::waiting(u32 count, cudaStream_t stream) {
  constexpr const char* kDoing = "fetching the lanes that wait for the host";
  std::vector<u32> lanes(count), wanted(count);
  const auto fetch = [&](std::vector<u32>& values, const u32* from) {
    check(cudaMemcpyAsync(values.data(), from, count * sizeof(u32), cudaMemcpyDeviceToHost, stream), kDoing);
  };
  fetch(lanes, host_calls_.data());
  fetch(wanted, wanted_files_.data());
  check(cudaStreamSynchronize(stream), kDoing);
  std::vector<HostCall> calls;
  calls.reserve(count);
  for (u32 i = 0; i < count; i++) calls.push_back({lanes[i], wanted[i]});
  std::ranges::sort(calls, {}, &HostCall::lane);
  return calls;
}

}  // namespace myriarm::cuda
