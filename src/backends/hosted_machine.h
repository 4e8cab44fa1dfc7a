// SPDX-License-Identifier: Apache-2.0
// Serves the system call of one lane on the host, over the interface of a backend: for calls that the host sees, on
// devices that serve the others themselves. Each page that the call reads is fetched, and what it writes is stored when it
// has been answered. Slow; for calls that are rare.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <tuple>
#include <vector>

#include "backends/backend.h"
#include "backends/host_tree.h"
#include "backends/machine_call.h"
#include "kernel/guest_memory.h"
#include "kernel/mapped_pages.h"
#include "kernel/process_table.h"
#include "kernel/serve.h"
#include "myriarm/error.h"

namespace myriarm {

/// Where the pages of the lanes are: as in Image.
struct HostedWindow {
  u64 begin, guest_pages, kernel_pages;
};

/// What a lane that has run an SVC calls; `retired` includes it.
struct HostedRegisters {
  u64 x[6];
  u32 w8;
  u64 retired;
};

/// The number of the space in which a lane runs, and whether it may have pages that are the layer's and the guest's:
/// kernel/mapped_pages.h.
struct RunningSpace {
  u32 number = 0;
  bool has_common_pages = false;
};
/// The address spaces of lanes, which their device makes.
class HostedSpaces {
 public:
  virtual RunningSpace running_space(u32 lane) = 0;
  virtual void enter_space(u32 lane, u32 number) = 0;
  virtual void end_space(u32 lane, u32 number) = 0;
  /// The number of the memory that has a page, if another page may be there too; else 0. Of pages of the running space.
  virtual u32 common_frame(u32 lane, u64 page) = 0;
  virtual void join_page(u32 lane, u64 page, u64 file_page, u32 permissions) = 0;
  virtual void part_page(u32 lane, u64 file_page) = 0;

 protected:
  ~HostedSpaces() = default;
};

/// kernel::Machine of one lane. The lane must have a GivenInput, and be a process. It can go from one process to another;
/// what makes an address space, or needs tables of the lane's own, is abandoned, and the device does it.
class HostedMachine : public HostTree {
 public:
  static constexpr bool kContiguous = true;

  HostedMachine(Backend& backend, const HostedWindow& window, const kernel::ProcessFacts& facts, ProcessHost& host,
                const GivenInput& given, u32 lane, const HostedRegisters& registers, HostedSpaces* spaces = nullptr)
      : HostTree(host.root()),
        backend_(backend),
        window_(window),
        facts_(facts),
        host_(host),
        given_(given),
        lane_(lane),
        registers_(registers),
        spaces_(spaces),
        running_(spaces == nullptr ? RunningSpace{} : spaces->running_space(lane)) {}

  u32 lane() const { return lane_; }
  u32 number() const { return registers_.w8; }
  u64 argument(u32 n) const { return registers_.x[n]; }
  u64 retired() const { return registers_.retired; }
  u64 x(u32 n) const { return field(static_cast<Field>(n)); }
  void set_x(u32 n, u64 value) { set_field(static_cast<Field>(n), value); }
  u64 pc() const { return field(Field::pc); }
  void set_pc(u64 value) { set_field(Field::pc, value); }
  u32 nzcv() const { return static_cast<u32>(field(Field::nzcv)); }
  void set_nzcv(u32 value) { set_field(Field::nzcv, value); }
  u64 v(u32 n, u32 half) const { return field(half == 0 ? v_low(n) : v_high(n)); }
  void set_v(u32 n, u32 half, u64 value) { set_field(half == 0 ? v_low(n) : v_high(n), value); }
  u64 system(SystemField of) const { return field(field_of(of)); }
  /// The exclusive monitor is no field: as after an interrupt that nobody notices, it stays as it is.
  void set_system(SystemField of, u64 value) {
    if (field_of(of) != Field::count) set_field(field_of(of), value);
  }
  void count_delivery() { registers_.retired++; }
  void tell_of_signal(const u64* information, bool ends) { tell_host_of_signal(host_, lane_, information, ends); }
  const kernel::ProcessFacts& facts() const { return facts_; }
  kernel::ProcessInput input() const {
    return {given_.number,
            {given_.standard_input.data(), given_.standard_input.size()},
            {given_.file.data(), given_.file.size()},
            given_.output_limit,
            given_.has_file,
            0};
  }

