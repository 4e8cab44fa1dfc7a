// SPDX-License-Identifier: Apache-2.0
// Runs cases of a batch in QEMU's user mode, with one process for each batch: an oracle for instructions that neither
// fault nor leave their block. It does not count instructions, and the program that runs the cases (qemu_program.h)
// uses TPIDR_EL0.
#pragma once

#include <optional>
#include <string>

#include "exclusions.h"
#include "qemu_program.h"

namespace myriarm::differential {

class QemuEngine {
 public:
  /// `program`: qemu-aarch64, looked up in PATH if it has no slash.
  explicit QemuEngine(std::string program) : program_(std::move(program)) {}

  /// The version that `--version` prints; empty if the program does not start.
  std::optional<OracleVersion> version() const;
  /// Runs these cases, each to a HLT. Throws std::runtime_error if QEMU does not start.
  void run(const Batch& batch, std::span<const uint32_t> lanes);
  /// The state of case `index` of the last run, with the count and TPIDR_EL0 of `like`. Empty if QEMU was killed in
  /// that case, or was killed too often before to be started again.
  std::optional<State> state(const Batch& batch, size_t index, const State& like, bool memory = true) const;
  /// Whether memory is the same as `ours`, which has Layout::data_bytes. Only for a case that state() returns.
  bool memory_agrees(const Batch& batch, size_t index, const uint8_t* ours) const;
  /// How a process ended that did not run all its cases; empty if all did.
  const std::string& failure() const { return failure_; }

 private:
  struct Case {
    bool done = false;
    QemuRecord record;
    uint64_t end = 0;
    std::vector<uint8_t> memory;  ///< of the writable pages; empty if the case accesses none
  };
  void run_once(const Batch& batch, std::span<const uint32_t> lanes, size_t first);

  std::string program_;
  std::vector<Case> cases_;
  std::string failure_;
};

}  // namespace myriarm::differential
