// SPDX-License-Identifier: Apache-2.0
#include "myriarm/byte_strings.h"

#include <algorithm>

namespace myriarm {
namespace {

constexpr size_t kBlockBytes = size_t{1} << 18;

}  // namespace

ByteStrings::ByteStrings(const ByteStrings& other) {
  reserve(other.size());
  for (size_t i = 0; i < other.size(); i++) add(other[i]);
}

ByteStrings& ByteStrings::operator=(const ByteStrings& other) {
  if (this != &other) *this = ByteStrings(other);
  return *this;
}

void ByteStrings::add(std::span<const uint8_t> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (const auto found = known_.find(text); found != known_.end()) {
    strings_.push_back(*found);
    return;
  }
  if (bytes.size() > room_.size()) {
    // A large string gets a block of its size, and the room in the last block stays for those that follow.
    const bool alone = bytes.size() > kBlockBytes / 4;
    const size_t size = alone ? bytes.size() : kBlockBytes;
    blocks_.push_back(std::make_unique_for_overwrite<uint8_t[]>(size));
    if (!alone) room_ = {blocks_.back().get(), size};
  }
  uint8_t* place = bytes.size() > room_.size() ? blocks_.back().get() : room_.data();
  std::copy(bytes.begin(), bytes.end(), place);
  if (bytes.size() <= room_.size()) room_ = room_.subspan(bytes.size());
  bytes_kept_ += bytes.size();
  strings_.emplace_back(reinterpret_cast<const char*>(place), bytes.size());
  known_.insert(strings_.back());
}

std::span<const uint8_t> ByteStrings::operator[](size_t index) const {
  const std::string_view text = strings_[index];
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

}  // namespace myriarm
