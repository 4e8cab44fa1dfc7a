// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/interpreter/code_store.h"

#include <algorithm>
#include <string_view>

namespace myriarm::cpu {
namespace {

/// Lanes may have the same page and differ in others; more than this many are not tried.
constexpr size_t kMostCandidates = 4;
/// How many spaces are kept that perhaps no lane has. The pool counts them, and takes them back when it is spent.
constexpr size_t kMostKept = 16;
/// Where every lane has code of its own, remembering all of it would be of no use.
constexpr size_t kMostSeen = 100'000;

u64 key_of(u64 page, const u8* bytes) {
  const std::string_view content(reinterpret_cast<const char*>(bytes), kPageSize);
  return std::hash<std::string_view>()(content) ^ page * 0x9E3779B97F4A7C15u;
}

}  // namespace

CodeStore::CodeStore(FramePool& pool) : pool_(pool) {
  nothing_->finish_root();
  pool_.set_savings(this);
}
CodeStore::~CodeStore() { pool_.set_savings(nullptr); }

std::vector<std::shared_ptr<CodeSpace>> CodeStore::candidates(u64 page, const u8* bytes) {
  const u64 key = key_of(page, bytes);
  std::vector<std::shared_ptr<CodeSpace>> found;
  std::lock_guard lock(mutex_);
  if (auto entry = by_page_.find(key); entry != by_page_.end()) {
    for (auto at = entry->second.rbegin(); at != entry->second.rend(); ++at) {
      if (std::shared_ptr<CodeSpace> space = at->lock()) found.push_back(std::move(space));
    }
  }
  return found;
}

bool CodeStore::seen(u64 page, const u8* bytes) {
  const u64 key = key_of(page, bytes);
  std::lock_guard lock(mutex_);
  if (seen_.size() == kMostSeen) seen_.clear();
  return !seen_.insert(key).second;
}

void CodeStore::add(const std::shared_ptr<CodeSpace>& space) {
  std::vector<u64> keys;
  for (const auto& [page, state] : space->changed()) {
    if (state.covered) keys.push_back(key_of(page, state.bytes->data()));
  }
  keep(space);
  std::lock_guard lock(mutex_);
  for (const u64 key : keys) {
    auto& spaces = by_page_[key];
    std::erase_if(spaces, [](const auto& known) { return known.expired(); });
    if (spaces.size() == kMostCandidates) spaces.erase(spaces.begin());
    spaces.push_back(space);
  }
  if (by_page_.size() < sweep_at_) return;
  std::erase_if(by_page_, [](const auto& entry) {
    return std::all_of(entry.second.begin(), entry.second.end(), [](const auto& known) { return known.expired(); });
  });
  sweep_at_ = std::max<size_t>(1024, 2 * by_page_.size());
}

void CodeStore::keep(const std::shared_ptr<CodeSpace>& space) {
  std::shared_ptr<CodeSpace> oldest;  // goes when the lock has been released
  std::lock_guard lock(mutex_);
  if (!kept_.empty() && kept_.back() == space) return;
  const auto known = std::find(kept_.begin(), kept_.end(), space);
  if (known != kept_.end()) kept_.erase(known);
  kept_.push_back(space);
  if (kept_.size() <= kMostKept) return;
  oldest = std::move(kept_.front());
  kept_.pop_front();
}

bool CodeStore::give_up() noexcept {
  std::shared_ptr<CodeSpace> oldest;  // as above
  std::lock_guard lock(mutex_);
  if (kept_.empty()) return false;
  oldest = std::move(kept_.front());
  kept_.pop_front();
  return true;
}

u64 CodeStore::saved_bytes() {
  std::lock_guard lock(mutex_);
  u64 frames = 0;
  for (const auto& space : kept_) frames += space.use_count() == 1 ? space->charged() : 0;
  return frames << kPageBits;
}

}  // namespace myriarm::cpu
