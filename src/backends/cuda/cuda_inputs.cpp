// SPDX-License-Identifier: Apache-2.0
// Works a queue off whose inputs the lanes take by themselves: the host sends inputs and takes digests while a launch goes
// on. docs/design/inputs-on-a-gpu.md.
#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <numeric>

#include "backends/cuda/cuda_backend.h"
#include "backends/cuda/process/input_segments.h"
#include "support/lanes_at_once.h"

namespace myriarm::cuda {
namespace {

/// How long a launch goes on, in ticks of 2 ms: digests come some ten times a second.
constexpr u64 kLaunchTicks = 50;
/// The same while the source has no input for lanes that have none.
constexpr u64 kIdleTicks = 1;
/// While inputs that no lane has taken have as many bytes, no further ones are asked for.
constexpr u64 kMostWaitingBytes = u64{256} << 20;

}  // namespace

/// One call of work_off().
class CudaBackend::InputLoop final : public ProcessHost {
 public:
  InputLoop(CudaBackend& backend, const SavedLanes& beginning, const InputRun& run)
      : backend_(backend), run_(run), segments_(backend.device_) {
    queue_.limit = run.instructions;
    queue_.output_limit = run.output_limit;
    queue_.start_bytes_at = run.start_bytes_at;
    queue_.start_bytes = run.start_bytes_at != 0 ? run.start_bytes : 0;
    for (u32 i = 0; i < 2; i++) queue_.first_output[i] = {run.first_bytes[i], run.first_hash[i]};
    queue_.beginning = beginning.pages;
    queue_.planes = beginning.planes.data();
    queue_.vectors = beginning.vectors.data();
    lanes_.resize(backend.lanes_, "allocating a queue of inputs");
    check(cudaMemsetAsync(lanes_.data(), 0, lanes_.bytes(), backend.stream_), "allocating a queue of inputs");
    queue_.lanes = lanes_.data();
    device_queue_.resize(1, "allocating a queue of inputs");
    host_queue_.resize(1, "allocating a queue of inputs");
    backend.scatter_stops({}, idle());
    std::ranges::fill(backend.without_memory_, 0u);
    backend.view_.processes.queue = device_queue_.data();
    backend.queue_host_ = this;
  }
  /// Also while a launch is in progress, if a function of the run has thrown.
  ~InputLoop() override {
    cudaStreamSynchronize(backend_.stream_);
    backend_.view_.processes.queue = nullptr;
    backend_.queue_host_ = nullptr;
    backend_.processes_->resend_inputs();
    backend_.stops_are_current_ = false;
  }
  InputLoop(const InputLoop&) = delete;

  // ProcessHost, for calls that the library lacks: no others come to the host.
  GivenInput input(uint32_t lane) const override {
    kernel::ProcessInput given;
    check(cudaMemcpyAsync(&given, backend_.processes_->device_inputs() + lane, sizeof given, cudaMemcpyDeviceToHost,
                          backend_.stream_),
          "serving a call");
    backend_.synchronize("serving a call");
    return {given.number, {}, {}, given.output_limit, given.has_file != 0, false, false};
  }
  const FileTree* root() const override { return backend_.processes_->host().root(); }
  PutOut put_out(uint32_t, unsigned, uint64_t, std::span<const uint8_t> bytes) override {
    return {PutOut::Kind::taken, bytes.size()};
  }
  void unimplemented(HostedCall& call) override { backend_.processes_->host().unimplemented(call); }
  void before(HostedCall&) override {}
  void after(HostedCall&, const int64_t*) override {}
  void saved(uint64_t, std::span<const uint32_t>) override {}
  void restored(uint64_t, std::span<const uint32_t>, std::span<const uint32_t>) override {}
  void dropped(uint64_t) override {}

  void go() {
    while (goes_on_) {
      if (segments_.waiting() == 0 && segments_.running() == 0) {
        deliver();  // what waits for it may be what further inputs wait for
        if (!more_ || !goes_on_ || run_.cancelled() || backend_.is_cancelled()) break;
      }
      if (segments_.waiting() == 0) fetch();
      if (segments_.waiting() == 0 && segments_.running() == 0) continue;
      launch();
      // What the host does while the lanes run.
      deliver();
      if (goes_on_ && has_room()) fetch();
      finish();
    }
    deliver();
  }
  /// Gives up inputs whose processes have not ended.
  void give_up() {
    backend_.synchronize("running the guest");
    if (segments_.running() != 0) backend_.scatter_stops({}, idle());
  }

 private:
  std::vector<StopRecord> idle() const {
    return std::vector<StopRecord>(backend_.lanes_, stop_record(StopCode::exited));
  }

