// SPDX-License-Identifier: Apache-2.0
#include "myriarm/shared_queue.h"

#include <algorithm>
#include <utility>

#include "linux/batches.h"
#include "linux/digest_ledger.h"
#include "linux/input_ledger.h"
#include "linux/input_number.h"
#include "linux/processes.h"
#include "linux/shared_run.h"

namespace myriarm {
namespace {

using linux_process::Lock;
using linux_process::SharedDevices;
using linux_process::SharedRun;

/// A Form of linux/shared_run.h: inputs one by one, and results with their outputs.
struct Results {
  using Ledger = linux_process::InputLedger;
  using Run = SharedRun<Results>;

  bool pass_on(Lock& lock, bool& any) {
    while (std::optional<QueueResult> result = ledger.pass_on()) {
      any = true;
      lock.unlock();
      if (!sink(*result)) return false;
      lock.lock();
    }
    return true;
  }
  Supply ask(Lock& lock, bool idle) {
    ProcessInput input;
    uint64_t number = next;
    lock.unlock();
    const Supply supply = source(input, number, idle);
    lock.lock();
    if (supply != Supply::input) return supply;
    linux_process::check_number(number, ordered ? next : 0);
    next = number + 1;
    ledger.add(number, std::move(input));
    return supply;
  }
  uint64_t share(const QueueDevice& device, uint64_t) const { return device.lanes; }
  QueueProgress work(Run& run, size_t place, InputQueue& queue, const QueueOptions& options) {
    const QueueSource give = [&](ProcessInput& input, uint64_t& number, bool idle) {
      return run.give(place, idle, [&](uint64_t) { return ledger.take(place, input, number); });
    };
    const QueueSink take = [&](QueueResult& result) {
      const bool failed = result.outcome.exit_status != 0;
      const uint64_t number = result.number, instructions = result.instructions;
      return run.take([&] {
        if (!ledger.put(place, std::move(result))) return false;
        run.count(place, number, instructions, failed);
        return true;
      });
    };
    return queue.run(give, take, options);
  }

  const QueueSource& source;
  const QueueSink& sink;
  Ledger ledger;
  bool ordered;
  uint64_t next = 0;  // the least number of the next input
};

/// The other one: batches of inputs, and digests. Each device works them off in its own way.
struct Digests {
  using Ledger = linux_process::DigestLedger;
  using Run = SharedRun<Digests>;

  bool pass_on(Lock& lock, bool& any) {
    while (true) {
      const std::vector<InputDigest> digests = ledger.pass_on();
      if (digests.empty()) return true;
      any = true;
      lock.unlock();
      if (!sink(digests)) return false;
      lock.lock();
    }
  }
  Supply ask(Lock& lock, bool idle) {
    InputBatch batch;
    lock.unlock();
    const Supply supply = batches.next(batch, idle);
    if (supply == Supply::input) check_batch(batch);
    lock.lock();
    if (supply == Supply::input) ledger.add(batch);
    return supply;
  }
  /// An input for each lane, and of a device that has done many a sixteenth of these: what it gets at a time grows with its
  /// speed, and at the end no device has much when the others have nothing.
  uint64_t share(const QueueDevice& device, uint64_t done) const {
    return std::clamp(done / 16, device.lanes, std::max(device.lanes, linux_process::kMostInputs));
  }
  QueueProgress work(Run& run, size_t place, InputQueue& queue, const QueueOptions& options) {
    const BatchSource give = [&](InputBatch& batch, bool idle) {
      return run.give(place, idle, [&](uint64_t most) { return ledger.take(place, most, batch); });
    };
    const DigestSink take = [&](std::span<const InputDigest> digests) {
      return run.take([&] {
        for (const InputDigest& digest : digests) {
          if (!ledger.put(place, digest)) return false;
          run.count(place, digest.number, digest.instructions,
                    digest.reason != StopReason::exited || digest.stop_detail != 0);
        }
        return true;
      });
    };
    return queue.digest(give, take, options);
  }

  linux_process::Batches batches;
  const DigestSink& sink;
  Ledger ledger;
};

}  // namespace

struct SharedQueue::Impl : SharedDevices {};

SharedQueue::SharedQueue(std::vector<QueueDevice> devices) : impl_(std::make_unique<Impl>()) {
  if (devices.empty()) throw ArgumentError("a queue needs a device; name one or more");
  for (QueueDevice& device : devices) impl_->places.push_back({std::move(device)});
}

SharedQueue::SharedQueue(const ElfImage& image, std::span<const FleetOptions> fleets, const LinuxOptions& process)
    : impl_(std::make_unique<Impl>()) {
  if (fleets.empty()) throw ArgumentError("a queue needs a device; name one or more");
  if (process.on_call) {
    throw ArgumentError("on_call: several devices would call it at a time; trace a queue on one device");
  }
  uint64_t most_lanes = 0;
  for (const FleetOptions& fleet : fleets) most_lanes = std::max(most_lanes, fleet.lanes);
  const uint64_t share = linux_process::Processes::output_share(process.output_limit, most_lanes);
  const auto common = std::make_shared<const std::pair<ElfImage, LinuxOptions>>(image, process);
  for (const FleetOptions& fleet : fleets) {
    const auto make = [common, fleet, share]() -> std::unique_ptr<InputQueue> {
      LinuxOptions options = common->second;
      options.output_limit = share * fleet.lanes;
      return std::make_unique<Queue>(common->first, fleet, std::move(options));
    };
    impl_->places.push_back({{find_device(fleet.device).id, fleet.lanes, make}});
  }
}
SharedQueue::~SharedQueue() = default;

QueueProgress SharedQueue::run(const QueueSource& source, const QueueSink& sink, const QueueOptions& options) {
  Results results{source, sink, {options.ordered, options.held_bytes}, options.ordered};
  return SharedRun(*impl_, results, options).go();
}

QueueProgress SharedQueue::digest(const BatchSource& source, const DigestSink& sink, const QueueOptions& options) {
  Digests digests{{source, options.ordered}, sink, {options.ordered, options.held_bytes}};
  return SharedRun(*impl_, digests, options).go();
}

void SharedQueue::cancel() {
  std::lock_guard lock(impl_->mutex);
  impl_->cancelled = true;
  impl_->wake_run();
}

std::map<std::string, UnimplementedCall> SharedQueue::unimplemented() const {
  std::map<std::string, UnimplementedCall> calls = impl_->lost_calls;
  for (const SharedDevices::Place& place : impl_->places) {
    if (place.queue) linux_process::add_calls(calls, *place.queue);
  }
  return calls;
}

const std::vector<DeviceFailure>& SharedQueue::failures() const { return impl_->failures; }
void SharedQueue::on_failure(std::function<void(const DeviceFailure&)> told) { impl_->on_failure = std::move(told); }

std::vector<Device> queue_devices(const std::string& names) {
  if (names == "all") return devices();
  std::vector<Device> found;
  for (size_t at = 0; at <= names.size();) {
    const size_t end = std::min(names.find(',', at), names.size());
    found.push_back(find_device(names.substr(at, end - at)));
    at = end + 1;
  }
  return found;
}

}  // namespace myriarm
