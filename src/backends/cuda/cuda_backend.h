// SPDX-License-Identifier: Apache-2.0
// The CUDA backend: a column of the same rows as the CPU's. All guest state lives on the device; the host holds a
// copy of the stops.
#pragma once

#include <optional>

#include "backends/backend.h"
#include "backends/cuda/device_memory.h"
#include "backends/cuda/kernels.h"

namespace myriarm::cuda {

class CudaBackend final : public Backend {
 public:
  CudaBackend(const Image& image, const FleetOptions& options, int device);
  ~CudaBackend() override;

  const char* engine() const override { return "interpreter"; }
  u64 run() override;
  void cancel() override;
  std::span<const StopRecord> stops() override { return stops_; }
  void scatter_stops(std::span<const u32> lanes, std::span<const StopRecord> stops) override;
  void gather(Field field, std::span<const u32> lanes, std::span<u64> values) override;
  void scatter(Field field, std::span<const u32> lanes, std::span<const u64> values) override;
  void fill(Field field, u64 value) override;
  void read(std::span<const Transfer> transfers, std::span<u8> buffer, std::span<u32> done) override;
  bool write(std::span<const Transfer> transfers, std::span<const u8> buffer, std::span<u32> done) override;
  void map(std::span<const u32> lanes, u64 page, u64 count, u32 permissions) override;
  void protect(std::span<const u32> lanes, u64 page, u64 count, u32 permissions) override;
  u64 pool_used() override;
  u64 pool_size() override;
  void grow_pool(u64 bytes) override;

 private:
  void load_image(const Image& image);
  void predecode(const Image& image);
  u64* plane(Field field);
  Pool pool();
  bool back_pool(u64 bytes);  // makes that many bytes usable for frames
  bool grow_automatically();
  void change_pages(std::span<const u32> lanes, u64 page, u64 count, u32 permissions, MapAction action);
  void synchronize(const char* doing) {
    check(cudaGetLastError(), doing);  // of the launches: they return nothing themselves
    check(cudaStreamSynchronize(stream_), doing);
  }
  void use() const { check(cudaSetDevice(device_), "selecting the CUDA device"); }
  /// Copies lane numbers to the device; null for all lanes.
  const u32* upload_lanes(std::span<const u32> lanes);

  int device_;
  int multiprocessors_ = 0;
  u64 lanes_;
  bool pool_is_automatic_;
  u64 pool_limit_ = 0;  // bytes that frames may take, at most
  cudaStream_t stream_ = nullptr, cancel_stream_ = nullptr;
  u64 first_frame_unit_ = 0;
  View view_ = {};
  std::optional<GrowingRange> frames_;
  DeviceArray<u64> state_, vectors_;
  DeviceArray<StopRecord> device_stops_;
  DeviceArray<u32> tables_, free_frames_, decode_first_, cancel_flag_, spent_;
  DeviceArray<u16> decode_candidates_;
  DeviceArray<RowPattern> decode_patterns_;
  DeviceArray<DeviceRow> rows_;
  DeviceArray<Operands> code_;
  DeviceArray<u8> own_code_;
  DeviceArray<Pool> device_pool_;
  // For calls: arguments and results.
  DeviceArray<u32> lane_numbers_, done_;
  DeviceArray<u64> values_;
  DeviceArray<Transfer> transfers_;
  DeviceArray<u8> buffer_;
  DeviceArray<StopRecord> stop_values_;
  DeviceArray<TeamMask> team_masks_;
  std::vector<StopRecord> stops_;
};

}  // namespace myriarm::cuda
