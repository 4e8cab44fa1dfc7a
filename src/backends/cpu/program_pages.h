// SPDX-License-Identifier: Apache-2.0
// What the lanes of one program begin with: its pages as page-table entries, and its predecoded code. Kept for as long
// as the fleet, since a lane that is restored goes back to it wherever it had changed nothing.
#pragma once

#include <memory>
#include <vector>

#include "backends/backend.h"
#include "backends/cpu/flat_memory.h"
#include "backends/cpu/frame_pool.h"
#include "backends/cpu/interpreter/code.h"

namespace myriarm::cpu {

struct ProgramPages {
  struct Run {
    u64 page, count;  // window indices
    u32 entry;        // of the first; with flat memory each page has its own frame, and one page's flags serve all
    u32 frame;        // image frame that holds the content, or the zero frame
  };
  std::vector<Run> runs;  // by rising page
  SharedCode code;
  bool flat = false;

  /// Writes the entries of pages [first, end) to out[0] and up. Only what differs is written: untouched pages of a
  /// large table stay untouched.
  void fill(u32* out, u64 first, u64 end) const;
  /// Writes the entries of all pages to a table of zeros, and with flat memory their content to `window`.
  void begin(u32* table, u8* window, const FramePool& pool) const;
};

/// Frames that image pages need.
u64 image_frames(const Image& image);
/// Each different program of the image once, its pages in image frames of the pool; of[i] is the one of programs[i].
std::vector<std::unique_ptr<ProgramPages>> make_programs(const Image& image, FramePool& pool, bool flat,
                                                         std::vector<u32>& of);

}  // namespace myriarm::cpu
