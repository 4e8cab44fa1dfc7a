// SPDX-License-Identifier: Apache-2.0
// What a fleet holds, and which thread may use it when. One atomic, `phase`, says what the fleet is doing. Every public
// call sets it first, so a second thread that calls at the same time gets a StateError and never enters the backend.
// Argument checks that several calls share are declared here too; the calls are in the .cpp files, by subject.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "backends/backend.h"
#include "fleet/clock.h"
#include "fleet/image.h"
#include "support/fork.h"

namespace myriarm {

enum class Phase : int {
  idle,
  busy,      ///< a call is using the backend
  dropping,  ///< a destroyed snapshot is being released, in any thread; lasts a moment
  running,   ///< a run is using the backend, in its thread
  closed,
};

/// The part of a fleet that its snapshots refer to, weakly, since they may outlive the fleet.
struct FleetCore {
  std::atomic<Phase> phase = Phase::idle;
  std::unique_ptr<Backend> backend;        ///< empty once closed
  std::shared_ptr<ProcessHost> processes;  ///< null: the lanes are no processes; it keeps its part of each snapshot
  const uint64_t made_at_fork_count = fork_count();

  /// Whether a fork() has made this process from the one that made the fleet. Nothing of the fleet may be used then:
  /// its threads are not here, and its locks may be held by them.
  bool inherited() const { return made_at_fork_count != fork_count(); }

  /// Backend::take_snapshot() and restore(), with what the host keeps of processes.
  u64 save(std::span<const u32> lanes);
  void restore(u64 snapshot, std::span<const u32> from, std::span<const u32> to);
  /// Releases a snapshot: now if the fleet is idle, else when the call or run that uses it ends. Any thread may call.
  void drop(u64 snapshot) noexcept;
  /// Releases the snapshots that drop() could not release at once. The caller must have set the phase.
  void drop_waiting() noexcept;

 private:
  std::mutex mutex_;
  std::vector<u64> to_release_;
};

/// What a fleet keeps of each program.
struct ProgramFacts {
  u64 end;  ///< the number behind that of its last lane
  std::string name;
  std::optional<ProcessStart> process;
};

struct Fleet::Impl {
  using Clock = RunClock;

  std::shared_ptr<FleetCore> core = std::make_shared<FleetCore>();
  FleetOptions options;
  Device device;
  u64 window_begin = 0, window_pages = 0;
  bool has_processes = false;
  std::vector<ProgramFacts> programs;
  /// The Fleet object that handlers get. It changes when the fleet is moved, which is allowed during a run.
  std::atomic<Fleet*> owner = nullptr;
  std::vector<Stop> stops;
  bool stops_current = false;
  std::optional<u64> transaction;  ///< the snapshot that the first run after commit() or rollback() took

  // For runs whose handlers call the fleet.
  std::atomic<std::thread::id> handler_thread{};  ///< the thread that is in a handler now
  bool stops_touched = false;                     ///< the host has changed stops since a run last looked
  bool counts_touched = true;                     ///< `counts_sum` is not known
  bool counts_exported = false;                   ///< the host can change Field::instructions without a call

  // What other threads ask of a run and see of it. `mutex` guards it.
  mutable std::mutex mutex;
  std::condition_variable changed;
  bool active = false;     ///< a run is in progress
  bool started = false;    ///< start() began a run, and wait() has not returned its result yet
  bool closing = false;    ///< no further run may begin
  bool timed_out = false;  ///< the deadline came before any cancel()
  std::atomic<bool> cancelled = false;
  bool in_engine = false;   ///< Backend::run() is executing, so its progress is current
  u64 retired = 0;          ///< instructions of this run, from the calls of Backend::run() that have returned
  u64 counts_sum = 0;       ///< sum of the lanes' counts when Backend::run() last returned
  u64 progress_base = 0;    ///< sum of the lanes' counts when Backend::run() began, less `retired`
  std::optional<u64> left;  ///< lanes that still have to run, known while Backend::run() is not executing
  mutable u64 polled = 0;   ///< the highest instruction count that poll() has returned in this run
  mutable std::vector<u64> counts;
  mutable std::vector<StopCode> codes;
  Clock::time_point began{};      ///< when this run, or the last one, began
  std::optional<RunResult> last;  ///< result of the last run; empty if it threw
  std::optional<double> seconds;  ///< duration of the last run; empty until it has ended
  std::exception_ptr failure;     ///< what the last run threw, until wait() rethrows it
  std::string device_failure;     ///< why the device can no longer be used; empty while it can
  bool failure_reported = false;
  std::thread thread;

  /// Reserves the fleet for one call. Throws StateError if the fleet is in use or closed, DeviceError if its device has
  /// failed.
  class Use {
   public:
    explicit Use(Impl* impl);
    ~Use();
    Use(const Use&) = delete;
    Impl* operator->() const { return &impl_; }
    Backend& backend() const { return *impl_.core->backend; }

