// SPDX-License-Identifier: Apache-2.0
// A translator for tests: its regions step through the instructions that the code had when it was asked for, of random
// size, with random entries, and leave at random. So a region that outlives its code, and every way to enter and leave
// one, shows as a wrong result.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "backends/cpu/translated/setup.h"
#include "translate/translator.h"

namespace myriarm::test {

struct FakeRegions {
  u64 seed = 1;
  u32 most = 40;        // words before and behind the entry, at most
  u32 longest_run = 7;  // instructions between two checks of the limit; a fake always uses them up
  u32 exits_in = 11;    // leaves before one in so many instructions, also before the first; 0: only where it must
  u32 entries_in = 3;   // one in so many of its instructions is an entry too
  u32 hot_for_long = 8, followed = 0;  // as in cpu::TranslationSetup
  /// Called for each region, in the thread that translates. False: there is none, and `why` says why. May throw.
  std::function<bool(u64 pc, std::string& why)> allow = {};
};

/// As long as it exists, fleets that are made get fakes. There is one at a time.
class FakeTranslation {
 public:
  /// `interval` and `hot`: as in cpu::TranslationSetup. Everything is translated at the first look, at once.
  explicit FakeTranslation(FakeRegions regions = {}, u64 interval = 20, u32 hot = 1, bool at_once = true);
  ~FakeTranslation();
  FakeTranslation(const FakeTranslation&) = delete;
  u64 made() const { return made_; }  // translators
  u64 runs() const { return runs_; }  // of regions
  /// How many large regions were asked for.
  u64 asked_large() const { return asked_large_; }
  /// Where regions were asked for.
  std::set<u64> asked() const {
    std::lock_guard lock(mutex_);
    return asked_;
  }

 private:
  class Fake;
  cpu::TranslationSetup before_;
  std::atomic<u64> made_{0}, runs_{0}, asked_large_{0};
  mutable std::mutex mutex_;
  std::set<u64> asked_;
};

}  // namespace myriarm::test
