// SPDX-License-Identifier: Apache-2.0
// A queue of inputs that lanes take by themselves: docs/design/inputs-on-a-gpu.md. The host changes it between launches.
#pragma once

#include "backends/cuda/saved_teams.h"
#include "core/portable.h"
#include "core/stop.h"

namespace myriarm {
struct InputDigest;
}

namespace myriarm::cuda {

/// What a lane does with the queue.
enum class QueuedState : u32 {
  idle,    // it has no input
  placed,  // its process is at the beginning and lacks the bytes that depend on the number: there was no frame
  runs,    // its process runs
};

/// What a lane's process has written. The bytes themselves are not kept.
struct OutputSummary {
  u64 bytes, hash;  // as in InputDigest
};
struct QueuedLane {
  OutputSummary output[2];
  u64 ticket;    // of its input: how many inputs the host had sent before it
  u64 begun_at;  // instructions of its process at the beginning
  QueuedState state;
  u32 reserved;
};

struct InputQueueView {
  // A segment: the inputs that the host has sent last.
  u64 next;            // the index of the next input; beyond `end` if teams have asked for more. Added to atomically
  u64 end;             // how many inputs there are
  u64 first_number;    // of input 0, if `numbers` is null
  const u64* numbers;  // of each input
  const u8* bytes;     // of all inputs
  const u64* offsets;  // end + 1
  u64 first_ticket;    // of input 0
  u32 as_file;         // the bytes are the input file, else standard input
  u32 more;            // further segments follow: the launch ends when this one is used up
  u32 start_bytes;     // how many bytes of the stack depend on the number, from start_bytes_at on
  u64 start_bytes_at;
  u64 limit;         // kPlaneLimit
  u64 output_limit;  // ProcessInput::output_limit
  OutputSummary first_output[2];
  // The beginning of each process: a snapshot of all lanes.
  SavedTeams beginning;
  const u64* planes;
  const u64* vectors;
  QueuedLane* lanes;
  // Of inputs whose processes have ended since the host last took them. The count is added to atomically.
  InputDigest* digests;
  u64* tickets;
  u64 digest_count;
  u64 team_instructions;  // of each such team as many as of its longest process, for each of its lanes; added to atomically
};

}  // namespace myriarm::cuda
