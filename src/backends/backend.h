// SPDX-License-Identifier: Apache-2.0
// The interface that every backend implements. The fleet calls it for many lanes at a time (run, gather, scatter,
// transfer), never once per guest access, and has checked the arguments.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/memory.h"
#include "core/operands.h"
#include "core/stop.h"
#include "kernel/process.h"
#include "myriarm/fleet.h"
#include "myriarm/inputs.h"

namespace myriarm {

/// Pages of a program as its lanes find them at the start.
struct ImagePage {
  u64 page;               // index within the window
  u64 count;              // number of pages, from `page` up; more than 1 only for pages of zeros
  u32 permissions;        // Permission flags of the public API
  std::vector<u8> bytes;  // kPageSize bytes, or empty for pages of zeros
};
/// What the lanes of one program start with.
struct ImageProgram {
  std::vector<ImagePage> pages;  // in rising order of page
  u64 entry;
  u64 stack_pointer;
  u64 lanes;  // a multiple of the device's team_lanes, except in the last program
  /// If its lanes are processes; then `pages` has the kernel pages too, from page Image::window_pages on.
  std::optional<kernel::ProcessFacts> process;
};
/// The programs, and the window of guest addresses that they share.
struct Image {
  u64 window_begin;  // multiple of 4 KiB
  u64 window_pages;
  u64 kernel_pages = 0;                // behind the window, for what a process is; 0: no program has processes
  std::vector<ImageProgram> programs;  // at least one
};

static_assert(kStopCodes == kStopReasons, "StopCode and StopReason have the same values");

/// The value that Fleet::permissions() gives for a page, from its entry as one lane has it.
MYR_FN u8 page_value(u32 entry) {
  const u32 flags = entry & (kPageReadable | kPageWritable | kPageExecutable);
  return entry == 0 ? 0 : static_cast<u8>(flags | kMapped);
}

/// What one call of run() must do. A run is one or more such calls; the first one sets how far the run may go. If
/// `first` is false, the lanes without a stop run, and those with StopCode::budget that have budget left. In either
/// case a lane gets StopCode::budget when it has retired `batch` instructions in a batch or has no budget left.
struct RunOrder {
  bool first = true;     // this call begins a run: each lane may retire `budget` more instructions, or up to its limit
  bool go_on = true;     // with `first`: lanes with StopCode::budget or cancelled run too
  u64 budget = ~u64{0};  // with `first`
  u64 batch = ~u64{0};   // the most instructions that a lane retires in one batch
  u64 batches = 1;       // batches to run in this call; the device starts them itself if it can
  Engine engine = Engine::interpreter;
  std::span<const u32> lanes = {};  // those that may run, no lane twice; empty: all. The same in each call of a run
  // Lanes that stop at an SVC wait for the caller: once there are some, run() begins no further batch. One without an end it
  // cuts short, and the others go on in the next call; a backend may do that for processes alone.
  bool returns_for_calls = false;
  // Of lanes that are processes:
  bool stops_at_calls = false;  // they stop at each SVC; else its call is served, and they go on
  bool serves_stopped = true;  // with `first` or not: those that have stopped at an SVC take part, and are served first
};
struct RunReport {
  u64 retired = 0;
  u64 batches = 0;
  u64 left = 0;                // lanes with StopCode::budget that have budget left
  u64 paused = 0;              // lanes without a stop: the call has returned for others
  u64 stops[kStopCodes] = {};  // lanes that got this stop, without those that a later batch of the call ran again
};

class Backend {
 public:
  virtual ~Backend() = default;
  /// Runs batches until `order.batches` are done, no lane is left, or the run is cancelled.
  virtual RunReport run(const RunOrder& order) = 0;
  /// Ends the run in progress, and each later one at once, until clear_cancel(). Any thread may call it.
  virtual void cancel() = 0;
  virtual void clear_cancel() = 0;
  /// Retired counts and StopCodes of all lanes; either span may be empty. Any thread may call it, also during run();
  /// the values are then up to some milliseconds old.
  virtual void progress(std::span<u64> retired, std::span<StopCode> codes) const = 0;

