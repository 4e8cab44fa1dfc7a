// SPDX-License-Identifier: Apache-2.0
#include "queue_worker.h"

#include <nanobind/stl/optional.h>

#include <algorithm>
#include <utility>

namespace myriarm::python {

QueueWorker::QueueWorker(const ElfImage& image, const FleetOptions& fleet, LinuxOptions process,
                         std::shared_ptr<Handlers> handlers)
    : handlers_(std::move(handlers)), queue_(image, fleet, with_tracer(std::move(process))) {
  made_ = true;
}

QueueWorker::~QueueWorker() {
  if (queue_.fleet().inherited()) {
    // The thread is the parent's. To destroy a condition variable waits for who waits for it, which may be that thread.
    (void)std::make_unique<std::thread>(std::move(thread_)).release();
    (void)changed.release();
    return;
  }
  nb::gil_scoped_release free;
  end();
}

void QueueWorker::start(bool ordered, bool group, uint64_t held_bytes, uint64_t instructions,
                        const std::function<void()>& clear, std::function<QueueProgress(const QueueOptions&)> work) {
  refuse_if_inherited();
  refuse_in_handler();
  handlers_->raised.reset();
  {
    nb::gil_scoped_release free;
    end();
  }
  clear();
  progress_ = {};
  rate_ = QueueRate();
  error_ = nullptr;
  ended_ = supply_ended_ = abandoned_ = false;
  groups_ = group;
  QueueOptions options;
  options.ordered = ordered;
  options.held_bytes = held_bytes;
  options.instructions = instructions;
  options.progress = [this](const QueueProgress& now) {
    std::lock_guard lock(mutex);
    progress_ = now;
    rate_.add(now.seconds, now.done, now.instructions);
  };
  thread_ = std::thread([this, options, work = std::move(work)] { run(options, work); });
}

void QueueWorker::no_more_inputs() {
  std::lock_guard lock(mutex);
  supply_ended_ = true;
  changed->notify_all();
}

void QueueWorker::abandon() {
  refuse_in_handler();
  nb::gil_scoped_release free;
  end();
}

nb::object QueueWorker::raise_or_false() {
  if (handlers_->raised.is_valid()) handlers_->raise();
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  return nb::bool_(false);
}

nb::object QueueWorker::progress(std::optional<uint64_t> inputs) {
  std::lock_guard lock(mutex);
  const QueueProgress& now = progress_;
  std::optional<double> left;
  if (inputs) left = rate_.seconds_for(*inputs - std::min(*inputs, now.done));
  return nb::make_tuple(now.done, now.failed, now.running, now.instructions, now.seconds, rate_.inputs_per_second(),
                        rate_.instructions_per_second(), left, now.idle_share(), now.longest_number,
                        now.longest_instructions, now.median_instructions);
}

LinuxOptions QueueWorker::with_tracer(LinuxOptions options) {
  if (!handlers_->on_call.is_valid()) return options;
  options.on_call = tracer(handlers_, [this] {
    if (made_) queue_.cancel();
  });
  return options;
}

void QueueWorker::refuse_in_handler() const {
  if (!handlers_->are_here()) return;
  throw StateError("on_call cannot end the run of the queue that it was called from; let it return first");
}

void QueueWorker::run(const QueueOptions& options, const std::function<QueueProgress(const QueueOptions&)>& work) {
  QueueProgress last;
  std::exception_ptr error;
  try {
    last = work(options);
  } catch (...) {
    error = std::current_exception();
  }
  std::lock_guard lock(mutex);
  progress_ = last;
  error_ = error;
  ended_ = true;
  changed->notify_all();
}

void QueueWorker::end() {
  if (!thread_.joinable() || queue_.fleet().inherited()) return;
  {
    std::lock_guard lock(mutex);
    abandoned_ = true;
    changed->notify_all();
    if (!ended_) queue_.cancel();
  }
  thread_.join();
}

}  // namespace myriarm::python
