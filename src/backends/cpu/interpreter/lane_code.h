// SPDX-License-Identifier: Apache-2.0
// Decides which predecoded instructions a lane runs, as its memory changes: nothing else does. A lane runs its
// program's, those that it shares with lanes whose code changed in the same way, or its own while it changes them.
#pragma once

#include "backends/cpu/interpreter/code_store.h"
#include "backends/cpu/lane.h"

namespace myriarm::cpu {

/// What a lane has that does not run its program's code, or no longer will.
struct LaneCode {
  std::shared_ptr<CodeSpace> space;  // null: the program's
  std::shared_ptr<CodeSpace> left;   // the one before, whose translated code may have made the store that changed it
  std::vector<u64> stale;            // pages that the host has changed since; update_code() looks at them
  // A lane that changes its code again and again gains nothing from publishing it each time.
  u32 patience = 0;      // how often the lane must be seen without having written to code before its code is published
  u32 quiet = 0;         // how often it was
  bool written = false;  // it has written to code since it was last seen
  // A lane that is writing code which others have published whole has most of it in common with theirs, time and again.
  // So what it spends on comparing is bounded by what it has spent on covering pages.
  u64 compared = 0;  // pages that were compared with those of published code which then did not fit
  u64 covered = 0;   // pages for which the lane has looked for published code, or covered its own
};

/// Whether there are predecoded instructions of the page at `address`, which the lane would run.
bool has_code(const Lane& lane, u64 address);

/// What the lane runs. It does so until its code changes, and not at all if the host has changed pages of it.
const CodeSpace& code_of(const Lane& lane);

/// Makes lane.place the place of the instruction at pc, for `retired` instructions so far. False: it recorded a stop,
/// put pc into far_pc, and made op the far marker. If it sets lane.restart, longest_run() may have changed.
bool enter_code(Lane& lane, u64 pc, u64 retired);
/// Decodes the word at pc, which was written to, and some behind it.
void decode_written_words(Lane& lane, u64 pc);
/// The most instructions that can retire between two checks of the budget.
u64 longest_run(const Lane& lane);

/// Must be called before the guest writes to the page at `address`, and sets `code` to has_code(). False: it recorded a
/// stop, or set lane.restart, and then the instruction must run again.
bool prepare_code_write(Lane& lane, u64 address, bool& code);
/// To be called when the guest has written: the words are decoded again.
void code_written(Lane& lane, u64 address, u64 size);

/// To be called when the host has written to the page at `address`, or changed its entry.
void page_changed(Lane& lane, u64 address);
/// To be called when the host has changed many pages: the lane finds all its code anew.
void all_pages_changed(Lane& lane);
/// With flat memory the host writes without a call: finds the pages of code that are not as they were predecoded.
void find_changed_pages(Lane& lane);
/// Brings the lane's code up to date with pages that the host has changed. To be called before an engine runs the lane.
/// False: it recorded a stop.
bool update_code(Lane& lane);
/// To be called when no translated code runs the lane: code that the lane has left may go.
void drop_left_code(Lane& lane);
/// To be called between two calls of an engine, and with `at_end` after the last: publishes code that the lane seems to
/// have finished.
void consider_publishing(Lane& lane, bool at_end);

/// To be called when restore() has given a lane with flat memory its code: stores to the pages of that code take the slow
/// path from now on. With other memory they do so in any case, because the snapshot holds the pages too.
void watch_code(Lane& lane);
/// For snapshots: the lane's code, as another lane with the same memory and program can have it.
std::unique_ptr<LaneCode> saved_code(Lane& lane);

}  // namespace myriarm::cpu
