// SPDX-License-Identifier: Apache-2.0
// Which kernel of the interpreter runs a fleet. Compiled by the C++ compiler, without the instruction table.
#include "backends/cuda/launch.h"

#include "backends/cuda/interpreter/kernels.h"

namespace myriarm::cuda {

Launch interpreter_launch(const View& view, u32 multiprocessors) {
  const u32 blocks = (view.teams + kWarps - 1) / kWarps;
  const bool few = blocks <= multiprocessors * kFewBlocks;
  const void* kernel = few                                 ? few_blocks_kernel()
                       : view.common_code.words == nullptr ? many_blocks_several_spans_kernel()
                                                           : many_blocks_kernel();
  return {kernel, blocks, kWarps * kTeam, kWarps * kSharedSlots * kTeam * (u32)sizeof(u64)};
}

}  // namespace myriarm::cuda
