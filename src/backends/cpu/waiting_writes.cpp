// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/waiting_writes.h"

#include <algorithm>

namespace myriarm::cpu {

void WaitingWrites::add(u64 lane, u64 address, std::span<const u8> bytes) {
  if (bytes.empty()) return;
  std::vector<u8>& log = logs_[lane];
  const Head head{address, bytes.size()};
  const size_t at = log.size();
  if (log.empty()) log.reserve(sizeof head + bytes.size());  // no more: most lanes get one write
  log.resize(at + sizeof head);
  std::memcpy(log.data() + at, &head, sizeof head);
  log.insert(log.end(), bytes.begin(), bytes.end());
}

void WaitingWrites::drop(u64 lane, u64 begin, u64 end) {
  if (!any(lane)) return;
  WaitingWrites kept(1);
  for_each(lane, [&](u64 address, std::span<const u8> bytes) {
    const u64 last = address + bytes.size();
    const u64 below = std::clamp(begin, address, last) - address, above = std::clamp(end, address, last) - address;
    kept.add(0, address, bytes.first(below));
    kept.add(0, address + above, bytes.subspan(above));
  });
  logs_[lane] = std::move(kept.logs_[0]);
}

}  // namespace myriarm::cpu
