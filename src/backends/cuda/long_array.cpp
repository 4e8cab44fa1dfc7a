// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/long_array.h"

namespace myriarm::cuda {

std::vector<bool> pieces_of(std::span<const u32> pages, u64 page_bytes, u64 front, u64 piece) {
  std::vector<bool> own;
  for (const u32 page : pages) {
    const u64 begin = front + page * page_bytes;
    for (u64 at = begin / piece; at <= (begin + page_bytes - 1) / piece; at++) {
      if (own.size() <= at) own.resize(at + 1);
      own[at] = true;
    }
  }
  return own;
}

}  // namespace myriarm::cuda
