// SPDX-License-Identifier: Apache-2.0
// Which teams run from which predecoded span: the host's books. A variant is a span; the first ones are the programs'.
// Teams with equal keys get one variant, which the device then compares with each of them. Knows no CUDA, so that tests
// without a device use it.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "backends/cuda/code_keys.h"

namespace myriarm::cuda {

/// Pages of a window.
struct PageRange {
  u64 first = 0, count = 0;
};

class CodeVariants {
 public:
  /// `code`: the pages that the programs' spans have. Every span begins where these do, so that an engine has that as a
  /// constant, and has at most `most_pages`.
  CodeVariants(PageRange code, u64 most_pages, std::span<const u32> program_of_team);

  struct Variant {
    CodeKey key;
    PageRange pages;
    u64 words = 0;  // the memory that it takes, in words
    u32 index = 0;  // in its block
    u32 block = 0;  // memory that was allocated with it
    u32 teams = 0;  // how many run from it
  };
  struct Plan {
    std::map<u32, Variant> fresh;                 // to be made, by number
    std::vector<std::pair<u32, u32>> variant_of;  // team and the number of its variant
    u64 words = 0;                                // what the fresh ones take
    bool complete = true;  // false: `room` was too small for some, and their teams are not listed
  };
  /// What to do for teams with these keys, if new variants may have `room` words. Those of most teams come first. `words_of` says
  /// what a variant for a key takes.
  using WordsOf = std::function<u64(const CodeKey& key)>;
  Plan plan(std::span<const CodeKey> keys, u64 room, const WordsOf& words_of) const;
  /// Takes a plan over; its fresh variants are in this block.
  void carry_out(const Plan& plan, u32 block);
  /// There are more, page tables of further address spaces, which are teams here. They run the first program's code.
  void add_teams(u64 count);
  /// A team runs its program's code again.
  void give_program(u32 team, u32 program) { move(team, program); }

  static constexpr u32 kFirstProgram = 0;
  bool is_program(u32 number) const { return number < programs_; }
  const Variant& made(u32 number) const { return made_.at(number); }
  u32 of_team(u32 team) const { return variant_of_[team]; }
  /// What the spans take, without the programs', that teams run from.
  u64 words_in_use() const;
  /// What more than half of all teams run from, if there is that.
  std::optional<u32> of_most_teams() const;
  /// Whether all teams run from one variant.
  bool is_common(u32 number) const;

  /// Forgets the variants of blocks that no team uses, but for the `keep` latest of these blocks: code often comes back.
  /// Returns the blocks, which may be freed.
  std::vector<u32> forget_unused(u64 keep);

  /// The pages of the span for a key. Pages of the team that are not in it are decoded as they run.
  PageRange span_of(const CodeKey& key) const;

 private:
  void move(u32 team, u32 number);
  u32& teams_of(u32 number);

  PageRange code_;
  u64 most_pages_;
  u32 programs_ = 0;
  u32 next_;
  std::vector<u32> variant_of_, teams_of_program_;
  std::map<u32, Variant> made_;
};

}  // namespace myriarm::cuda
