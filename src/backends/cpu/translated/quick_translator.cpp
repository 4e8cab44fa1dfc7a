// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/translated/quick_translator.h"

#include <time.h>
#include <algorithm>
#include <atomic>
#include <deque>
#include <optional>
#include <set>
#include <stdexcept>

#include "backends/cpu/translated/code_writer.h"
#include "backends/cpu/translated/run_one.h"
#include "core/portable.h"
#include "isa/control_flow.h"
#include "isa/semantics_ids.h"
#include "translate/shape.h"

namespace myriarm::cpu {
namespace {

using translate::Block;
using translate::FlagKind;
using translate::Instruction;
using translate::Shape;
using Label = CodeWriter::Label;

/// What the flags are at a place of the code: those of a source whose operands are at hand. Its kind is known, or else it
/// is noted in the LaneState, as between regions.
using KnownFlags = std::optional<FlagKind>;

/// What machine code of a region owns besides itself.
struct RegionData {
  std::shared_ptr<void> memory;
  std::deque<std::atomic<u8>> loops;  // whether larger code begins there
};

class RegionCopier {
 public:
  RegionCopier(const StencilTable& table, const Shape& shape, const QuickTranslator::Area& area)
      : table_(table), shape_(shape), area_(area), entries_(shape.entries) {
    // Returns look for an entry.
    for (const u64 pc : shape.return_points) {
      if (std::find(entries_.begin(), entries_.end(), pc) == entries_.end()) entries_.push_back(pc);
    }
  }

  std::unique_ptr<translate::Region> copy(CodeMemory& memory) {
    auto data = std::make_shared<RegionData>();
    writer_.add(table_[Named::enter], {});
    fma_ = writer_.new_label();
    for (const auto& [pc, block] : shape_.blocks) labels_.emplace(pc, writer_.new_label());
    joins_.insert(entries_.begin(), entries_.end());
    for (const auto& [pc, block] : shape_.blocks) find_joins(block);
    for (auto at = shape_.blocks.begin(); at != shape_.blocks.end(); ++at) {
      const auto after = std::next(at);
      copy_block(at->second, after == shape_.blocks.end() ? nullptr : &after->second, *data);
    }
    for (const auto& [pc, label] : exits_) copy_exit(pc, label);
    for (const Cold& cold : cold_) copy_cold(cold);
    add_data();

    CodeMemory::Place place = memory.take(writer_.size());
    CodeMemory::write(place, writer_.finish(reinterpret_cast<u64>(place.address)));
    auto region = std::make_unique<translate::Region>();
    region->run = reinterpret_cast<translate::RegionFunction>(place.address);
    region->entries = entries_;
    for (const u64 pc : entries_) region->inside.push_back(place.address + writer_.offset(labels_.at(pc)));
    for (const auto& [pc, flag] : loops_) region->loops.emplace_back(pc, flag);
    region->instructions = shape_.instructions;
    data->memory = std::move(place.owner);
    region->code = std::move(data);
    return region;
  }

 private:
  /// An instruction that runs out of line, by run_one().
  struct Cold {
    Label label, back;
    const Instruction* at;
    u64 retired;
    KnownFlags flags;
  };

  bool is_inside(u64 pc) const { return labels_.contains(pc); }
  /// The addresses that a block's last instruction branches to, without indirect ones, and whether it may go on behind it.
  struct Ways {
    std::optional<u64> target;
    bool goes_on = false;
  };
  static Ways ways_of(const Instruction& last) {
    if (last.effects.always_stops) return {};
    const u16 row = last.operands.row;
    if (flow_of(row) == Flow::next) return {std::nullopt, true};
    if (!is_relative(row)) return {};
    const bool always = flow_of(row) == Flow::call || row == kRow_B_only_branch_imm ||
                        (row == kRow_B_only_condbranch && last.operands.aux >= 14);
    return {last.target(), !always};
  }
  /// A block that can be come to in several ways, of which the code behind it knows nothing.
  void find_joins(const Block& block) {
    const Ways ways = ways_of(block.last());
    auto comes = [&](u64 to) {
      if (!is_inside(to)) return;
      if (to <= block.last().pc) {
        loop_heads_.insert(to);
        joins_.insert(to);
      }
      if (!come_to_.insert(to).second) joins_.insert(to);
    };
    if (ways.target) comes(*ways.target);
    if (ways.goes_on) comes(block.last().pc + 4);
  }

