// SPDX-License-Identifier: Apache-2.0
// kernel::Machine of a lane on the device. What the lanes of a warp must do together, a call only asks for, and is
// abandoned: serve_lanes.cuh then does it, and makes the call again.
#pragma once

#include "backends/cuda/process/file_pages.cuh"
#include "backends/cuda/process/input_queue.h"
#include "backends/cuda/process/output_log.h"
#include "backends/cuda/team_run.cuh"
#include "kernel/flat_tree.h"
#include "kernel/mapped_pages.h"
#include "kernel/ranges.h"
#include "myriarm/inputs.h"

namespace myriarm::cuda {

/// What an abandoned call waits for.
enum class Need : u8 {
  nothing,
  own_page,    // LaneMachine::page, and those behind it, of LaneMachine::table
  space,       // LaneMachine::kind
  own_tables,  // of the guest's pages and of the lane's
  change,      // LaneMachine::change, to units of a file if LaneMachine::unit is not 0
  room,        // in the log of output
  host,        // the host must serve it
};

/// Atomics of the log of output.
struct DeviceAtomics {
  MYR_FN static u64 add(u64& word, u64 value) {
    return atomicAdd((unsigned long long*)&word, (unsigned long long)value);
  }
  /// Not __threadfence(), which also throws away what the multiprocessor has read.
  MYR_FN static u64 add_release(u64& word, u64 value) { return cuda::add_release(word, value); }
  MYR_FN static void maximum(u64& word, u64 value) { atomicMax((unsigned long long*)&word, (unsigned long long)value); }
  MYR_FN static u64 read(const u64& word) { return *(const volatile u64*)&word; }
  MYR_FN static void write(u64& word, u64 value) { *(volatile u64*)&word = value; }
  /// All that made the chunk complete, and write() before, come first.
  MYR_FN static void tell_host(u64& word, u64 value) {
    __threadfence_system();
    write(word, value);
  }
};

/// A lane's general registers: slot n is at first[n * step]; and FPCR, with FPSR in the upper half: null if they are in the
/// state arrays, as all other registers are.
struct Registers {
  u64* first;
  u32 step;
  u64* fp;
  MYR_FN u64& at(u32 slot) const { return first[(u64)slot * step]; }
};
/// What the thread of a lane keeps of it besides: where it goes on, behind an SVC that it has run.
struct LanePlace {
  u64 pc, retired;
  u32 nzcv;
};

/// The entry that the lane at a place has for a page. Out of line: calls look pages up at some thousand places, and what serves them would
/// be more than twice as large.
static __device__ __noinline__ u32 entry_in_tables(const View& view, const LaneTables& tables, u32 place, u64 page) {
  const u32 table = table_with(view, tables, page);
  return entry_of_lane(view, table, page, table_of(view, table, place)[page], place);
}

class LaneMachine {
 public:
  static constexpr bool kContiguous = false;

  __device__ LaneMachine(const View& view, u32 lane, const Registers& registers, LanePlace& place)
      : view_(view), lane_(lane), registers_(registers), place_(place), tables_(running_tables(view, lane)) {}

