// SPDX-License-Identifier: Apache-2.0
// How much of a multiprocessor's memory is its cache. Blocks keep the lanes' registers in its shared memory, and what they do not need of
// that is the L1 cache (CUDA C++ Programming Guide, "Shared Memory" of a compute capability). Unless it is asked, the driver divides it for
// as many blocks as could run at once, although a fleet may have fewer, or go faster with fewer: docs/design/first-level-cache.md.
#pragma once

#include <algorithm>

#include "backends/cuda/interpreter/kernels.h"
#include "backends/cuda/launch.h"

namespace myriarm::cuda {

/// Of a device: how many multiprocessors it has, and of each the bytes that shared memory can have at most and those that the
/// system takes of them for each block.
struct Multiprocessors {
  u32 count, shared_bytes, reserved_bytes;
};
/// Throws DeviceError.
Multiprocessors multiprocessors_of(int device);

constexpr u32 rounded_up(u64 value, u64 unit) { return static_cast<u32>((value + unit - 1) / unit); }

/// Blocks of a launch of an engine.
constexpr u32 blocks_of_teams(u32 teams) { return rounded_up(teams, kWarps); }

/// So few blocks at once leave each other much cache on a device on which kManyBlocks leave hardly any.
constexpr u32 kFewAtOnce = 4;

/// How many blocks a multiprocessor runs at once of a launch with so many of so many bytes each. `few`: no more than kFewAtOnce.
constexpr u32 blocks_at_once(u32 blocks, u32 bytes_of_block, const Multiprocessors& device, bool few) {
  const u32 room = device.shared_bytes / (bytes_of_block + device.reserved_bytes);
  return std::min({rounded_up(blocks, device.count), few ? kFewAtOnce : u32{kManyBlocks}, std::max(room, 1u)});
}

/// What part of the time so many blocks at once have work if all blocks take as long, and a block takes as long however many run beside
/// it: they run in rounds, of which the last one may be short.
constexpr double full_part(u32 blocks, const Multiprocessors& device, u32 at_once) {
  const u64 of_a_round = u64{at_once} * device.count;
  return static_cast<double>(blocks) / static_cast<double>(rounded_up(blocks, of_a_round) * of_a_round);
}

/// Whether few blocks at once may be the faster way: they are fewer, and their last round is not much shorter.
constexpr bool few_is_a_choice(u32 blocks, u32 bytes_of_block, const Multiprocessors& device) {
  constexpr double kNearlyAsFull = 0.9;
  const u32 most = blocks_at_once(blocks, bytes_of_block, device, false),
            few = blocks_at_once(blocks, bytes_of_block, device, true);
  return few < most && full_part(blocks, device, few) >= full_part(blocks, device, most) * kNearlyAsFull;
}

/// The part of its largest shared memory that a multiprocessor is to have, in percent; the driver takes the next size that it has. With
/// `few`, room for those that run at once and no other. Else for one more, if the kernel allows it: another program may hold some
/// multiprocessors, and then the others run its blocks too.
constexpr int shared_percent(u32 blocks, u32 bytes_of_block, const Multiprocessors& device, bool few) {
  const u32 at_once = blocks_at_once(blocks, bytes_of_block, device, few);
  const u32 most = blocks <= device.count * kFewBlocks ? kFewBlocks : kManyBlocks;
  const u64 bytes = u64{few ? at_once : std::min(at_once + 1, most)} * (bytes_of_block + device.reserved_bytes);
  return static_cast<int>(std::min(rounded_up(bytes * 100, device.shared_bytes), 100u));
}
/// Asks the driver for that. A kernel without shared memory keeps what it has. Throws DeviceError if something before it has failed.
void divide_for(const Launch& launch, const Multiprocessors& device, bool few);

}  // namespace myriarm::cuda
