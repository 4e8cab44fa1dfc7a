// SPDX-License-Identifier: Apache-2.0
// Answers the system calls of all stopped lanes in one batch: it gathers each register once for all lanes, and reads
// and writes guest memory in few large transfers, whatever the number of lanes.
// Each subject has a file: syscall_memory.cpp, syscall_io.cpp (reading and writing), syscall_files.cpp (other calls on
// descriptors), syscall_time.cpp, syscall_signals.cpp, syscall_poll.cpp,
// syscall_identity.cpp, syscall_misc.cpp.
// A handler gets all calls of its kind at once and sets a result in each; it queues what it writes to guest memory.
// Results are those of Linux on AArch64; an error is -errno.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "linux/address_space_set.h"
#include "linux/output_buffer.h"
#include "linux/process_layout.h"
#include "linux/syscall_text.h"
#include "myriarm/linux.h"

namespace myriarm::linux_process {

class SyscallServer {
 public:
  /// `cancelled` says whether a write to a stream of the host that cannot take more is to be given up.
  /// Takes the inputs out of `options`.
  SyscallServer(Fleet& fleet, const ProcessLayout& layout, LinuxOptions& options, const std::atomic<bool>& cancelled);

  /// Makes the process of a lane one that has not begun. Takes standard input and file out of `input`.
  void restart(uint32_t lane, uint64_t number, ProcessInput& input);

  /// What became of lanes whose calls were served.
  struct Served {
    std::vector<uint32_t> resumed, exited, starved;  ///< by the stop that the lane has now
    uint64_t taken_back = 0;                         ///< calls that were cancelled before they did anything
  };
  /// Serves these lanes, each of which has stopped at an SVC. Afterwards a lane has been resumed, or has the stop
  /// `exited`, or `out_of_memory` if its result could not be stored, or `cancelled`: then it is before its SVC again,
  /// which has not retired.
  Served serve(std::span<const uint32_t> lanes);
  /// Repeats the stores that found the pool spent, and resumes no lane. The lanes for which they fail again have
  /// StopReason::out_of_memory afterwards, even if somebody has resumed them.
  void retry_stores();
  bool has_pending_store(uint32_t lane) const { return pending_.count(lane) != 0; }

  std::span<const uint8_t> output(uint32_t lane, unsigned stream) const { return lanes_[lane].output[stream].bytes(); }
  const std::map<std::string, UnimplementedCall>& unimplemented_calls() const { return unimplemented_; }

 private:
  static constexpr size_t kArguments = 6, kFirstArguments = 3;
  static constexpr uint64_t kAddressLimit = uint64_t{1} << 48;
  static constexpr uint64_t kMostFiles = 1024;  // RLIMIT_NOFILE
  static constexpr size_t kNameBytes = 16;      // of a thread's name, with the NUL
  static constexpr int kFirstOpening = 3;
  static constexpr uint64_t kClosed = ~uint64_t{0};
  using Space = AddressSpaceSet::Shared;
  /// What a process has set up for signals. Bit n - 1 of a mask is signal n.
  struct Signals {
    uint64_t blocked = 0, pending = 0;
    /// By signal, the kernel's struct sigaction: handler, flags, restorer, mask.
    std::map<uint64_t, std::array<uint64_t, 4>> actions;
  };
  /// What a process was given by restart().
  struct OwnInput {
    std::optional<std::vector<uint8_t>> standard_input, file;
  };
  struct Lane {
    Space space;
    uint64_t number = 0;              // of the lane, or of the input that it works on
    std::unique_ptr<OwnInput> input;  // null: what the options give
    uint64_t input_position = 0;
    uint64_t random_position = kRandomBytes;  // AT_RANDOM has taken the first bytes
    uint64_t slept = 0;                       // nanoseconds that its clocks are ahead of its instruction count
    std::array<OutputBuffer, 2> output;       // standard output, standard error
    /// By descriptor: the standard stream behind it, kFirstOpening + index in `openings`, or -1.
    std::vector<int16_t> files = {0, 1, 2};
    /// Positions in the input file, one for each open() of it, or kClosed. Copies of a descriptor share theirs.
    std::vector<uint64_t> openings;
    std::unique_ptr<Signals> signals;      // null: as when the process started
    uint16_t mode_mask = 022;              // umask()
    std::array<uint8_t, kNameBytes> name;  // of its thread
  };
  struct Call {
    uint32_t lane = 0;
    uint32_t number = 0;
    std::array<uint64_t, kArguments> arguments = {};  // arguments[3] and later only after gather_more_arguments()
    uint64_t instructions = 0;
    int64_t result = 0;
    bool ended = false;
    bool taken_back = false;  ///< the call has done nothing, and its lane is to make it again
    uint32_t status = 0;      ///< of a lane that has ended, as Stop::detail gives it
  };
  /// Calls with the same arguments, of lanes whose address spaces are equal.
  struct MemoryChange {
    std::array<uint64_t, kArguments> arguments;
    std::vector<uint32_t> lanes;
    AddressSpace& space;  ///< before the call; the handler changes it
  };
  using Calls = std::span<Call* const>;
  using Handler = void (SyscallServer::*)(Calls);
  struct Row {
    const char* name;
    Handler handler;
    const char* signature;
  };
  /// A buffer that a call reads into or writes from. In a list, the pieces of one call are neighbours.
  struct Piece {
    Call* call;
    uint64_t address;
    uint64_t size;
  };
  struct Store {
    uint64_t address;
    std::vector<uint8_t> bytes;
  };

