// SPDX-License-Identifier: Apache-2.0
// A machine for src/kernel/ that is as simple as it can be: one process, one page table, a frame for each page. With a
// team of 1 the bytes of a page lie together; with 2 they are interleaved with another lane's, and a tree is as a GPU has it.
// It is strict: before each attempt of a call all pages become shared ones, and it counts as a mistake if the call
// changes a page that it has not made its own, changes a page of the guest and does not say so, owns a page that is not
// mapped, reaches into the other lane, or has changed something when it is abandoned.
#pragma once

#include <array>
#include <cstring>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "backends/flat_index.h"
#include "backends/host_tree.h"
#include "kernel/serve.h"

namespace myriarm::test {

/// When a machine abandons a call that asks for something that may fail.
enum class Abandon {
  never,
  once,           // at one event: see abandon_at()
  each_once,      // attempt k of a call at its event k
  after_changes,  // after each change of pages that it has made: the next attempt passes over that
};

template <u32 kTeam>
class KernelMachine {
 public:
  static constexpr bool kContiguous = kTeam == 1;
  static constexpr u64 kBegin = 0x400000, kPages = 64, kEnd = kBegin + kPages * kPageSize;
  // What is mapped at first: writable data, a page to read, a page with no permissions, and the stack.
  static constexpr u64 kData = kBegin + 0x10000, kDataEnd = kData + 4 * kPageSize, kReadOnly = kDataEnd,
                       kNoAccess = kReadOnly + kPageSize, kBreakStart = kBegin + 0x18000, kStack = kEnd - 2 * kPageSize,
                       kHeapLimit = kStack - kPageSize;
  static constexpr u64 kUnmapped = kBegin;
  static constexpr u64 kSeed = 7, kNumber = 3;  // of the lane's random bytes

  KernelMachine() : table_(kPages + kernel::kKernelPages + kernel::kBufferPages) {
    facts_ = {};
    facts_.window_begin = kBegin;
    facts_.window_end = kEnd;
    facts_.stack_bytes = kEnd - kStack;
    facts_.seed = kSeed;
    constexpr std::string_view path = "/program";
    input_.number = kNumber;
    input_.output_limit = 10000;
    for (u64 page = kPages; page < kPages + kernel::kKernelPages; page++) table_[page] = new_page(0);
    map_first(kData, kDataEnd, 3);
    map_first(kReadOnly, kNoAccess, 1);
    map_first(kNoAccess, kNoAccess + kPageSize, 0);
    map_first(kStack, kEnd, 3);
    set_kernel_word(kernel::kBreakEnd, kBreakStart);
    set_kernel_word(kernel::kBreakStart, kBreakStart);
    set_kernel_word(kernel::kHeapLimit, kHeapLimit);
    set_kernel_word(kernel::kProgramPathSize, path.size());
    u64 path_word = 0;
    std::memcpy(&path_word, path.data(), path.size());
    set_kernel_word(kernel::kProgramPath, path_word);
    set_kernel_word(kernel::kRandomPosition, kernel::kStartRandomBytes);
    set_kernel_word(kernel::kModeMask, 022);
    set_kernel_word(kernel::kFiles, 1 | 2 << 16 | u64{3} << 32);
  }

