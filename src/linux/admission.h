// SPDX-License-Identifier: Apache-2.0
// Decides how many processes are under way at the same time in a run of a LinuxFleet. A process that has exited gives
// its memory back, so on the CPU, where threads run lanes one after the other, processes begin only while there is room
// for them: the peak of the memory is that of the processes under way, not that of all lanes. A GPU runs all lanes side
// by side, and there all begin at once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "myriarm/fleet.h"

namespace myriarm::linux_process {

class Admission {
 public:
  /// `exits_free_memory`: whether processes that exit give their memory back.
  Admission(const Fleet& fleet, bool exits_free_memory)
      : fleet_(fleet),
        bounded_(fleet.device().kind == DeviceKind::cpu && exits_free_memory),
        most_(std::max<uint64_t>(kMost, kLanesPerThread * fleet.device().units)),
        used_at_first_(bounded_ ? fleet.pool_used() : 0) {}

  /// How many more processes may begin while `under_way` have begun and not ended. To be called in each round. Those that
  /// compute for long do not count, and some begin after many rounds in any case: processes that never end must not keep
  /// others from beginning.
  uint64_t more(uint64_t under_way) {
    if (!bounded_) return std::numeric_limits<uint64_t>::max();
    const uint64_t used = fleet_.pool_used() - std::min(fleet_.pool_used(), used_at_first_);
    if (holding_ != 0) bytes_a_lane_ = std::max(bytes_a_lane_, used / holding_);
    const uint64_t bytes = std::max(bytes_a_lane_, any_exited_ ? kPageBytes : kFirstGuess);
    const uint64_t for_all = fleet_.pool_size() / 2;  // the other half is for processes that grow
    const uint64_t room = for_all - std::min(for_all, used_at_first_ + holding_ * bytes);
    const uint64_t wanted = std::clamp(under_way + room / bytes, kFewest, most_);
    uint64_t more = wanted - std::min(wanted, under_way);
    if (more == 0 && ++rounds_ >= kPatience) more = kFewest;
    if (more != 0) rounds_ = 0;
    return more;
  }
  void begun(uint64_t lanes) { holding_ += lanes; }
  void exited(uint64_t lanes) {
    holding_ -= std::min(holding_, lanes);
    any_exited_ |= lanes != 0;
  }

 private:
  // Enough to keep all threads busy between two rounds of system calls. More would not fit the processor's caches: hello
  // runs half as fast again with 512 at a time as with 16,384.
  static constexpr uint64_t kFewest = 64, kMost = 1024, kLanesPerThread = 128;
  static constexpr uint64_t kPatience = 64;                     // rounds
  static constexpr uint64_t kFirstGuess = uint64_t{256} << 10;  // bytes of a process, until one has ended

  const Fleet& fleet_;
  const bool bounded_;
  const uint64_t most_;
  const uint64_t used_at_first_;
  uint64_t holding_ = 0;       // processes that began in this run and have not given their memory back
  uint64_t bytes_a_lane_ = 0;  // the most that they took, on average
  uint64_t rounds_ = 0;        // since the last process began
  bool any_exited_ = false;
};

}  // namespace myriarm::linux_process
