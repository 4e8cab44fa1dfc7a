// SPDX-License-Identifier: Apache-2.0
// Pages that lanes may only read and that many teams have alike, such as tables of addresses which each lane of a dynamic program has
// written when it linked itself: there is one of them for the fleet. They lie in units between the files of the root and the frames, are
// never written again, and stay until the fleet ends. docs/design/common-pages.md.
#pragma once

#include "core/memory.h"

namespace myriarm::cuda {

/// How many there are at most: 4 MiB. Later ones stay with their teams.
constexpr u32 kCommonPages = 1024;
/// What stands of each in a table in front of them: the hash of its bytes, and a CommonState in the lowest bits. 0: it is free.
using CommonPage = u64;
enum CommonState : u64 { kFilling = 1, kFilled = 2, kCommonStates = 3 };
constexpr u32 kCommonTableUnits = kCommonPages * sizeof(CommonPage) / kPageSize;
/// The units that end where the frames begin; a fleet has them if its processes have a root.
constexpr u32 kCommonUnits = kCommonTableUnits + kCommonPages;

}  // namespace myriarm::cuda
