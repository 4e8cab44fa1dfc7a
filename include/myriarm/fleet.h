// SPDX-License-Identifier: Apache-2.0
// A fleet: N isolated copies ("lanes") of one program on one device. Every call works on many lanes at once, because on
// a GPU a call costs as much for one lane as for thousands. A single lane is a fleet of 1.
// One thread uses a fleet; cancel(), poll(), poll_lanes(), translation() and is_running() may be called from any. While
// a run is in progress, only these and wait() may be called; every other call throws StateError.
// A child of fork() can make fleets on the CPU. Fleets that it inherits belong to its parent: see Fleet::inherited().
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "myriarm/error.h"
#include "myriarm/guest_thread.h"
#include "myriarm/inputs.h"
#include "myriarm/process.h"
#include "myriarm/program.h"
#include "myriarm/run.h"
#include "myriarm/snapshot.h"
#include "myriarm/stop.h"

namespace myriarm {

/// A piece of lane state. Its values are uint64_t, whatever the width of the register.
enum class Field : uint8_t {
  x0 = 0,  ///< x0 to x30 are 0 to 30
  x30 = 30,
  sp = 31,
  pc,
  nzcv,   ///< N in bit 3, Z 2, C 1, V 0
  tpidr,  ///< TPIDR_EL0
  fpcr,
  fpsr,
  instructions,  ///< retired so far; exact on every engine
  limit,         ///< the lane stops with StopReason::budget when `instructions` reaches this
  v0_low,        ///< lower halves of v0 to v31; see v_low
  v0_high = v0_low + 32,
  count = v0_high + 32,
};
/// Field of general register n (0 to 30), and of the halves of SIMD&FP register n (0 to 31).
constexpr Field x(unsigned n) { return static_cast<Field>(n); }
constexpr Field v_low(unsigned n) { return static_cast<Field>(static_cast<unsigned>(Field::v0_low) + n); }
constexpr Field v_high(unsigned n) { return static_cast<Field>(static_cast<unsigned>(Field::v0_high) + n); }

/// The kind of device that runs a fleet, or whose memory an array is in.
enum class DeviceKind : uint8_t {
  cpu,   ///< the host's processor and memory
  cuda,  ///< a GPU under CUDA
};
inline constexpr DeviceKind kDeviceKinds[] = {DeviceKind::cpu, DeviceKind::cuda};  ///< all of them
/// Lower-case name, as in Device::id: "cpu", "cuda".
const char* name(DeviceKind kind);

/// One device that programs can run on.
struct Device {
  std::string id;             ///< "cpu", "cuda:0", ...: what FleetOptions::device takes
  std::string name;           ///< the product's name
  uint64_t memory_bytes = 0;  ///< bytes that a new fleet could use now
  uint32_t units = 0;         ///< CPU threads, or streaming multiprocessors
  DeviceKind kind = DeviceKind::cpu;
  uint32_t ordinal = 0;  ///< its number among the devices of its kind, from 0
  /// Lanes that run in step and share frames of memory: 1 on the CPU, 32 on a CUDA device. See Placement::lanes.
  uint32_t team_lanes = 1;
};
/// The devices of this machine that can be used, the CPU first. A device whose driver does not work is left out,
/// without an exception; why_unusable() says why.
std::vector<Device> devices();
/// The device that a fleet with this FleetOptions::device gets. Throws ArgumentError for a name that no device can
/// have, DeviceError for a device that cannot be used.
Device find_device(const std::string& device);
/// Why find_device() throws for this name, as one sentence; empty if the device can be used.
std::string why_unusable(const std::string& device);

/// How the lanes get their memory, and who uses it.
enum class MemoryPolicy : uint8_t {
  private_copy,   ///< lanes share the program's pages and copy one when they first write to it
  read_only,      ///< the same, and every store of a guest is a fault; the host may still write
  transactional,  ///< private_copy, and rollback() undoes the runs since the last commit() or rollback()
  /// Each lane's window is one flat piece of memory that guest and host both use: memory_view() is that memory, and
  /// what one side writes the other reads. With CUDA it is pinned memory of the host, and each access of the guest
  /// goes over the bus; docs/limits.md says what that costs.
  shared,
  device_shared,  ///< flat as with shared, but in the device's own memory, for PyTorch or CuPy; on the CPU as shared
};

/// The most lanes of a fleet.
constexpr uint64_t kMostLanes = uint64_t{1} << 24;

/// The windows of guest addresses that lanes have if nobody asks for another. Addresses cost nothing where nothing is
/// mapped, but for the page tables of a GPU: docs/memory.md.
constexpr uint64_t kFleetMemory = uint64_t{64} << 20;  ///< a Fleet
constexpr uint64_t kLinuxMemory = uint64_t{1} << 30;   ///< a LinuxFleet
constexpr uint64_t kUsualMemory = ~uint64_t{0};        ///< FleetOptions::memory: the one of these that it is

struct FleetOptions {
  std::string device = "auto";  ///< "auto", "cpu", "cuda", "cuda:N"
  uint64_t lanes = 1;           ///< ignored if there are several programs: Placement::lanes says how many each has
  /// Bytes of guest address space from the lowest page of the programs up; multiple of 4 KiB. The shared policies
  /// allocate all of it for each lane.
  uint64_t memory = kUsualMemory;
  uint64_t pool = 0;     ///< bytes for pages that lanes write, over all lanes; 0: see Fleet::pool_size()
  unsigned threads = 0;  ///< CPU threads; 0: all
  MemoryPolicy memory_policy = MemoryPolicy::private_copy;
  Engine engine = Engine::interpreter;  ///< for runs that do not name one
  /// Engine::translate: the most threads that translate beside those that run lanes; 0: on the CPU half of its, at most 4, for
  /// a GPU all.
  unsigned compile_threads = 0;
  /// Engine::translate: keeps translated code on disk, and takes it from there when another run needs the same:
  /// translation_cache.h.
  bool translation_cache = true;
  /// For programs that have Program::process. Their memory must be private_copy or transactional.
  ProcessOptions processes;
};

/// A program of a fleet that has several, and how many lanes run it.
struct Placement {
  Program program;
  /// A multiple of the team_lanes of the fleet's device (find_device() knows it before there is a fleet), except in the
  /// last placement: all lanes of a team run one program. A multiple of 32 suits every device.
  uint64_t lanes = 1;
};

/// The addresses of one value of each lane. Valid as long as the fleet; must not be accessed while the fleet runs.
struct ArrayView {
  void* data = nullptr;     ///< the value of lane 0
  int64_t lane_stride = 0;  ///< bytes from lane to lane
  /// The device that the memory belongs to, as in DLPack: cpu for memory that the host can access, even if a GPU
  /// can access it too.
  DeviceKind device = DeviceKind::cpu;
  uint32_t ordinal = 0;  ///< its number among the devices of its kind
};

/// One piece of a batched memory access: `size` bytes at `address` of `lane`, at `offset` of the buffer.
struct Transfer {
  uint32_t lane = 0;
  uint32_t size = 0;
  uint64_t address = 0;
  uint64_t offset = 0;
};

class Fleet {
 public:
  /// Maps the program's segments and sets pc and sp of every lane. All other registers are zero, or those of
  /// Program::state, and Field::limit is kEndless. Throws ArgumentError or DeviceError, and then keeps nothing allocated.
  Fleet(const Program& program, const FleetOptions& options);
  /// Several programs in one window. The lanes of a program are numbered after those of the program before it.
  Fleet(std::span<const Placement> programs, const FleetOptions& options);
  ~Fleet();
  Fleet(Fleet&&) noexcept;
  Fleet& operator=(Fleet&&) noexcept;

