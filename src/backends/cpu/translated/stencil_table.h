// SPDX-License-Identifier: Apache-2.0
// The stencils of stencils/stencils.cpp, read from the object that clang made of it, which is data of the library. The
// names of its functions say what they are:
//   KIND_ROW             the instruction; KIND is what is known of Operands::imm: zero, small, whole, halves
//   pinned_NAME          a specialisation of the interpreter
//   branch_ROW           CBZ, CBNZ, TBZ, TBNZ; indirect_ROW: BR, BLR, RET
//   branch_FLAGS_COND    and others that depend on the kind of flags, or on that and on a condition
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/operands.h"
#include "translate/flag_source.h"

namespace myriarm::cpu {

enum class Hole : u8 {
#define HOLE(name) name,
#include "backends/cpu/translated/stencils/holes.inc"
#undef HOLE
  has_fma,  // a byte that says whether the processor has FMA
  count
};
constexpr u32 kHoles = static_cast<u32>(Hole::count);

/// A place in a stencil that depends on a hole.
struct OpenPlace {
  u32 at;  // bytes from the stencil's beginning
  Hole hole;
  u8 bytes;          // 4 or 8
  bool is_relative;  // less the address of the place
  i64 addend;
};

struct Stencil {
  std::span<const u8> code;  // without a jump to Hole::next at its end
  std::vector<OpenPlace> open;
  u32 holes = 0;           // bit of each Hole that it depends on
  bool ends_open = false;  // it runs on into what follows
  bool depends_on(Hole hole) const { return holes >> static_cast<u32>(hole) & 1; }
};
static_assert(kHoles <= 32);

/// Stencils that are no instruction, by their names.
enum class Named : u8 {
  enter,
  leave,
  leave_within,
  loop,
  retire,
  link,
  call,
  call_for_flags,
  pack_flags_noted,
  store_flags_noted,
  count
};
/// Stencils that there are for each kind of flags, and for each kind and condition.
enum class OfFlags : u8 { note_flags, store_flags, pack_flags, count };
enum class OfCondition : u8 { holds, branch, select32, select64, increment32, count };

class StencilTable {
 public:
  /// Whether this build has stencils.
  static bool exists();
  /// Null: this build has none, or they cannot be read. Reads them when it is first called, which takes milliseconds.
  static const StencilTable* get();

  /// The stencil of an instruction that does not branch; null: there is none.
  const Stencil* of(const Operands& operands) const;
  /// Of CBZ, CBNZ, TBZ and TBNZ, or of BR, BLR and RET.
  const Stencil& branch(u16 row) const { return *rows_.at(row).branch; }
  const Stencil& operator[](Named name) const { return *named_[static_cast<u32>(name)]; }
  const Stencil& of(OfFlags what, translate::FlagKind kind) const {
    return *flags_[static_cast<u32>(what)][static_cast<u32>(kind)];
  }
  const Stencil& of(OfCondition what, translate::FlagKind kind, u32 condition) const {
    return *conditions_[static_cast<u32>(what)][static_cast<u32>(kind)][condition];
  }

 private:
  StencilTable();
  const Stencil* find(const std::string& name) const;
  const Stencil* find_needed(const std::string& name) const;
  struct OfRow {
    const Stencil *zero = nullptr, *small = nullptr, *large = nullptr, *branch = nullptr;
  };
  std::unordered_map<std::string, Stencil> all_;
  std::vector<OfRow> rows_;
  std::vector<const Stencil*> pinned_;
  const Stencil* named_[static_cast<u32>(Named::count)];
  const Stencil* flags_[static_cast<u32>(OfFlags::count)][translate::kFlagKinds];
  const Stencil* conditions_[static_cast<u32>(OfCondition::count)][translate::kFlagKinds][16];
};

}  // namespace myriarm::cpu