  bool has_room() const {
    return segments_.waiting() < 2 * backend_.lanes_ + sent_ && segments_.waiting_bytes() < kMostWaitingBytes;
  }

  void fetch() {
    if (!more_) return;
    InputBatch batch;
    const bool idle = segments_.waiting() == 0 && segments_.running() == 0;
    const Supply supply = run_.next(batch, idle);
    more_ = supply != Supply::ended;
    if (supply != Supply::input) return;
    segments_.add(batch);
    sent_ = batch.size();
  }

  void launch() {
    InputSegment* const segment = segments_.current();
    queue_.next = queue_.end = 0;
    if (segment != nullptr) {
      queue_.next = segment->begun;
      queue_.end = segment->count;
      queue_.first_number = segment->first_number;
      queue_.numbers = segment->has_numbers ? segment->numbers.data() : nullptr;
      queue_.bytes = segment->bytes.data() - segment->skipped;
      queue_.offsets = segment->offsets.data();
      queue_.first_ticket = segment->first_ticket;
      queue_.as_file = segment->as_file;
    }
    queue_.more = segment != nullptr && (more_ || segments_.waiting() > segment->count - segment->begun);
    queue_.digest_count = 0;
    // Each input that begins in the launch, and each that runs, may have a digest.
    digests_.resize(queue_.end - queue_.next + backend_.lanes_, "allocating digests");
    tickets_.resize(queue_.end - queue_.next + backend_.lanes_, "allocating digests");
    queue_.digests = digests_.data();
    queue_.tickets = tickets_.data();
    queue_.team_instructions = 0;
    *host_queue_.data() = queue_;
    check(cudaMemcpyAsync(device_queue_.data(), host_queue_.data(), sizeof queue_, cudaMemcpyHostToDevice,
                          backend_.stream_),
          "starting the engine");
    backend_.predecode_if_due();
    Control control{};
    control.budget = control.batch = ~u64{0};
    control.phase = Phase::again;
    control.batches = 1;
    control.pool_may_grow = 1;
    control.yield_ticks = backend_.code_delay_.ticks_left(std::chrono::steady_clock::now());
    control.host_ticks = 1;
    control.launch_ticks = segment == nullptr && more_ ? kIdleTicks : kLaunchTicks;
    backend_.choose_kernel(control);
    backend_.begin_dispatch(control, backend_.engine_ == Engine::translate ? Engine::translate : Engine::interpreter);
  }

  void finish() {
    const Report report = backend_.end_dispatch();
    progress_.instructions += report.retired;
    cudaStream_t stream = backend_.stream_;
    check(cudaMemcpyAsync(host_queue_.data(), device_queue_.data(), sizeof queue_, cudaMemcpyDeviceToHost, stream),
          "fetching digests");
    backend_.synchronize("fetching digests");
    const InputQueueView& now = *host_queue_.data();
    if (InputSegment* const segment = segments_.current()) {
      const u64 begun = std::min(now.next, now.end);
      segment->running += begun - segment->begun;
      segment->begun = begun;
    }
    ready_.resize(now.digest_count);
    ready_tickets_.resize(now.digest_count);
    progress_.lane_instructions += now.team_instructions;
    if (!ready_.empty()) {
      check(cudaMemcpyAsync(ready_.data(), digests_.data(), ready_.size() * sizeof(InputDigest), cudaMemcpyDeviceToHost,
                            stream),
            "fetching digests");
      check(cudaMemcpyAsync(ready_tickets_.data(), tickets_.data(), ready_tickets_.size() * sizeof(u64),
                            cudaMemcpyDeviceToHost, stream),
            "fetching digests");
      backend_.synchronize("fetching digests");
    }
    for (u64& ticket : ready_tickets_) ticket = segments_.ended(ticket);
    DispatchReport done;
    std::copy(std::begin(report.stops), std::end(report.stops), std::begin(done.stops));
    const ServedOnHost served = backend_.attend_to_processes(report, done);
    if (report.orders & kYieldOrder) backend_.guests_have_changed_code();
    backend_.update_common_code();
    find_memory(report, served);
    segments_.tidy(backend_.processes_->device_inputs(), lanes_.data(), backend_.lanes_, stream);
    if (run_.cancelled() || backend_.is_cancelled()) goes_on_ = false;
  }

