// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/code_variants.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace myriarm::cuda {
namespace {

/// Keys that compare equal get one variant.
auto content_of(const CodeKey& key) { return std::tuple(key.program, key.low, key.high, key.hash); }

}  // namespace

CodeVariants::CodeVariants(PageRange code, u64 most_pages, std::span<const u32> program_of_team)
    : code_(code), most_pages_(most_pages), variant_of_(program_of_team.begin(), program_of_team.end()) {
  for (u32 program : variant_of_) programs_ = std::max(programs_, program + 1);
  teams_of_program_.resize(programs_);
  for (u32 program : variant_of_) teams_of_program_[program]++;
  next_ = programs_;
}

void CodeVariants::add_teams(u64 count) {
  variant_of_.resize(variant_of_.size() + count, 0);
  teams_of_program_[0] += static_cast<u32>(count);
}

PageRange CodeVariants::span_of(const CodeKey& key) const {
  u64 end = code_.first + code_.count;
  if (key.low <= key.high) end = std::max<u64>(end, key.high + u64{1});
  return {code_.first, std::min(end - code_.first, most_pages_)};
}

CodeVariants::Plan CodeVariants::plan(std::span<const CodeKey> keys, u64 room, const WordsOf& words_of) const {
  using Content = decltype(content_of(keys[0]));
  std::map<Content, std::vector<u32>> teams_with;
  for (const CodeKey& key : keys) teams_with[content_of(key)].push_back(key.team);
  std::map<Content, u32> number_of;
  for (const auto& [number, variant] : made_) number_of.emplace(content_of(variant.key), number);

  Plan plan;
  std::vector<const std::pair<const Content, std::vector<u32>>*> unknown;
  for (const auto& group : teams_with) {
    const auto& [program, low, high, hash] = group.first;
    const auto found = number_of.find(group.first);
    if (hash != 0 && found == number_of.end()) {
      unknown.push_back(&group);
      continue;
    }
    for (u32 team : group.second) plan.variant_of.emplace_back(team, hash == 0 ? program : found->second);
  }
  std::stable_sort(unknown.begin(), unknown.end(),
                   [](const auto* a, const auto* b) { return a->second.size() > b->second.size(); });
  u32 number = next_;
  for (const auto* group : unknown) {
    const auto& [program, low, high, hash] = group->first;
    Variant fresh;
    fresh.key = {group->second.front(), program, low, high, hash};
    fresh.pages = span_of(fresh.key);
    fresh.words = fresh.pages.count == 0 ? 0 : words_of(fresh.key);
    if (fresh.pages.count == 0 || fresh.words > room - plan.words) {
      plan.complete = false;
      continue;
    }
    plan.words += fresh.words;
    fresh.index = static_cast<u32>(plan.fresh.size());
    for (u32 team : group->second) plan.variant_of.emplace_back(team, number);
    plan.fresh.emplace(number++, fresh);
  }
  return plan;
}

void CodeVariants::carry_out(const Plan& plan, u32 block) {
  for (const auto& [number, fresh] : plan.fresh) {
    made_.emplace(number, fresh).first->second.block = block;
    next_ = number + 1;
  }
  for (const auto& [team, number] : plan.variant_of) move(team, number);
}

u32& CodeVariants::teams_of(u32 number) {
  return number < programs_ ? teams_of_program_[number] : made_.at(number).teams;
}

void CodeVariants::move(u32 team, u32 number) {
  teams_of(variant_of_[team])--;
  variant_of_[team] = number;
  teams_of(number)++;
}

u64 CodeVariants::words_in_use() const {
  u64 words = 0;
  for (const auto& [number, variant] : made_) words += variant.teams != 0 ? variant.words : 0;
  return words;
}

std::optional<u32> CodeVariants::of_most_teams() const {
  for (u32 program = 0; program < programs_; program++) {
    if (teams_of_program_[program] > variant_of_.size() / 2) return program;
  }
  for (const auto& [number, variant] : made_) {
    if (variant.teams > variant_of_.size() / 2) return number;
  }
  return std::nullopt;
}

bool CodeVariants::is_common(u32 number) const {
  return (number < programs_ ? teams_of_program_[number] : made_.at(number).teams) == variant_of_.size();
}

std::vector<u32> CodeVariants::forget_unused(u64 keep) {
  std::set<u32> unused;
  for (const auto& [number, variant] : made_) unused.insert(variant.block);
  for (const auto& [number, variant] : made_) {
    if (variant.teams != 0) unused.erase(variant.block);
  }
  std::vector<u32> forgotten(unused.begin(), unused.end());  // rising: the latest are last
  forgotten.resize(forgotten.size() - std::min<u64>(forgotten.size(), keep));
  std::erase_if(made_, [&](const auto& entry) {
    return std::binary_search(forgotten.begin(), forgotten.end(), entry.second.block);
  });
  return forgotten;
}

}  // namespace myriarm::cuda
