// SPDX-License-Identifier: Apache-2.0
// Random instructions and random blocks of code, made from the instruction table alone, for tests on the host.
// The same seed gives the same code on every machine. What a row's operands mean is not known here beyond what
// the table says: field letters, syntax, and the operands that the decoder makes of them.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "isa/row_info.h"

namespace myriarm {

/// xoshiro256** (Blackman and Vigna, public domain algorithm), seeded with splitmix64.
class Random {
 public:
  explicit Random(u64 seed);
  u64 next();
  /// 0 to bound - 1; bound is not 0.
  u64 below(u64 bound);
  /// True once in n.
  bool one_in(u64 n) { return below(n) == 0; }
  /// A number of `width` bits that is often at an edge: 0, 1, all ones, the sign bit, one bit, a run of ones, small.
  u64 edge(u32 width);

 private:
  u64 state_[4];
};

/// The rows of which instructions can be generated: all that are implemented.
std::vector<u16> generatable_rows();
/// Accesses memory through a base register [Xn|SP, ...].
bool is_memory_row(u16 row);
/// Ends the straight line: branches, calls, returns. Not exceptions.
bool is_branch_row(u16 row);
/// Branches to a register.
bool is_indirect_branch_row(u16 row);
/// SVC, BRK, HLT and their like.
bool is_exception_row(u16 row);
/// Loads exclusive or stores exclusive.
bool is_exclusive_row(u16 row);

/// A field that the caller decides.
struct ForcedField {
  char letter;
  u32 value;
};

/// The instruction word of that row with random fields, or 0 if none was found. The word decodes to the row.
u32 generate_instruction(Random& random, u16 row, std::span<const ForcedField> forced = {});

/// What registers hold when a block begins, so that its accesses can be steered. SP always holds a data address.
struct RegisterRoles {
  u32 addresses = 0x00FF0000;  ///< bit n: Xn holds an address in or near the data window
  u32 offsets = 0x0F000000;    ///< bit n: Xn holds a small number
  u8 code = 28;                ///< Xn holds the address of an instruction of the block
};

struct BlockOptions {
  u32 length = 12;  ///< instructions, without the HLT at the end
  RegisterRoles roles;
  u32 branches_in_100 = 10;
  u32 memory_in_100 = 40;
  u16 exclusive = 0;  ///< exclusives are of this row's size; 0: of the first that is drawn
  bool steady =
      false;          ///< all accesses and branches are steered, and offsets are small: for code that goes on for long
  bool even = false;  ///< every row is as likely as any other; the two shares above are not looked at
};

/// Appends a block to `code`: random instructions, mostly forward branches, and a HLT. Rows are drawn evenly among
/// those of the chosen kind.
class BlockGenerator {
 public:
  explicit BlockGenerator(std::span<const u16> rows);
  void append(Random& random, const BlockOptions& options, std::vector<u32>& code) const;
  /// One instruction of that row at place `index` of a block of `length` instructions; 0 if none was found.
  u32 instruction(Random& random, const BlockOptions& options, u16 row, u32 index) const;
  /// A load or store exclusive, or 0 if no row is one.
  u16 draw_exclusive(Random& random) const;
  bool has_exclusives() const { return clear_exclusive_ != 0; }

 private:
  u16 draw(Random& random, const BlockOptions& options) const;

  std::vector<u16> all_, plain_, memory_, branches_, exclusives_;
  u32 clear_exclusive_ = 0;  // CLREX, for the start of a block, if any row is exclusive
};

/// The word HLT #imm.
u32 halt_instruction(u32 imm);

}  // namespace myriarm
