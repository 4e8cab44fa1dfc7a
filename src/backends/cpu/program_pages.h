// SPDX-License-Identifier: Apache-2.0
// What the lanes of one program start with: its pages as page-table entries, and its predecoded code. Kept as long as
// the fleet, since a restored lane gets these for all that its snapshot had not changed.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "backends/backend.h"
#include "backends/cpu/flat_memory.h"
#include "backends/cpu/frame_pool.h"
#include "backends/cpu/interpreter/code_space.h"

namespace myriarm::cpu {

struct ProgramPages {
  struct Run {
    u64 page, count;  // window indices
    u32 entry;        // of the first page; with flat memory the frame number of each further page is one higher
    u32 frame;        // image frame that holds the content, or the zero frame
  };
  std::vector<Run> runs;  // in rising order of page
  CodeSpace code;
  bool flat = false;
  std::optional<kernel::ProcessFacts> process;  // if the lanes are processes

  /// Writes the entries of pages [first, end) to out[0] and up. It does not write zeros over zeros: host pages of a
  /// large table that nothing has touched stay untouched.
  void fill(u32* out, u64 first, u64 end) const;
  /// Writes the entries of all pages below `end` to a table of zeros.
  void begin(u32* table, u64 end) const;
  /// Makes a table with these entries one of zeros again.
  void end(u32* table) const;
  /// Flat memory: writes the content of all pages to a window of zeros.
  void copy_content(u8* window, const FramePool& pool) const;
};

/// How many frames the pages of the image need.
u64 image_frames(const Image& image);
/// Makes one ProgramPages for all programs of the image that have the same pages, with the content in image frames of
/// the pool. Program i of the image gets number numbers[i].
std::vector<std::unique_ptr<ProgramPages>> make_programs(const Image& image, FramePool& pool, bool flat,
                                                         std::vector<u32>& numbers);

}  // namespace myriarm::cpu
