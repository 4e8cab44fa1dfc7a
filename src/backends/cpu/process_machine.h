// SPDX-License-Identifier: Apache-2.0
// kernel::Machine of a lane whose thread serves its call.
#pragma once

#include <span>
#include <string_view>

#include "backends/cpu/interpreter/lane_code.h"
#include "backends/cpu/process_words.h"
#include "backends/host_tree.h"
#include "backends/machine_call.h"
#include "kernel/mapped_pages.h"
#include "kernel/process_table.h"
#include "kernel/tree_paths.h"

namespace myriarm::cpu {

class CpuBackend;

class ProcessMachine : public HostTree {
 public:
  static constexpr bool kContiguous = true;

  /// What changes the lane's page table: CpuBackend::replace_pages() and protect_pages().
  using ChangePages = void (*)(void* backend, Lane& lane, const kernel::PageChange& change);
  /// What makes pages common to all lanes: CpuBackend::share_pages().
  using SharePages = bool (*)(void* backend, Lane& lane, u64 address, u32 permissions, std::span<const u8> bytes);

  ProcessMachine(Lane& lane, u64 index, const kernel::ProcessFacts& facts, ProcessHost& host, void* backend,
                 ChangePages change_pages, SharePages share_pages)
      : HostTree(host.root()),
        lane_(lane),
        index_(index),
        facts_(facts),
        host_(host),
        backend_(backend),
        change_pages_(change_pages),
        share_pages_(share_pages) {}

  u32 number() const { return static_cast<u32>(lane_.r[8]); }
  u64 argument(u32 n) const { return lane_.r[n]; }
  u64 retired() const { return lane_.retired; }
  u64 x(u32 n) const { return lane_.r[n]; }
  void set_x(u32 n, u64 value) { lane_.r[n] = value; }
  u64 pc() const { return lane_.pc; }
  void set_pc(u64 pc) { lane_.pc = pc; }
  u32 nzcv() const { return pack_flags(lane_.flags()); }
  void set_nzcv(u32 nzcv) { lane_.set_flags(unpack_flags(nzcv)); }
  u64 v(u32 n, u32 half) const { return lane_.v[2 * n + half]; }
  void set_v(u32 n, u32 half, u64 value) { lane_.v[2 * n + half] = value; }
  u64 system(SystemField field) const { return lane_.system[static_cast<int>(field)]; }
  void set_system(SystemField field, u64 value) { lane_.system[static_cast<int>(field)] = value; }
  void count_delivery() { lane_.retired++; }
  void tell_of_signal(const u64* information, bool ends) {
    tell_host_of_signal(host_, static_cast<u32>(index_), information, ends);
  }
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
  u32 entry(u64 page) const { return ProcessWords{lane_}.entry(page); }
  u8* locate(u32 entry, u32 offset) const { return lane_.memory().locate(entry, offset); }

  bool own_page(u64 page) {
    if (!(entry(page) & (kPageShared | kPageCode))) return true;
    if (!widen_table(page + 1)) return false;
    const InTableOf table(lane_, page);
    return writable_byte(lane_, address_of(page)) != nullptr;
  }
  void page_written(u64 page) {
    if (entry(page) & kPageCode) page_changed(lane_, address_of(page));
  }
  bool change_pages(const kernel::PageChange& change) {
    if (!widen_table(page_of(change.end))) return false;
    const InTableOf table(lane_, page_of(change.begin));
    change_pages_(backend_, lane_, change);
    return true;
  }
  // kernel::SharesPages.
  bool share_pages(u64 address, u32 permissions, const kernel::Bytes& bytes) {
    return share_pages_(backend_, lane_, address, permissions, {bytes.data, bytes.size});
  }

  // kernel::HasSpaces: spaces.cpp.
  bool has_spaces() const;
  u32 space() const;
  void enter_space(u32 number);
  bool make_space(kernel::SpaceKind kind, u32& number);
  void end_space(u32 number);
  void replace_space(u32 with);

  // kernel::SharesFiles: spaces.cpp.
  bool shares_files() const { return lane_.pool != nullptr; }
  bool begin_joining();
  void join_page(u64 page, u64 file_page, u32 permissions);
  void part_page(u64 file_page);

  kernel::Put put_out(u32 stream, u64 position, u64 address, u64 size) {
    return put_to_host(*this, host_, static_cast<u32>(index_), stream, position, address, size);
  }

 private:
  /// Lets the lane have the table of a page, if that is not the one of the space that runs.
  class InTableOf {
   public:
    InTableOf(Lane& lane, u64 page) : lane_(lane), table_(lane.table), touched_(lane.touched) {
      if (page < lane.lane_pages || table_ == lane.lane_table) return;
      lane.table = lane.lane_table;
      lane.touched = lane.lane_touched;
    }
    ~InTableOf() {
      lane_.table = table_;
      lane_.touched = touched_;
    }
    InTableOf(const InTableOf&) = delete;

   private:
    Lane& lane_;
    u32* table_;
    u64* touched_;
  };

  CpuBackend& backend_of() const;
  bool widen_table(u64 end);
  u64 address_of(u64 page) const { return (lane_.first_page + page) << kPageBits; }

  Lane& lane_;
  const u64 index_;
  const kernel::ProcessFacts& facts_;
  ProcessHost& host_;
  void* backend_;
  ChangePages change_pages_;
  SharePages share_pages_;
};
static_assert(kernel::HasTree<ProcessMachine> && kernel::SharesPages<ProcessMachine> &&
              kernel::HasSpaces<ProcessMachine> && kernel::SharesFiles<ProcessMachine>);

}  // namespace myriarm::cpu