  MYR_FN u32 number() const { return (u32)registers_.at(8); }
  MYR_FN u64 argument(u32 n) const { return registers_.at(n); }
  MYR_FN u64 retired() const { return place_.retired; }
  MYR_FN u64 x(u32 n) const { return registers_.at(n); }
  MYR_FN void set_x(u32 n, u64 value) { registers_.at(n) = value; }
  MYR_FN u64 pc() const { return place_.pc; }
  MYR_FN void set_pc(u64 value) { place_.pc = value; }
  MYR_FN u32 nzcv() const { return place_.nzcv; }
  MYR_FN void set_nzcv(u32 value) { place_.nzcv = value; }
  MYR_FN u64 v(u32 n, u32 half) const { return vector_half(n, half); }
  MYR_FN void set_v(u32 n, u32 half, u64 value) { vector_half(n, half) = value; }
  MYR_FN u64 system(SystemField field) const {
    const bool fp = field == SystemField::fpcr || field == SystemField::fpsr;
    if (!fp || registers_.fp == nullptr) return state_of(view_, plane_of(field), lane_);
    return (u32)(*registers_.fp >> (field == SystemField::fpsr ? 32 : 0));
  }
  MYR_FN void set_system(SystemField field, u64 value) {
    const bool fp = field == SystemField::fpcr || field == SystemField::fpsr;
    if (!fp || registers_.fp == nullptr) {
      state_of(view_, plane_of(field), lane_) = value;
    } else {
      const u32 shift = field == SystemField::fpsr ? 32 : 0;
      *registers_.fp = (*registers_.fp & ~((u64)0xFFFFFFFF << shift)) | (u64)(u32)value << shift;
    }
  }
  MYR_FN void count_delivery() { place_.retired++; }
  MYR_FN void tell_of_signal(const u64*, bool) {}  // the host sees no signals of a GPU's lanes
  MYR_FN const kernel::ProcessFacts& facts() const { return view_.processes.facts[view_.team_program[team_of(lane_)]]; }
  MYR_FN kernel::ProcessInput input() const { return view_.processes.inputs[lane_]; }

  MYR_FN u64 page_of(u64 address) const { return (address >> kPageBits) - view_.first_page; }
  MYR_FN u64 guest_pages() const { return view_.guest_pages; }
  MYR_FN u32 entry(u64 page) const { return entry_in_tables(view_, tables_, place_of(lane_), page); }
  MYR_FN u8* locate(u32 entry, u32 offset) const {
    return memory_of(view_, tables_.guest, place_of(lane_)).locate(entry, offset);
  }
  /// The number of the table that has a page.
  MYR_FN u32 table_of_page(u64 of_page) const { return table_with(view_, tables_, of_page); }

  MYR_FN bool own_page(u64 of_page) { return own_pages(of_page, 1); }
  MYR_FN bool own_pages(u64 first, u64 count) {
    if (need == Need::change) return false;  // share_pages() has asked
    table = table_of_page(first);            // all pages are the guest's, or there is one
    const u32* const entries = table_of(view_, table, place_of(lane_));
    for (u64 i = 0; i < count; i++) {
      if (!(entries[first + i] & (kPageShared | kPageCode))) continue;
      page = first + i;
      pages = count - i;
      need = Need::own_page;
      return false;
    }
    return true;
  }
  MYR_FN void page_written(u64) {}  // make_page_writable() has called code_page_changes()
  MYR_FN bool change_pages(const kernel::PageChange& wanted) { return change_pages_to(wanted, 0); }
  /// The pages of files that lanes have in common are those that lie among the units in front of the frames.
  MYR_FN bool maps_shared(const kernel::Bytes& bytes) const {
    const u64 place = (u64)(bytes.data - view_.frames), end = (u64)view_.pool->first << kPageBits;
    return !is_flat(view_) && place < end && place % kPageSize == 0 && bytes.size != 0;
  }
  MYR_FN bool share_pages(u64 address, u32 permissions, const kernel::Bytes& bytes) {
    if (!maps_shared(bytes)) return false;
    const u64 size = (bytes.size + kPageSize - 1) / kPageSize * kPageSize;
    const kernel::PageChange wanted = {kernel::PageAction::map, (u8)permissions, address, address + size};
    return change_pages_to(wanted, (u32)((u64)(bytes.data - view_.frames) >> kPageBits));
  }

