// SPDX-License-Identifier: Apache-2.0
// The kernels behind the host's part of processes.
#pragma once

#include <cuda_runtime_api.h>

#include "backends/cuda/kernels.h"
#include "backends/cuda/view.h"

namespace myriarm::cuda {

/// `size` bytes of a buffer, from `from` on, that belong at `to`. Both are multiples of 8, and the last word is whole.
struct Placement {
  u64 from;
  u8* to;
  u64 size;
};
void launch_place(const u8* buffer, const Placement* placements, u64 count, cudaStream_t stream);
/// inputs[lanes[i]] = values[i].
void launch_place_inputs(const u32* lanes, const kernel::ProcessInput* values, u64 count, kernel::ProcessInput* inputs,
                         cudaStream_t stream);
/// Frees the frames that teams have given up in a launch.
void launch_free_given_up(const View& view, cudaStream_t stream);
/// Stops lanes whose output the host has refused with out_of_memory, so that no more memory resumes them.
void launch_refuse_output(const View& view, const u32* lanes, u64 count, cudaStream_t stream);

/// These lanes have their first space alone, and run in it.
void launch_forget_spaces(const View& view, const TeamMask* teams, u64 count, cudaStream_t stream);
/// kernel::SharesFiles of the space in which a lane runs.
void launch_join_page(const View& view, u32 lane, u64 page, u64 file_page, u32 permissions, cudaStream_t stream);
void launch_part_page(const View& view, u32 lane, u64 file_page, cudaStream_t stream);
/// A lane enters one of its spaces, or with `enters` false that ends.
void launch_change_space(const View& view, u32 lane, u32 number, bool enters, cudaStream_t stream);

/// Adds to `teams` the number of those in which a guest may access a page that is simple by lane alone: is_simple_by_lane().
void launch_count_differing(const View& view, u32* teams, cudaStream_t stream);
/// Lets lanes that are under way go on for so many instructions, or to the end of their run. Lanes that have stopped keep the end of their
/// batch.
void launch_begin_step(const View& view, u64 instructions, cudaStream_t stream);
/// Adds to counts[0] the number of lanes under way whose place's lane in the next team is too, and to counts[1] how many of these are at
/// another instruction, or have retired another number of them.
void launch_count_apart(const View& view, u32* counts, cudaStream_t stream);

}  // namespace myriarm::cuda