   private:
    Impl& impl_;
    bool acquired_ = false;
  };
  /// Returns `*impl`. Throws StateError if it is null, since the fleet was moved from, or inherited.
  static Impl& present(Impl* impl);
  /// Like present(), and throws StateError if the fleet is closed. For calls that any thread may make at any time.
  static Impl& open(Impl* impl);
  bool in_handler() const { return handler_thread.load() == std::this_thread::get_id(); }
  [[noreturn]] void refuse(Phase phase) const;
  /// Throws if the device has failed.
  void check_device() const;

  /// Sets the phase to `wanted` if it is idle. Returns the phase that it found.
  Phase take_phase(Phase wanted);

  /// The stop of each lane, fetched from the backend if the copy is out of date.
  const std::vector<Stop>& current_stops();
  static Stop stop_of(const StopRecord& record);
  void put_stops(std::span<const uint32_t> lanes, std::span<const StopRecord> records);
  /// To be called when the backend has replaced the state of lanes.
  void forget_stops() { stops_current = false, stops_touched = true, counts_touched = true; }

  void make(Fleet* fleet, std::span<const PlacedProgram> programs, const FleetOptions& wanted);

  // runner.cpp. begin_run() sets the phase to running, execute() performs the run, end_run() sets the phase to idle.
  void begin_run(const RunOptions& wanted, bool start);
  RunResult execute(const RunOptions& wanted);
  void end_run(std::optional<RunResult> result, const std::exception_ptr& error) noexcept;
  void request_cancel(bool by_deadline);
  /// Ends the run in progress and frees the backend. Returns the phase that prevents it, if a call of another thread
  /// uses the fleet; with `for_good` it waits for that call and returns nothing. No handler may call it.
  std::optional<Phase> try_close(bool for_good);
  /// try_close(true), for a fleet that goes away. Ends the process if a handler of the fleet calls it.
  void close_for_good() noexcept;
  /// Closes and frees what a Fleet owns; leaves an inherited one as it is. Null is allowed.
  static void end(std::unique_ptr<Impl>& impl) noexcept;
  /// Copies the progress that the backend publishes into `counts` and `codes`, and returns the sum of the counts. The
  /// caller holds `mutex`, as for the next three.
  u64 published() const;
  void engine_begins(bool first);
  void engine_ends(u64 more, u64 lanes_left);
  Poll look() const;
  class Watchdog;
  class Run;  ///< run_loop.cpp

  [[noreturn]] void report(const std::exception_ptr& error);

  // snapshot.cpp.
  const Snapshot::Impl& own(const Snapshot& snapshot) const;
  void end_transaction(bool restore, const char* what);

  // Checks of arguments; `what` is the name of the call.
  void check_lanes(std::span<const uint32_t> lanes, const char* what) const;
  /// Like check_lanes(), and refuses a lane that is named twice. Returns the lanes in rising order.
  std::vector<u32> distinct(std::span<const uint32_t> lanes, const char* what) const;
  void check_transfers(std::span<const Transfer> transfers, size_t buffer, size_t done, const char* what) const;
  /// Throws StateError if the lane has given its memory back.
  void check_memory(uint32_t lane, const char* what) const;
  void check_memory(std::span<const uint32_t> lanes, const char* what) const {
    for (uint32_t lane : lanes) check_memory(lane, what);
  }
  static void check_field(Field field);
  static void check_size(size_t have, size_t want, const char* what);
  /// First page within the window, and number of pages. Throws ArgumentError if the range is not whole pages inside it.
  std::pair<u64, u64> pages(uint64_t address, uint64_t size, const char* what) const;
  /// The transfers without what lies behind the window, where processes have their kernel pages: in `clipped`, if any
  /// reaches there.
  std::span<const Transfer> inside_window(std::span<const Transfer> transfers, std::vector<Transfer>& clipped) const;
  /// The permissions that the memory policy leaves of `permissions`.
  u32 allowed(uint32_t permissions) const;
  void scatter(Field field, std::span<const uint32_t> lanes, std::span<const uint64_t> values);
};

struct Snapshot::Impl {
  std::weak_ptr<FleetCore> core;
  std::optional<u64> number;  ///< the backend's number for it; empty for a snapshot of no lanes
  std::vector<u32> lanes;

  Impl() = default;
  Impl(const Impl&) = delete;
  ~Impl() {
    if (std::shared_ptr<FleetCore> fleet = core.lock(); fleet && number) fleet->drop(*number);
  }
};

/// Throws the StateError of a fleet that this process inherited.
[[noreturn]] void refuse_inherited();
/// Throws ArgumentError for options that do not go together.
void check_options(const RunOptions& options);
void check_engine(Engine engine);
/// The engine that Engine::automatic stands for on this device; every other one for itself.
Engine chosen_engine(Engine engine, const Device& device);
/// The most urgent of these stops.
Signal signal_of(const std::array<uint64_t, kStopReasons>& stops);
/// The backend of a device that find_device() gave.
std::unique_ptr<Backend> make_backend(const Image& image, const FleetOptions& options, const Device& device);

}  // namespace myriarm
