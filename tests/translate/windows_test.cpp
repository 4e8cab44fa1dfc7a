// SPDX-License-Identifier: Apache-2.0
// The windows of a lane against its page table: whatever changes, no window may say more than the entries of its pages do.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "generate/generate.h"
#include "translate/windows.h"

namespace myriarm::translate {
namespace {

constexpr u64 kFirstPage = 0x40, kTablePages = 300;

struct Lane {
  std::vector<u32> table = std::vector<u32>(kTablePages);
  std::vector<u8> frames = std::vector<u8>(kPageSize);  // of which nothing is read
  std::unique_ptr<Windows> windows = std::make_unique<Windows>();
  Lane() { windows->forget_all(); }

  PagedMemory<1> memory() { return {frames.data(), table.data(), kFirstPage, kTablePages, 0}; }
  static u64 address_of(u64 page) { return (kFirstPage + page) << kPageBits; }
  void set(u64 page, u64 frame, u32 flags) {
    table[page] = static_cast<u32>(frame) << kPageFlagBits | flags;
    windows->forget(address_of(page));
  }
  u64 host_of(u64 page) { return reinterpret_cast<u64>(memory().locate(table[page], 0)) - address_of(page); }

  bool is_right(const Window& window) {
    if (!window.exists()) return window.write_limit == 0;
    if (window.begin % kPageSize != 0 || window.end() % kPageSize != 0) return false;
    if (window.write_limit != 0 && window.write_limit != window.read_limit) return false;
    for (u64 at = window.begin; at < window.end(); at += kPageSize) {
      const u64 page = (at >> kPageBits) - kFirstPage;
      if (page >= kTablePages || !fast_readable(table[page]) || host_of(page) != window.host) return false;
      if (fast_writable(table[page]) != (window.write_limit != 0)) return false;
    }
    return true;
  }
  bool all_are_right() {
    for (const Window& window : windows->at) {
      if (!is_right(window)) return false;
    }
    for (const Window& window : windows->known) {
      if (!is_right(window)) return false;
    }
    return true;
  }
};

TEST(Windows, SayWhatTheEntriesOfTheirPagesSay) {
  constexpr u32 kFlags[] = {0,
                            kPageReadable,
                            kPageReadable | kPageWritable,
                            kPageReadable | kPageWritable,
                            kPageReadable | kPageWritable,
                            kPageReadable | kPageWritable | kPageShared,
                            kPageReadable | kPageWritable | kPageCode,
                            kPageReadable | kPageExecutable,
                            kPageReadable | kPageWritable | kPageDiffer,
                            kPageWritable};
  Random random(3);
  Lane lane;
  u64 plain = 0;
  for (u64 step = 0; step < 20000; step++) {
    if (random.one_in(3)) {
      const u32 flags = kFlags[random.below(std::size(kFlags))];
      const u64 apart = random.one_in(4) ? random.below(3) * 1000 : 0;  // mostly frames in the order of pages
      u64 page = random.below(kTablePages);
      for (u64 more = random.below(random.one_in(8) ? 100 : 3); page < kTablePages; page++) {
        lane.set(page, page + 1 + apart, flags);
        if (more-- == 0) break;
      }
    } else {
      const u64 page = random.below(kTablePages), offset = random.below(kPageSize);
      const Window* window =
          lane.windows->note(lane.memory(), Lane::address_of(page) + offset, static_cast<u32>(random.below(20)));
      ASSERT_EQ(window != nullptr, fast_readable(lane.table[page])) << "step " << step;
      u8* at = nullptr;
      if (window != nullptr && offset <= kPageSize - kLongestAccess) {
        ASSERT_TRUE(window->find_readable(Lane::address_of(page) + offset, at)) << "step " << step;
        ASSERT_EQ(at, lane.memory().locate(lane.table[page], static_cast<u32>(offset))) << "step " << step;
        ASSERT_EQ(window->find_writable(Lane::address_of(page) + offset, at), fast_writable(lane.table[page]));
        plain++;
      }
    }
    ASSERT_TRUE(lane.all_are_right()) << "step " << step;
  }
  EXPECT_GT(plain, 4000u);
}

TEST(Windows, LeaveOutTheLastBytes) {
  Lane lane;
  lane.set(5, 9, kPageReadable | kPageWritable);
  const Window* window = lane.windows->note(lane.memory(), Lane::address_of(5) + 100, 0);
  ASSERT_NE(window, nullptr);
  u8* at = nullptr;
  const u64 last = Lane::address_of(6) - kLongestAccess;
  EXPECT_TRUE(window->find_readable(last, at));
  EXPECT_FALSE(window->find_readable(last + 1, at)) << "an access of 16 bytes leaves the page";
  EXPECT_FALSE(window->find_writable(last + 1, at));
  EXPECT_FALSE(window->find_readable(Lane::address_of(5) - 1, at));
  EXPECT_FALSE(window->find_readable(Lane::address_of(5) | u64{0x5A} << 56, at)) << "a tag";
}

TEST(Windows, GrowPageByPage) {
  Lane lane;
  for (u64 page = 0; page < kTablePages; page++) {
    lane.set(page, page + 1, kPageReadable | kPageWritable);
    ASSERT_NE(lane.windows->note(lane.memory(), Lane::address_of(page), 7), nullptr);
  }
  EXPECT_EQ(lane.windows->at[7].begin, Lane::address_of(0));
  EXPECT_EQ(lane.windows->at[7].end(), Lane::address_of(kTablePages));
}

}  // namespace
}  // namespace myriarm::translate
