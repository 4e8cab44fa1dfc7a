// SPDX-License-Identifier: Apache-2.0
// A saved state of a fleet, or of some of its lanes, which can be restored.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace myriarm {

/// Registers, stops and memory of lanes at one moment. Fleet::snapshot() makes it. It shares pages with the fleet until
/// a lane writes to them, so that it only costs memory for pages that are written later. After its fleet has closed it
/// is empty, and using it throws StateError.
class Snapshot {
 public:
  Snapshot() noexcept;
  ~Snapshot();
  Snapshot(Snapshot&&) noexcept;
  Snapshot& operator=(Snapshot&&) noexcept;
  /// The lanes that it holds, in rising order.
  const std::vector<uint32_t>& lanes() const;

 private:
  friend class Fleet;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace myriarm