  // kernel::HasSpaces. The books of the lane are changed at once; the warp does the rest, once the call has been answered.
  MYR_FN bool has_spaces() const { return !is_flat(view_); }
  MYR_FN u32 space() const { return books() == nullptr ? 0 : books()->running; }
  MYR_FN void enter_space(u32 number) {
    if (number == space()) return;
    books()->running = (u8)number;
    tables_ = tables_of_space(view_, lane_, number);
    view_.processes.spaces.running[lane_] = tables_;
  }
  MYR_FN bool make_space(kernel::SpaceKind wanted, u32& number) {
    number = made_space_;
    if (made_space_ != kNone) return true;
    need = Need::space;
    kind = wanted;
    shares_memory = wanted == kernel::SpaceKind::fork && has_shared_memory();
    return false;
  }
  /// What an abandoned attempt ends stays, and the next attempt gets it.
  MYR_FN void end_space(u32 number) {
    if (need != Need::nothing) return;
    books()->own[number] = kNoPlace;
    spaces_changed = true;
  }
  MYR_FN void replace_space(u32 with) {
    const u32 running = space();
    books()->own[running] = books()->own[with];
    books()->guest[running] = books()->guest[with];
    tables_ = tables_of_space(view_, lane_, running);
    view_.processes.spaces.running[lane_] = tables_;
    end_space(with);
  }

  // kernel::SharesFiles. Nobody else is in the tables in which pages are joined and parted.
  MYR_FN bool shares_files() const { return !is_flat(view_); }
  MYR_FN bool begin_joining() {
    if (is_exclusive(view_, tables_.guest) && is_exclusive(view_, tables_.lane)) return true;
    need = Need::own_tables;
    return false;
  }
  MYR_FN void join_page(u64 of_guest, u64 of_file, u32 permissions) {
    join_file_page(view_, tables_, of_guest, of_file, permissions,
                   [&](u32 from, u32 frame) { give_up_frame(view_, from, frame); });
  }
  MYR_FN void part_page(u64 of_file) {
    part_file_page(view_, lane_, tables_, of_file, [&](u32 from, u32 frame) { give_up_frame(view_, from, frame); });
  }

  MYR_FN kernel::Put put_out(u32 stream, u64 position, u64 address, u64 size);

  // kernel::HasTree.
  MYR_FN bool has_tree() const { return view_.processes.tree != nullptr; }
  MYR_FN i64 tree_look_up(u32 folder, const u8* name, u32 size) const { return tree().look_up(folder, name, size); }
  MYR_FN u32 tree_parent(u32 folder) const { return tree().parent(folder); }
  MYR_FN kernel::FileStatus tree_status(u32 file) const { return tree().status(file); }
  MYR_FN bool tree_content(u32 file, kernel::Bytes& bytes) const {
    const kernel::ContentState state = tree().content(file, bytes);
    if (state == kernel::ContentState::absent) wanted_ = file + 1;
    return state == kernel::ContentState::there;
  }
  MYR_FN bool is_program_link(u32 file) const { return tree().is_program_link(file); }
  MYR_FN bool awaits_content() const { return wanted_ != 0; }
  /// The file whose content this attempt needs, and 1; 0: it needs none that is not there.
  MYR_FN u32 wanted() const { return wanted_; }

