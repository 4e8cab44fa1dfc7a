// SPDX-License-Identifier: Apache-2.0
// Batches of random cases for the differential tests. A case is one lane: a block of random code, registers and data
// memory. A batch depends only on its seed, so that a few numbers identify a failure.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "generate/generate.h"
#include "myriarm/fleet.h"

namespace myriarm::differential {

/// Where code and data lie. The data window has pages of every kind, so that accesses cross their boundaries.
struct Layout {
  static constexpr uint64_t code_begin = 0x100000;
  static constexpr uint64_t code_bytes = 0x100000;
  static constexpr uint64_t data_begin = 0x400000;
  /// Pages from data_begin on: their permissions, 0 for a hole. The pages after the last are holes.
  static constexpr std::array<uint32_t, 5> pages = {kRead | kWrite, kRead | kWrite, kRead, 0, kRead | kWrite};
  static constexpr uint64_t data_bytes = pages.size() * kPageBytes;
  static constexpr uint64_t memory = data_begin + data_bytes + 4 * kPageBytes - code_begin;
};

/// Fields that every case sets at its start and every comparison reads at its end.
std::vector<Field> compared_fields(bool vectors);

struct BatchOptions {
  uint64_t seed = 1;
  uint32_t lanes = 2048;
  uint32_t inputs_per_block = 4;  ///< lanes that run the same block with different registers
  uint32_t length = 0;            ///< instructions of a block, all rows equally likely; 0: 4 to 24, by kind
  uint64_t limit = 64;            ///< instructions of a lane
  bool tags = false;              ///< addresses with a random top byte
  bool code_is_data = true;       ///< code is readable, and a register that branches use points to it
  bool vectors = false;           ///< SIMD&FP registers, FPCR and FPSR are random
  uint32_t memory_in_100 = 40;    ///< memory accesses among the instructions of longer blocks, in per cent
  bool moves_fpcr = false;        ///< some longer blocks write or read FPCR, FPSR or NZCV
  /// By row: bits of FPCR that are 0 in lanes whose block has an instruction of the row.
  std::map<u16, uint64_t> fpcr_off;
};

struct Batch {
  BatchOptions options;
  Program program;
  std::vector<uint32_t> code;
  std::vector<uint64_t> block_begin;  ///< address of each lane's first instruction
  std::vector<uint32_t> block_words;  ///< with the HLT
  std::vector<Field> fields;
  std::vector<std::vector<uint64_t>> initial;  ///< [field][lane]
  std::vector<uint8_t> data;                   ///< Layout::data_bytes, the initial data of every lane
  std::vector<u16> rows;                       ///< row of each word of `code`

  uint64_t initial_of(Field field, uint32_t lane) const;
};
Batch make_batch(const BlockGenerator& generator, const BatchOptions& options);
/// The seed of one batch of a test.
uint64_t batch_seed(uint64_t seed, uint64_t batch);

/// Whether a row is floating point, AdvSIMD or cryptography, but no load or store.
bool is_vector_row(u16 row);

/// Counts the vector instructions that were compared, and the modes of FPCR.
class VectorCount {
 public:
  /// Counts the instructions of a block up to its first branch.
  void add(const Batch& batch, uint32_t lane, uint64_t instructions);
  uint64_t instructions() const { return instructions_; }
  /// The number of modes, of 64, in which a vector instruction was compared.
  uint32_t modes() const;

 private:
  uint64_t instructions_ = 0;
  uint64_t modes_ = 0;
};

/// The state of a lane after its run.
struct State {
  std::vector<uint64_t> values;  ///< of Batch::fields
  uint64_t instructions = 0;
  Stop stop;
  std::vector<uint8_t> memory;  ///< Layout::data_bytes; holes are zero
};

/// The states of all lanes of a batch after their run on a device.
struct BatchResult {
  std::vector<std::vector<uint64_t>> values;  ///< [field][lane]
  std::vector<uint64_t> instructions;
  std::vector<Stop> stops;
  std::vector<uint8_t> memory;  ///< [lane][Layout::data_bytes]
  uint64_t retired = 0;         ///< as RunResult has it
  State state(uint32_t lane, bool with_memory = true) const;
};

/// Runs lanes [first, first + count) of the batch as a fleet of their own; each stops after `limit` instructions.
/// `reuse` gives its buffers.
BatchResult run_on(const Batch& batch, const std::string& device, uint32_t first, uint32_t count, uint64_t limit,
                   BatchResult reuse = {});

/// Prints the listing of a case with a mark at the instruction at `mark`.
void print_listing(const Batch& batch, uint32_t lane, uint64_t mark);
/// Prints two states side by side, with differences marked by '*', and the initial value of each register.
void print_states(const Batch& batch, const State& before, const State& a, const char* a_name, const State& b,
                  const char* b_name);
/// True if fields, memory, stop and count are the same.
bool same_state(const State& a, const State& b);

}  // namespace myriarm::differential
