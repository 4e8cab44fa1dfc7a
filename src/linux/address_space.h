// SPDX-License-Identifier: Apache-2.0
// What a process has mapped: ranges of addresses with permissions, and where its break is. A plain value that knows no
// fleet: it says which pointers a system call may follow, where a new mapping goes, and what a change leaves mapped.
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
  /// Consecutive pages with the same properties. With no permissions the pages are in use, but every access faults.
  struct Range {
    uint64_t begin, end;
    uint32_t permissions;
    bool anonymous;  ///< zeros, mapped by a system call; false: a part of the program, its stack or its input file
    bool operator==(const Range&) const = default;
  };

  /// The mappings of `program` when it starts; a page has the permissions of all segments in it. `break_end`: its first
  /// break.
  AddressSpace(const Program& program, uint64_t break_end);

  /// How many of the `size` bytes from `address` on allow `permission`, up to the first that does not.
  uint64_t accessible(uint64_t address, uint64_t size, uint32_t permission) const;
  /// The range that contains the address; empty if none does.
  std::optional<Range> at(uint64_t address) const;
  /// The first range that ends after the address; empty if there is none.
  std::optional<Range> next(uint64_t address) const;
  /// Where the memory mapped without a gap from `begin` on ends, at most `end`; `begin` if `begin` is not mapped.
  uint64_t mapped_until(uint64_t begin, uint64_t end) const;
  /// Whether nothing is mapped in [begin, end).
  bool is_free(uint64_t begin, uint64_t end) const;
  /// The highest free place for `size` bytes within [low, high), as Linux chooses it; empty if there is none.
  std::optional<uint64_t> find_place(uint64_t size, uint64_t low, uint64_t high) const;
  const std::vector<Range>& ranges() const { return ranges_; }

  // Changes. Addresses are multiples of the page size, and begin <= end.
  void map(uint64_t begin, uint64_t end, uint32_t permissions, bool anonymous = true);
  void unmap(uint64_t begin, uint64_t end);
  /// Changes the permissions of what is mapped in [begin, end); gaps stay gaps.
  void protect(uint64_t begin, uint64_t end, uint32_t permissions);

  uint64_t break_end = 0;

  bool operator==(const AddressSpace&) const = default;
  /// The same for equal address spaces, and hardly ever for others. Takes no longer for many ranges than for few.
  uint64_t hash() const;

 private:
  std::vector<Range>::const_iterator first_after(uint64_t address) const;
  size_t split(uint64_t address);
  void insert(size_t index, const Range& range);
  void join(size_t first, size_t last);

  uint64_t sum_of_hashes_ = 0;  // of the ranges: a change of some adds and subtracts theirs alone
  std::vector<Range> ranges_;   // in rising order, without overlap; ranges that touch differ
};

}  // namespace myriarm::linux_process
