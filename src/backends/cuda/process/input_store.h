// SPDX-License-Identifier: Apache-2.0
// The bytes that the host gives to processes, in device memory. Bytes at the same place of the host's memory are there
// once, however many lanes have them.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "backends/cuda/device_memory.h"
#include "backends/cuda/process/process_kernels.h"

namespace myriarm::cuda {

class InputStore {
 public:
  /// Where these bytes lie on the device, from the next send() on, until release() has been called as often as hold().
  const u8* hold(std::span<const u8> bytes);
  void release(std::span<const u8> bytes);
  /// Copies what is new. The bytes on the host must still be there.
  void send(cudaStream_t stream);

 private:
  /// Slots have sizes of powers of two from 64 bytes on. Larger inputs than the largest slot have memory of their own.
  static constexpr u32 kFirstShift = 6, kLastShift = 20;
  static constexpr u64 kChunkBytes = u64{4} << 20;

  struct Held {
    u8* at;
    u64 holders;
    std::unique_ptr<DeviceArray<u8>> own;  // of a large input
  };
  using Key = std::pair<const u8*, u64>;

  static u32 shift_for(u64 size);
  u8* take_slot(u32 shift);

  std::map<Key, Held> held_;
  std::vector<Key> fresh_;
  std::deque<DeviceArray<u8>> chunks_;
  u64 chunk_used_ = kChunkBytes;
  std::array<std::vector<u8*>, kLastShift + 1> free_;
  // Of send(); kept, since to free device memory is to wait for the device.
  DeviceArray<u8> buffer_;
  DeviceArray<Placement> placements_;
};

}  // namespace myriarm::cuda
