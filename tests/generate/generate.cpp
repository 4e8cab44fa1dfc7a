// SPDX-License-Identifier: Apache-2.0
// Random code from the instruction table.
#include "generate/generate.h"

#include <bit>
#include <utility>

#include "isa/decoder.h"

namespace myriarm {
namespace {

constexpr u32 kTries = 64;

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

u32 mask_of(u32 width) { return width >= 32 ? ~0u : (1u << width) - 1; }

/// The letters of a row and how many bits each has.
struct Letters {
  u8 width[128] = {};
  explicit Letters(std::string_view bits) {
    for (char c : bits) {
      if (c != '0' && c != '1') width[static_cast<u8>(c) & 127]++;
    }
  }
  u32 of(char letter) const { return width[static_cast<u8>(letter) & 127]; }
};

/// The row that writes its operands in this way, for the few instructions that the generator itself needs.
u16 row_named(std::string_view name) {
  for (u16 row = 1; row < kRowCount; row++) {
    if (kRowInfos[row].name == name) return row;
  }
  return kRowUndefined;
}

/// Tells exclusives of different sizes apart: bits 31:30, and whether it is a pair.
std::pair<std::string_view, std::string_view> exclusive_size(u16 row) {
  return {kRowInfos[row].bits.substr(0, 2), kRowInfos[row].group};
}

bool in_set(u32 set, u32 slot) { return slot < 31 && (set >> slot & 1); }

u32 draw_register(Random& random, u32 set) {
  u32 skip = static_cast<u32>(random.below(static_cast<u64>(std::popcount(set))));
  for (; skip; skip--) set &= set - 1;
  return static_cast<u32>(std::countr_zero(set));
}

}  // namespace

Random::Random(u64 seed) {
  for (u64& word : state_) {
    u64 z = seed += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    word = z ^ (z >> 31);
  }
}

u64 Random::next() {
  u64 result = std::rotl(state_[1] * 5, 7) * 9;
  u64 t = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= t;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

u64 Random::below(u64 bound) { return static_cast<u64>((static_cast<unsigned __int128>(next()) * bound) >> 64); }

u64 Random::edge(u32 width) {
  u64 mask = width >= 64 ? ~u64{0} : (u64{1} << width) - 1;
  u64 top = mask ^ (mask >> 1);
  switch (below(12)) {
    case 0: return 0;
    case 1: return 1 & mask;
    case 2: return mask;
    case 3: return top;
    case 4: return mask >> 1;
    case 5: return (u64{1} << below(width)) & mask;
    case 6: return ((u64{1} << below(width)) - 1) & mask;
    case 7: return ~((u64{1} << below(width)) - 1) & mask;
    case 8: return below(16) & mask;
    default: return next() & mask;
  }
}

std::vector<u16> generatable_rows() {
  std::vector<u16> rows;
  for (u16 row = 1; row < kRowCount; row++) {
    if (kRowInfos[row].status == RowStatus::implemented) rows.push_back(row);
  }
  return rows;
}

bool is_memory_row(u16 row) { return contains(kRowInfos[row].syntax, "[<Xn|SP>"); }

bool is_exception_row(u16 row) { return kRowInfos[row].group == "exception"; }

bool is_branch_row(u16 row) {
  const RowInfo& info = kRowInfos[row];
  return info.family == RowFamily::branch_system && (contains(info.syntax, "<label>") || is_indirect_branch_row(row));
}

bool is_indirect_branch_row(u16 row) { return kRowInfos[row].group == "branch_reg"; }

bool is_exclusive_row(u16 row) {
  const RowInfo& info = kRowInfos[row];
  std::string_view mnemonic = info.syntax.substr(0, info.syntax.find(' '));
  return is_memory_row(row) && (contains(mnemonic, "xr") || contains(mnemonic, "xp")) &&
         (mnemonic.starts_with("ld") || mnemonic.starts_with("st"));
}

u32 generate_instruction(Random& random, u16 row, std::span<const ForcedField> forced) {
  const std::string_view bits = kRowInfos[row].bits;
  const Letters letters(bits);
  const DecodeTable& table = decode_table();
  for (u32 attempt = 0; attempt < kTries; attempt++) {
    u32 value[128], left[128];
    u32 last_register = static_cast<u32>(random.below(32));
    for (u32 letter = 0; letter < 128; letter++) {
      u32 width = left[letter] = letters.width[letter];
      if (!width) continue;
      if (width == 5) {  // most often a register
        u64 kind = random.below(8);
        value[letter] = kind == 0 ? 31 : kind <= 2 ? last_register : static_cast<u32>(random.below(32));
        last_register = value[letter];
      } else {
        value[letter] = width < 5 || random.one_in(2) ? static_cast<u32>(random.next()) & mask_of(width)
                                                      : static_cast<u32>(random.edge(width));
      }
    }
    // Later attempts ignore what the caller asks for, because the row may not allow it.
    if (attempt < kTries / 2) {
      for (const ForcedField& field : forced) {
        u8 letter = static_cast<u8>(field.letter) & 127;
        if (left[letter]) value[letter] = field.value & mask_of(left[letter]);
      }
    }
    u32 word = 0;
    for (char c : bits) {
      u8 letter = static_cast<u8>(c) & 127;
      word = word << 1 | (c == '0' || c == '1' ? static_cast<u32>(c - '0') : value[letter] >> --left[letter] & 1);
    }
    if (decode(table, word).row == row) return word;
  }
  return 0;
}

u32 halt_instruction(u32 imm) {
  Random random(imm);
  const ForcedField field[] = {{'i', imm}};
  return generate_instruction(random, kRow_HLT_EX_exception, field);
}

BlockGenerator::BlockGenerator(std::span<const u16> rows) : all_(rows.begin(), rows.end()) {
  for (u16 row : rows) {
    if (is_exception_row(row)) {
      plain_.push_back(row);
    } else if (is_branch_row(row)) {
      branches_.push_back(row);
    } else if (is_memory_row(row)) {
      memory_.push_back(row);
    } else {
      plain_.push_back(row);
    }
    if (is_exclusive_row(row)) exclusives_.push_back(row);
  }
  u16 clear = row_named("CLREX_BN_barriers");
  if (!exclusives_.empty() && clear != kRowUndefined) {
    Random random(0);
    const ForcedField field[] = {{'m', 15}, {'i', 15}};
    clear_exclusive_ = generate_instruction(random, clear, field);
  }
}

u16 BlockGenerator::draw(Random& random, const BlockOptions& options) const {
  if (options.even) return all_[random.below(all_.size())];
  u64 percent = random.below(100);
  const std::vector<u16>* kind = percent < options.branches_in_100                           ? &branches_
                                 : percent < options.branches_in_100 + options.memory_in_100 ? &memory_
                                                                                             : &plain_;
  if (kind->empty()) kind = !plain_.empty() ? &plain_ : !memory_.empty() ? &memory_ : &branches_;
  u16 row = (*kind)[random.below(kind->size())];
  // An exception ends the block: keep most of them out.
  for (u32 again = 0; again < 3 && is_exception_row(row); again++) row = (*kind)[random.below(kind->size())];
  return row;
}

u16 BlockGenerator::draw_exclusive(Random& random) const {
  return exclusives_.empty() ? u16{0} : exclusives_[random.below(exclusives_.size())];
}

u32 BlockGenerator::instruction(Random& random, const BlockOptions& options, u16 row, u32 index) const {
  const RegisterRoles& roles = options.roles;
  const DecodeTable& table = decode_table();
  const bool memory = is_memory_row(row);
  const bool keep_roles = options.steady || !random.one_in(16);
  const Letters letters(kRowInfos[row].bits);
  for (u32 attempt = 0; attempt < kTries; attempt++) {
    ForcedField forced[3];
    u32 count = 0;
    if (memory && (options.steady || !random.one_in(32))) {
      forced[count++] = {'n', random.one_in(8) ? 31 : draw_register(random, roles.addresses)};
      if (contains(kRowInfos[row].syntax, "<Xm>") || contains(kRowInfos[row].syntax, "<Wm>")) {
        if (options.steady || !random.one_in(8)) forced[count++] = {'m', draw_register(random, roles.offsets)};
      }
      if (letters.of('i') > 5 && (options.steady || random.one_in(3)))
        forced[count++] = {'i', static_cast<u32>(random.below(64))};
    } else if (is_indirect_branch_row(row) && !random.one_in(8)) {
      forced[count++] = {'n', roles.code};
    } else if (is_branch_row(row) && (options.steady || !random.one_in(8)) && options.length > index) {
      forced[count++] = {'i', 1 + static_cast<u32>(random.below(options.length - index))};
    }
    u32 word = generate_instruction(random, row, {forced, count});
    if (word == 0) return 0;
    Operands o = decode(table, word);
    // A result in a register that steers would make the accesses after it blind.
    const u32 steering = roles.addresses | roles.offsets | (1u << roles.code);
    bool clobbers = in_set(steering, o.rd) || (memory && in_set(steering, o.ra)) || (!memory && o.rd == kSlotSP);
    if (keep_roles && clobbers) continue;
    return word;
  }
  return generate_instruction(random, row);
}

void BlockGenerator::append(Random& random, const BlockOptions& options, std::vector<u32>& code) const {
  u32 index = 0;
  if (clear_exclusive_) {
    code.push_back(clear_exclusive_);
    index++;
  }
  // A store exclusive of another size than the load is UNPREDICTABLE: a block has exclusives of one size. They
  // are drawn together and mostly with one base register, so that many of the stores succeed.
  u16 exclusive = options.exclusive;
  bool begun = false;
  u32 base = 0;
  for (; index < options.length; index++) {
    u32 word = 0;
    for (u32 attempt = 0; word == 0 && attempt < kTries; attempt++) {
      bool again = begun && random.one_in(4);
      u16 row = again ? exclusives_[random.below(exclusives_.size())] : draw(random, options);
      if (is_exclusive_row(row)) {
        if (exclusive != kRowUndefined && exclusive_size(row) != exclusive_size(exclusive)) continue;
        const ForcedField field[] = {{'n', base}};
        bool follow = begun && !random.one_in(4);
        word = follow ? generate_instruction(random, row, field) : instruction(random, options, row, index);
        if (word == 0) continue;
        exclusive = row;
        begun = true;
        base = decode(decode_table(), word).rn;
      } else {
        word = instruction(random, options, row, index);
      }
    }
    code.push_back(word ? word : halt_instruction(1));
  }
  code.push_back(halt_instruction(0));
}

}  // namespace myriarm
