// SPDX-License-Identifier: Apache-2.0
// The kernels that predecode, as the host launches them: for programs, and for teams that run other code than their
// program's. docs/design/written-code.md says how they work together.
#pragma once

#include <cuda_runtime_api.h>

#include "backends/cuda/code_keys.h"
#include "backends/cuda/view.h"

namespace myriarm::cuda {

/// A span to be filled: with the words of a program, or with the code that a team has now.
struct NewCode {
  CodeSpan span;
  u32 number;        // of the program, or of the team
  u32 count;         // of pages that may have predecoded words
  const u32* pages;  // which these are, of the span; all others have the words that the span's memory began with
};
/// A span for a team, which must have been made from lanes of the same program.
struct TeamCode {
  CodeSpan span;
  u32 team;
  u32 program;
};

/// Whose code a kernel looks at: that of all lanes of a team, or that of its group.
enum class CodeOf : u8 { teams, groups };

/// `image`: where the units of the image begin; read for programs, and with flat memory.
/// Fills the span of each program, in each at most `pages` pages. The sources of all pages must be kNoCode.
void launch_predecode_programs(const View& view, const u8* image, const NewCode* spans, u32 count, u64 pages,
                               cudaStream_t stream);
/// Makes the key of each team with kCodeChanged, in any order, and takes that state away. *count must be 0. Such a team has no group
/// from then on; if `groups` is not null, View::wanted_groups gets one where lanes have code in split pages alike, and its key is there.
void launch_describe_code(const View& view, CodeKey* keys, const u8* image, u32* count, CodeKey* groups,
                          u32* group_count, cudaStream_t stream);
/// Sets a bit for each page of a span, which are `pages`, that the code of the team may need: its program's and its own. The bits
/// of team i begin at found[i * ((pages + 31) / 32)], and must be 0.
void launch_find_code(const View& view, const u32* teams, u32 count, u64 pages, CodeOf of, u32* found,
                      cudaStream_t stream);
/// Fills spans, in each at most `pages` pages. The sources of all pages must be kNoCode.
void launch_predecode_teams(const View& view, const u8* image, const NewCode* spans, u32 count, u64 pages, CodeOf of,
                            cudaStream_t stream);
/// Gives each team its span if every predecoded page of the span has the words that the team's page has now; else the
/// team decodes as it runs. The same for its group, which else runs from the team's.
void launch_assign_code(const View& view, const u8* image, const TeamCode* teams, u32 count, CodeOf of,
                        cudaStream_t stream);
/// All teams run from their programs' spans or decode as they run.
void launch_drop_code(const View& view, cudaStream_t stream);
/// With flat memory, where a host changes pages without a call: teams whose spans no longer fit decode as they run.
void launch_check_code(const View& view, const u8* image, cudaStream_t stream);

}  // namespace myriarm::cuda
