// SPDX-License-Identifier: Apache-2.0
// The host's part of the processes of a CUDA fleet: what they are given, what they put out, and which of them wait for the
// host.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "backends/backend.h"
#include "backends/cuda/process/device_tree.h"
#include "backends/cuda/process/input_store.h"
#include "backends/cuda/process/output_taker.h"

namespace myriarm::cuda {

/// A lane whose call waits for the host. `wanted`: as ProcessView::wanted_files.
struct HostCall {
  u32 lane, wanted;
};

class Processes {
 public:
  Processes(const Image& image, const ProcessOptions& options, u64 lanes, cudaStream_t stream);

  const ProcessView& view() const { return view_; }
  ProcessHost& host() const { return *host_; }
  bool keep_memory() const { return view_.keep_memory != 0; }
  bool is_process(u32 program) const { return facts_[program].window_end != 0; }
  const kernel::ProcessFacts& facts(u32 program) const { return facts_[program]; }
  /// What the host has given the lane, as it was when it was last sent.
  const GivenInput& given(u32 lane) const { return given_[lane]; }

  void inputs_changed(std::span<const u32> lanes) { changed_.insert(changed_.end(), lanes.begin(), lanes.end()); }
  /// What lanes are given, on the device.
  kernel::ProcessInput* device_inputs() const { return inputs_.data(); }
  /// To be called when that is no longer what the host has given: it is sent again.
  void resend_inputs();
  /// Sends what has changed to the device. To be called before a launch.
  void send_inputs(cudaStream_t stream);
  /// What lanes have put out in a launch.
  OutputTaker& output() { return output_; }
  /// The host was told of a call that the library lacks, of the process of this input. Returns whether the device answers it from now on
  /// for inputs that come later.
  bool knows_missing(u32 number, u64 input, cudaStream_t stream);
  /// Tells the host how often lanes have made calls that it knows.
  void report_missing(cudaStream_t stream);
  /// The teams in which guests may access a page that is simple by lane alone: is_simple_by_lane().
  u32 teams_that_differ(const View& view, cudaStream_t stream);
  /// Of lanes under way, how many can be compared with one of the next team, and how many of these are elsewhere.
  struct Apart {
    u32 compared, apart;
  };
  Apart lanes_apart(const View& view, cudaStream_t stream);
  /// The first `count` lanes of ProcessView::host_calls, in rising order.
  std::vector<HostCall> waiting(u32 count, cudaStream_t stream);
  /// What contents of the root's files take of the device's memory at most.
  u64 most_contents() const { return tree_ ? tree_->limit() : 0; }
  /// Where these contents are to lie.
  void use_area(u8* area) {
    if (tree_) tree_->use_area(area);
  }
  /// Brings the file that a call wants. False: there is no memory for it.
  bool bring(const HostCall& call, cudaStream_t stream) { return tree_->bring(call.wanted - 1, stream); }

 private:
  std::shared_ptr<ProcessHost> host_;
  std::vector<kernel::ProcessFacts> facts_;  // by program
  std::vector<u64> lanes_end_;               // by program: the number behind that of its last lane
  std::vector<GivenInput> given_;            // by lane
  std::vector<u32> changed_;                 // lanes whose input must be sent
  InputStore store_;
  DeviceArray<kernel::ProcessFacts> device_facts_;
  DeviceArray<kernel::ProcessInput> inputs_, input_values_;
  DeviceArray<u32> input_lanes_, host_calls_, wanted_files_, counts_;
  DeviceArray<MissingCall> missing_;
  std::vector<u64> lowest_;  // MissingCall::lowest, as it was sent last
  OutputTaker output_;
  std::optional<DeviceTree> tree_;
  ProcessView view_ = {};
};

}  // namespace myriarm::cuda
