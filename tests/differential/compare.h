// SPDX-License-Identifier: Apache-2.0
// Compares lanes of a batch with Unicorn, and reports a lane that differs.
#pragma once

#include <string>
#include <vector>

#include "cases.h"
#include "unicorn_engine.h"

namespace myriarm::differential {

enum class Verdict {
  same,
  different,
  /// The case used an address with a top byte, which this oracle does not ignore, or an unaligned store exclusive,
  /// which it refuses.
  not_comparable,
};
/// `same`: registers, memory and count are the same after the instructions that myriarm retired, and so is the stop.
/// The expected state of an instruction that stops without retiring is the state before it.
Verdict compare(UnicornEngine& unicorn, const Batch& batch, uint32_t lane, const State& ours);

/// Finds the first instruction after which the case differs, and prints listing, states and `reproduce`.
void tell(UnicornEngine& unicorn, const Batch& batch, uint32_t lane, const std::string& device,
          const std::string& reproduce);

}  // namespace myriarm::differential
