// SPDX-License-Identifier: Apache-2.0
// Linux user programs in a fleet: the ELF loader, the first stack of a process, its inputs and its output. The
// fleet serves its system calls where the lane runs: myriarm/process.h.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "myriarm/byte_strings.h"
#include "myriarm/file_tree.h"
#include "myriarm/fleet.h"
#include "myriarm/inputs.h"
#include "myriarm/program.h"

namespace myriarm {

/// An executable ELF file: its Program, and what Linux tells the process about the file.
struct ElfImage {
  Program program;
  uint64_t program_headers = 0;  ///< address of the program headers in memory (AT_PHDR), 0 if not loaded
  uint16_t program_header_count = 0;
  uint64_t break_start = 0;       ///< first address after the image: where brk begins
  bool executable_stack = false;  ///< PT_GNU_STACK asks for it
  uint64_t bias = 0;              ///< what was added to the addresses of the file: not 0 if it is position-independent
  std::string path;               ///< of the file in the guest; empty: it is not in the root
  /// Of a dynamic program: the address that its loader was given (AT_BASE), and where the program itself begins (AT_ENTRY).
  /// Program::entry is that of the loader. 0: it has none.
  uint64_t interpreter_base = 0;
  uint64_t program_entry = 0;
};
/// Reads a static ELF64 little-endian AArch64 executable; a static-pie one goes to an address that myriarm chooses, and
/// relocates itself. Throws ArgumentError with one sentence for a file that is truncated, hostile, of another machine
/// or class, or dynamic.
ElfImage parse_elf(std::span<const uint8_t> file, const std::string& name);
ElfImage load_elf(const std::string& path);
/// The same for a file that may be dynamic: the loader that it names (PT_INTERP) is taken from `root` and loaded behind it, as
/// Linux does. Without a root (null) a dynamic program is refused.
ElfImage parse_elf(std::span<const uint8_t> file, const std::string& name, const FileTree* root);

/// A program that a root and a host have: its bytes, and what parse_elf() makes of them.
struct RootProgram {
  std::vector<uint8_t> file;
  ElfImage image;
  /// Of a script of the root: what takes the place of the first argument: its interpreter, that one's argument if it has one, and its
  /// path. The program is the interpreter then. Empty: it is no script.
  std::vector<std::string> script_arguments;
};
/// The program of this name, as a command line gives it: the file with this path in the root, or without a slash the first
/// of this name in the folders /usr/local/bin, /usr/bin, /bin, /usr/sbin and /sbin of the root; if the root has none, the
/// file with this path on the host. Throws ArgumentError if there is none, or parse_elf() refuses it.
RootProgram load_program(const FileTree& root, const std::string& name);

/// A section of an ELF file with instructions; views of the file's bytes.
struct ElfSection {
  std::string_view name;
  uint64_t address = 0;
  std::span<const uint8_t> bytes;
};
/// A name of an address; a view of the file's bytes.
struct ElfSymbol {
  std::string_view name;
  uint64_t address = 0;
  uint64_t size = 0;  ///< 0: not known
};
/// What the section headers of an ELF file name, each in rising order of address. Programs run without them: both are
/// empty if the file has none, and what does not lie inside the file is left out.
struct ElfNames {
  std::vector<ElfSection> code;
  std::vector<ElfSymbol> symbols;
};
/// `file`: a file that parse_elf() takes, which must live as long as the result. `bias`: that of its ElfImage.
ElfNames elf_names(std::span<const uint8_t> file, uint64_t bias = 0);

/// The path of the file that LinuxOptions::files gives a lane.
constexpr char kInputFile[] = "/input";
/// What stands for that path in arguments.
constexpr char kInputFileMark[] = "@@";

/// Where the lanes of a LinuxFleet part. One lane on the CPU runs the program up to there, and all lanes begin with what it
/// has left: registers, memory, counts, descriptors, what it has written.
struct ForkPoint {
  enum class Kind : uint8_t {
    start,    ///< each lane runs the program from its start
    read,     ///< before the first system call whose result depends on the input of a lane
    address,  ///< before the instruction at `address` is executed for the first time
  };
  Kind kind = Kind::start;
  uint64_t address = 0;
  std::string name;  ///< of the address, for messages; may be empty
};
/// The point that a text names: "start", "read", an address as 0x4005d8, or a symbol of the program. `file`: see
/// elf_names(). Throws ArgumentError for a symbol that the file does not have, or that names several addresses.
ForkPoint fork_point(const std::string& text, std::span<const uint8_t> file, const ElfImage& image);

struct LinuxOptions {
  std::vector<std::string> arguments;    ///< argv of every lane; argv[0] is the program
  std::vector<std::string> environment;  ///< "NAME=value"; MYRIARM_LANE=<lane> is added
  std::vector<uint8_t> standard_input;   ///< what every lane reads from file descriptor 0