  // What a call sees of the machine: see kernel/machine.h.
  u32 number() const { return number_; }
  u64 argument(u32 n) const { return arguments_[n]; }
  u64 retired() const { return retired_; }
  u64 x(u32 n) const { return registers.x[n]; }
  void set_x(u32 n, u64 value) { registers.x[n] = value; }
  u64 pc() const { return registers.pc; }
  void set_pc(u64 value) { registers.pc = value; }
  u32 nzcv() const { return registers.nzcv; }
  void set_nzcv(u32 value) { registers.nzcv = value; }
  u64 v(u32 n, u32 half) const { return registers.v[n][half]; }
  void set_v(u32 n, u32 half, u64 value) { registers.v[n][half] = value; }
  u64 system(SystemField of) const { return registers.system[static_cast<u32>(of)]; }
  void set_system(SystemField of, u64 value) { registers.system[static_cast<u32>(of)] = value; }
  void count_delivery() { retired_++; }
  void tell_of_signal(const u64* information, bool ends) {
    told.push_back((ends ? -1 : 1) * static_cast<i64>(information[0]));
  }
  const kernel::ProcessFacts& facts() const { return facts_; }
  kernel::ProcessInput input() const {
    kernel::ProcessInput input = input_;
    input.standard_input = {standard_input_.data(), standard_input_.size()};
    input.file = {file_.data(), file_.size()};
    return input;
  }
  u64 page_of(u64 address) const { return (address >> kPageBits) - (kBegin >> kPageBits); }
  u64 guest_pages() const { return kPages; }
  u32 entry(u64 page) const { return table_.at(page); }
  u8* locate(u32 entry, u32 offset) const {
    Frame& frame = const_cast<Frame&>(frames_.at(entry >> kPageFlagBits));
    return frame.bytes.data() + ((entry & kPageShared) ? offset : place_in_own(offset));
  }
  // kernel::HasTree. With a team of 1 the tree is the host's own; else it is as a GPU has it: an index, and a call that asks
  // for the content of a regular file for the first time is abandoned.
  bool has_tree() const { return tree != nullptr; }
  i64 tree_look_up(u32 folder, const u8* name, u32 size) const {
    return kTeam == 1 ? HostTree(tree).tree_look_up(folder, name, size) : flat().look_up(folder, name, size);
  }
  u32 tree_parent(u32 folder) const { return kTeam == 1 ? HostTree(tree).tree_parent(folder) : flat().parent(folder); }
  kernel::FileStatus tree_status(u32 file) const {
    return kTeam == 1 ? HostTree(tree).tree_status(file) : flat().status(file);
  }
  bool tree_content(u32 file, kernel::Bytes& bytes) const {
    if constexpr (kTeam == 1) return HostTree(tree).tree_content(file, bytes);
    const kernel::ContentState state = flat().content(file, bytes);
    if (state == kernel::ContentState::absent) wanted_ = file + 1;
    return state == kernel::ContentState::there;
  }
  bool is_program_link(u32 file) const {
    return kTeam == 1 ? HostTree(tree).is_program_link(file) : flat().is_program_link(file);
  }
  bool awaits_content() const { return wanted_ != 0; }
  bool own_page(u64 page) {
    if (page >= table_.size() || table_[page] == 0) return mistake("a page that is not mapped becomes own");
    if (gives_up()) return false;
    own(page);
    return true;
  }
  void page_written(u64 page) {
    if (page >= kPages || table_[page] == 0 || (table_[page] & kPageShared)) mistake("page_written() of no own page");
    written_.insert(page);
  }
  bool change_pages(const kernel::PageChange& change) {
    const bool in_layer = change.begin >= kEnd + kernel::layer_at(0) &&
                          change.end <= kEnd + kernel::layer_at(facts_.layer_pages + kernel::kBufferPages) &&
                          change.permissions == 0;
    if (change.begin >= change.end || change.begin % kPageSize != 0 || change.end % kPageSize != 0 ||
        change.begin < kBegin || (change.end > kEnd && !in_layer)) {
      return mistake("a change of pages that cannot be");
    }
    if (mode_ == Abandon::after_changes) {
      if (changes_++ < changes_made_) return true;
      make_change(change);
      changes_made_++;
      return false;
    }
    if (gives_up()) return false;
    make_change(change);
    return true;
  }
  kernel::Put put_out(u32 stream, u64 position, u64 address, u64 size) {
    using kernel::PutKind;
    if (stream != 1 && stream != 2) mistake("output to no stream");
    if (gives_up()) return {PutKind::again, 0};
    if (interruptions != 0) {
      interruptions--;
      abandoned_ = true;
      return {PutKind::interrupted, 0};
    }
    std::vector<u8>& kept = outputs_[(stream - 1) % 2];
    if (position > kept.size()) mistake("output with a gap");
    kept.resize(position);
    // Other bytes than the guest's lie in the layer, behind its window.
    if (page_of(address) < guest_pages() && kernel::accessible(*this, address, size, kPageReadable) != size) {
      mistake("output that the guest may not read");
    }
    const u64 taken = std::min(size, most_output - std::min(most_output, position));
    for (u64 i = 0; i < taken; i++) kept.push_back(kernel::load<u8>(*this, address + i));
    return {taken == size ? PutKind::taken : no_more, taken};
  }

