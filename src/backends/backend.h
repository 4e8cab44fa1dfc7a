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
/// One program: what its lanes begin with.
struct ImageProgram {
  std::vector<ImagePage> pages;  // by rising page
  u64 entry;
  u64 stack_pointer;
  u64 lanes;  // a multiple of the device's team_lanes, but in the last program
};
/// The programs in their window.
struct Image {
  u64 window_begin;  // multiple of 4 KiB
  u64 window_pages;
  std::vector<ImageProgram> programs;  // at least one
};

static_assert(kStopCodes == kStopReasons, "the same list");

/// What Fleet::permissions() says of a page with this entry, as one lane has it.
MYR_FN u8 page_value(u32 entry) {
  const u32 flags = entry & (kPageReadable | kPageWritable | kPageExecutable);
  return entry == 0 ? 0 : static_cast<u8>(flags | kMapped);
}

/// What one call of run() is to do. A run is one or more calls: the first says how far it may go.
struct RunOrder {
  bool first = true;     // a run begins: every lane may retire `budget` from here on, or less if its limit comes first
  bool go_on = true;     // with `first`: lanes with StopCode::budget or cancelled run too
  u64 budget = ~u64{0};  // with `first`
  u64 batch = ~u64{0};   // most instructions of a lane in one batch
  u64 batches = 1;       // batches to run in this call, without the host where the device can
  Engine engine = Engine::interpreter;
};
/// With `first` false, lanes without a stop run, and those with StopCode::budget that have budget left. Either way a
/// lane that begins a batch and retires `batch` in it, or has no budget left, has StopCode::budget after it.
struct RunReport {
  u64 retired = 0;
  u64 batches = 0;
  u64 left = 0;                // lanes with StopCode::budget that have budget left
  u64 stops[kStopCodes] = {};  // lanes that got this stop, between batches of one call not counting budget
};

class Backend {
 public:
  virtual ~Backend() = default;
  /// Runs batches until `order.batches` are done, no lane is left, or it was cancelled.
  virtual RunReport run(const RunOrder& order) = 0;
  /// Safe from any thread. Stays until clear_cancel(): a run that begins with it ends at once.
  virtual void cancel() = 0;
  virtual void clear_cancel() = 0;
  /// Safe from any thread, also while run() is at work, and then up to some milliseconds old: retired counts and
  /// StopCodes of all lanes. Size lanes, or empty.
  virtual void progress(std::span<u64> retired, std::span<StopCode> codes) const = 0;

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
  /// Pages are window indices. An empty `lanes` means all. With permissions 0 a page is mapped all the same.
  virtual void map(std::span<const u32> lanes, u64 page, u64 count, u32 permissions) = 0;
  virtual void unmap(std::span<const u32> lanes, u64 page, u64 count) = 0;
  virtual void protect(std::span<const u32> lanes, u64 page, u64 count, u32 permissions) = 0;
  /// A byte a page, `count` for each lane: see page_value().
  virtual void permissions(std::span<const u32> lanes, u64 page, u64 count, std::span<u8> values) = 0;

  virtual u64 pool_used() = 0;
  virtual u64 pool_size() = 0;
  virtual void grow_pool(u64 bytes) = 0;

  /// Keeps the state of these lanes (rising, no lane twice; empty: all) under a number. Throws DeviceError if there is
  /// no room, and then nothing has changed.
  virtual u64 take_snapshot(std::span<const u32> lanes) = 0;
  virtual void drop_snapshot(u64 number) = 0;
  /// Gives lane to[i] all that lane from[i] of the snapshot had. No lane is twice in `to`. Both empty: every lane of
  /// the snapshot gets its own. Throws DeviceError if there is no room, and then nothing has changed.
  virtual void restore(u64 number, std::span<const u32> from, std::span<const u32> to) = 0;

  virtual ArrayView view(Field field) = 0;
  /// Null data unless the policy is shared or device_shared.
  virtual ArrayView memory_view() = 0;
};

/// The processor of the host, which is always there.
Device cpu_device();
/// A backend with `options.lanes` lanes of the image. Throws DeviceError.
std::unique_ptr<Backend> make_cpu_backend(const Image& image, const FleetOptions& options);
#if MYRIARM_CUDA
/// Where there are none, `why_none` becomes the reason, as part of a sentence.
std::vector<Device> cuda_devices(std::string& why_none);
std::unique_ptr<Backend> make_cuda_backend(const Image& image, const FleetOptions& options, int device);
#endif

}  // namespace myriarm