  // What lanes have of their own, in place of what is above: nothing, or as many elements as there are lanes. The
  // constructor of LinuxFleet throws ArgumentError for any other number, and if both are given.
  std::vector<std::vector<std::string>> lane_arguments;
  std::vector<std::vector<std::string>> lane_environments;
  ByteStrings standard_inputs;
  /// If there are any, a lane can open its string as the read-only file kInputFile, and kInputFileMark in arguments
  /// becomes that path.
  ByteStrings files;
  /// What all lanes have as `/`. Null: nothing but the file above.
  std::shared_ptr<const FileTree> root = {};
  /// With a root: the most bytes that the files which a lane writes may take, in its memory; a write beyond them fails with
  /// ENOSPC. They are pages of the lane: the pool counts them, and snapshots, forks and restart() treat them as its memory.
  /// A lane that writes no file has none. 0: the root is read-only, and a write fails with EROFS. At most 64 GiB.
  uint64_t file_bytes = uint64_t{64} << 20;
  /// The folder in which processes begin, a path in the root; empty: `/`. The constructor throws ArgumentError if it is not
  /// there.
  std::string working_folder = {};
  /// collect() can be called for lanes that have exited: they keep the files that they have written; on a GPU all their memory.
  bool keep_files = false;
  /// Paths of the root: what a queue takes out of each process at its end, into QueueResult::files. Implies keep_files.
  std::vector<std::string> collect = {};

