// SPDX-License-Identifier: Apache-2.0
// One run, in the thread of its caller: it calls the backend, and between two calls does what the mode and the caller's
// handlers ask for. The modes differ only in the RunOrder and in how often the backend is called.
#include <algorithm>

#include "fleet/fleet_impl.h"

namespace myriarm {
namespace {

bool is_batched(Mode mode) { return mode == Mode::continuous || mode == Mode::self_dispatch; }

const char* name_of(Mode mode) {
  switch (mode) {
    case Mode::run: return "run";
    case Mode::continuous: return "continuous";
    case Mode::mega: return "mega";
    case Mode::self_dispatch: return "self_dispatch";
  }
  throw ArgumentError("there is no mode " + std::to_string(static_cast<unsigned>(mode)) +
                      "; use run, continuous, mega or self_dispatch");
}

bool goes_on(StopCode code) { return code == StopCode::budget || code == StopCode::cancelled; }

}  // namespace

Engine chosen_engine(Engine engine, const Device& device) {
  if (engine != Engine::automatic) return engine;
  return device.kind == DeviceKind::cpu && cpu_has_translation() ? Engine::translate : Engine::interpreter;
}

void check_engine(Engine engine) {
  if (engine > Engine::automatic) {
    throw ArgumentError("there is no engine " + std::to_string(static_cast<unsigned>(engine)) +
                        "; use interpreter, stepper, translate or auto");
  }
}

void check_options(const RunOptions& options) {
  const std::string mode = name_of(options.mode);
  if (options.engine) check_engine(*options.engine);
  auto refuse_zero = [&](uint64_t value, const char* what) {
    if (value == 0) throw ArgumentError(std::string(what) + " of 0 would run nothing; ask for at least 1");
  };
  refuse_zero(options.instructions, "instructions");
  if (options.mode == Mode::mega && options.instructions == kEndless) {
    throw ArgumentError("mode mega needs a number of instructions; give one, or use mode run");
  }
  if (is_batched(options.mode)) {
    refuse_zero(options.instructions_per_batch, "instructions_per_batch");
    refuse_zero(options.max_batches, "max_batches");
  } else if (options.max_batches != kEndless) {
    throw ArgumentError("max_batches has no effect in mode " + mode +
                        "; leave it out, or use mode continuous or self_dispatch");
  }
  if (options.on_batch && options.mode != Mode::continuous) {
    throw ArgumentError("on_batch cannot be called in mode " + mode + ", where the host does nothing between " +
                        "batches; use mode continuous");
  }
  if (!(options.timeout >= 0)) {
    throw ArgumentError("a timeout of " + std::to_string(options.timeout) +
                        " seconds is not possible; give a positive number, or 0 for none");
  }
}

class Fleet::Impl::Run {
 public:
  Run(Impl& impl, const RunOptions& options) : impl_(impl), backend_(*impl.core->backend), options_(options) {
    if (options.lanes) lanes_ = impl.distinct(*options.lanes, "run");
  }

  RunResult go() {
    try {
      keep_transaction();
      std::exception_ptr thrown;
      try {
        choose_lanes();
        if (!options_.lanes || !lanes_.empty()) dispatch();
      } catch (...) {
        if (!device_survives_error_ || impl_.core->inherited()) throw;
        thrown = std::current_exception();
      }
      stop_remaining_lanes();
      if (thrown) std::rethrow_exception(thrown);
      return summarise();
    } catch (const DeviceError& error) {
      if (!device_survives_error_) {
        std::lock_guard lock(impl_.mutex);
        impl_.device_failure = error.what();
      }
      throw;
    }
  }

 private:
  /// Lives while a handler of the caller runs. If the handler throws, that is no failure of the device.
  class HandlerCall {
   public:
    explicit HandlerCall(Run& run) : run_(run) {
      run_.device_survives_error_ = true;
      run_.impl_.handler_thread = std::this_thread::get_id();
    }
    ~HandlerCall() { run_.impl_.handler_thread = std::thread::id(); }
    /// Throws in the child of a fork() that the handler called: the run is the parent's.
    void ended_well() {
      if (run_.impl_.core->inherited()) refuse_inherited();
      run_.device_survives_error_ = false;
    }