  uint64_t lanes() const;
  const Device& device() const;
  /// device().team_lanes: team i, which runs in step, is the lanes from i * team_lanes() on.
  uint64_t team_lanes() const;
  /// FleetOptions::engine, or what Engine::automatic stands for here.
  Engine engine() const;
  /// What Engine::translate has done so far. While a run is in progress any thread may ask; then the counts are some
  /// milliseconds old.
  TranslationReport translation() const;
  uint64_t memory_begin() const;  ///< first address of the guest's window
  uint64_t memory_end() const;    ///< one past its last address

  MemoryPolicy memory_policy() const;

  /// Runs lanes as the options say, and returns when they have stopped. Throws ArgumentError for options that
  /// contradict each other.
  RunResult run(const RunOptions& options = {});
  /// Starts a run in a thread of the library and returns at once. Throws StateError if a run is in progress, or if one
  /// has ended and wait() has not been called for it.
  void start(const RunOptions& options = {});
  /// Whether a run is in progress.
  bool is_running() const;
  /// How far the run is, as the running lanes publish it some hundred times a second. Never waits for the device.
  Poll poll() const;
  /// The instructions that each lane has retired since the fleet was made, and its signal. Each span has lanes()
  /// elements, or none.
  void poll_lanes(std::span<uint64_t> instructions, std::span<Signal> signals) const;
  /// Waits for the run that start() began, at most this many seconds; negative: without limit. Returns nothing if it is
  /// still running. Throws what the run threw (a handler's exception, a DeviceError), and StateError if none was
  /// started.
  std::optional<RunResult> wait(double seconds = -1);
  /// Ends the run in progress: its lanes stop with StopReason::cancelled, each at an instruction boundary, within 100
  /// ms. If no run is in progress, the next one ends at once.
  void cancel();
  /// Whether cancel() was called while no run was in progress, and waits for the next one; it then no longer does.
  bool take_cancel();
  /// Cancels the run in progress, waits for it, and frees everything; every other call throws StateError from then on.
  /// A handler of the fleet must not call this, nor destroy the fleet.
  void close();
  /// Whether this process is a fork()ed child of the one that made the fleet. Every other call then throws StateError,
  /// except close() and the destructor, which do nothing.
  bool inherited() const noexcept;