  /// The stop of every lane; valid until run() or scatter_stops().
  virtual std::span<const StopRecord> stops() = 0;
  virtual void scatter_stops(std::span<const u32> lanes, std::span<const StopRecord> stops) = 0;

  /// Values of one field for these lanes; an empty `lanes` means all of them, in order.
  virtual void gather(Field field, std::span<const u32> lanes, std::span<u64> values) = 0;
  virtual void scatter(Field field, std::span<const u32> lanes, std::span<const u64> values) = 0;
  virtual void fill(Field field, u64 value) = 0;

  virtual void read(std::span<const Transfer> transfers, std::span<u8> buffer, std::span<u32> done) = 0;
  /// Returns false if the pool was spent before all was written.
  virtual bool write(std::span<const Transfer> transfers, std::span<const u8> buffer, std::span<u32> done) = 0;
  /// As write(), but a lane may get the bytes, and the pages for them, only when it next runs. If there are none then, it
  /// stops with out_of_memory.
  virtual void write_later(std::span<const Transfer> transfers, std::span<const u8> buffer) = 0;
  /// Gives back what these lanes' memory takes, where that is possible. Unless it is flat, they have no memory then:
  /// until restore() gives them some, the fleet calls nothing of them that concerns memory. A backend whose lanes share
  /// frames may keep a frame until all of them have given theirs back.
  virtual void release_memory(std::span<const u32> lanes) = 0;
  virtual bool has_memory(u32 lane) const = 0;
  /// ProcessHost::input() gives something else for these lanes from now on; empty: for all.
  virtual void process_inputs_changed(std::span<const u32> lanes) = 0;
  /// Whether work_off() can be called.
  virtual bool takes_inputs() const { return false; }
  /// All lanes take inputs from a queue by themselves, until there are no more, or `run` ends it. `snapshot` is the
  /// beginning of each process, and holds all lanes.
  virtual void work_off(u64 snapshot, const InputRun& run) {
    (void)snapshot;
    (void)run;
  }
  /// `page` is an index within the window. An empty `lanes` means all. A page mapped with permissions 0 counts as
  /// mapped.
  virtual void map(std::span<const u32> lanes, u64 page, u64 count, u32 permissions) = 0;
  virtual void unmap(std::span<const u32> lanes, u64 page, u64 count) = 0;
  virtual void protect(std::span<const u32> lanes, u64 page, u64 count, u32 permissions) = 0;
  /// page_value() of each page: `count` bytes for each lane.
  virtual void permissions(std::span<const u32> lanes, u64 page, u64 count, std::span<u8> values) = 0;

  virtual u64 pool_used() = 0;
  virtual u64 pool_size() = 0;
  virtual void grow_pool(u64 bytes) = 0;

  /// Saves the state of these lanes (in rising order, no lane twice; empty: all) and returns a number for it. Throws
  /// DeviceError if memory is short, and then nothing has changed.
  virtual u64 take_snapshot(std::span<const u32> lanes) = 0;
  virtual void drop_snapshot(u64 number) = 0;
  /// Gives lane to[i] the whole state that lane from[i] had in the snapshot. No lane is twice in `to`. If both are
  /// empty, every lane of the snapshot gets its own state back. Throws DeviceError if memory is short, and then nothing
  /// has changed.
  virtual void restore(u64 number, std::span<const u32> from, std::span<const u32> to) = 0;

  virtual ArrayView view(Field field) = 0;
  /// The flat memory of the lanes; null data unless the policy is shared or device_shared.
  virtual ArrayView memory_view() = 0;
  /// What Engine::translate has done so far. Any thread may ask, also during run().
  virtual TranslationReport translation() const { return {}; }
};

/// The host's processor, as a device.
Device cpu_device();
/// Whether Engine::translate can translate there, as far as can be seen without loading the translator.
bool cpu_has_translation();
/// A backend with the lanes of the image. Throws DeviceError.
std::unique_ptr<Backend> make_cpu_backend(const Image& image, const FleetOptions& options);
#if MYRIARM_CUDA
/// The CUDA devices. If there are none, `why_none` says why, as part of a sentence.
std::vector<Device> cuda_devices(std::string& why_none);
std::unique_ptr<Backend> make_cuda_backend(const Image& image, const FleetOptions& options, int device);
#endif

}  // namespace myriarm