   private:
    Run& run_;
  };

  void keep_transaction() {
    if (impl_.options.memory_policy != MemoryPolicy::transactional || impl_.transaction) return;
    device_survives_error_ = true;  // a device that lacks memory for a snapshot has not failed
    impl_.transaction = impl_.core->save({});
    device_survives_error_ = false;
  }

  template <class Visit>
  void for_lanes(Visit visit) const {
    if (options_.lanes) {
      for (u32 lane : lanes_) visit(lane);
    } else {
      for (u32 lane = 0; lane < impl_.options.lanes; lane++) visit(lane);
    }
  }

  /// Finds the lanes that run from the start, and those at an SVC that this run does not serve.
  void choose_lanes() {
    const std::span<const StopRecord> stops = backend_.stops();
    ran_.resize(stops.size());
    keeps_budget_stop_.resize(stops.size());
    u64 left = 0;
    for_lanes([&](u32 lane) {
      const StopCode code = stops[lane].code;
      const bool calls = code == StopCode::syscall && impl_.has_processes && !options_.on_syscall;
      ran_[lane] = code == StopCode::none || calls || (options_.go_on && goes_on(code));
      keeps_budget_stop_[lane] = !options_.go_on && code == StopCode::budget;
      left += ran_[lane];
    });
    note_unserved(stops);
    std::lock_guard lock(impl_.mutex);
    impl_.left = left;
  }

  void note_unserved(std::span<const StopRecord> stops) {
    impl_.stops_touched = false;
    if (!options_.on_syscall) return;
    unserved_.resize(stops.size());
    for_lanes([&](u32 lane) { unserved_[lane] = stops[lane].code == StopCode::syscall; });
  }

  void dispatch() {
    RunOrder order;
    order.go_on = options_.go_on;
    order.budget = options_.instructions;
    order.engine = chosen_engine(options_.engine.value_or(impl_.options.engine), impl_.device);
    order.lanes = lanes_;
    order.stops_at_calls = static_cast<bool>(options_.on_syscall);
    order.serves_stopped = !order.stops_at_calls;
    order.returns_for_calls = order.stops_at_calls;
    const bool batched = is_batched(options_.mode);
    if (batched) order.batch = options_.instructions_per_batch;
    for (bool more = true; more; order.first = false) {
      if (options_.mode == Mode::self_dispatch) order.batches = options_.max_batches - result_.batches;
      const bool cancelled = impl_.cancelled;  // this call then only gives the lanes the stop `cancelled`
      const RunReport report = call(order);
      order.serves_stopped = !order.stops_at_calls;
      order.lanes = lanes_;
      if (next_may_be_empty_ && !is_anything(report)) break;  // nothing ran: the lanes have no budget left
      result_.instructions += report.retired;
      if (!cancelled) result_.batches += report.batches;
      more = report.left != 0 || report.paused != 0;
      if (options_.on_syscall && report.stops[static_cast<unsigned>(StopCode::syscall)] != 0) {
        more |= serve();
        if (!to_serve_.empty()) let_library_serve(order);
      }
      const bool wanted = !options_.on_batch || report.batches == 0 || cancelled || tell(report);
      next_may_be_empty_ = false;
      if (impl_.stops_touched) more = take_in_changes(more);
      if (cancelled || !wanted || (batched && result_.batches >= options_.max_batches)) more = false;
    }
  }

  RunReport call(const RunOrder& order) {
    impl_.core->drop_waiting();
    {
      std::lock_guard lock(impl_.mutex);
      impl_.engine_begins(order.first);
    }
    impl_.stops_current = false;
    maybe_unstopped_ = false;
    const RunReport report = backend_.run(order);
    maybe_unstopped_ = report.paused != 0;
    std::lock_guard lock(impl_.mutex);
    impl_.engine_ends(report.retired, report.left + report.paused);
    return report;
  }

