// SPDX-License-Identifier: Apache-2.0
#include "fake_translator/fake_translator.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "generate/generate.h"
#include "isa/decoder.h"
#include "isa/row_functions.h"

namespace myriarm::test {
namespace {

using translate::LaneState;
using translate::Region;
using translate::RegionEnd;
using translate::SlowPaths;

/// The Cpu policy. What only an engine can do (stops, undefined words) leaves the region.
struct Steps {
  LaneState* lane;
  const SlowPaths& slow;
  u64 next;
  bool leaves = false;

  using Fp = FpContext;
  bool give_up() { return false; }

  u64 r(u32 slot) const { return lane->r[slot]; }
  void set_r(u32 slot, u64 value) { lane->r[slot] = value; }
  Flags flags() const { return lane->region_flags.flags(); }
  void set_flags(Flags flags) { lane->region_flags.set_flags(flags); }
  u64 pc() const { return lane->pc; }
  u64 retired() const { return lane->retired; }
  u64 system(SystemField field) const { return lane->system[static_cast<int>(field)]; }
  void set_system(SystemField field, u64 value) { lane->system[static_cast<int>(field)] = value; }
  u64 v(u32 n, u32 half) const { return lane->v[2 * n + half]; }
  void set_v(u32 n, u32 half, u64 value) { lane->v[2 * n + half] = value; }

  PagedMemory<1> memory() const { return lane->memory(); }
  SlowLoad load_slow(u64 address, u32 size) { return slow.load(lane, address, size); }
  bool store_slow(u64 address, u64 value, u32 size) { return slow.store(lane, address, value, size); }
  bool store_pair_slow(u64 address, u64 first, u64 second, u32 size) {
    return slow.store_pair(lane, address, first, second, size);
  }

  Outcome branch_relative(i64 offset) { return branch_to(pc() + static_cast<u64>(offset)); }
  Outcome branch_to(u64 address) {
    next = address;
    return Outcome::branch;
  }
  Outcome leave() {
    leaves = true;
    return Outcome::stop;
  }
  Outcome stop(StopCode, u32, u64) { return leave(); }
  Outcome fault(FaultCode, u64) { return leave(); }
  Outcome undefined() { return leave(); }
};
static_assert(Cpu<Steps>);

struct FakeRegion {
  std::map<u64, Operands> code;  // by address
  std::vector<u64> entries;
  SlowPaths slow;
  u32 longest_run, exits_in;
  u64 seed;
  std::atomic<u64>* runs;

  RegionEnd run(LaneState* lane, u64 entry, u64 count) const {
    const u64 limit = lane->region_limit;
    if (lane->retired != limit + count) std::abort();
    if (entry >= entries.size() || lane->pc != entries[entry]) std::abort();
    (*runs)++;
    for (u32 since_check = 0;; since_check++) {
      if (since_check == longest_run) {
        if (lane->retired >= limit) return RegionEnd::left;
        since_check = 0;
      }
      const auto at = code.find(lane->pc);
      if (at == code.end()) return RegionEnd::left;
      if (exits_in != 0) {
        const u64 chance = ((lane->retired ^ seed) * 0x9E3779B97F4A7C15u) >> 40;
        if (chance % exits_in == 0) return RegionEnd::left;
      }
      Steps steps{lane, slow, lane->pc + 4};
      if (kRowFunctions<Steps>[at->second.row](steps, at->second) == Outcome::stop) {
        return steps.leaves ? RegionEnd::left : RegionEnd::stopped;
      }
      lane->pc = steps.next;
      lane->retired++;
    }
  }
};

// Limits that tell the tiers apart. Fakes heed none, and all reach that of small regions, so a large one may follow each.
constexpr u32 kSmall = 1, kLarge = 2;

// A RegionFunction is told nothing of its region. So each region takes one of these.
constexpr size_t kPlaces = 4096;
std::array<std::atomic<const FakeRegion*>, kPlaces> places;

template <size_t kNumber>
RegionEnd run_place(LaneState* lane, u64 entry, u64 count) {
  return places[kNumber].load()->run(lane, entry, count);
}
template <size_t... kNumbers>
constexpr std::array<translate::RegionFunction, kPlaces> functions_of(std::index_sequence<kNumbers...>) {
  return {run_place<kNumbers>...};
}
constexpr std::array<translate::RegionFunction, kPlaces> kFunctions = functions_of(std::make_index_sequence<kPlaces>());

}  // namespace

class FakeTranslation::Fake : public translate::Translator {
 public:
  Fake(const FakeRegions& regions, const SlowPaths& slow, FakeTranslation* owner)
      : regions_(regions), slow_(slow), owner_(owner) {}

