// SPDX-License-Identifier: Apache-2.0
// The CPU backend. It is there on every machine and uses all cores; tests compare the other backends with it.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "backends/backend.h"
#include "backends/common/run_protocol.h"
#include "backends/cpu/flat_memory.h"
#include "backends/cpu/host_memory.h"
#include "backends/cpu/interpreter/lane_code.h"
#include "backends/cpu/lane.h"
#include "backends/cpu/lane_spaces.h"
#include "backends/cpu/lane_tables.h"
#include "backends/cpu/program_pages.h"
#include "backends/cpu/shared_frames.h"
#include "backends/cpu/snapshot.h"
#include "backends/cpu/translated/translation.h"
#include "backends/cpu/waiting_writes.h"
#include "backends/cpu/worker_pool.h"
#include "kernel/process_table.h"

namespace myriarm::cpu {

struct EngineEntry;
struct LaneEntries;
class ProcessMachine;

class CpuBackend final : public Backend {
 public:
  CpuBackend(const Image& image, const FleetOptions& options);

  RunReport run(const RunOrder& order) override;
  void cancel() override { cancel_.store(true, std::memory_order_relaxed); }
  void clear_cancel() override { cancel_.store(false, std::memory_order_relaxed); }
  void progress(std::span<u64> retired, std::span<StopCode> codes) const override;
  std::span<const StopRecord> stops() override { return stops_; }
  void scatter_stops(std::span<const u32> lanes, std::span<const StopRecord> stops) override;
  void gather(Field field, std::span<const u32> lanes, std::span<u64> values) override;
  void scatter(Field field, std::span<const u32> lanes, std::span<const u64> values) override;
  void fill(Field field, u64 value) override;
  void read(std::span<const Transfer> transfers, std::span<u8> buffer, std::span<u32> done) override;
  bool write(std::span<const Transfer> transfers, std::span<const u8> buffer, std::span<u32> done) override;
  void write_later(std::span<const Transfer> transfers, std::span<const u8> buffer) override;
  void release_memory(std::span<const u32> lanes) override;
  bool has_memory(u32 lane) const override { return !tables_.is_empty(lane); }
  void process_inputs_changed(std::span<const u32>) override {}  // each call asks for them
  void map(std::span<const u32> lanes, u64 page, u64 count, u32 permissions) override;
  void unmap(std::span<const u32> lanes, u64 page, u64 count) override;
  void protect(std::span<const u32> lanes, u64 page, u64 count, u32 permissions) override;
  void permissions(std::span<const u32> lanes, u64 page, u64 count, std::span<u8> values) override;
  u64 pool_used() override {
    const u64 saved = code_store_.saved_bytes(), used = pool_.used_bytes();
    return used - std::min(used, saved);
  }
  u64 pool_size() override { return pool_.size_bytes(); }
  void grow_pool(u64 bytes) override;
  u64 take_snapshot(std::span<const u32> lanes) override;
  void drop_snapshot(u64 number) override;
  void restore(u64 number, std::span<const u32> from, std::span<const u32> to) override;
  ArrayView view(Field field) override;
  ArrayView memory_view() override;
  TranslationReport translation() const override;

 private:
  friend class ProcessMachine;

  u64* field(Field f) const { return reinterpret_cast<u64*>(state_.data()) + static_cast<u64>(f) * lanes_; }
  u64* system_field(SystemField f) const;
  /// Where a field of lane 0 is, and how far it is from lane to lane.
  struct Plane {
    u64* first;
    u64 stride;
  };
  Plane plane(Field f) const;
  /// The state arrays with one value for each lane, by number: the Fields below v0_low, then the SystemFields that are
  /// not Fields.
  static constexpr u64 kArrays = static_cast<u64>(Field::v0_low) + 4;
  u64* array(u64 number) const;
  u64* vectors(u64 lane) const { return reinterpret_cast<u64*>(vectors_.data()) + lane * 64; }
  /// Page number of an address within the window; window_pages_ or more outside it. A lane may have fewer: tables_.pages().
  u64 page_of(u64 address) const { return (untagged(address) >> kPageBits) - first_page_; }
  const ProgramPages& program(u64 lane) const { return *programs_[program_of_[lane]]; }
  u32* own_table(u64 lane) { return tables_.own(lane, program(lane), program_of_[lane]); }
  /// Makes sure that the table of a lane has the entries below `end`. False: lane.stop is out_of_memory.
  bool widen_table(Lane& lane, u64 index, u64 end);
  /// Makes `lane` use the memory and code of lane `index`, which gets a page table of its own.
  void attach(Lane& lane, u64 index);
  template <class Visit>
  void for_lanes(std::span<const u32> lanes, Visit visit) {
    if (lanes.empty()) {
      for (u64 lane = 0; lane < lanes_; lane++) visit(lane);
    } else {
      for (u32 lane : lanes) visit(lane);
    }
  }
  void set_stop(u64 lane, const StopRecord& stop);
  u64 retired(u64 lane) const;
  void publish(u64 lane, u64 retired);

