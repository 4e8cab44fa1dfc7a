// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/process/device_tree.h"

#include <algorithm>

#include "backends/flat_index.h"

namespace myriarm::cuda {
namespace {

/// Of the memory that is free when the fleet is made, contents take one part of so many at most.
constexpr u64 kParts = 8;
/// Each begins a page, so that entries of page tables can name its pages.
constexpr u64 taken_by(u64 size) { return (std::max<u64>(size, 1) + kPageSize - 1) / kPageSize * kPageSize; }

}  // namespace

DeviceTree::DeviceTree(const FileTree& tree, cudaStream_t stream) : tree_(tree) {
  const std::vector<u64> block = FlatIndexMaker(tree).make();
  const auto* const index = reinterpret_cast<const kernel::FlatIndex*>(block.data());
  const auto* const files = reinterpret_cast<const kernel::FlatFile*>(&block[index->files_at / sizeof(u64)]);
  is_known_.resize(index->files);
  u64 all = 0;
  for (u32 file = 0; file < index->files; file++) {
    is_known_[file] = files[file].place != kernel::ContentPlace::table;
    if (!is_known_[file]) all += taken_by(files[file].size);
  }
  index_.resize(block.size(), "copying the root to the device");
  index_.upload(block, stream);
  contents_.resize(index->files, "copying the root to the device");
  check(cudaMemsetAsync(contents_.data(), 0, contents_.bytes(), stream), "copying the root to the device");
  check(cudaStreamSynchronize(stream), "copying the root to the device");
  size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "asking for free device memory");
  limit_ = std::min<u64>(all, free / kParts / kPageSize * kPageSize);
}

bool DeviceTree::bring(u32 file, cudaStream_t stream) {
  if (file >= is_known_.size() || is_known_[file]) return true;
  kernel::FlatContent known = {nullptr, 0, kernel::ContentState::unreadable, 0};
  if (std::span<const u8> bytes; tree_.content(file, bytes)) {
    const u64 taken = taken_by(bytes.size());
    if (taken > limit_ - used_) return false;
    constexpr const char* kCopying = "copying a file to the device";
    u8* place = area_ == nullptr ? nullptr : area_ + used_;
    if (place == nullptr) {
      DeviceArray<u8> own;
      try {
        own.resize(taken, kCopying);
      } catch (const DeviceError&) {
        cudaGetLastError();  // a later check must not find this error
        return false;
      }
      place = own.data();
      brought_.emplace(file, std::move(own));
    }
    check(cudaMemcpyAsync(place, bytes.data(), bytes.size(), cudaMemcpyHostToDevice, stream), kCopying);
    check(cudaMemsetAsync(place + bytes.size(), 0, taken - bytes.size(), stream), kCopying);
    known = {place, bytes.size(), kernel::ContentState::there, 0};
    used_ += taken;
  }
  check(cudaMemcpyAsync(contents_.data() + file, &known, sizeof known, cudaMemcpyHostToDevice, stream),
        "copying a file to the device");
  check(cudaStreamSynchronize(stream), "copying a file to the device");
  is_known_[file] = true;
  return true;
}

}  // namespace myriarm::cuda