  std::unique_ptr<Region> translate(u64 entry, const translate::FetchWord& fetch, const translate::RegionLimits& limits,
                                    std::string& why) override {
    {
      std::lock_guard lock(owner_->mutex_);
      owner_->asked_.insert(entry);
      if (limits.instructions == kLarge) owner_->asked_large_++;
    }
    if (regions_.allow && !regions_.allow(entry, why)) return nullptr;
    Random random(regions_.seed ^ entry ^ u64{limits.instructions} << 48);
    auto fake = std::make_unique<FakeRegion>();
    fake->slow = slow_;
    fake->longest_run = regions_.longest_run;
    fake->exits_in = regions_.exits_in;
    fake->seed = random.next();
    fake->runs = &owner_->runs_;
    const u64 first = entry - 4 * random.below(regions_.most + 1), end = entry + 4 * (1 + random.below(regions_.most));
    auto region = std::make_unique<Region>();
    for (u64 pc = first; pc != end; pc += 4) {
      u32 word;
      if (!fetch(pc, word)) continue;
      fake->code.emplace(pc, decode(decode_table(), word));
    }
    if (!fake->code.contains(entry)) {
      why = "there is no code at its entry";
      return nullptr;
    }
    region->entries.push_back(entry);
    for (const auto& [pc, operands] : fake->code) {
      if (pc != entry && random.one_in(regions_.entries_in)) region->entries.push_back(pc);
    }
    fake->entries = region->entries;
    region->instructions = static_cast<u32>(fake->code.size());
    region->seconds = 0.001;
    for (size_t number = 0; number < kPlaces; number++) {
      const FakeRegion* none = nullptr;
      if (!places[number].compare_exchange_strong(none, fake.get())) continue;
      region->run = kFunctions[number];
      region->code = std::shared_ptr<void>(fake.release(), [number](void* gone) {
        places[number] = nullptr;
        delete static_cast<FakeRegion*>(gone);
      });
      return region;
    }
    why = "there are too many fakes";
    return nullptr;
  }

 private:
  const FakeRegions regions_;
  const SlowPaths slow_;
  FakeTranslation* owner_;
};

FakeTranslation::FakeTranslation(FakeRegions regions, u64 interval, u32 hot, bool at_once)
    : before_(cpu::translation_setup()) {
  auto make = [this, regions](const SlowPaths& slow, const auto&, std::string&) {
    made_++;
    return std::make_unique<Fake>(regions, slow, this);
  };
  cpu::TranslationSetup& setup = cpu::translation_setup();
  setup.make = make;
  setup.may_cache = false;
  setup.interval = interval;
  setup.hot = hot;
  setup.hot_for_stencils = 0;
  setup.hot_for_long = regions.hot_for_long;
  setup.followed = regions.followed;
  setup.at_once = at_once;
  setup.limits.instructions = setup.limits_after_stencils.instructions = kSmall;
  setup.large_limits.instructions = kLarge;
  setup.longest_run = regions.longest_run;
}

FakeTranslation::~FakeTranslation() { cpu::translation_setup() = before_; }

}  // namespace myriarm::test