  // Running: run.cpp.
  struct Tally;
  /// What all lanes of a batch have in common.
  struct Batch {
    const EngineEntry& engine;
    bool serves_calls, serves_stopped;
    bool host_may_have_written;  // to the lanes' memory, since the batch before
    Translation* translation;    // null: nothing is translated
    std::atomic<bool>*
        returns;  // not null: set as soon as a lane stops at an SVC; the others then run a quantum at most
  };
  u64 count(std::span<const u32> lanes) const { return lanes.empty() ? lanes_ : lanes.size(); }
  void begin_batch(const RunOrder& order, Phase phase);
  Tally run_batch(const RunOrder& order, const Batch& batch);
  /// `sampler` is null if nothing is translated.
  void run_lane(u64 index, u64 limit, const Batch& batch, Sampler* sampler);
  /// Runs the lane until it has a stop, or is paused for others.
  void execute(Lane& lane, u64 index, u64 limit, const Batch& batch, Sampler* sampler);
  void show_lanes_left(std::span<const u32> lanes);  // shows progress() the stops of lanes that wait for another run()
  bool cancelled() const { return cancel_.load(std::memory_order_relaxed); }

  // Processes: process.cpp.
  const kernel::ProcessFacts* process_of(u64 lane) const;
  /// Serves the call of a lane at its SVC, which retires. False: the lane has a stop.
  bool serve_call(Lane& lane, u64 index);
  /// The count of retired instructions from which on deliver_signals() has something to do; 0 if it has now.
  static u64 attention_at(const Lane& lane);
  /// Lets a process take a signal. False: the lane has a stop.
  bool deliver_signals(Lane& lane, u64 index);
  /// Lets the handler of the signal run that the lane's stop is. False: the lane has a stop, if there is none that one.
  bool deliver_fault(Lane& lane, u64 index);
  /// Whether the lane goes on after what the kernel has done for it; else it has a stop.
  bool goes_on(Lane& lane, const kernel::Result& result);
  ProcessMachine machine_of(Lane& lane, u64 index);
  void end_process(u64 index);  // gives its memory back, or what is not the guest's of it: snapshot.cpp

  // Address spaces: spaces.cpp.
  struct SpacePlace {
    u32* table;
    u64* touched;
    std::unique_ptr<LaneCode>* code;
  };
  SpacePlace space_place(u64 index, u32 number);
  /// The space whose table has the guest's pages of this one, and while it runs its kernel pages.
  u32 guest_space(u64 index, u32 number) const;
  u32 running_space(u64 index) const;
  /// Makes `lane` use the table and code of a space, which must be running or not be a borrower.
  void point(Lane& lane, u64 index, u32 number);
  /// The entries of the space that runs, for reading only, as LaneTables::entries(); pages from lane_pages_ on are the first table's.
  const u32* entries_of(u64 index);
  LaneEntries lane_entries(u64 index);
  void exchange_kernel_pages(u64 index, u32 borrower);
  /// Gives each space its kernel pages, or if that was done, the one that runs what it uses.
  void settle_spaces(u64 index);
  void enter_space(Lane& lane, u64 index, u32 number);
  void copy_entries(const SpacePlace& from, const SpacePlace& to, u64 first, u64 end);
  template <class Visit>
  void for_slices(const SpacePlace& place, bool is_first, u64 first, u64 end, Visit visit);
  void move_entries(u64 index, u32 from_number, u32 to_number, u64 first, u64 end);
  void clear_entries(u64 index, u32 number, u64 first, u64 end);
  u32 new_space(Lane& lane, u64 index);
  /// A space that begins as the one that runs. kNoSpace: lane.stop is out_of_memory.
  u32 make_space(Lane& lane, u64 index, kernel::SpaceKind kind);
  bool charge_space(LaneSpace& space);
  void hand_over(u64 index, u32 lender);  // the guest's pages, to a space that borrows them
  void free_space(u64 index, u32 number);
  void end_space(Lane& lane, u64 index, u32 number);
  /// The space that runs becomes what `with` was, which ends.
  void replace_space(Lane& lane, u64 index, u32 with);
  void drop_spaces(u64 index);  // all but the first
  void watch_common_pages(Lane& lane, u64 index);
  /// From then on a frame may be several pages of the lane. False: lane.stop is out_of_memory.
  bool begin_common_pages(Lane& lane, u64 index);
  /// visit(entry) for all pages of the lane, in all of its spaces, that are this frame of the pool, until it returns false.
  template <class Visit>
  void for_pages_of(u64 index, u32 frame, Visit visit);
  // A page of the layer, and those of the guest that are it: kernel::SharesFiles.
  void join_page(Lane& lane, u64 index, u64 page, u64 file_page, u32 permissions);
  void part_page(u64 index, u64 file_page);
  /// Lane::own_common_page().
  bool own_common_page(Lane& lane, u64 index, u64 page);