  /// Stops of all lanes, size lanes(). Valid until the next run() or resume().
  std::span<const Stop> stops() const;
  /// The stops of some lanes. values.size() == lanes.size().
  void get_stops(std::span<const uint32_t> lanes, std::span<Stop> values) const;
  /// Clears the stop of these lanes, so that the next run() continues them. Throws StateError for a lane without memory;
  /// resume_all() leaves such lanes as they are.
  void resume(std::span<const uint32_t> lanes);
  void resume_all();
  /// Sets the stop of these lanes, to StopReason::exited for example. stops.size() == lanes.size().
  void set_stops(std::span<const uint32_t> lanes, std::span<const Stop> stops);

  /// One field of some lanes. values.size() == lanes.size(). Of a lane with several threads the registers are those of the
  /// one that runs; threads() has the others.
  void get(Field field, std::span<const uint32_t> lanes, std::span<uint64_t> values) const;
  void set(Field field, std::span<const uint32_t> lanes, std::span<const uint64_t> values);
  /// One field of all lanes. values.size() == lanes().
  void get_all(Field field, std::span<uint64_t> values) const;
  void set_all(Field field, std::span<const uint64_t> values);
  void fill(Field field, uint64_t value);
  uint64_t get(Field field, uint32_t lane) const;
  void set(Field field, uint32_t lane, uint64_t value);

  /// The threads of all processes of a lane that have not left, by rising id, each with the registers that it goes on with. At most
  /// one runs; none does if the one that did has just left. One thread with the id 0 if the program is no process. Throws
  /// StateError if the lane has no memory.
  std::vector<GuestThread> threads(uint32_t lane) const;

  /// Reads guest memory, whatever its permissions. Each transfer ends at the first byte that is not mapped: done[i] is
  /// the number of bytes before it, and the rest of its part of the buffer stays as it is. `done` may be empty.
  void read(std::span<const Transfer> transfers, std::span<uint8_t> buffer, std::span<uint32_t> done = {}) const;
  /// Writes guest memory, whatever its permissions, as the loader of the program does: the first write to a page copies
  /// it, and changed instructions are decoded again. `done` as for read(). Throws DeviceError if no memory is left in
  /// the pool. The transfers of one call are made in any order: if two overlap, either may come last.
  void write(std::span<const Transfer> transfers, std::span<const uint8_t> buffer, std::span<uint32_t> done = {});
  /// As write(), but on the CPU the host keeps the bytes until the lane next runs, and only then the lane takes pages for
  /// them: for bytes by which lanes that have not begun yet differ. If no memory is left in the pool then, the lane stops
  /// with out_of_memory before its first instruction.
  void write_later(std::span<const Transfer> transfers, std::span<const uint8_t> buffer);
  /// The same for one lane; throws ArgumentError if not all of it is mapped.
  std::vector<uint8_t> read(uint32_t lane, uint64_t address, uint64_t size) const;
  void write(uint32_t lane, uint64_t address, std::span<const uint8_t> bytes);