  /// Makes a call, again after each time that it is abandoned.
  kernel::Result call(u32 number, const std::vector<u64>& arguments = {}) {
    number_ = number;
    arguments_ = {};
    std::copy(arguments.begin(), arguments.end(), arguments_.begin());
    retired_ += 1000;
    changes_made_ = 0;
    for (attempt_ = 0;; attempt_++) {
      begin_attempt();
      const kernel::Result result = serve_attempt();
      finish_attempt();
      if (result.served == kernel::Served::answered || result.served == kernel::Served::ended ||
          result.served == kernel::Served::replaced || result.served == kernel::Served::waits) {
        return result;
      }
      if (!changed_pages_ && !is_unchanged())
        mistake("a call that was abandoned, or is missing, has changed something");
      if (result.served == kernel::Served::missing) return result;
      if (!abandoned_ && wanted_ == 0 && mode_ != Abandon::after_changes) {
        mistake("a call asks for another attempt without a reason");
        return result;
      }
    }
  }
  /// Instructions that make no call.
  void pass(u64 instructions) { retired_ += instructions; }
  /// Lets the process take its signals, as a backend does. Returns what ends it, or `answered`.
  kernel::Result deliver() {
    for (attempt_ = 0; kernel::attention_at(*this) <= retired_; attempt_++) {
      begin_attempt();
      const kernel::Result result = deliver_attempt();
      finish_attempt();
      if (result.served == kernel::Served::ended) return result;
      if (result.served == kernel::Served::again && !abandoned_)
        mistake("a delivery asks for another attempt without a reason");
    }
    return kernel::answer(0);
  }
  kernel::Result deliver_fault(const StopRecord& stop) {
    for (attempt_ = 0;; attempt_++) {
      begin_attempt();
      const kernel::Result result = deliver_fault_attempt(stop);
      finish_attempt();
      if (result.served != kernel::Served::again) return result;
      if (!abandoned_) mistake("a delivery asks for another attempt without a reason");
    }
  }
  /// The value of a call that must be answered.
  i64 value(u32 number, const std::vector<u64>& arguments = {}) {
    const kernel::Result result = call(number, arguments);
    if (result.served != kernel::Served::answered) mistake("a call was not answered");
    return result.value;
  }

  void abandon(Abandon mode) { mode_ = mode; }
  /// Abandons the call at event number `event`, from 0 on, of this machine.
  void abandon_at(u64 event) {
    mode_ = Abandon::once;
    abandon_at_ = event;
  }
  u64 events() const { return events_; }

  /// All that a guest, or the host after the call, can see.
  std::vector<u8> state() const {
    std::vector<u8> state;
    for (u64 page = 0; page < table_.size(); page++) {
      state.push_back(table_[page] == 0 ? 255 : table_[page] & 7);
      if (table_[page] == 0) continue;
      const std::vector<u8> bytes = contents(page);
      state.insert(state.end(), bytes.begin(), bytes.end());
    }
    for (u32 stream : {1u, 2u}) {
      const std::string text = output(stream);
      state.insert(state.end(), text.begin(), text.end());
    }
    return state;
  }
  /// What is kept of an output stream.
  std::string output(u32 stream) const {
    const std::vector<u8>& kept = outputs_[stream - 1];
    const u64 size = kernel_word(kernel::kOutputSize + (stream - 1) * 8);
    if (size > kept.size()) return "more than was put out";
    return {kept.begin(), kept.begin() + static_cast<std::ptrdiff_t>(size)};
  }
  const std::vector<std::string>& mistakes() const { return mistakes_; }

