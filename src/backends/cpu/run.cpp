// SPDX-License-Identifier: Apache-2.0
// Running lanes on the host's threads: which lanes a batch runs, how far each may go, and what is counted.
#include <algorithm>
#include <mutex>

#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/fp_environment.h"
#include "core/system/registers.h"

namespace myriarm::cpu {
namespace {

/// Instructions between two looks at the cancel flag, and between two counts that other threads see: some tenths of a
/// millisecond, and still some milliseconds where every instruction takes a slow path.
constexpr u64 kQuantum = u64{1} << 17;
/// Counts are kept times 16; beyond this a limit is endless.
constexpr u64 kEndlessCount = u64{1} << 58;

u64 saturating_add(u64 a, u64 b) { return a > ~u64{0} - b ? ~u64{0} : a + b; }

StopRecord stop_of(StopCode code) { return {code, FaultCode::none, 0, 0, 0}; }

}  // namespace

struct CpuBackend::Tally {
  u64 retired = 0, left = 0;
  u64 stops[kStopCodes] = {};  // without those that are left

  void add(const Tally& other) {
    retired += other.retired;
    left += other.left;
    for (u32 i = 0; i < kStopCodes; i++) stops[i] += other.stops[i];
  }
};

void CpuBackend::execute(Lane& lane, u64 index, Position& at, u64 limit) {
  for (;;) {
    if (at.retired >= limit) {
      lane.stop = stop_of(StopCode::budget);
      return;
    }
    if (cancelled()) {
      lane.stop = stop_of(StopCode::cancelled);
      return;
    }
    if (!enter_region(lane, at.pc, at.retired)) return;
    // The fast handlers may overrun a limit by the longest run without a taken branch; the rest is stepped.
    u64 slack = lane.shared_code->longest_run;
    if (*lane.own_code != nullptr) slack = std::max(slack, (*lane.own_code)->longest_run());
    const bool stepping = limit - at.retired <= slack;
    const u64 until = stepping ? limit : std::min(limit - slack, at.retired + kQuantum);
    lane.fast_limit = until * sizeof(Operands);
    lane.step_limit = limit * sizeof(Operands);
    interpret(lane, stepping);
    at.pc = lane.op == &lane.far ? lane.far_pc : lane.pc_of(lane.op);
    at.retired = (lane.bias + reinterpret_cast<u64>(lane.op)) / sizeof(Operands);
    if (lane.restart) {
      lane.restart = false;
      lane.stop = {};
    }
    switch (lane.stop.code) {
      case StopCode::none: publish(index, at.retired); continue;
      case StopCode::syscall:
        at.pc += 4;
        at.retired++;
        return;
      case StopCode::undefined: lane.stop.address = fetch_word(lane, at.pc); return;
      default: return;
    }
  }
}

void CpuBackend::run_lane(u64 index, u64 limit) {
  Lane lane;
  attach(lane, index);
  for (u32 i = 0; i <= kSlotSP; i++) lane.r[i] = field(static_cast<Field>(i))[index];
  Flags flags = unpack_flags(static_cast<u32>(field(Field::nzcv)[index]));
  lane.n = flags.n, lane.z = flags.z, lane.c = flags.c, lane.v_flag = flags.v;
  for (int i = 0; i < static_cast<int>(SystemField::count); i++) {
    lane.system[i] = system_field(static_cast<SystemField>(i))[index];
  }
  // The host may have written anything through a view.
  lane.system[static_cast<int>(SystemField::fpcr)] &= kFpcrMask;
  lane.system[static_cast<int>(SystemField::fpsr)] &= kFpsrMask;
  Position at{field(Field::pc)[index], retired(index)};
  execute(lane, index, at, limit);
  for (u32 i = 0; i <= kSlotSP; i++) field(static_cast<Field>(i))[index] = lane.r[i];
  field(Field::nzcv)[index] = pack_flags({lane.n != 0, lane.z != 0, lane.c != 0, lane.v_flag != 0});
  for (int i = 0; i < static_cast<int>(SystemField::count); i++) {
    system_field(static_cast<SystemField>(i))[index] = lane.system[i];
  }
  field(Field::pc)[index] = at.pc;
  publish(index, at.retired);
  stops_[index] = lane.stop;
}

bool CpuBackend::has_budget(u64 lane) const {
  return (ceilings_[lane] & kHeld) == 0 && retired(lane) < ceilings_[lane];
}

void CpuBackend::begin_run(const RunOrder& order) {
  const u64* limits = field(Field::limit);
  for (u64 lane = 0; lane < lanes_; lane++) {
    const StopCode code = stops_[lane].code;
    ceilings_[lane] = std::min({limits[lane], saturating_add(retired(lane), order.budget), kEndlessCount});
    if (code != StopCode::budget && code != StopCode::cancelled) continue;
    if (order.go_on) {
      set_stop(lane, {});
    } else if (code == StopCode::budget) {
      ceilings_[lane] |= kHeld;
    }
  }
}

void CpuBackend::go_on() {
  for (u64 lane = 0; lane < lanes_; lane++) {
    if (stops_[lane].code == StopCode::budget && has_budget(lane)) set_stop(lane, {});
  }
}

CpuBackend::Tally CpuBackend::run_batch(u64 batch, bool host_was_here) {
  std::atomic<u64> next{0};
  std::mutex mutex;
  Tally total;
  // Neighbouring lanes go to one thread, so that two threads seldom write to one cache line of the state arrays.
  const u64 chunk = std::clamp<u64>(lanes_ / (workers_.size() * 16), 1, 64);
  auto work = [&] {
    DefaultFpEnvironment environment;
    Tally tally;
    for (u64 begin; (begin = next.fetch_add(chunk)) < lanes_;) {
      for (u64 lane = begin; lane < std::min(begin + chunk, lanes_); lane++) {
        if (stops_[lane].code != StopCode::none) continue;
        const u64 before = retired(lane), ceiling = ceilings_[lane] & ~kHeld;
        const u64 limit = std::min(ceiling, saturating_add(before, batch));
        if (before >= limit) {
          stops_[lane] = stop_of(StopCode::budget);
        } else if (cancelled()) {
          stops_[lane] = stop_of(StopCode::cancelled);
        } else {
          if (flat_ && host_was_here) renew_code(lane);
          run_lane(lane, limit);
        }
        const u64 after = retired(lane);
        const StopCode code = stops_[lane].code;
        const bool left = code == StopCode::budget && after < ceiling;
        tally.retired += after - before;
        if (left) {
          tally.left++;
        } else {
          tally.stops[static_cast<u32>(code)]++;
        }
        // A lane that waits for its next batch is running, to those who look; run() says otherwise if none comes.
        if (!left) std::atomic_ref(codes_[lane]).store(code, std::memory_order_release);
      }
    }
    std::lock_guard lock(mutex);
    total.add(tally);
  };
  workers_.run(static_cast<unsigned>(std::min<u64>(workers_.size(), (lanes_ + chunk - 1) / chunk)), work);
  return total;
}

RunReport CpuBackend::run(const RunOrder& order) {
  RunReport report;
  Tally tally;
  if (order.first) begin_run(order);
  while (report.batches < order.batches) {
    if (!order.first || report.batches != 0) go_on();
    tally.left = 0;
    tally.add(run_batch(order.batch, report.batches == 0));
    report.batches++;
    if (tally.left == 0 || cancelled()) break;
  }
  if (tally.left != 0) {
    const StopCode code = cancelled() ? StopCode::cancelled : StopCode::budget;
    for (u64 lane = 0; lane < lanes_; lane++) {
      if (stops_[lane].code == StopCode::budget && has_budget(lane)) set_stop(lane, stop_of(code));
    }
    tally.stops[static_cast<u32>(code)] += tally.left;
    if (code == StopCode::budget) report.left = tally.left;
  }
  report.retired = tally.retired;
  std::copy_n(tally.stops, kStopCodes, report.stops);
  return report;
}

void CpuBackend::scatter_stops(std::span<const u32> lanes, std::span<const StopRecord> stops) {
  size_t i = 0;
  for_lanes(lanes, [&](u64 lane) { set_stop(lane, stops[i++]); });
}

}  // namespace myriarm::cpu
