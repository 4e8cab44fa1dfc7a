// SPDX-License-Identifier: Apache-2.0
// The C++ side of myriarm.Queue. A thread runs the queue; all Python code, the iterator of inputs among it, runs in the
// thread that asks for results, so that Ctrl-C and exceptions need no detour.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "myriarm/queue_rate.h"
#include "process.h"

namespace myriarm::python {
namespace {

/// A bounded list of inputs and one of results, between the thread of the queue and that of Python.
class QueueHandle {
 public:
  QueueHandle(const ElfImage& image, const FleetOptions& fleet, LinuxOptions process,
              std::shared_ptr<Handlers> handlers)
      : handlers_(std::move(handlers)), queue_(image, fleet, with_tracer(std::move(process))), most_(2 * fleet.lanes) {
    made_ = true;
  }
  ~QueueHandle() {
    if (queue_.fleet().inherited()) {
      (void)std::make_unique<std::thread>(std::move(thread_)).release();  // it is the parent's
      return;
    }
    nb::gil_scoped_release free;
    end();
  }
  QueueHandle(const QueueHandle&) = delete;

  Fleet& fleet() { return queue_.fleet(); }

  void start(bool ordered, uint64_t held_bytes, uint64_t instructions) {
    (void)queue_.fleet().lanes();  // throws if the fleet is inherited
    refuse_in_handler();
    handlers_->raised.reset();
    nb::gil_scoped_release free;
    end();
    inputs_.clear();
    results_.clear();
    progress_ = {};
    rate_ = QueueRate();
    error_ = nullptr;
    ended_ = supply_ended_ = abandoned_ = false;
    QueueOptions options;
    options.ordered = ordered;
    options.held_bytes = held_bytes;
    options.instructions = instructions;
    options.progress = [this](const QueueProgress& now) {
      std::lock_guard lock(mutex_);
      progress_ = now;
      rate_.add(now.seconds, now.done, now.instructions);
    };
    thread_ = std::thread([this, options] { run(options); });
  }

  /// How many more inputs it takes now; 0 after the end.
  uint64_t room() {
    std::lock_guard lock(mutex_);
    return ended_ || supply_ended_ ? 0 : most_ - std::min(most_, inputs_.size());
  }
  void push(uint64_t number, ProcessInput input) {
    std::lock_guard lock(mutex_);
    inputs_.emplace_back(number, std::move(input));
    changed_.notify_all();
  }
  void no_more_inputs() {
    std::lock_guard lock(mutex_);
    supply_ended_ = true;
    changed_.notify_all();
  }

  /// The next result as a tuple; None if there is none within some time; False after the end. Raises what ended the run.
  nb::object pop(bool wait) {
    std::optional<QueueResult> result;
    bool ended = false;
    {
      nb::gil_scoped_release free;
      std::unique_lock lock(mutex_);
      const auto there = [&] { return !results_.empty() || ended_; };
      if (wait) changed_.wait_for(lock, kPatience, there);
      if (!results_.empty()) {
        result = std::move(results_.front());
        results_.pop_front();
        changed_.notify_all();
      }
      ended = ended_;
    }
    if (result) return tuple_of(*result);
    if (!ended) return nb::none();
    if (handlers_->raised.is_valid()) handlers_->raise();
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
    return nb::bool_(false);
  }

  void cancel() { queue_.cancel(); }
  /// Ends a run that nobody wants the results of.
  void abandon() {
    refuse_in_handler();
    nb::gil_scoped_release free;
    end();
  }
  /// `inputs`: how many there are in all, or None.
  nb::object progress(std::optional<uint64_t> inputs) {
    std::lock_guard lock(mutex_);
    const QueueProgress& now = progress_;
    std::optional<double> left;
    if (inputs) left = rate_.seconds_for(*inputs - std::min(*inputs, now.done));
    return nb::make_tuple(now.done, now.failed, now.running, now.instructions, now.seconds, rate_.inputs_per_second(),
                          rate_.instructions_per_second(), left, now.idle_share(), now.longest_number,
                          now.longest_instructions, now.median_instructions);
  }
  nb::object unimplemented() const { return dict_of(queue_.unimplemented()); }

  /// For Python's garbage collector: on_call may refer to the queue.
  static int visit(PyObject* self, visitproc visit, void* arg) noexcept {
    Py_VISIT(Py_TYPE(self));
    return nb::inst_ready(self) ? nb::inst_ptr<QueueHandle>(self)->handlers_->visit(visit, arg) : 0;
  }
  static int clear(PyObject* self) noexcept {
    if (nb::inst_ready(self)) nb::inst_ptr<QueueHandle>(self)->handlers_->clear();
    return 0;
  }

 private:
  // Between two looks of Python at its signals.
  static constexpr std::chrono::milliseconds kPatience{50};

  LinuxOptions with_tracer(LinuxOptions options) {
    if (!handlers_->on_call.is_valid()) return options;
    options.on_call = tracer(handlers_, [this] {
      if (made_) queue_.cancel();
    });
    return options;
  }

  void refuse_in_handler() const {
    if (!handlers_->are_here()) return;
    throw StateError("on_call cannot end the run of the queue that it was called from; let it return first");
  }

  void run(const QueueOptions& options) {
    QueueProgress end;
    std::exception_ptr error;
    try {
      end = queue_.run([this](ProcessInput& input, uint64_t& number, bool idle) { return next(input, number, idle); },
                       [this](QueueResult& result) { return take(result); }, options);
    } catch (...) {
      error = std::current_exception();
    }
    std::lock_guard lock(mutex_);
    progress_ = end;
    error_ = error;
    ended_ = true;
    changed_.notify_all();
  }

