// SPDX-License-Identifier: Apache-2.0
// A fleet: N isolated copies ("lanes") of one program on one device. Every call works on many lanes at once,
// because on a GPU a call costs as much for one lane as for thousands. One lane is a fleet of 1.
// A fleet is used from one thread; cancel() alone may be called from any.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "myriarm/error.h"
#include "myriarm/program.h"
#include "myriarm/stop.h"

namespace myriarm {

/// A piece of lane state. Values travel as uint64_t whatever the width.
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

/// One device that programs can run on.
struct Device {
  std::string id;             ///< "cpu", "cuda:0", ...
  std::string name;           ///< as its maker calls it
  uint64_t memory_bytes = 0;  ///< what a fleet could use, now
  uint32_t units = 0;         ///< CPU threads, or streaming multiprocessors
};
/// The devices of this machine, the CPU first. Never fails: a driver that cannot be used leaves its devices out.
std::vector<Device> devices();
/// Why there is no CUDA device: empty if there is one.
std::string cuda_unavailable_reason();

struct FleetOptions {
  std::string device = "auto";  ///< "auto", "cpu", "cuda", "cuda:N"
  uint64_t lanes = 1;
  /// Bytes of guest address space from the program's lowest page up; multiple of 4 KiB.
  uint64_t memory = uint64_t{64} << 20;
  uint64_t pool = 0;     ///< bytes for pages that lanes write, over all lanes; 0: what the device has
  unsigned threads = 0;  ///< CPU threads; 0: all
};

/// What one call of run() did.
struct RunResult {
  uint64_t instructions = 0;  ///< retired in this call, over all lanes
  double seconds = 0;
  uint64_t stopped = 0;  ///< lanes that have a stop now
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
  /// Maps the program's segments and sets pc and sp of every lane; all else is zero and the limits are endless.
  /// Throws ArgumentError or DeviceError; nothing is left behind.
  Fleet(const Program& program, const FleetOptions& options);
  ~Fleet();
  Fleet(Fleet&&) noexcept;
  Fleet& operator=(Fleet&&) noexcept;

  uint64_t lanes() const;
  const Device& device() const;
  /// What executes: "interpreter".
  const char* engine() const;
  uint64_t memory_begin() const;  ///< first address of the guest's window
  uint64_t memory_end() const;    ///< one past its last

  /// Runs every lane that has no stop until each has one, or until cancel(). Blocks.
  RunResult run();
  /// Ends a run() in another thread: its lanes stop with StopReason::cancelled within milliseconds. If none is
  /// running, the next one ends at once.
  void cancel();

  /// Stops of all lanes, size lanes(). Valid until the next run() or resume().
  std::span<const Stop> stops() const;
  /// Takes the stop from these lanes, so that the next run() runs them.
  void resume(std::span<const uint32_t> lanes);
  void resume_all();
  /// Gives these lanes a stop of the host's making (exited, for example). stops.size() == lanes.size().
  void set_stops(std::span<const uint32_t> lanes, std::span<const Stop> stops);

  /// One field of some lanes. values.size() == lanes.size().
  void get(Field field, std::span<const uint32_t> lanes, std::span<uint64_t> values) const;
  void set(Field field, std::span<const uint32_t> lanes, std::span<const uint64_t> values);
  /// One field of all lanes. values.size() == lanes().
  void get_all(Field field, std::span<uint64_t> values) const;
  void set_all(Field field, std::span<const uint64_t> values);
  void fill(Field field, uint64_t value);
  uint64_t get(Field field, uint32_t lane) const;
  void set(Field field, uint32_t lane, uint64_t value);

  /// Reads guest memory, whatever its permissions. done[i] is how many bytes of transfers[i] were mapped,
  /// from its start; the rest of its place in the buffer is left alone. done may be empty.
  void read(std::span<const Transfer> transfers, std::span<uint8_t> buffer, std::span<uint32_t> done = {}) const;
  /// Writes guest memory, whatever its permissions, as the loader of the program does: pages are copied on first
  /// write, predecoded instructions follow. done as for read(). Throws DeviceError if the pool is spent. The transfers
  /// of one call are made in any order: where two overlap, either may win.
  void write(std::span<const Transfer> transfers, std::span<const uint8_t> buffer, std::span<uint32_t> done = {});
  /// One lane; throws ArgumentError if not all of it is mapped.
  std::vector<uint8_t> read(uint32_t lane, uint64_t address, uint64_t size) const;
  void write(uint32_t lane, uint64_t address, std::span<const uint8_t> bytes);

  /// Maps pages of these lanes as zero with these permissions, whatever was there; permissions 0 unmaps. Address
  /// and size are multiples of 4 KiB inside the window.
  void map(std::span<const uint32_t> lanes, uint64_t address, uint64_t size, uint32_t permissions);
  /// Changes the permissions of mapped pages; what they hold stays.
  void protect(std::span<const uint32_t> lanes, uint64_t address, uint64_t size, uint32_t permissions);
  /// Bytes of the pool in use, and what it can grow to.
  uint64_t pool_used() const;
  uint64_t pool_size() const;
  /// Makes the pool at least this large, for lanes that stopped with out_of_memory.
  void grow_pool(uint64_t bytes);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace myriarm
