// SPDX-License-Identifier: Apache-2.0
// The root of processes in device memory: its index from the beginning, and what a file contains once a lane has needed it.
#pragma once

#include <map>
#include <vector>

#include "backends/cuda/device_memory.h"
#include "kernel/flat_tree.h"
#include "myriarm/file_tree.h"

namespace myriarm::cuda {

class DeviceTree {
 public:
  /// `tree` must live as long as this does. Throws ArgumentError if it is too large.
  DeviceTree(const FileTree& tree, cudaStream_t stream);

  const kernel::FlatIndex* index() const { return reinterpret_cast<const kernel::FlatIndex*>(index_.data()); }
  const kernel::FlatContent* contents() const { return contents_.data(); }
  /// The most bytes that contents take. Others must leave them free.
  u64 limit() const { return limit_; }
  /// Contents are to lie here, each at the beginning of a page, with zeros behind it: limit() bytes.
  void use_area(u8* area) { area_ = area; }
  /// Brings what a file contains, if it can be read, while no lane runs. False: there is no memory for it.
  bool bring(u32 file, cudaStream_t stream);

 private:
  const FileTree& tree_;
  DeviceArray<u64> index_;
  DeviceArray<kernel::FlatContent> contents_;
  std::vector<bool> is_known_;  // by file: it was brought, or cannot be read
  u8* area_ = nullptr;          // null: each has memory of its own
  std::map<u32, DeviceArray<u8>> brought_;
  u64 used_ = 0, limit_ = 0;  // bytes
};

}  // namespace myriarm::cuda