  /// Applies what a handler changed. A lane without a stop runs. A lane with the stop `budget` runs while its budget
  /// lasts. A system-call stop that the handler set is not served. Returns whether the run goes on; `more`: it does
  /// anyway.
  bool take_in_changes(bool more) {
    const std::span<const StopRecord> stops = backend_.stops();
    bool resumed = false, between = false;
    for_lanes([&](u32 lane) {
      const bool none = stops[lane].code == StopCode::none, budget = stops[lane].code == StopCode::budget;
      resumed |= none;
      between |= budget;
      if (none || (budget && !keeps_budget_stop_[lane])) ran_[lane] = true;
    });
    note_unserved(stops);
    maybe_unstopped_ |= resumed;
    next_may_be_empty_ = between && !more && !resumed;
    return more || resumed || between;
  }
  static bool is_anything(const RunReport& report) {
    return report.retired != 0 || report.left != 0 ||
           std::any_of(std::begin(report.stops), std::end(report.stops), [](u64 lanes) { return lanes != 0; });
  }

  bool tell(const RunReport& report) {
    BatchReport batch;
    batch.batch = result_.batches - 1;
    batch.instructions = report.retired;
    batch.lanes_left = report.left;
    std::copy(std::begin(report.stops), std::end(report.stops), batch.stops.begin());
    batch.stops[0] = 0;
    batch.signal = signal_of(batch.stops);
    HandlerCall handler(*this);
    const bool wanted = options_.on_batch(*impl_.owner.load(), batch);
    handler.ended_well();
    return wanted;
  }

  /// Calls on_syscall for the lanes that have stopped at an SVC. Returns whether any of them goes on.
  bool serve() {
    const std::span<const StopRecord> stops = backend_.stops();
    std::vector<u32> lanes, immediates;
    for_lanes([&](u32 lane) {
      if (stops[lane].code != StopCode::syscall || unserved_[lane]) return;
      lanes.push_back(lane);
      immediates.push_back(stops[lane].detail);
    });
    if (lanes.empty()) return false;
    constexpr unsigned kArguments = 6;
    std::vector<u64> numbers(lanes.size()), results(lanes.size()), arguments(kArguments * lanes.size());
    backend_.gather(x(8), lanes, numbers);
    for (unsigned a = kArguments; a-- > 0;) {  // x0 comes last and stays in `results`
      backend_.gather(x(a), lanes, results);
      for (size_t i = 0; i < lanes.size(); i++) arguments[kArguments * i + a] = results[i];
    }
    std::vector<SyscallAction> actions(lanes.size(),
                                       impl_.has_processes ? SyscallAction::serve : SyscallAction::resume);
    HandlerCall handler(*this);
    options_.on_syscall(*impl_.owner.load(), {lanes, numbers, immediates, arguments, results, actions});
    for (SyscallAction action : actions) {
      if (action > SyscallAction::serve) {
        throw ArgumentError("on_syscall: there is no action " + std::to_string(static_cast<unsigned>(action)) +
                            "; use resume, stop, exit or serve");
      }
      if (action == SyscallAction::serve && !impl_.has_processes) {
        throw ArgumentError(
            "on_syscall: the lanes of this fleet are no processes whose calls the library serves; use "
            "resume, stop or exit");
      }
    }
    handler.ended_well();
    return answer(lanes, results, actions);
  }

  bool answer(std::span<const u32> lanes, std::span<const u64> results, std::span<const SyscallAction> actions) {
    std::vector<u32> answered, ended;  // lanes that get a result; lanes that get another stop
    std::vector<u64> values;
    std::vector<StopRecord> records;
    bool resumed = false;
    for (size_t i = 0; i < lanes.size(); i++) {
      if (actions[i] == SyscallAction::serve) {
        to_serve_.push_back(lanes[i]);
        resumed = true;
        continue;
      }
      if (actions[i] != SyscallAction::exit) {
        answered.push_back(lanes[i]);
        values.push_back(results[i]);
      }
      if (actions[i] == SyscallAction::stop) {
        unserved_[lanes[i]] = true;
        continue;
      }
      ended.push_back(lanes[i]);
      resumed |= actions[i] == SyscallAction::resume;
      if (actions[i] == SyscallAction::resume) records.push_back({});
      else records.push_back({StopCode::exited, FaultCode::none, 0, static_cast<u32>(results[i]), 0});
    }
    if (!answered.empty()) backend_.scatter(x(0), answered, values);
    if (!ended.empty()) {
      backend_.scatter_stops(ended, records);
      impl_.stops_current = false;
    }
    maybe_unstopped_ |= resumed;
    return resumed;
  }

