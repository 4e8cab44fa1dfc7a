// SPDX-License-Identifier: Apache-2.0
// A queue of inputs: any number of them, worked off by the lanes of one fleet. A lane whose process has ended is put back
// to the beginning and takes the next input.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "myriarm/inputs.h"
#include "myriarm/linux.h"

namespace myriarm {

/// What became of one input. It depends on the input, its number and the options alone: not on the lane, the device, or
/// the other inputs. StopReason::out_of_memory: the pool is too small for the process alone (LinuxRunOptions::as_if_alone).
/// MYRIARM_LANE is the number, and the guest's random bytes depend on it; it has at most ten digits.
struct QueueResult {
  uint64_t number = 0;  ///< of the input
  LaneOutcome outcome;
  uint64_t instructions = 0;
  uint64_t pc = 0;
  std::vector<uint8_t> standard_output, standard_error;
  std::vector<CollectedFile> files;  ///< what the paths of LinuxOptions::collect lead to: LinuxFleet::collect()

  /// Bytes of the outputs and files.
  uint64_t bytes() const {
    uint64_t sum = standard_output.size() + standard_error.size();
    for (const CollectedFile& file : files) sum += sizeof file + file.path.size() + file.bytes.size();
    return sum;
  }
};

struct QueueProgress {
  uint64_t done = 0;     ///< inputs whose process has ended
  uint64_t failed = 0;   ///< of these: those that did not exit with 0
  uint64_t running = 0;  ///< inputs in lanes
  /// That lanes have retired, also for processes that had to begin again.
  uint64_t instructions = 0;
  double seconds = 0;
  bool stopped_early = false;  ///< cancel() was called, or the sink has returned false
  /// What the lanes could have retired if none had waited for others: of each round as many instructions as the lane that
  /// ran longest, for every lane of the fleet; where lanes take inputs by themselves, as many as the longest process of a team
  /// for each of its lanes. See idle_share().
  uint64_t lane_instructions = 0;
  /// Of the inputs that have a result, at the end of run(): the one whose process retired most instructions (the first of
  /// several), and the median, which is exact up to 128 and within 1 % above.
  uint64_t longest_number = 0, longest_instructions = 0, median_instructions = 0;

  /// The share, 0 to 1, of the lanes' time in which they had no process that ran: it had ended before others of its round,
  /// or there was no further input to begin with. Time is counted in instructions. On the CPU threads take turns between
  /// lanes, and a share costs nothing as long as each thread has a lane (rounds in which lanes had to wait for their turn do
  /// not count); on a GPU it is lost.
  double idle_share() const {
    if (lane_instructions <= instructions) return 0;
    return 1 - static_cast<double>(instructions) / static_cast<double>(lane_instructions);
  }
};

struct QueueOptions {
  /// The sink gets results in the order of the inputs. If false, it gets them as they are ready.
  bool ordered = true;
  /// With `ordered`: how many bytes results may take that are held back, since they wait for one of an earlier input. While
  /// more are held, no further input is taken.
  uint64_t held_bytes = uint64_t{256} << 20;
  /// A process that has retired so many instructions ends with StopReason::budget.
  uint64_t instructions = kEndless;
  /// If set, called some times a second, from the thread of run().
  std::function<void(const QueueProgress&)> progress = {};
};

/// Gives the next input. `number` is one more than that of the input before, and the source may raise it, to leave inputs
/// out; without QueueOptions::ordered it may also be lower. `idle`: no process runs, so the source may wait; otherwise they
/// wait for it.
using QueueSource = std::function<Supply(ProcessInput& input, uint64_t& number, bool idle)>;
/// Takes a result; returns false to end the run. May move its outputs.
using QueueSink = std::function<bool(QueueResult& result)>;
/// Takes digests, at least one; returns false to end the run.
using DigestSink = std::function<bool(std::span<const InputDigest> digests)>;

/// What works inputs off: a Queue on one device, a SharedQueue (myriarm/shared_queue.h) on several.
class InputQueue {
 public:
  virtual ~InputQueue() = default;

  /// Works inputs off until the source has no more, the sink returns false, or cancel() was called; inputs whose processes
  /// have not ended then have no result. Both are called from this thread. What the sink throws ends the run; what the
  /// source throws ends the inputs, and comes after the results of those before, unless the run ends early. A queue can run
  /// again. Throws ArgumentError for an input that does not fit in the process, after the results of those before it.
  virtual QueueProgress run(const QueueSource& source, const QueueSink& sink, const QueueOptions& options) = 0;
  /// As run(), for inputs that come many at a time and whose outputs are not needed. A batch whose numbers are not as a
  /// QueueSource may give them, or whose offsets do not rise, ends the run with ArgumentError. Before an exception that is
  /// not the sink's leaves digest(), the sink gets the digests whose turn it is.
  virtual QueueProgress digest(const BatchSource& source, const DigestSink& sink, const QueueOptions& options);
  /// Ends a run() or digest() in another thread; if there is none, the next one ends at once.
  virtual void cancel() = 0;
  /// As LinuxFleet::unimplemented(), of all inputs so far.
  virtual std::map<std::string, UnimplementedCall> unimplemented() const = 0;
};

class Queue final : public InputQueue {
 public:
  /// Makes the fleet. Of `process`, what is given for each lane must be empty. Throws ArgumentError or DeviceError.
  Queue(const ElfImage& image, const FleetOptions& fleet, LinuxOptions process);
  ~Queue() override;

  Fleet& fleet();
  /// The source and the sink are called between two rounds of the lanes.
  QueueProgress run(const QueueSource& source, const QueueSink& sink, const QueueOptions& options = {}) override;
  /// On a GPU the lanes take inputs by themselves, 32 lanes when the processes of all have ended: an input that takes long
  /// holds up 31 others, so give a limit. Inputs whose processes starve together there begin again, with fewer at a time,
  /// when no others are under way, or 64 MiB of them wait. With Engine::stepper, if calls are watched, and on the CPU it is as run().
  QueueProgress digest(const BatchSource& source, const DigestSink& sink, const QueueOptions& options = {}) override;
  void cancel() override;
  std::map<std::string, UnimplementedCall> unimplemented() const override;

 private:
  class Run;
  std::unique_ptr<LinuxFleet> processes_;
  std::vector<std::string> collected_;  // LinuxOptions::collect
  std::atomic<uint64_t> cancels_ = 0;   // how often cancel() was called
};

}  // namespace myriarm