  HoleValues values_of(const Instruction& at) {
    const Operands& o = at.operands;
    HoleValues values;
    values[Hole::rd] = o.rd * sizeof(u64);
    values[Hole::rn] = o.rn * sizeof(u64);
    values[Hole::rm] = o.rm * sizeof(u64);
    values[Hole::ra] = o.ra * sizeof(u64);
    values[Hole::vd] = o.rd * 2 * sizeof(u64);
    values[Hole::vn] = o.rn * 2 * sizeof(u64);
    values[Hole::vm] = o.rm * 2 * sizeof(u64);
    values[Hole::va] = o.ra * 2 * sizeof(u64);
    values[Hole::imm] = values[Hole::imm64] = o.imm;
    values[Hole::low] = static_cast<u32>(o.imm);
    values[Hole::high] = o.imm >> 32;
    values[Hole::pc] = at.pc;
    values[Hole::retired] = retired_;
    values[Hole::has_fma] = fma_;
    return values;
  }
  void add(const Stencil& stencil, const HoleValues& values = {}) { writer_.add(stencil, values); }
  void add(Named name, const HoleValues& values = {}) { add(table_[name], values); }

  /// Notes the kind of flags, for code that does not know it.
  void note_flags() {
    if (flags_) add(table_.of(OfFlags::note_flags, *flags_));
  }
  void pack_flags() {
    if (!flags_) add(Named::pack_flags_noted);
    if (flags_ && *flags_ != FlagKind::packed) add(table_.of(OfFlags::pack_flags, *flags_));
    flags_ = FlagKind::packed;
  }
  /// The code for an address outside the region. Flags must be noted.
  Label exit_to(u64 pc) {
    const auto [found, is_new] = exits_.try_emplace(pc, 0);
    if (is_new) found->second = writer_.new_label();
    return found->second;
  }
  Label way_to(u64 pc) { return is_inside(pc) ? labels_.at(pc) : exit_to(pc); }

  void copy_block(const Block& block, const Block* after, RegionData& data) {
    const u64 pc = block.pc();
    writer_.bind(labels_.at(pc));
    const auto known = known_.find(pc);
    flags_ = joins_.contains(pc) || known == known_.end() ? std::nullopt : known->second;
    retired_ = 0;
    if (loop_heads_.contains(pc)) {
      data.loops.emplace_back(0);
      loops_.emplace(pc, &data.loops.back());
      HoleValues values;
      values[Hole::flag] = reinterpret_cast<u64>(&data.loops.back());
      values[Hole::leave] = exit_to(pc);
      add(Named::loop, values);
    }
    for (const Instruction& at : block.instructions) {
      if (at.effects.always_stops) {
        retire();
        note_flags();
        return writer_.jump(exit_to(at.pc));
      }
      if (flow_of(at.operands.row) != Flow::next) return copy_branch(at, after);
      copy_instruction(at);
      retired_++;
    }
    retire();
    go_on(block.last().pc + 4, after);
  }
  void retire() {
    if (retired_ == 0) return;
    HoleValues values;
    values[Hole::retired] = retired_;
    add(Named::retire, values);
    retired_ = 0;
  }
  /// What a block that is come to from here may know of the flags.
  bool wants_noted(u64 to) const { return !is_inside(to) || joins_.contains(to); }
  void lead_to(u64 to) {
    if (!wants_noted(to)) known_[to] = flags_;
  }
  void go_on(u64 to, const Block* after, bool flags_are_noted = false) {
    if (wants_noted(to) && !flags_are_noted) note_flags();
    lead_to(to);
    if (after == nullptr || after->pc() != to) writer_.jump(way_to(to));
  }

  void copy_instruction(const Instruction& at) {
    const Operands& o = at.operands;
    // Hints and barriers only retire. Functions of some distributions begin and end with one.
    if (kFirstWithSemantics.row[o.row] == kFirstWithSemantics.row[kRow_HINT_HM_hints]) return;
    HoleValues values = values_of(at);
    if (at.effects.reads_condition && copy_select(at, values)) return;
    const Stencil* stencil = table_.of(o);
    if (at.effects.reads_condition && at.effects.reads_flags) stencil = nullptr;
    if (at.effects.reads_flags || (stencil == nullptr && at.effects.reads_condition)) pack_flags();
    if (stencil == nullptr) return call(at, values);
    if (at.effects.reads_condition) {
      if (!flags_) pack_flags();
      add(table_.of(OfCondition::holds, *flags_, at.effects.condition));
    }
    if (stencil->depends_on(Hole::slow)) {
      cold_.push_back({writer_.new_label(), writer_.new_label(), &at, retired_, flags_});
      values[Hole::slow] = cold_.back().label;
    }
    add(*stencil, values);
    if (stencil->depends_on(Hole::slow)) writer_.bind(cold_.back().back);
    if (at.effects.writes_flags) flags_ = at.effects.flags_become;
  }
  /// The selects that compilers use most have a stencil for each condition.
  bool copy_select(const Instruction& at, const HoleValues& values) {
    OfCondition what;
    switch (at.operands.row) {
      case kRow_CSEL_32_condsel: what = OfCondition::select32; break;
      case kRow_CSEL_64_condsel: what = OfCondition::select64; break;
      case kRow_CSINC_32_condsel: what = OfCondition::increment32; break;
      default: return false;
    }
    if (!flags_) pack_flags();
    add(table_.of(what, *flags_, at.effects.condition), values);
    return true;
  }
  /// Has run_one() run an instruction, in line.
  void call(const Instruction& at, HoleValues values) {
    store_flags();
    add_call(at, values);
    if (at.effects.writes_flags) flags_ = FlagKind::packed;
  }
  void store_flags() {
    if (flags_) {
      add(table_.of(OfFlags::store_flags, *flags_));
    } else {
      add(Named::store_flags_noted);
    }
  }
  void add_call(const Instruction& at, HoleValues& values) {
    values[Hole::function] = reinterpret_cast<u64>(&run_one);
    values[Hole::operands] = writer_.new_label();
    operands_.emplace_back(static_cast<Label>(values[Hole::operands]), at.operands);
    add(at.effects.writes_flags ? Named::call_for_flags : Named::call, values);
  }
  void copy_cold(const Cold& cold) {
    writer_.bind(cold.label);
    flags_ = cold.flags;
    retired_ = cold.retired;
    store_flags();
    HoleValues values = values_of(*cold.at);
    add_call(*cold.at, values);
    if (cold.at->effects.writes_flags && cold.at->effects.flags_become != FlagKind::packed) {
      throw std::runtime_error("an instruction with a slow path makes flags of a kind that run_one() does not");
    }
    writer_.jump(cold.back);
  }