  /// Lets lanes that are out of memory try again if there may be some now: other teams give theirs back when they take
  /// inputs. If nothing else happens, teams take turns.
  void find_memory(const Report& report, const ServedOnHost& served) {
    const bool starve = report.stops[static_cast<u32>(StopCode::out_of_memory)] != 0 || served.starved != 0;
    ended_ += ready_.size();
    at_once_.round_ended(ended_ / lanes_of_a_team(), !starve);
    ended_ %= lanes_of_a_team();
    if (starve) {
      const bool progress = report.retired != 0 || !ready_.empty() || served.answered != 0;
      if (!backend_.make_room() && !progress) give_some_up();
      launch_resume_starved(backend_.view_, backend_.stream_);
    }
    let_go();
  }

  u64 lanes_of_a_team() const { return std::min<u64>(backend_.lanes_, kTeam); }

  /// All processes that have not ended wait for memory, and have found none in the last launch. Those of teams that have
  /// retired most keep what they have, at most half of the teams. The others are given up, or one that is alone; they hold
  /// no memory then, and take no input until let_go().
  void give_some_up() {
    std::vector<QueuedLane> queued(backend_.lanes_);
    fetch(std::span(queued), lanes_.data());
    const std::span<const StopRecord> stops = backend_.stops();
    const auto starves = [&](u32 lane) {
      return stops[lane].code == StopCode::out_of_memory && queued[lane].state != QueuedState::idle;
    };
    std::vector<u32> without_input;            // lanes of such teams
    std::map<u32, std::vector<u32>> starving;  // by team: the lanes that starve
    for (u32 team = 0; team < backend_.view_.teams; team++) {
      const std::vector<u32> lanes = lanes_of(team);
      bool any_runs = false, has_input = false;
      for (u32 lane : lanes) {
        const StopCode code = stops[lane].code;
        any_runs |= code == StopCode::none || code == StopCode::syscall;
        has_input |= queued[lane].state != QueuedState::idle;
        if (starves(lane)) starving[team].push_back(lane);
      }
      if (any_runs) starving.erase(team);
      else if (!has_input) without_input.insert(without_input.end(), lanes.begin(), lanes.end());
    }
    // What processes have left whose teams have found no further input.
    if (release_memory(without_input) || starving.empty()) return;
    const u64 most = starving.size() / 2;
    if (starving.size() > 1) at_once_.starved(starving.size());
    const std::vector<u32> teams = most_retired_first(starving);
    std::vector<u32> lanes, all;  // that are given up, and those of their teams
    for (u32 team : std::span(teams).subspan(most)) {
      lanes.insert(lanes.end(), starving[team].begin(), starving[team].end());
      const std::vector<u32> own = lanes_of(team);
      all.insert(all.end(), own.begin(), own.end());
      held_.push_back(std::move(starving[team]));
    }
    give_up(lanes, queued);
    release_memory(all);
  }

  std::vector<u32> lanes_of(u32 team) const {
    const u64 first = lane_at(team, 0);
    std::vector<u32> lanes(std::min<u64>(kTeam, backend_.lanes_ - first));
    std::iota(lanes.begin(), lanes.end(), static_cast<u32>(first));
    return lanes;
  }

  std::vector<u32> most_retired_first(const std::map<u32, std::vector<u32>>& lanes_by_team) {
    std::vector<u64> retired(backend_.lanes_);
    fetch(std::span(retired), backend_.plane(Field::instructions));
    std::map<u32, u64> longest;
    std::vector<u32> teams;
    for (const auto& [team, lanes] : lanes_by_team) {
      for (u32 lane : lanes) longest[team] = std::max(longest[team], retired[lane]);
      teams.push_back(team);
    }
    std::ranges::stable_sort(teams, std::ranges::greater(), [&](u32 team) { return longest[team]; });
    return teams;
  }

  /// Hands the inputs of these lanes over, which then have none.
  void give_up(std::span<const u32> lanes, std::vector<QueuedLane>& queued) {
    std::vector<kernel::ProcessInput> inputs(backend_.lanes_);
    fetch(std::span(inputs), backend_.processes_->device_inputs());
    const bool as_file = inputs[lanes[0]].has_file != 0;
    std::vector<u64> offsets = {0}, numbers, tickets;
    for (u32 lane : lanes) {
      const kernel::ProcessInput& input = inputs[lane];
      offsets.push_back(offsets.back() + (as_file ? input.file : input.standard_input).size);
      numbers.push_back(input.number);
      tickets.push_back(segments_.ended(queued[lane].ticket));
      queued[lane].state = QueuedState::idle;
    }
    std::vector<u8> bytes(offsets.back());
    for (size_t i = 0; i < lanes.size(); i++) {
      const kernel::Bytes from = as_file ? inputs[lanes[i]].file : inputs[lanes[i]].standard_input;
      if (from.size == 0) continue;
      check(cudaMemcpyAsync(bytes.data() + offsets[i], from.data, from.size, cudaMemcpyDeviceToHost, backend_.stream_),
            "fetching inputs");
    }
    lanes_.upload(queued, backend_.stream_);
    backend_.synchronize("fetching inputs");
    backend_.scatter_stops(lanes, std::vector<StopRecord>(lanes.size(), stop_record(StopCode::cancelled)));
    run_.given_up({0, bytes, offsets, as_file, numbers}, tickets, ends_of(lanes, numbers, queued));
  }

