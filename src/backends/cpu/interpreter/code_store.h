// SPDX-License-Identifier: Apache-2.0
// The published code spaces of a fleet, found by the content of a page, so that lanes which wrote or were given the
// same code share its predecoded instructions.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "backends/cpu/interpreter/code_file.h"
#include "backends/cpu/interpreter/code_space.h"

namespace myriarm::cpu {

class CodeStore final : public PoolSavings {
 public:
  explicit CodeStore(FramePool& pool);
  ~CodeStore() override;
  CodeStore(const CodeStore&) = delete;

  /// Spaces in which the page is covered and, most probably, has this content: a few, the latest first.
  std::vector<std::shared_ptr<CodeSpace>> candidates(u64 page, const u8* bytes);
  /// Whether this was called with the page and, most probably, this content before.
  bool seen(u64 page, const u8* bytes);
  /// Makes a published space known under each of its changed pages, and keeps it for lanes to come.
  void add(const std::shared_ptr<CodeSpace>& space);
  /// Keeps a published space that a lane has found; of more than a few, the latest.
  void keep(const std::shared_ptr<CodeSpace>& space);
  /// Keeps one space less.
  bool give_up() noexcept override;
  /// What the pool counts for spaces that no lane has. While lanes run it may be too little.
  u64 saved_bytes();
  /// A copy that may be changed; null if the pool is spent.
  std::shared_ptr<CodeSpace> copy_of(const CodeSpace& space) { return CodeSpace::copy_of(space, file_, spare_, pool_); }
  /// The space that covers no page, for lanes whose pages are no longer the program's.
  const std::shared_ptr<CodeSpace>& nothing() const { return nothing_; }

 private:
  FramePool& pool_;
  CodeFile file_;
  SpareWords spare_;
  std::shared_ptr<CodeSpace> nothing_ = std::make_shared<CodeSpace>();
  std::mutex mutex_;
  std::unordered_map<u64, std::vector<std::weak_ptr<CodeSpace>>> by_page_;  // by hash of address and content
  std::unordered_set<u64> seen_;
  /// In the order in which they were wanted last. Lanes that run one after the other, as those of a queue do, would else make each the same again.
  std::deque<std::shared_ptr<CodeSpace>> kept_;
  size_t sweep_at_ = 1024;  // entries at which those of spaces that are gone are removed
};

}  // namespace myriarm::cpu
