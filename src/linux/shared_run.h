// SPDX-License-Identifier: Apache-2.0
// One run of a SharedQueue, which has a thread for each device, and there runs the device's own queue. Source and sink are
// called by the thread of the run alone; between it and the devices is a ledger. What travels, results or digests, is a
// Form; shared_queue.cpp has both.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "linux/input_lengths.h"
#include "linux/source_end.h"
#include "myriarm/shared_queue.h"

namespace myriarm::linux_process {

constexpr uint64_t kBytesAhead = uint64_t{64} << 20;
/// After which a source that had nothing is asked again.
constexpr std::chrono::milliseconds kPatience{20};
constexpr std::chrono::milliseconds kBetweenProgress{250};

inline std::string reason_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& exception) {
    return exception.what();
  } catch (...) {
    return "it has thrown something that is no exception of the library";
  }
}

inline void add_calls(std::map<std::string, UnimplementedCall>& to, const InputQueue& queue) {
  try {
    for (const auto& [name, call] : queue.unimplemented()) {
      const auto [entry, is_new] = to.emplace(name, call);
      if (!is_new) entry->second.count += call.count;
    }
  } catch (const Error&) {
    // A device that has failed cannot tell any more.
  }
}

/// The devices of a SharedQueue, which stay from run to run.
struct SharedDevices {
  struct Place {
    QueueDevice device;
    std::unique_ptr<InputQueue> queue = {};  // null: not made yet, or it has failed
  };

  std::vector<Place> places;
  std::vector<DeviceFailure> failures;
  std::function<void(const DeviceFailure&)> on_failure;
  std::map<std::string, UnimplementedCall> lost_calls;  // of queues that are no more

  std::mutex mutex;
  std::condition_variable for_devices, for_run;
  bool changed = false;  // there is something new for the thread of run()
  bool cancelled = false;

  /// To be called with the mutex held.
  void wake_run() {
    changed = true;
    for_run.notify_one();
  }

  /// Takes the queue of a device away from it, to be destroyed without the mutex: a GPU takes its time for that.
  std::unique_ptr<InputQueue> take_away(Place& place) {
    if (place.queue) add_calls(lost_calls, *place.queue);
    return std::move(place.queue);
  }
};

using Lock = std::unique_lock<std::mutex>;

/// One call of run() or digest(). A Form says what the queues of the devices get and give. All of it is called with the
/// mutex held, except work():
///   Ledger ledger;                                   as InputLedger
///   bool pass_on(Lock& lock, bool& any)              passes results on; false: the sink wants no more
///   Supply ask(Lock& lock, bool idle)                asks the source, and adds what it has given to the ledger
///   uint64_t share(const QueueDevice& device, uint64_t done)  how many inputs of those that wait a device may get
///   QueueProgress work(Run& run, size_t place, InputQueue& queue, const QueueOptions& options)
///                                                    runs the queue of a device, with Run::give() and Run::take()
template <class Form>
class SharedRun {
 public:
  SharedRun(SharedDevices& devices, Form& form, const QueueOptions& options)
      : impl_(devices), form_(form), options_(options), ledger_(form.ledger), workers_(devices.places.size()) {}

  QueueProgress go() {
    impl_.failures.clear();
    std::exception_ptr error;
    try {
      for (size_t i = 0; i < workers_.size(); i++) workers_[i].thread = std::thread([this, i] { work(i); });
      serve();
    } catch (...) {
      error = std::current_exception();
    }
    end_devices();
    if (error) std::rethrow_exception(error);
    tell_failures();
    if (!stopped_by_sink_) stopped_by_sink_ = !pass_results_on();
    stopped_ |= stopped_by_sink_;
    if (fatal_) std::rethrow_exception(fatal_);
    if (mistake_is_due() && !stopped_) std::rethrow_exception(mistakes_.begin()->second);
    const bool unfinished = more_ || !ledger_.all_have_results();
    if (unfinished && !stopped_) throw DeviceError(all_failed());
    if (!stopped_) source_end_.rethrow();
    QueueProgress progress = progress_now();
    progress.longest_number = lengths_.longest_number();
    progress.longest_instructions = lengths_.longest();
    progress.median_instructions = lengths_.median();
    progress.stopped_early = stopped_ && (stopped_by_sink_ || unfinished);
    return progress;
  }

  // For Form::work(), called by the threads of the devices.

