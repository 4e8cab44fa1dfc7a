// SPDX-License-Identifier: Apache-2.0
// Programs as Linux processes: what a program must say so that the lanes that run it make system calls, and what the host
// does for them. The library serves most calls where the lane runs; src/kernel/syscalls.inc says which. LinuxFleet
// (myriarm/linux.h) makes all of this from an ELF file; few programs need this header.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "myriarm/file_tree.h"

namespace myriarm {

/// What makes a Program a process. All of it lies in the fleet's window.
struct ProcessStart {
  uint64_t break_start = 0;  ///< the first break; pages above it are the heap's
  uint64_t heap_limit = 0;   ///< mappings and the heap end here
  uint64_t stack_bytes = 0;  ///< RLIMIT_STACK
  std::string path;          ///< of the program's file, in the guest; at most 255 bytes
  /// Address of code that makes the call rt_sigreturn (Linux has it in its vDSO): handlers of signals return there whose
  /// sigaction() names no restorer. 0: there is none, and they fault.
  uint64_t signal_return = 0;
  /// The most bytes that a process's own files may take with what is needed to keep them, in pages of its lane; a write beyond
  /// them fails with ENOSPC. 0: it can write none. Only for processes with a root.
  uint64_t file_bytes = 0;
  uint32_t working_folder = 0;           ///< where it begins: a file of the root
  uint64_t window_begin = ~uint64_t{0};  ///< the window begins here if no segment of the fleet's programs is lower
};

/// What the process of one lane is given. The bytes must stay as they are until the fleet is told of a change:
/// Fleet::process_inputs_changed().
struct GivenInput {
  uint64_t number = 0;  ///< of the lane, or of the input that it works on: its random bytes depend on it
  std::span<const uint8_t> standard_input;
  std::span<const uint8_t> file;
  uint64_t output_limit = 0;  ///< bytes of each output stream; a write beyond them fails with ENOSPC
  bool has_file = false;      ///< the process can open `file` as /input
  bool traced = false;        ///< ProcessHost::before() and after() get each of its calls
  bool host_writes = false;   ///< ProcessHost::put_out() may block, and give all of the results of PutOut
};

/// A system call that the host looks at. It may be used only during the call of ProcessHost that it was passed to, from
/// the same thread.
class HostedCall {
 public:
  uint32_t lane = 0;
  uint32_t number = 0;         ///< w8
  uint64_t input = 0;          ///< GivenInput::number
  uint64_t arguments[6] = {};  ///< x0 to x5
  uint64_t pc = 0;             ///< address of the SVC

  /// Copies guest memory that the guest may read, up to the first byte that it may not. Returns how many bytes.
  virtual size_t read(uint64_t address, std::span<uint8_t> bytes) = 0;

 protected:
  ~HostedCall() = default;
};

/// A signal that takes effect on the process of a traced lane: its handler is to run, or it ends the process.
struct HostedSignal {
  uint32_t lane = 0;
  uint64_t input = 0;            ///< GivenInput::number
  uint64_t information[6] = {};  ///< the first 48 bytes of its siginfo_t
  bool ends = false;             ///< the process ends by it
};

/// What became of bytes that a process has written.
struct PutOut {
  enum class Kind : uint8_t {
    taken,        ///< all of them
    refused,      ///< there is no room for more
    closed,       ///< nobody reads the stream any more
    interrupted,  ///< the run is cancelled
  };
  Kind kind = Kind::taken;
  uint64_t size = 0;  ///< how many were taken
};

/// What the host does for the processes of a fleet. Runs call it from several threads at a time, but for one lane from one
/// thread at a time. No function may use the fleet, or throw.
class ProcessHost {
 public:
  virtual ~ProcessHost() = default;

  virtual GivenInput input(uint32_t lane) const = 0;
  /// The root of all processes, as long as they run; null: there is none. A GPU copies what it says of its files when the
  /// fleet is made, and what a file contains when a lane first needs it.
  virtual const FileTree* root() const { return nullptr; }
  /// Keeps or passes on what a lane has written to stream 1 or 2, from `position` on; what was kept behind it is dropped.
  virtual PutOut put_out(uint32_t lane, unsigned stream, uint64_t position, std::span<const uint8_t> bytes) = 0;
  /// A call, or a form of one, that the library lacks; it returns ENOSYS.
  virtual void unimplemented(HostedCall& call) = 0;
  /// Whether unimplemented() must be told of each such call. If not, one whose number it was told of for the same input, or
  /// one with a lower number, may only be counted, which is faster on a GPU.
  virtual bool wants_each_unimplemented() const { return true; }
  /// So many further calls of that number.
  virtual void unimplemented_again(uint32_t number, uint64_t count) {
    (void)number;
    (void)count;
  }
  /// A call of a traced lane, before and after it is served. `result`: x0; none if the process has ended.
  virtual void before(HostedCall& call) = 0;
  virtual void after(HostedCall& call, const int64_t* result) = 0;
  virtual void signalled(const HostedSignal& signal) { (void)signal; }
  /// Snapshots keep what the host keeps of lanes (none: of all), under the numbers that the fleet gives them. Lane to[i]
  /// becomes what lane from[i] was; with no lanes, each lane of the snapshot becomes what it was itself.
  virtual void saved(uint64_t snapshot, std::span<const uint32_t> lanes) = 0;
  virtual void restored(uint64_t snapshot, std::span<const uint32_t> from, std::span<const uint32_t> to) = 0;
  virtual void dropped(uint64_t snapshot) = 0;
  /// Whether a BRK stops a lane whatever its process has for SIGTRAP: for hosts that put BRKs into programs. Only on the CPU.
  virtual bool keeps_breakpoints() const { return false; }
};

/// For all processes of a fleet.
struct ProcessOptions {
  std::shared_ptr<ProcessHost> host;  ///< null: the programs of the fleet are no processes
  uint64_t seed = 0;                  ///< random bytes depend only on it, GivenInput::number and position
  /// Lanes that have exited keep their memory. If false, they give it back at once, as Fleet::release_memory() does.
  bool keep_memory = false;
  /// The files that lanes which have exited have left are kept, for Fleet::collect().
  bool keep_files = false;
};

}  // namespace myriarm
