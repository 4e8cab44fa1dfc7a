// SPDX-License-Identifier: Apache-2.0
// The C++ side of myriarm.Queue.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <deque>
#include <mutex>
#include <utility>

#include "digests.h"
#include "group_ends.h"
#include "myriarm/likeness.h"
#include "process.h"
#include "queue_worker.h"

namespace myriarm::python {
namespace {

/// A queue of Python, with the bounded lists of Queue.run(): one of inputs and one of results.
class QueueHandle {
 public:
  QueueHandle(const ElfImage& image, const FleetOptions& fleet, LinuxOptions process,
              std::shared_ptr<Handlers> handlers)
      : most_(2 * fleet.lanes), worker_(image, fleet, std::move(process), std::move(handlers)) {}
  QueueHandle(const QueueHandle&) = delete;

  QueueWorker& worker() { return worker_; }
  DigestLists& digests() { return digests_; }

  void start(bool ordered, bool group, uint64_t held_bytes, uint64_t instructions) {
    const auto clear = [this] {
      inputs_.clear();
      results_.clear();
      bytes_ = offered_ = 0;
      group_ends_.clear();
    };
    worker_.start(ordered, group, held_bytes, instructions, clear, [this, group](const QueueOptions& options) {
      QueueSource source = [this](ProcessInput& input, uint64_t& number, bool idle) {
        return next(input, number, idle);
      };
      if (group) source = grouped(std::move(source));
      return worker_.queue().run(
          source, [this](QueueResult& result) { return take(result); }, options);
    });
  }

  /// How many more inputs it takes now; 0 after the end.
  uint64_t room() {
    worker_.refuse_if_inherited();
    std::lock_guard lock(worker_.mutex);
    return worker_.has_all_inputs() || is_full() ? 0 : most_inputs() - inputs_.size();
  }
  /// False: there is no room for another one, whatever room() has said.
  bool push(uint64_t number, ProcessInput input) {
    std::lock_guard lock(worker_.mutex);
    bytes_ += size_of(input);
    inputs_.emplace_back(number, std::move(input));
    if (!worker_.groups()) offer();
    return !is_full();
  }
  /// Inputs that come now are in no group with those that were listed.
  void end_group() {
    worker_.refuse_if_inherited();
    std::lock_guard lock(worker_.mutex);
    if (!worker_.groups()) return;
    group_ends_.add(inputs_.size());
    digests_.end_group();
  }
  void no_more_inputs() {
    {
      std::lock_guard lock(worker_.mutex);
      offer();
      digests_.offer();
    }
    worker_.no_more_inputs();
  }

  /// The next result as a tuple; None if there is none within some time; False after the end. Raises what ended the run.
  nb::object pop(bool wait) {
    worker_.refuse_if_inherited();
    std::optional<QueueResult> result;
    bool ended = false;
    {
      nb::gil_scoped_release free;
      std::unique_lock lock(worker_.mutex);
      if (wait) offer();
      const auto there = [&] { return !results_.empty() || worker_.has_ended(); };
      if (wait) worker_.changed->wait_for(lock, QueueWorker::kPatience, there);
      if (!results_.empty()) {
        result = std::move(results_.front());
        results_.pop_front();
        worker_.changed->notify_all();
      }
      ended = worker_.has_ended();
    }
    if (result) return tuple_of(*result);
    return ended ? worker_.raise_or_false() : nb::none();
  }

  /// Ends a run that nobody wants the results of.
  void abandon() {
    worker_.abandon();
    digests_.clear();
  }

  /// For Python's garbage collector: on_call may refer to the queue.
  static int visit(PyObject* self, visitproc visit, void* arg) noexcept {
    Py_VISIT(Py_TYPE(self));
    return nb::inst_ready(self) ? nb::inst_ptr<QueueHandle>(self)->worker_.handlers().visit(visit, arg) : 0;
  }
  static int clear(PyObject* self) noexcept {
    if (nb::inst_ready(self)) nb::inst_ptr<QueueHandle>(self)->worker_.handlers().clear();
    return 0;
  }

 private:
  Supply next(ProcessInput& input, uint64_t& number, bool idle) {
    std::unique_lock lock(worker_.mutex);
    if (group_ends_.pass_end()) return Supply::later;
    if (idle)
      worker_.changed->wait_for(lock, QueueWorker::kPatience,
                                [&] { return offered_ != 0 || worker_.has_all_inputs(); });
    if (offered_ == 0) return worker_.has_all_inputs() ? Supply::ended : Supply::later;
    number = inputs_.front().first;
    input = std::move(inputs_.front().second);
    bytes_ -= size_of(input);
    inputs_.pop_front();
    offered_--;
    group_ends_.count_taken();
    return Supply::input;
  }