  Supply next(ProcessInput& input, uint64_t& number, bool idle) {
    std::unique_lock lock(mutex_);
    if (idle) changed_.wait_for(lock, kPatience, [&] { return !inputs_.empty() || supply_ended_ || abandoned_; });
    if (inputs_.empty()) return supply_ended_ || abandoned_ ? Supply::ended : Supply::later;
    number = inputs_.front().first;
    input = std::move(inputs_.front().second);
    inputs_.pop_front();
    return Supply::input;
  }

  /// Waits until Python has taken results, so that they do not pile up.
  bool take(QueueResult& result) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return results_.size() < most_ || abandoned_; });
    if (abandoned_) return false;
    results_.push_back(std::move(result));
    changed_.notify_all();
    return true;
  }

  void end() {
    if (!thread_.joinable()) return;
    {
      std::lock_guard lock(mutex_);
      abandoned_ = true;
      changed_.notify_all();
      if (!ended_) queue_.cancel();
    }
    thread_.join();
  }

  static nb::object tuple_of(const QueueResult& result) {
    const Stop& stop = result.outcome.stop;
    const auto bytes = [](const std::vector<uint8_t>& from) { return nb::bytes(from.data(), from.size()); };
    return nb::make_tuple(
        result.number,
        nb::make_tuple(static_cast<int>(stop.reason), static_cast<int>(stop.fault), stop.detail, stop.address),
        result.outcome.exit_status, result.outcome.signal, result.instructions, result.pc,
        bytes(result.standard_output), bytes(result.standard_error));
  }

  const std::shared_ptr<Handlers> handlers_;
  bool made_ = false;  // queue_ exists; while it is made it may trace the common part of all lanes
  Queue queue_;
  const size_t most_;  // inputs, and results, that wait
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<uint64_t, ProcessInput>> inputs_;  // with their numbers
  std::deque<QueueResult> results_;
  QueueProgress progress_;
  QueueRate rate_;
  std::exception_ptr error_;
  bool ended_ = true, supply_ended_ = false, abandoned_ = false;
};

std::optional<std::vector<uint8_t>> bytes_or_none(nb::handle object) {
  if (object.is_none()) return std::nullopt;
  return bytes_of(nb::cast<nb::bytes>(object));
}
std::optional<std::vector<std::string>> strings_or_none(nb::handle object) {
  if (object.is_none()) return std::nullopt;
  return strings_of(nb::cast<nb::list>(object));
}

}  // namespace

void bind_queue(nb::module_& module) {
  static PyType_Slot slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(&QueueHandle::visit)},
                                {Py_tp_clear, reinterpret_cast<void*>(&QueueHandle::clear)},
                                {0, nullptr}};
  nb::class_<QueueHandle>(module, "Queue", nb::type_slots(slots))
      .def_prop_ro("lanes", [](QueueHandle& queue) { return queue.fleet().lanes(); })
      .def_prop_ro("device", [](QueueHandle& queue) { return myriarm::python::tuple_of(queue.fleet().device()); })
      .def("start", &QueueHandle::start, nb::arg("ordered"), nb::arg("held_bytes"), nb::arg("instructions"))
      .def("room", &QueueHandle::room)
      .def(
          "push",
          [](QueueHandle& queue, uint64_t number, nb::object arguments, nb::object environment,
             nb::object standard_input, nb::object file) {
            queue.push(number, {strings_or_none(arguments), strings_or_none(environment), bytes_or_none(standard_input),
                                bytes_or_none(file)});
          },
          nb::arg("number"), nb::arg("arguments").none(), nb::arg("environment").none(),
          nb::arg("standard_input").none(), nb::arg("file").none())
      .def("no_more_inputs", &QueueHandle::no_more_inputs)
      .def("pop", &QueueHandle::pop, nb::arg("wait"))
      .def("cancel", &QueueHandle::cancel)
      .def("abandon", &QueueHandle::abandon)
      .def("progress", &QueueHandle::progress, nb::arg("inputs").none())
      .def("unimplemented", &QueueHandle::unimplemented);
  nb::class_<QueueRate>(module, "QueueRate")
      .def(nb::init<>())
      .def("add", &QueueRate::add, nb::arg("seconds"), nb::arg("done"), nb::arg("instructions"))
      .def("inputs_per_second", &QueueRate::inputs_per_second)
      .def("instructions_per_second", &QueueRate::instructions_per_second)
      .def("seconds_for", &QueueRate::seconds_for, nb::arg("inputs"));
  module.def(
      "queue",
      [](nb::bytes file, const std::string& name, nb::dict options, nb::dict process) {
        const FleetOptions fleet = fleet_options_of(options);
        LinuxOptions given = process_options_of(process);
        const std::string fork_after = nb::cast<std::string>(process["fork_after"]);
        const std::vector<uint8_t> bytes = bytes_of(file);
        auto handlers = make_handlers();
        if (nb::object function = process["on_call"]; !function.is_none()) handlers->on_call = function;
        std::shared_ptr<QueueHandle> made;
        {
          nb::gil_scoped_release free;
          const ElfImage image = image_of(bytes, name, fork_after, given);
          made = std::make_shared<QueueHandle>(image, fleet, std::move(given), handlers);
        }
        if (handlers->raised.is_valid()) handlers->raise();  // in the common part of all lanes
        return made;
      },
      nb::arg("file"), nb::arg("name"), nb::arg("options"), nb::arg("process"));
}

}  // namespace myriarm::python
