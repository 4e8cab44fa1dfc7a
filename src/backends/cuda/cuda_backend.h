// SPDX-License-Identifier: Apache-2.0
// The CUDA backend. All guest state is on the device; the host keeps a copy of the stops.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <optional>

#include "backends/backend.h"
#include "backends/cuda/code_delay.h"
#include "backends/cuda/code_kernels.h"
#include "backends/cuda/code_variants.h"
#include "backends/cuda/device_memory.h"
#include "backends/cuda/first_level_cache.h"
#include "backends/cuda/interpreter/program_pace.h"
#include "backends/cuda/kernels.h"
#include "backends/cuda/lanes_in_step.h"
#include "backends/cuda/launch_choice.h"
#include "backends/cuda/process/differing_pages.h"
#include "backends/cuda/process/processes.h"
#include "backends/cuda/saved_lanes.h"
#include "backends/cuda/settling_code.h"
#include "backends/cuda/span_memory.h"
#include "backends/cuda/translated/translated_program.h"
#include "backends/hosted_machine.h"
#include "backends/run_batches.h"

namespace myriarm::cuda {

class CudaBackend final : public Backend, private HostedSpaces {
 public:
  CudaBackend(const Image& image, const FleetOptions& options, int device);
  ~CudaBackend() override;

  RunReport run(const RunOrder& order) override;
  void cancel() override;
  void clear_cancel() override;
  void progress(std::span<u64> retired, std::span<StopCode> codes) const override;
  std::span<const StopRecord> stops() override;
  void scatter_stops(std::span<const u32> lanes, std::span<const StopRecord> stops) override;
  void gather(Field field, std::span<const u32> lanes, std::span<u64> values) override;
  void scatter(Field field, std::span<const u32> lanes, std::span<const u64> values) override;
  void fill(Field field, u64 value) override;
  void read(std::span<const Transfer> transfers, std::span<u8> buffer, std::span<u32> done) override;
  bool write(std::span<const Transfer> transfers, std::span<const u8> buffer, std::span<u32> done) override;
  void write_later(std::span<const Transfer> transfers, std::span<const u8> buffer) override;
  void release_memory(std::span<const u32> lanes) override;
  void process_inputs_changed(std::span<const u32> lanes) override;
  bool takes_inputs() const override;
  void work_off(u64 snapshot, const InputRun& run) override;
  bool has_memory(u32 lane) const override { return !(without_memory_[team_of(lane)] >> place_of(lane) & 1); }
  void map(std::span<const u32> lanes, u64 page, u64 count, u32 permissions) override;
  void unmap(std::span<const u32> lanes, u64 page, u64 count) override;
  void protect(std::span<const u32> lanes, u64 page, u64 count, u32 permissions) override;
  void permissions(std::span<const u32> lanes, u64 page, u64 count, std::span<u8> values) override;
  u64 pool_used() override;
  u64 pool_size() override;
  void grow_pool(u64 bytes) override;
  u64 take_snapshot(std::span<const u32> lanes) override;
  void drop_snapshot(u64 number) override;
  void restore(u64 number, std::span<const u32> from, std::span<const u32> to) override;
  ArrayView view(Field field) override;
  ArrayView memory_view() override;
  TranslationReport translation() const override;

