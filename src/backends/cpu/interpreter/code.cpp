// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/interpreter/code.h"

#include <algorithm>
#include <cstring>

#include "backends/cpu/interpreter/kinds.h"
#include "isa/control_flow.h"
#include "isa/decoder.h"

namespace myriarm::cpu {
namespace {

/// Picks the fastest kind for one instruction.
void specialise(Operands& o, u64 pc, const CodeRegion& region) {
  bool inside = region.contains(pc + static_cast<u64>(static_cast<i64>(o.offset)));
  switch (o.row) {
#define NEAR(row)                          \
  case kRow_##row:                         \
    if (inside) o.kind = kKind_near_##row; \
    break;
#define PIN(name, from, condition, pins)
#define FUSE(name, first, second)
#include "backends/cpu/interpreter/specialisations.inc"
#undef NEAR
#undef PIN
    default: break;
  }
#define NEAR(row)
#define PIN(name, from, condition, pins) \
  if (o.kind == (from) && (condition)) o.kind = kKind_##name;
#include "backends/cpu/interpreter/specialisations.inc"
#undef NEAR
#undef PIN
#undef FUSE
}

/// Makes pairs of instructions, from the front: neither entry has changed when a pair is looked for. Pairs may
/// therefore overlap, and a branch to the second instruction of a pair finds the pair that begins there.
void fuse(std::vector<Operands>& code, u64 count) {
  for (u64 i = 0; i + 1 < count; i++) {
    switch (u32{code[i].kind} << 16 | code[i + 1].kind) {
#define NEAR(row)
#define PIN(name, from, condition, pins)
#define FUSE(name, first, second)          \
  case u32{(first)} << 16 | u32{(second)}: \
    code[i].kind = kKind_##name;           \
    break;
#include "backends/cpu/interpreter/specialisations.inc"
#undef NEAR
#undef PIN
#undef FUSE
      default: break;
    }
  }
}

/// Whether an instruction always ends straight-line execution, so that the budget is checked after it.
bool always_leaves(u16 row) {
  return row == kRowUndefined || row == kRow_B_only_branch_imm || row == kRow_BR_64_branch_reg ||
         flow_of(row) == Flow::call || flow_of(row) == Flow::ret;
}

Operands marker(Kind kind) {
  Operands o = {};
  o.kind = kind;
  return o;
}

}  // namespace

Operands decode_in_region(u32 word, u64 pc, const CodeRegion& region) {
  Operands o = decode(decode_table(), word);
  specialise(o, pc, region);
  return o;
}

std::unique_ptr<CodeRegion> predecode_region(const u8* bytes, u64 address, u64 count) {
  auto region = std::make_unique<CodeRegion>();
  region->address = address;
  region->count = count;
  region->bytes = bytes;
  region->code.resize(count + 1);
  u64 run = 0;
  for (u64 i = 0; i < count; i++) {
    u32 word;
    std::memcpy(&word, bytes + i * 4, 4);
    region->code[i] = decode_in_region(word, address + i * 4, *region);
    run = always_leaves(region->code[i].row) ? 0 : run + 1;
    region->longest_run = std::max(region->longest_run, run);
  }
  fuse(region->code, count);
  region->code[count] = marker(kKindEnd);
  return region;
}

std::unique_ptr<CodeRegion> lazy_region(u64 address, u64 count) {
  auto region = std::make_unique<CodeRegion>();
  region->address = address;
  region->count = count;
  region->code.assign(count + 1, marker(kKindLazy));
  region->code[count] = marker(kKindEnd);
  region->longest_run = count;
  return region;
}

const CodeRegion* SharedCode::find(u64 pc) const {
  auto after = std::upper_bound(regions.begin(), regions.end(), pc,
                                [](u64 value, const auto& region) { return value < region->address; });
  if (after == regions.begin()) return nullptr;
  const CodeRegion* region = std::prev(after)->get();
  return region->contains(pc) ? region : nullptr;
}

CodeRegion* LaneCode::find(u64 pc) const {
  for (const auto& region : copies) {
    if (region->contains(pc)) return region.get();
  }
  auto page = pages.find(pc & ~u64{kPageSize - 1});
  return page == pages.end() ? nullptr : page->second.get();
}

u64 LaneCode::longest_run() const {
  u64 longest = kPageSize / 4 + 1;
  for (const auto& region : copies) longest = std::max(longest, region->count + 1);
  return longest;
}

void LaneCode::invalidate(u64 address, u64 size) {
  // From one word before: it may have been fused with the first. If that is below address 0, no region contains it.
  const u64 first = (address & ~u64{3}) - 4;
  const u64 words = (address + size - first + 3) / 4;
  for (u64 i = 0; i < words; i++) {
    const u64 pc = first + i * 4;
    if (CodeRegion* region = find(pc)) region->code[(pc - region->address) / 4] = marker(kKindLazy);
  }
}

void LaneCode::drop_all() {
  copies.clear();
  pages.clear();
}

}  // namespace myriarm::cpu
