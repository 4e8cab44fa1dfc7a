// SPDX-License-Identifier: Apache-2.0
// What a Python fleet holds: the C++ fleet, and what keeps Python's ways of using it apart: threads that meet in one
// fleet, handlers that run in a thread of the library, arrays and snapshots that outlive a close().
// Arguments come checked from python/myriarm; here only what would crash the process is looked at again.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <thread>
#include <vector>

#include "myriarm/myriarm.h"

namespace myriarm::python {

namespace nb = nanobind;

using LaneNumbers = nb::ndarray<const uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Bytes = nb::ndarray<const uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Column = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Table = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class T>
std::span<T> span_of(const Column<T>& array) {
  return {array.data(), array.size()};
}

/// The C++ fleet. Exported arrays share it, so that its memory lives until the last of them is gone.
struct FleetOwner {
  std::unique_ptr<LinuxFleet> process;  // where the fleet is that of a Linux process
  std::optional<Fleet> own;             // where it is not
  // Snapshots that Python dropped while the fleet was at work; they go before the fleet does.
  std::mutex dropped_lock;
  std::vector<Snapshot> dropped;

  Fleet& fleet() { return process ? process->fleet() : *own; }
};

class FleetHandle {
 public:
  explicit FleetHandle(std::shared_ptr<FleetOwner> owner) : owner_(std::move(owner)) {}
  ~FleetHandle();
  FleetHandle(const FleetHandle&) = delete;
  FleetHandle& operator=(const FleetHandle&) = delete;

  /// One call's exclusive use of the fleet. Made with the GIL held; a StateError if the fleet is closed, another thread
  /// uses it, or (`in_handler` false) this is a handler.
  class Use {
   public:
    explicit Use(FleetHandle& handle, bool in_handler = true);
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    Fleet* operator->() const { return &owner_->fleet(); }
    Fleet& fleet() const { return owner_->fleet(); }
    FleetOwner& owner() const { return *owner_; }

   private:
    FleetHandle& handle_;
    std::shared_ptr<FleetOwner> owner_;
    bool locked_ = false;
  };
  /// What any thread may call: the fleet cannot be closed while this lives. Made without the GIL.
  class Look {
   public:
    explicit Look(FleetHandle& handle);
    Fleet* operator->() const { return &owner_->fleet(); }
    FleetOwner& owner() const { return *owner_; }

   private:
    std::shared_lock<std::shared_mutex> lock_;
    std::shared_ptr<FleetOwner> owner_;
  };

  /// Starts a run and waits for it, looking every 50 ms whether Python has a signal to handle, and then calling
  /// `tick` with the poll, if it is not None. An exception of either cancels the run.
  nb::object run(nb::dict options, nb::object tick);
  void start(nb::dict options);
  /// None if the run goes on after this many seconds; negative: waits for its end.
  nb::object wait(double seconds);
  nb::object run_process(nb::object tick);
  nb::object poll();
  void cancel();
  bool is_running();
  void close();
  bool closed() const { return closed_; }

  /// x, v or a field's name: the lane state where it lies, as an nb_ndarray with DLPack and the buffer protocol.
  nb::object export_state(const std::string& name);
  nb::object export_memory();

 private:
  friend class Use;
  friend class Look;
  friend struct SnapshotHandle;
  class HandlerScope;

  RunOptions run_options(const nb::dict& options);
  nb::object collect(Fleet& fleet, double seconds);
  void drop_snapshots();
  [[noreturn]] void rethrow_failure();

  std::shared_ptr<FleetOwner> owner_;
  std::atomic<bool> busy_{false};
  std::atomic<bool> closed_{false};
  std::shared_mutex life_;  // shared while someone looks, exclusive while the fleet goes
  std::atomic<std::thread::id> handler_thread_{};
  std::optional<nb::python_error> failure_;  // what a handler raised; the GIL guards it
};

/// A snapshot, and the fleet that it is of.
struct SnapshotHandle {
  std::shared_ptr<FleetHandle> fleet;
  Snapshot snapshot;

  SnapshotHandle(std::shared_ptr<FleetHandle> of, Snapshot&& made) : fleet(std::move(of)), snapshot(std::move(made)) {}
  ~SnapshotHandle();
  SnapshotHandle(const SnapshotHandle&) = delete;
  SnapshotHandle& operator=(const SnapshotHandle&) = delete;
};

/// A tuple in the order of the fields of the class of python/myriarm/results.py.
nb::object tuple_of(const RunResult& result);
nb::object tuple_of(const Poll& poll);

void bind_fleet(nb::module_& module);

}  // namespace myriarm::python
