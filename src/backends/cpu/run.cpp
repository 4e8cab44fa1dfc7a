// SPDX-License-Identifier: Apache-2.0
// Runs lanes on the host's threads: decides which lanes a batch runs and how far each may go, and counts what they did.
#include <algorithm>
#include <mutex>

#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/engine.h"
#include "backends/cpu/fp_environment.h"
#include "backends/run_batches.h"
#include "core/system/registers.h"

namespace myriarm::cpu {
namespace {

/// Instructions between two checks of the cancel flag, and between two counts that other threads see. They take some
/// tenths of a millisecond, or some milliseconds if every instruction takes a slow path.
constexpr u64 kQuantum = u64{1} << 17;

/// Runs the lane up to `limit` and notes where it was, as long as it runs this code and goes on.
void follow(Lane& lane, u64 limit, const CodeSpace& code, std::vector<u64>& path) {
  const EngineEntry& stepper = engine_entry(Engine::stepper);
  while (lane.retired < limit && !lane.restart && lane.stop.code == StopCode::none && &code_of(lane) == &code) {
    path.push_back(lane.pc);
    stepper.run(lane, lane.retired + 1, 1);
  }
}

}  // namespace

struct CpuBackend::Tally {
  u64 retired = 0, left = 0, paused = 0;
  u64 stops[kStopCodes] = {};  // without the lanes of `left`, and those that are paused

