// SPDX-License-Identifier: Apache-2.0
// What a Python fleet holds: the C++ fleet, handlers that raise in a thread of the library, interrupts of the one that
// waits, arrays that outlive a close().
// python/myriarm has checked the arguments; this code only repeats the checks without which the process would crash.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <atomic>
#include <memory>
#include <optional>
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

/// The C++ fleet. Exported arrays share it: what they show lives until the last of them is gone, even after close().
struct FleetOwner {
  std::unique_ptr<LinuxFleet> process;  // where the fleet is that of a Linux process
  std::optional<Fleet> own;             // where it is not
  std::atomic<int> exports{0};
  std::atomic<bool> closed{false};

  /// Throws StateError after close().
  Fleet& fleet();
  void drop_export();
};
/// An empty one. A handler of the fleet may drop the last reference, since garbage is collected anywhere: the fleet
/// then ends in a thread of its own, since no handler can wait for the run that called it.
std::shared_ptr<FleetOwner> make_owner();

/// The exception that a handler raised, until the run's end gives it to the caller, or null; the GIL guards it. The
/// handlers of a run hold it too, since the run may be in progress a moment longer than the handle lives.
using Failure = std::shared_ptr<nb::object>;

class FleetHandle {
 public:
  explicit FleetHandle(std::shared_ptr<FleetOwner> owner);
  ~FleetHandle();
  FleetHandle(const FleetHandle&) = delete;
  FleetHandle& operator=(const FleetHandle&) = delete;

  Fleet& fleet() const { return owner_->fleet(); }
  Fleet* operator->() const { return &owner_->fleet(); }
  /// Throws StateError where there is no Linux process.
  LinuxFleet& process() const;

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
  bool closed() const { return owner_->closed; }

  /// x, v or a field's name: the lane state where it lies, as an nb_ndarray with DLPack and the buffer protocol.
  nb::object export_state(const std::string& name);
  nb::object export_memory();

  /// For Python's collector: an exception holds the frames that it came through, and those the fleet.
  static int visit(PyObject* self, visitproc visit, void* arg) noexcept;
  static int clear(PyObject* self) noexcept;

 private:
  /// One thread at a time waits for a run.
  class Waiting {
   public:
    explicit Waiting(FleetHandle& handle);
    ~Waiting() { handle_.waiting_ = false; }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

   private:
    FleetHandle& handle_;
  };

  RunOptions run_options(const nb::dict& options);
  nb::object collect(double seconds);
  nb::capsule share();

  std::shared_ptr<FleetOwner> owner_;
  std::atomic<bool> waiting_{false};
  Failure failure_;
};

/// In the order of the fields of Device of python/myriarm/fleet.py.
nb::object tuple_of(const Device& device);
/// A tuple in the order of the fields of the class of python/myriarm/results.py.
nb::object tuple_of(const RunResult& result);
nb::object tuple_of(const Poll& poll);

void bind_fleet(nb::module_& module);

}  // namespace myriarm::python