  uint64_t seed = 0;  ///< random bytes (getrandom, AT_RANDOM) depend only on it, lane and position
  /// Writes lane 0's output to that of this process at once, and keeps none. cancel() ends a write that waits for a
  /// reader. If the reader of a pipe has gone, the guest gets SIGPIPE; so does this process, unless it ignores SIGPIPE.
  bool pass_output = false;
  /// Bytes of output kept over all lanes. Each lane has an equal share, at least 64 KiB, for its standard output and as
  /// much for its standard error; a write beyond that fails with ENOSPC.
  uint64_t output_limit = uint64_t{1} << 30;
  /// Lanes that have exited keep their memory, for Fleet::read() for example. If false, they give it back at once
  /// (Fleet::release_memory()), and lanes that have not begun yet can use it.
  bool keep_memory = false;
  /// If set, called with each system call of the lanes in `traced_lanes` (empty: of all lanes) when it has been served, as
  /// strace(1) prints it: `write(1, "hello\n", 6) = 6`. `number`: of the lane, or if `restartable`, as in a queue, of its
  /// input, and then `traced_lanes` are numbers of inputs. The threads of the run call it, one at a time; of the fleet it may
  /// only call cancel() and unimplemented().
  std::function<void(uint64_t number, std::string_view call)> on_call = {};
  std::vector<uint32_t> traced_lanes = {};
  /// LinuxFleet::restart() can be called: the fleet keeps a snapshot of its beginning.
  bool restartable = false;
  /// The constructor of LinuxFleet runs the part of the program before this point. It throws ArgumentError if the process
  /// does not come to the point, or asks for input before; and if lanes have arguments or an environment of their own,
  /// which they no longer can. Without input files of lanes, kInputFileMark becomes the path if the fleet is restartable.
  /// Counts and limits of lanes include that part, RunResult does not. Of MYRIARM_LANE, AT_RANDOM and random bytes it gets
  /// those of lane 0; afterwards MYRIARM_LANE is each lane's own, and so are further random bytes. on_call gets its calls
  /// as those of lane 0, if any lane is traced.
  ForkPoint fork_after = {};
  /// The most instructions of that part.
  uint64_t fork_limit = 10'000'000'000;
};

/// Stop::detail of a lane that exited is its exit status, 0 to 255, or the sum of this and the number of the signal
/// that ended the first process, as that of abort() does.
constexpr uint32_t kKilledStatus = 0x100;

/// How one lane ended.
struct LaneOutcome {
  Stop stop;             ///< reason exited: detail is the exit status; see kKilledStatus
  int exit_status = -1;  ///< 0 to 255 if it exited, else -1
  /// The signal that ended it: SIGSEGV, SIGBUS, SIGILL or SIGTRAP for a fault, as Linux would have sent, or the one
  /// that the process sent itself; 0 for none.
  int signal = 0;
};
/// The outcome of a lane with this stop.
LaneOutcome lane_outcome(const Stop& stop);
/// The signal with which Linux would end a process that stopped in this way; 0 for none.
int linux_signal(const Stop& stop);

/// The first call of a system call that is not implemented.
struct UnimplementedCall {
  uint64_t count = 0;  ///< how often it was called
  uint32_t lane = 0;
  uint64_t pc = 0;   ///< address of the SVC
  std::string text;  ///< the call, as LinuxOptions::on_call gets it
};

/// What one process gets of its own, in place of what LinuxOptions gives all.
struct ProcessInput {
  std::optional<std::vector<std::string>> arguments;  ///< argv
  std::optional<std::vector<std::string>> environment;
  std::optional<std::vector<uint8_t>> standard_input;
  std::optional<std::vector<uint8_t>> file;  ///< as LinuxOptions::files
};

struct LinuxProgress {
  uint64_t lanes_done = 0;
  uint64_t instructions = 0;
  double seconds = 0;
};

/// How LinuxFleet::run() goes.
struct LinuxRunOptions {
  /// Called from the thread of run(), every `progress_seconds` while lanes run and between two rounds of them.
  std::function<void(const LinuxProgress&)> progress = {};
  double progress_seconds = 0.25;
  /// The engine of this run; without a value, FleetOptions::engine.
  std::optional<Engine> engine = {};
  /// Called from the thread of run() between two rounds of the lanes, and at the beginning, with the lanes that have ended
  /// since, if any. It may read these lanes, and restart() them and others that have ended; the lanes that it returns take
  /// part from then on. The run ends when no lane is left.
  std::function<std::vector<uint32_t>(std::span<const uint32_t> lanes)> on_ended = {};
  /// The result of each process is to be the one that it has alone: StopReason::out_of_memory only if the pool is too small
  /// for it alone, whatever other lanes need. When processes starve together, some of them, at most half, go on, and the
  /// others give their memory up and begin again later. What a process has passed on, and on_call was told of it, is not
  /// repeated; RunResult::instructions counts what was retired, so it then counts some twice. A lane that has ended,
  /// however that was, gives its memory back unless keep_memory is set, and cannot go on in a later run. Needs
  /// LinuxOptions::restartable; lanes must be as the constructor or restart() made them, apart from Field::limit, or have
  /// gone on from there.
  bool as_if_alone = false;
};

/// A program of a LinuxFleet that has several, and how many lanes run it.
struct LinuxPlacement {
  ElfImage image;
  uint64_t lanes = 1;                       ///< see Placement::lanes
  std::vector<std::string> arguments = {};  ///< argv of its lanes, if LinuxOptions has none
};

class LinuxFleet {
 public:
  /// Lays out stack and heap of every lane in a new fleet. Throws ArgumentError or DeviceError.
  LinuxFleet(const ElfImage& image, const FleetOptions& fleet, LinuxOptions options);
  /// Several programs in one window, which begins at the lowest page of all. The lanes of a program are numbered after those
  /// of the program before it, and what LinuxOptions gives each lane is for all of them. With several programs fork_after
  /// must be the start.
  LinuxFleet(std::span<const LinuxPlacement> programs, const FleetOptions& fleet, LinuxOptions options);
  ~LinuxFleet();

