// SPDX-License-Identifier: Apache-2.0
// Sources that give inputs that resemble each other one after the other. The 32 lanes of a team on a GPU take consecutive
// inputs of a queue, and execute an instruction together where their processes do the same.
#pragma once

#include <cstdint>

#include "myriarm/inputs.h"
#include "myriarm/queue.h"

namespace myriarm {

/// How much grouped() orders at a time: a window.
struct GroupOptions {
  /// The most inputs of a window, at least 1.
  uint64_t inputs = uint64_t{1} << 18;
  /// The most bytes that a window holds, at least 1. An input counts with twice its bytes, for beside it lies the key by which it
  /// is sorted, and later its copy in the new order; three times if it has words, or a file and standard input; and with some
  /// 100 bytes (BatchSource) or 250 (QueueSource) more. An input that takes more than all this is a window of its own.
  uint64_t bytes = uint64_t{256} << 20;
};

/// A source that gives the inputs of `source`, with their numbers, window by window in another order. It is for one run with
/// QueueOptions::ordered == false, since numbers may become lower; a run with `ordered` throws ArgumentError. Results are the
/// same in any order. Copies of the returned source are one source.
///
/// The order of a window follows from its inputs and their numbers alone. The key of an input is its bytes with one '0' in
/// place of each run of ASCII decimal digits, and of that the first 4 KiB. Inputs are sorted by their keys as memcmp()
/// compares them, then by length, then by number. If neighbours in this order have little in common (the mean of their
/// common prefix, as a share of the shorter key, is below one half), they are sorted by length, then by number: lanes of a
/// team then at least end at about the same time. Of a ProcessInput the words of arguments and environment count as bytes too.
///
/// A window ends when it is full; when the source says Supply::later, so that lanes never wait for inputs that are held; and
/// when the source has ended or thrown, which this source then does at its next call, also with std::bad_alloc. Batches whose
/// as_file differs share no window. Where there is no memory for a window, what is held is given in the order in which it
/// came if need be, and later windows are half as large; std::bad_alloc comes from here only if nothing is held, no input is
/// lost then, and the source can be asked again. A batch that is not as InputBatch says is an ArgumentError of the source. Throws
/// ArgumentError if an option is 0.
BatchSource grouped(BatchSource source, GroupOptions options = {});
QueueSource grouped(QueueSource source, GroupOptions options = {});

}  // namespace myriarm
