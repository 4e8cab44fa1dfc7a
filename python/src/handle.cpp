// SPDX-License-Identifier: Apache-2.0
// The life of a fleet in Python: who may use it when, runs with handlers and interrupts, closing.
#include "handle.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <limits>
#include <system_error>
#include <thread>

namespace myriarm::python {
namespace {

/// Between two checks for signals of Python while a thread waits for a run.
constexpr double kSignalCheckSeconds = 0.05;

/// What a handler throws through the library in place of a Python exception, which FleetHandle::failure_ keeps.
struct HandlerFailed : std::exception {
  const char* what() const noexcept override { return "a Python handler raised an exception"; }
};

/// What holds Python objects and threads may copy and destroy without holding the GIL.
template <class T>
std::shared_ptr<T> keep(T object) {
  return {new T(std::move(object)), [](T* kept) {
            nb::gil_scoped_acquire gil;
            delete kept;
          }};
}

/// Lives while Python code of a handler runs, so that the thread that waits for the run can interrupt it.
class AtWork {
 public:
  explicit AtWork(Handlers& handlers) : handlers_(handlers) { handlers_.thread = PyThread_get_thread_ident(); }
  ~AtWork() { handlers_.thread = 0; }
  AtWork(const AtWork&) = delete;
  AtWork& operator=(const AtWork&) = delete;

 private:
  Handlers& handlers_;
};

/// The exception with its traceback, as one object.
nb::object raised(nb::python_error& error) {
  error.restore();
#if PY_VERSION_HEX >= 0x030C0000
  return nb::steal(PyErr_GetRaisedException());
#else
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (trace != nullptr) PyException_SetTraceback(value, trace);
  Py_XDECREF(type);
  Py_XDECREF(trace);
  return nb::steal(value);
#endif
}

template <class T>
nb::object copied(std::span<T> values, std::initializer_list<size_t> shape) {
  using Value = std::remove_const_t<T>;
  auto* data = new Value[values.size() ? values.size() : 1];
  std::copy(values.begin(), values.end(), data);
  nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<Value*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, Value>(data, shape, owner));
}

nb::object tuple_of_stops(const std::array<uint64_t, kStopReasons>& stops) {
  nb::list list;
  for (uint64_t n : stops) list.append(n);
  return nb::tuple(list);
}

void serve(const nb::object& handler, Handlers& handlers, const SyscallBatch& batch) {
  size_t n = batch.lanes.size();
  std::vector<uint8_t> actions(n);
  for (size_t i = 0; i < n; ++i) actions[i] = static_cast<uint8_t>(batch.actions[i]);
  nb::object results_object = copied(batch.results, {n});
  nb::object actions_object = copied(std::span<uint8_t>(actions), {n});
  {
    AtWork at_work(handlers);
    handler(copied(batch.lanes, {n}), copied(batch.numbers, {n}), copied(batch.immediates, {n}),
            copied(batch.arguments, {n, 6}), results_object, actions_object);
  }
  auto results = nb::cast<Column<uint64_t>>(results_object);
  auto decided = nb::cast<Column<uint8_t>>(actions_object);
  for (size_t i = 0; i < n; ++i) {
    batch.results[i] = results.data()[i];
    uint8_t action = decided.data()[i];
    if (action > static_cast<uint8_t>(SyscallAction::serve)) {
      throw ArgumentError("on_syscall: action " + std::to_string(action) + " of lane " +
                          std::to_string(batch.lanes[i]) +
                          " does not exist; use SyscallAction.resume, stop, exit or serve");
    }
    batch.actions[i] = static_cast<SyscallAction>(action);
  }
}

}  // namespace

nb::object tuple_of(const RunResult& r) {
  return nb::make_tuple(r.instructions, r.batches, r.seconds, r.stopped, r.lanes_left, r.lanes_run, r.timed_out,
                        tuple_of_stops(r.stops), static_cast<int>(r.signal));
}
nb::object tuple_of(const Poll& p) {
  return nb::make_tuple(p.running, p.instructions, p.lanes_running, p.seconds, static_cast<int>(p.signal));
}

std::shared_ptr<Handlers> make_handlers() { return keep(Handlers()); }

void Handlers::raise() {
  nb::object error = std::move(raised);
  PyErr_SetObject(error.type().ptr(), error.ptr());
  throw nb::python_error();
}

