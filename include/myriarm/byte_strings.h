// SPDX-License-Identifier: Apache-2.0
// A list of byte strings, such as the inputs of many lanes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace myriarm {

/// Byte strings, numbered from 0 in the order in which they were added. Strings with equal bytes share them.
class ByteStrings {
 public:
  ByteStrings() = default;
  ByteStrings(ByteStrings&&) = default;
  ByteStrings& operator=(ByteStrings&&) = default;
  ByteStrings(const ByteStrings& other);
  ByteStrings& operator=(const ByteStrings& other);
  ~ByteStrings() = default;

  /// Adds a copy of these bytes.
  void add(std::span<const uint8_t> bytes);
  /// Prepares for this many strings in all.
  void reserve(size_t count) { strings_.reserve(count); }

  bool empty() const { return strings_.empty(); }
  size_t size() const { return strings_.size(); }
  /// String `index`, which must be below size(). The view is valid until the list is destroyed or assigned to, and
  /// after a move it belongs to the new list.
  std::span<const uint8_t> operator[](size_t index) const;
  /// Bytes that the list keeps, without its own bookkeeping.
  uint64_t bytes_kept() const { return bytes_kept_; }

 private:
  // Blocks never move, so that views of them stay valid while others are added.
  std::vector<std::unique_ptr<uint8_t[]>> blocks_;
  std::span<uint8_t> room_;  // the unused end of the last block
  std::unordered_set<std::string_view> known_;
  std::vector<std::string_view> strings_;
  uint64_t bytes_kept_ = 0;
};

}  // namespace myriarm
