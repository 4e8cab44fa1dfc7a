// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/translated/stencil_table.h"

#include <elf.h>

#include <cstring>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>

#include "backends/cpu/interpreter/kinds.h"
#include "core/system/registers.h"
#include "isa/row_info.h"

#if MYRIARM_WITH_STENCILS
// The object as it is.
asm(".section .rodata\n"
    ".balign 16\n"
    ".global kMyriarmStencilsBegin\n"
    ".hidden kMyriarmStencilsBegin\n"
    "kMyriarmStencilsBegin:\n"
    ".incbin \"" MYRIARM_STENCILS
    "\"\n"
    ".global kMyriarmStencilsEnd\n"
    ".hidden kMyriarmStencilsEnd\n"
    "kMyriarmStencilsEnd:\n"
    ".text\n");
extern "C" const myriarm::u8 kMyriarmStencilsBegin[], kMyriarmStencilsEnd[];
#endif

namespace myriarm::cpu {
namespace {

constexpr const char* kHoleNames[kHoles] = {
#define HOLE(name) "hole_" #name,
#include "backends/cpu/translated/stencils/holes.inc"
#undef HOLE
    "_ZN7myriarm14kMachineHasFmaE"};

/// What the stencil table needs of an ELF object for x86-64.
class ObjectFile {
 public:
  explicit ObjectFile(std::span<const u8> bytes) : bytes_(bytes) {
    const auto header = at<Elf64_Ehdr>(0);
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_machine != EM_X86_64) {
      throw std::runtime_error("the stencils are no object for x86-64");
    }
    for (u32 i = 0; i < header.e_shnum; i++)
      sections_.push_back(at<Elf64_Shdr>(header.e_shoff + i * sizeof(Elf64_Shdr)));
    relocations_.resize(sections_.size());
    for (const Elf64_Shdr& section : sections_) {
      if (section.sh_type == SHT_SYMTAB) {
        const u64 strings = sections_.at(section.sh_link).sh_offset;
        for (u64 i = 0; i < section.sh_size / sizeof(Elf64_Sym); i++) {
          symbols_.push_back(at<Elf64_Sym>(section.sh_offset + i * sizeof(Elf64_Sym)));
          names_.push_back(reinterpret_cast<const char*>(&bytes_[strings + symbols_.back().st_name]));
        }
      } else if (section.sh_type == SHT_RELA) {
        for (u64 i = 0; i < section.sh_size / sizeof(Elf64_Rela); i++) {
          relocations_.at(section.sh_info).push_back(at<Elf64_Rela>(section.sh_offset + i * sizeof(Elf64_Rela)));
        }
      }
    }
    for (u32 i = 0; i < kHoles; i++) holes_.emplace(kHoleNames[i], static_cast<Hole>(i));
  }
  /// visit(name, stencil) for each function that depends on holes alone.
  template <class Visit>
  void for_stencils(Visit visit) const {
    for (size_t i = 0; i < symbols_.size(); i++) {
      if (ELF64_ST_TYPE(symbols_[i].st_info) != STT_FUNC || ELF64_ST_BIND(symbols_[i].st_info) != STB_GLOBAL) continue;
      if (std::optional<Stencil> stencil = stencil_of(symbols_[i])) visit(names_[i], std::move(*stencil));
    }
  }

 private:
  template <class T>
  T at(u64 offset) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) {
      throw std::runtime_error("the object of the stencils is cut off");
    }
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }
  std::optional<Stencil> stencil_of(const Elf64_Sym& symbol) const {
    // Each function has a section of its own.
    const Elf64_Shdr& section = sections_.at(symbol.st_shndx);
    Stencil stencil;
    stencil.code = bytes_.subspan(section.sh_offset + symbol.st_value, symbol.st_size);
    for (const Elf64_Rela& relocation : relocations_.at(symbol.st_shndx)) {
      const auto hole = holes_.find(names_.at(ELF64_R_SYM(relocation.r_info)));
      if (hole == holes_.end()) return std::nullopt;
      OpenPlace place = {static_cast<u32>(relocation.r_offset - symbol.st_value), hole->second, 4, false,
                         relocation.r_addend};
      switch (ELF64_R_TYPE(relocation.r_info)) {
        case R_X86_64_64: place.bytes = 8; break;
        case R_X86_64_32:
        case R_X86_64_32S: break;
        case R_X86_64_PC32:
        case R_X86_64_PLT32: place.is_relative = true; break;
        default: return std::nullopt;
      }
      stencil.holes |= 1u << static_cast<u32>(place.hole);
      stencil.open.push_back(place);
    }
    drop_last_jump(stencil);
    return stencil;
  }
  static void drop_last_jump(Stencil& stencil) {
    constexpr u64 kJump = 5;  // E9 and a distance
    const u64 size = stencil.code.size();
    for (size_t i = 0; i < stencil.open.size(); i++) {
      const OpenPlace& place = stencil.open[i];
      if (place.hole != Hole::next || place.at + 4 != size || stencil.code[size - kJump] != 0xE9) continue;
      stencil.code = stencil.code.first(size - kJump);
      stencil.open.erase(stencil.open.begin() + static_cast<std::ptrdiff_t>(i));
      stencil.ends_open = true;
      return;
    }
  }

  std::span<const u8> bytes_;
  std::vector<Elf64_Shdr> sections_;
  std::vector<Elf64_Sym> symbols_;
  std::vector<std::string_view> names_;               // of symbols_
  std::vector<std::vector<Elf64_Rela>> relocations_;  // by section
  std::unordered_map<std::string_view, Hole> holes_;
};