  /// Gives a device inputs: `take_from_ledger` does it if there are any.
  template <class Take>
  Supply give(size_t place, bool idle, const Take& take_from_ledger) {
    Lock lock(impl_.mutex);
    while (true) {
      if (over_ || (!more_ && ledger_.all_have_results())) return Supply::ended;
      if (take_from_ledger(share(place))) break;
      if (!idle) return Supply::later;
      impl_.for_devices.wait(lock);
    }
    if (more_ && ledger_.waiting() <= share(place) / 2) impl_.wake_run();
    return Supply::input;
  }

  /// Takes results of a device: `put_in_ledger` does it, and calls count() for each. False: it wants no more.
  template <class Put>
  bool take(const Put& put_in_ledger) {
    Lock lock(impl_.mutex);
    if (over_ || !put_in_ledger()) return false;
    impl_.wake_run();
    if (!more_ && ledger_.all_have_results()) impl_.for_devices.notify_all();
    return true;
  }
  void count(size_t place, uint64_t number, uint64_t instructions, bool failed) {
    done_++;
    failed_ += failed;
    lengths_.add(number, instructions);
    workers_[place].done++;
    workers_[place].retired_for_results += instructions;
  }

 private:
  /// A device and its thread.
  struct Worker {
    std::thread thread;
    bool takes_part = true;
    bool is_running = false;           // its queue's run() was called and has not returned
    bool is_cancelled = false;         // its queue's cancel() was called
    QueueProgress progress;            // of its queue
    uint64_t retired_for_results = 0;  // instructions; all that is known if it has failed
    uint64_t done = 0;                 // inputs
  };

  // The thread of run().

  /// Passes results on and takes inputs from the source until all inputs have their results, or nothing can go on.
  void serve() {
    auto next_progress = std::chrono::steady_clock::now();
    while (true) {
      tell_failures();
      if (!pass_results_on()) {
        stopped_ = stopped_by_sink_ = true;
        return;
      }
      if (options_.progress && std::chrono::steady_clock::now() >= next_progress) {
        options_.progress(progress_now());
        next_progress = std::chrono::steady_clock::now() + kBetweenProgress;
      }
      const bool later = !take_inputs();
      Lock lock(impl_.mutex);
      if (impl_.cancelled) stopped_ = true;
      if (stopped_ || fatal_ || has_ended() || !any_takes_part() || mistake_is_due()) return;
      const auto changed = [&] { return std::exchange(impl_.changed, false); };
      if (later) impl_.for_run.wait_for(lock, kPatience, changed);
      else if (options_.progress) impl_.for_run.wait_until(lock, next_progress, changed);
      else impl_.for_run.wait(lock, changed);
    }
  }

  bool pass_results_on() {
    Lock lock(impl_.mutex);
    bool any = false;
    if (!form_.pass_on(lock, any)) return false;
    if (any) impl_.for_devices.notify_all();  // there may be room for more
    return true;
  }

  /// Takes inputs until each lane could have another one, or there are results. False: the source has none now.
  bool take_inputs() {
    Lock lock(impl_.mutex);
    uint64_t most = 0;
    for (size_t i = 0; i < workers_.size(); i++) {
      if (workers_[i].takes_part) most += share(i);
    }
    while (more_ && mistakes_.empty() && !impl_.cancelled && ledger_.waiting() < most &&
           ledger_.bytes_waiting() < kBytesAhead) {
      const Supply supply = source_end_.ask([&] { return form_.ask(lock, ledger_.is_empty()); });
      if (!lock.owns_lock()) lock.lock();  // the source has thrown
      if (supply == Supply::later) return false;
      if (supply == Supply::ended) {
        more_ = false;
        impl_.for_devices.notify_all();
        break;
      }
      // A batch may have inputs for several.
      if (ledger_.waiting() > 1) impl_.for_devices.notify_all();
      else impl_.for_devices.notify_one();
      if (impl_.changed) break;  // the source may wait for the next input, and results should not
    }
    return true;
  }

  uint64_t share(size_t place) const { return form_.share(impl_.places[place].device, workers_[place].done); }
  bool has_ended() const { return !more_ && ledger_.is_empty(); }
  bool any_takes_part() const {
    return std::any_of(workers_.begin(), workers_.end(), [](const Worker& worker) { return worker.takes_part; });
  }
  /// Whether all inputs before one that cannot run have their results.
  bool mistake_is_due() const { return !mistakes_.empty() && !ledger_.any_outstanding_below(mistakes_.begin()->first); }

  void tell_failures() {
    std::vector<DeviceFailure> news;
    {
      Lock lock(impl_.mutex);
      news.swap(new_failures_);
    }
    for (DeviceFailure& failure : news) {
      impl_.failures.push_back(failure);
      if (impl_.on_failure) impl_.on_failure(failure);
    }
  }

