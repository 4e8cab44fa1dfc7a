// SPDX-License-Identifier: Apache-2.0
// What a process has mapped: ranges of its addresses with permissions, and where its break is. A value without a fleet:
// it says which pointers a system call may follow, where a new mapping goes, and what a change leaves.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "myriarm/program.h"
#include "support/align.h"

namespace myriarm::linux_process {

constexpr uint64_t page_down(uint64_t address) { return align_down(address, kPageBytes); }
/// 0 for an address within the last page of the 64-bit address space.
constexpr uint64_t page_up(uint64_t address) { return align_up(address, kPageBytes); }

class AddressSpace {
 public:
  /// A run of pages alike. Permissions may be none: the pages are taken, and every access is refused.
  struct Range {
    uint64_t begin, end;
    uint32_t permissions;
    bool anonymous;  ///< asked for by a system call; false: of the program or its stack
    auto operator<=>(const Range&) const = default;
  };

  /// `program` with the permissions of pages, which segments may share. `break_end`: where its break begins.
  AddressSpace(const Program& program, uint64_t break_end);

  /// How many of `size` bytes at `address` allow `permission`, from the start.
  uint64_t accessible(uint64_t address, uint64_t size, uint32_t permission) const;
  /// The range that has this address.
  std::optional<Range> at(uint64_t address) const;
  /// The end of what is mapped without a gap from `begin` on, at most `end`; `begin` if nothing is.
  uint64_t mapped_until(uint64_t begin, uint64_t end) const;
  /// Whether nothing is mapped there.
  bool is_free(uint64_t begin, uint64_t end) const;
  /// The highest place for `size` bytes that is free and lies in [low, high): where Linux looks first.
  std::optional<uint64_t> find_place(uint64_t size, uint64_t low, uint64_t high) const;
  const std::vector<Range>& ranges() const { return ranges_; }

  // Changes; addresses are multiples of a page, and begin <= end.
  void map(uint64_t begin, uint64_t end, uint32_t permissions);
  void unmap(uint64_t begin, uint64_t end);
  /// Of what is mapped there.
  void protect(uint64_t begin, uint64_t end, uint32_t permissions);

  uint64_t break_end = 0;

  auto operator<=>(const AddressSpace&) const = default;

 private:
  std::vector<Range>::const_iterator first_after(uint64_t address) const;
  size_t split(uint64_t address);
  void join();

  std::vector<Range> ranges_;  // by rising address, apart; neighbours differ
};

}  // namespace myriarm::linux_process