 private:
  /// `front`: words in front of the entries of each page table.
  void allocate_state(u32 front);
  void allocate_frames(u64 pool_bytes);
  void allocate_flat_memory();
  /// Room for what tables have of split pages.
  void grow_splits(u64 tables, const char* what);
  /// Tells the kernels where that is.
  void show_splits();
  void load_image(const Image& image);
  /// `code`: from the first page with code of any program to the last.
  void predecode_programs(const Image& image, PageRange code);
  /// Puts them on the device, with the pages of all, one after the other.
  void upload_new_code(std::span<NewCode> fresh, std::span<const u32> pages);
  /// Predecodes what guests or the host have written, if the time for that has come.
  void predecode_if_due();
  void predecode_teams();
  /// The keys of teams whose code has changed, and of those of them that have groups.
  std::array<std::vector<CodeKey>, 2> describe_code();
  /// Makes what spans teams with these keys lack, and gives them theirs.
  void give_spans(CodeVariants& variants, std::span<const CodeKey> keys, CodeOf of);
  /// To be called for a table that has lost its group on the device, before spans are freed.
  void has_no_group(u32 table);
  CodeSpan span_of_variant(u32 number) const;
  CodeSpan span_of(const CodeVariants& variants, u32 number) const;
  void update_common_code();
  /// Whether all teams run from one span, and each lane has one address space.
  bool has_common_code() const;
  /// To be called when a launch has ended for code that guests have changed.
  void guests_have_changed_code();
  /// Ends the next launch when code that all teams have may have settled.
  void look_at_code_once_settled(Control& control);
  u64 code_bytes() const;         // that predecoded code takes, without the programs'
  u64 code_bytes_in_use() const;  // the same, without what is kept for teams that may run from it again
  u64 room_for_code();            // in words
  void set_code_units(u64 units);
  void free_unused_code(u64 keep);
  /// By the team that each fresh span is made from: its pages that may have code, as numbers within the span.
  std::map<u32, std::vector<u32>> find_code(const CodeVariants::Plan& wanted, CodeOf of);
  bool allocate_code(const CodeVariants::Plan& plan, std::map<u32, std::vector<u32>>& pages_of, u32 block);
  /// Frees all predecoded code but the programs', if there is any.
  bool give_way_to_frames();
  /// Makes room for frames; false: there is no more.
  bool make_room();
  /// One batch, or a chain of batches, without waiting for it. The report is that of the launch that began last.
  void begin_dispatch(const Control& control, Engine engine);
  Report end_dispatch();
  /// Tells blocks_choice_ what a launch of so many seconds has retired.
  void compare_blocks(const Report& report, double seconds);
  /// How the lanes of a run keep in step, if they do.
  LanesInStep steps_of(const RunOrder& order) const;
  /// Begins the next step of lanes that have ended one, or what follows a trial. The next launch goes on with the same batch.
  void begin_step(LanesInStep& in_step);
  /// Takes what lanes put out, until the launch has ended.
  void take_output_meanwhile();
  class InputLoop;  // cuda_inputs.cpp
  /// What the next launch may run as translated code. Null: it is interpreted.
  TranslatedProgram* translated_program();
  /// Pages with code, as numbers within a span, and their bytes.
  struct SpanCode {
    std::vector<u32> pages;
    std::vector<u8> bytes;
  };
  SpanCode program_code();  // of the first program's span
  /// None: `why` says why, as part of a sentence.
  std::optional<SpanCode> code_of_variant(u32 variant, u32 lane, std::string& why);
  /// The span that each lane runs from now; one without words if the lane does not go on.
  std::vector<CodeSpan> running_code();
  /// The variant that more than half of the lanes which go on run from, if there is one.
  std::optional<u32> code_of_most_lanes();
  /// A lane that goes on and runs from the variant's span now, if there is one.
  std::optional<u32> lane_that_runs(u32 variant);
  std::unique_ptr<TranslatedProgram> translate_span(const CodeSpan& span, SpanCode code, std::string& why);
  /// Translated code becomes that of the span which most teams run from.
  void follow_most_teams();
  /// `lane` runs it, if it is not the program's. False: translated code is what it was, and `why` says why.
  bool translate_variant(u32 variant, u32 lane, std::string& why);
  /// Null: nothing is translated any more. What has been counted stays in the report.
  void replace_translated(std::unique_ptr<TranslatedProgram> made);
  void set_unavailable(const std::string& why);
  void note_not_followed(const CodeSpan& span, std::string why);
  void translate_before_running();
  Chain& chain(Engine engine);
  void mirror_progress();
  void save_flat_memory(SavedLanes& saved);
  /// Room for the splits of so many tables; null: the fleet has none.
  Split* make_splits(DeviceArray<Split>& splits, u64 tables) const;
  void restore_flat_memory(const SavedLanes& saved, std::span<const u32> from, std::span<const u32> to);
  /// What a restore changes, and what it needs for that. Nothing changes yet.
  RestorePlan plan_restore(const SavedLanes& saved, std::span<const u32> from, std::span<const u32> to);
  RestoreCounts launch_restore(const SavedLanes& saved, const RestorePlan& plan, bool dry);
  /// Makes sure that there are as many frames. Throws DeviceError if there cannot be.
  void reserve_frames(const RestorePlan& plan);
  void restore_pages(const SavedLanes& saved, const RestorePlan& plan);
  [[noreturn]] static void refuse_lost_frames();
  u64* plane(Field field);
  Pool pool();
  bool back_pool(u64 bytes);  // makes that many bytes usable for frames
  bool grow_automatically();
  [[noreturn]] void refuse_full_pool();
  void change_pages(std::span<const u32> lanes, u64 page, u64 count, u32 permissions, kernel::PageAction action);
  void change_pages(std::span<const TeamMask> teams, u64 page, u64 count, u32 permissions, kernel::PageAction action);
  /// The lanes of a team, as a mask.
  u32 present(u32 team) const { return ~0u >> (kTeam - std::min<u64>(kTeam, lanes_ - lane_at(team, 0))); }
  std::vector<u64> fetch_touched();
  /// Gives the lanes that `order` leaves out, but that would run, a stop with which they do not. Returns them, and puts
  /// their own stops into `kept`.
  std::vector<u32> hold_others_back(const RunOrder& order, std::vector<StopRecord>& kept);
  // Processes: cuda_process.cpp.
  bool is_process(u32 lane) const { return processes_ && processes_->is_process(program_of_team_[team_of(lane)]); }
  bool is_cancelled() const { return std::atomic_ref(*cancel_.data()).load() != 0; }
  /// Lanes whose calls the host has served: how many go on with their batch, and how many need memory for their calls.
  struct ServedOnHost {
    u64 answered = 0, starved = 0;
    u64 calling = 0;  // of those answered: lanes that make their calls again
  };
  /// What the host does for processes after a launch. `done`: what the batch has done so far.
  ServedOnHost attend_to_processes(const Report& report, DispatchReport& done);
  ServedOnHost serve_on_host(std::span<const u32> lanes, const std::vector<bool>& starve, bool makes_again,
                             DispatchReport& done);
  /// Brings the files that calls want, so that their lanes make them again, and serves the other calls.
  ServedOnHost attend_to_calls(std::span<const HostCall> calls, DispatchReport& done);
  /// Chooses the kernel of the next launch of an interpreter, by whether lanes differ in pages, and whether their code has settled.
  void choose_kernel(Control& control);
  // Address spaces of lanes with several processes: cuda_spaces.cpp.
  struct Spaces {
    Spaces(int device, u64 most_bytes) : tables(device, most_bytes) {}
    GrowingRange tables;
    DeviceArray<LaneTables> running;
    DeviceArray<LaneSpaces> lanes;
    DeviceArray<u32> numbers, present, exclusive, away, owners, next;
  };
  void begin_spaces();
  void grow_tables(u64 wanted);
  void show_tables();
  /// Makes further page tables. `wanted`: how many lanes and teams have asked for one.
  void make_tables(u64 wanted);
  u32 fetch_next_table();
  /// These lanes have their first space alone, and run in it.
  void forget_spaces(std::span<const TeamMask> teams);
  void forget_spaces(std::span<const u32> lanes);
  LaneSpaces fetch_spaces(u32 lane);
  void keep_spaces(u32 lane, const LaneSpaces& spaces);
  std::vector<LaneTables> fetch_running_tables();
  // A frame may be in several tables of a team. So a launch that gives pages frames of their own looks at one table of each team alone.
  std::vector<std::vector<Transfer>> rounds_of(std::span<const Transfer> transfers);
  void change_pages_in_tables(std::span<const u32> lanes, u64 page, u64 count, u32 permissions,
                              kernel::PageAction action);
  // The same in snapshots: cuda_saved_spaces.cpp.
  template <class T>
  std::vector<T> fetch(const DeviceArray<T>& array, u64 count);
  /// What a snapshot keeps of further tables, and memory for it.
  void plan_saved_spaces(SavedLanes& saved);
  void save_spaces(const SavedLanes& saved);
  void release_saved_spaces(const SavedLanes& saved);
  void plan_spaces(const SavedLanes& saved, std::span<const u32> from, std::span<const u32> to, RestorePlan& plan);
  [[noreturn]] static void refuse_places(u32 lane);
  /// Makes sure that so many tables are nobody's. Returns the number of the first. Throws DeviceError.
  u32 reserve_tables(u64 count);
  /// The frames that become free when these lanes leave their further tables, at least.
  u64 frames_that_leave(std::span<const TeamMask> leaves);
  void restore_spaces(const SavedLanes& saved, const RestorePlan& plan);
  /// Tells the host what became of traced calls that it had given back to these lanes, whose numbers rise.
  void tell_of_given_back(std::span<const u32> lanes);
  RunningSpace running_space(u32 lane) override;
  void enter_space(u32 lane, u32 number) override;
  void end_space(u32 lane, u32 number) override;
  u32 common_frame(u32 lane, u64 page) override;
  void join_page(u32 lane, u64 page, u64 file_page, u32 permissions) override;
  void part_page(u32 lane, u64 file_page) override;
  /// Releases the memory of processes that have exited, unless it is kept. Returns whether there were any.
  bool release_exited();
  void synchronize(const char* doing) {
    check(cudaGetLastError(), doing);  // errors of launches, which return none themselves
    check(cudaStreamSynchronize(stream_), doing);
  }
  void use() const {
    check(cudaSetDevice(device_), "selecting the CUDA device");
    if (exported_) check(cudaDeviceSynchronize(), "waiting for other users of the fleet's memory");
  }
  /// Copies lane numbers to the device; null for all lanes.
  const u32* upload_lanes(std::span<const u32> lanes);

