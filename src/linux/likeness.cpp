// SPDX-License-Identifier: Apache-2.0
#include "linux/likeness.h"

#include <algorithm>
#include <compare>
#include <cstring>
#include <tuple>

namespace myriarm::linux_process {
namespace {

constexpr size_t kKeyBytes = 4096;
/// Of neighbours, the share of the shorter key that they have in common: with less their keys say nothing.
constexpr double kEnoughInCommon = 0.5;

using Bytes = std::span<const uint8_t>;

struct Key {
  const uint8_t* begin;
  uint64_t size;
  uint64_t place;  // of the input

  std::strong_ordering operator<=>(const Key& other) const {
    const int order = std::memcmp(begin, other.begin, std::min(size, other.size));
    return order != 0 ? order <=> 0 : size <=> other.size;
  }
};
static_assert(sizeof(Key) + sizeof(uint64_t) <= kOrderBytes);

/// Appends the key of an input.
void append_key(Bytes input, std::vector<uint8_t>& keys) {
  const size_t end = keys.size() + kKeyBytes;
  bool follows_digit = false;
  for (const uint8_t byte : input) {
    const bool is_digit = byte >= '0' && byte <= '9';
    if (!is_digit || !follows_digit) {
      if (keys.size() == end) return;
      keys.push_back(is_digit ? '0' : byte);
    }
    follows_digit = is_digit;
  }
}

double share_in_common(const Key& a, const Key& b) {
  if (std::is_eq(a <=> b)) return 1;  // as most are where inputs are of few kinds; also if both are empty
  const uint64_t shorter = std::min(a.size, b.size);
  if (shorter == 0) return 0;
  const auto common = static_cast<uint64_t>(std::mismatch(a.begin, a.begin + shorter, b.begin).first - a.begin);
  return static_cast<double>(common) / static_cast<double>(shorter);
}

bool have_little_in_common(std::span<const Key> sorted) {
  if (sorted.size() < 2) return false;
  double sum = 0;
  for (size_t i = 1; i < sorted.size(); i++) sum += share_in_common(sorted[i - 1], sorted[i]);
  return sum < kEnoughInCommon * static_cast<double>(sorted.size() - 1);
}

}  // namespace

std::vector<uint64_t> order_by_likeness(std::span<const Bytes> inputs, std::span<const uint64_t> numbers) {
  uint64_t most = 0;
  for (const Bytes input : inputs) most += std::min(input.size(), kKeyBytes);
  std::vector<uint8_t> bytes;
  bytes.reserve(most + 1);  // so that keys stay where they are, and have a place if all are empty
  std::vector<Key> keys;
  keys.reserve(inputs.size());
  for (const Bytes input : inputs) {
    const size_t begin = bytes.size();
    append_key(input, bytes);
    keys.push_back({bytes.data() + begin, bytes.size() - begin, keys.size()});
  }
  const auto by_length = [&](const Key& a, const Key& b) {
    return std::tuple(inputs[a.place].size(), numbers[a.place], a.place) <
           std::tuple(inputs[b.place].size(), numbers[b.place], b.place);
  };
  std::sort(keys.begin(), keys.end(), [&](const Key& a, const Key& b) {
    const std::strong_ordering order = a <=> b;
    return std::is_eq(order) ? by_length(a, b) : std::is_lt(order);
  });
  if (have_little_in_common(keys)) std::sort(keys.begin(), keys.end(), by_length);
  std::vector<uint64_t> places;
  places.reserve(keys.size());
  for (const Key& key : keys) places.push_back(key.place);
  return places;
}

}  // namespace myriarm::linux_process
