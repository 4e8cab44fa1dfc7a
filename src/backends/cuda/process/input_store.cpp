// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/process/input_store.h"

#include <bit>
#include <cstring>

namespace myriarm::cuda {

u32 InputStore::shift_for(u64 size) { return std::max<u32>(kFirstShift, static_cast<u32>(std::bit_width(size - 1))); }

u8* InputStore::take_slot(u32 shift) {
  std::vector<u8*>& free = free_[shift];
  if (!free.empty()) {
    u8* slot = free.back();
    free.pop_back();
    return slot;
  }
  const u64 size = u64{1} << shift;
  if (chunk_used_ + size > kChunkBytes) {
    chunks_.emplace_back(kChunkBytes, "allocating the lanes' inputs");
    chunk_used_ = 0;
  }
  u8* slot = chunks_.back().data() + chunk_used_;
  chunk_used_ += size;
  return slot;
}

const u8* InputStore::hold(std::span<const u8> bytes) {
  if (bytes.empty()) return nullptr;
  const Key key(bytes.data(), bytes.size());
  const auto found = held_.find(key);
  if (found != held_.end()) {
    found->second.holders++;
    return found->second.at;
  }
  const u32 shift = shift_for(bytes.size());
  Held held{nullptr, 1, nullptr};
  if (shift <= kLastShift) {
    held.at = take_slot(shift);
  } else {
    held.own = std::make_unique<DeviceArray<u8>>(bytes.size(), "allocating a lane's input");
    held.at = held.own->data();
  }
  fresh_.push_back(key);
  return held_.emplace(key, std::move(held)).first->second.at;
}

void InputStore::release(std::span<const u8> bytes) {
  if (bytes.empty()) return;
  const auto found = held_.find(Key(bytes.data(), bytes.size()));
  if (found == held_.end() || --found->second.holders != 0) return;
  const u32 shift = shift_for(bytes.size());
  if (shift <= kLastShift) free_[shift].push_back(found->second.at);
  held_.erase(found);
}

void InputStore::send(cudaStream_t stream) {
  std::vector<u8> small;
  std::vector<Placement> placements;
  for (const Key& key : fresh_) {
    const auto found = held_.find(key);
    if (found == held_.end()) continue;  // released again before it was sent
    const auto [from, size] = key;
    if (shift_for(size) > kLastShift) {
      check(cudaMemcpyAsync(found->second.at, from, size, cudaMemcpyHostToDevice, stream), "sending a lane's input");
      continue;
    }
    placements.push_back({small.size(), found->second.at, size});
    small.insert(small.end(), from, from + size);
    small.resize((small.size() + 7) / 8 * 8);
  }
  fresh_.clear();
  if (!placements.empty()) {
    buffer_.resize(small.size(), "allocating a transfer buffer");
    buffer_.upload(small, stream);
    placements_.resize(placements.size(), "allocating call arguments");
    placements_.upload(placements, stream);
    launch_place(buffer_.data(), placements_.data(), placements.size(), stream);
  }
  check(cudaStreamSynchronize(stream), "sending the lanes' inputs");
}

}  // namespace myriarm::cuda
