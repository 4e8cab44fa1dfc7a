// SPDX-License-Identifier: Apache-2.0
// run, start, poll, wait, cancel and close: which thread may use a fleet, and the thread of a run. What a run does is in
// run_loop.cpp.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <system_error>

#include "fleet/fleet_impl.h"

namespace myriarm {
namespace {

/// Longer waits have no deadline, because the clock would overflow.
constexpr double kLongestWait = 1e9;

RunClock::time_point deadline_of(RunClock::time_point begin, double seconds) {
  if (seconds > kLongestWait) return RunClock::time_point::max();
  return begin + std::chrono::duration_cast<RunClock::duration>(std::chrono::duration<double>(seconds));
}

}  // namespace

Fleet::Impl& Fleet::Impl::present(Impl* impl) {
  if (impl == nullptr) throw StateError("this fleet was moved to another object; use that one");
  if (impl->core->inherited()) refuse_inherited();
  return *impl;
}

void refuse_inherited() {
  throw StateError("this fleet was made before fork() and stays with the parent process; make a new one in the child");
}

Fleet::Impl& Fleet::Impl::open(Impl* impl) {
  if (present(impl).core->phase == Phase::closed) impl->refuse(Phase::closed);
  return *impl;
}

void Fleet::Impl::refuse(Phase phase) const {
  switch (phase) {
    case Phase::running: throw StateError("the fleet is running; call wait() or cancel() first");
    case Phase::closed: throw StateError("the fleet is closed; make a new one");
    default: throw StateError("another thread is using this fleet; use a fleet from one thread at a time");
  }
}

void Fleet::Impl::check_device() const {
  if (device_failure.empty()) return;
  throw DeviceError("the device of this fleet failed earlier (" + device_failure + "); make a new fleet");
}

Phase Fleet::Impl::take_phase(Phase wanted) {
  for (;;) {
    Phase found = Phase::idle;
    if (core->phase.compare_exchange_strong(found, wanted)) return Phase::idle;
    if (found != Phase::dropping) return found;
    std::this_thread::yield();
  }
}

Fleet::Impl::Use::~Use() {
  impl_.core->drop_waiting();
  if (acquired_) impl_.core->phase = Phase::idle;
}

Fleet::Impl::Use::Use(Impl* impl) : impl_(present(impl)) {
  const Phase found = impl_.take_phase(Phase::busy);
  if (found == Phase::idle) {
    if (!impl_.device_failure.empty()) {
      impl_.core->phase = Phase::idle;
      impl_.check_device();
    }
    acquired_ = true;
    impl_.core->drop_waiting();
  } else if (found != Phase::running || !impl_.in_handler()) {
    impl_.refuse(found);
  }
}

/// Cancels a run at its deadline.
class Fleet::Impl::Watchdog {
 public:
  Watchdog(Impl& impl, double timeout) : impl_(impl) {
    const Clock::time_point deadline = deadline_of(impl.began, timeout);
    if (timeout == 0 || deadline == Clock::time_point::max()) return;
    watch_ = std::make_unique<Watch>();
    try {
      watch_->thread = std::thread([&watch = *watch_, &impl, deadline] {
        std::unique_lock lock(watch.mutex);
        if (Clock::wait_until(watch.wake, lock, deadline, [&watch] { return watch.done; })) return;
        impl.request_cancel(true);
      });
    } catch (const std::system_error&) {
      throw DeviceError("the host has no thread left for the timeout; end some threads, or run without a timeout");
    }
  }
  ~Watchdog() {
    if (!watch_) return;
    if (impl_.core->inherited()) {  // a handler called fork(), and the thread that waits is not here
      (void)watch_.release();
      return;
    }
    {
      std::lock_guard lock(watch_->mutex);
      watch_->done = true;
    }
    watch_->wake.notify_one();
    watch_->thread.join();
  }
  Watchdog(const Watchdog&) = delete;

 private:
  struct Watch {
    std::mutex mutex;
    std::condition_variable wake;
    bool done = false;
    std::thread thread;
  };

