// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "myriarm/error.h"
#include "myriarm/fleet.h"

namespace myriarm {

void check_batch(const InputBatch& batch) {
  uint64_t before = 0;
  for (uint64_t offset : batch.offsets) {
    if (offset < before || offset > batch.bytes.size()) {
      throw ArgumentError("the offsets of a batch of inputs are " + std::to_string(before) + " and " +
                          std::to_string(offset) + ", of " + std::to_string(batch.bytes.size()) +
                          " bytes; they must rise, and lie within the bytes");
    }
    before = offset;
  }
  if (!batch.numbers.empty() && batch.numbers.size() != batch.size()) {
    throw ArgumentError("a batch of " + std::to_string(batch.size()) + " inputs has " +
                        std::to_string(batch.numbers.size()) + " numbers; give one for each");
  }
}

}  // namespace myriarm
