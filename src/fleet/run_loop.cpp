// SPDX-License-Identifier: Apache-2.0
// One run, in whatever thread it is: calls of the backend, and between them what the mode and the caller's handlers
// want. Everything that differs between the modes is in RunOrder and in how often the backend is called.
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

bool goes_on(StopReason reason) { return reason == StopReason::budget || reason == StopReason::cancelled; }

}  // namespace

void check_options(const RunOptions& options) {
  const std::string mode = name_of(options.mode);
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
    throw ArgumentError("max_batches means nothing in mode " + mode + "; use mode continuous or self_dispatch");
  }
  if (options.on_batch && options.mode != Mode::continuous) {
    throw ArgumentError("on_batch cannot be called in mode " + mode + ", where the host does nothing between " +
                        "batches; use mode continuous");
  }
  if (!(options.timeout >= 0)) {
    throw ArgumentError("a timeout of " + std::to_string(options.timeout) +
                        " seconds cannot be; give a positive number, or 0 for none");
  }
}

class Fleet::Impl::Run {
 public:
  Run(Impl& impl, const RunOptions& options) : impl_(impl), backend_(*impl.core->backend), options_(options) {}

  RunResult go() {
    try {
      keep_transaction();
      std::exception_ptr thrown;
      try {
        take_part();
        dispatch();
      } catch (...) {
        if (!outside_) throw;
        thrown = std::current_exception();
      }
      leave_no_lane_loose();
      if (thrown) std::rethrow_exception(thrown);
      return summarise();
    } catch (const DeviceError& error) {
      if (!outside_) {
        std::lock_guard lock(impl_.mutex);
        impl_.device_failure = error.what();
      }
      throw;
    }
  }

 private:
  /// For as long as a handler of the caller is at work.
  class Outside {
   public:
    explicit Outside(Run& run) : run_(run) {
      run_.outside_ = true;
      run_.impl_.handler_thread = std::this_thread::get_id();
    }
    ~Outside() { run_.impl_.handler_thread = std::thread::id(); }
    void ended_well() { run_.outside_ = false; }

   private:
    Run& run_;
  };

  void keep_transaction() {
    if (impl_.options.memory_policy != MemoryPolicy::transactional || impl_.transaction) return;
    outside_ = true;  // a device without room for it has not failed
    impl_.transaction = backend_.take_snapshot({});
    outside_ = false;
  }

  /// Which lanes run at first, and which wait at an SVC that is not this run's to serve.
  void take_part() {
    const std::vector<Stop>& stops = impl_.current_stops();
    ran_.resize(stops.size());
    held_.resize(stops.size());
    for (size_t lane = 0; lane < stops.size(); lane++) {
      ran_[lane] = stops[lane].reason == StopReason::none || (options_.go_on && goes_on(stops[lane].reason));
      held_[lane] = !options_.go_on && stops[lane].reason == StopReason::budget;
    }
    note_waiting(stops);
    std::lock_guard lock(impl_.mutex);
    impl_.left = static_cast<u64>(std::count(ran_.begin(), ran_.end(), true));
  }

  void note_waiting(const std::vector<Stop>& stops) {
    impl_.stops_touched = false;
    if (!options_.on_syscall) return;
    waiting_.resize(stops.size());
    for (size_t lane = 0; lane < stops.size(); lane++) waiting_[lane] = stops[lane].reason == StopReason::syscall;
  }

