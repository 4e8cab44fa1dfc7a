// SPDX-License-Identifier: Apache-2.0
// The state of a fleet, or of some of its lanes, kept to go back to.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace myriarm {

/// Registers, stops and memory of lanes at one moment. Made by Fleet::snapshot(); shares pages with the fleet until
/// either writes to them, so it costs what is dirtied. After its fleet has closed it is empty, and using it is a
/// StateError.
class Snapshot {
 public:
  Snapshot() noexcept;
  ~Snapshot();
  Snapshot(Snapshot&&) noexcept;
  Snapshot& operator=(Snapshot&&) noexcept;
  /// The lanes that it holds, rising.
  const std::vector<uint32_t>& lanes() const;

 private:
  friend class Fleet;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace myriarm
