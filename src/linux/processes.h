// SPDX-License-Identifier: Apache-2.0
// What the host does for the processes of a LinuxFleet: it gives them their inputs, keeps or passes on what they write,
// prints their calls, and notes the calls that the library lacks. Runs call it from the threads of their lanes.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "linux/output_buffer.h"
#include "linux/syscall_text.h"
#include "myriarm/linux.h"
#include "myriarm/process.h"

namespace myriarm::linux_process {

/// What a process has written to standard output and standard error.
using Outputs = std::array<std::vector<uint8_t>, 2>;

class Processes final : public ProcessHost {
 public:
  /// What a process was given by restart().
  struct OwnInput {
    std::optional<std::vector<uint8_t>> standard_input, file;
    std::optional<std::vector<std::string>> arguments, environment;
  };
  /// How many of its events were told, and of those how many before the process began again: it has the same ones again,
  /// since what it does depends on what it was given alone.
  struct Told {
    uint64_t now = 0, before = 0;
    /// Of the next event: whether it was told before.
    bool is_known() { return now++ < before; }
    void begin_again() { before = std::max(before, std::exchange(now, 0)); }
  };
  struct Seen {
    Told calls, missing_calls, signals;                 // after(), unimplemented(), signalled()
    std::array<uint64_t, 2> passed{}, passed_before{};  // bytes of each stream, where output is passed on
  };
  /// What is kept of a process that begins again.
  struct Given {
    uint64_t number = 0;
    uint32_t source = 0;
    std::shared_ptr<const OwnInput> input;
    Seen seen;
  };

  /// Takes the inputs out of `options`. `cancelled` says whether a write to a stream of the host that cannot take more is
  /// to be given up.
  Processes(uint64_t lanes, LinuxOptions& options, const std::atomic<bool>& cancelled);

  /// The bytes that a process may write to each stream.
  static uint64_t output_share(uint64_t limit, uint64_t lanes);
  /// To be called before the fleet is made: all processes have written and called this when they begin.
  void begin_with(Outputs output, std::map<std::string, UnimplementedCall> unimplemented);
  /// A BRK of the host's is no signal of the process.
  void keep_breakpoints() { keeps_breakpoints_ = true; }
  /// Passes on what lane 0 had written when it began, if its output is passed on and this was not done yet.
  void pass_first_output();

  /// Makes the process of a lane one that has not begun. Takes everything out of `input`.
  void restart(uint32_t lane, uint64_t number, ProcessInput& input);
  /// For begin_again(). `input` may be null.
  Given given(uint32_t lane) const;
  /// Makes the process of a lane one that has not begun, with what it was given before the fleet has restored the lane.
  /// What it has passed on, and what was told of its calls, is not passed on or told again.
  void begin_again(uint32_t lane, const Given& given);

  /// Whether all that lanes may have of their own is standard input or a file, and nobody watches their calls or gets their
  /// output at once.
  bool inputs_are_bytes(bool as_file) const {
    return !on_call_ && !pass_output_ && inputs_.empty() && files_.empty() && !(as_file && !input_.empty());
  }
  /// Fills in what processes may write, and what they have written when they begin.
  void describe(InputRun& run) const;

  std::span<const uint8_t> output(uint32_t lane, unsigned stream) const {
    const Lane& process = lanes_[lane];
    if (passes_output(lane)) return {};
    return process.wrote[stream - 1] ? process.output[stream - 1].bytes() : first_output_[stream - 1];
  }
  std::map<std::string, UnimplementedCall> unimplemented_calls() const;

  GivenInput input(uint32_t lane) const override;
  const FileTree* root() const override { return root_.get(); }
  PutOut put_out(uint32_t lane, unsigned stream, uint64_t position, std::span<const uint8_t> bytes) override;
  void unimplemented(HostedCall& call) override;
  bool wants_each_unimplemented() const override { return false; }
  bool keeps_breakpoints() const override { return keeps_breakpoints_; }
  void unimplemented_again(uint32_t number, uint64_t count) override;
  void before(HostedCall& call) override;
  void after(HostedCall& call, const int64_t* result) override;
  void signalled(const HostedSignal& signal) override;
  void saved(uint64_t snapshot, std::span<const uint32_t> lanes) override;
  void restored(uint64_t snapshot, std::span<const uint32_t> from, std::span<const uint32_t> to) override;
  void dropped(uint64_t snapshot) override;

 private:
  struct Lane {
    uint64_t number = 0;                    // of the lane, or of the input that it works on
    uint32_t source = 0;                    // the lane whose elements of LinuxOptions it has
    std::array<bool, 2> wrote = {};         // `output` holds what it has written; else that is first_output_
    std::shared_ptr<const OwnInput> input;  // null: what the options give
    std::array<OutputBuffer, 2> output;     // standard output, standard error
  };
  /// A lane of a snapshot that is not as it began.
  struct SavedLane {
    uint64_t number;
    uint32_t source;
    std::shared_ptr<const OwnInput> input;
    std::array<bool, 2> wrote;
    Outputs output;
  };

  struct SavedLanes {
    std::vector<uint32_t> lanes;         // empty: all
    std::map<uint32_t, SavedLane> kept;  // a lane that is not there is as it began
  };

  bool passes_output(uint32_t lane) const { return pass_output_ && lane == 0; }
  bool is_traced(uint32_t lane) const;
  /// What on_call_ and traced_lanes_ name its process by.
  uint64_t traced_number(uint32_t lane) const { return names_inputs_ ? lanes_[lane].number : lane; }
  /// The lane's process begins: what it has written before is to be passed on, if all of its output is.
  void note_first_output(uint32_t lane);
  /// Writes until all is written, the host refuses, or the run is cancelled.
  PutOut pass_on(int stream, std::span<const uint8_t> bytes) const;
  /// pass_on() of what a lane has written, from `position` on.
  PutOut pass_new(uint32_t lane, unsigned stream, uint64_t position, std::span<const uint8_t> bytes);

  const std::vector<uint8_t> input_;
  const ByteStrings inputs_, files_;  // of each lane, or empty
  const std::shared_ptr<const FileTree> root_;
  const bool pass_output_;
  const uint64_t output_share_;
  const std::function<void(uint64_t, std::string_view)> on_call_;
  const bool names_inputs_;                   // on_call_ and traced_lanes_ are about inputs
  const std::vector<uint32_t> traced_lanes_;  // in rising order; empty: all, if there is on_call_
  const std::atomic<bool>& cancelled_;
  Outputs first_output_;                       // what each lane has written when it begins
  std::array<size_t, 2> first_output_left_{};  // bytes of it that are to be passed on
  std::vector<Lane> lanes_;
  std::vector<Seen> seen_;                // of each lane; empty if no process can begin again
  std::map<uint64_t, SavedLanes> saved_;  // by snapshot

  std::mutex telling_;                      // held while on_call_ is called
  mutable std::mutex mutex_;                // guards what follows
  std::map<uint32_t, CallText> under_way_;  // by lane: the call that before() was told of
  std::map<std::string, UnimplementedCall> unimplemented_;

  bool keeps_breakpoints_ = false;
};

}  // namespace myriarm::linux_process
