// SPDX-License-Identifier: Apache-2.0
// Runs that are divided into pieces until the fleet has run translated code, for programs whose end is far away.
#pragma once

#include <string>

#include "fleet_fixture.h"

namespace fleet_test {

constexpr uint64_t kPieceInstructions = 20'000, kMostPieces = 5'000;

struct Pieces {
  uint64_t count = 0;  // kMostPieces: there was too little translated code
  std::string why;     // not empty: there is no translation, as it says
  uint64_t instructions() const { return count * kPieceInstructions; }
};
/// Runs all lanes until they have retired so many instructions more in translated code. `piece`: what else the runs are to have.
inline Pieces run_until_translated(Fleet& fleet, uint64_t instructions, RunOptions piece = {}) {
  piece.instructions = kPieceInstructions;
  const uint64_t wanted = fleet.translation().translated + instructions;
  Pieces pieces;
  while (fleet.translation().translated < wanted && pieces.count < kMostPieces && pieces.why.empty()) {
    fleet.run(piece);
    pieces.count++;
    pieces.why = fleet.translation().unavailable;
  }
  return pieces;
}

}  // namespace fleet_test
