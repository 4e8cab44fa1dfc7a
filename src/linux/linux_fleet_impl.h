// SPDX-License-Identifier: Apache-2.0
// What a LinuxFleet is made of: a fleet, the processes of its lanes, and what they begin with. linux_fleet.cpp makes and
// restarts processes; linux_run.cpp runs them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "linux/common_part.h"
#include "linux/process_layout.h"
#include "linux/processes.h"
#include "myriarm/linux.h"

namespace myriarm {

struct LinuxFleet::Impl {
  /// What lanes that run the same program have in common.
  struct PlacedProcess {
    uint64_t lanes_end = 0;  ///< one more than the last of its lanes; they follow those of the program before it
    linux_process::StackFacts stack;
    uint64_t lane_bytes = 0;  ///< address of LaneBytes on the stack that the program has; 0: it has none
    std::vector<std::string> arguments, arguments_with_file;
  };
  /// A program, laid out, and what its lanes have.
  struct LaidOut {
    Placement placement;
    PlacedProcess process;
  };

  /// `common`: what the lanes begin with; null: the start of the program.
  Impl(std::vector<LaidOut>& programs, const FleetOptions& fleet_options, LinuxOptions& options,
       linux_process::CommonPart* common);

  std::shared_ptr<linux_process::Processes> make_processes(const std::vector<LaidOut>& programs, LinuxOptions& options,
                                                           linux_process::CommonPart* common) const;
  Fleet make_fleet(std::vector<LaidOut>& programs, FleetOptions made, linux_process::CommonPart* common) const;

  const PlacedProcess& placed_at(uint32_t lane) const;
  /// The stack of a process that has arguments or an environment of its own, or whose program has none; else nothing. Null:
  /// what all have. Throws ArgumentError if they are too large.
  std::optional<linux_process::InitialStack> whole_stack(const PlacedProcess& process,
                                                         const std::vector<std::string>* own_arguments,
                                                         const std::vector<std::string>* own_environment) const;
  /// whole_stack() of a process with these words of its own, or null, and with an input file or not.
  std::optional<linux_process::InitialStack> stack_of(uint32_t lane, const std::vector<std::string>* own_arguments,
                                                      const std::vector<std::string>* own_environment,
                                                      bool has_file) const;
  /// Writes what the stack of each lane has of its own: all of it, or LaneBytes, or after a common part their digits alone.
  /// `numbers`: see restart(); empty: those of the lanes. `stack_of(i)` gives the whole_stack() of lanes[i].
  template <class StackOf>
  void write_stacks(std::span<const uint32_t> lanes, std::span<const uint64_t> numbers, StackOf stack_of);

  void restart(std::span<const uint32_t> lanes, std::span<const uint64_t> numbers, std::span<ProcessInput> inputs);
  /// Puts these lanes back to their beginning with what restart(), or the constructor, has given them, and their limit. False:
  /// the pool has no room for them now, and they are in `without_room`.
  bool begin_again(std::span<const uint32_t> lanes);
  /// Gives lanes the memory and the registers that processes begin with. `tell_processes` tells `processes` what they are to
  /// work on, since a restore changes that. If the pool has no room for them they get no memory: see `without_room`.
  template <class TellProcesses, class StackOf>
  bool give_beginning(std::span<const uint32_t> lanes, std::span<const uint64_t> numbers, TellProcesses tell_processes,
                      StackOf stack_of);

  bool takes_inputs(bool as_file) const;
  void work_off(InputRun run, uint64_t instructions);

  class Run;
  RunResult run(const LinuxRunOptions& options);
  void sum_up(RunResult& total, const std::vector<uint32_t>& lanes) const;

  void cancel();
  /// To be called when a run begins. A cancel() that a run of the fleet alone has taken counts no longer, and one that was
  /// asked of the fleet alone does.
  void note_waiting_cancel();
  /// Whether cancel() was called since the last call of take_cancel().
  bool take_cancel();
  void check_lane(uint32_t lane) const;

  std::atomic<bool> cancelled = false;  ///< written with `mutex` held
  const uint64_t seed;
  const bool keep_memory, keep_files;
  const std::shared_ptr<const FileTree> root;  ///< null: the processes have none
  const bool forked;                           ///< the lanes begin after a common part
  const uint64_t lane_digits;                  ///< CommonPart::lane_digits
  const std::shared_ptr<linux_process::Processes> processes;
  Fleet fleet;
  std::vector<PlacedProcess> placed;  ///< in the order of their lanes
  const std::vector<std::string> environment;
  uint64_t lanes_left_out = 0;        ///< in the last round of run()
  std::optional<Snapshot> beginning;  ///< before anything was written to the stacks
  /// Lanes that were to begin, for which the pool had no room. They have no memory and the stop out_of_memory, and run() lets
  /// them begin when there is room.
  std::set<uint32_t> without_room;
  std::mutex mutex;
};

}  // namespace myriarm
