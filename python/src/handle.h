// SPDX-License-Identifier: Apache-2.0
// FleetHandle, the C++ side of a Python fleet. It owns the C++ fleet, brings exceptions of handlers from the library's
// thread to the caller, handles Ctrl-C while a thread waits for a run, and keeps memory alive that exported arrays
// show. python/myriarm has checked the arguments; this code only repeats the checks without which the process would
// crash.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <atomic>
#include <functional>
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

/// What the handlers of a fleet that are written in Python share with the thread that waits for the run; the GIL guards it.
/// The handlers share its ownership, because a run may end shortly after the FleetHandle is destroyed.
struct Handlers {
  /// The exception that a handler raised, until the end of the run raises it in the caller, or null.
  nb::object raised;
  /// The function that gets the calls of traced lanes, or null.
  nb::object on_call;
  /// The thread that executes a handler's Python code now, as Python numbers threads; 0 for none.
  unsigned long thread = 0;

  /// Whether this thread executes a handler now.
  bool are_here() const { return thread != 0 && thread == PyThread_get_thread_ident(); }
  /// Raises in the caller what a handler raised.
  [[noreturn]] void raise();
  int visit(visitproc visit, void* arg) const {
    Py_VISIT(raised.ptr());
    Py_VISIT(on_call.ptr());
    return 0;
  }
  void clear() { nb::object gone = std::move(raised), function = std::move(on_call); }
};
std::shared_ptr<Handlers> make_handlers();
/// As a str with a character for each byte.
nb::object text_of(std::string_view text);

/// LinuxOptions::on_call, which calls Handlers::on_call. If that raises, it keeps the exception and calls `cancel`, and
/// calls no more until the run has ended.
std::function<void(uint64_t, std::string_view)> tracer(std::shared_ptr<Handlers> handlers,
                                                       std::function<void()> cancel);

/// The C++ fleet. Exported arrays share its ownership, so that their memory exists as long as they do, even after
/// close().
struct FleetOwner {
  std::unique_ptr<LinuxFleet> process;  // if the lanes run Linux processes
  std::optional<Fleet> own;             // otherwise
  std::shared_ptr<Handlers> handlers = make_handlers();
  std::atomic<int> exports{0};
  std::atomic<bool> closed{false};

  /// Throws StateError after close().
  Fleet& fleet();
  void drop_export();
};
/// An owner without a fleet. A handler of the fleet may drop the last reference, because Python's collector may run
/// there: then a new thread destroys the fleet, because a handler cannot wait for the run that called it.
std::shared_ptr<FleetOwner> make_owner();

class FleetHandle {
 public:
  explicit FleetHandle(std::shared_ptr<FleetOwner> owner);
  ~FleetHandle();
  FleetHandle(const FleetHandle&) = delete;
  FleetHandle& operator=(const FleetHandle&) = delete;

  Fleet& fleet() const { return owner_->fleet(); }
  Fleet* operator->() const { return &owner_->fleet(); }
  /// Throws StateError if the lanes do not run Linux processes.
  LinuxFleet& process() const;

  /// Starts a run and waits for its end. Every 50 ms it calls `tick` with the poll, unless that is None, and lets
  /// Python handle its signals. An exception from either cancels the run, and is raised in the handler that is executing.
  nb::object run(nb::dict options, nb::object tick);
  /// Runs lane 0 of a fleet of one instruction after the other, at least one, until it has a stop or its pc is one of
  /// the addresses; then it has the stop `breakpoint`. The engine is that of the options. Handlers are called in this
  /// thread.
  nb::object run_to(nb::dict options, std::vector<uint64_t> addresses);
  void start(nb::dict options);
  /// The result of the run; None if the run has not ended after this many seconds. Negative: waits for its end.
  nb::object wait(double seconds);
  /// LinuxFleet::run() in this thread, with what run() says of `tick` and of exceptions.
  nb::object run_process(int engine, nb::object tick);
  nb::object poll();
  void cancel();
  bool is_running();
  void close();
  bool closed() const { return owner_->closed; }
  /// Whether the fleet is of the process that fork()ed this one. close() and the end of the handle then do nothing.
  bool inherited() const { return !closed() && owner_->fleet().inherited(); }

  /// The lane state `name` (x, v or the name of a field) without a copy, as an nb_ndarray with DLPack and the buffer
  /// protocol.
  nb::object export_state(const std::string& name);
  nb::object export_memory();

  /// For Python's garbage collector: the kept exception refers to stack frames, which may refer to the fleet.
  static int visit(PyObject* self, visitproc visit, void* arg) noexcept;
  static int clear(PyObject* self) noexcept;

 private:
  /// Held by the one thread that waits for a run. The constructor throws StateError if another thread does.
  class Waiting {
   public:
    explicit Waiting(FleetHandle& handle);
    ~Waiting() { handle_.waiting_ = false; }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

   private:
    FleetHandle& handle_;
  };

  /// Lives while a thread is in run_process().
  class ProcessRun {
   public:
    explicit ProcessRun(FleetHandle& handle) : handle_(handle) { handle_.runs_process_ = true; }
    ~ProcessRun() { handle_.runs_process_ = false; }
    ProcessRun(const ProcessRun&) = delete;
    ProcessRun& operator=(const ProcessRun&) = delete;

   private:
    FleetHandle& handle_;
  };

  RunOptions run_options(const nb::dict& options);
  /// Throws StateError in a handler of this fleet, which would wait for its own run.
  void refuse_in_handler(const char* what) const;
  /// Waits for the end of a cancelled run. Raises an exception of this type in the handler that is at work, and again
  /// each time that Python has a signal to handle, since the handler may go on.
  void wait_for_handlers(nb::object type);
  void cancel_if_running();
  /// Cancels the run, and waits until no handler of it is at work. What a signal of Python raises meanwhile is raised
  /// in the handler.
  void interrupt_handlers_by_signals();
  nb::object collect(double seconds);
  nb::capsule share();

  std::shared_ptr<FleetOwner> owner_;
  std::atomic<bool> waiting_{false};
  std::atomic<bool> runs_process_{false};
  /// How far run_process() is, or how it ended; the GIL guards it. None: the fleet's own run was the last.
  std::optional<Poll> process_poll_;
  std::shared_ptr<Handlers> handlers_;
};

/// In the order of the fields of Device of python/myriarm/fleet.py.
nb::object tuple_of(const Device& device);
/// A tuple in the order of the fields of the class of python/myriarm/results.py.
nb::object tuple_of(const RunResult& result);
nb::object tuple_of(const Poll& poll);

void bind_fleet(nb::module_& module);

}  // namespace myriarm::python
