// SPDX-License-Identifier: Apache-2.0
// Batches of random cases for the differential tests. A case is one lane: a block of random code, registers and
// data memory. A batch is made from its seed alone, so that a failure names it in a few numbers.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "isa/generate.h"
#include "myriarm/fleet.h"

namespace myriarm::differential {

/// Where code and data lie. The data window has pages of every kind, so that accesses near an edge meet it.
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
  uint32_t length = 0;            ///< instructions a block, rows drawn evenly; 0: 4 to 24, kinds in proportion
  uint64_t limit = 64;            ///< instructions a lane
  bool tags = false;              ///< addresses with a random top byte
  bool code_is_data = true;       ///< code can be read, and a register that branches use points to it
  bool vectors = false;           ///< SIMD&FP registers take part, and FPCR and FPSR are drawn
  uint32_t memory_in_100 = 40;    ///< of the instructions of longer blocks
  bool moves_fpcr = false;        ///< some longer blocks write or read FPCR, FPSR or NZCV on their way
  /// Bits of FPCR that are 0 in lanes whose block has an instruction of that row.
  std::map<u16, uint64_t> fpcr_off;
};

struct Batch {
  BatchOptions options;
  Program program;
  std::vector<uint32_t> code;
  std::vector<uint64_t> block_begin;  ///< a lane's first instruction
  std::vector<uint32_t> block_words;  ///< with the HLT
  std::vector<Field> fields;
  std::vector<std::vector<uint64_t>> initial;  ///< [field][lane]
  std::vector<uint8_t> data;                   ///< Layout::data_bytes, the same for every lane at first
  std::vector<u16> rows;                       ///< of each word of `code`

  uint64_t initial_of(Field field, uint32_t lane) const;
};
Batch make_batch(const BlockGenerator& generator, const BatchOptions& options);
/// The seed of one batch of a test.
uint64_t batch_seed(uint64_t seed, uint64_t batch);

/// Floating point, AdvSIMD and cryptography, but no loads and stores.
bool is_vector_row(u16 row);

/// Counts the vector instructions that were compared, and the modes of FPCR.
class VectorCount {
 public:
  /// A block's instructions up to its first branch are counted; what a branch leads to is not.
  void add(const Batch& batch, uint32_t lane, uint64_t instructions);
  uint64_t instructions() const { return instructions_; }
  /// Modes, of the 64 there are, in which a vector instruction was compared.
  uint32_t modes() const;

 private:
  uint64_t instructions_ = 0;
  uint64_t modes_ = 0;
};

/// One lane after its run.
struct State {
  std::vector<uint64_t> values;  ///< as Batch::fields
  uint64_t instructions = 0;
  Stop stop;
  std::vector<uint8_t> memory;  ///< Layout::data_bytes; holes are zero
};

/// All lanes of a batch after their run on a device.
struct BatchResult {
  std::vector<std::vector<uint64_t>> values;  ///< [field][lane]
  std::vector<uint64_t> instructions;
  std::vector<Stop> stops;
  std::vector<uint8_t> memory;  ///< [lane][Layout::data_bytes]
  uint64_t retired = 0;         ///< as RunResult said
  State state(uint32_t lane, bool with_memory = true) const;
};

/// Runs lanes [first, first + count) of the batch as a fleet of their own; each stops after `limit` instructions.
/// `reuse` gives its buffers.
BatchResult run_on(const Batch& batch, const std::string& device, uint32_t first, uint32_t count, uint64_t limit,
                   BatchResult reuse = {});

/// The listing of a case with the instruction at `mark` marked.
void print_listing(const Batch& batch, uint32_t lane, uint64_t mark);
/// Two states side by side, what differs marked with '*', and what each register was before.
void print_states(const Batch& batch, const State& before, const State& a, const char* a_name, const State& b,
                  const char* b_name);
/// True if fields, memory, stop and count are the same.
bool same_state(const State& a, const State& b);

}  // namespace myriarm::differential
