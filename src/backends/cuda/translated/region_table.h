// SPDX-License-Identifier: Apache-2.0
// Where the kernel of translated code finds the region that begins at an address, and notes where it found none.
#pragma once

#include "core/operands.h"
#include "core/portable.h"

namespace myriarm::cuda {

/// What is known of a word of guest code that is no entry of a region: no region has it, or it lies within one.
constexpr u32 kCold = 0, kInRegion = ~u32{0};

/// Of a word of guest code. One load of it is all that a visit needs: loads that wait for each other are what a visit takes longest for.
struct alignas(16) RegionEntry {
  u64 function;     // address of the region's; kCold or kInRegion: the word is no entry
  u32 number;       // as the region takes it
  u32 longest_run;  // see translate::DeviceRegion
};

/// What warps have done, summed; they add to it.
struct RegionCounts {
  u64 interpreted;      // instructions that lanes have retired without regions
  u64 visits;           // how often lanes that were together have gone into a region
  u64 lanes_in_visits;  // how many they were, summed over the visits
};

/// The regions of one span of predecoded code. Teams that run from another one, or from a part of it, are interpreted.
struct RegionTable {
  const Operands* words;       // of the span
  u32 begin, bytes;            // of the span, as in CodeSpan
  const RegionEntry* entries;  // for each word of guest code
  RegionCounts* counts;
  u32 longest_visit;  // in instructions, so that all lanes of a warp come to look for orders
  u32* heat;  // for each word: instructions that were interpreted from there on, of one lane of those together; or null
};

/// The kernel, and the array of addresses of the regions' functions that it is linked with.
constexpr const char* kTranslatedKernelName = "myriarm_run_translated";
constexpr const char* kRegionFunctionsName = "myriarm_region_functions";

}  // namespace myriarm::cuda