  // Guest memory and the words of the process, as the host reaches them.
  void put(u64 address, const void* bytes, u64 size) {
    for (u64 i = 0; i < size; i++) {
      own(page_of(address + i));
      *byte_at(address + i) = static_cast<const u8*>(bytes)[i];
    }
  }
  void put_text(u64 address, const std::string& text) { put(address, text.data(), text.size()); }
  void put_path(u64 address, const std::string& text) { put(address, text.c_str(), text.size() + 1); }
  void put_words(u64 address, const std::vector<u64>& words) { put(address, words.data(), words.size() * 8); }
  std::string text(u64 address, u64 size) const {
    std::string text;
    for (u64 i = 0; i < size; i++) text.push_back(static_cast<char>(*byte_at(address + i)));
    return text;
  }
  u64 word_at(u64 address) const {
    u64 word;
    std::memcpy(&word, text(address, 8).data(), 8);
    return word;
  }
  u64 kernel_word(u64 offset) const { return kernel::word(*this, offset); }
  void set_kernel_word(u64 offset, u64 value) {
    own(kPages + offset / kPageSize);
    kernel::set_word(*this, offset, value);
  }

  void set_standard_input(const std::string& text) { standard_input_.assign(text.begin(), text.end()); }
  void set_file(const std::string& text) {
    file_.assign(text.begin(), text.end());
    input_.has_file = 1;
  }
  /// The files of the process can be changed, and what it writes takes so many pages at most.
  void set_layer_pages(u64 pages) {
    facts_.layer_pages = pages;
    table_.resize(kPages + kernel::kKernelPages + kernel::kBufferPages + pages);
  }
  void set_output_limit(u64 bytes) { input_.output_limit = bytes; }
  // How many bytes of a stream put_out() takes, and what it answers then; and how often it is interrupted before.
  u64 most_output = ~u64{0};
  kernel::PutKind no_more = kernel::PutKind::refused;
  u32 interruptions = 0;
  const FileTree* tree = nullptr;  // the root of the process; null: it has none
  struct Registers {
    std::array<u64, 32> x = {};
    u64 pc = 0x1000;
    u32 nzcv = 0;
    std::array<std::array<u64, 2>, 32> v = {};
    std::array<u64, static_cast<u32>(SystemField::count)> system = {};
    bool operator==(const Registers&) const = default;
  } registers;
  std::vector<i64> told;  // signals: the number, negative if it ends the process

 private:
  static constexpr u8 kForeign = 0xEE;  // bytes of the other lane

  // src/kernel/ for this machine: in kernel_machine.cpp, since each file that instantiates it takes minutes to compile.
  kernel::Result serve_attempt();
  kernel::Result deliver_attempt();
  kernel::Result deliver_fault_attempt(const StopRecord& stop);

  struct Frame {
    std::vector<u8> bytes;  // one page, or if it is own and interleaved, one of each lane
    u64 sum = 0;            // of a shared frame
  };

  static u32 place_in_own(u32 offset) {
    return kTeam == 1 ? offset : (offset & ~7u) * kTeam + (kTeam - 1) * 8 + (offset & 7);
  }
  static u64 sum_of(const std::vector<u8>& bytes) {
    u64 sum = 0, word;
    for (size_t i = 0; i < bytes.size(); i += 8) {
      std::memcpy(&word, &bytes[i], 8);
      sum = (sum ^ word) * 0x9e3779b97f4a7c15 + i;
    }
    return sum;
  }

