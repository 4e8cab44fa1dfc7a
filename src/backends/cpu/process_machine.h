// SPDX-License-Identifier: Apache-2.0
// kernel::Machine of a lane whose thread serves its call.
#pragma once

#include "backends/cpu/interpreter/lane_code.h"
#include "backends/machine_call.h"

namespace myriarm::cpu {

class ProcessMachine {
 public:
  static constexpr bool kContiguous = true;

  /// What changes the lane's page table: CpuBackend::replace_pages() and protect_pages().
  using ChangePages = void (*)(void* backend, Lane& lane, u64 index, const kernel::PageChange& change);

  ProcessMachine(Lane& lane, u64 index, const kernel::ProcessFacts& facts, ProcessHost& host, void* backend,
                 ChangePages change_pages)
      : lane_(lane), index_(index), facts_(facts), host_(host), backend_(backend), change_pages_(change_pages) {}

  u32 number() const { return static_cast<u32>(lane_.r[8]); }
  u64 argument(u32 n) const { return lane_.r[n]; }
  u64 retired() const { return lane_.retired + 1; }
  const kernel::ProcessFacts& facts() const { return facts_; }
  kernel::ProcessInput input() const {
    const GivenInput given = host_.input(static_cast<u32>(index_));
    return {given.number,
            {given.standard_input.data(), given.standard_input.size()},
            {given.file.data(), given.file.size()},
            given.output_limit,
            given.has_file,
            0};
  }

  u64 page_of(u64 address) const { return (address >> kPageBits) - lane_.first_page; }
  u64 guest_pages() const { return lane_.guest_pages; }
  u32 entry(u64 page) const { return lane_.table[page]; }
  u8* locate(u32 entry, u32 offset) const { return lane_.memory().locate(entry, offset); }

  bool own_page(u64 page) {
    if (!(lane_.table[page] & (kPageShared | kPageCode))) return true;
    return writable_byte(lane_, address_of(page)) != nullptr;
  }
  void page_written(u64 page) {
    if (lane_.table[page] & kPageCode) page_changed(lane_, address_of(page));
  }
  bool change_pages(const kernel::PageChange& change) {
    change_pages_(backend_, lane_, index_, change);
    return true;
  }
  kernel::Put put_out(u32 stream, u64 position, u64 address, u64 size) {
    return put_to_host(*this, host_, static_cast<u32>(index_), stream, position, address, size);
  }

 private:
  u64 address_of(u64 page) const { return (lane_.first_page + page) << kPageBits; }

  Lane& lane_;
  const u64 index_;
  const kernel::ProcessFacts& facts_;
  ProcessHost& host_;
  void* backend_;
  ChangePages change_pages_;
};
static_assert(kernel::Machine<ProcessMachine>);

}  // namespace myriarm::cpu