std::function<void(uint64_t, std::string_view)> tracer(std::shared_ptr<Handlers> handlers,
                                                       std::function<void()> cancel) {
  return [handlers = std::move(handlers), cancel = std::move(cancel)](uint64_t number, std::string_view text) {
    {
      nb::gil_scoped_acquire gil;
      const nb::object function = handlers->on_call;  // the collector may clear it during the call
      if (!function.is_valid() || handlers->raised.is_valid()) return;
      try {
        AtWork at_work(*handlers);
        function(number, text_of(text));
        return;
      } catch (nb::python_error& error) {
        handlers->raised = raised(error);
      }
    }
    try {
      cancel();
    } catch (const Error&) {  // the fleet is being closed, which ends the run
    }
  };
}

nb::object text_of(std::string_view text) {
  return nb::steal(PyUnicode_DecodeLatin1(text.data(), static_cast<Py_ssize_t>(text.size()), nullptr));
}

Fleet& FleetOwner::fleet() {
  if (closed) throw StateError("the fleet is closed; make a new one");
  return process ? process->fleet() : *own;
}

std::shared_ptr<FleetOwner> make_owner() {
  return {new FleetOwner, [](FleetOwner* owner) {
            const bool locked = PyGILState_Check() != 0;
            const bool in_handler = locked && owner->handlers->are_here();
            std::optional<nb::gil_scoped_release> free;  // close() may wait for a handler, which needs the GIL
            if (locked) free.emplace();
            try {
              if (in_handler) throw StateError("");
              if (owner->process) owner->process->fleet().close();
              else if (owner->own) owner->own->close();
            } catch (const StateError&) {  // this runs in a handler of the fleet, which cannot wait for its own run
              try {
                std::thread([owner] { delete owner; }).detach();
              } catch (const std::system_error&) {  // the system has no thread left: the fleet is never freed
              }
              return;
            } catch (const std::exception&) {  // the destructor closes it below
            }
            delete owner;
          }};
}

void FleetOwner::drop_export() {
  if (exports.fetch_sub(1) != 1 || !closed) return;
  try {
    (process ? process->fleet() : *own).close();
  } catch (const Error&) {  // the destructor of the owner closes it
  }
}

FleetHandle::FleetHandle(std::shared_ptr<FleetOwner> owner) : owner_(std::move(owner)), handlers_(owner_->handlers) {}

FleetHandle::~FleetHandle() {
  try {
    close();  // arrays may keep the fleet alive, but no run may use this object any more
  } catch (const std::exception&) {
  }
  nb::gil_scoped_release free;
  owner_.reset();
}

int FleetHandle::visit(PyObject* self, visitproc visit, void* arg) noexcept {
  Py_VISIT(Py_TYPE(self));
  return nb::inst_ready(self) ? nb::inst_ptr<FleetHandle>(self)->handlers_->visit(visit, arg) : 0;
}

int FleetHandle::clear(PyObject* self) noexcept {
  if (nb::inst_ready(self)) nb::inst_ptr<FleetHandle>(self)->handlers_->clear();
  return 0;
}

LinuxFleet& FleetHandle::process() const {
  fleet();
  if (!owner_->process) throw StateError("this fleet has no Linux process; make a LinuxFleet");
  return *owner_->process;
}

void FleetHandle::refuse_in_handler(const char* what) const {
  if (!handlers_->are_here()) return;
  throw StateError(std::string("a handler cannot ") + what + " that it was called from; let it return first");
}

void FleetHandle::close() {
  if (closed() || inherited()) return;
  Fleet& fleet = this->fleet();
  refuse_in_handler("close the fleet");
  if (handlers_->thread != 0) interrupt_handlers_by_signals();
  nb::gil_scoped_release free;
  if (owner_->exports == 0) {
    fleet.close();
  } else {
    // Arrays still show the fleet's memory, so this only ends its run.
    if (fleet.is_running()) fleet.cancel();
    try {
      fleet.wait(-1);
    } catch (const StateError&) {  // no run was started; or this is a handler of the run, which goes on
      if (fleet.is_running()) throw;
    } catch (const std::exception&) {  // the error of a run whose result nobody asks for any more
    }
  }
  owner_->closed = true;
}