  u32 add_frame(Frame frame, u32 flags) {
    if (frames_.empty()) frames_.emplace_back();  // no page has frame 0
    frames_.push_back(std::move(frame));
    return static_cast<u32>(frames_.size() - 1) << kPageFlagBits | flags;
  }
  u32 new_page(u32 permissions) { return add_frame(own_frame(std::vector<u8>(kPageSize)), permissions); }
  static Frame own_frame(const std::vector<u8>& contents) {
    Frame frame = {std::vector<u8>(kPageSize * kTeam, kForeign), 0};
    for (u32 i = 0; i < kPageSize; i++) frame.bytes[place_in_own(i)] = contents[i];
    return frame;
  }
  static std::vector<u8> bytes_of(const Frame& frame, u32 entry) {
    if (kTeam == 1 || (entry & kPageShared)) return frame.bytes;
    std::vector<u8> bytes(kPageSize);
    for (u32 i = 0; i < kPageSize; i += 8) std::memcpy(&bytes[i], &frame.bytes[place_in_own(i)], 8);
    return bytes;
  }
  std::vector<u8> contents(u64 page) const { return bytes_of(frames_[table_[page] >> kPageFlagBits], table_[page]); }
  void own(u64 page) {
    const u32 entry = table_.at(page);
    if (!(entry & kPageShared)) return;
    table_[page] = add_frame(own_frame(contents(page)), entry & 7);
  }
  u8* byte_at(u64 address) const { return locate(table_.at(page_of(address)), (u32)address % kPageSize); }

  void make_change(const kernel::PageChange& change) {
    changed_pages_ = true;
    for (u64 at = change.begin; at < change.end; at += kPageSize) {
      u32& entry = table_[page_of(at)];
      switch (change.action) {
        case kernel::PageAction::map: entry = new_page(change.permissions); break;
        case kernel::PageAction::unmap: entry = 0; break;
        case kernel::PageAction::protect:
          if (entry != 0) entry = (entry & ~7u) | change.permissions;
      }
      written_.insert(page_of(at));
    }
  }
  /// Maps a part of the program, with a pattern in it.
  void map_first(u64 begin, u64 end, u32 permissions) {
    for (u64 at = begin; at < end; at += kPageSize) {
      table_[page_of(at)] = new_page(permissions);
      for (u32 i = 0; i < kPageSize; i++) *byte_at(at + i) = static_cast<u8>(i * 7 + (at >> kPageBits));
    }
    const u64 index = kernel_word(kernel::kRangeCount);
    set_kernel_word(kernel::kRanges + index * kernel::kRangeBytes, begin | permissions);
    set_kernel_word(kernel::kRanges + index * kernel::kRangeBytes + 8, end);
    set_kernel_word(kernel::kRangeCount, index + 1);
  }

