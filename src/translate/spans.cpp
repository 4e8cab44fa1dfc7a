// SPDX-License-Identifier: Apache-2.0
#include "translate/spans.h"

#include <algorithm>

#include "isa/control_flow.h"

namespace myriarm::translate {
namespace {

struct Access {
  u64 pc;
  i64 begin;  // from what the register holds where the block begins
  u32 bytes, part;
  bool stores;
  i64 end() const { return begin + bytes; }
};

bool is_plain(const Effects& e) {
  return e.base != Effects::kNoBase && e.loads != e.stores && (e.parts == 1 || e.parts == 2) && e.access_size <= 8;
}

/// The accesses by each register, as far as what it holds is known from what it held.
std::map<u32, std::vector<Access>> accesses_of(const Block& block) {
  std::map<u32, std::vector<Access>> found;
  std::map<u32, i64> added;
  u64 unknown = 0;
  for (const Instruction& at : block.instructions) {
    const Effects& e = at.effects;
    if (e.always_stops) break;
    if (is_plain(e) && (unknown >> e.base & 1) == 0) {
      const u32 bytes = e.parts * e.access_size;
      found[e.base].push_back({at.pc, added[e.base] + e.offset, bytes, e.access_size, e.stores});
    }
    const bool steps = e.base != Effects::kNoBase && e.steps;
    if (steps) added[e.base] += e.step;
    unknown |= e.writes_r & ~(steps ? u64{1} << e.base : 0);
  }
  return found;
}

/// Those of a register that one span holds: as many as possible.
std::vector<Access> near(std::vector<Access> all, i64& begin) {
  // Parts of 8 bytes say where granules begin; else what the register held is taken for aligned.
  const auto whole = std::find_if(all.begin(), all.end(), [](const Access& a) { return a.part == 8; });
  const i64 apart = whole == all.end() ? 0 : whole->begin & 7;
  std::erase_if(all, [&](const Access& a) { return ((a.begin - apart) & (a.part - 1)) != 0; });
  std::sort(all.begin(), all.end(), [](const Access& a, const Access& b) { return a.begin < b.begin; });
  std::vector<Access> most;
  for (size_t first = 0; first < all.size(); first++) {
    const i64 from = ((all[first].begin - apart) & ~i64{7}) + apart;
    std::vector<Access> here;
    for (size_t i = first; i < all.size(); i++) {
      if (all[i].end() - from <= kMostSpanBytes) here.push_back(all[i]);
    }
    if (here.size() > most.size()) {
      most = here;
      begin = from;
    }
  }
  return most;
}

}  // namespace

Spans spans_of(const Block& block, bool aligned) {
  struct Found {
    Span span;
    std::vector<Access> accesses;
  };
  std::vector<Found> all;
  for (const auto& [base, accesses] : accesses_of(block)) {
    Found found;
    found.accesses = near(accesses, found.span.begin);
    if (found.accesses.size() < 2) continue;  // finding the place is what each access does by itself
    if (aligned &&
        std::none_of(found.accesses.begin(), found.accesses.end(), [](const Access& a) { return a.part == 8; }))
      continue;
    found.span.base = base;
    for (const Access& access : found.accesses) {
      found.span.bytes = std::max(found.span.bytes, static_cast<u32>(access.end() - found.span.begin));
      (access.stores ? found.span.stores : found.span.loads) = true;
    }
    all.push_back(std::move(found));
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Found& a, const Found& b) { return a.accesses.size() > b.accesses.size(); });
  if (all.size() > kMostSpans) all.resize(kMostSpans);
  Spans spans;
  for (const Found& found : all) {
    for (const Access& access : found.accesses) {
      spans.accesses[access.pc] = static_cast<u32>(spans.spans.size());
    }
    spans.spans.push_back(found.span);
  }
  return spans;
}

}  // namespace myriarm::translate
