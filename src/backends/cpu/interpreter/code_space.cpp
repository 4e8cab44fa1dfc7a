// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/interpreter/code_space.h"

#include <algorithm>
#include <cstring>

#include "backends/cpu/interpreter/kinds.h"

namespace myriarm::cpu {
namespace {

constexpr u64 kWordBytes = kPageWords * sizeof(Operands);  // of the predecoded words of a page
/// What a changed page takes from the pool: its words and its bytes, in frames.
constexpr u64 kChangedFrames = (kWordBytes + kPageSize) / kPageSize;
/// What a copy of a space takes from the pool besides: the host's page tables for it.
constexpr u64 kCopyFrames = 4;
/// Areas of changed spaces begin and end at multiples of this many pages, so that code which is written next to other
/// code is in the same area.
constexpr u64 kAreaPages = 1024;
/// A root with so few pages is copied whole: mapping it from the file takes a mapping, of which the host has some
/// 65,000.
constexpr u64 kPagesToCopy = 4;
/// The most words that are decoded when one lazy word is to run.
constexpr u64 kLazyWords = 32;

CodeSpan pages_span(u64 first, u64 end) { return {first << kPageBits, (end - first) * kPageWords}; }
u64 first_page_of(const CodeSpan& span) { return span.address >> kPageBits; }
u64 end_page_of(const CodeSpan& span) { return first_page_of(span) + span.count / kPageWords; }
u64 words_bytes(const CodeSpan& span) { return (span.count + 1) * sizeof(Operands); }
LazyArray new_words(u64 bytes) { return LazyArray(bytes, "predecoded code; use fewer lanes that change their code"); }
/// A space that has changed more pages gives no array back: to clear it would take too long.
constexpr size_t kMostToClear = 8;

}  // namespace

LazyArray SpareWords::take(u64 bytes) {
  {
    std::lock_guard lock(mutex_);
    auto found =
        std::find_if(arrays_.begin(), arrays_.end(), [&](const auto& array) { return array.bytes() == bytes; });
    if (found != arrays_.end()) {
      LazyArray array = std::move(*found);
      arrays_.erase(found);
      return array;
    }
  }
  return new_words(bytes);
}

void SpareWords::give_back(LazyArray array) noexcept {
  std::lock_guard lock(mutex_);
  if (arrays_.size() < kMost) arrays_.push_back(std::move(array));
}

CodeSpace::~CodeSpace() {
  if (base_ == nullptr) return;
  pool_->discharge(charged_);
  if (is_mapped_ || changed_.size() > kMostToClear) return;
  auto clear = [&](u64 page) {  // of a copy that could not be finished, an area may be missing
    if (Operands* words = words_of(page)) std::memset(static_cast<void*>(words), 0, kWordBytes);
  };
  base_->for_root_pages(clear);
  for (const auto& [page, state] : changed_) clear(page);
  for (Area& area : areas_) spare_->give_back(std::move(area.array));
}

CodeSpace::Area CodeSpace::make_area(const CodeSpan& span) {
  const u64 bytes = words_bytes(span);
  return {span, base_ == nullptr ? new_words(bytes) : spare_->take(bytes)};
}

const CodeSpace::Area* CodeSpace::find(u64 pc) const {
  for (const Area& area : areas_) {
    if (area.span.contains(pc)) return &area;
  }
  return nullptr;
}

Operands* CodeSpace::words_of(u64 page) const {
  const Area* area = find(page << kPageBits);
  return area == nullptr ? nullptr : area->page(page);
}

const CodeSpace::Area* CodeSpace::find_covered(u64 pc) const {
  const Area* area = find(pc);
  return area != nullptr && kind_of(*area->page(pc >> kPageBits)) != kKindFar ? area : nullptr;
}

const u8* CodeSpace::bytes(u64 page) const {
  if (auto found = changed_.find(page); found != changed_.end()) {
    return found->second.bytes == nullptr ? nullptr : found->second.bytes->data();
  }
  for (const RootPages& run : root().root_pages_) {
    if (page - run.first < run.count) return run.bytes + ((page - run.first) << kPageBits);
  }
  return nullptr;
}

bool CodeSpace::fetch(u64 pc, u32& word) const {
  const u64 page = pc >> kPageBits;
  const u8* from = (pc & 3) == 0 && covers(page) ? bytes(page) : nullptr;
  if (from != nullptr) std::memcpy(&word, from + (pc & (kPageSize - 1)), 4);
  return from != nullptr;
}

u32 CodeSpace::install(const std::shared_ptr<const translate::Region>& region, Tier tier,
                       std::vector<u64> covered) const {
  return regions_.install(region, tier, std::move(covered), kKindRegion, [&](u64 pc) -> Operands* {
    const Area* area = (pc & 3) == 0 ? find_covered(pc) : nullptr;
    return area == nullptr ? nullptr : area->words() + (pc - area->span.address) / 4;
  });
}

const RegionEntry* CodeSpace::entry_at(u64 pc) const {
  const Area* area = (pc & 3) == 0 ? find(pc) : nullptr;
  if (area == nullptr) return nullptr;
  const u64 word = (pc - area->span.address) / 4;
  if (kind_of(area->words()[word], std::memory_order_acquire) != kKindRegion) return nullptr;
  return &entries().at(pc);
}

void CodeSpace::begin_entries() {
  if (areas_.empty()) return;
  const CodeSpan &first = areas_.front().span, &last = areas_.back().span;
  regions_.points().set_span(first.address, (last.address - first.address) / 4 + last.count);
}

void CodeSpace::add_root_pages(u64 first, const u8* bytes, u64 count) { root_pages_.push_back({first, count, bytes}); }

void CodeSpace::finish_root() {
  // Areas of copies of this space are larger by less than kAreaPages at each end, and must not overlap.
  for (size_t i = 0; i < root_pages_.size();) {
    size_t last = i;
    while (last + 1 < root_pages_.size() &&
           root_pages_[last + 1].first - (root_pages_[last].first + root_pages_[last].count) <= 2 * kAreaPages) {
      last++;
    }
    const CodeSpan span = pages_span(root_pages_[i].first, root_pages_[last].first + root_pages_[last].count);
    areas_.push_back(make_area(span));
    for (; i <= last; i++) {
      const RootPages& run = root_pages_[i];
      u64 straight = 0;
      for (u64 page = run.first; page < run.first + run.count; page++) {
        Operands* words = areas_.back().page(page);
        predecode_page(run.bytes + ((page - run.first) << kPageBits), page << kPageBits, span, words);
        for (u64 k = 0; k < kPageWords; k++) {
          straight = always_leaves(words[k].row) ? 0 : straight + 1;
          longest_run_ = std::max(longest_run_, straight + 1);
        }
      }
    }
  }
  published_run_ = longest_run_;
  begin_entries();
  published_ = true;
}

std::shared_ptr<CodeSpace> CodeSpace::copy_of(const CodeSpace& from, CodeFile& file, SpareWords& spare,
                                              FramePool& pool) {
  const CodeSpace& root = from.root();
  u64 root_pages = 0;
  for (const RootPages& run : root.root_pages_) root_pages += run.count;
  auto copy = std::make_shared<CodeSpace>();
  copy->base_ = &root;
  copy->pool_ = &pool;
  copy->spare_ = &spare;
  auto charge = [&](u64 frames) {
    if (!pool.charge(frames)) return false;
    copy->charged_ += frames;
    return true;
  };
  const auto kept = root.regions_.keep();
  const bool small = root_pages <= kPagesToCopy;
  copy->is_mapped_ = !small;
  if (!charge(kCopyFrames + (small ? root_pages * (kWordBytes >> kPageBits) : 0))) return nullptr;
  for (const Area& area : root.areas_) {
    const u64 first = first_page_of(area.span), end = end_page_of(area.span);
    const CodeSpan span = pages_span(first / kAreaPages * kAreaPages, (end + kAreaPages - 1) / kAreaPages * kAreaPages);
    const u64 bytes = (end - first) * kWordBytes;
    auto add_area = [&] { return &copy->areas_.emplace_back(copy->make_area(span)); };
    Area* made = add_area();
    auto undo = [&](u64 offset, u8* page) {
      const u64 address = area.span.address + offset / sizeof(Operands) * 4;
      root.regions_.undo(address, kPageSize / sizeof(Operands), reinterpret_cast<Operands*>(page));
    };
    if (small || !file.map_copy(area.array.data(), bytes, reinterpret_cast<u8*>(made->page(first)), undo)) {
      if (!small) {
        if (!charge((end - first) * (kWordBytes >> kPageBits))) return nullptr;
        copy->areas_.pop_back();
        made = add_area();
      }
      copy_pages(reinterpret_cast<u8*>(made->page(first)), area.array.data(), bytes);
      root.regions_.undo(first << kPageBits, (end - first) * kPageWords, made->page(first));
    }
  }
  if (!charge(from.changed_.size() * kChangedFrames)) return nullptr;
  const auto kept_too = &from == &root ? std::shared_lock<std::shared_mutex>() : from.regions_.keep();
  for (const auto& [page, state] : from.changed_) {
    Operands* to = copy->area_for(page)->page(page);
    if (state.covered) {
      std::memcpy(to, from.words_of(page), kWordBytes);
      from.regions_.undo(page << kPageBits, kPageWords, to);
    } else {
      std::memset(static_cast<void*>(to), 0, kWordBytes);  // not given back to the host: the file would show again
    }
    copy->changed_.emplace(page, state);
  }
  copy->longest_run_ = from.longest_run_;
  copy->published_run_ = from.published_run_;
  return copy;
}

CodeSpace::Area* CodeSpace::area_for(u64 page) {
  if (const Area* area = find(page << kPageBits)) return const_cast<Area*>(area);
  const u64 first = page / kAreaPages * kAreaPages;
  const CodeSpan span = pages_span(first, first + kAreaPages);
  used_ = {};  // areas move
  auto at = std::find_if(areas_.begin(), areas_.end(), [&](const Area& a) { return a.span.address > span.address; });
  return &*areas_.insert(at, make_area(span));
}

CodeSpace::Changed* CodeSpace::change(u64 page) {
  if (auto found = changed_.find(page); found != changed_.end()) return &found->second;
  area_for(page);
  if (!pool_->charge(kChangedFrames)) return nullptr;
  charged_ += kChangedFrames;
  return &changed_[page];
}

void CodeSpace::note(Changed& state) {
  if (state.noted) return;
  state.noted = true;
  // At worst the page has no branch at all, and joins two of the longest runs.
  longest_run_ += published_run_ + kPageWords;
}

bool CodeSpace::cover(u64 page) {
  Changed* state = change(page);
  if (state == nullptr) return false;
  std::fill_n(words_of(page), kPageWords, lazy_word());
  state->covered = true;
  state->bytes = nullptr;
  note(*state);
  return true;
}

bool CodeSpace::uncover(u64 page) {
  Changed* state = change(page);
  if (state == nullptr) return false;
  std::memset(static_cast<void*>(words_of(page)), 0, kWordBytes);
  state->covered = false;
  state->bytes = nullptr;
  used_ = {};
  return true;
}

bool CodeSpace::note_write(u64 page) {
  Changed* state = change(page);
  if (state == nullptr) return false;
  state->covered = true;
  note(*state);
  return true;
}

bool CodeSpace::find_used(u64 page) {
  auto found = changed_.find(page);
  if (found == changed_.end() || !found->second.covered) return false;
  used_ = {page, &found->second, area_for(page)};
  return true;
}

void CodeSpace::invalidate(u64 address, u64 size) {
  // From one word before: it may be a pair with the first. There are no pairs across pages.
  u64 pc = address & ~u64{3};
  if (pc & (kPageSize - 1)) pc -= 4;
  for (; pc < address + size; pc += 4) {
    if (!use(pc >> kPageBits)) continue;
    used_.area->words()[(pc - used_.area->span.address) / 4] = lazy_word();
    used_.state->bytes = nullptr;
  }
}

void CodeSpace::decode_lazy(u64 pc, const u8* bytes) {
  const u64 page = pc >> kPageBits, first = (pc & (kPageSize - 1)) / 4;
  use(page);
  Operands* words = used_.area->page(page);
  const u64 most = std::min(first + kLazyWords, kPageWords);
  u64 end = first;
  while (end < most && words[end].kind == kKindLazy) end++;
  predecode_words(bytes, page << kPageBits, used_.area->span, words, first, end - first);
}

void CodeSpace::settle(u64 page, Changed& state, const u8* bytes) {
  const Area& area = *find(page << kPageBits);
  Operands* words = area.page(page);
  auto kept = std::make_shared<PageBytes>();
  std::memcpy(kept->data(), bytes, kPageSize);
  for (u64 first = 0; first < kPageWords; first++) {
    u64 end = first;
    while (end < kPageWords && words[end].kind == kKindLazy) end++;
    if (end != first) predecode_words(bytes, page << kPageBits, area.span, words, first, end - first);
    first = end;
  }
  state.bytes = std::move(kept);
}

void CodeSpace::measure_runs() {
  const u64 of_base = base_ == nullptr ? 1 : base_->longest_run_;
  auto only_base_covers = [&](u64 page) { return !changed_.contains(page) && covers(page); };
  longest_run_ = of_base;
  u64 straight = 0, next = ~u64{0};
  for (auto& [page, state] : changed_) {
    state.noted = false;
    if (!state.covered) continue;
    if (page != next) straight = only_base_covers(page - 1) ? of_base : 0;
    const Operands* words = words_of(page);
    for (u64 i = 0; i < kPageWords; i++) {
      straight = always_leaves(words[i].row) ? 0 : straight + 1;
      longest_run_ = std::max(longest_run_, straight + 1);
    }
    next = page + 1;
    if (only_base_covers(next)) longest_run_ = std::max(longest_run_, straight + of_base);
  }
  published_run_ = longest_run_;
}

}  // namespace myriarm::cpu