  Impl& impl_;
  std::unique_ptr<Watch> watch_;
};

void Fleet::Impl::begin_run(const RunOptions& wanted, bool start) {
  if (in_handler()) throw StateError("a handler cannot run the fleet that it was called from; let it return first");
  check_options(wanted);
  if (wanted.lanes) (void)distinct(*wanted.lanes, "run");
  const Phase found = take_phase(Phase::running);
  if (found != Phase::idle) refuse(found);
  std::lock_guard lock(mutex);
  try {
    if (closing) refuse(Phase::closed);
    check_device();
    if (started) throw StateError("the run that start() began has ended; call wait() for its result first");
  } catch (...) {
    core->phase = Phase::idle;
    throw;
  }
  active = true;
  started = start;
  timed_out = in_engine = false;
  retired = polled = 0;
  left.reset();
  last.reset();
  seconds.reset();
  failure = nullptr;
  began = Clock::now();
}

void Fleet::Impl::end_run(std::optional<RunResult> result, const std::exception_ptr& error) noexcept {
  if (core->inherited()) return;  // a handler called fork(), and the run is the parent's
  if (device_failure.empty()) core->drop_waiting();
  std::lock_guard lock(mutex);
  // A cancel that came too late for this run must not end the next one.
  if (device_failure.empty()) core->backend->clear_cancel();
  cancelled = false;
  active = in_engine = false;
  last = result;
  failure = error;
  seconds = std::chrono::duration<double>(Clock::now() - began).count();
  core->phase = Phase::idle;
  changed.notify_all();
}

RunResult Fleet::run(const RunOptions& options) {
  Impl& impl = Impl::present(impl_.get());
  impl.begin_run(options, false);
  std::optional<RunResult> result;
  std::exception_ptr error;
  try {
    Impl::Watchdog watchdog(impl, options.timeout);
    result = impl.execute(options);
  } catch (...) {
    error = std::current_exception();
  }
  impl.end_run(result, error);
  if (error) impl.report(error);
  return *result;
}

void Fleet::start(const RunOptions& options) {
  Impl& impl = Impl::present(impl_.get());
  RunOptions kept = options;
  impl.begin_run(kept, true);
  std::lock_guard lock(impl.mutex);
  try {
    impl.thread = std::thread([&impl, kept = std::move(kept)] {
      std::optional<RunResult> result;
      std::exception_ptr error;
      try {
        Impl::Watchdog watchdog(impl, kept.timeout);
        result = impl.execute(kept);
      } catch (...) {
        error = std::current_exception();
      }
      impl.end_run(result, error);
    });
  } catch (const std::exception& error) {
    impl.active = impl.started = false;
    impl.core->phase = Phase::idle;
    if (dynamic_cast<const std::system_error*>(&error) == nullptr) throw;
    throw DeviceError("the host has no thread left for the run; end some threads, or call run()");
  }
}

/// Rethrows what ended a run, and notes that a failure of the device has been reported.
void Fleet::Impl::report(const std::exception_ptr& error) {
  if (!core->inherited()) {
    std::lock_guard lock(mutex);
    failure_reported = !device_failure.empty();
  }
  std::rethrow_exception(error);
}

bool Fleet::is_running() const {
  Impl& impl = Impl::open(impl_.get());
  std::lock_guard lock(impl.mutex);
  return impl.active;
}

u64 Fleet::Impl::published() const {
  counts.resize(options.lanes);
  codes.resize(options.lanes);
  core->backend->progress(counts, codes);
  return std::accumulate(counts.begin(), counts.end(), u64{0});
}

void Fleet::Impl::engine_begins(bool first) {
  if (counts_touched || (first && counts_exported)) counts_sum = published();
  progress_base = counts_sum - retired;
  counts_touched = false;
  in_engine = true;
}

void Fleet::Impl::engine_ends(u64 more, u64 lanes_left) {
  in_engine = false;
  retired += more;
  counts_sum += more;
  left = lanes_left;
}

Poll Fleet::Impl::look() const {
  Poll poll;
  poll.running = active;
  poll.seconds = active ? std::chrono::duration<double>(Clock::now() - began).count() : seconds.value_or(0);
  // A run without a result ended with an exception, which wait() throws.
  if (!active && seconds) poll.signal = last ? last->signal : Signal::fault;
  poll.instructions = retired;
  if (!device_failure.empty()) return poll;
  if (active && !in_engine && left) {
    poll.lanes_running = *left;
  } else {
    const u64 sum = published();
    poll.lanes_running = static_cast<u64>(std::count(codes.begin(), codes.end(), StopCode::none));
    // Between two batches every lane that goes on has the stop `budget`.
    if (in_engine && poll.lanes_running == 0) {
      poll.lanes_running = static_cast<u64>(std::count(codes.begin(), codes.end(), StopCode::budget));
    }
    const u64 more = sum - progress_base - retired;
    if (in_engine && more >> 63 == 0) poll.instructions += more;  // else the counts are older than `retired`
  }
  if (active) polled = poll.instructions = std::max(polled, poll.instructions);
  return poll;
}

Poll Fleet::poll() const {
  Impl& impl = Impl::present(impl_.get());
  std::lock_guard lock(impl.mutex);
  Impl::open(&impl);
  if (impl.failure_reported) impl.check_device();
  return impl.look();
}

void Fleet::poll_lanes(std::span<uint64_t> instructions, std::span<Signal> signals) const {
  Impl& impl = Impl::present(impl_.get());
  std::lock_guard lock(impl.mutex);
  Impl::open(&impl);
  impl.check_device();
  const u64 lanes = impl.options.lanes;
  if (!instructions.empty()) Impl::check_size(instructions.size(), lanes, "poll_lanes");
  if (!signals.empty()) Impl::check_size(signals.size(), lanes, "poll_lanes");
  impl.codes.resize(signals.size());
  impl.core->backend->progress(instructions, impl.codes);
  std::transform(impl.codes.begin(), impl.codes.end(), signals.begin(),
                 [](StopCode code) { return signal_of(static_cast<StopReason>(code)); });
}

TranslationReport Fleet::translation() const {
  Impl& impl = Impl::present(impl_.get());
  std::lock_guard lock(impl.mutex);
  return Impl::open(&impl).core->backend->translation();
}

std::optional<RunResult> Fleet::wait(double seconds) {
  Impl& impl = Impl::present(impl_.get());
  if (std::isnan(seconds))
    throw ArgumentError("wait: seconds is NaN; give a number of seconds, or -1 to wait for the end");
  if (impl.in_handler()) {
    throw StateError("a handler cannot wait for the run that it was called from; let it return first");
  }
  std::unique_lock lock(impl.mutex);
  Impl::open(&impl);
  if (!impl.started) throw StateError("no run was started; call start() before wait()");
  auto ended = [&] { return !impl.active || impl.closing; };
  const auto deadline = seconds < 0 ? RunClock::time_point::max() : deadline_of(RunClock::now(), seconds);
  if (!RunClock::wait_until(impl.changed, lock, deadline, ended)) return std::nullopt;
  if (impl.closing) impl.refuse(Phase::closed);
  if (!impl.started) throw StateError("another thread's wait() has returned the result of this run; start a new run");
  impl.started = false;
  std::thread thread = std::move(impl.thread);
  const std::optional<RunResult> result = impl.last;
  const std::exception_ptr error = std::exchange(impl.failure, nullptr);
  lock.unlock();
  thread.join();
  if (error) impl.report(error);
  return result;
}

void Fleet::Impl::request_cancel(bool by_deadline) {
  std::lock_guard lock(mutex);
  if (core->phase == Phase::closed) refuse(Phase::closed);
  if (failure_reported) return;  // nothing runs on a failed device
  if (by_deadline) {
    if (cancelled) return;
    timed_out = true;
  }
  cancelled = true;
  if (device_failure.empty()) core->backend->cancel();
}

void Fleet::cancel() { Impl::present(impl_.get()).request_cancel(false); }

bool Fleet::take_cancel() {
  Impl& impl = Impl::open(impl_.get());
  std::lock_guard lock(impl.mutex);
  if (impl.active || !impl.cancelled) return false;
  if (impl.device_failure.empty()) impl.core->backend->clear_cancel();
  impl.cancelled = false;
  return true;
}

std::optional<Phase> Fleet::Impl::try_close(bool for_good) {
  std::unique_lock lock(mutex);
  if (core->phase == Phase::closed) return std::nullopt;
  closing = true;
  for (;;) {
    if (active) {
      cancelled = true;
      if (device_failure.empty()) core->backend->cancel();
      changed.wait(lock, [this] { return !active; });
    }
    const Phase found = take_phase(Phase::closed);
    if (found == Phase::idle) break;
    if (found == Phase::closed) return std::nullopt;
    if (found == Phase::busy && !for_good) {
      closing = false;
      return found;
    }
    lock.unlock();  // a run that is about to begin sees `closing`
    std::this_thread::yield();
    lock.lock();
  }
  started = false;
  std::thread ended = std::move(thread);
  std::unique_ptr<Backend> backend = std::move(core->backend);
  transaction.reset();
  stops = {};
  changed.notify_all();
  lock.unlock();
  if (ended.joinable()) ended.join();
  return std::nullopt;
}

void Fleet::Impl::close_for_good() noexcept {
  // The run would go on without its fleet, and this thread, which is the run's, cannot wait for its end.
  if (in_handler()) {
    std::fputs("myriarm: a handler destroyed the fleet that it was called from; let it return first\n", stderr);
    std::abort();
  }
  try_close(true);
}

bool Fleet::inherited() const noexcept { return impl_ && impl_->core->inherited(); }

void Fleet::close() {
  if (inherited()) return;
  Impl& impl = Impl::present(impl_.get());
  if (impl.in_handler()) {
    throw StateError("a handler cannot close the fleet that it was called from; let it return first");
  }
  if (const std::optional<Phase> found = impl.try_close(false)) impl.refuse(*found);
}

void Fleet::Impl::end(std::unique_ptr<Impl>& impl) noexcept {
  if (!impl) return;
  if (impl->core->inherited()) {
    (void)impl.release();  // its threads are not here to be joined, and its locks may be held
    return;
  }
  impl->close_for_good();
  impl.reset();
}

Fleet::~Fleet() { Impl::end(impl_); }
Fleet::Fleet(Fleet&& other) noexcept : impl_(std::move(other.impl_)) {
  if (impl_) impl_->owner = this;
}
Fleet& Fleet::operator=(Fleet&& other) noexcept {
  if (this == &other) return *this;
  Impl::end(impl_);
  impl_ = std::move(other.impl_);
  if (impl_) impl_->owner = this;
  return *this;
}

}  // namespace myriarm
