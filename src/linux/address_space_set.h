// SPDX-License-Identifier: Apache-2.0
// The address spaces of the processes of a fleet. Processes whose mappings are equal share one object, so that lanes in
// step take the memory of one, and their equal calls can be found by the object's address.
#pragma once

#include <memory>
#include <unordered_set>
#include <utility>

#include "linux/address_space.h"

namespace myriarm::linux_process {

class AddressSpaceSet {
 public:
  using Shared = std::shared_ptr<const AddressSpace>;

  /// The object of the set that equals `space`: `space` itself, or one that was there before.
  Shared insert(std::shared_ptr<AddressSpace> space) {
    // When the set has doubled since the last clean-up, remove the address spaces that no process uses.
    if (spaces_.size() >= 2 * kept_ + 64) {
      std::erase_if(spaces_, [](const auto& known) { return known.use_count() == 1; });
      kept_ = spaces_.size();
    }
    return *spaces_.insert(std::move(space)).first;
  }
  /// A value of `space` that may be changed: a copy, or, if `holders` pointers to it are all that the caller's
  /// processes have, the object itself, which is then no longer in the set.
  std::shared_ptr<AddressSpace> take(const AddressSpace& space, size_t holders) {
    const auto known = spaces_.find(space);
    const bool is_shared =
        known == spaces_.end() || known->get() != &space || static_cast<size_t>(known->use_count()) != holders + 1;
    if (is_shared) return std::make_shared<AddressSpace>(space);
    return std::move(spaces_.extract(known).value());
  }

 private:
  using Owned = std::shared_ptr<AddressSpace>;
  struct ByValue {
    using is_transparent = void;  // NOLINT(readability-identifier-naming): the name that the standard library looks for
    static const AddressSpace& value(const Owned& space) { return *space; }
    static const AddressSpace& value(const AddressSpace& space) { return space; }
    size_t operator()(const auto& space) const { return value(space).hash(); }
    bool operator()(const auto& a, const auto& b) const {
      const AddressSpace &left = value(a), &right = value(b);
      return &left == &right || left == right;
    }
  };

  std::unordered_set<Owned, ByValue, ByValue> spaces_;
  size_t kept_ = 0;
};

}  // namespace myriarm::linux_process