  /// To be called before each attempt of the call.
  MYR_FN void begin_attempt() {
    need = Need::nothing;
    passed_ = 0;
    logged_ = 0;
    wanted_ = 0;
  }
  /// To be called when `change` has been made.
  MYR_FN void change_is_made() {
    need = Need::nothing;
    if (is_of_layer(change)) layer_change_ = change;
    else made_++;
  }
  /// To be called when what the lane has in one table of its team is in another one.
  MYR_FN void place_has_moved(u32 from, u32 to) {
    LaneSpaces& spaces = *books();
    for (u32 number = 0; number < kMostSpaces; number++) {
      if (spaces.own[number] == kNoPlace) continue;
      if (spaces.own[number] == from) spaces.own[number] = (u8)to;
      if (spaces.guest[number] == from) spaces.guest[number] = (u8)to;
    }
    tables_ = tables_of_space(view_, lane_, spaces.running);
    view_.processes.spaces.running[lane_] = tables_;
    spaces_changed = true;
  }
  /// To be called when the pages that all processes of the lane have are in another table of its team.
  MYR_FN void lane_pages_have_moved(u32 to) {
    books()->lane = (u8)to;
    tables_ = tables_of_space(view_, lane_, books()->running);
    view_.processes.spaces.running[lane_] = tables_;
  }
  /// To be called when the lane has pages for a space in a table of its team.
  MYR_FN void space_is_made(u32 place) {
    LaneSpaces& spaces = *books();
    u32 number = 1;
    while (spaces.own[number] != kNoPlace) number++;
    spaces.own[number] = (u8)place;
    spaces.guest[number] = kind == kernel::SpaceKind::borrow ? spaces.guest[spaces.running] : (u8)place;
    made_space_ = number;
    need = Need::nothing;
  }
  /// To be called when the call has been answered, or else is not made again by this machine.
  MYR_FN void call_has_ended(bool answered) {
    need = Need::nothing;
    if (made_space_ != kNone && !answered) end_space(made_space_);
    made_space_ = kNone;
    made_ = 0;
    layer_change_ = {};
  }
  /// The host, which gave the call back, is to know what became of it, unless it is made again.
  MYR_FN void note_result(const kernel::Result& result) {
    if (books() == nullptr) return;
    books()->is_answered = result.served != kernel::Served::waits;
    books()->result = result.value;
  }
  /// The lane has exited, and nobody sees its memory.
  MYR_FN void leave_all_spaces() {
    if (books() == nullptr) return;
    forget_spaces(view_, lane_);
    tables_ = running_tables(view_, lane_);
    spaces_changed = true;
  }
  /// The tables of the space that runs.
  MYR_FN const LaneTables& tables() const { return tables_; }

  Need need = Need::nothing;
  u64 page = 0, pages = 0;
  u32 table = 0;
  kernel::PageChange change = {};
  u32 unit = 0;  // of `change`: as PageRun::unit
  kernel::SpaceKind kind = {};
  bool shares_memory = false;   // the space has pages in common with the one that runs
  bool spaces_changed = false;  // leave_tables() is to be called

 private:
  static constexpr u32 kNone = ~(u32)0;
  MYR_FN bool change_pages_to(const kernel::PageChange& wanted, u32 first_unit) {
    if (was_made(wanted)) return true;
    change = wanted;
    unit = first_unit;
    table = table_of_page(page_of(wanted.begin));
    need = Need::change;
    if (!is_exclusive(view_, table)) return false;
    const u64 first = page_of(wanted.begin);
    change_pages_alone(view_, table, place_of(lane_),
                       {first, page_of(wanted.end) - first, wanted.permissions, wanted.action, first_unit});
    change_is_made();
    return was_made(wanted);
  }
  /// A change that maps further pages of the layer is not asked for any more once the layer has them, even if the call is abandoned
  /// later; all others are asked for by each attempt.
  MYR_FN bool is_of_layer(const kernel::PageChange& of) const { return page_of(of.begin) >= view_.guest_pages; }
  MYR_FN bool was_made(const kernel::PageChange& wanted) {
    if (is_of_layer(wanted)) return wanted.begin == layer_change_.begin && wanted.end == layer_change_.end;
    if (passed_ == made_) return false;
    passed_++;
    return true;
  }
  MYR_FN bool has_shared_memory() const {
    const u32 count = kernel::range_count(*this);
    for (u32 i = 0; i < count; i++) {
      if (kernel::range_at(*this, i).flags & kernel::kSharedMemory) return true;
    }
    return false;
  }
  MYR_FN LaneSpaces* books() const {
    return view_.processes.spaces.lanes == nullptr ? nullptr : &view_.processes.spaces.lanes[lane_];
  }
  MYR_FN kernel::FlatTree tree() const { return {view_.processes.tree, view_.processes.contents}; }
  MYR_FN u64& vector_half(u32 n, u32 half) const { return view_.vectors[(half * 32 + n) * view_.lanes + lane_]; }
  /// The granule of 8 bytes that holds a readable address.
  MYR_FN u64 granule(u64 address) const {
    return read_once<u64>(locate(entry(page_of(address)), kernel::offset_in_page(address) & ~7u));
  }