  u64 page_of(u64 address) const { return (address >> kPageBits) - (window_.begin >> kPageBits); }
  u64 guest_pages() const { return window_.guest_pages; }
  /// The frame number of an entry is that of a copy of the page, which locate() fetches.
  u32 entry(u64 page) const {
    const u8 value = values_of(page)[page % kBlock];
    return value == 0 ? 0 : copy_of(page) << kPageFlagBits | (value & 7u);
  }
  u8* locate(u32 entry, u32 offset) const {
    Copy& copy = copies_[(entry >> kPageFlagBits) - 1];
    if (copy.bytes == nullptr) {
      copy.bytes = std::make_unique<Bytes>();
      const Transfer transfer{lane_, kPageSize, address_of(copy.page), 0};
      in_space_of(copy, [&] { backend_.read(std::span(&transfer, 1), *copy.bytes, {}); });
    }
    return copy.bytes->data() + offset;
  }

  bool own_page(u64 page) {
    Copy& copy = copies_[copy_of(page) - 1];
    if (copy.own) return true;
    locate(entry(page), 0);
    copy.own = store(copy);  // what it holds already: the backend makes the page the lane's own
    out_of_memory_ = !copy.own;
    return copy.own;
  }
  void page_written(u64) {}  // store_changes() stores all own pages
  bool change_pages(const kernel::PageChange& change) {
    const u64 first = page_of(change.begin), count = page_of(change.end) - first;
    const std::span<const u32> lanes(&lane_, 1);
    try {
      switch (change.action) {
        case kernel::PageAction::map: backend_.map(lanes, first, count, change.permissions); break;
        case kernel::PageAction::unmap: backend_.unmap(lanes, first, count); break;
        case kernel::PageAction::protect: backend_.protect(lanes, first, count, change.permissions); break;
      }
    } catch (const DeviceError&) {  // the pool is full
      out_of_memory_ = true;
      return false;
    }
    values_.clear();
    if (change.action == kernel::PageAction::protect) return true;
    forget_pages([&](u32 space, u64 page) { return space == space_of(page) && page >= first && page < first + count; });
    return true;
  }
  kernel::Put put_out(u32 stream, u64 position, u64 address, u64 size) {
    return put_to_host(*this, host_, lane_, stream, position, address, size);
  }

  // kernel::HasSpaces.
  bool has_spaces() const { return spaces_ != nullptr; }
  u32 space() const { return running_.number; }
  void enter_space(u32 number) {
    if (number == running_.number) return;
    spaces_->enter_space(lane_, number);
    running_.number = number;
  }
  bool make_space(kernel::SpaceKind, u32&) {
    wants_device_ = true;
    return false;
  }
  /// Whether the call was abandoned because only the device can do what it needs.
  bool wants_device() const { return wants_device_; }
  void end_space(u32 number) {
    forget_pages([&](u32 space, u64 page) { return space == number && !is_of_lane(page); });
    std::erase_if(values_, [&](const auto& of) { return of.first.first == number; });
    spaces_->end_space(lane_, number);
  }
  void replace_space(u32) {}  // for a space that was made

  // kernel::SharesFiles.
  bool shares_files() const { return spaces_ != nullptr; }
  bool begin_joining() {
    wants_device_ = true;
    return false;
  }
  void join_page(u64 page, u64 file_page, u32 permissions) {
    forget_pages([&](u32 space, u64 of) { return space == running_.number && of == page; });
    values_.clear();
    spaces_->join_page(lane_, page, file_page, permissions);
    numbers_[{running_.number, page}] = copy_of(file_page);
  }
  void part_page(u64 file_page) {
    if (!running_.has_common_pages) return;
    Copy& copy = copies_[copy_of(file_page) - 1];
    if (copy.own) store(copy);  // for the guest's pages
    spaces_->part_page(lane_, file_page);
    forget_pages([&](u32, u64 page) { return page == file_page; });
  }

  /// Why a call was abandoned: there is no frame for a page, or else the run is cancelled.
  bool out_of_memory() const { return out_of_memory_; }
  /// To be called when the call has been answered: stores the pages and the registers.
  void store_changes() {
    for (const Copy& copy : copies_) {
      if (copy.own) store(copy);
    }
    for (const auto& [of, value] : changed_) backend_.scatter(of, std::span(&lane_, 1), std::span(&value, 1));
    changed_.clear();
  }

 private:
  using Bytes = std::array<u8, kPageSize>;
  struct Copy {
    u32 space;
    u64 page;
    std::unique_ptr<Bytes> bytes;  // null: not fetched yet
    bool own;                      // the call may write to it
  };
  static Field field_of(SystemField of) {
    switch (of) {
      case SystemField::tpidr: return Field::tpidr;
      case SystemField::fpcr: return Field::fpcr;
      case SystemField::fpsr: return Field::fpsr;
      default: return Field::count;
    }
  }
  u64 field(Field of) const {
    if (const auto changed = changed_.find(of); changed != changed_.end()) return changed->second;
    u64 value = 0;
    backend_.gather(of, std::span(&lane_, 1), std::span(&value, 1));
    return value;
  }
  void set_field(Field of, u64 value) { changed_[of] = value; }