  void end_devices() {
    {
      Lock lock(impl_.mutex);
      over_ = true;
      for (size_t i = 0; i < workers_.size(); i++) {
        if (!workers_[i].is_running || !ledger_.first_with(i)) continue;
        workers_[i].is_cancelled = true;
        impl_.places[i].queue->cancel();
      }
      impl_.for_devices.notify_all();
    }
    for (size_t i = 0; i < workers_.size(); i++) {
      if (workers_[i].thread.joinable()) workers_[i].thread.join();
      // The call may have come too late for this run; it must not end the next.
      if (workers_[i].is_cancelled) (void)impl_.take_away(impl_.places[i]);
    }
    Lock lock(impl_.mutex);
    impl_.cancelled = false;
  }

  std::string all_failed() const {
    std::string text = "no device is left to work inputs off: ";
    for (const DeviceFailure& failure : impl_.failures) {
      text += (&failure == impl_.failures.data() ? "" : ", ") + failure.name + " failed (" + failure.reason + ")";
    }
    return text + "; the results so far are kept, so mend a device or name another, and go on with them";
  }

  QueueProgress progress_now() {
    Lock lock(impl_.mutex);
    QueueProgress progress;
    progress.done = done_;
    progress.failed = failed_;
    progress.running = ledger_.running();
    for (const Worker& worker : workers_) {
      progress.instructions += std::max(worker.progress.instructions, worker.retired_for_results);
      progress.lane_instructions += worker.progress.lane_instructions;
    }
    progress.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
    return progress;
  }

  // The threads of the devices.

  void work(size_t place) {
    std::exception_ptr error;
    try {
      std::unique_ptr<InputQueue>& queue = impl_.places[place].queue;
      if (!queue) queue = impl_.places[place].device.make();
      run_queue(place, *queue);
    } catch (...) {
      error = std::current_exception();
    }
    if (error) take_failure(place, error);
    Lock lock(impl_.mutex);
    workers_[place].takes_part = false;
    impl_.wake_run();
  }

  void run_queue(size_t place, InputQueue& queue) {
    Worker& worker = workers_[place];
    QueueOptions options;
    options.ordered = false;  // the ledger puts them in order
    options.instructions = options_.instructions;
    if (options_.progress) {
      options.progress = [this, &worker](const QueueProgress& now) {
        Lock lock(impl_.mutex);
        worker.progress = now;
      };
    }
    {
      Lock lock(impl_.mutex);
      if (over_) return;
      worker.is_running = true;
    }
    std::exception_ptr error;
    QueueProgress end;
    try {
      end = form_.work(*this, place, queue, options);
    } catch (...) {
      error = std::current_exception();
    }
    Lock lock(impl_.mutex);
    worker.is_running = false;
    if (error) std::rethrow_exception(error);
    worker.progress = end;
    if (over_ || (!more_ && ledger_.all_have_results())) return;
    throw DeviceError("it has stopped before all inputs had their results");
  }

  /// The queue of a device has thrown.
  void take_failure(size_t place, const std::exception_ptr& error) {
    bool mistake = false;
    try {
      std::rethrow_exception(error);
    } catch (const ArgumentError&) {
      mistake = true;
    } catch (...) {
    }
    std::unique_ptr<InputQueue> lost;
    Lock lock(impl_.mutex);
    const std::optional<uint64_t> first = ledger_.first_with(place);
    ledger_.give_back(place);
    if (mistake && first) {
      ledger_.end_before(*first);
      mistakes_.emplace(*first, error);
    } else {
      if (mistake) fatal_ = error;
      else if (!over_) new_failures_.push_back({impl_.places[place].device.name, reason_of(error)});
      lost = impl_.take_away(impl_.places[place]);
    }
    impl_.for_devices.notify_all();
  }

  SharedDevices& impl_;
  Form& form_;
  const QueueOptions& options_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  bool stopped_ = false, stopped_by_sink_ = false;  // used by the thread of run() alone
  SourceEnd source_end_;                            // the same

  // What follows is guarded by SharedDevices::mutex.
  typename Form::Ledger& ledger_;
  std::vector<Worker> workers_;
  bool more_ = true;   // the source may have more
  bool over_ = false;  // devices are to end
  uint64_t done_ = 0, failed_ = 0;
  InputLengths lengths_;                             // of inputs that have their results
  std::vector<DeviceFailure> new_failures_;          // that were not told yet
  std::exception_ptr fatal_;                         // an ArgumentError that does not belong to an input
  std::map<uint64_t, std::exception_ptr> mistakes_;  // by the ticket of an input, why it cannot run
};

}  // namespace myriarm::linux_process
