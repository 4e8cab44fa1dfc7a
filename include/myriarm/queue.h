// SPDX-License-Identifier: Apache-2.0
// A queue of inputs: any number of them, worked off by the lanes of one fleet. A lane whose process has ended is put back
// to the beginning and takes the next input.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "myriarm/linux.h"

namespace myriarm {

/// What became of one input. It depends on the input, its number and the options alone: not on the lane, the device, or
/// the other inputs. MYRIARM_LANE is the number, and the guest's random bytes depend on it; it has at most ten digits.
struct QueueResult {
  uint64_t number = 0;  ///< of the input
  LaneOutcome outcome;
  uint64_t instructions = 0;
  uint64_t pc = 0;
  std::vector<uint8_t> standard_output, standard_error;
};

struct QueueProgress {
  uint64_t done = 0;     ///< inputs whose process has ended
  uint64_t failed = 0;   ///< of these: those that did not exit with 0
  uint64_t running = 0;  ///< inputs in lanes
  uint64_t instructions = 0;
  double seconds = 0;
  bool stopped_early = false;  ///< cancel() was called, or the sink has returned false
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

/// What a source has.
enum class Supply : uint8_t {
  input,  ///< it has given one
  later,  ///< none now; it is asked again
  ended,  ///< no further one
};
/// Gives the next input. `number` is one more than that of the input before, and the source may raise it, to leave inputs
/// out. `idle`: no process runs, so the source may wait; otherwise they wait for it.
using QueueSource = std::function<Supply(ProcessInput& input, uint64_t& number, bool idle)>;
/// Takes a result; returns false to end the run. May move its outputs.
using QueueSink = std::function<bool(QueueResult& result)>;

class Queue {
 public:
  /// Makes the fleet. Of `process`, what is given for each lane must be empty. Throws ArgumentError or DeviceError.
  Queue(const ElfImage& image, const FleetOptions& fleet, LinuxOptions process);
  ~Queue();

  Fleet& fleet();
  /// Works inputs off until the source has no more, the sink returns false, or cancel() was called; inputs whose processes
  /// have not ended then have no result. Both functions are called from this thread, between two rounds of the lanes; an
  /// exception of theirs ends the run and is rethrown. A queue can run again. Throws ArgumentError for an input that does
  /// not fit in the process, after the results of those before it.
  QueueProgress run(const QueueSource& source, const QueueSink& sink, const QueueOptions& options = {});
  /// Ends a run() in another thread; if there is none, the next one ends at once.
  void cancel();
  /// As LinuxFleet::unimplemented(), of all inputs so far.
  std::map<std::string, UnimplementedCall> unimplemented() const;

 private:
  class Run;
  std::unique_ptr<LinuxFleet> processes_;
};

}  // namespace myriarm
