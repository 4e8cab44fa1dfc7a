// SPDX-License-Identifier: Apache-2.0
// The forms of the interpreter's kernel. Each is compiled by a file of its own, since each takes minutes.
#pragma once

#include "core/operands.h"

namespace myriarm::cuda {

constexpr u32 kWarps = 4;  // of a block
/// Blocks for each SM: six fill its shared memory, and leave 80 registers for each thread. A fleet that does not fill
/// the device is faster with more registers and fewer blocks.
constexpr u32 kManyBlocks = 6, kFewBlocks = 3;
constexpr u32 kSharedSlots = kSlotCount + 2;  // of a lane in shared memory, 8 bytes each: see execute.cuh

/// For fleets that do not fill the device: it has registers to spare and serves any number of spans.
const void* few_blocks_kernel();
/// For other fleets, while all teams run from one whole span: View::common_code.
const void* many_blocks_kernel();
/// For other fleets.
const void* many_blocks_several_spans_kernel();
/// The same for fleets with processes.
const void* process_few_blocks_kernel();
const void* process_many_blocks_kernel();
const void* process_many_blocks_several_spans_kernel();
/// The same while lanes of a team differ in the permissions of pages, for any number of spans: an access takes longer, and
/// needs no call out of line where lanes differ.
const void* process_few_blocks_own_pages_kernel();
const void* process_many_blocks_own_pages_kernel();

}  // namespace myriarm::cuda
