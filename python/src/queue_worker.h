// SPDX-License-Identifier: Apache-2.0
// A queue and the thread that works it off. All Python code, the iterator of inputs among it, runs in the thread that asks
// for results, so that Ctrl-C and exceptions need no detour. Between the two are lists of inputs and of results, which are
// bounded: those of Queue.run() are in queue.cpp, those of Queue.digests() in digests.cpp.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "handle.h"
#include "myriarm/queue.h"
#include "myriarm/queue_rate.h"

namespace myriarm::python {

class QueueWorker {
 public:
  /// Between two looks of Python at its signals.
  static constexpr std::chrono::milliseconds kPatience{50};

  QueueWorker(const ElfImage& image, const FleetOptions& fleet, LinuxOptions process,
              std::shared_ptr<Handlers> handlers);
  ~QueueWorker();
  QueueWorker(const QueueWorker&) = delete;

  Queue& queue() { return queue_; }
  Fleet& fleet() { return queue_.fleet(); }
  Handlers& handlers() { return *handlers_; }

  /// Ends a run that is under way, calls `clear`, which empties the lists, and has the thread do `work`. Throws StateError
  /// in a handler, and in a process that has inherited the queue.
  void start(bool ordered, bool group, uint64_t held_bytes, uint64_t instructions, const std::function<void()>& clear,
             std::function<QueueProgress(const QueueOptions&)> work);
  /// Throws StateError in a process that has inherited the queue by fork(): it has no thread there, and the lock may be
  /// held for ever.
  void refuse_if_inherited() { (void)queue_.fleet().lanes(); }
  void no_more_inputs();
  void cancel() { queue_.cancel(); }
  /// Ends a run that nobody wants the results of.
  void abandon();
  /// After the end: raises what has ended the run, or returns False.
  nb::object raise_or_false();
  /// `inputs`: how many there are in all, or None.
  nb::object progress(std::optional<uint64_t> inputs);

  // What follows is guarded by `mutex`; `changed` is told of each change, also of the lists.
  std::mutex mutex;
  std::unique_ptr<std::condition_variable> changed = std::make_unique<std::condition_variable>();
  bool has_ended() const { return ended_; }
  bool is_abandoned() const { return abandoned_; }
  /// No further input comes.
  bool has_all_inputs() const { return ended_ || supply_ended_ || abandoned_; }
  /// The source of the run is grouped(): it gets what Python lists before it waits for results at once, since it gives what it
  /// has when there is no more.
  bool groups() const { return groups_; }

 private:
  LinuxOptions with_tracer(LinuxOptions options);
  void refuse_in_handler() const;
  void run(const QueueOptions& options, const std::function<QueueProgress(const QueueOptions&)>& work);
  void end();

  const std::shared_ptr<Handlers> handlers_;
  bool made_ = false;  // queue_ exists; while it is made it may trace the common part of all lanes
  Queue queue_;
  std::thread thread_;
  QueueProgress progress_;
  QueueRate rate_;
  std::exception_ptr error_;
  bool ended_ = true, supply_ended_ = false, abandoned_ = false, groups_ = false;
};

}  // namespace myriarm::python
