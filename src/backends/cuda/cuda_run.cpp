// SPDX-License-Identifier: Apache-2.0
// Running a CUDA fleet: one launch and one synchronisation for a batch, or a chain of batches that the device launches.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "backends/cuda/cuda_backend.h"
#include "myriarm/error.h"

namespace myriarm::cuda {

/// One batch, or a chain of them.
Report CudaBackend::dispatch(const Control& control) {
  *host_control_.data() = control;
  check(cudaMemcpyAsync(control_.data(), host_control_.data(), sizeof(Control), cudaMemcpyHostToDevice, stream_),
        "starting the interpreter");
  // A run that begins cancelled does nothing: warps that do not look themselves know it too.
  *host_report_.data() = {};
  host_report_.data()->cancelled = std::atomic_ref(*cancel_.data()).load();
  check(cudaMemcpyAsync(report_.data(), host_report_.data(), sizeof(Report), cudaMemcpyHostToDevice, stream_),
        "starting the interpreter");
  if (control.batches > 1) {
    const u8* bytes = reinterpret_cast<const u8*>(&view_);
    if (chain_ == nullptr || !std::equal(chain_view_.begin(), chain_view_.end(), bytes)) {
      chain_.reset();
      chain_ = std::make_unique<Chain>(view_, static_cast<u32>(multiprocessors_), stream_);
      chain_view_.assign(bytes, bytes + sizeof view_);
    }
    chain_->launch(stream_);
  } else {
    launch_run(view_, static_cast<u32>(multiprocessors_), stream_);
  }
  check(cudaGetLastError(), "starting the interpreter");
  check(cudaMemcpyAsync(host_report_.data(), report_.data(), sizeof(Report), cudaMemcpyDeviceToHost, stream_),
        "fetching the run's report");
  synchronize("running the guest");
  Report report = *host_report_.data();
  if (control.batches <= 1) report.batches = 1;
  return report;
}

RunReport CudaBackend::run(const RunOrder& order) {
  use();
  if (is_flat(view_)) launch_compare_code(view_, image_, stream_);
  stops_are_current_ = false;
  RunReport total;
  Control control{
      order.budget, order.batch,       std::max<u64>(order.batches, 1), order.first ? Phase::first : Phase::next,
      order.go_on,  pool_is_automatic_};
  constexpr u32 kStarved = static_cast<u32>(StopCode::out_of_memory), kSpent = static_cast<u32>(StopCode::budget);
  for (;;) {
    const Report report = dispatch(control);
    total.retired += report.retired;
    total.left = control.phase == Phase::again ? total.left + report.left : report.left;
    for (u32 code = 0; code < kStopCodes; code++) total.stops[code] += report.stops[code];
    // A batch that goes on was counted when it began.
    total.batches += control.phase == Phase::again ? report.batches - 1 : report.batches;
    const bool starved = control.feeds && report.stops[kStarved] != 0;
    if (starved && !grow_automatically()) {
      control.feeds = 0;
    } else if (starved) {
      // The lanes go on in the same batch, in a launch of their own.
      total.stops[kStarved] -= report.stops[kStarved];
      launch_feed(view_, stream_);
      control.phase = Phase::again;
      control.batches = 1;
      continue;
    }
    const bool cancelled = std::atomic_ref(*cancel_.data()).load() != 0;
    if (cancelled || total.left == 0 || total.batches >= order.batches) break;
    control.phase = Phase::next;
    control.batches = order.batches - total.batches;
  }
  total.stops[kSpent] += total.left;
  return total;
}

void CudaBackend::cancel() { std::atomic_ref(*cancel_.data()).store(1); }
void CudaBackend::clear_cancel() { std::atomic_ref(*cancel_.data()).store(0); }

void CudaBackend::progress(std::span<u64> retired, std::span<StopCode> codes) const {
  // The stop first: the count that belongs to it was written before it.
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
