// SPDX-License-Identifier: Apache-2.0
// Which pages of code are worth predecoding: a page that guests write to soon after it was predecoded is left out, for
// twice as long each time. Portable: kernels use it, and tests do on the host.
#pragma once

#include "core/portable.h"

namespace myriarm::cuda {

/// What is known of one page of a team that has run without predecoded words, or that differs from its program's. Times
/// are ticks of 2^21 ns, of which the lower 32 bits count.
struct PageHistory {
  u32 slot;      // page number + 1; 0: nothing is known
  u32 since;     // when it was predecoded
  u32 retry_at;  // if it is left out: until then
  u16 wait;      // for how long it was left out the last time; 0: it was not
  u16 left_out;  // not 0: it is not predecoded, and stores to it are not noticed
};
static_assert(sizeof(PageHistory) == 16, "one vector load");

constexpr u32 kFirstWait = 16, kMostWait = 4096;  // 34 ms and 9 s
/// A page that was not changed for this long was worth predecoding.
constexpr u32 kLongLife = 32;

/// Whether a page must not be predecoded at this time.
MYR_FN bool must_wait(const PageHistory& history, u32 page, u32 now) {
  return history.slot == page + 1 && history.wait != 0 && (i32)(history.retry_at - now) > 0;
}
/// A page is predecoded, or left out because must_wait() says so.
MYR_FN void page_is_described(PageHistory& history, u32 page, u32 now, bool left_out) {
  if (history.slot != page + 1) history = {page + 1, now, now, 0, 0};
  history.left_out = left_out;
  if (!left_out) history.since = now;
}
/// A guest changes a page. Returns whether it was predecoded, or would have been if its lanes had been alike.
MYR_FN bool guest_changes_page(PageHistory& history, u32 page, u32 now) {
  if (history.slot != page + 1 || history.left_out != 0) return false;
  const u32 doubled = history.wait == 0 ? kFirstWait : history.wait * 2u;
  const bool lived_long = now - history.since >= kLongLife;
  history.wait = (u16)(lived_long ? 0 : doubled < kMostWait ? doubled : kMostWait);
  history.retry_at = now + history.wait;
  return true;
}
/// The host changes a page: what guests did to it counts no more.
MYR_FN void host_changes_page(PageHistory& history, u32 page) {
  if (history.slot == page + 1) history.wait = 0;
}
/// Whether a page that runs without predecoded words may have some now: it is new, or has waited long enough.
MYR_FN bool wants_words(const PageHistory& history, u32 page, u32 now) {
  return history.slot != page + 1 || (history.left_out != 0 && !must_wait(history, page, now));
}

}  // namespace myriarm::cuda