  int device_;
  Multiprocessors multiprocessors_ = {};
  u64 lanes_;
  MemoryPolicy policy_;
  bool pool_is_automatic_;
  u64 pool_limit_ = 0;  // bytes that frames may take, at most
  Stream own_stream_;
  cudaStream_t stream_ = nullptr;
  u64 image_units_ = 0;  // units of the image; those of files, and then frames, come after them
  View view_ = {};
  std::optional<GrowingRange> frames_;
  DeviceArray<u64> state_, vectors_, touched_;
  DeviceArray<DecodedWord> decoded_words_;
  DeviceArray<StopRecord> device_stops_;
  std::optional<Spaces> spaces_;  // once a lane has asked for a second one
  std::vector<u32> given_back_;   // lanes that have a traced call to make which the host cannot serve
  DeviceArray<u64> program_slices_;
  DeviceArray<u32> tables_, base_tables_, team_program_, free_frames_, frame_holders_, decode_first_;
  DeviceArray<u16> decode_candidates_;
  DeviceArray<RowPattern> decode_patterns_;
  DeviceArray<DeviceRow> rows_;
  DeviceArray<CodeSpan> program_code_, team_code_;
  DeviceArray<GroupCode> group_code_;
  DeviceArray<u32> code_state_, code_ran_, code_slots_, wanted_groups_, code_count_;
  DeviceArray<PageHistory> page_history_;
  DeviceArray<Split> splits_;
  DeviceArray<ProgramPace> paces_;
  DeviceArray<CodeKey> code_keys_;
  DeviceArray<NewCode> new_code_;
  DeviceArray<u32> code_pages_;  // of new_code_
  DeviceArray<TeamCode> team_codes_;
  DeviceArray<PageChanges> page_changes_;
  DeviceArray<u8> flat_permissions_, flat_memory_, flat_image_;
  DeviceArray<Pool> device_pool_;
  DeviceArray<Control> control_;
  DeviceArray<Report> report_;
  const u8* image_ = nullptr;  // the image's units on the device
  std::vector<u32> program_of_team_;
  std::vector<u32> without_memory_;  // by team: the lanes without memory, as a mask; its frames are freed when all are
  // Predecoded code beside the programs'.
  LazyBackground code_background_ = code_background();
  std::vector<SpanMemory> program_code_memory_;
  std::vector<CodeSpan> program_spans_;
  std::optional<CodeVariants> code_variants_;
  std::optional<CodeVariants> group_variants_;  // of teams' groups; a team without one has the first program's
  std::map<u32, std::vector<SpanMemory>> code_blocks_;
  u32 next_code_block_ = 0;
  u64 code_units_ = 0;  // what it takes from a pool of fixed size
  CodeDelay code_delay_;
  bool code_wanted_ = false;      // a guest runs from pages that have no predecoded words
  bool host_wrote_code_ = false;  // a call has changed pages that teams may run from
  bool code_restored_ = false;    // a restore has
  SettlingCode settling_code_;    // launches have ended for code of guests
  bool code_gave_way_ = false;    // to frames: until the pool grows or lanes are restored, it takes no room
  // Host memory that kernels access.
  PinnedArray<u32> cancel_;
  PinnedArray<u64> progress_;
  PinnedArray<StopCode> codes_;
  PinnedArray<Control> host_control_;
  PinnedArray<Report> host_report_;
  PinnedArray<u8> pinned_memory_;
  std::optional<Processes> processes_;
  DifferingPages differing_pages_;
  ProcessHost* queue_host_ = nullptr;  // during work_off(), in place of that of the processes
  DeviceArray<u32> team_frames_;
  mutable std::mutex
      translation_mutex_;  // while translated_ or the report of what is not there changes, or is asked for
  std::unique_ptr<TranslatedProgram> translated_;
  bool has_tried_to_translate_ = false;
  u32 translated_variant_ = 0;  // of code_variants_; at first the program's
  std::optional<u32> refused_variant_;
  std::optional<u32> translated_block_;  // where that has its memory, if it is not the program's
  // See follow_most_teams().
  std::optional<u32> code_of_most_;
  u32 launches_with_this_code_ = 0, followed_ = 0;
  CodeDelay look_delay_;       // until the host looks again what each lane runs
  const u32 compile_threads_;  // 0: as many as the host has
  const bool caches_translation_;
  const Engine engine_;                   // of the fleet
  TranslationReport translation_report_;  // without what translated_ has
  bool asks_to_translate_ = false;        // the launch that began last, of a run with Engine::translate
  bool runs_translated_ = false;          // the same: its kernel is the one of translated code
  bool is_compared_ = false;              // it counts for the choice of the next one's kernel
  enum BlocksAtOnce : u32 { kMostBlocksAtOnce, kFewBlocksAtOnce };
  bool compares_blocks_ = false;   // it counts for the choice of how many blocks of the next one run at once
  LaunchChoice blocks_choice_{8};  // between BlocksAtOnce; a trial takes 8 ticks, 16 ms
  std::chrono::steady_clock::time_point began_at_;
  double launch_seconds_ = 0;                // that the launch which ended last took
  std::atomic<u64> retired_translated_{0};   // in launches of translated code, also by interpretation
  std::atomic<u64> retired_interpreted_{0};  // in others, if they ask to translate
  std::unique_ptr<Chain> chain_;
  std::vector<u8> chain_view_;  // bytes of the View that the chain was made with
  Engine chain_engine_ = Engine::interpreter;
  bool exported_ = false;  // other libraries may access the fleet's memory, on streams of their own
  std::map<u64, SavedLanes> saved_;
  u64 next_snapshot_ = 1;
  // Arguments and results of calls. They are kept from call to call: to free device memory is to wait for the device.
  DeviceArray<u32> lane_numbers_, done_, saved_places_, released_;
  DeviceArray<u64> values_;
  DeviceArray<Transfer> transfers_;
  DeviceArray<u8> buffer_;
  DeviceArray<StopRecord> stop_values_;
  DeviceArray<TeamMask> team_masks_;
  DeviceArray<TeamSources> team_sources_;
  DeviceArray<RestoreCounts> restore_counts_;  // of teams, and of further tables
  DeviceArray<u32> frame_marks_, copied_frames_;
  DeviceArray<RestoredTable> restored_tables_;
  DeviceArray<RestoredLane> restored_lanes_;
  DeviceArray<CopiedPage> copied_pages_;
  std::vector<StopRecord> stops_;
  bool stops_are_current_ = true;
};

}  // namespace myriarm::cuda