  /// It can run the processes itself, in every mode and with every option: their calls are served within its runs, and
  /// all lanes begin at once. A run() of this object is ended by cancel() of this object, not by that of the fleet.
  Fleet& fleet();
  /// Runs and serves system calls until every lane has ended, is at its limit, or cancel() was called. Lanes that
  /// an earlier run() left at their limit, cancelled or out of memory go on. `progress` is called some times a
  /// second from this thread. On the CPU processes begin one after the other, as others exit and give their memory back;
  /// one that finds no memory waits for that. If none that runs is left to exit, all that wait stop with
  /// StopReason::out_of_memory: lanes keep their state, so their memory is needed at the same time, and they can go on in
  /// a larger pool. LinuxRunOptions::as_if_alone lets them take turns.
  RunResult run(const std::function<void(const LinuxProgress&)>& progress = {});
  RunResult run(const LinuxRunOptions& options);
  /// Puts these lanes back to their beginning, with an input each. Lane lanes[i] then is as lane numbers[i] of a new fleet
  /// would be: in MYRIARM_LANE, and for its random bytes. What an input does not have is that of LinuxOptions. Throws
  /// ArgumentError for a lane that is twice in the list, or arguments that are too large; StateError without
  /// LinuxOptions::restartable.
  void restart(std::span<const uint32_t> lanes, std::span<const uint64_t> numbers, std::span<ProcessInput> inputs);
  /// Lanes that did not go on in the last round of run(), since it was the turn of others.
  uint64_t lanes_left_out() const;
  /// Whether work_off() can be called for such inputs: they need nothing but their bytes, and no call is watched.
  bool takes_inputs(bool as_file) const;
  /// Fleet::work_off() for these processes, each of which may retire that many instructions. Of `run` only the functions are
  /// used. Throws StateError unless takes_inputs().
  void work_off(InputRun run, uint64_t instructions);
  /// Ends a run in another thread, of this object or of fleet(); if there is none, the next run ends at once. Lanes that had
  /// not ended stop with StopReason::cancelled.
  void cancel();
  /// Whether cancel() was called and has not ended a run() yet.
  bool is_cancelled() const;

  /// Of one lane; throws ArgumentError if there is no such lane.
  LaneOutcome outcome(uint32_t lane) const;
  /// What the lane has written so far, valid until the next run().
  std::span<const uint8_t> standard_output(uint32_t lane) const;
  std::span<const uint8_t> standard_error(uint32_t lane) const;
  /// What a lane has at a path of its root, as it has left it: a file, or a folder and all that is in it, each folder before
  /// what is in it. A file for whose bytes there is no room in `most_bytes` for all, comes without. Empty: there is nothing
  /// at this path. Of a lane that has exited it needs LinuxOptions::keep_files. Throws ArgumentError if there is no such
  /// lane, and StateError without a root.
  std::vector<CollectedFile> collect(uint32_t lane, const std::string& path,
                                     uint64_t most_bytes = uint64_t{1} << 30) const;
  /// The system calls that returned ENOSYS because the library lacks them, by name.
  std::map<std::string, UnimplementedCall> unimplemented() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace myriarm