  bool gives_up() {
    const u64 event = events_++, in_attempt = attempt_events_++;
    const bool now =
        (mode_ == Abandon::once && event == abandon_at_) || (mode_ == Abandon::each_once && in_attempt == attempt_);
    abandoned_ |= now;
    return now;
  }
  kernel::FlatTree flat() const {
    if (flat_of_ != tree) {
      index_ = FlatIndexMaker(*tree).make();
      contents_.assign(reinterpret_cast<const kernel::FlatIndex*>(index_.data())->files, {});
      flat_of_ = tree;
    }
    return {reinterpret_cast<const kernel::FlatIndex*>(index_.data()), contents_.data()};
  }
  /// Brings the file that the last attempt lacked.
  void bring_wanted() {
    if (wanted_ == 0) return;
    kernel::Bytes bytes = {nullptr, 0};
    const bool is_there = HostTree(tree).tree_content(wanted_ - 1, bytes);
    using enum kernel::ContentState;
    contents_[wanted_ - 1] = {bytes.data, bytes.size, is_there ? there : unreadable, 0};
    wanted_ = 0;
  }
  void begin_attempt() {
    bring_wanted();
    std::vector<Frame> old;
    old.swap(frames_);
    for (u32& entry : table_) {
      if (entry == 0) continue;
      Frame& frame = old[entry >> kPageFlagBits];
      if (!(entry & kPageShared)) {
        frame.bytes = bytes_of(frame, entry);
        frame.sum = sum_of(frame.bytes);
      }
      entry = add_frame(std::move(frame), (entry & 7) | kPageShared);
    }
    shared_ = table_;
    written_.clear();
    attempt_events_ = 0;
    changes_ = 0;
    abandoned_ = changed_pages_ = false;
  }
  void finish_attempt() {
    for (u64 page = 0; page < table_.size(); page++) {
      const u32 before = shared_[page], now = table_[page];
      const Frame* shared = before != 0 ? &frames_[before >> kPageFlagBits] : nullptr;
      if (shared && sum_of(shared->bytes) != shared->sum) mistake("a page was changed that is not own");
      if (now == 0 || (now & kPageShared)) continue;
      if (page < kPages && written_.count(page) == 0 && shared && contents(page) != shared->bytes) {
        mistake("a page was changed without page_written()");
      }
      for (u32 i = 0; i < kPageSize * kTeam; i++) {
        if (i / 8 % kTeam != kTeam - 1 && frames_[now >> kPageFlagBits].bytes[i] != kForeign) {
          mistake("another lane was changed");
          break;
        }
      }
    }
  }
  /// Whether what the guest can see is as it was when the attempt began.
  /// Whether it is a page of the layer that nobody has taken. What it holds can never be seen: it is cleared when it is taken.
  bool is_free_in_layer(u64 page) const {
    const u64 first = guest_pages() + kernel::kKernelPages;
    if (page <= first || !kernel::has_layer(*this)) return false;
    const u64 number = page - first, taken = kernel::word(*this, kernel::bitmap_word_at<KernelMachine>(number));
    return (taken >> number % 64 & 1) == 0;
  }
  bool is_unchanged() const {
    for (u64 page = 0; page < table_.size(); page++) {
      const u32 before = shared_[page], now = table_[page];
      if (before == now) continue;
      if (before == 0 || now == 0 || ((before ^ now) & 7)) return false;
      if (is_free_in_layer(page)) continue;
      if (contents(page) != frames_[before >> kPageFlagBits].bytes) return false;
    }
    return true;
  }
  bool mistake(const char* text) {
    mistakes_.push_back("call " + std::to_string(number_) + ": " + text);
    return false;
  }

  u32 number_ = 0;
  std::array<u64, 6> arguments_ = {};
  u64 retired_ = 0;
  kernel::ProcessFacts facts_;
  kernel::ProcessInput input_ = {};
  std::vector<u8> standard_input_, file_;
  std::vector<Frame> frames_;
  std::vector<u32> table_, shared_;  // page tables: now, and when the attempt began
  std::array<std::vector<u8>, 2> outputs_;
  std::set<u64> written_;
  std::vector<std::string> mistakes_;
  Abandon mode_ = Abandon::never;
  u64 abandon_at_ = 0, events_ = 0, attempt_ = 0, attempt_events_ = 0, changes_ = 0, changes_made_ = 0;
  bool abandoned_ = false, changed_pages_ = false;
  // With a team of more than 1: the index of `flat_of_`, and the file that the call lacks, and 1.
  mutable const FileTree* flat_of_ = nullptr;
  mutable std::vector<u64> index_;
  mutable std::vector<kernel::FlatContent> contents_;
  mutable u32 wanted_ = 0;
};

// See serve_attempt().
extern template class KernelMachine<1>;
extern template class KernelMachine<2>;

static_assert(kernel::Machine<KernelMachine<1>> && kernel::Machine<KernelMachine<2>>);

}  // namespace myriarm::test