  /// What can be found by a path.
  enum class Place { root, input_file, nowhere, error };
  struct FileStatus {
    uint32_t number, mode;
    uint64_t size;
    bool is_folder() const { return mode >> 12 == 4; }
  };
  static constexpr FileStatus kRootStatus = {5, 0040555, 0};

  static const std::map<uint32_t, Row>& rows();

  void begin(uint32_t lane, uint64_t number);

  // Handlers, named in syscalls.inc.
  void unimplemented(Calls calls);
  void brk(Calls calls);
  void read(Calls calls);
  void readv(Calls calls);
  void write(Calls calls);
  void writev(Calls calls);
  void exit(Calls calls);
  void clock_gettime(Calls calls);
  void clock_getres(Calls calls);
  void gettimeofday(Calls calls);
  void getrandom(Calls calls);
  void uname(Calls calls);
  void mmap(Calls calls);
  void munmap(Calls calls);
  void mprotect(Calls calls);
  void mremap(Calls calls);
  void madvise(Calls calls);
  void ioctl(Calls calls);
  void openat(Calls calls);
  void faccessat(Calls calls);
  void pread64(Calls calls);
  void close(Calls calls);
  void dup(Calls calls);
  void dup3(Calls calls);
  void fcntl(Calls calls);
  void lseek(Calls calls);
  void fstat(Calls calls);
  void newfstatat(Calls calls);
  void readlinkat(Calls calls);
  void nanosleep(Calls calls);
  void clock_nanosleep(Calls calls);
  void getrusage(Calls calls);
  void futex(Calls calls);
  void rt_sigaction(Calls calls);
  void rt_sigprocmask(Calls calls);
  void rt_sigpending(Calls calls);
  void kill(Calls calls);
  void tkill(Calls calls);
  void tgkill(Calls calls);
  void getrlimit(Calls calls);
  void prlimit64(Calls calls);
  void sched_getaffinity(Calls calls);
  void sysinfo(Calls calls);
  void set_robust_list(Calls calls);
  void process_id(Calls calls);
  void parent_id(Calls calls);
  void user_id(Calls calls);
  void group_id(Calls calls);
  void setpgid(Calls calls);
  void setsid(Calls calls);
  void set_id(Calls calls);
  void set_ids(Calls calls);
  void get_ids(Calls calls);
  void getgroups(Calls calls);
  void umask(Calls calls);
  void getcwd(Calls calls);
  void prctl(Calls calls);
  void ppoll(Calls calls);
  void pselect6(Calls calls);
  void zero(Calls calls);
  void not_offered(Calls calls);

  // Memory.
  /// Calls `handler` once for each group of calls that are alike; it returns their result, and a DeviceError from it
  /// becomes ENOMEM. `count`: how many arguments the call has.
  void change_memory(Calls calls, size_t count, const std::function<int64_t(MemoryChange&)>& handler);
  void place_pages(MemoryChange& change, uint64_t begin, uint64_t end, uint32_t permissions, bool anonymous = true);
  /// mmap of the input file. arguments[4] of each call is the size of its lane's file.
  void map_files(Calls calls);
  /// Where a new mapping of `size` bytes goes, or an error. Frees the place if the call demands it.
  int64_t find_mapping(MemoryChange& change, uint64_t size);
  void remove_pages(MemoryChange& change, uint64_t begin, uint64_t end);
  void move_pages(MemoryChange& change, uint64_t from, uint64_t to, uint64_t size);

