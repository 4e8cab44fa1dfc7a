// SPDX-License-Identifier: Apache-2.0
// Translation of a fleet's hot code while its lanes run: what is asked for, the threads that translate it, what became
// of it. The regions themselves belong to the code spaces in which they are installed.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "backends/backend.h"
#include "backends/cpu/interpreter/code_space.h"
#include "backends/cpu/translated/profile.h"
#include "backends/cpu/translated/quick_translator.h"
#include "backends/cpu/translated/setup.h"
#include "translate/cache/region_cache.h"

namespace myriarm::cpu {

struct Lane;

class Translation {
 public:
  /// `threads`: the most that translate, 0: as many as suit the host. `caches`: whether regions are looked for and kept in
  /// the cache on disk. `windows`: see SlowPaths. `longest`: of a Sampler.
  Translation(unsigned threads, bool caches, bool windows, u64 longest);
  /// Waits for what is being translated: a region for each thread.
  ~Translation();
  Translation(const Translation&) = delete;

  /// A sampler for one thread, as long as it runs lanes. Translation owns it.
  Sampler* take_sampler();
  void give_back(Sampler* sampler);

  /// To be called when a sampler is due, with what a lane runs and where it is. Whether translated code is there. If
  /// not, and if the address is hot, it will be translated. `follow(most, path)`: runs that lane for up to `most`
  /// instructions and appends the address of each. Any thread may call it. Never throws: what cannot be translated stays
  /// interpreted.
  using Follow = std::function<void(u64 most, std::vector<u64>& path)>;
  bool look(const CodeSpace& code, u64 pc, const Follow& follow) noexcept;

  /// To be called when a lane has left regions for `pc` as often as Lane::hot_exit says.
  void look_at_exit(const CodeSpace& code, u64 pc) noexcept;
  /// To be called before an engine runs a lane, whose `retired` is known, in the thread that has this sampler.
  void attach(Lane& lane, u64 index, Sampler& sampler) const;
  /// Whether lanes are to change between the tiers wherever they can: TranslationSetup::longest_visit.
  bool changes_often() const { return setup_.longest_visit != 0; }

  /// Any thread may ask, also while lanes run.
  TranslationReport report() const;

 private:
  /// Regions that exist take memory: some 60 to 100 bytes of machine code for each instruction. Above these limits none
  /// is made.
  static constexpr u64 kMostRegions = 1 << 16;
  static constexpr u64 kMostInstructions = 1 << 20;
  static constexpr size_t kMostWaiting = 256;  // requests; others are made again if the code stays hot
  static constexpr size_t kMostReasons = 100;  // refused regions that the report names
  struct Request {
    const CodeSpace* code;
    std::weak_ptr<const CodeSpace> owner;  // empty for the code of a program, which exists as long as the fleet
    u64 pc;
    Tier tier;
    std::vector<u64> path;  // addresses of instructions that lanes have run; the region has no others. Empty: it may
  };
  /// What the regions that exist take together.
  struct Kept {
    std::atomic<u64> regions{0}, instructions{0};
  };

  bool ask(const CodeSpace& code, u64 pc, Tier tier, const Follow& follow);
  /// Makes copied code at once. Whether there is some now.
  bool copy(const CodeSpace& code, u64 pc) noexcept;
  void start_thread();
  void work();
  void translate(const Request& request) noexcept;
  void install(const CodeSpace& code, Tier asked, std::unique_ptr<translate::Region> region, std::vector<u64> covered);
  bool is_full() const;
  const translate::RegionLimits& small_limits() const { return copies_ ? setup_.limits_after_stencils : setup_.limits; }
  void refuse(u64 pc, const char* why) noexcept;
  /// Null: there is none.
  translate::Translator* translator();

  const TranslationSetup setup_;
  const unsigned most_threads_;
  const bool windows_;
  const u64 longest_;
  const std::shared_ptr<translate::RegionCache> cache_;  // null: none
  Profile profile_;
  const bool copies_;                                                                   // there are stencils
  const std::shared_ptr<QuickTranslator> quick_ = std::make_shared<QuickTranslator>();  // its regions hold it too
  const std::shared_ptr<Kept> kept_ = std::make_shared<Kept>();
  std::once_flag made_;
  std::shared_ptr<translate::Translator> translator_;  // its regions hold it too
  std::atomic<bool> is_unavailable_{false};

  mutable std::mutex mutex_;  // of all that follows
  std::condition_variable changed_;
  std::deque<Request> waiting_;
  bool stopping_ = false;
  unsigned idle_ = 0;
  std::vector<std::thread> threads_;
  std::vector<std::unique_ptr<Sampler>> samplers_;
  std::vector<Sampler*> free_samplers_;
  TranslationReport report_;  // without what the samplers count
};

}  // namespace myriarm::cpu