  /// Waits until Python has taken results, so that they do not pile up.
  bool take(QueueResult& result) {
    std::unique_lock lock(worker_.mutex);
    worker_.changed->wait(lock, [&] { return results_.size() < most_ || worker_.is_abandoned(); });
    if (worker_.is_abandoned()) return false;
    results_.push_back(std::move(result));
    worker_.changed->notify_all();
    return true;
  }

  static nb::object tuple_of(const QueueResult& result) {
    const Stop& stop = result.outcome.stop;
    const auto bytes = [](const std::vector<uint8_t>& from) { return nb::bytes(from.data(), from.size()); };
    return nb::make_tuple(
        result.number,
        nb::make_tuple(static_cast<int>(stop.reason), static_cast<int>(stop.fault), stop.detail, stop.address),
        result.outcome.exit_status, result.outcome.signal, result.instructions, result.pc,
        bytes(result.standard_output), bytes(result.standard_error), list_of(result.files));
  }

  /// Lets the queue have what was listed.
  void offer() {
    offered_ = inputs_.size();
    worker_.changed->notify_all();
  }
  size_t most_inputs() const { return worker_.groups() ? std::max<size_t>(most_, GroupOptions().inputs) : most_; }
  /// There are many inputs only if they are grouped, and then their bytes are bounded.
  bool is_full() const {
    return inputs_.size() >= most_inputs() || (worker_.groups() && bytes_ >= GroupOptions().bytes);
  }
  static uint64_t size_of(const ProcessInput& input) {
    return (input.standard_input ? input.standard_input->size() : 0) + (input.file ? input.file->size() : 0);
  }

  const size_t most_;                                     // inputs, and results, that wait
  std::deque<std::pair<uint64_t, ProcessInput>> inputs_;  // with their numbers
  uint64_t bytes_ = 0, offered_ = 0;                      // of these: their bytes, and how many the queue may take
  GroupEnds group_ends_;
  std::deque<QueueResult> results_;
  DigestLists digests_{worker_};
  QueueWorker worker_;  // the last: its thread, which uses the lists, has ended before they go
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
      .def_prop_ro("lanes", [](QueueHandle& queue) { return queue.worker().fleet().lanes(); })
      .def_prop_ro("device",
                   [](QueueHandle& queue) { return myriarm::python::tuple_of(queue.worker().fleet().device()); })
      .def("start", &QueueHandle::start, nb::arg("ordered"), nb::arg("group"), nb::arg("held_bytes"),
           nb::arg("instructions"))
      .def("room", &QueueHandle::room)
      .def(
          "push",
          [](QueueHandle& queue, uint64_t number, nb::object arguments, nb::object environment,
             nb::object standard_input, nb::object file) {
            return queue.push(number, {strings_or_none(arguments), strings_or_none(environment),
                                       bytes_or_none(standard_input), bytes_or_none(file)});
          },
          nb::arg("number"), nb::arg("arguments").none(), nb::arg("environment").none(),
          nb::arg("standard_input").none(), nb::arg("file").none())
      .def("end_group", &QueueHandle::end_group)
      .def("no_more_inputs", &QueueHandle::no_more_inputs)
      .def("pop", &QueueHandle::pop, nb::arg("wait"))
      .def(
          "start_digests",
          [](QueueHandle& queue, bool ordered, bool group, uint64_t held_bytes, uint64_t instructions) {
            queue.digests().start(ordered, group, held_bytes, instructions);
          },
          nb::arg("ordered"), nb::arg("group"), nb::arg("held_bytes"), nb::arg("instructions"))
      .def("has_room", [](QueueHandle& queue) { return queue.digests().has_room(); })
      .def(
          "push_batch",
          [](QueueHandle& queue, uint64_t first_number, Bytes bytes, DigestLists::Offsets offsets, bool as_file) {
            queue.digests().push(first_number, std::move(bytes), std::move(offsets), as_file);
          },
          nb::arg("first_number"), nb::arg("bytes"), nb::arg("offsets"), nb::arg("as_file"))
      .def(
          "pop_digests", [](QueueHandle& queue, bool wait) { return queue.digests().pop(wait); }, nb::arg("wait"))
      .def("cancel", [](QueueHandle& queue) { queue.worker().cancel(); })
      .def("abandon", &QueueHandle::abandon)
      .def(
          "progress",
          [](QueueHandle& queue, std::optional<uint64_t> inputs) { return queue.worker().progress(inputs); },
          nb::arg("inputs").none())
      .def("unimplemented", [](QueueHandle& queue) { return dict_of(queue.worker().queue().unimplemented()); });
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