  // Memory: guest_memory.cpp.
  void release_page(u32& entry);
  /// Writes to the pages of a lane, up to the first that is not mapped, or for which no frame is left: then lane.stop is
  /// out_of_memory. Returns how many bytes it wrote.
  static u32 write_bytes(Lane& lane, u64 address, std::span<const u8> bytes);
  /// Gives the lane the bytes that wait for it. False: no frame is left, lane.stop is out_of_memory, and they still wait.
  bool take_waiting_writes(Lane& lane, u64 index);
  /// Makes each page a page of zeros with these permissions if `mapped`, else unmaps it.
  void replace_pages(std::span<const u32> lanes, u64 page, u64 count, bool mapped, u32 permissions);
  void replace_pages(Lane& lane, u64 page, u64 count, bool mapped, u32 permissions);
  void protect_pages(Lane& lane, u64 page, u64 count, u32 permissions);
  /// Gives mapped pages of a lane the content `bytes`, which stay as they are, and zeros behind them, in frames that all
  /// lanes have in common. False: there are no such frames.
  bool share_pages(Lane& lane, u64 address, u32 permissions, std::span<const u8> bytes);
  void touch(Lane& lane, u64 page, u64 count);
  class CodeChange;

  // Snapshots: snapshot.cpp.
  struct Restorer;
  void for_each_in_threads(u64 count, const FleetSnapshot& snapshot,
                           const std::function<void(Restorer&, u64 index)>& work);
  void save_pages(u64 lane, LaneSnapshot& kept, std::vector<PageSnapshot>& pages);
  /// Whether a page that was saved has no entry in the lane's table yet.
  bool lacks_entries(u64 lane, const LaneSnapshot& kept, const std::vector<PageSnapshot>& pages) const;
  void save_spaces(u64 index, LaneSnapshot& kept, std::vector<PageSnapshot>& pages);
  void restore_spaces(u64 index, const LaneSnapshot& kept, const std::vector<PageSnapshot>& pages);

  u64 lanes_, window_pages_, first_page_;  // with the kernel pages
  u64 guest_pages_;
  u64 lane_pages_;  // the first page that is the lane's, not a process's
  PageSlices slices_;
  FramePool pool_;
  SharedFrames shared_frames_{pool_};
  // Code of the store is what differs from theirs, and so goes before them.
  std::vector<std::unique_ptr<ProgramPages>> programs_;
  CodeStore code_store_;
  FlatMemory flat_;
  LazyArray state_, vectors_;
  SpaceTables space_tables_;  // whole ones, of window_pages_ entries
  LaneTables tables_;
  std::vector<std::unique_ptr<LaneSpaces>> spaces_;  // null: the lane has one, and no frame is several of its pages
  WaitingWrites waiting_;
  std::vector<StopRecord> stops_;
  std::unique_ptr<StopCode[]> codes_;  // those of stops_, for progress(): `none` while a lane runs or waits for a batch
  std::vector<RunEnd> run_ends_;
  std::vector<u64> touched_;
  std::vector<u32> program_of_;
  std::vector<std::unique_ptr<LaneCode>> own_code_;
  std::map<u64, FleetSnapshot> snapshots_;
  u64 next_snapshot_ = 1;
  std::atomic<bool> cancel_{false};
  std::shared_ptr<ProcessHost> process_host_;  // null: no lane is a process
  bool keep_memory_, keep_files_;              // of processes that have exited
  WorkerPool workers_;
  unsigned compile_threads_;
  bool caches_translation_;
  mutable std::mutex translation_mutex_;      // while the next is made, or asked for its report
  std::unique_ptr<Translation> translation_;  // the last: its threads use the code. Null: no run has asked for it
};

}  // namespace myriarm::cpu