  void copy_branch(const Instruction& at, const Block* after) {
    const u16 row = at.operands.row;
    HoleValues values = values_of(at);
    retired_++;
    retire();
    if (!is_relative(row)) {
      note_flags();
      return add(table_.branch(row), values);
    }
    const Ways ways = ways_of(at);
    const u64 to = *ways.target;
    if (flow_of(row) == Flow::call) add(Named::link, values);
    if (!ways.goes_on) return go_on(to, after);
    const bool is_noted = wants_noted(to) || wants_noted(at.pc + 4);
    const bool has_condition = row == kRow_B_only_condbranch;
    if (has_condition && !flags_) pack_flags();
    if (is_noted) note_flags();
    lead_to(to);
    values[Hole::taken] = way_to(to);
    add(has_condition ? table_.of(OfCondition::branch, *flags_, at.operands.aux) : table_.branch(row), values);
    go_on(at.pc + 4, after, is_noted);
  }
  void copy_exit(u64 pc, Label label) {
    writer_.bind(label);
    HoleValues values;
    values[Hole::pc] = pc;
    const u64 offset = pc - area_.address;
    const u64 point = offset / 4 * sizeof(void*);
    const bool is_within = offset < area_.bytes && (offset & 3) == 0 && point >> 31 == 0;
    values[Hole::point] = point;
    add(is_within ? Named::leave_within : Named::leave, values);
  }
  void add_data() {
    constexpr u64 kAligned = 16;
    const std::vector<u8> padding((kAligned - writer_.size() % kAligned) % kAligned, 0xCC);
    writer_.add_data(padding);
    for (const auto& [label, operands] : operands_) {
      writer_.bind(label);
      writer_.add_data({reinterpret_cast<const u8*>(&operands), sizeof operands});
    }
    writer_.bind(fma_);
    const u8 has_fma = machine_has_fma() ? 1 : 0;
    writer_.add_data({&has_fma, 1});
  }

  const StencilTable& table_;
  const Shape& shape_;
  const QuickTranslator::Area area_;
  std::vector<u64> entries_;
  CodeWriter writer_;
  Label fma_ = 0;
  std::map<u64, Label> labels_, exits_;         // of blocks, and of addresses outside
  std::set<u64> joins_, loop_heads_, come_to_;  // addresses of blocks
  std::map<u64, KnownFlags> known_;             // at blocks that can be come to in one way
  std::map<u64, std::atomic<u8>*> loops_;
  std::deque<Cold> cold_;
  std::vector<std::pair<Label, Operands>> operands_;
  KnownFlags flags_;
  u64 retired_ = 0;  // instructions of the block that are not counted yet
};

double thread_seconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

// Without reading them: a program that ends at once needs none.
bool QuickTranslator::is_available() { return StencilTable::exists(); }

std::unique_ptr<translate::Region> QuickTranslator::translate(u64 entry, const translate::FetchWord& fetch,
                                                              const Area& area, const translate::RegionLimits& limits,
                                                              std::string& why) {
  const double begin = thread_seconds();
  try {
    const StencilTable* const table = StencilTable::get();
    if (table == nullptr) {
      why = "the stencils cannot be read";
      return nullptr;
    }
    Shape shape;
    if (!translate::find_shape(entry, fetch, limits, shape, why)) return nullptr;
    auto region = RegionCopier(*table, shape, area).copy(memory_);
    region->seconds = thread_seconds() - begin;
    return region;
  } catch (const std::exception& error) {
    why = error.what();
    return nullptr;
  }
}

}  // namespace myriarm::cpu
