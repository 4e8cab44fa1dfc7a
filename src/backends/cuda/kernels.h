// SPDX-License-Identifier: Apache-2.0
// What the host launches. All are asynchronous on the stream.
#pragma once

#include <cuda_runtime.h>

#include <memory>
#include <type_traits>

#include "backends/cuda/view.h"
#include "myriarm/fleet.h"

namespace myriarm::cuda {

/// The launch of an engine's kernel: its argument is the View.
struct Launch {
  const void* kernel;
  u32 blocks, threads, shared_bytes;
};
Launch interpreter_launch(const View& view, u32 multiprocessors);
Launch stepper_launch(const View& view);
Launch run_launch(const View& view, u32 multiprocessors, Engine engine);
/// One batch, as *view.control says; *view.report must be clear.
void launch_run(const View& view, u32 multiprocessors, Engine engine, cudaStream_t stream);

/// A graph that runs batch after batch, each launched by the one before it on the device, until *view.control's batches
/// are done, no lane is left, one is out of memory, or the run is cancelled.
class Chain {
 public:
  Chain(const View& view, u32 multiprocessors, Engine engine, cudaStream_t stream);
  void launch(cudaStream_t stream);

 private:
  struct Destroy {
    void operator()(cudaGraph_t graph) const { cudaGraphDestroy(graph); }
    void operator()(cudaGraphExec_t graph) const { cudaGraphExecDestroy(graph); }
  };
  std::unique_ptr<std::remove_pointer_t<cudaGraph_t>, Destroy> graph_;
  std::unique_ptr<std::remove_pointer_t<cudaGraphExec_t>, Destroy> exec_;
};

/// values[i] = plane[lanes[i]], or plane[i] with lanes null; and back. A value for all: stride 0.
void launch_gather(const u64* plane, const u32* lanes, u64 count, u64* values, cudaStream_t stream);
void launch_scatter(u64* plane, const u32* lanes, u64 count, const u64* values, u64 stride, cudaStream_t stream);
/// Stops of lanes; a run in progress takes up lanes that it had left out.
void launch_scatter_stops(const View& view, const u32* lanes, u64 count, const StopRecord* values, cudaStream_t stream);

/// Guest memory to buffer, and back. done[i]: bytes that were mapped. A write is two launches: the first copies the
/// shared pages that will be written, raising *spent if the pool did not suffice.
void launch_read(const View& view, const Transfer* transfers, u64 count, u8* buffer, u32* done, cudaStream_t stream);
void launch_prepare_write(const View& view, const Transfer* transfers, u64 count, u32* spent, cudaStream_t stream);
void launch_write(const View& view, const Transfer* transfers, u64 count, const u8* buffer, u32* done,
                  cudaStream_t stream);

/// Lanes of one team, a bit each, as map, unmap and protect take them.
struct TeamMask {
  u32 team;
  u32 mask;
};
enum class MapAction : u8 { map, unmap, protect };
void launch_map(const View& view, const TeamMask* teams, u64 count, u64 page, u64 pages, u32 permissions,
                MapAction action, u32* spent, cudaStream_t stream);
/// values[i * pages + p] = page_value() of page `page` + p of lanes[i], or of lane i with lanes null.
void launch_permissions(const View& view, const u32* lanes, u64 count, u64 page, u64 pages, u8* values,
                        cudaStream_t stream);
/// Entries of the tables of each team from its program's base table. Where memory is flat, the lanes' pages are filled
/// from the image too, whose units are at `image`.
void launch_fill_tables(const View& view, const u8* image, cudaStream_t stream);
/// Where memory is flat: sets own_code of each team to whether a lane's predecoded pages are not what was predecoded.
void launch_compare_code(const View& view, const u8* image, cudaStream_t stream);

/// Lanes that ran out of memory in the last batch have no stop any more.
void launch_resume_starved(const View& view, cudaStream_t stream);

/// Teams whose pages a snapshot holds: slices of their tables.
struct SavedTeams {
  const u32* index;     // of each team of the fleet, in the arrays below, or kNotSaved
  const u32* teams;     // `count` of the fleet's teams
  const u32* programs;  // of each, then
  u32 count;
  const u64* touched;  // which slices are there
  const u32* first;    // where they begin in `entries`, one after the other
  u32* entries;
  u8* permissions;  // where memory is flat: by lane, page_count * kTeam a team; else null
};
constexpr u32 kNotSaved = 0xFFFFFFFFu;
/// Fills `entries` from the tables: both hold the frames from then on.
void launch_save_pages(const View& view, const SavedTeams& saved, cudaStream_t stream);

/// What lanes of one team are to get: sources[l] is a saved lane of the fleet, or kNotSaved to keep what lane l has.
struct TeamSources {
  u32 team;
  u32 whole;        // every lane of the team gets its own
  u32 every_slice;  // pages beyond the touched ones may differ: programs do
  u32 sources[kTeam];
};
/// Counters of a restore; needed may be counted first without changing anything.
struct RestoreCounts {
  u32 frames_needed;
  u32 released;  // frames that lost a holder
  u32 failed;    // frames that were not there
};
void launch_restore_pages(const View& view, const SavedTeams& saved, const TeamSources* teams, u64 count, bool dry,
                          u32* released, RestoreCounts* counts, cudaStream_t stream);
/// Takes a holder from frames: the list of a restore, or those of a snapshot.
void launch_release_list(const View& view, const u32* released, const RestoreCounts* counts, u32 most,
                         cudaStream_t stream);
void launch_release_saved(const View& view, const SavedTeams& saved, u64 entries, cudaStream_t stream);
/// planes: to[lanes[i]] = from[sources[i]] for `planes` planes with these strides.
void launch_copy_planes(const u64* from, u64 from_stride, const u32* from_lanes, u64* to, u64 to_stride,
                        const u32* to_lanes, u64 count, u64 planes, cudaStream_t stream);
/// run_ends: the plane of the lanes that get stops, which are no longer held then; null for a snapshot.
void launch_copy_stops(const StopRecord* from, const u32* from_lanes, StopRecord* to, const u32* to_lanes, u64 count,
                       u64* run_ends, cudaStream_t stream);

}  // namespace myriarm::cuda
