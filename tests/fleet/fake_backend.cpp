// SPDX-License-Identifier: Apache-2.0
#include "fake_backend.h"

#include <stdexcept>

#include "myriarm/error.h"

namespace fleet_test {
namespace {
FakeBackend* last_made = nullptr;
}

FakeBackend::FakeBackend(const Image& made, const FleetOptions& options) : image(made), lanes_(options.lanes) {
  last_made = this;
  fill(Field::limit, ~u64{0});
}
FakeBackend::~FakeBackend() {
  if (last_made == this) last_made = nullptr;
}
FakeBackend& FakeBackend::last() {
  if (last_made == nullptr) throw std::logic_error("there is no backend");
  return *last_made;
}

template <class Each>
void FakeBackend::each(std::span<const u32> lanes, Each work) {
  std::lock_guard lock(mutex_);
  const size_t count = lanes.empty() ? lanes_.size() : lanes.size();
  for (size_t i = 0; i < count; i++) work(lanes_.at(lanes.empty() ? i : lanes[i]), i);
}

void FakeBackend::cancel() {
  std::lock_guard lock(mutex_);
  cancels++;
  cancel_ = true;
  changed_.notify_all();
}

void FakeBackend::retire(u64 instructions) {
  std::unique_lock lock(mutex_);
  to_retire_ = instructions;
  changed_.notify_all();
  changed_.wait(lock, [this] { return to_retire_ == 0; });
}

void FakeBackend::run_lane(Lane& lane, u64 batch, std::unique_lock<std::mutex>& lock) {
  u64& count = lane[Field::instructions];
  const u64 end = std::min(end_of(lane), batch > ~count ? ~u64{0} : count + batch);
  for (;;) {
    if (cancel_) {
      lane.stop = {StopCode::cancelled, FaultCode::none, 0, 0, 0};
    } else if (auto event = script.find(count); event != script.end() && !lane.served) {
      lane.stop = event->second;
      lane.served = event->second.code == StopCode::syscall;
    } else if (count >= end) {
      lane.stop = {StopCode::budget, FaultCode::none, 0, 0, 0};
    } else {
      auto next = script.upper_bound(count);
      const u64 step = next == script.end() ? end - count : std::min(end, next->first) - count;
      if (step > u64{1} << 40) {
        if (!may_hang) throw std::logic_error("a lane runs for ever");
        changed_.wait(lock, [this] { return cancel_ || to_retire_ != 0; });
        count += to_retire_;
        to_retire_ = 0;
        changed_.notify_all();
      } else {
        count += step;
        lane[x(0)] += step;
      }
      lane.served = false;
      continue;
    }
    return;
  }
}

RunReport FakeBackend::run(const RunOrder& order) {
  orders.push_back(order);
  if (on_run) on_run(order);
  std::unique_lock lock(mutex_);
  RunReport report;
  std::vector<Lane*> lanes;
  for (size_t i = 0; i < lanes_.size(); i++) {
    const bool wanted =
        order.lanes.empty() || std::find(order.lanes.begin(), order.lanes.end(), i) != order.lanes.end();
    if (wanted) lanes.push_back(&lanes_[i]);
  }
  for (Lane* each : lanes) {
    Lane& lane = *each;
    if (!order.first) continue;
    const u64 count = lane[Field::instructions];
    lane.ceiling = order.budget > ~count ? ~u64{0} : count + order.budget;
    const bool paused = lane.stop.code == StopCode::budget || lane.stop.code == StopCode::cancelled;
    if (paused && order.go_on) lane.stop = {};
  }
  for (u64 batch = 0; batch < order.batches; batch++) {
    report.left = 0;
    report.stops[static_cast<unsigned>(StopCode::budget)] = 0;
    bool any = false;
    for (Lane* each : lanes) {
      Lane& lane = *each;
      const bool begins = (batch == 0 && lane.stop.code == StopCode::none) ||
                          ((batch != 0 || !order.first) && lane.stop.code == StopCode::budget &&
                           lane[Field::instructions] < end_of(lane));
      if (!begins) continue;
      any = true;
      lane.stop = {};
      const u64 before = lane[Field::instructions];
      run_lane(lane, order.batch, lock);
      report.retired += lane[Field::instructions] - before;
      report.stops[static_cast<unsigned>(lane.stop.code)]++;
      report.left += lane.stop.code == StopCode::budget && lane[Field::instructions] < end_of(lane);
    }
    report.batches += any;
    if (report.left == 0) break;
  }
  return report;
}

void FakeBackend::progress(std::span<u64> retired, std::span<StopCode> codes) const {
  std::lock_guard lock(mutex_);
  for (size_t i = 0; i < retired.size(); i++) retired[i] = lanes_[i][Field::instructions];
  for (size_t i = 0; i < codes.size(); i++) codes[i] = lanes_[i].stop.code;
}

std::span<const StopRecord> FakeBackend::stops() {
  stops_.clear();
  each({}, [&](Lane& lane, size_t) { stops_.push_back(lane.stop); });
  return stops_;
}
void FakeBackend::scatter_stops(std::span<const u32> lanes, std::span<const StopRecord> stops) {
  each(lanes, [&](Lane& lane, size_t i) { lane.stop = stops[i]; });
}
void FakeBackend::gather(Field field, std::span<const u32> lanes, std::span<u64> values) {
  gathers++;
  each(lanes, [&](Lane& lane, size_t i) { values[i] = lane[field]; });
}
void FakeBackend::scatter(Field field, std::span<const u32> lanes, std::span<const u64> values) {
  each(lanes, [&](Lane& lane, size_t i) { lane[field] = values[i]; });
}
void FakeBackend::fill(Field field, u64 value) {
  each({}, [&](Lane& lane, size_t) { lane[field] = value; });
}

u64 FakeBackend::take_snapshot(std::span<const u32> lanes) {
  if (snapshots_fail) throw DeviceError("no room for a snapshot");
  auto& kept = snapshots[next_number_];
  each(lanes, [&](Lane& lane, size_t i) {
    auto& state = kept[lanes.empty() ? static_cast<u32>(i) : lanes[i]];
    state = lane.state;
    state.push_back(static_cast<u64>(lane.stop.code));
  });
  return next_number_++;
}
void FakeBackend::drop_snapshot(u64 number) {
  if (snapshots.erase(number) == 0) throw std::logic_error("a snapshot is dropped twice");
}
void FakeBackend::restore(u64 number, std::span<const u32> from, std::span<const u32> to) {
  const auto& kept = snapshots.at(number);
  auto give = [&](u32 lane, const std::vector<u64>& state) {
    lanes_.at(lane).state.assign(state.begin(), state.end() - 1);
    lanes_[lane].stop = {static_cast<StopCode>(state.back()), FaultCode::none, 0, 0, 0};
  };
  std::lock_guard lock(mutex_);
  for (size_t i = 0; i < to.size(); i++) give(to[i], kept.at(from[i]));
  if (to.empty()) {
    for (const auto& [lane, state] : kept) give(lane, state);
  }
}

}  // namespace fleet_test

// The functions by which src/fleet makes backends and lists devices, in place of the CPU's.
myriarm::Device myriarm::cpu_device() { return {"cpu", "fake", 0, 1, DeviceKind::cpu, 0, 4}; }
bool myriarm::cpu_has_translation() { return false; }
std::unique_ptr<myriarm::Backend> myriarm::make_cpu_backend(const Image& image, const FleetOptions& options) {
  return std::make_unique<fleet_test::FakeBackend>(image, options);
}
