// SPDX-License-Identifier: Apache-2.0
// A queue of inputs that several devices share: each takes the next input whenever it has a lane free. Results do not
// depend on which devices there are, and a device that fails loses none.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "myriarm/queue.h"

namespace myriarm {

/// One device of a SharedQueue.
struct QueueDevice {
  std::string name;    ///< for messages: "cuda:0"
  uint64_t lanes = 1;  ///< how many inputs it works on at the same time
  /// Makes the queue that works on it. The SharedQueue calls it in a thread of its own when a run begins, and again in the
  /// next run if the device has failed. An ArgumentError ends the run; any other exception is a failure of this device.
  std::function<std::unique_ptr<InputQueue>()> make;
};

/// A device that took no further part in a run.
struct DeviceFailure {
  std::string name;    ///< QueueDevice::name
  std::string reason;  ///< what the exception said
};

/// The devices that a text names: one as FleetOptions::device takes it, several as in "cpu,cuda:0", or "all". A device may
/// be named twice. Throws ArgumentError or DeviceError.
std::vector<Device> queue_devices(const std::string& names);

/// Inputs are taken from the source in order, as devices have room for them. What a device that failed was working on comes
/// before what was not begun. With QueueOptions::ordered results that wait for an earlier one are held here; while they, or
/// without it those that the sink has not taken, take more than QueueOptions::held_bytes, no further input begins. At most
/// one input for each lane is kept beside those in the lanes, and no more than 64 MiB of them.
class SharedQueue final : public InputQueue {
 public:
  /// A fleet for each of these options; the others are the same for all. Of `process`, what is given for each lane and
  /// on_call must be empty. Each process may write as much as in the fleet with the most lanes. Throws ArgumentError, and
  /// DeviceError if there is no such device. The fleets are made by run().
  SharedQueue(const ElfImage& image, std::span<const FleetOptions> fleets, const LinuxOptions& process);
  /// Other queues than those of this library. Throws ArgumentError if there is none.
  explicit SharedQueue(std::vector<QueueDevice> devices);
  ~SharedQueue() override;

  /// The source and the sink are called from this thread while the devices run. A device that fails takes no further part,
  /// and the others get its inputs; the next run tries it again. Without QueueOptions::ordered numbers need not rise, but an
  /// input with the number of another that has no result yet is an ArgumentError of the source. Throws DeviceError if every
  /// device has failed before all inputs have their results; the sink has got those that there are.
  QueueProgress run(const QueueSource& source, const QueueSink& sink, const QueueOptions& options = {}) override;
  /// As run(). Each device works its part off as Queue::digest() does there, on a GPU with lanes that take inputs by
  /// themselves. The bytes of inputs are copied and kept until they have their digests: those that no device has begun with
  /// take no more than 64 MiB and a batch, or 256 MiB of a larger one.
  /// Without QueueOptions::ordered numbers may be the same.
  QueueProgress digest(const BatchSource& source, const DigestSink& sink, const QueueOptions& options = {}) override;
  void cancel() override;
  std::map<std::string, UnimplementedCall> unimplemented() const override;

  /// The devices that failed in this run, or in the last one, in the order in which they failed. To be called from the
  /// thread of run().
  const std::vector<DeviceFailure>& failures() const;
  /// Is told of each failure as it happens, from the thread of run().
  void on_failure(std::function<void(const DeviceFailure&)> told);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace myriarm
