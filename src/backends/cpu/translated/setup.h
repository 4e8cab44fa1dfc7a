// SPDX-License-Identifier: Apache-2.0
// How translation is done in this process. Tests change it, before they make the fleets that it concerns; nothing else
// does.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "translate/translator.h"

namespace myriarm::cpu {

struct TranslationSetup {
  /// Makes the translator of a fleet, when the fleet first needs it.
  std::function<std::unique_ptr<translate::Translator>(const translate::SlowPaths&,
                                                       std::shared_ptr<translate::RegionStore>, std::string& why)>
      make = translate::make_translator;
  /// Whether fleets whose options say so use the cache on disk.
  bool may_cache = true;
  /// Instructions that a thread runs, on average, between two looks at where its lane is. A look takes some 100 ns.
  u64 interval = u64{1} << 14;
  /// How often lanes must have been seen at an address before it is copied together from stencils, and how often they must have
  /// left copied code for it. Without stencils nothing is. The thread that runs the lane does it, at once.
  u32 hot_for_stencils = 2;
  u32 exits_for_stencils = 4;
  translate::RegionLimits stencil_limits = {.instructions = 200, .entries = 100};
  /// How often lanes must have been at an address before it is compiled: where it is interpreted, and where it is copied code.
  /// The defaults are some milliseconds at that address alone: to compile takes tens of milliseconds, so programs that end
  /// before are left alone.
  u32 hot = 256;
  u32 hot_in_stencils = 512;
  /// When a region is asked for, the lane runs so many instructions one by one, and the region consists of some of these.
  /// So nothing is translated that hot code never reaches. 0: a region has whatever branches lead to.
  u64 followed = 1 << 14;
  /// The thread that runs the lane translates at once, and no other thread is started.
  bool at_once = false;
  /// Hot code gets small regions, since it is interpreted until its region is there; larger ones if it is copied code until then.
  translate::RegionLimits limits = {.instructions = 96};
  translate::RegionLimits limits_after_stencils = {.instructions = 200, .entries = 40};
  /// How often lanes must have been seen at the entry of a small region before a large one takes its place; 0: never.
  /// While lanes are in translated code, looks are up to 2^17 instructions apart.
  u32 hot_for_long = 4096;
  translate::RegionLimits large_limits = {.instructions = 400, .entries = 40};
  /// Not 0: lanes change between the tiers wherever they can. They leave translated code at the first check after some 1 to so
  /// many instructions, each time after another number, and go past every fourth entry or so by interpretation. Numbers follow from
  /// `change_seed`, the lane and its count.
  u32 longest_visit = 0;
  u64 change_seed = 0;
  /// No region may have more instructions. Where a lane may retire fewer than that, it is interpreted.
  u32 longest_run = 512;
};

TranslationSetup& translation_setup();

}  // namespace myriarm::cpu
