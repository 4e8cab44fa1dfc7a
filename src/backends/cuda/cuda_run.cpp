// SPDX-License-Identifier: Apache-2.0
// Runs a CUDA fleet: one launch and one synchronisation for each batch, or for a chain of batches that the device
// launches.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "backends/cuda/cuda_backend.h"
#include "backends/run_batches.h"
#include "myriarm/error.h"

namespace myriarm::cuda {
namespace {

/// For how long a launch goes on while a lane waits for the host to serve its call, in ticks of 2 ms.
constexpr u64 kHostTicks = 1;

/// How long a launch goes on whose fleet compares numbers of blocks, unless one is only tried: 0.27 s.
constexpr u64 kComparedTicks = 128;

/// Between two looks at a launch the host sleeps for this part of the time that it has taken, but no longer than a chunk of
/// output may wait, and not at all where the system cannot sleep for so short a time.
constexpr u32 kPauses = 16;
constexpr std::chrono::microseconds kLeastPause{50}, kMostPause{200};

void pause_since(std::chrono::steady_clock::time_point begin) {
  const auto part = (std::chrono::steady_clock::now() - begin) / kPauses;
  if (part < kLeastPause) std::this_thread::yield();
  else std::this_thread::sleep_for(std::min<std::chrono::steady_clock::duration>(part, kMostPause));
}

/// Launches one batch, as *view.control says; the counts of *view.report must be zero.
void launch_run(const Launch& launch, const View& view, cudaStream_t stream) {
  View argument = view;
  void* arguments[] = {&argument};
  cudaLaunchKernel(launch.kernel, launch.blocks, launch.threads, arguments, launch.shared_bytes, stream);
}

}  // namespace

Launch run_launch(const View& view, u32 multiprocessors, Engine engine) {
  return engine == Engine::stepper ? stepper_launch(view) : interpreter_launch(view, multiprocessors);
}

void CudaBackend::begin_dispatch(const Control& control, Engine engine) {
  const bool translates = engine == Engine::translate && control.batches <= 1;
  TranslatedProgram* const translated = translates ? translated_program() : nullptr;
  // The kernel for other programs knows no end of a launch by time, so that a trial could take for ever.
  is_compared_ = translated != nullptr && processes_ && translated->chooses();
  const bool interprets = is_compared_ && translated->choice().next() == KernelChoice::kInterpreted;
  runs_translated_ = translated != nullptr && !interprets;
  asks_to_translate_ = engine == Engine::translate;
  const Launch launch = run_launch(view_, multiprocessors_.count, engine);
  // Launches of fleets without processes have no end by time, those of queues may find no input, and the kernels for pages that differ
  // were not measured with few blocks.
  compares_blocks_ = processes_ && queue_host_ == nullptr && view_.processes.pages_differ == 0 &&
                     translated == nullptr && engine != Engine::stepper && control.batches <= 1 &&
                     few_is_a_choice(launch.blocks, launch.shared_bytes, multiprocessors_);
  const bool few = compares_blocks_ && blocks_choice_.next() == kFewBlocksAtOnce;
  if (processes_) processes_->output().begin(stream_);
  *host_control_.data() = control;
  if (compares_blocks_) {
    u64& ticks = host_control_.data()->launch_ticks;
    const u64 trial = blocks_choice_.most_ticks(), most = trial != 0 ? trial : kComparedTicks;
    ticks = ticks != 0 ? std::min(ticks, most) : most;
  }
  if (translated != nullptr) {
    const u64 trial = is_compared_ ? translated->choice().most_ticks() : 0;
    const u64 most = trial != 0 ? std::min(trial, translated->launch_ticks()) : translated->launch_ticks();
    u64& ticks = host_control_.data()->launch_ticks;
    ticks = ticks != 0 ? std::min(ticks, most) : most;
  }
  check(cudaMemcpyAsync(control_.data(), host_control_.data(), sizeof(Control), cudaMemcpyHostToDevice, stream_),
        "starting the engine");
  // A run that begins cancelled does nothing: warps that do not read the cancel flag find it in the report.
  *host_report_.data() = {};
  host_report_.data()->orders = std::atomic_ref(*cancel_.data()).load() != 0 ? u32{kCancelOrder} : 0;
  host_report_.data()->wants_code = code_wanted_;
  check(cudaMemcpyAsync(report_.data(), host_report_.data(), sizeof(Report), cudaMemcpyHostToDevice, stream_),
        "starting the engine");
  if (runs_translated_) {
    translated->launch(view_, multiprocessors_, stream_);
  } else {
    divide_for(launch, multiprocessors_, few);
    if (control.batches > 1) chain(engine).launch(stream_);
    else launch_run(launch, view_, stream_);
  }
  check(cudaGetLastError(), "starting the engine");
  // From here on: the first launch of a kernel loads it, which takes 0.1 s.
  began_at_ = std::chrono::steady_clock::now();
  check(cudaMemcpyAsync(host_report_.data(), report_.data(), sizeof(Report), cudaMemcpyDeviceToHost, stream_),
        "fetching the run's report");
}

Report CudaBackend::end_dispatch() {
  if (processes_ && queue_host_ == nullptr) take_output_meanwhile();
  synchronize("running the guest");
  Report report = *host_report_.data();
  code_wanted_ |= report.wants_code != 0;
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began_at_;
  launch_seconds_ = took.count();
  if (is_compared_) {
    // While lanes wait for their next step, multiprocessors may have nothing to do.
    if (host_control_.data()->in_steps != 0 && report.left != 0) translated_->choice().ended_otherwise();
    else translated_->choice().ended(report.retired, took.count());
  }
  if (compares_blocks_) compare_blocks(report, took.count());
  if (asks_to_translate_ && !runs_translated_) retired_interpreted_ += report.retired;
  if (runs_translated_) {
    retired_translated_ += report.retired;
    translated_->between_launches(report.retired, stream_);
  }
  if (host_control_.data()->batches <= 1) report.batches = 1;
  return report;
}

void CudaBackend::compare_blocks(const Report& report, double seconds) {
  const Launch launch = run_launch(view_, multiprocessors_.count, Engine::interpreter);
  const bool few = blocks_choice_.next() == kFewBlocksAtOnce;
  const u32 at_once = blocks_at_once(launch.blocks, launch.shared_bytes, multiprocessors_, few);
  // With fewer lanes than the device runs at once under way, as where they have ended or wait for their next step, multiprocessors may have
  // waited for others.
  const u64 lanes_at_once = u64{at_once} * multiprocessors_.count * kWarps * kTeam;
  if (report.stops[static_cast<u32>(StopCode::none)] < lanes_at_once) return blocks_choice_.ended_otherwise();
  const double full = full_part(launch.blocks, multiprocessors_, at_once);
  blocks_choice_.ended(static_cast<u64>(static_cast<double>(report.retired) * full), seconds);
}

LanesInStep CudaBackend::steps_of(const RunOrder& order) const {
  // A queue gives each lane its own input; a run whose caller serves calls, or asks for batches, comes back to it in between; and the stepper's
  // kernel knows no steps.
  const bool steps = processes_ && queue_host_ == nullptr && view_.teams > 1 && order.engine != Engine::stepper &&
                     order.batch == ~u64{0} && order.batches <= 1 && order.budget >= LanesInStep::kLeastBudget &&
                     !order.returns_for_calls;
  const Launch launch = run_launch(view_, multiprocessors_.count, Engine::interpreter);
  const u32 at_once = blocks_at_once(launch.blocks, launch.shared_bytes, multiprocessors_, false);
  return {steps, rounded_up(launch.blocks, u64{at_once} * multiprocessors_.count)};
}

void CudaBackend::begin_step(LanesInStep& in_step) {
  const Processes::Apart lanes = processes_->lanes_apart(view_, stream_);
  in_step.begin_next(lanes.compared, lanes.apart);
  launch_begin_step(view_, in_step.instructions(), stream_);
}

void CudaBackend::take_output_meanwhile() {
  const auto begin = std::chrono::steady_clock::now();
  try {
    while (cudaStreamQuery(stream_) == cudaErrorNotReady) {
      if (!processes_->output().take_some()) pause_since(begin);
    }
  } catch (...) {
    cudaStreamSynchronize(stream_);
    throw;
  }
}

Chain& CudaBackend::chain(Engine engine) {
  const u8* bytes = reinterpret_cast<const u8*>(&view_);
  if (chain_ == nullptr || chain_engine_ != engine || !std::equal(chain_view_.begin(), chain_view_.end(), bytes)) {
    chain_.reset();
    chain_ = std::make_unique<Chain>(view_, multiprocessors_.count, engine, stream_);
    chain_view_.assign(bytes, bytes + sizeof view_);
    chain_engine_ = engine;
  }
  return *chain_;
}

std::vector<u32> CudaBackend::hold_others_back(const RunOrder& order, std::vector<StopRecord>& kept) {
  std::vector<u32> others;
  if (order.lanes.empty()) return others;
  std::vector<bool> wanted(lanes_);
  for (u32 lane : order.lanes) wanted[lane] = true;
  const std::span<const StopRecord> now = stops();
  for (u32 lane = 0; lane < lanes_; lane++) {
    const StopCode code = now[lane].code;
    const bool runs = code == StopCode::none || code == StopCode::budget || code == StopCode::cancelled ||
                      (code == StopCode::syscall && order.serves_stopped && is_process(lane));
    if (wanted[lane] || !runs) continue;
    others.push_back(lane);
    kept.push_back(now[lane]);
  }
  if (!others.empty())
    scatter_stops(others, std::vector<StopRecord>(others.size(), {StopCode::halt, FaultCode::none, 0, 0, 0}));
  return others;
}

RunReport CudaBackend::run(const RunOrder& order) {
  use();
  if (processes_) processes_->send_inputs(stream_);
  std::vector<StopRecord> kept;
  const std::vector<u32> held_back = hold_others_back(order, kept);
  if (is_flat(view_)) launch_check_code(view_, image_, stream_);
  stops_are_current_ = false;
  Control control{};
  control.budget = order.budget;
  control.batch = order.batch;
  control.go_on = order.go_on;
  const bool returns = order.returns_for_calls && order.stops_at_calls && order.batch == ~u64{0};
  control.stops_at_calls = returns ? kReturnsForCalls : order.stops_at_calls ? kStopsAtCalls : kServesCalls;
  control.serves_stopped = order.serves_stopped;
  control.host_ticks = kHostTicks;
  // Of all launches since lanes that starve were resumed: one that ends early may have been the one in which they stopped.
  u64 starved = 0;   // lanes that have stopped for want of memory
  u64 progress = 0;  // instructions
  bool pool_grows = pool_is_automatic_;
  const bool predecodes = order.engine != Engine::stepper;
  LanesInStep in_step = steps_of(order);
  auto cancelled = [&] { return is_cancelled(); };
  auto resume_starved = [&] {
    if (starved == 0) return false;  // the host has refused the output of the lanes
    // Processes may have given up frames in the launch.
    const bool freed = processes_ && progress != 0 && pool().free_count != 0;
    if (freed || release_exited() || make_room()) {
      launch_resume_starved(view_, stream_);
      return true;
    }
    pool_grows = false;
    return false;
  };
  auto dispatch_batches = [&](Phase phase, u64 batches) {
    constexpr auto kYielded = static_cast<u32>(StopCode::none);
    DispatchReport done;
    starved = progress = 0;
    control.phase = phase;
    control.batches = batches;
    for (;;) {
      if (predecodes) predecode_if_due();
      control.pool_may_grow = pool_grows || !code_blocks_.empty();
      control.yield_ticks = code_delay_.ticks_left(std::chrono::steady_clock::now());
      control.launch_ticks = in_step.most_ticks();
      control.in_steps = in_step.is_in_use();
      control.batch = in_step.is_in_use() ? in_step.instructions() : order.batch;
      if (predecodes) choose_kernel(control);
      begin_dispatch(control, order.engine);
      const Report report = end_dispatch();
      control.serves_stopped = 0;
      starved += report.stops[static_cast<u32>(StopCode::out_of_memory)];
      progress += report.retired;
      done.retired += report.retired;
      if (control.phase == phase) done.batches = report.batches;
      if (!in_step.is_in_use()) done.left += report.left;
      for (u32 code = 0; code < kStopCodes; code++) done.stops[code] += report.stops[code];
      // Lanes that left for code to be predecoded, or for the host to serve calls, go on with their batch.
      done.stops[kYielded] = 0;
      ServedOnHost served;
      if (processes_) served = attend_to_processes(report, done);
      starved += served.starved;
      const u64 paused = report.stops[kYielded] + served.answered;
      if (in_step.is_in_use()) in_step.launch_ended(report.left, paused, launch_seconds_);
      if (paused == 0 && in_step.waiting() == 0) return done;
      // Lanes that starve would else wait until no other one goes on.
      if (pool_grows && starved != 0 && !is_cancelled() && resume_starved()) {
        done.stops[static_cast<u32>(StopCode::out_of_memory)] -= starved;
        in_step.resumed(starved);
        starved = progress = 0;
      }
      if (in_step.is_over()) begin_step(in_step);
      control.phase = Phase::again;
      control.batches = 1;
      if (report.orders & kYieldOrder) guests_have_changed_code();
      update_common_code();
      if (returns && served.calling == 0 && done.stops[static_cast<u32>(StopCode::syscall)] != 0) {
        done.paused = paused;
        return done;
      }
    }
  };
  const RunReport report = run_batches(order, dispatch_batches, cancelled, resume_starved);
  if (!held_back.empty()) scatter_stops(held_back, kept);
  std::ranges::sort(given_back_);
  tell_of_given_back(std::vector<u32>(given_back_));
  release_exited();
  return report;
}

void CudaBackend::cancel() { std::atomic_ref(*cancel_.data()).store(1); }
void CudaBackend::clear_cancel() { std::atomic_ref(*cancel_.data()).store(0); }

void CudaBackend::progress(std::span<u64> retired, std::span<StopCode> codes) const {
  // Read the stop first: the device writes the count that belongs to it before it.
  for (size_t i = 0; i < codes.size(); i++) codes[i] = std::atomic_ref(codes_.data()[i]).load();
  for (size_t i = 0; i < retired.size(); i++)
    retired[i] = std::atomic_ref(progress_.data()[i]).load(std::memory_order_relaxed);
}

void CudaBackend::mirror_progress() {
  check(cudaMemcpyAsync(progress_.data(), plane(Field::instructions), lanes_ * sizeof(u64), cudaMemcpyDeviceToHost,
                        stream_),
        "fetching the lanes' progress");
  synchronize("fetching the lanes' progress");
}

std::span<const StopRecord> CudaBackend::stops() {
  if (!stops_are_current_) {
    use();
    check(cudaMemcpyAsync(stops_.data(), device_stops_.data(), lanes_ * sizeof(StopRecord), cudaMemcpyDeviceToHost,
                          stream_),
          "fetching stops");
    synchronize("fetching stops");
    stops_are_current_ = true;
  }
  return stops_;
}

}  // namespace myriarm::cuda
