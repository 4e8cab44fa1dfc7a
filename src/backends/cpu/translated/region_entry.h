// SPDX-License-Identifier: Apache-2.0
// Where predecoded code goes over into translated code: what the interpreter's handler of such a word finds.
#pragma once

#include <atomic>

#include "backends/cpu/host_memory.h"
#include "translate/translator.h"

namespace myriarm::cpu {

/// What a region is: code that has been seen a few times is copied together from stencils; code that stays hot is compiled, in
/// small regions first, and then in large ones. A region that a higher limit would not make larger counts as large.
enum class Tier : u8 { none, quick, small, large };

/// An entry of a region that is installed in a code space. Never changes, and exists as long as the space, even if an
/// entry of a larger region has taken its place: lanes may have read it before.
struct RegionEntry : translate::EntryPoint {
  u16 kind;  // that the word at the entry had before, and still has for whoever interprets it
  Tier tier;
};

/// The entries of a code space, by word from the first that it can have on: an entry is found wherever a lane comes from, also
/// from a program in its libraries. Threads read it while another one adds entries.
class SpaceEntries {
 public:
  /// The words that may become entries: all of the space. To be called once, before lanes share it. Addresses between areas take
  /// no memory.
  void set_span(u64 address, u64 words) { address_ = address, words_ = words; }
  /// The entry at an address. The caller must have seen, with memory_order_acquire, that its word's kind is kKindRegion.
  /// Acquires too: the entry may have taken the place of an earlier one, and then the kind tells nothing of it.
  const RegionEntry& at(u64 pc) const {
    return static_cast<const RegionEntry&>(
        *slots_.load(std::memory_order_relaxed)[(pc - address_) / 4].load(std::memory_order_acquire));
  }
  /// For translated code, which looks for entries by itself. The same must hold as for at(), of any word.
  translate::EntryPoints points() const {
    return {reinterpret_cast<const translate::EntryPoint* const*>(slots_.load(std::memory_order_relaxed)), address_,
            words_ * 4};
  }
  u64 address() const { return address_; }
  u64 bytes() const { return words_ * 4; }
  /// Must be called before the word's kind becomes kKindRegion, by one thread at a time. Throws DeviceError if the host refuses
  /// addresses.
  void add(u64 pc, const RegionEntry& entry) {
    if (slots_.load(std::memory_order_relaxed) == nullptr) {
      memory_ = LazyArray(words_ * sizeof(Slot), "entries of translated code; use the interpreter");
      slots_.store(reinterpret_cast<Slot*>(memory_.data()), std::memory_order_relaxed);
    }
    slots_.load(std::memory_order_relaxed)[(pc - address_) / 4].store(&entry, std::memory_order_release);
  }

 private:
  using Slot = std::atomic<const translate::EntryPoint*>;
  static_assert(sizeof(Slot) == sizeof(void*) && Slot::is_always_lock_free, "translated code reads pointers");
  u64 address_ = 0, words_ = 0;
  LazyArray memory_;
  std::atomic<Slot*> slots_{nullptr};  // null: there is no entry yet
};

}  // namespace myriarm::cpu
