// SPDX-License-Identifier: Apache-2.0
// The translated code of one span, that of a fleet's program or what its teams run later: which regions there are, and the launch of
// the kernel that runs them. It begins without any; lanes note where they are interpreted, threads make regions of what is hot, and
// between two launches the kernel is linked with those that have come.
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <set>

#include "backends/cuda/device_memory.h"
#include "backends/cuda/first_level_cache.h"
#include "backends/cuda/long_array.h"
#include "backends/cuda/translated/hot_places.h"
#include "backends/cuda/translated/kernel_choice.h"
#include "backends/cuda/translated/linked_regions.h"
#include "backends/cuda/translated/program_code.h"
#include "backends/cuda/translated/region_makers.h"
#include "backends/cuda/translated/region_table.h"
#include "backends/cuda/view.h"
#include "myriarm/fleet.h"
#include "translate/cache/region_cache.h"

namespace myriarm::cuda {

constexpr u64 kMostRefusals = 100;  // of TranslationReport

class TranslatedProgram {
 public:
  /// `code`: of the span. `threads` compile. With `caches`, what an earlier run has translated of this code is there before the first
  /// launch. Null: `why` says why there is none, as part of a sentence.
  static std::unique_ptr<TranslatedProgram> make(const View& view, const CodeSpan& span,
                                                 const std::shared_ptr<const ProgramCode>& code, u32 threads,
                                                 bool caches, cudaStream_t stream, std::string& why);
  ~TranslatedProgram();
  /// Translates what `entry` and the span's direct calls reach, with `each_word` also what begins at any other word, and waits for it
  /// until `cancelled`. Does nothing if an earlier call was not cancelled.
  void translate_all(u64 entry, bool each_word, const std::function<bool()>& cancelled, cudaStream_t stream);

  void launch(const View& view, const Multiprocessors& device, cudaStream_t stream) const;
  /// How long the next launch may last, in ticks of Control, so that what has become hot, or was made, is seen.
  u64 launch_ticks() const;
  /// Which kernel runs it. For tests everything is translated, and then always the one of translated code.
  KernelChoice& choice() { return choice_; }
  bool chooses() const { return chooses_; }
  /// After a launch has ended in which lanes have retired so many instructions: asks for regions where they were interpreted, and
  /// takes up those that are ready.
  void between_launches(u64 retired, cudaStream_t stream);

  /// Without `translated`; what lanes do is as of between_launches(). Any thread may ask.
  TranslationReport report() const;

 private:
  static constexpr u8 kNothing[1] = {0};

  TranslatedProgram(const View& view, const CodeSpan& span, std::shared_ptr<const ProgramCode> code, bool caches);
  void allocate(u64 pages, cudaStream_t stream);
  /// Waits for regions, as long as more may come or any are open.
  void wait_for(const std::function<bool()>& asks_for_more, const std::function<bool()>& cancelled,
                cudaStream_t stream);
  void take_up_kept(cudaStream_t stream);
  /// Tells the cache where regions begin, for the next run.
  void keep_entries();
  void ask(u64 pc);
  /// Asks for what begins where code follows that no region has and that nobody has asked for.
  void ask_for_gaps();
  bool has_room() const;
  void change_visits();
  void note_refusal(u64 pc, std::string why);
  void take_made();
  void ask_for_hot(u64 retired, cudaStream_t stream);
  void link(cudaStream_t stream);

  const std::shared_ptr<const ProgramCode> code_;
  std::vector<std::unique_ptr<translate::DeviceRegion>> regions_;
  size_t linked_regions_ = 0;  // the first of them, which the kernel is linked with
  std::set<u64> asked_;
  std::vector<u64> entries_to_keep_;                     // where regions were asked for, in that order
  size_t kept_entries_ = 0;                              // how many of these the cache knows
  const std::shared_ptr<translate::RegionCache> cache_;  // null: none
  translate::DeviceTranslator* translator_ = nullptr;    // of makers_
  const std::vector<u64> call_targets_;                  // of the span's direct calls, in order
  std::optional<HotPlaces> hot_;
  std::vector<u32> places_,
      heat_of_words_;  // for each word of the code kCold, kInRegion or kEntry, and RegionTable::heat
  std::unique_ptr<LinkedRegions> linked_;
  // Where a span has no code, nobody writes entries; heat that is noted there is lost in what lies behind such places.
  LazyBackground no_entries_{kNothing}, lost_heat_{kNothing};
  LongArray heat_, entries_;
  DeviceArray<RegionCounts> counts_;  // in the device's memory: not every device has atomics for the host's
  RegionTable table_ = {};
  KernelChoice choice_;
  bool chooses_ = true;
  bool has_translated_all_ = false;
  mutable std::mutex report_mutex_;  // while this thread changes the next, or another reads it
  TranslationReport report_;
  const u32 changing_visits_;  // 0: they are as long as they may be
  u64 visit_random_ = 0;
  u64 ticks_;
  std::chrono::steady_clock::time_point linked_at_;
  std::chrono::steady_clock::duration link_took_{0};
  std::unique_ptr<RegionMakers> makers_;  // the last member: its threads use others
};

}  // namespace myriarm::cuda
