// SPDX-License-Identifier: Apache-2.0
// The kernels as the host launches them. Every launch is asynchronous on its stream.
#pragma once

#include <cuda_runtime.h>

#include <memory>
#include <type_traits>

#include "backends/cuda/launch.h"
#include "backends/cuda/saved_teams.h"
#include "backends/cuda/view.h"
#include "kernel/machine.h"
#include "myriarm/fleet.h"

namespace myriarm::cuda {

/// The launch of an engine.
Launch run_launch(const View& view, u32 multiprocessors, Engine engine);

/// A CUDA graph that runs batch after batch. Each batch launches the next one from the device, until
/// view.control->batches are done, no lane is left, a lane is out of memory and the pool may grow, the run is cancelled,
/// or a batch has ended for kYieldOrder.
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

/// Gather: values[i] = plane[lanes[i]], or plane[i] if `lanes` is null. Scatter stores values[i * stride] there; with
/// stride 0 all lanes get one value.
void launch_gather(const u64* plane, const u32* lanes, u64 count, u64* values, cudaStream_t stream);
void launch_scatter(u64* plane, const u32* lanes, u64 count, const u64* values, u64 stride, cudaStream_t stream);
/// Sets the stops of lanes. A run in progress may then resume lanes that it had left out.
void launch_scatter_stops(const View& view, const u32* lanes, u64 count, const StopRecord* values, cudaStream_t stream);

/// What the host must know after a change of guest pages; a launch only sets what it finds to be so.
struct PageChanges {
  u32 pool_spent;    // frames ran out: the launch must be repeated with a larger pool
  u32 code_changed;  // a page that a team may run from has changed
};
/// Copies between guest memory and `buffer`. done[i]: bytes of transfers[i] that were mapped. A write takes two
/// launches: launch_prepare_write() copies the shared pages that will be written.
void launch_read(const View& view, const Transfer* transfers, u64 count, u8* buffer, u32* done, cudaStream_t stream);
void launch_prepare_write(const View& view, const Transfer* transfers, u64 count, PageChanges* changes,
                          cudaStream_t stream);
void launch_write(const View& view, const Transfer* transfers, u64 count, const u8* buffer, u32* done,
                  cudaStream_t stream);

/// Some lanes of one team, one bit each. launch_map() also takes a further table, as TeamMask::team.
struct TeamMask {
  u32 team;
  u32 mask;
};
void launch_map(const View& view, const TeamMask* teams, u64 count, u64 page, u64 pages, u32 permissions,
                kernel::PageAction action, PageChanges* changes, cudaStream_t stream);
/// values[i * pages + p] = page_value() of page `page` + p of lanes[i], or of lane i with lanes null.
void launch_permissions(const View& view, const u32* lanes, u64 count, u64 page, u64 pages, u8* values,
                        cudaStream_t stream);
/// Fills the page tables of all teams from their programs' base tables. With flat memory it also copies the pages of
/// the image, whose units begin at `image`, to every lane.
void launch_fill_tables(const View& view, const u8* image, cudaStream_t stream);
/// Clears the stop of lanes that ran out of memory in the last batch.
void launch_resume_starved(const View& view, cudaStream_t stream);

/// Copies the touched slices of the page tables to `entries`, and counts the snapshot as a holder of their frames.
void launch_save_pages(const View& view, const SavedTeams& saved, cudaStream_t stream);

/// What each lane of one team gets: lane l gets the state of saved lane sources[l], or keeps its own if that is
/// kNotSaved.
struct TeamSources {
  u32 team;
  u32 whole;        // every lane of the team gets its own saved state
  u32 every_slice;  // pages outside the touched slices may differ too, since the programs do
  u32 sources[kTeam];
};
/// Counters of a restore. A dry launch only counts frames_needed, and changes nothing.
struct RestoreCounts {
  u32 frames_needed;
  u32 released;      // entries of the list `released`: frames that lose a holder
  u32 failed;        // 1 if there were too few frames
  u32 code_changed;  // 1 if a team may run from other code than its program's
};
void launch_restore_pages(const View& view, const SavedTeams& saved, const TeamSources* teams, u64 count, bool dry,
                          u32* released, RestoreCounts* counts, cudaStream_t stream);
/// Takes one holder from each frame in the list of a restore, or in the entries of a snapshot.
void launch_release_list(const View& view, const u32* released, const RestoreCounts* counts, u32 most,
                         cudaStream_t stream);
void launch_release_saved(const View& view, const SavedTeams& saved, u64 entries, cudaStream_t stream);
/// to[to_lanes[i]] = from[from_lanes[i]] in each of `planes` planes, which are these strides apart; null lanes: i
/// itself.
void launch_copy_planes(const u64* from, u64 from_stride, const u32* from_lanes, u64* to, u64 to_stride,
                        const u32* to_lanes, u64 count, u64 planes, cudaStream_t stream);
/// Copies stops in the same way. run_ends: the plane of the lanes that get the stops, so that a run may resume them;
/// null for a snapshot.
void launch_copy_stops(const StopRecord* from, const u32* from_lanes, StopRecord* to, const u32* to_lanes, u64 count,
                       u64* run_ends, cudaStream_t stream);

}  // namespace myriarm::cuda