  /// Pages whose permissions are asked for together.
  static constexpr u64 kBlock = 256;

  u64 address_of(u64 page) const { return window_.begin + (page << kPageBits); }
  /// Whether a page is the same in all spaces.
  bool is_of_lane(u64 page) const { return page >= window_.guest_pages + kernel::kOwnPages; }
  u32 space_of(u64 page) const { return is_of_lane(page) ? 0 : running_.number; }
  template <class Work>
  void in_space_of(const Copy& copy, Work work) const {
    const bool elsewhere = !is_of_lane(copy.page) && copy.space != running_.number;
    if (elsewhere) spaces_->enter_space(lane_, copy.space);
    work();
    if (elsewhere) spaces_->enter_space(lane_, running_.number);
  }
  const std::array<u8, kBlock>& values_of(u64 page) const {
    const auto [at, fresh] = values_.try_emplace({running_.number, page / kBlock});
    if (fresh) {
      const u64 first = page / kBlock * kBlock, pages = window_.guest_pages + window_.kernel_pages;
      const u64 count = std::min(kBlock, pages - first);
      backend_.permissions(std::span(&lane_, 1), first, count, std::span(at->second).first(count));
    }
    return at->second;
  }
  u32 copy_of(u64 page) const {
    const auto [at, fresh] = numbers_.try_emplace({space_of(page), page});
    if (!fresh) return at->second;
    const u32 frame = running_.has_common_pages ? spaces_->common_frame(lane_, page) : 0;
    if (const auto known = frames_.find(frame); known != frames_.end()) return at->second = known->second;
    copies_.push_back({space_of(page), page, nullptr, false});
    at->second = static_cast<u32>(copies_.size());
    if (frame != 0) frames_[frame] = at->second;
    return at->second;
  }
  /// Pages that are(space, page) are others from now on. What they were may still be another page.
  template <class Are>
  void forget_pages(Are are) {
    std::vector<u32> left;
    std::erase_if(numbers_, [&](const auto& of) {
      const auto [space, page] = of.first;
      if (!are(space, page)) return false;
      left.push_back(of.second);
      return true;
    });
    for (const u32 number : left) {
      Copy& copy = copies_[number - 1];
      if (!are(copy.space, copy.page)) continue;
      const auto other = std::ranges::find(numbers_, number, [](const auto& of) { return of.second; });
      if (other != numbers_.end()) {
        std::tie(copy.space, copy.page) = other->first;
        continue;
      }
      copy.own = false;
      std::erase_if(frames_, [&](const auto& of) { return of.second == number; });
    }
  }
  bool store(const Copy& copy) {
    const Transfer transfer{lane_, kPageSize, address_of(copy.page), 0};
    bool done = false;
    in_space_of(copy, [&] { done = backend_.write(std::span(&transfer, 1), *copy.bytes, {}); });
    return done;
  }

  Backend& backend_;
  const HostedWindow window_;
  const kernel::ProcessFacts& facts_;
  ProcessHost& host_;
  const GivenInput& given_;
  const u32 lane_;
  HostedRegisters registers_;
  std::map<Field, u64> changed_;
  HostedSpaces* const spaces_;  // null: the lane cannot have several
  RunningSpace running_;
  using Place = std::pair<u32, u64>;                        // a space, and a number in it
  mutable std::map<Place, std::array<u8, kBlock>> values_;  // page_value() by page / kBlock
  mutable std::map<Place, u32> numbers_;                    // of the copy of a page: its index, and 1
  mutable std::map<u32, u32> frames_;                       // the same of the copy of common_frame()
  mutable std::vector<Copy> copies_;
  bool out_of_memory_ = false;
  bool wants_device_ = false;
};
static_assert(kernel::Machine<HostedMachine> && kernel::HasTree<HostedMachine> && kernel::HasSpaces<HostedMachine> &&
              kernel::SharesFiles<HostedMachine>);

/// Serves the call, with ProcessHost::before() and after() if the lane is traced. With Served::again nothing was done. The lane is
/// behind its SVC.
inline kernel::Result serve_hosted(HostedMachine& machine, ProcessHost& host, bool traced) {
  MachineCall call(machine, machine.lane(), machine.pc() - 4);
  if (traced) host.before(call);
  const kernel::Result result = kernel::serve(machine);
  if (result.served == kernel::Served::again) return result;
  machine.store_changes();
  if (result.served == kernel::Served::missing) host.unimplemented(call);
  if (traced) tell_host_of_result(machine, host, call, result);
  return result;
}

}  // namespace myriarm