  /// Maps pages of zeros with these permissions in these lanes, in place of what was there. With permissions 0 the
  /// pages are mapped, but the guest cannot access them, as with PROT_NONE of Linux; see unmap(). Address and size are
  /// multiples of 4 KiB inside the window.
  void map(std::span<const uint32_t> lanes, uint64_t address, uint64_t size, uint32_t permissions);
  /// Unmaps pages of these lanes: an access of the guest to them is a FaultKind::unmapped.
  void unmap(std::span<const uint32_t> lanes, uint64_t address, uint64_t size);
  /// Changes the permissions of mapped pages; their content stays.
  void protect(std::span<const uint32_t> lanes, uint64_t address, uint64_t size, uint32_t permissions);
  /// The permissions of pages of these lanes, one byte for each page: kMapped | permissions, or 0 if it is not mapped.
  /// The pages of lanes[i] begin at pages[i * size / kPageBytes]; pages.size() == lanes.size() * size / kPageBytes.
  /// With MemoryPolicy::read_only no page has kWrite.
  void permissions(std::span<const uint32_t> lanes, uint64_t address, uint64_t size, std::span<uint8_t> pages) const;
  /// Gives the memory of these lanes back, for lanes that have ended: other lanes use it. The lanes keep their registers,
  /// counts and stops. Whatever reads or changes their memory throws StateError, and so does resume(), until restore() or
  /// fork() gives them memory again. On a GPU a team's frames are free when all lanes of the team have given their memory
  /// back. Does nothing with MemoryPolicy::shared and device_shared.
  void release_memory(std::span<const uint32_t> lanes);
  /// To be called when ProcessHost::input() gives something else for these lanes than before.
  void process_inputs_changed(std::span<const uint32_t> lanes);
  /// Whether work_off() can be called: lanes of processes on a GPU, whose memory is private_copy.
  bool takes_inputs() const;
  /// All lanes work inputs off: each process begins as the lane was in `beginning`, a snapshot of all lanes, and a lane whose
  /// process has ended takes another input by itself. Returns when there is no further input, or `run` has ended it, or
  /// cancel() was called; inputs whose processes have not ended then have no digest, and neither have those that it has
  /// given up. The functions of `run` may not call the fleet, except cancel(). The interpreter runs the lanes. Throws
  /// StateError unless takes_inputs(), and as check_batch() for a batch of `run`.
  void work_off(const Snapshot& beginning, const InputRun& run);
  /// Bytes of the pool that pages of lanes occupy.
  uint64_t pool_used() const;
  /// Bytes that they may occupy. With FleetOptions::pool 0, on the CPU three quarters of the host's memory, at most 100
  /// GiB, and less where the process may have fewer addresses (ulimit -v); on a GPU a small pool at first, which grows
  /// as lanes need it, up to the device's free memory. 0 with MemoryPolicy::shared and device_shared on a GPU, where
  /// nothing is allocated later.
  uint64_t pool_size() const;
  /// Makes the pool at least this large, for lanes that stopped with out_of_memory. Throws DeviceError if it cannot: on
  /// the CPU beyond twice the first size, on a GPU beyond the device's memory.
  void grow_pool(uint64_t bytes);

  /// Saves registers, stops and memory of all lanes, or of some, as they are now.
  Snapshot snapshot();
  Snapshot snapshot(std::span<const uint32_t> lanes);
  /// Sets the lanes of a snapshot of this fleet, or some of them, back to the state that it holds.
  void restore(const Snapshot& snapshot);
  void restore(const Snapshot& snapshot, std::span<const uint32_t> lanes);
  /// Copies the present state of `lane` to the targets: registers, counts, stop and memory. They share pages until
  /// one of them writes to them.
  void fork(uint32_t lane, std::span<const uint32_t> targets);
  /// The present state of a lane as a program, for fleets on any device whose lanes all begin there: registers, memory,
  /// Field::instructions and what the process is; not its stop, nor Field::limit. Its host needs to know what the process
  /// has written so far: later writes have the positions behind it. Throws StateError if the lane has no memory.
  Program freeze(uint32_t lane) const;
  /// What the process of a lane has at a path of its root, as LinuxFleet::collect() says. `root`: that of its host.
  std::vector<CollectedFile> collect(uint32_t lane, const FileTree& root, const std::string& path,
                                     uint64_t most_bytes) const;
  /// With MemoryPolicy::transactional: commit() keeps what the runs since the last commit() or rollback() did to
  /// registers, counts, stops and memory, and rollback() undoes it. Changes that the host made before the first of
  /// these runs stay. Both throw StateError with another policy.
  void commit();
  void rollback();

  /// A field of all lanes without a copy. Writing a value that the register cannot hold has no defined effect.
  ArrayView view(Field field);
  /// With MemoryPolicy::shared or device_shared: the windows of the lanes without a copy, memory_begin() of lane 0
  /// first. Throws StateError with another policy. Instructions that the host writes there take effect from the next
  /// run on.
  ArrayView memory_view();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Throws ArgumentError if the offsets or the numbers of a batch are not as InputBatch says.
void check_batch(const InputBatch& batch);

}  // namespace myriarm
