// SPDX-License-Identifier: Apache-2.0
// What a device must offer: one column with the same rows for each. The host speaks to a backend in batches
// (run, gather, scatter, transfer), never once per guest access. Arguments are checked by the fleet, above.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/memory.h"
#include "core/operands.h"
#include "core/stop.h"
#include "myriarm/fleet.h"

namespace myriarm {

/// The program as every lane sees it at first: pages of the window, in the form that backends copy from.
struct ImagePage {
  u64 page;               // index within the window
  u64 count;              // pages from there on; more than 1 only if they are zeros
  u32 permissions;        // Permission flags of the public API
  std::vector<u8> bytes;  // kPageSize bytes, or empty for pages of zeros
};
/// The program in its window: what every lane begins with.
struct Image {
  u64 window_begin;  // multiple of 4 KiB
  u64 window_pages;
  std::vector<ImagePage> pages;  // by rising page
  u64 entry;
  u64 stack_pointer;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual const char* engine() const = 0;

  /// Runs all lanes without a stop until each has one. Returns instructions retired.
  virtual u64 run() = 0;
  /// Safe from any thread.
  virtual void cancel() = 0;

  /// All stops, size lanes; valid until run or scatter_stops.
  virtual std::span<const StopRecord> stops() = 0;
  virtual void scatter_stops(std::span<const u32> lanes, std::span<const StopRecord> stops) = 0;

  /// Field of lanes; an empty `lanes` means all of them, in order.
  virtual void gather(Field field, std::span<const u32> lanes, std::span<u64> values) = 0;
  virtual void scatter(Field field, std::span<const u32> lanes, std::span<const u64> values) = 0;
  virtual void fill(Field field, u64 value) = 0;

  virtual void read(std::span<const Transfer> transfers, std::span<u8> buffer, std::span<u32> done) = 0;
  /// Returns false if the pool was spent on the way.
  virtual bool write(std::span<const Transfer> transfers, std::span<const u8> buffer, std::span<u32> done) = 0;
  /// Pages are window indices. An empty `lanes` means all.
  virtual void map(std::span<const u32> lanes, u64 page, u64 count, u32 permissions) = 0;
  virtual void protect(std::span<const u32> lanes, u64 page, u64 count, u32 permissions) = 0;

  virtual u64 pool_used() = 0;
  virtual u64 pool_size() = 0;
  virtual void grow_pool(u64 bytes) = 0;
};

/// The processor of the host, which is always there.
Device cpu_device();
/// A backend with `options.lanes` lanes of the image. Throws DeviceError.
std::unique_ptr<Backend> make_cpu_backend(const Image& image, const FleetOptions& options);
#if MYRIARM_CUDA
std::vector<Device> cuda_devices();
/// Why cuda_devices() is empty, as part of a sentence; empty if it is not.
std::string cuda_problem();
std::unique_ptr<Backend> make_cuda_backend(const Image& image, const FleetOptions& options, int device);
#endif

}  // namespace myriarm