  /// What is known of these inputs, whose processes are out of memory.
  std::vector<InputDigest> ends_of(std::span<const u32> lanes, std::span<const u64> numbers,
                                   std::span<const QueuedLane> queued) {
    std::vector<u64> retired(backend_.lanes_), pcs(backend_.lanes_);
    fetch(std::span(retired), backend_.plane(Field::instructions));
    fetch(std::span(pcs), backend_.plane(Field::pc));
    std::vector<InputDigest> ends(lanes.size());
    for (size_t i = 0; i < lanes.size(); i++) {
      const QueuedLane& own = queued[lanes[i]];
      ends[i].number = numbers[i];
      ends[i].instructions = retired[lanes[i]];
      ends[i].pc = pcs[lanes[i]];
      for (u32 stream = 0; stream < 2; stream++) {
        ends[i].output_bytes[stream] = own.output[stream].bytes;
        ends[i].output_hash[stream] = own.output[stream].hash;
      }
      ends[i].reason = StopReason::out_of_memory;
    }
    return ends;
  }

  /// Of teams, all of whose processes have ended. Returns whether there is more memory now.
  bool release_memory(std::span<const u32> lanes) {
    const u64 before = backend_.pool_used();
    backend_.release_memory(lanes);
    std::ranges::fill(backend_.without_memory_, 0u);  // a team has memory again when it takes inputs
    return backend_.pool_used() < before;
  }

  /// Lets teams that were given up take inputs, as many as may be under way; without inputs that wait for a team, all.
  void let_go() {
    const u64 teams = backend_.view_.teams, under_way = teams - held_.size();
    u64 more = at_once_.most() - std::min(at_once_.most(), under_way);
    if (segments_.waiting() == 0) more = teams;
    std::vector<u32> lanes;
    for (; more != 0 && !held_.empty(); more--) {
      lanes.insert(lanes.end(), held_.back().begin(), held_.back().end());
      held_.pop_back();
    }
    if (lanes.empty()) return;
    backend_.scatter_stops(lanes, std::vector<StopRecord>(lanes.size(), stop_record(StopCode::exited)));
  }

  template <class T>
  void fetch(std::span<T> values, const T* from) {
    check(cudaMemcpyAsync(values.data(), from, values.size_bytes(), cudaMemcpyDeviceToHost, backend_.stream_),
          "looking for memory");
    backend_.synchronize("looking for memory");
  }

  void deliver() {
    // Without digests too: it tells of the instructions.
    if (goes_on_) goes_on_ = run_.done(ready_, ready_tickets_, progress_);
    ready_.clear();
    ready_tickets_.clear();
  }

  CudaBackend& backend_;
  const InputRun& run_;
  InputSegments segments_;
  InputQueueView queue_ = {};
  DeviceArray<QueuedLane> lanes_;
  DeviceArray<InputQueueView> device_queue_;
  PinnedArray<InputQueueView> host_queue_;
  DeviceArray<InputDigest> digests_;
  std::vector<InputDigest> ready_;  // digests that are to be passed on
  DeviceArray<u64> tickets_;
  std::vector<u64> ready_tickets_;
  InputRunProgress progress_;
  u64 sent_ = 0;
  bool more_ = true, goes_on_ = true;
  LanesAtOnce at_once_;                 // in teams
  u64 ended_ = 0;                       // processes, less those that at_once_ knows
  std::vector<std::vector<u32>> held_;  // by team that takes no input: its lanes whose processes were given up
};

bool CudaBackend::takes_inputs() const { return processes_ && !is_flat(view_); }

void CudaBackend::work_off(u64 snapshot, const InputRun& run) {
  use();
  processes_->send_inputs(stream_);
  {
    InputLoop loop(*this, saved_.at(snapshot), run);
    try {
      loop.go();
    } catch (...) {
      loop.give_up();
      throw;
    }
    loop.give_up();
  }
  mirror_progress();
  release_exited();
}

}  // namespace myriarm::cuda
