// SPDX-License-Identifier: Apache-2.0
// The predecoded code that one or more lanes run: arrays of words, of which only covered pages hold instructions. A
// program has one that all its lanes begin with. A lane whose code has changed gets another one; lanes whose code
// changed in the same way share it. docs/design/code-spaces.md says why it is so.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "backends/cpu/frame_pool.h"
#include "backends/cpu/host_memory.h"
#include "backends/cpu/interpreter/code.h"
#include "backends/cpu/interpreter/code_file.h"
#include "backends/cpu/translated/space_regions.h"

namespace myriarm::cpu {

using PageBytes = std::array<u8, kPageSize>;

/// Arrays of words that were in use, all zeros again: to map one and to unmap it takes longer than many lanes run. At
/// most 64, of which at most 12 pages of code were in use each; the pool does not count them.
class SpareWords {
 public:
  SpareWords() { arrays_.reserve(kMost); }
  /// An array of this many bytes.
  LazyArray take(u64 bytes);
  /// Allocates nothing, since destructors call it.
  void give_back(LazyArray array) noexcept;

 private:
  static constexpr size_t kMost = 64;
  std::mutex mutex_;
  std::vector<LazyArray> arrays_;
};

/// A page is named by its guest address >> kPageBits.
class CodeSpace : public std::enable_shared_from_this<CodeSpace> {
 public:
  /// One array of words. Entries of pages that are not covered are zeros, and so is the one behind the last: the
  /// interpreter then looks for the instruction by its address.
  struct Area {
    CodeSpan span;
    LazyArray array;
    Operands* words() const { return reinterpret_cast<Operands*>(array.data()); }
    Operands* page(u64 page) const { return words() + ((page << kPageBits) - span.address) / 4; }
  };
  /// A page that is not as the program's lanes begin with it.
  struct Changed {
    std::shared_ptr<const PageBytes> bytes;  // what it was predecoded from; null if not covered, or not kept
    bool covered = false;
    bool noted = false;  // longest_run() allows for any content of it
  };

  CodeSpace(const CodeSpace&) = delete;
  ~CodeSpace();

  /// The area that contains pc; null if there is none.
  const Area* find(u64 pc) const;
  /// The same, but null if the page of pc is not covered.
  const Area* find_covered(u64 pc) const;
  bool covers(u64 page) const { return find_covered(page << kPageBits) != nullptr; }
  /// The bytes that a covered page was predecoded from; null if they were not kept.
  const u8* bytes(u64 page) const;
  const std::map<u64, Changed>& changed() const { return changed_; }
  /// What this one differs from: the code of a program, or one that covers no page.
  const CodeSpace& root() const { return base_ != nullptr ? *base_ : *this; }
  /// Whether it will never change again, so that any lane can share it. Only a published space has translated code: in
  /// copies of it, which lanes change, the instructions are as they were without.
  bool is_published() const { return published_; }
  /// The most instructions that can retire between two checks of the budget.
  u64 longest_run() const { return longest_run_; }
  /// Calls visit(page) for each page that a root covers.
  template <class Visit>
  void for_root_pages(Visit visit) const {
    for (const RootPages& run : root_pages_) {
      for (u64 i = 0; i < run.count; i++) visit(run.first + i);
    }
  }

  // Translated code of a published space. Any thread may call these, also while lanes run the space.
  /// The instruction word at a guest address of which the space has the bytes.
  bool fetch(u64 pc, u32& word) const;
  /// Makes the region part of the space: lanes that run the space enter it at those of its entries that no other region
  /// of this tier or a larger one has. Returns how many these are; if there are none, the region is not kept. `covered`:
  /// the addresses of its instructions. Throws std::bad_alloc and DeviceError.
  u32 install(const std::shared_ptr<const translate::Region>& region, Tier tier, std::vector<u64> covered) const;
  /// The entry of a region at pc; null if there is none.
  const RegionEntry* entry_at(u64 pc) const;
  /// Frames that the pool counts for it.
  u64 charged() const { return charged_; }
  /// Where entries are found, of all areas.
  const SpaceEntries& entries() const { return regions_.points(); }
  // As SpaceRegions says.
  bool ask_region(u64 pc, Tier tier) const { return regions_.ask(pc, tier); }
  bool drop_request(u64 pc) const { return regions_.drop_request(pc); }
  Tier tier_at(u64 pc) const { return regions_.tier_at(pc); }

  // To make a root. Its memory is not charged to the pool, just as that of the program's pages is not.
  CodeSpace() = default;
  /// Covers `count` neighbouring pages, whose content is at `bytes` as long as the space exists. Calls are in rising
  /// order of page.
  void add_root_pages(u64 first, const u8* bytes, u64 count);
  void finish_root();

  // To change a space that is not published. These may throw std::bad_alloc and DeviceError, and return false (null) if
  // the pool is spent; then nothing has changed.
  static std::shared_ptr<CodeSpace> copy_of(const CodeSpace& from, CodeFile& file, SpareWords& spare, FramePool& pool);
  /// Covers a page whose words are decoded when they first run.
  bool cover(u64 page);
  bool uncover(u64 page);
  /// Must be called before a covered page is written to, and makes is_noted() true. longest_run() may grow.
  bool note_write(u64 page);
  /// Whether a page is covered and longest_run() allows for any content of it.
  bool is_noted(u64 page) { return use(page) && used_.state->noted; }
  /// Marks the words that overlap [address, address + size), so that they are decoded again.
  void invalidate(u64 address, u64 size);
  /// Decodes the lazy words at pc and behind it.
  void decode_lazy(u64 pc, const u8* bytes);
  /// Decodes every lazy word and keeps the bytes of each changed page, which bytes_of(page) gives. From then on nothing
  /// may change it.
  template <class BytesOf>
  void publish(BytesOf bytes_of) {
    for (auto& [page, state] : changed_) {
      if (state.covered && state.bytes == nullptr) settle(page, state, bytes_of(page));
    }
    measure_runs();
    begin_entries();
    published_ = true;
  }

 private:
  struct RootPages {
    u64 first, count;
    const u8* bytes;
  };
  /// A covered page that is written to is most often written to again.
  struct Used {
    u64 page = ~u64{0};
    Changed* state = nullptr;
    const Area* area = nullptr;
  };
  /// Makes used_ that of a changed page. False: it is not covered.
  bool use(u64 page) { return page == used_.page || find_used(page); }
  bool find_used(u64 page);
  Area* area_for(u64 page);
  Area make_area(const CodeSpan& span);
  Operands* words_of(u64 page) const;
  /// The entry of a page, which takes its part of the pool if it is new; null if the pool is spent.
  Changed* change(u64 page);
  void note(Changed& state);
  void settle(u64 page, Changed& state, const u8* bytes);
  void measure_runs();
  void begin_entries();

  const CodeSpace* base_ = nullptr;  // null: this is a root
  FramePool* pool_ = nullptr;        // null: this is a root
  SpareWords* spare_ = nullptr;
  bool is_mapped_ = false;   // from a file, which would show again in an array that is given back
  u64 charged_ = 0;          // frames
  std::vector<Area> areas_;  // in rising order of address
  std::vector<RootPages> root_pages_;
  std::map<u64, Changed> changed_;
  u64 longest_run_ = 1;
  u64 published_run_ = 1;  // longest_run_ when it was last measured
  bool published_ = false;
  mutable SpaceRegions regions_;
  Used used_;
};

}  // namespace myriarm::cpu