void FleetHandle::interrupt_handlers_by_signals() {
  cancel_if_running();
  while (handlers_->thread != 0) {
    if (PyErr_CheckSignals() != 0) {
      nb::python_error error;
      PyThreadState_SetAsyncExc(handlers_->thread, error.type().ptr());
    }
    nb::gil_scoped_release free;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

FleetHandle::Waiting::Waiting(FleetHandle& handle) : handle_(handle) {
  if (handle_.waiting_.exchange(true)) {
    throw StateError("another thread, or the caller of this handler, waits for a run of this fleet; let it end first");
  }
}

RunOptions FleetHandle::run_options(const nb::dict& given) {
  RunOptions options;
  options.mode = static_cast<Mode>(nb::cast<int>(given["mode"]));
  options.engine = static_cast<Engine>(nb::cast<int>(given["engine"]));
  options.instructions = nb::cast<uint64_t>(given["instructions"]);
  options.instructions_per_batch = nb::cast<uint64_t>(given["instructions_per_batch"]);
  options.max_batches = nb::cast<uint64_t>(given["max_batches"]);
  options.timeout = nb::cast<double>(given["timeout"]);
  options.go_on = nb::cast<bool>(given["go_on"]);
  // Calls a handler of Python and keeps the exception that it raises.
  auto guarded = [handlers = handlers_](auto&& body) {
    try {
      body(*handlers);
    } catch (nb::python_error& error) {
      handlers->raised = raised(error);
      throw HandlerFailed();
    }
  };
  if (nb::object handler = given["on_batch"]; !handler.is_none()) {
    options.on_batch = [guarded, kept = keep(handler)](Fleet&, const BatchReport& report) {
      nb::gil_scoped_acquire gil;
      bool go_on = true;
      guarded([&](Handlers& handlers) {
        AtWork at_work(handlers);
        go_on = nb::cast<bool>((*kept)(report.batch, report.instructions, report.lanes_left,
                                       tuple_of_stops(report.stops), static_cast<int>(report.signal)));
      });
      return go_on;
    };
  }
  if (nb::object handler = given["on_syscall"]; !handler.is_none()) {
    options.on_syscall = [guarded, kept = keep(handler)](Fleet&, const SyscallBatch& batch) {
      nb::gil_scoped_acquire gil;
      guarded([&](Handlers& handlers) { serve(*kept, handlers, batch); });
    };
  }
  return options;
}

nb::object FleetHandle::collect(double seconds) {
  std::optional<RunResult> result;
  try {
    nb::gil_scoped_release free;
    result = fleet().wait(seconds);
  } catch (const HandlerFailed&) {
    handlers_->raise();
  }
  if (!result) return nb::none();
  if (handlers_->raised.is_valid()) handlers_->raise();  // that of a tracer
  return tuple_of(*result);
}

nb::object FleetHandle::run_to(nb::dict given, std::vector<uint64_t> addresses) {
  using Clock = std::chrono::steady_clock;
  Waiting waiting(*this);
  RunOptions options = run_options(given);
  const uint64_t budget = options.instructions;
  const double timeout = options.timeout > 0 ? options.timeout : std::numeric_limits<double>::infinity();
  options.instructions = 1;
  options.timeout = 0;
  std::sort(addresses.begin(), addresses.end());
  const auto begin = Clock::now();
  auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  constexpr auto kBudget = static_cast<size_t>(StopReason::budget);
  RunResult result;
  uint64_t retired = 0;
  bool reached = false, goes_on = true;
  while (goes_on) {
    try {
      nb::gil_scoped_release free;
      for (const double look = seconds() + kSignalCheckSeconds; goes_on && seconds() < look;) {
        result = fleet().run(options);
        options.go_on = true;
        retired += result.instructions;
        // A lane at its own limit has the stop `budget` too, and retires nothing.
        goes_on = result.stops[kBudget] != 0 && result.instructions != 0;
        reached = goes_on && std::binary_search(addresses.begin(), addresses.end(), fleet().get(Field::pc, 0));
        goes_on = goes_on && !reached && retired < budget;
      }
    } catch (const HandlerFailed&) {
      handlers_->raise();
    }
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    if (goes_on && seconds() >= timeout) {
      result.timed_out = true;
      goes_on = false;
    }
  }
  if (reached) {
    const uint32_t lane = 0;
    const Stop stop{StopReason::breakpoint, FaultKind::none, 0, 0};
    nb::gil_scoped_release free;
    fleet().set_stops(std::span(&lane, 1), std::span(&stop, 1));
    result.stops = {};
    result.stops[static_cast<size_t>(StopReason::breakpoint)] = 1;
    result.signal = Signal::breakpoint;
    result.lanes_left = 0;
  }
  result.instructions = retired;
  result.seconds = seconds();
  return tuple_of(result);
}

void FleetHandle::start(nb::dict given) {
  RunOptions options = run_options(given);
  (void)fleet();
  if (runs_process_) throw StateError("a run of this fleet is in progress in another thread; let it end first");
  process_poll_.reset();
  nb::gil_scoped_release free;
  fleet().start(options);
}

nb::object FleetHandle::wait(double seconds) {
  refuse_in_handler("wait for the run");
  Waiting waiting(*this);
  for (double left = seconds;; left -= kSignalCheckSeconds) {
    bool last = seconds >= 0 && left <= kSignalCheckSeconds;
    nb::object result = collect(last ? std::max(left, 0.0) : kSignalCheckSeconds);
    if (last || !result.is_none()) return result;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  }
}

nb::object FleetHandle::run(nb::dict given, nb::object tick) {
  Waiting waiting(*this);
  start(std::move(given));
  try {
    while (true) {
      nb::object result = collect(kSignalCheckSeconds);
      if (!tick.is_none()) tick(poll());
      if (!result.is_none()) return result;
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }
  } catch (nb::python_error& error) {
    try {
      cancel_if_running();
      wait_for_handlers(nb::borrow(error.type()));
    } catch (...) {  // another thread has the result, or the run threw too: the exception of Python is the one to raise
    }
    handlers_->raised.reset();
    throw;
  }
}

void FleetHandle::cancel_if_running() {
  nb::gil_scoped_release free;
  if (fleet().is_running()) fleet().cancel();
}

void FleetHandle::wait_for_handlers(nb::object type) {
  for (bool raise = true;; raise = PyErr_CheckSignals() != 0) {
    PyErr_Clear();
    if (raise && handlers_->thread != 0) PyThreadState_SetAsyncExc(handlers_->thread, type.ptr());
    nb::gil_scoped_release free;
    if (fleet().wait(kSignalCheckSeconds)) return;
  }
}

nb::object FleetHandle::run_process(int engine, nb::object tick) {
  using Clock = std::chrono::steady_clock;
  Waiting waiting(*this);
  LinuxFleet& process = this->process();
  ProcessRun run(*this);
  process_poll_ = Poll{true, 0, fleet().lanes(), 0, Signal::running};
  std::exception_ptr interrupt;
  auto keep_interrupt = [&](nb::python_error& error) {
    if (!interrupt) interrupt = std::current_exception();
    {
      nb::gil_scoped_release free;
      try {
        process.cancel();
      } catch (const StateError&) {  // closed, or inherited: LinuxFleet::run() throws the same
      }
    }
    // In a child that a signal handler has fork()ed, the handler of the parent is not at work.
    if (handlers_->thread != 0 && !inherited()) PyThreadState_SetAsyncExc(handlers_->thread, error.type().ptr());
  };
  Clock::time_point next = Clock::now();
  LinuxRunOptions options;
  options.engine = static_cast<Engine>(engine);
  options.progress_seconds = kSignalCheckSeconds;
  options.progress = [&](const LinuxProgress& now) {
    if (Clock::now() < next) return;
    next =
        Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(kSignalCheckSeconds));
    nb::gil_scoped_acquire gil;
    try {
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      if (interrupt || inherited()) return;
      process_poll_ = Poll{true, now.instructions, fleet().lanes() - now.lanes_done, now.seconds, Signal::running};
      if (!tick.is_none()) tick(tuple_of(*process_poll_));
    } catch (nb::python_error& error) {
      keep_interrupt(error);
    }
  };
  RunResult result;
  std::exception_ptr failed;
  {
    nb::gil_scoped_release free;
    try {
      result = process.run(options);
    } catch (...) {
      failed = std::current_exception();
    }
  }
  if (interrupt) {
    handlers_->raised.reset();
    std::rethrow_exception(interrupt);
  }
  if (failed) std::rethrow_exception(failed);
  process_poll_ = Poll{false, result.instructions, fleet().lanes() - result.stopped, result.seconds, result.signal};
  if (handlers_->raised.is_valid()) handlers_->raise();
  if (!tick.is_none()) tick(tuple_of(*process_poll_));
  return tuple_of(result);
}

nb::object FleetHandle::poll() {
  Poll poll;
  {
    nb::gil_scoped_release free;
    poll = fleet().poll();
  }
  return tuple_of(process_poll_.value_or(poll));
}

void FleetHandle::cancel() {
  nb::gil_scoped_release free;
  Fleet& fleet = this->fleet();
  if (owner_->process) owner_->process->cancel();
  else fleet.cancel();
}

bool FleetHandle::is_running() {
  nb::gil_scoped_release free;
  return fleet().is_running() || runs_process_;
}

}  // namespace myriarm::python
