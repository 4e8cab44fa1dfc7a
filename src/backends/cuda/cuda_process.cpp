// SPDX-License-Identifier: Apache-2.0
// What the host does between launches for lanes that are processes: it takes their output, serves the calls that it sees,
// and releases the memory of those that have exited.
#include <algorithm>
#include <numeric>
#include <set>

#include "backends/cuda/cuda_backend.h"
#include "backends/hosted_machine.h"

namespace myriarm::cuda {
namespace {

/// The stop of a lane that makes its call again, on the device.
constexpr StopRecord kMakesAgain = {StopCode::syscall, FaultCode::none, kCallsAgain, 0, 0};
constexpr StopRecord kMakesOnDevice = {StopCode::syscall, FaultCode::none, kCallsHere, 0, 0};

}  // namespace

void CudaBackend::process_inputs_changed(std::span<const u32> lanes) {
  if (processes_) processes_->inputs_changed(lanes);
}

void CudaBackend::choose_kernel(Control& control) {
  update_common_code();  // the code of guests may have settled
  if (!processes_ || is_flat(view_)) return;
  look_at_code_once_settled(control);
  differing_pages_.begin(view_, control, [&] { return processes_->teams_that_differ(view_, stream_); });
}

CudaBackend::ServedOnHost CudaBackend::attend_to_processes(const Report& report, DispatchReport& done) {
  differing_pages_.end(report);
  if (report.wants_tables != 0) make_tables(report.wants_tables);
  launch_free_given_up(view_, stream_);
  std::vector<u32> refused;
  if (queue_host_ == nullptr) refused = processes_->output().take_rest({report.output_head});
  ServedOnHost served;
  if (report.host_calls != 0) served = attend_to_calls(processes_->waiting(report.host_calls, stream_), done);
  done.stops[static_cast<u32>(StopCode::syscall)] -= report.waits_for_tables;
  served.answered += report.waits_for_tables;
  served.calling += report.waits_for_tables;
  if (!refused.empty()) {
    stops_are_current_ = false;
    const std::span<const StopRecord> now = stops();
    for (u32 lane : refused) {
      u64& counted = done.stops[static_cast<u32>(now[lane].code)];
      if (now[lane].code != StopCode::none && counted != 0) counted--;
      std::atomic_ref(codes_.data()[lane]).store(StopCode::out_of_memory, std::memory_order_relaxed);
    }
    done.stops[static_cast<u32>(StopCode::out_of_memory)] += refused.size();
    launch_refuse_output(view_, upload_lanes(refused), refused.size(), stream_);
  }
  if (report.missing_calls != 0) processes_->report_missing(stream_);
  stops_are_current_ = false;
  return served;
}

CudaBackend::ServedOnHost CudaBackend::attend_to_calls(std::span<const HostCall> calls, DispatchReport& done) {
  // Where the host sees each call, the lane must not come to the same one twice.
  const bool makes_again = host_control_.data()->stops_at_calls == kServesCalls && !is_cancelled();
  std::vector<u32> again, lanes;
  std::vector<bool> starve;
  for (const HostCall& call : calls) {
    const bool starves = call.wanted != 0 && !processes_->bring(call, stream_);
    if (call.wanted != 0 && !starves && makes_again) {
      again.push_back(call.lane);
    } else {
      lanes.push_back(call.lane);
      starve.push_back(starves);
    }
  }
  done.stops[static_cast<u32>(StopCode::syscall)] -= again.size();
  if (!again.empty()) scatter_stops(again, std::vector<StopRecord>(again.size(), kMakesAgain));
  ServedOnHost served;
  if (!lanes.empty()) served = serve_on_host(lanes, starve, makes_again, done);
  served.answered += again.size();
  served.calling += again.size();
  return served;
}

/// `starve`: by place in `lanes`, whether the lane is out of memory. `makes_again`: a lane may come to its call once more.
CudaBackend::ServedOnHost CudaBackend::serve_on_host(std::span<const u32> lanes, const std::vector<bool>& starve,
                                                     bool makes_again, DispatchReport& done) {
  tell_of_given_back(lanes);
  const u64 count = lanes.size();
  const auto fetch = [&](Field field) {
    std::vector<u64> values(count);
    gather(field, lanes, values);
    return values;
  };
  const auto x = [](u32 n) { return static_cast<Field>(static_cast<u32>(Field::x0) + n); };
  std::vector<u64> arguments[6];
  for (u32 n = 0; n < 6; n++) arguments[n] = fetch(x(n));
  std::vector<u64> numbers = fetch(x(8)), pcs = fetch(Field::pc), retired = fetch(Field::instructions);

  ProcessHost& host = queue_host_ ? *queue_host_ : processes_->host();
  std::vector<GivenInput> inputs;
  inputs.reserve(count);
  for (const u32 lane : lanes) inputs.push_back(queue_host_ ? queue_host_->input(lane) : processes_->given(lane));
  // By input: once the host knows that the library lacks a call, the device answers it for all inputs that follow.
  std::vector<u64> order(count);
  std::iota(order.begin(), order.end(), u64{0});
  std::stable_sort(order.begin(), order.end(), [&](u64 a, u64 b) { return inputs[a].number < inputs[b].number; });
  std::set<u32> missing;
  std::vector<u32> served_lanes;
  std::vector<StopRecord> records;
  std::vector<u32> answered, abandoned;
  std::vector<u64> results, old_pcs, old_retired;
  u64 starved = 0, again = 0;
  for (const u64 i : order) {
    const u32 lane = lanes[i];
    const GivenInput& given = inputs[i];
    served_lanes.push_back(lane);
    if (makes_again && !given.traced && !given.host_writes && !starve[i] &&
        missing.contains(static_cast<u32>(numbers[i]))) {
      records.push_back(kMakesAgain);
      again++;
      continue;
    }
    HostedRegisters registers{{}, static_cast<u32>(numbers[i]), retired[i]};
    for (u32 n = 0; n < 6; n++) registers.x[n] = arguments[n][i];
    HostedMachine machine(*this, {view_.window_begin, view_.guest_pages, view_.page_count - view_.guest_pages},
                          processes_->facts(program_of_team_[team_of(lane)]), host, given, lane, registers,
                          is_flat(view_) ? nullptr : this);
    // Once the run is cancelled, the lanes go back before their calls.
    const bool goes_back = is_cancelled() || starve[i];
    const kernel::Result result = goes_back ? kernel::again() : serve_hosted(machine, host, given.traced);
    if (result.served == kernel::Served::missing && processes_->knows_missing(registers.w8, given.number, stream_))
      missing.insert(registers.w8);
    if (result.served == kernel::Served::again && machine.wants_device()) {
      records.push_back(kMakesOnDevice);
      if (given.traced) given_back_.push_back(lane);
      again++;
    } else if (result.served == kernel::Served::again) {
      abandoned.push_back(lane);
      old_pcs.push_back(pcs[i] - 4);
      old_retired.push_back(retired[i] - (retired[i] != 0));
      const bool starves = machine.out_of_memory() || starve[i];
      records.push_back(stop_record(starves ? StopCode::out_of_memory : StopCode::cancelled));
      starved += starves;
      done.retired -= retired[i] - old_retired.back();
    } else if (result.served == kernel::Served::ended) {
      records.push_back(stop_record(StopCode::exited, static_cast<u32>(result.value)));
    } else {
      answered.push_back(lane);
      results.push_back(kernel::sets_x0(result.served) ? static_cast<u64>(result.value) : machine.x(0));
      records.push_back({});
    }
  }
  done.stops[static_cast<u32>(StopCode::syscall)] -= count;
  for (const StopRecord& record : records) {
    if (record.code != StopCode::none && record.code != StopCode::syscall) done.stops[static_cast<u32>(record.code)]++;
  }
  if (!answered.empty()) scatter(Field::x0, answered, results);
  if (!abandoned.empty()) {
    scatter(Field::pc, abandoned, old_pcs);
    scatter(Field::instructions, abandoned, old_retired);
  }
  scatter_stops(served_lanes, records);
  return {answered.size() + again, starved, again};
}

void CudaBackend::tell_of_given_back(std::span<const u32> lanes) {
  if (given_back_.empty()) return;
  ProcessHost& host = queue_host_ ? *queue_host_ : processes_->host();
  std::erase_if(given_back_, [&](u32 lane) {
    const StopRecord stop = stops()[lane];
    const bool is_to_come = stop.code == StopCode::syscall && stop.reserved == kCallsHere;
    if (is_to_come || !std::ranges::binary_search(lanes, lane)) return false;
    LaneSpaces spaces = spaces_ ? fetch_spaces(lane) : LaneSpaces{};
    if (spaces.is_answered == 0) return true;  // it waits, or is out of memory: it is made again
    spaces.is_answered = 0;
    keep_spaces(lane, spaces);
    const GivenInput given = processes_->given(lane);
    HostedMachine machine(*this, {view_.window_begin, view_.guest_pages, view_.page_count - view_.guest_pages},
                          processes_->facts(program_of_team_[team_of(lane)]), host, given, lane, {}, this);
    MachineCall call(machine, lane, 0);
    host.after(call, &spaces.result);
    return true;
  });
}

bool CudaBackend::release_exited() {
  if (!processes_ || processes_->keep_memory()) return false;
  std::vector<u32> exited;
  const std::span<const StopRecord> now = stops();
  for (u32 lane = 0; lane < lanes_; lane++) {
    if (now[lane].code == StopCode::exited && has_memory(lane) && is_process(lane)) exited.push_back(lane);
  }
  if (!exited.empty()) release_memory(exited);
  return !exited.empty();
}

}  // namespace myriarm::cuda
