// SPDX-License-Identifier: Apache-2.0
// Which accesses of a region share a place for their window. Two that alternate between windows in one place would take the
// slow path each time, so accesses share one only where they are likely near each other.
#pragma once

#include <map>

#include "translate/shape.h"

namespace myriarm::translate {

/// The place of each instruction that accesses memory, by its address. The same for the same code at the same address.
std::map<u64, u32> window_places(const Shape& shape);

}  // namespace myriarm::translate
