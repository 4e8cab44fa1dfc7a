// SPDX-License-Identifier: Apache-2.0
// Answers the system calls of all stopped lanes in one batch: registers are gathered once a field, guest memory is
// read and written in few large transfers, whatever the number of lanes.
// A handler gets every call of its kind at once and leaves a result in each; what it wants written to guest memory
// it queues. Results are what Linux on AArch64 gives, errors as -errno.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "linux/process_layout.h"
#include "myriarm/linux.h"

namespace myriarm::linux_process {

/// Ranges of guest memory and what the guest may do with them, for pointers that it hands to system calls.
class AddressRanges {
 public:
  /// `program` with the permissions of pages, which segments may share.
  explicit AddressRanges(const Program& program);
  /// How many of `size` bytes at `address` allow `permission`, from the start. The heap is [heap, heap_end).
  uint64_t accessible(uint64_t address, uint64_t size, uint32_t permission, uint64_t heap, uint64_t heap_end) const;

 private:
  struct Range {
    uint64_t begin, end;
    uint32_t permissions;
  };
  std::vector<Range> ranges_;  // by rising address, apart
};

class SyscallServer {
 public:
  SyscallServer(Fleet& fleet, const ProcessLayout& layout, const LinuxOptions& options);

  /// Serves these lanes, all of which stopped at an SVC. Afterwards each of them has been resumed, or has a stop:
  /// exited, or out_of_memory where its result could not be stored. Returns the resumed ones.
  std::vector<uint32_t> serve(std::span<const uint32_t> lanes);
  /// Stores what did not fit in the pool earlier. Lanes for which it still does not stay as they are; returns the
  /// others, not resumed.
  std::vector<uint32_t> retry_stores();
  bool has_pending_store(uint32_t lane) const { return pending_.count(lane) != 0; }

  const std::vector<uint8_t>& output(uint32_t lane, unsigned stream) const { return lanes_[lane].output[stream]; }
  const std::map<std::string, uint64_t>& unimplemented_calls() const { return unimplemented_; }

 private:
  struct Lane {
    uint64_t break_end = 0;
    uint64_t input_position = 0;
    uint64_t random_position = kRandomBytes;  // AT_RANDOM took the first
    std::vector<uint8_t> output[2];           // standard output, standard error
  };
  struct Call {
    uint32_t lane = 0;
    uint32_t number = 0;
    uint64_t arguments[3] = {};
    uint64_t instructions = 0;
    int64_t result = 0;
    bool ended = false;
  };
  using Calls = std::span<Call* const>;
  using Handler = void (SyscallServer::*)(Calls);
  struct Row {
    const char* name;
    Handler handler;
  };
  /// A buffer that a call reads into or writes from; those of one call follow each other.
  struct Piece {
    Call* call;
    uint64_t address;
    uint64_t size;
  };
  struct Store {
    uint64_t address;
    std::vector<uint8_t> bytes;
  };

  static const std::map<uint32_t, Row>& rows();

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
  void ioctl(Calls calls);
  void set_robust_list(Calls calls);
  void process_id(Calls calls);
  void parent_id(Calls calls);
  void user_id(Calls calls);
  void zero(Calls calls);

  // Input and output, in pieces.
  std::vector<Piece> single_pieces(Calls calls) const;
  std::vector<Piece> vector_pieces(Calls calls);
  void put_out(std::span<const Piece> pieces);
  void take_in(std::span<const Piece> pieces);
  void emit(Call& call, std::span<const uint8_t> bytes);

  // Guest memory.
  uint64_t accessible(uint32_t lane, uint64_t address, uint64_t size, uint32_t permission) const;
  void fetch(std::vector<Transfer>& transfers,
             const std::function<void(size_t index, std::span<const uint8_t> bytes)>& use) const;
  /// False if the guest may not write all of it there; then nothing is stored.
  bool store_all(Call& call, uint64_t address, std::span<const uint8_t> bytes);
  void queue_store(uint32_t lane, uint64_t address, std::span<const uint8_t> bytes);
  void flush_stores();

  Fleet& fleet_;
  const AddressRanges ranges_;
  const uint64_t break_start_;
  const uint64_t heap_limit_;
  const std::vector<uint8_t> input_;
  const uint64_t seed_;
  const bool pass_output_;
  uint64_t output_share_;
  std::vector<Lane> lanes_;
  std::map<std::string, uint64_t> unimplemented_;
  std::vector<Transfer> store_transfers_;
  std::vector<uint8_t> store_bytes_;
  uint64_t stored_begin_ = 0, stored_end_ = 0;      // of the lane of the last of these: all of its stores lie between
  std::map<uint32_t, std::vector<Store>> pending_;  // lanes that wait for a larger pool
};

}  // namespace myriarm::linux_process