  void dispatch() {
    RunOrder order;
    order.go_on = options_.go_on;
    order.budget = options_.instructions;
    const bool batched = is_batched(options_.mode);
    if (batched) order.batch = options_.instructions_per_batch;
    for (bool more = true; more; order.first = false) {
      if (options_.mode == Mode::self_dispatch) order.batches = options_.max_batches - result_.batches;
      const bool cancelled = impl_.cancelled;  // then this call gives the lanes their stop, and that is all
      const RunReport report = call(order);
      if (maybe_none_ && !is_anything(report)) break;  // no batch: those lanes have no budget left
      result_.instructions += report.retired;
      if (!cancelled) result_.batches += report.batches;
      more = report.left != 0;
      if (options_.on_syscall && report.stops[static_cast<unsigned>(StopCode::syscall)] != 0) more |= serve();
      const bool wanted = !options_.on_batch || report.batches == 0 || cancelled || tell(report);
      maybe_none_ = false;
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
    loose_ = false;
    const RunReport report = backend_.run(order);
    std::lock_guard lock(impl_.mutex);
    impl_.engine_ends(report.retired, report.left);
    return report;
  }

  /// What a handler changed: lanes that it resumed run, so do those that it gave the state of a lane between two
  /// batches, as far as they have budget, and system calls that it put there are not served. Returns whether the run
  /// goes on, as it does anyway if `more`.
  bool take_in_changes(bool more) {
    const std::vector<Stop>& stops = impl_.current_stops();
    bool resumed = false, between = false;
    for (size_t lane = 0; lane < stops.size(); lane++) {
      const bool none = stops[lane].reason == StopReason::none, budget = stops[lane].reason == StopReason::budget;
      resumed |= none;
      between |= budget;
      if (none || (budget && !held_[lane])) ran_[lane] = true;
    }
    note_waiting(stops);
    loose_ |= resumed;
    maybe_none_ = between && !more && !resumed;
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
    Outside outside(*this);
    const bool wanted = options_.on_batch(*impl_.owner.load(), batch);
    outside.ended_well();
    return wanted;
  }

  /// Gives the lanes that have stopped at an SVC to the caller. Returns whether any of them goes on.
  bool serve() {
    const std::vector<Stop>& stops = impl_.current_stops();
    std::vector<u32> lanes, immediates;
    for (u32 lane = 0; lane < stops.size(); lane++) {
      if (stops[lane].reason != StopReason::syscall || waiting_[lane]) continue;
      lanes.push_back(lane);
      immediates.push_back(stops[lane].detail);
    }
    if (lanes.empty()) return false;
    constexpr unsigned kArguments = 6;
    std::vector<u64> numbers(lanes.size()), results(lanes.size()), arguments(kArguments * lanes.size());
    backend_.gather(x(8), lanes, numbers);
    for (unsigned a = kArguments; a-- > 0;) {  // x0 last: it stays in `results`
      backend_.gather(x(a), lanes, results);
      for (size_t i = 0; i < lanes.size(); i++) arguments[kArguments * i + a] = results[i];
    }
    std::vector<SyscallAction> actions(lanes.size(), SyscallAction::resume);
    Outside outside(*this);
    options_.on_syscall(*impl_.owner.load(), {lanes, numbers, immediates, arguments, results, actions});
    for (SyscallAction action : actions) {
      if (action > SyscallAction::exit) {
        throw ArgumentError("on_syscall: there is no action " + std::to_string(static_cast<unsigned>(action)) +
                            "; use resume, stop or exit");
      }
    }
    outside.ended_well();
    return answer(lanes, results, actions);
  }

  bool answer(std::span<const u32> lanes, std::span<const u64> results, std::span<const SyscallAction> actions) {
    std::vector<u32> answered, ended;  // lanes that get a result, and that get another stop
    std::vector<u64> values;
    std::vector<StopRecord> records;
    bool resumed = false;
    for (size_t i = 0; i < lanes.size(); i++) {
      if (actions[i] != SyscallAction::exit) {
        answered.push_back(lanes[i]);
        values.push_back(results[i]);
      }
      if (actions[i] == SyscallAction::stop) {
        waiting_[lanes[i]] = true;
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
    loose_ |= resumed;
    return resumed;
  }

  /// Lanes that a handler resumed and that do not run any more: they go on in the next run.
  void leave_no_lane_loose() {
    if (impl_.stops_touched) take_in_changes(false);
    if (!loose_) return;
    std::vector<u32> lanes;
    const std::vector<Stop>& stops = impl_.current_stops();
    for (u32 lane = 0; lane < stops.size(); lane++) {
      if (stops[lane].reason == StopReason::none) lanes.push_back(lane);
    }
    if (lanes.empty()) return;
    const StopRecord budget{StopCode::budget, FaultCode::none, 0, 0, 0};
    impl_.put_stops(lanes, std::vector<StopRecord>(lanes.size(), budget));
  }

  RunResult summarise() {
    const std::vector<Stop>& stops = impl_.current_stops();
    std::vector<u32> at_budget;
    for (u32 lane = 0; lane < stops.size(); lane++) {
      const StopReason reason = stops[lane].reason;
      if (reason == StopReason::none || reason == StopReason::cancelled) result_.lanes_left++;
      if (reason == StopReason::budget) at_budget.push_back(lane);
      if (reason == StopReason::none) continue;
      result_.stopped++;
      if (ran_[lane]) result_.stops[static_cast<unsigned>(reason)]++;
    }
    // A lane with this stop goes on unless its own limit is what it has reached.
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
  RunResult result_;
  std::vector<bool> ran_;      // lanes that this run ran
  std::vector<bool> held_;     // lanes that had StopReason::budget before a run that is not to go on with such
  std::vector<bool> waiting_;  // lanes at an SVC that is not to be served
  bool outside_ = false;       // what is thrown now is not the device's failure
  bool loose_ = false;         // there may be lanes without a stop
  bool maybe_none_ = false;    // the next batch may have no lane to run
};

RunResult Fleet::Impl::execute(const RunOptions& wanted) { return Run(*this, wanted).go(); }

}  // namespace myriarm
