// SPDX-License-Identifier: Apache-2.0
// The CPU backend: always there, uses all cores, and is what the other backends are compared with.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "backends/backend.h"
#include "backends/cpu/lane.h"
#include "backends/cpu/worker_pool.h"

namespace myriarm::cpu {

/// Memory that costs only what is touched: zero pages from the host.
class LazyArray {
 public:
  explicit LazyArray(u64 bytes);
  ~LazyArray();
  LazyArray(const LazyArray&) = delete;
  LazyArray& operator=(const LazyArray&) = delete;
  u8* data() const { return data_; }

 private:
  u8* data_;
  u64 bytes_;
};

class CpuBackend final : public Backend {
 public:
  CpuBackend(const Image& image, const FleetOptions& options);

  const char* engine() const override { return "interpreter"; }
  u64 run() override;
  void cancel() override { cancel_.store(true, std::memory_order_relaxed); }
  std::span<const StopRecord> stops() override { return stops_; }
  void scatter_stops(std::span<const u32> lanes, std::span<const StopRecord> stops) override;
  void gather(Field field, std::span<const u32> lanes, std::span<u64> values) override;
  void scatter(Field field, std::span<const u32> lanes, std::span<const u64> values) override;
  void fill(Field field, u64 value) override;
  void read(std::span<const Transfer> transfers, std::span<u8> buffer, std::span<u32> done) override;
  bool write(std::span<const Transfer> transfers, std::span<const u8> buffer, std::span<u32> done) override;
  void map(std::span<const u32> lanes, u64 page, u64 count, u32 permissions) override;
  void protect(std::span<const u32> lanes, u64 page, u64 count, u32 permissions) override;
  u64 pool_used() override { return pool_.used_bytes(); }
  u64 pool_size() override { return pool_.size_bytes(); }
  void grow_pool(u64 bytes) override;

 private:
  u64* field(Field f) const { return reinterpret_cast<u64*>(state_.data()) + static_cast<u64>(f) * lanes_; }
  u64* system_field(SystemField f) const;
  /// Where a field of lane 0 is, and how far it is from lane to lane.
  struct Plane {
    u64* first;
    u64 stride;
  };
  Plane plane(Field f) const;
  u32* table(u64 lane) const { return reinterpret_cast<u32*>(tables_.data()) + lane * window_pages_; }
  void attach(Lane& lane, u64 index);  // memory and code of a lane
  u64 run_lane(u64 index);             // returns instructions retired
  struct Position {
    u64 pc, retired;
  };
  void execute(Lane& lane, Position& at, u64 limit);  // until a stop
  template <class Visit>
  void for_lanes(std::span<const u32> lanes, Visit visit);
  void release_page(u32& entry);

  u64 lanes_, window_pages_, first_page_;
  FramePool pool_;
  LazyArray state_, tables_, vectors_;
  std::vector<StopRecord> stops_;
  SharedCode shared_code_;
  std::vector<std::unique_ptr<LaneCode>> own_code_;
  std::atomic<bool> cancel_{false};
  WorkerPool workers_;
};

}  // namespace myriarm::cpu
