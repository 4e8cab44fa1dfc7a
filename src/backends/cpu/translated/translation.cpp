// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/translated/translation.h"

#include <algorithm>
#include <system_error>

#include "backends/cpu/fp_environment.h"
#include "backends/cpu/translated/slow_paths.h"
#include "backends/cpu/worker_pool.h"

namespace myriarm::cpu {
namespace {

/// The lanes need the processor too.
unsigned default_threads() { return std::clamp(host_threads() / 2, 1u, 4u); }

}  // namespace

TranslationSetup& translation_setup() {
  static TranslationSetup setup;
  return setup;
}

Translation::Translation(unsigned threads, bool caches, bool windows, u64 longest)
    : setup_(translation_setup()),
      most_threads_(threads != 0 ? threads : default_threads()),
      windows_(windows),
      longest_(longest),
      cache_(caches && setup_.may_cache ? std::make_shared<translate::RegionCache>() : nullptr),
      copies_(setup_.hot_for_stencils != 0 && QuickTranslator::is_available()) {}

Translation::~Translation() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

Sampler* Translation::take_sampler() {
  std::lock_guard lock(mutex_);
  if (free_samplers_.empty()) {
    free_samplers_.reserve(samplers_.size() + 1);  // so that give_back() needs no memory
    samplers_.push_back(std::make_unique<Sampler>(setup_.interval, longest_, samplers_.size()));
    return samplers_.back().get();
  }
  Sampler* const sampler = free_samplers_.back();
  free_samplers_.pop_back();
  return sampler;
}

void Translation::give_back(Sampler* sampler) {
  std::lock_guard lock(mutex_);
  free_samplers_.push_back(sampler);
}

bool Translation::look(const CodeSpace& code, u64 pc, const Follow& follow) noexcept {
  if (!code.is_published()) return false;  // it may change
  const RegionEntry* entry = code.entry_at(pc);
  const Tier tier = entry == nullptr ? Tier::none : entry->tier;
  if (copies_ && tier == Tier::none && profile_.count(&code, pc | 2, setup_.hot_for_stencils) && copy(code, pc))
    return true;
  const u32 hot = tier == Tier::none ? setup_.hot : tier == Tier::quick ? setup_.hot_in_stencils : setup_.hot_for_long;
  // The lowest bits of an address tell the counts apart.
  if (hot == 0 || tier == Tier::large || is_unavailable_.load(std::memory_order_relaxed) ||
      !profile_.count(&code, pc | (tier == Tier::small), hot)) {
    return tier != Tier::none;
  }
  try {
    return ask(code, pc, tier == Tier::small ? Tier::large : Tier::small, follow) || tier != Tier::none;
  } catch (const std::exception&) {  // no memory
    return tier != Tier::none;
  }
}

void Translation::look_at_exit(const CodeSpace& code, u64 pc) noexcept {
  if (code.is_published() && code.entry_at(pc) == nullptr) copy(code, pc);
}

void Translation::attach(Lane& lane, u64 index, Sampler& sampler) const {
  lane.longest_visit = setup_.longest_visit;
  lane.change_random = setup_.change_seed ^ index << 40 ^ lane.retired;
  lane.longest_region_run = setup_.longest_run;
  if (copies_) lane.exits = &sampler.exits;
  lane.hot_exit = setup_.exits_for_stencils;
}

bool Translation::copy(const CodeSpace& code, u64 pc) noexcept {
  try {
    if (is_full() || !code.ask_region(pc, Tier::quick)) return false;
    if (code.find(pc) == nullptr) return false;
    std::string why;
    std::unique_ptr<translate::Region> region = quick_->translate(
        pc, [&](u64 at, u32& word) { return code.fetch(at, word); }, {code.entries().address(), code.entries().bytes()},
        setup_.stencil_limits, why);
    if (region == nullptr) {
      refuse(pc, why.c_str());
      return false;
    }
    install(code, Tier::quick, std::move(region), {});
    return code.entry_at(pc) != nullptr;
  } catch (const std::exception& error) {
    refuse(pc, error.what());
    return false;
  }
}

bool Translation::is_full() const { return kept_->regions >= kMostRegions || kept_->instructions >= kMostInstructions; }

bool Translation::ask(const CodeSpace& code, u64 pc, Tier tier, const Follow& follow) {
  if (tier == Tier::large && code.tier_at(pc) == Tier::large) return true;
  Request request = {&code, code.weak_from_this(), pc, tier, {}};
  {
    std::lock_guard lock(mutex_);
    if (waiting_.size() >= kMostWaiting || !code.ask_region(pc, tier)) return false;
  }
  if (setup_.followed != 0) {
    follow(setup_.followed, request.path);
    std::sort(request.path.begin(), request.path.end());
    request.path.erase(std::unique(request.path.begin(), request.path.end()), request.path.end());
  }
  if (setup_.at_once) {
    translate(request);
    return code.entry_at(pc) != nullptr;
  }
  std::lock_guard lock(mutex_);
  waiting_.push_back(std::move(request));
  if (idle_ == 0 && threads_.size() < most_threads_) start_thread();
  changed_.notify_one();
  return false;
}

void Translation::start_thread() {
  try {
    threads_.emplace_back([this] { work(); });
  } catch (const std::system_error&) {
    // The host refuses more threads: the existing ones do the work. If there are none, all stays interpreted.
    if (!threads_.empty()) return;
    waiting_.clear();
    report_.unavailable = "the host refuses a thread that translates";
    is_unavailable_ = true;
  }
}

void Translation::work() {
  DefaultFpEnvironment environment;
  std::unique_lock lock(mutex_);
  for (;;) {
    idle_++;
    changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    idle_--;
    if (stopping_) return;
    Request request = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    translate(request);
    lock.lock();
  }
}

translate::Translator* Translation::translator() {
  std::call_once(made_, [this] {
    std::string why = "it could not be made";
    try {
      translate::SlowPaths slow = kSlowPaths;
      slow.windows = windows_;
      translator_ = setup_.make(slow, cache_, why);
    } catch (const std::exception& error) {
      why = error.what();
    }
    if (translator_ != nullptr) return;
    is_unavailable_ = true;
    std::lock_guard lock(mutex_);
    report_.unavailable = why;
  });
  return translator_.get();
}

void Translation::translate(const Request& request) noexcept {
  // As long as this exists, so does the code.
  const std::shared_ptr<const CodeSpace> owner = request.owner.lock();
  const bool had_owner = request.owner.owner_before(std::weak_ptr<const CodeSpace>{}) ||
                         std::weak_ptr<const CodeSpace>{}.owner_before(request.owner);
  if (had_owner && owner == nullptr) return;  // no lane has it any more
  try {
    translate::Translator* translator = this->translator();
    if (translator == nullptr) return;
    if (is_full()) {
      return refuse(request.pc, "the fleet has as much translated code as it may have");
    }
    const CodeSpace& code = *request.code;
    // While the request waited, another region may have come that serves the lanes here too.
    if (code.tier_at(request.pc) >= request.tier) return;
    if (request.tier == Tier::small && code.drop_request(request.pc)) return;
    std::vector<u64> covered;  // a translator reads the instructions of its region and no others
    auto fetch = [&](u64 pc, u32& word) {
      const std::vector<u64>& path = request.path;
      const bool is_code = (path.empty() || std::binary_search(path.begin(), path.end(), pc)) && code.fetch(pc, word);
      if (is_code) covered.push_back(pc);
      return is_code;
    };
    const translate::RegionLimits& limits = request.tier == Tier::small ? small_limits() : setup_.large_limits;
    std::string why = "the translator gave no reason";
    std::unique_ptr<translate::Region> region = translator->translate(request.pc, fetch, limits, why);
    if (region == nullptr) return refuse(request.pc, why.c_str());
    install(code, request.tier, std::move(region), std::move(covered));
  } catch (const std::exception& error) {
    refuse(request.pc, error.what());
  } catch (...) {
    refuse(request.pc, "the translator failed");
  }
}

void Translation::install(const CodeSpace& code, Tier asked, std::unique_ptr<translate::Region> region,
                          std::vector<u64> covered) {
  const u64 pc = region->entries.front();
  // A small region that did not reach its limit would be the same with a higher one.
  const Tier tier = asked == Tier::small && region->instructions < small_limits().instructions ? Tier::large : asked;
  const u64 instructions = region->instructions;
  const double seconds = region->seconds;
  const bool is_cached = region->is_from_store;
  kept_->regions++;
  kept_->instructions += instructions;
  const std::shared_ptr<const translate::Region> counted(
      region.release(),
      [kept = kept_, translator = translator_, quick = quick_, instructions](const translate::Region* gone) {
        kept->regions--;
        kept->instructions -= instructions;
        delete gone;
      });
  const bool is_copied = !counted->inside.empty();
  const bool taken = code.install(counted, tier, std::move(covered)) == 0;
  // If the region of another thread has the entry, nothing is missing there.
  if (taken && code.tier_at(pc) < tier) refuse(pc, "other regions begin wherever it could be entered");
  std::lock_guard lock(mutex_);
  report_.seconds += seconds;
  if (taken) return;
  if (is_copied) {
    report_.copied++;
    report_.copied_instructions += instructions;
    return;
  }
  report_.regions++;
  report_.cached += is_cached;
  report_.instructions += instructions;
}

void Translation::refuse(u64 pc, const char* why) noexcept {
  try {
    std::lock_guard lock(mutex_);
    report_.refused++;
    if (report_.refusals.size() < kMostReasons) report_.refusals.push_back({pc, why});
  } catch (const std::exception&) {  // no memory: the count says that there was one more
  }
}

TranslationReport Translation::report() const {
  std::lock_guard lock(mutex_);
  TranslationReport report = report_;
  for (const auto& sampler : samplers_) {
    report.interpreted += sampler->retired.interpreted();
    report.translated += sampler->retired.translated();
    report.translated_by_copying += sampler->retired.copied();
  }
  if (cache_ != nullptr) report.cache_warning = cache_->warning();
  return report;
}

}  // namespace myriarm::cpu
