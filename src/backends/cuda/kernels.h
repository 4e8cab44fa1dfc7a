// SPDX-License-Identifier: Apache-2.0
// What the host launches. All are asynchronous on the stream.
#pragma once

#include <cuda_runtime.h>

#include "backends/cuda/view.h"
#include "myriarm/fleet.h"

namespace myriarm::cuda {

/// Runs every lane without a stop until it has one.
void launch_run(const View& view, u32 multiprocessors, cudaStream_t stream);

/// values[i] = plane[lanes[i]], or plane[i] with lanes null; and back. A value for all: stride 0.
void launch_gather(const u64* plane, const u32* lanes, u64 count, u64* values, cudaStream_t stream);
void launch_scatter(u64* plane, const u32* lanes, u64 count, const u64* values, u64 stride, cudaStream_t stream);
void launch_scatter_stops(StopRecord* stops, const u32* lanes, u64 count, const StopRecord* values,
                          cudaStream_t stream);

/// Guest memory to buffer, and back. done[i]: bytes that were mapped. A write is two launches: the first copies the
/// shared pages that will be written, raising *spent if the pool did not suffice.
void launch_read(const View& view, const Transfer* transfers, u64 count, u8* buffer, u32* done, cudaStream_t stream);
void launch_prepare_write(const View& view, const Transfer* transfers, u64 count, u32* spent, cudaStream_t stream);
void launch_write(const View& view, const Transfer* transfers, u64 count, const u8* buffer, u32* done,
                  cudaStream_t stream);

/// Lanes of one team, a bit each, as map and protect take them.
struct TeamMask {
  u32 team;
  u32 mask;
};
enum class MapAction : u8 { map, protect };
void launch_map(const View& view, const TeamMask* teams, u64 count, u64 page, u64 pages, u32 permissions,
                MapAction action, u32* spent, cudaStream_t stream);
/// Entries of every team's table from a list of (page, entry).
void launch_fill_tables(const View& view, const u64* pages, const u32* entries, u64 count, cudaStream_t stream);

}  // namespace myriarm::cuda