constexpr const char* kFlagKindNames[translate::kFlagKinds] = {"packed",     "add32",     "add64",    "subtract32",
                                                               "subtract64", "logical32", "logical64"};

constexpr const char* kNamed[] = {"enter",
                                  "leave",
                                  "leave_within",
                                  "loop",
                                  "retire",
                                  "link",
                                  "call",
                                  "call_for_flags",
                                  "pack_flags_noted",
                                  "store_flags_noted"};
static_assert(std::size(kNamed) == static_cast<u32>(Named::count));
constexpr const char* kOfFlags[] = {"note_flags", "store_flags", "pack_flags"};
static_assert(std::size(kOfFlags) == static_cast<u32>(OfFlags::count));
constexpr const char* kOfConditions[] = {"holds", "branch", "select32", "select64", "increment32"};
static_assert(std::size(kOfConditions) == static_cast<u32>(OfCondition::count));

constexpr const char* kPinnedNames[] = {
#define NEAR(row)
#define FUSE(name, first, second)
#define PIN(name, from, condition, pins) "pinned_" #name,
#include "backends/cpu/interpreter/specialisations.inc"
#undef PIN
};

/// The number of the specialisation that an instruction is; -1: none.
int pinned_number(const Operands& o) {
  int number = 0;
#define PIN(name, from, condition, pins)                     \
  if (u32{o.row} == u32{from} && (condition)) return number; \
  number++;
#include "backends/cpu/interpreter/specialisations.inc"
#undef PIN
#undef NEAR
#undef FUSE
  return -1;
}

}  // namespace

bool StencilTable::exists() {
#if MYRIARM_WITH_STENCILS
  return true;
#else
  return false;
#endif
}

const StencilTable* StencilTable::get() {
#if MYRIARM_WITH_STENCILS
  static const std::unique_ptr<const StencilTable> table = [] {
    try {
      return std::unique_ptr<const StencilTable>(new StencilTable);
    } catch (const std::exception&) {
      return std::unique_ptr<const StencilTable>();
    }
  }();
  return table.get();
#else
  return nullptr;
#endif
}

StencilTable::StencilTable() {
#if MYRIARM_WITH_STENCILS
  const ObjectFile object({kMyriarmStencilsBegin, kMyriarmStencilsEnd});
  object.for_stencils([&](std::string_view name, Stencil stencil) { all_.emplace(name, std::move(stencil)); });
#endif
  rows_.resize(kRowCount);
  for (u32 row = 0; row < kRowCount; row++) {
    const std::string name(kRowInfos[row].name);
    OfRow& of = rows_[row];
    of.zero = find("zero_" + name);
    of.small = find("small_" + name);
    // Both serve any immediate; which is shorter depends on whether the instruction uses it whole.
    const Stencil *whole = find("whole_" + name), *halves = find("halves_" + name);
    of.large = halves == nullptr || (whole != nullptr && whole->code.size() < halves->code.size()) ? whole : halves;
    if (of.small == nullptr) of.small = of.large;
  }
  for (const char* name : kPinnedNames) pinned_.push_back(find(name));
  for (const u16 row : {kRow_CBZ_32_compbranch, kRow_CBNZ_32_compbranch, kRow_CBZ_64_compbranch,
                        kRow_CBNZ_64_compbranch, kRow_TBZ_only_testbranch, kRow_TBNZ_only_testbranch}) {
    rows_[row].branch = find_needed("branch_" + std::string(kRowInfos[row].name));
  }
  for (const u16 row : {kRow_BR_64_branch_reg, kRow_BLR_64_branch_reg, kRow_RET_64R_branch_reg}) {
    rows_[row].branch = find_needed("indirect_" + std::string(kRowInfos[row].name));
  }
  for (u32 i = 0; i < std::size(kNamed); i++) named_[i] = find_needed(kNamed[i]);
  for (u32 kind = 0; kind < translate::kFlagKinds; kind++) {
    const std::string suffix = std::string("_") + kFlagKindNames[kind];
    for (u32 i = 0; i < std::size(kOfFlags); i++) flags_[i][kind] = find_needed(kOfFlags[i] + suffix);
    for (u32 i = 0; i < std::size(kOfConditions); i++) {
      for (u32 condition = 0; condition < 16; condition++) {
        conditions_[i][kind][condition] = find_needed(kOfConditions[i] + suffix + "_" + std::to_string(condition));
      }
    }
  }
}

const Stencil* StencilTable::find(const std::string& name) const {
  const auto found = all_.find(name);
  return found == all_.end() ? nullptr : &found->second;
}

const Stencil* StencilTable::find_needed(const std::string& name) const {
  const Stencil* stencil = find(name);
  if (stencil == nullptr) throw std::runtime_error("there is no stencil " + name);
  return stencil;
}

const Stencil* StencilTable::of(const Operands& o) const {
  if (const int pinned = pinned_number(o); pinned >= 0 && pinned_[static_cast<size_t>(pinned)] != nullptr) {
    return pinned_[static_cast<size_t>(pinned)];
  }
  const OfRow& of = rows_.at(o.row);
  if (o.imm == 0) return of.zero;
  return o.imm < u64{1} << 31 ? of.small : of.large;
}

}  // namespace myriarm::cpu
