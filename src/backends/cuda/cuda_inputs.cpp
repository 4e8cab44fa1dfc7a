// SPDX-License-Identifier: Apache-2.0
// Works a queue off whose inputs the lanes take by themselves: the host sends inputs and takes digests while a launch goes
// on. docs/design/inputs-on-a-gpu.md.
#include <algorithm>
#include <cstring>
#include <exception>

#include "backends/cuda/cuda_backend.h"
#include "backends/cuda/process/input_segments.h"

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
    if (error_ && goes_on_) std::rethrow_exception(error_);
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
    Supply supply = Supply::ended;
    try {
      supply = run_.next(batch, idle);
    } catch (...) {
      error_ = std::current_exception();
    }
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
    backend_.begin_dispatch(control, Engine::interpreter);
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
    if (report.orders & kYieldOrder) backend_.guests_write_code_ = true;
    backend_.update_common_code();
    find_memory(report, served);
    segments_.tidy(backend_.processes_->device_inputs(), lanes_.data(), backend_.lanes_, stream);
    if (run_.cancelled() || backend_.is_cancelled()) goes_on_ = false;
  }

  /// Lets lanes that are out of memory try again if there may be some now: other teams give theirs back when they take
  /// inputs. If nothing else happens, they end.
  void find_memory(const Report& report, const ServedOnHost& served) {
    queue_.gives_up_starved = 0;
    starved_ |= report.stops[static_cast<u32>(StopCode::out_of_memory)] != 0 || served.starved != 0;
    if (!starved_) return;
    const bool progress = report.retired != 0 || !ready_.empty();
    if (backend_.make_room() || progress) {
      launch_resume_starved(backend_.view_, backend_.stream_);
      starved_ = false;
    } else {
      queue_.gives_up_starved = 1;
      starved_ = false;
    }
  }

  void deliver() {
    if (!ready_.empty() && goes_on_) goes_on_ = run_.done(ready_, ready_tickets_, progress_);
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
  bool starved_ = false;      // a lane is out of memory and has not tried again
  std::exception_ptr error_;  // of the source: thrown when the inputs before have their digests
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