  /// Makes the next call serve the lanes of to_serve_, and no others that are at an SVC.
  void let_library_serve(RunOrder& order) {
    order.serves_stopped = true;
    to_serve_.clear();
    served_with_.clear();
    for_lanes([&](u32 lane) {
      if (!unserved_[lane]) served_with_.push_back(lane);
    });
    order.lanes = served_with_;
  }

  /// Gives lanes that a handler resumed after the last batch the stop `budget`, so that the next run goes on with them.
  void stop_remaining_lanes() {
    if (impl_.stops_touched) take_in_changes(false);
    if (!maybe_unstopped_) return;
    std::vector<u32> lanes;
    const std::span<const StopRecord> stops = backend_.stops();
    for_lanes([&](u32 lane) {
      if (stops[lane].code == StopCode::none) lanes.push_back(lane);
    });
    if (lanes.empty()) return;
    const StopRecord budget{StopCode::budget, FaultCode::none, 0, 0, 0};
    impl_.put_stops(lanes, std::vector<StopRecord>(lanes.size(), budget));
  }

  RunResult summarise() {
    const std::span<const StopRecord> stops = backend_.stops();
    std::vector<u32> at_budget;
    for_lanes([&](u32 lane) {
      const StopCode code = stops[lane].code;
      result_.lanes_run += ran_[lane];
      if (code == StopCode::none || code == StopCode::cancelled) result_.lanes_left++;
      if (code == StopCode::budget) at_budget.push_back(lane);
      if (code == StopCode::none) return;
      result_.stopped++;
      if (ran_[lane]) result_.stops[static_cast<unsigned>(code)]++;
    });
    // The next run goes on with a lane at its budget, unless the lane has reached its own limit.
    if (!at_budget.empty()) {
      std::vector<u64> counts(at_budget.size()), limits(at_budget.size());
      backend_.gather(Field::instructions, at_budget, counts);
      backend_.gather(Field::limit, at_budget, limits);
      for (size_t i = 0; i < at_budget.size(); i++) result_.lanes_left += counts[i] < limits[i];
    }
    {
      std::lock_guard lock(impl_.mutex);
      result_.timed_out = impl_.timed_out && result_.stops[static_cast<unsigned>(StopReason::cancelled)] != 0;
    }
    result_.signal = result_.timed_out ? Signal::checkpoint : signal_of(result_.stops);
    result_.seconds = std::chrono::duration<double>(Clock::now() - impl_.began).count();
    return result_;
  }

  Impl& impl_;
  Backend& backend_;
  const RunOptions& options_;
  std::vector<u32> lanes_;  // RunOptions::lanes, in rising order
  RunResult result_;
  std::vector<bool> ran_;                // lanes that this run ran
  std::vector<bool> keeps_budget_stop_;  // lanes that had the stop `budget` before a run with go_on = false
  std::vector<bool> unserved_;           // lanes at an SVC that this run does not serve
  std::vector<u32> to_serve_;            // lanes whose calls the handler has left to the library
  std::vector<u32> served_with_;         // the lanes of the call that serves them
  bool device_survives_error_ = false;   // an exception thrown now does not mean that the device has failed
  bool maybe_unstopped_ = false;         // some lanes may have no stop
  bool next_may_be_empty_ = false;       // the next batch may have no lane to run
};

RunResult Fleet::Impl::execute(const RunOptions& wanted) { return Run(*this, wanted).go(); }

}  // namespace myriarm
