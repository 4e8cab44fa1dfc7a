// SPDX-License-Identifier: Apache-2.0
// Holds lanes of a batch against Unicorn, and tells the story of one that differs.
#pragma once

#include <string>
#include <vector>

#include "cases.h"
#include "unicorn_engine.h"

namespace myriarm::differential {

enum class Verdict {
  same,
  different,
  /// The case came to an address with a top byte, which this oracle does not ignore, or to an unaligned store
  /// exclusive that it refuses.
  not_comparable,
};
/// Same: the same registers, memory and count after the instructions that we retired, and the same stop. The
/// expected state of an instruction that stops without retiring is the one before it.
Verdict compare(UnicornEngine& unicorn, const Batch& batch, uint32_t lane, const State& ours);

/// Finds the first instruction after which the case differs, and prints listing, states and `reproduce`.
void tell(UnicornEngine& unicorn, const Batch& batch, uint32_t lane, const std::string& device,
          const std::string& reproduce);

}  // namespace myriarm::differential
