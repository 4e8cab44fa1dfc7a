// SPDX-License-Identifier: Apache-2.0
// Many inputs at a time, and what became of each in a few words: for queues of millions of short processes.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "myriarm/stop.h"

namespace myriarm {

/// Inputs: input i has number first_number + i and the bytes from offsets[i] to offsets[i + 1].
struct InputBatch {
  uint64_t first_number = 0;
  std::span<const uint8_t> bytes;
  /// One more than there are inputs, none lower than the one before it, and the last at most bytes.size(). Empty: there is
  /// no input.
  std::span<const uint64_t> offsets;
  /// The bytes are not standard input, but the file that LinuxOptions::files would give.
  bool as_file = false;
  /// Of each input, if they are not consecutive: empty, or as many as there are inputs. first_number then has no meaning.
  std::span<const uint64_t> numbers = {};

  uint64_t size() const { return offsets.empty() ? 0 : offsets.size() - 1; }
};

/// What a source has.
enum class Supply : uint8_t {
  input,  ///< it has given one, or some
  later,  ///< none now; it is asked again
  ended,  ///< no further one
};
/// Gives inputs, at least one and as many as it likes, all as standard input or all as files. The bytes must stay until it
/// is called again. `idle`: no process runs, so the source may wait; otherwise they wait for it.
using BatchSource = std::function<Supply(InputBatch& batch, bool idle)>;

/// What became of one input, without the bytes of its output. It depends on the input, its number and the options alone.
struct InputDigest {
  uint64_t number = 0;
  uint64_t instructions = 0;
  uint64_t pc = 0;
  uint64_t output_bytes[2] = {};  ///< written to standard output, and to standard error
  uint64_t output_hash[2] = {};   ///< FNV-1a in 64 bits of the same bytes: kNoOutputHash if there are none
  uint64_t stop_address = 0;      ///< Stop::address
  uint32_t stop_detail = 0;       ///< Stop::detail: if it exited, the exit status; see kKilledStatus
  StopReason reason = StopReason::none;
  FaultKind fault = FaultKind::none;
  uint16_t reserved = 0;

  Stop stop() const { return {reason, fault, stop_detail, stop_address}; }
  bool operator==(const InputDigest&) const = default;
};
static_assert(sizeof(InputDigest) == 72, "arrays of digests are passed on as they are");

constexpr uint64_t kNoOutputHash = 0xcbf29ce484222325;  ///< FNV-1a's offset basis
/// The hash of bytes that follow those with the hash `before`.
constexpr uint64_t output_hash(std::span<const uint8_t> bytes, uint64_t before = kNoOutputHash) {
  constexpr uint64_t kPrime = 0x100000001b3;
  for (uint8_t byte : bytes) before = (before ^ byte) * kPrime;
  return before;
}

struct InputRunProgress {
  uint64_t instructions = 0;       ///< that have retired so far
  uint64_t lane_instructions = 0;  ///< QueueProgress::lane_instructions
};

/// What a fleet needs to give its lanes inputs by itself: Fleet::work_off(). LinuxFleet fills it in.
struct InputRun {
  uint64_t instructions = 0;    ///< Field::limit of each process
  uint64_t output_limit = 0;    ///< GivenInput::output_limit
  uint64_t start_bytes_at = 0;  ///< address of the bytes of the stack that depend on the number; 0: there are none
  uint32_t start_bytes = 0;     ///< how many
  /// Of what each process had written when it began.
  uint64_t first_bytes[2] = {};
  uint64_t first_hash[2] = {kNoOutputHash, kNoOutputHash};
  /// A BatchSource, called while lanes run. What it throws ends the run, as what the other functions throw does.
  std::function<Supply(InputBatch& batch, bool idle)> next;
  /// Gets digests in any order, with the tickets of their inputs: how many inputs next() had given before. Returns false to
  /// end the run.
  std::function<bool(std::span<const InputDigest> digests, std::span<const uint64_t> tickets,
                     const InputRunProgress& progress)>
      done;
  /// Gets inputs that have no digest: their processes waited for memory together with others, and no process went on. They
  /// may fit alone. `inputs` has their numbers; the tickets are as for done(), and so are `ends`, with
  /// StopReason::out_of_memory, for those that need not begin again.
  std::function<void(const InputBatch& inputs, std::span<const uint64_t> tickets, std::span<const InputDigest> ends)>
      given_up;
  /// Asked some times a second; true ends the run.
  std::function<bool()> cancelled;
};

}  // namespace myriarm
