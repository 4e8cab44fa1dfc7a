// SPDX-License-Identifier: Apache-2.0
// Which kernel of the interpreter runs a fleet. Compiled by the C++ compiler, without the instruction table.
#include "backends/cuda/launch.h"

#include "backends/cuda/first_level_cache.h"

#include "backends/cuda/interpreter/kernels.h"

namespace myriarm::cuda {

Launch interpreter_launch(const View& view, u32 multiprocessors) {
  const u32 blocks = blocks_of_teams(view.teams);
  const bool few = blocks <= multiprocessors * kFewBlocks;
  const bool several = view.common_code.words == nullptr, processes = view.processes.facts != nullptr;
  const void* kernel;
  if (processes && view.processes.pages_differ != 0) {
    kernel = few ? process_few_blocks_own_pages_kernel() : process_many_blocks_own_pages_kernel();
  } else if (few) {
    kernel = processes ? process_few_blocks_kernel() : few_blocks_kernel();
  } else if (several) {
    kernel = processes ? process_many_blocks_several_spans_kernel() : many_blocks_several_spans_kernel();
  } else {
    kernel = processes ? process_many_blocks_kernel() : many_blocks_kernel();
  }
  return {kernel, blocks, kWarps * kTeam, kWarps * kSharedSlots * kTeam * (u32)sizeof(u64)};
}

}  // namespace myriarm::cuda