  template <class Take>
  MYR_FN void read_words(u64 address, u64 size, Take take) const;
  MYR_FN void sum_up(OutputSummary& output, u64 position, u64 address, u64 size) const;

  const View& view_;
  u32 lane_;
  Registers registers_;
  LanePlace& place_;
  LaneTables tables_;
  u32 made_space_ = kNone;     // that this call has made and the kernel has not taken yet
  u32 made_ = 0, passed_ = 0;  // changes of this call that were made, and of those that this attempt has asked for
  kernel::PageChange layer_change_ = {};  // the last one of the layer, which is none of these
  u64 logged_ = 0;                        // bytes of the log that this attempt has taken
  mutable u32 wanted_ = 0;
};

/// Gives `take` the bytes from `address` on in words of 8, the last one with zeros behind them.
template <class Take>
MYR_FN void LaneMachine::read_words(u64 address, u64 size, Take take) const {
  const u32 shift = ((u32)address & 7) * 8;
  u64 low = granule(address);
  for (u64 done = 0; done < size; done += 8) {
    const u64 rest = address + done - ((u32)address & 7) + 8;  // the next granule
    u64 word = low >> shift;
    if (rest < address + size) {
      low = granule(rest);
      if (shift != 0) word |= low << (64 - shift);
    }
    take(word, (u32)kernel::lesser(size - done, 8));
  }
}

/// A call that was abandoned puts the same bytes out again at the same position.
MYR_FN void LaneMachine::sum_up(OutputSummary& output, u64 position, u64 address, u64 size) const {
  const u64 known = kernel::lesser(output.bytes - position, size);
  u64 hash = output.hash;
  read_words(address + known, size - known, [&](u64 word, u32 bytes) {
    for (u32 i = 0; i < bytes; i++) {
      const u8 byte = (u8)(word >> i * 8);
      hash = output_hash({&byte, 1}, hash);
    }
  });
  output.hash = hash;
  output.bytes = position + size;
}

MYR_FN kernel::Put LaneMachine::put_out(u32 stream, u64 position, u64 address, u64 size) {
  using kernel::PutKind;
  if (view_.processes.queue != nullptr) {
    sum_up(view_.processes.queue->lanes[lane_].output[stream - 1], position, address, size);
    return {PutKind::taken, size};
  }
  OutputRing& ring = *view_.processes.output;
  // Records are short beside a chunk, so that little of it stays empty.
  const u64 chunk = view_.processes.output_chunk, most = chunk / 4 - sizeof(OutputRecord);
  for (u64 done = 0; done < size;) {
    const u64 part = kernel::lesser(size - done, most), bytes = record_bytes(part);
    logged_ += bytes;
    if (logged_ > chunk * kOutputChunks / 2) {  // even an empty log might not hold what this call writes
      need = Need::host;
      return {PutKind::again, 0};
    }
    u32 slot;
    u64* to = room_for<DeviceAtomics>(ring, view_.report->output_head, chunk, bytes, slot);
    if (to == nullptr) {
      need = Need::room;
      return {PutKind::again, 0};
    }
    *(OutputRecord*)to = OutputRecord::of(lane_, stream, position + done, part);
    to += sizeof(OutputRecord) / 8;
    read_words(address + done, part, [&](u64 word, u32) { *to++ = word; });
    note_fill<DeviceAtomics>(ring, slot, bytes);
    done += part;
  }
  return {PutKind::taken, size};
}
static_assert(kernel::Machine<LaneMachine> && kernel::HasTree<LaneMachine> && kernel::HasSpaces<LaneMachine> &&
              kernel::SharesFiles<LaneMachine> && kernel::SharesPages<LaneMachine>);

}  // namespace myriarm::cuda
