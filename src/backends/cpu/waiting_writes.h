// SPDX-License-Identifier: Apache-2.0
// What the host has written to lanes that have no pages for it yet: a lane gets the bytes when it next runs, or when
// somebody asks for more of its memory than to read it. Until then they take some bytes of the host instead of pages.
#pragma once

#include <cstring>
#include <span>
#include <vector>

#include "core/portable.h"

namespace myriarm::cpu {

class WaitingWrites {
 public:
  explicit WaitingWrites(u64 lanes) : logs_(lanes) {}

  bool any(u64 lane) const { return !logs_[lane].empty(); }
  /// Threads may call these two at the same time for different lanes.
  void add(u64 lane, u64 address, std::span<const u8> bytes);
  void drop(u64 lane) { std::vector<u8>().swap(logs_[lane]); }
  /// Forgets the bytes with addresses in [begin, end).
  void drop(u64 lane, u64 begin, u64 end);
  /// Calls `visit(address, bytes)` for each write, in the order in which they were made.
  template <class Visit>
  void for_each(u64 lane, Visit visit) const {
    const std::vector<u8>& log = logs_[lane];
    for (size_t at = 0; at < log.size();) {
      Head head;
      std::memcpy(&head, log.data() + at, sizeof head);
      at += sizeof head;
      visit(head.address, std::span<const u8>(log.data() + at, head.size));
      at += head.size;
    }
  }

 private:
  struct Head {
    u64 address, size;
  };
  std::vector<std::vector<u8>> logs_;  // by lane: a Head and its bytes for each write
};

}  // namespace myriarm::cpu
