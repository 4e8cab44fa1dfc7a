// SPDX-License-Identifier: Apache-2.0
// A program's code as regions on a device, and the launch of the kernel that runs them.
#pragma once

#include <atomic>
#include <functional>

#include "backends/cuda/device_memory.h"
#include "backends/cuda/translated/linked_regions.h"
#include "backends/cuda/translated/region_table.h"
#include "backends/cuda/view.h"
#include "myriarm/fleet.h"

namespace myriarm::cuda {

class TranslatedProgram {
 public:
  /// Translates what the program's entry and its direct calls reach. `fetch` reads the words of the span, at guest
  /// addresses; `threads` compile. Null: `report` says in `unavailable` why there is none, unless `cancelled()` was true.
  static std::unique_ptr<TranslatedProgram> make(const View& view, const CodeSpan& span, u64 entry,
                                                 const translate::FetchWord& fetch,
                                                 const std::function<bool()>& cancelled, u32 threads,
                                                 cudaStream_t stream, TranslationReport& report);
  void launch(const View& view, cudaStream_t stream) const;
  /// Instructions that lanes have retired without regions so far.
  u64 interpreted() const { return std::atomic_ref(*interpreted_.data()).load(std::memory_order_relaxed); }

 private:
  std::vector<std::unique_ptr<translate::DeviceRegion>> regions_;
  std::unique_ptr<LinkedRegions> linked_;
  DeviceArray<u32> places_;
  DeviceArray<RegionEntry> entries_;
  PinnedArray<u64> interpreted_;
  RegionTable table_ = {};
};

}  // namespace myriarm::cuda
