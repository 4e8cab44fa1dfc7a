// SPDX-License-Identifier: Apache-2.0
// Runs of a fleet: modes, options, results, and handlers of system calls. Every mode gives the same results and counts;
// modes differ only in who starts the next batch.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "myriarm/stop.h"

namespace myriarm {

class Fleet;

/// No limit, for a count.
constexpr uint64_t kEndless = ~uint64_t{0};

enum class Mode : uint8_t {
  run,            ///< one dispatch, until every lane has a stop
  continuous,     ///< batches, each started by the host
  mega,           ///< as run, but `instructions` is required: one dispatch for a whole budget
  self_dispatch,  ///< batches, each started by the one before it on the device; on the CPU as continuous
};

/// What executes the instructions. With every engine registers, memory, counts and stops are the same to the bit, and a
/// lane can change engines at any instruction boundary; engines differ only in speed.
enum class Engine : uint8_t {
  interpreter,  ///< predecoded and specialised: the fast one
  /// Fetches, decodes and runs one instruction after the other, each by its row's own function, with floating point in
  /// integer arithmetic throughout: the reference for other engines, and for debugging.
  stepper,
  /// The interpreter, and code that lanes run often is translated into machine code while they run (docs/modes.md). What cannot
  /// be translated the interpreter runs: Fleet::translation() says why.
  translate,
  /// `translate` on the CPU if translation is installed there, else `interpreter`.
  automatic,
};
/// "interpreter", "stepper", "translate", "auto".
const char* name(Engine engine);

/// What happened in one batch, or in a whole run.
struct BatchReport {
  uint64_t batch = 0;         ///< its number, from 0
  uint64_t instructions = 0;  ///< retired in it, over all lanes
  uint64_t lanes_left = 0;    ///< lanes that stopped because the batch ended, and have budget left
  /// By StopReason: how many lanes got this stop in it.
  std::array<uint64_t, kStopReasons> stops{};
  /// The most urgent of these stops: fault, then syscall, breakpoint, cancelled, halt; checkpoint if there was none.
  Signal signal = Signal::running;
};

/// What the run does with a lane after on_syscall has served its system call.
enum class SyscallAction : uint8_t {
  resume,  ///< x0 becomes the result, and the lane goes on
  stop,    ///< x0 becomes the result, and the lane keeps its stop
  exit,    ///< the lane's stop becomes StopReason::exited with the result as its status
  serve,   ///< of a process: the library serves the call as if there were no handler
};
/// The lanes that stopped at an SVC; one call of the handler gets all of them. Index i is the same lane in every array.
struct SyscallBatch {
  std::span<const uint32_t> lanes;
  std::span<const uint64_t> numbers;     ///< x8, which holds the number of a Linux system call
  std::span<const uint32_t> immediates;  ///< imm16 of the SVC
  std::span<const uint64_t> arguments;   ///< x0 to x5 of lane i at 6 * i
  std::span<uint64_t> results;           ///< what x0 becomes; the present x0 before the handler writes it
  std::span<SyscallAction> actions;      ///< before the handler writes it: serve in a fleet of processes, else resume
};
/// May read and write the fleet's registers and memory, but not run it. An exception of the handler ends the run: the
/// lanes of the batch keep their syscall stop, and run() or wait() rethrows it.
using SyscallHandler = std::function<void(Fleet&, const SyscallBatch&)>;

struct RunOptions {
  Mode mode = Mode::run;
  /// The engine of this run; without a value, FleetOptions::engine.
  std::optional<Engine> engine = {};
  /// The most instructions that each lane retires in this call; a lane that has retired them stops with
  /// StopReason::budget, as it does at its Field::limit. Field::instructions and Field::limit are read when the run
  /// begins: a handler that changes them, or restores a lane, does not change how far the lane may go in this run.
  uint64_t instructions = kEndless;
  uint64_t instructions_per_batch = 10'000'000;  ///< continuous, self_dispatch: of each lane, in one batch
  uint64_t max_batches = kEndless;  ///< continuous, self_dispatch: after them, lanes that still run stop with budget
  /// Seconds until the lanes that still run stop with StopReason::cancelled, at an instruction boundary; 0: no timeout.
  double timeout = 0;
  /// Lanes that an earlier run left with StopReason::budget or cancelled run too. If false, only those without a stop.
  bool go_on = true;
  /// The lanes that may run, each once; without a value all of them. The others stay as they are, and the result does not
  /// count them. On the CPU such a run costs nothing for the others.
  std::optional<std::vector<uint32_t>> lanes = {};
  /// continuous: called after each batch; the run ends when it returns false. May use the fleet as SyscallHandler may.
  std::function<bool(Fleet&, const BatchReport&)> on_batch = {};
  /// If set, it serves lanes that stop at an SVC: all that have stopped in one call, soon after the first one, or at the end
  /// of the batch. Then they go on. On a GPU, in run and mega, lanes that are no processes wait until every lane has stopped.
  SyscallHandler on_syscall = {};
};

/// The result of one call of run() or start().
struct RunResult {
  uint64_t instructions = 0;  ///< retired in this call, over all lanes
  uint64_t batches = 0;       ///< by the host or the device; in run and mega one more for each call of on_syscall
  double seconds = 0;
  uint64_t stopped = 0;     ///< lanes that have a stop now
  uint64_t lanes_left = 0;  ///< lanes that go on in the next run
  /// Lanes that took part. 0: every lane had a stop that a run leaves alone, and nothing was done; Fleet::resume()
  /// takes stops away.
  uint64_t lanes_run = 0;
  bool timed_out = false;
  /// As in BatchReport, of the whole call; served system calls do not count. checkpoint if it timed out.
  std::array<uint64_t, kStopReasons> stops{};
  Signal signal = Signal::running;
};

/// What Engine::translate has done for a fleet since it was made.
struct TranslationReport {
  /// Code that stays interpreted.
  struct Refusal {
    uint64_t pc = 0;  ///< address of the instruction at which a region would have begun
    std::string why;  ///< part of a sentence
  };
  uint64_t copied = 0;               ///< pieces of guest code of which machine code was copied together
  uint64_t copied_instructions = 0;  ///< guest instructions in them
  uint64_t regions = 0;              ///< pieces of guest code that were compiled
  uint64_t cached = 0;               ///< of them: whose machine code came from the cache on disk
  uint64_t instructions = 0;         ///< guest instructions in them
  double seconds = 0;                ///< of processor time that both took
  /// Instructions that lanes have retired in runs with Engine::translate: by interpretation, and in translated code.
  uint64_t interpreted = 0, translated = 0;
  uint64_t translated_by_copying = 0;  ///< of `translated`: in code that was copied together; the rest was compiled
  /// On a GPU: how often teams have gone into compiled code, and how many of their lanes went together, summed.
  uint64_t visits = 0, lanes_in_visits = 0;
  uint64_t refused = 0;           ///< regions that could not be translated
  std::vector<Refusal> refusals;  ///< the first 100 of them
  /// Why nothing is compiled, as part of a sentence. Empty if it is, or if no code was hot yet.
  std::string unavailable;
  /// What of the cache on disk was ignored, and why: one sentence. Empty: nothing was.
  std::string cache_warning;
};

/// How far a run in progress is, or how the last one ended.
struct Poll {
  bool running = false;
  uint64_t instructions = 0;        ///< retired so far in this run, over all lanes; while it runs, at least this many
  uint64_t lanes_running = 0;       ///< lanes without a stop
  double seconds = 0;               ///< from the start of the run until now, or until its end
  Signal signal = Signal::running;  ///< RunResult::signal when the run has ended
};

}  // namespace myriarm