  // Descriptors, time, signals.
  /// What is behind a descriptor of the call's lane: the standard streams 0, 1 and 2; from kFirstOpening on an opening
  /// of its input file; -1 if the descriptor is not open.
  int stream_of(const Call& call, uint64_t descriptor) const;
  /// Returns the calls whose first argument is a descriptor of a stream that `good` accepts. Others fail with EBADF.
  std::vector<Call*> with_stream(Calls calls, bool (*good)(int stream)) const;
  int64_t add_file(Call& call, int stream, uint64_t lowest);
  static void forget_opening(Lane& lane, int stream);
  /// What the lane reads from descriptor 0.
  std::span<const uint8_t> standard_input(uint32_t lane) const;
  std::span<const uint8_t> input_file(uint32_t lane) const;
  bool has_input_file(uint32_t lane) const;
  Place find_place(Call& call, const std::string& path) const;
  /// Calls `use` with the path that an argument of each call points to. A call without a valid path fails as on Linux.
  void with_paths(Calls calls, unsigned argument, const std::function<void(Call&, const std::string& path)>& use);
  void set_name(Call& call);
  uint32_t events_of(const Call& call, uint64_t descriptor) const;
  int64_t wait_in_vain(Call& call, unsigned timeout);
  std::vector<Call*> with_valid_timeout(Calls calls, unsigned timeout);
  void poll_files(Call& call, uint64_t count);
  void select_files(Call& call, uint64_t count);
  FileStatus status_of(const Call& call, int stream) const;
  FileStatus status_of_input(const Call& call) const;
  int64_t store_status(Call& call, const FileStatus& file, uint64_t address);
  uint64_t nanoseconds(const Call& call) const;
  void sleep(Calls calls, unsigned request, bool absolute_allowed);
  void raise(Call& call, uint64_t number);
  Signals& signals_of(const Call& call);
  int64_t resource_limits(Call& call, uint64_t resource, uint64_t address);

  // Input and output, in pieces.
  std::vector<Piece> single_pieces(Calls calls) const;
  std::vector<Piece> vector_pieces(Calls calls);
  void put_out(std::span<const Piece> pieces);
  void take_in(std::span<const Piece> pieces);
  /// Takes what `piece` asks for from `source` at `position`. Returns how much it was; `bad` if the guest may not write
  /// all of it to its memory.
  uint64_t take_piece(const Piece& piece, std::span<const uint8_t> source, uint64_t position, bool& bad);
  /// The result of a call that writes these pieces to a stream of the host.
  int64_t pass_on(Call& call, std::span<const Piece> pieces);
  /// Writes until all is written, the host refuses, which sets `error`, or the run is cancelled. Returns how much was
  /// written.
  size_t write_to_host(int stream, std::span<const uint8_t> bytes, int& error) const;

  // Text, for the user.
  CallText text_of(const Call& call) const;
  std::vector<Call*> traced_calls(std::vector<Call>& calls) const;
  std::vector<CallText> begin_traces(Calls calls) const;
  void end_traces(Calls calls, std::span<const CallText> texts) const;

  /// Puts the lane of a call back before its SVC.
  void take_back(const Call& call);

  // Guest memory.
  /// Reads the arguments in x3 to x5, which few calls have.
  void gather_more_arguments(Calls calls) const;
  /// Calls `use` with the structure that an argument of each call points to. A call whose structure cannot be read
  /// fails with EFAULT; returns the other calls.
  std::vector<Call*> fetch_structures(Calls calls, unsigned argument, uint32_t size,
                                      const std::function<void(Call&, std::span<const uint8_t>)>& use);
  uint64_t accessible(uint32_t lane, uint64_t address, uint64_t size, uint32_t permission) const;
  void fetch(std::vector<Transfer>& transfers,
             const std::function<void(size_t index, std::span<const uint8_t> bytes)>& use) const;
  /// Returns false, and stores nothing, if the guest may not write all of these bytes at `address`.
  bool store_all(Call& call, uint64_t address, std::span<const uint8_t> bytes);
  void queue_store(uint32_t lane, uint64_t address, std::span<const uint8_t> bytes);
  void flush_stores();

  Fleet& fleet_;
  const uint64_t window_begin_, window_end_;
  const uint64_t break_start_;
  const uint64_t heap_limit_;  ///< mappings and the heap end here, below the stack's guard page
  const uint64_t stack_bytes_;
  const std::string program_file_;
  const std::vector<uint8_t> input_;
  const ByteStrings inputs_, files_;  ///< of each lane, or empty
  const uint64_t seed_;
  const bool pass_output_;
  const std::atomic<bool>& cancelled_;
  uint64_t output_share_;
  const std::function<void(uint32_t, std::string_view)> on_call_;
  const std::vector<uint32_t> traced_lanes_;  ///< in rising order; empty: all, if there is on_call_
  Space first_space_;
  std::array<uint8_t, kNameBytes> first_name_ = {};
  std::vector<Lane> lanes_;
  AddressSpaceSet spaces_;
  std::map<std::string, UnimplementedCall> unimplemented_;
  std::vector<Transfer> store_transfers_;
  std::vector<uint8_t> store_bytes_;
  uint64_t stored_begin_ = 0, stored_end_ = 0;      // bounds of the queued stores of the last store's lane
  std::map<uint32_t, std::vector<Store>> pending_;  // by lane: stores that wait for a larger pool
};

}  // namespace myriarm::linux_process