  void add(const Tally& other) {
    retired += other.retired;
    left += other.left;
    paused += other.paused;
    for (u32 i = 0; i < kStopCodes; i++) stops[i] += other.stops[i];
  }
};

void CpuBackend::execute(Lane& lane, u64 index, u64 limit, const Batch& batch, Sampler* sampler) {
  const u64 begun = lane.retired;
  const bool is_process = process_of(index) != nullptr;
  u64 published = begun, considered = begun;
  for (;;) {
    if (lane.retired >= limit) {
      lane.stop = stop_record(StopCode::budget);
      return;
    }
    if (cancelled()) {
      lane.stop = stop_record(StopCode::cancelled);
      return;
    }
    u64 until = limit;
    if (is_process) {
      const u64 attention = attention_at(lane);
      if (attention <= lane.retired) {
        if (!deliver_signals(lane, index)) return;
        continue;
      }
      until = std::min(limit, attention);
    }
    if (sampler != nullptr) sampler->retired.note(lane.retired, lane.translated, lane.retired_in_copied);
    const u64 before = lane.retired;
    batch.engine.run(lane, until, sampler == nullptr ? kQuantum : sampler->left());
    if (sampler != nullptr && sampler->is_due(lane.retired - before)) {
      // Where a lane stops says nothing about where it spends its time.
      const bool runs = !lane.restart && lane.stop.code == StopCode::none;
      const CodeSpace& code = code_of(lane);
      sampler->next(runs && batch.translation->look(code, lane.pc, [&](u64 most, std::vector<u64>& path) {
        follow(lane, std::min(until, lane.retired + most), code, path);
      }));
    }
    if (lane.is_at_hot_exit) {
      lane.is_at_hot_exit = false;
      if (!lane.restart && lane.stop.code == StopCode::none) batch.translation->look_at_exit(code_of(lane), lane.pc);
    }
    if (lane.restart) {
      lane.restart = false;
      lane.stop = {};
      continue;
    }
    if (is_process && is_fault_of_process(lane.stop.code)) {
      if (!deliver_fault(lane, index)) return;
      continue;
    }
    if (batch.serves_calls && lane.stop.code == StopCode::syscall && is_process) {
      if (!serve_call(lane, index)) return;
      if (lane.retired - published < kQuantum) continue;
    }
    if (lane.stop.code == StopCode::none) {
      published = lane.retired;
      publish(index, lane.retired);
      if (batch.returns != nullptr && lane.retired - begun >= kQuantum &&
          batch.returns->load(std::memory_order_relaxed)) {
        return;
      }
      // As often as without a sampler.
      if (sampler == nullptr || lane.retired - considered >= kQuantum) {
        considered = lane.retired;
        consider_publishing(lane, false);
      }
      continue;
    }
    if (retires_as_it_stops(lane.stop.code)) {
      lane.pc += 4;
      lane.retired++;
    }
    return;
  }
}

void CpuBackend::run_lane(u64 index, u64 limit, const Batch& batch, Sampler* sampler) {
  Lane lane;
  attach(lane, index);
  if (flat_ && batch.host_may_have_written) find_changed_pages(lane);
  for (u32 i = 0; i <= kSlotSP; i++) lane.r[i] = field(static_cast<Field>(i))[index];
  lane.set_flags(unpack_flags(static_cast<u32>(field(Field::nzcv)[index])));
  for (int i = 0; i < static_cast<int>(SystemField::count); i++) {
    lane.system[i] = system_field(static_cast<SystemField>(i))[index];
  }
  // The host may have written more bits than these registers have, through an ArrayView.
  lane.system[static_cast<int>(SystemField::fpcr)] &= kFpcrMask;
  lane.system[static_cast<int>(SystemField::fpsr)] &= kFpsrMask;
  lane.pc = field(Field::pc)[index];
  lane.retired = retired(index);
  if (sampler != nullptr) {
    sampler->retired.begin(lane.retired);
    batch.translation->attach(lane, index, *sampler);
  }
  const bool calls = stops_[index].code == StopCode::syscall;
  if (calls) {  // back before the SVC, as serve_call() expects it
    lane.pc -= 4;
    lane.retired -= lane.retired != 0;
  }
  if (take_waiting_writes(lane, index) && update_code(lane) && (!calls || serve_call(lane, index))) {
    execute(lane, index, limit, batch, sampler);
  }
  consider_publishing(lane, true);
  for (u32 i = 0; i <= kSlotSP; i++) field(static_cast<Field>(i))[index] = lane.r[i];
  field(Field::nzcv)[index] = pack_flags(lane.flags());
  for (int i = 0; i < static_cast<int>(SystemField::count); i++) {
    system_field(static_cast<SystemField>(i))[index] = lane.system[i];
  }
  field(Field::pc)[index] = lane.pc;
  publish(index, lane.retired);
  if (sampler != nullptr) sampler->retired.note(lane.retired, lane.translated, lane.retired_in_copied);
  stops_[index] = lane.stop;
  if (lane.stop.code == StopCode::exited && process_of(index) != nullptr) end_process(index);
}

void CpuBackend::begin_batch(const RunOrder& order, Phase phase) {
  const u64* limits = field(Field::limit);
  for_lanes(order.lanes, [&](u64 lane) {
    const StopCode code = stops_[lane].code;
    if (phase == Phase::first) {
      run_ends_[lane] = end_of_run(limits[lane], retired(lane), order.budget, code, order.go_on);
    }
    if (code != StopCode::none && takes_part(code, phase, order.go_on, run_ends_[lane], retired(lane))) {
      set_stop(lane, {});
    }
  });
}

CpuBackend::Tally CpuBackend::run_batch(const RunOrder& order, const Batch& batch) {
  std::atomic<u64> next{0};
  std::mutex mutex;
  Tally total;
  // Neighbouring lanes go to one thread, so that two threads seldom write to one cache line of the state arrays.
  const u64 lanes = count(order.lanes);
  const u64 chunk = std::clamp<u64>(lanes / (workers_.size() * 16), 1, 64);
  auto work = [&] {
    DefaultFpEnvironment environment;
    Tally tally;
    Sampler* const sampler = batch.translation == nullptr ? nullptr : batch.translation->take_sampler();
    for (u64 begin; (begin = next.fetch_add(chunk)) < lanes;) {
      for (u64 i = begin; i < std::min(begin + chunk, lanes); i++) {
        const u64 lane = order.lanes.empty() ? i : order.lanes[i];
        const bool calls =
            stops_[lane].code == StopCode::syscall && batch.serves_stopped && process_of(lane) != nullptr;
        if (stops_[lane].code != StopCode::none && !calls) continue;
        const u64 before = retired(lane), limit = end_of_batch(run_ends_[lane], before, order.batch);
        if (before >= limit && !calls) {
          stops_[lane] = stop_record(StopCode::budget);
        } else if (cancelled()) {
          if (!calls) stops_[lane] = stop_record(StopCode::cancelled);
        } else {
          run_lane(lane, limit, batch, sampler);
          if (batch.returns != nullptr && stops_[lane].code == StopCode::syscall) batch.returns->store(true);
        }
        const u64 after = retired(lane);
        const StopCode code = stops_[lane].code;
        const bool left = is_left(code, run_ends_[lane], after);
        tally.retired += after - before;
        if (left) {
          tally.left++;
        } else if (code == StopCode::none) {
          tally.paused++;
        } else {
          tally.stops[static_cast<u32>(code)]++;
        }
        // To other threads, a lane that waits for its next batch runs. If no batch follows, show_lanes_left() shows its
        // stop.
        if (!left) std::atomic_ref(codes_[lane]).store(code, std::memory_order_release);
      }
    }
    if (sampler != nullptr) batch.translation->give_back(sampler);
    std::lock_guard lock(mutex);
    total.add(tally);
  };
  workers_.run(static_cast<unsigned>(std::min<u64>(workers_.size(), (lanes + chunk - 1) / chunk)), work);
  return total;
}

RunReport CpuBackend::run(const RunOrder& order) {
  const bool translates = order.engine == Engine::translate;
  if (translates && translation_ == nullptr) {
    auto made = std::make_unique<Translation>(compile_threads_, caches_translation_,
                                              static_cast<bool>(flat_) || pool_.has_order(), kQuantum);
    std::lock_guard lock(translation_mutex_);
    translation_ = std::move(made);
  }
  std::atomic<bool> returns{false};
  Batch batch = {translates && translation_->changes_often() ? changing_engine_entry() : engine_entry(order.engine),
                 !order.stops_at_calls,
                 order.serves_stopped,
                 true,
                 translates ? translation_.get() : nullptr,
                 order.returns_for_calls && order.batch == ~u64{0} ? &returns : nullptr};
  auto dispatch = [&](Phase phase, u64) {
    begin_batch(order, phase);
    returns = false;
    const Tally tally = run_batch(order, batch);
    batch.host_may_have_written = false;
    DispatchReport report;
    report.retired = tally.retired;
    report.batches = 1;
    report.left = tally.left;
    report.paused = tally.paused;
    std::copy_n(tally.stops, kStopCodes, report.stops);
    return report;
  };
  const RunReport report = run_batches(
      order, dispatch, [&] { return cancelled(); }, [] { return false; });
  if (report.left != 0) show_lanes_left(order.lanes);
  return report;
}

TranslationReport CpuBackend::translation() const {
  std::lock_guard lock(translation_mutex_);
  return translation_ == nullptr ? TranslationReport() : translation_->report();
}

void CpuBackend::show_lanes_left(std::span<const u32> lanes) {
  for_lanes(lanes, [&](u64 lane) {
    if (stops_[lane].code == StopCode::budget) {
      std::atomic_ref(codes_[lane]).store(StopCode::budget, std::memory_order_release);
    }
  });
}

void CpuBackend::scatter_stops(std::span<const u32> lanes, std::span<const StopRecord> stops) {
  size_t i = 0;
  for_lanes(lanes, [&](u64 lane) { set_stop(lane, stops[i++]); });
}

}  // namespace myriarm::cpu
