// SPDX-License-Identifier: Apache-2.0
// A backend for tests: every lane counts in x0, and stops where the test's script has a stop for it. It implements the
// contract of backends/backend.h as simply as possible, and can block or fail if a test asks for it.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <set>

#include "backends/backend.h"

namespace fleet_test {

using namespace myriarm;

class FakeBackend final : public Backend {
 public:
  FakeBackend(const Image& made, const FleetOptions& options);
  ~FakeBackend() override;
  /// The backend of the fleet that was made last.
  static FakeBackend& last();

  const Image image;
  /// The stop of a lane that has retired this many instructions. After a syscall the lane can go on; any other stop
  /// comes again.
  std::map<u64, StopRecord> script;
  /// Called as run() begins; may throw.
  std::function<void(const RunOrder&)> on_run;
  /// A lane that would run for ever waits in run() until retire() or cancel(); without this it throws.
  bool may_hang = false;
  /// Lets the lane that waits in run() retire this many instructions. Returns when it has.
  void retire(u64 instructions);
  std::vector<RunOrder> orders;
  std::map<u64, std::map<u32, std::vector<u64>>> snapshots;  // number, lane: state
  bool snapshots_fail = false;
  std::set<u32> released;   // lanes without memory
  std::vector<u32> mapped;  // permissions that map() and protect() were called with
  std::atomic<u64> gathers = 0, cancels = 0;

  RunReport run(const RunOrder& order) override;
  void cancel() override;
  void clear_cancel() override { cancel_ = false; }
  void progress(std::span<u64> retired, std::span<StopCode> codes) const override;
  std::span<const StopRecord> stops() override;
  void scatter_stops(std::span<const u32> lanes, std::span<const StopRecord> stops) override;
  void gather(Field field, std::span<const u32> lanes, std::span<u64> values) override;
  void scatter(Field field, std::span<const u32> lanes, std::span<const u64> values) override;
  void fill(Field field, u64 value) override;
  void read(std::span<const Transfer>, std::span<u8>, std::span<u32>) override {}
  bool write(std::span<const Transfer>, std::span<const u8>, std::span<u32>) override { return true; }
  void write_later(std::span<const Transfer>, std::span<const u8>) override {}
  void release_memory(std::span<const u32> lanes) override { released.insert(lanes.begin(), lanes.end()); }
  bool has_memory(u32 lane) const override { return !released.contains(lane); }
  void process_inputs_changed(std::span<const u32>) override {}
  void map(std::span<const u32>, u64, u64, u32 permissions) override { mapped.push_back(permissions); }
  void unmap(std::span<const u32>, u64, u64) override {}
  void protect(std::span<const u32>, u64, u64, u32 permissions) override { mapped.push_back(permissions); }
  void permissions(std::span<const u32>, u64, u64, std::span<u8> values) override {
    std::fill(values.begin(), values.end(), u8{kMapped});
  }
  u64 pool_used() override { return 0; }
  u64 pool_size() override { return 0; }
  void grow_pool(u64) override {}
  u64 take_snapshot(std::span<const u32> lanes) override;
  void drop_snapshot(u64 number) override;
  void restore(u64 number, std::span<const u32> from, std::span<const u32> to) override;
  ArrayView view(Field) override { return {}; }
  ArrayView memory_view() override { return {}; }

 private:
  static constexpr size_t kFields = static_cast<size_t>(Field::count);
  struct Lane {
    std::vector<u64> state = std::vector<u64>(kFields);  // by Field
    StopRecord stop{};
    u64 ceiling = ~u64{0};
    bool served = false;  // of the syscall at its count
    u64& operator[](Field field) { return state[static_cast<size_t>(field)]; }
    u64 operator[](Field field) const { return state[static_cast<size_t>(field)]; }
  };
  template <class Each>
  void each(std::span<const u32> lanes, Each work);
  u64 end_of(const Lane& lane) const { return std::min(lane.ceiling, lane[Field::limit]); }
  void run_lane(Lane& lane, u64 batch, std::unique_lock<std::mutex>& lock);

  mutable std::mutex mutex_;
  std::vector<Lane> lanes_;
  std::vector<StopRecord> stops_;
  std::condition_variable changed_;  // notified when cancel_ or to_retire_ changes
  std::atomic<bool> cancel_ = false;
  u64 to_retire_ = 0;
  u64 next_number_ = 1;
};

}  // namespace fleet_test
