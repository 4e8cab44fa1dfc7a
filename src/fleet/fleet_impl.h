// SPDX-License-Identifier: Apache-2.0
// What a fleet holds, and who may touch it when. One atomic says what the fleet is doing, and every public call takes
// it first: two threads that use a fleet at once get a StateError and never meet in a backend. Argument checks that
// several calls share are here too; the calls themselves are in the .cpp files, by subject.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "backends/backend.h"
#include "fleet/image.h"

namespace myriarm {

enum class Phase : int {
  idle,
  busy,      ///< a call is at work
  dropping,  ///< a snapshot that went away gives back what it held; for a moment, whatever thread that is in
  running,   ///< a run is, in its thread
  closed,
};

/// What snapshots share with their fleet, and what is left of the fleet when they outlive it.
struct FleetCore {
  std::atomic<Phase> phase = Phase::idle;
  std::unique_ptr<Backend> backend;  ///< empty once closed

  /// Releases a snapshot: now, or when what runs has ended. From any thread.
  void drop(u64 snapshot) noexcept;
  /// Releases those that had to wait. For whoever has the phase.
  void drop_waiting() noexcept;

 private:
  std::mutex mutex_;
  std::vector<u64> waiting_;
};

struct Fleet::Impl {
  using Clock = std::chrono::steady_clock;

  std::shared_ptr<FleetCore> core = std::make_shared<FleetCore>();
  FleetOptions options;
  Device device;
  const char* engine = "";
  u64 window_begin = 0, window_pages = 0;
  /// The object that handlers are given; a fleet may be moved while it runs.
  std::atomic<Fleet*> owner = nullptr;
  std::vector<Stop> stops;
  bool stops_current = false;
  std::optional<u64> transaction;  ///< snapshot from before the first run since commit() or rollback()

  // For a run whose handlers use the fleet.
  std::atomic<std::thread::id> handler_thread{};  ///< in a handler now
  bool stops_touched = false;                     ///< the host changed stops since this was cleared
  bool counts_touched = false;                    ///< the host changed Field::instructions, likewise

  // What other threads ask of a run and see of it, under `mutex`.
  mutable std::mutex mutex;
  std::condition_variable changed;
  bool active = false;     ///< a run is in progress
  bool started = false;    ///< by start(), and wait() has not given its result yet
  bool closing = false;    ///< no further run may begin
  bool timed_out = false;  ///< the deadline came before any cancel()
  std::atomic<bool> cancelled = false;
  bool in_engine = false;   ///< the backend is at work, and its progress counts
  u64 retired = 0;          ///< by the calls of the backend that have returned
  u64 progress_base = 0;    ///< what the lanes' counts add up to, less `retired`, as the backend began
  std::optional<u64> left;  ///< lanes that go on, between calls of the backend
  mutable u64 polled = 0;   ///< the most that poll() has said in this run
  mutable std::vector<u64> counts;
  mutable std::vector<StopCode> codes;
  Clock::time_point began{};      ///< of this run, or the last
  std::optional<RunResult> last;  ///< of the last run that ended well
  std::optional<double> seconds;  ///< of the last run, once it has ended
  std::exception_ptr failure;     ///< what ended the last run that was started
  std::string device_failure;     ///< why the device is of no more use; empty while it is
  bool failure_reported = false;
  std::thread thread;

  /// A call's hold on the fleet. Throws StateError if it may not be used now, DeviceError if its device has failed.
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
  /// An Impl, or a StateError for a fleet that was moved from.
  static Impl& present(Impl* impl);
  /// The same for calls that any thread may make and that need no hold: only a closed fleet refuses them.
  static Impl& open(Impl* impl);
  bool in_handler() const { return handler_thread.load() == std::this_thread::get_id(); }
  [[noreturn]] void refuse(Phase phase) const;
  /// Throws if the device has failed.
  void check_device() const;

  /// Makes the fleet do `wanted` if it is idle. Returns what it was doing.
  Phase take_phase(Phase wanted);

  /// The stops as they are now.
  const std::vector<Stop>& current_stops();
  void put_stops(std::span<const uint32_t> lanes, std::span<const StopRecord> records);
  /// After the backend gave lanes another state.
  void forget_stops() { stops_current = false, stops_touched = true, counts_touched = true; }

  void make(Fleet* fleet, std::span<const PlacedProgram> programs, const FleetOptions& wanted);

  // runner.cpp. begin_run() takes the phase `running`, execute() is the run, end_run() gives the phase back.
  void begin_run(const RunOptions& wanted, bool start);
  RunResult execute(const RunOptions& wanted);
  void end_run(std::optional<RunResult> result, std::exception_ptr error) noexcept;
  void request_cancel(bool by_deadline);
  /// Waits for what runs, and frees the backend. Does not throw if `for_good`.
  void shut(bool for_good);
  /// Takes what the backend publishes into `counts` and `codes`, and adds the counts up. Under `mutex`, as the next
  /// three.
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

  // Checks of arguments; `what` is the call.
  void check_lanes(std::span<const uint32_t> lanes, const char* what) const;
  /// The same, and no lane twice. Returns them rising.
  std::vector<u32> distinct(std::span<const uint32_t> lanes, const char* what) const;
  void check_transfers(std::span<const Transfer> transfers, size_t buffer, size_t done, const char* what) const;
  static void check_field(Field field);
  static void check_size(size_t have, size_t want, const char* what);
  /// Pages of the window, or an ArgumentError.
  std::pair<u64, u64> pages(uint64_t address, uint64_t size, const char* what) const;
  /// What the guest may be allowed.
  u32 allowed(uint32_t permissions) const;
  void scatter(Field field, std::span<const uint32_t> lanes, std::span<const uint64_t> values);
};

struct Snapshot::Impl {
  std::weak_ptr<FleetCore> core;
  std::optional<u64> number;  ///< the backend's; none for a snapshot of no lanes
  std::vector<u32> lanes;

  Impl() = default;
  Impl(const Impl&) = delete;
  ~Impl() {
    if (std::shared_ptr<FleetCore> fleet = core.lock(); fleet && number) fleet->drop(*number);
  }
};

/// Throws ArgumentError for options that do not go together.
void check_options(const RunOptions& options);
/// The most urgent of these stops.
Signal signal_of(const std::array<uint64_t, kStopReasons>& stops);
/// The backend for a device name; says in `chosen` which device that is.
std::unique_ptr<Backend> make_backend(const Image& image, const FleetOptions& options, Device& chosen);

}  // namespace myriarm
