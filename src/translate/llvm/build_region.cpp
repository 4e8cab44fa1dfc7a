// SPDX-License-Identifier: Apache-2.0
#include "translate/llvm/build_region.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/MDBuilder.h>

#include <algorithm>
#include <stdexcept>

#include "isa/control_flow.h"
#include "isa/row_info.h"
#include "translate/device_region.h"
#include "translate/liveness.h"
#include "translate/spans.h"
#include "translate/window_places.h"

namespace myriarm::translate {
namespace {

using llvm::BasicBlock;
using llvm::Value;

/// Registers of the guest: bits as in Effects.
struct RegisterSet {
  u64 r = 0, v = 0;
};

/// How many registers of the guest a region for a GPU keeps in machine registers, of which it has 80 with 32 bits each. One for each
/// half of a vector register that it uses is added, up to the larger number: those that it does not keep are in global memory, as far
/// away as what ptxas spills, and general ones in shared memory, which is near.
constexpr size_t kKeptRegisters = 12, kKeptWithVectors = 24;
constexpr u64 kWeightOfVectors = 8;
/// Where loops lie in loops of a loop: at each level the lanes meet at places that take machine registers, and what only the outer
/// ones need is as near in shared memory as in a spill.
constexpr u32 kDeepLoops = 3;
constexpr size_t kKeptInDeepLoops = 8;
/// Where lanes may differ and there is no loop: a visit would seldom use again what it has loaded. Processes are larger than a
/// multiprocessor's cache of instructions, so that text counts.
constexpr size_t kKeptWithoutLoops = 4;
/// How many instructions that may give up are looked at together, at most: what they overwrite is kept until then.
constexpr u32 kMostTogether = 8;

/// What a region for a GPU does with registers and pages, decided for all of it.
struct Plan {
  /// The registers that it does not keep, since it uses more: those that it names least. It accesses them where they are when the
  /// region begins and ends. A vector register is farther away than a general one, and instructions in a loop count more.
  RegisterSet left_in_place;
  u64 only_zeroed = 0;            // upper halves of vector registers of which it does nothing but set some to 0
  std::map<u32, u32> kept_pages;  // by base register: their number
};

/// Which kept page an instruction would use: those with one base register mostly access one page.
u32 page_use(const Instruction& at) { return at.operands.rn; }
bool uses_pages(const Instruction& at) {
  return !at.effects.always_stops && at.effects.loads != at.effects.stores && at.effects.access_size != 0;
}

Plan plan_of(const Shape& shape, Finding finding) {
  std::map<u64, u64> loops;  // begin, end
  for (const auto& [pc, block] : shape.blocks) {
    const Instruction& last = block.last();
    const Flow flow = flow_of(last.operands.row);
    if (flow == Flow::next || flow == Flow::ret || !is_relative(last.operands.row) || last.effects.always_stops)
      continue;
    if (last.target() <= last.pc && shape.blocks.contains(last.target())) {
      u64& end = loops[last.target()];
      end = std::max(end, last.pc);
    }
  }
  u64 uses[64 + 64] = {}, reads_v = 0, sets_v = 0, zeroes_v = 0;
  std::map<u32, u64> accesses;
  for (const auto& [pc, block] : shape.blocks) {
    for (const Instruction& at : block.instructions) {
      const Effects& e = at.effects;
      if (e.always_stops) continue;
      u64 weight = 1;
      for (const auto& [begin, end] : loops) weight *= at.pc >= begin && at.pc <= end && weight < 4096 ? 8 : 1;
      for (u32 bit = 0; bit < 64; bit++) {
        uses[bit] += weight * ((e.reads_r >> bit & 1) + (e.writes_r >> bit & 1));
        uses[64 + bit] += kWeightOfVectors * weight * ((e.reads_v >> bit & 1) + (e.writes_v >> bit & 1));
      }
      reads_v |= e.reads_v;
      sets_v |= e.writes_v & ~e.zeroes_v;
      zeroes_v |= e.zeroes_v;
      if (uses_pages(at)) accesses[page_use(at)] += weight;
    }
  }
  Plan plan;
  plan.only_zeroed = zeroes_v & ~sets_v & ~reads_v;
  std::vector<std::pair<u64, u32>> by_use;
  for (u32 i = 0; i < 128; i++) {
    if (i >= 64 && (plan.only_zeroed >> (i - 64) & 1) != 0) continue;
    if (uses[i] != 0 && (i >= 64 || i <= kSlotSP)) by_use.emplace_back(uses[i], i);
  }
  std::sort(by_use.rbegin(), by_use.rend());
  const size_t vectors = static_cast<size_t>(
      std::count_if(by_use.begin(), by_use.end(), [](const auto& used) { return used.second >= 64; }));
  size_t kept = shape.loops.depth < kDeepLoops ? kKeptRegisters : kKeptInDeepLoops;
  if (finding == Finding::by_lane && shape.loops.depth == 0) kept = kKeptWithoutLoops;
  kept = std::min(kept + vectors, kKeptWithVectors);
  for (size_t i = kept; i < by_use.size(); i++) {
    const u32 number = by_use[i].second;
    (number >= 64 ? plan.left_in_place.v : plan.left_in_place.r) |= u64{1} << number % 64;
  }
  std::vector<std::pair<u64, u32>> by_accesses;
  by_accesses.reserve(accesses.size());
  for (const auto& [use, weight] : accesses) by_accesses.emplace_back(weight, use);
  std::sort(by_accesses.rbegin(), by_accesses.rend());
  // Beside vector registers there is no room for pages: n-body with 2 of them has 0.85 of its speed without.
  // Where lanes may differ each access would have its own text for what find_page() does.
  const bool keeps_none = finding == Finding::by_lane || ((reads_v | sets_v) & ~plan.left_in_place.v) != 0;
  const size_t most = keeps_none ? 0 : kKeptPages;
  for (size_t i = 0; i < by_accesses.size() && i < most; i++) {
    // What is accessed once is not worth it.
    if (by_accesses[i].first > 1) plan.kept_pages[by_accesses[i].second] = static_cast<u32>(i);
  }
  return plan;
}

class Builder {
 public:
  Builder(llvm::Module& module, const llvm::Module& rows, u64 cpu_size, const Shape& shape, RegionKind kind,
          Finding finding)
      : module_(module),
        rows_(rows),
        shape_(shape),
        cpu_size_(cpu_size),
        kind_(kind),
        leaves_where_slow_(finding == Finding::by_lane),
        plan_(kind == RegionKind::device ? plan_of(shape, finding) : Plan()),
        places_(kind == RegionKind::device ? std::map<u64, u32>() : window_places(shape)),
        ir_(module.getContext()) {}

  llvm::Function* build(const std::string& name) {
    llvm::Type* i64 = ir_.getInt64Ty();
    function_ = llvm::Function::Create(function_type(), llvm::Function::ExternalLinkage, name, module_);
    function_->addFnAttr(llvm::Attribute::NoUnwind);
    unlikely_ = llvm::MDBuilder(module_.getContext()).createBranchWeights(1, 4000);
    BasicBlock* entry = new_block("entry");
    leave_ = new_block("leave");
    stop_ = new_block("stop");
    for (const auto& [pc, block] : shape_.blocks) blocks_[pc] = new_block(pc_name(pc));
    for (const auto& [pc, loop] : shape_.loops.tests) before_loops_[pc] = new_block("before_" + pc_name(pc));
    if (!shape_.return_points.empty()) returns_ = new_block("returns");

    ir_.SetInsertPoint(entry);
    auto* storage = ir_.CreateAlloca(llvm::ArrayType::get(i64, (cpu_size_ + 7) / 8));
    storage->setAlignment(llvm::Align(16));
    cpu_ = storage;
    exit_pc_ = ir_.CreateAlloca(i64);
    exit_flags_ = ir_.CreateAlloca(ir_.getInt32Ty());
    ir_.CreateStore(ir_.getInt32(0), exit_flags_);
    if (is_device()) {
      call("myriarm_begin", {function_->getArg(0), function_->getArg(2), function_->getArg(3), function_->getArg(4)});
    } else {
      call("myriarm_begin", {function_->getArg(0), function_->getArg(2)});
    }
    for (u32 i = 0; i < static_cast<u32>(SystemField::count); i++) call("myriarm_load_system", {ir_.getInt32(i)});
    // Beside registers that live through two loops there is no room for it.
    has_inner_loops_ = is_device() && shape_.loops.depth > 1;
    if (has_inner_loops_) call("myriarm_put_aim");
    build_entries();
    for (const auto& [pc, block] : shape_.blocks) build_block(block, blocks_.at(pc));
    before_loop_ = true;
    for (const auto& [pc, copy] : before_loops_) build_block(shape_.blocks.at(pc), copy);
    if (returns_ != nullptr) build_returns();
    if (is_device()) {
      build_device_exits();
    } else {
      build_exits();
    }
    return function_;
  }

 private:
  bool is_device() const { return kind_ == RegionKind::device; }
  llvm::FunctionType* function_type() {
    llvm::Type *i32 = ir_.getInt32Ty(), *i64 = ir_.getInt64Ty();
    if (!is_device()) {
      return llvm::FunctionType::get(i64, {llvm::PointerType::getUnqual(module_.getContext()), i64, i64}, false);
    }
    return llvm::FunctionType::get(llvm::StructType::get(i64, i32, i32), {i32, i32, i32, i32, i32}, false);
  }
  llvm::ConstantInt* entry_number(size_t entry) {
    return is_device() ? ir_.getInt32(static_cast<u32>(entry) * kEntryApart) : ir_.getInt64(entry);
  }
  static std::string pc_name(u64 pc) { return "at_" + llvm::utohexstr(pc); }
  BasicBlock* new_block(const std::string& name = "") {
    return BasicBlock::Create(module_.getContext(), name, function_);
  }
  Value* constant(u64 value) { return ir_.getInt64(value); }

  Value* call(const std::string& name, std::initializer_list<Value*> extra = {}) {
    llvm::Function*& callee = callees_[name];
    if (callee == nullptr) {
      const llvm::Function* row = rows_.getFunction(name);
      if (row == nullptr) throw std::runtime_error("the bitcode has no function " + name);
      callee = llvm::cast<llvm::Function>(module_.getOrInsertFunction(name, row->getFunctionType()).getCallee());
      callee->setAttributes(row->getAttributes());
    }
    std::vector<Value*> arguments = {cpu_};
    arguments.insert(arguments.end(), extra);
    return ir_.CreateCall(callee, arguments);
  }
  /// Executes an instruction; the value is its Outcome.
  Value* outcome_of(const Instruction& at) {
    if (at.effects.reads_count) retire();
    call("myriarm_at", {constant(at.pc)});
    const Operands& o = at.operands;
    const u64 registers = u64{o.rd} | u64{o.rn} << 8 | u64{o.rm} << 16 | u64{o.ra} << 24;
    // What it may write, and may leave as it is, is put back too.
    const Effects& e = at.effects;
    fetch({e.reads_r | (e.writes_r & ~e.always_writes_r), e.reads_v | (e.writes_v & ~e.always_writes_v)});
    fetched_.r |= e.reads_r | e.writes_r;
    fetched_.v |= e.reads_v | e.writes_v;
    if (const auto place = places_.find(at.pc); place != places_.end()) {
      call("myriarm_place", {ir_.getInt32(place->second)});
    }
    const auto access = spans_.accesses.find(at.pc);
    const bool in_span = access != spans_.accesses.end();
    if (in_span) {
      const u32 bytes = at.effects.parts * at.effects.access_size;
      call("myriarm_begin_access", {ir_.getInt32(access->second), ir_.getInt32(bytes)});
    }
    const auto kept = uses_pages(at) && !in_span ? plan_.kept_pages.find(page_use(at)) : plan_.kept_pages.end();
    const bool keeps = kept != plan_.kept_pages.end();
    if (keeps) call("myriarm_begin_kept", {ir_.getInt32(kept->second), ir_.getInt32(at.effects.access_size)});
    Value* outcome = call("myriarm_row_" + std::string(kRowInfos[o.row].name), {constant(registers), constant(o.imm)});
    if (keeps) call("myriarm_end_kept", {ir_.getInt32(kept->second)});
    if (in_span) call("myriarm_end_access");
    return outcome;
  }
  void fetch(const RegisterSet& read) {
    for_each(read.r & left_in_place_.r & ~fetched_.r, "myriarm_fetch_r");
    for_each(read.v & left_in_place_.v & ~fetched_.v, "myriarm_fetch_v");
    fetched_.r |= read.r;
    fetched_.v |= read.v;
  }
  /// To be called where an instruction has been executed.
  void put_back(const Instruction& at) { put_back(RegisterSet{at.effects.writes_r, at.effects.writes_v}); }
  void put_back(const RegisterSet& written) {
    for_each(written.r & left_in_place_.r, "myriarm_put_r");
    for_each(written.v & left_in_place_.v, "myriarm_put_v");
    for (u32 n = 0; n < 32; n++) {
      if ((written.v & plan_.only_zeroed) >> (2 * n + 1) & 1) call("myriarm_zero_upper", {ir_.getInt32(n)});
    }
  }
  void for_each(u64 bits, const char* function) {
    for (u32 bit = 0; bit < 64; bit++) {
      if (bits >> bit & 1) call(function, {ir_.getInt32(bit)});
    }
  }
  /// Counts the instructions of the block so far.
  void retire() {
    if (retired_ != 0) call("myriarm_retire", {constant(retired_)});
    retired_ = 0;
  }
  void leave_to(Value* pc, BasicBlock* exit) {
    // The way out stays a block of its own. Else its values would be put into registers wherever a lane may leave.
    if (is_device())
      ir_.CreateCall(llvm::InlineAsm::get(llvm::FunctionType::get(ir_.getVoidTy(), false), "", "", true));
    ir_.CreateStore(pc, exit_pc_);
    ir_.CreateBr(exit);
  }
  BasicBlock* leaving(u64 pc, BasicBlock* exit) {
    llvm::IRBuilderBase::InsertPointGuard guard(ir_);
    BasicBlock* block = new_block();
    ir_.SetInsertPoint(block);
    leave_to(constant(pc), exit);
    return block;
  }
  /// Where the way from a block to an address goes: inside the region, with a check of the limit if it goes back, or out of it.
  /// All ways back to a block share the check: in a region for a GPU, lanes that went round a loop in different ways meet there.
  BasicBlock* edge(u64 from, u64 to) {
    const auto found = blocks_.find(to);
    if (found == blocks_.end()) return leaving(to, leave_);
    const auto test = shape_.loops.tests.find(to);
    if (test != shape_.loops.tests.end() && !test->second.contains(from)) return before_loops_.at(to);
    if (before_loop_ || !shape_.goes_back(from, to)) return found->second;
    BasicBlock*& check = checks_[to];
    if (check != nullptr) return check;
    llvm::IRBuilderBase::InsertPointGuard guard(ir_);
    check = new_block();
    ir_.SetInsertPoint(check);
    if (is_device()) stays_one_block();
    const char* limit = "myriarm_limit_reached";
    if (is_device() && shape_.loops.outermost.contains(to))
      limit = has_inner_loops_ ? "myriarm_put_aim_reached" : "myriarm_aim_reached";
    ir_.CreateCondBr(call(limit), leaving(to, leave_), found->second, unlikely_);
    return check;
  }
  /// The block stays one: nothing of it is copied to where it is entered from.
  void stays_one_block() {
    llvm::CallInst* mark =
        ir_.CreateCall(llvm::InlineAsm::get(llvm::FunctionType::get(ir_.getVoidTy(), false), "", "", true));
    mark->setConvergent();
  }

  /// A region for the host loads at each entry what is live there. One for a GPU stores what it has written where it ends, so it
  /// needs all registers.
  void build_entries() {
    if (is_device()) load_registers({~left_in_place_.r, ~left_in_place_.v & ~plan_.only_zeroed});
    const std::map<u64, LiveRegisters> live = is_device() ? std::map<u64, LiveRegisters>() : live_registers(shape_);
    auto way_in = [&](u64 pc) {
      if (is_device()) return before_loops_.contains(pc) ? before_loops_.at(pc) : blocks_.at(pc);
      llvm::IRBuilderBase::InsertPointGuard guard(ir_);
      BasicBlock* block = new_block();
      ir_.SetInsertPoint(block);
      load_registers(live.at(pc));
      ir_.CreateBr(blocks_.at(pc));
      return block;
    };
    auto* entries = ir_.CreateSwitch(function_->getArg(1), way_in(shape_.entries.front()));
    for (size_t i = 1; i < shape_.entries.size(); i++) entries->addCase(entry_number(i), way_in(shape_.entries[i]));
  }
  void load_registers(const LiveRegisters& which) {
    for (u32 slot = 0; slot <= kSlotSP; slot++) {
      if (which.r >> slot & 1) call("myriarm_load_r", {ir_.getInt32(slot)});
    }
    for (u32 half = 0; half < 64; half++) {
      if (which.v >> half & 1) call("myriarm_load_v", {ir_.getInt32(half)});
    }
  }

  void build_block(const Block& block, BasicBlock* place) {
    ir_.SetInsertPoint(place);
    retired_ = 0;
    fetched_ = {};
    // What an earlier block had of them must not stay alive.
    for_each(left_in_place_.r, "myriarm_forget_r");
    for_each(left_in_place_.v, "myriarm_forget_v");
    if (is_device()) spans_ = spans_of(block, leaves_where_slow_);
    if (!spans_.spans.empty()) {
      build_with_spans(block);
    } else {
      build_inner(block);
    }
    const Instruction& last = block.last();
    const Flow flow = flow_of(last.operands.row);
    if (last.effects.always_stops) return leave_to(constant(last.pc), leave_);
    if (flow != Flow::next) return build_branch(block.pc(), last, flow);
    ir_.CreateBr(edge(block.pc(), last.pc + 4));
  }
  /// A block without its branch: once for where the spans lie in pages as they should, and once for where not.
  void build_with_spans(const Block& block) {
    BasicBlock *fast = new_block(), *slow = new_block(), *both = new_block();
    // All of them before the first look: any of the looks may end in the slow way.
    u64 bases = 0;
    for (const Span& span : spans_.spans) bases |= u64{1} << span.base;
    fetch({bases, 0});
    for (u32 number = 0; number < spans_.spans.size(); number++) {
      const Span& span = spans_.spans[number];
      const auto kept = plan_.kept_pages.find(span.base);
      const bool keeps = kept != plan_.kept_pages.end();
      if (keeps) call("myriarm_begin_kept", {ir_.getInt32(kept->second), ir_.getInt32(8)});
      Value* found = call("myriarm_find_span",
                          {ir_.getInt32(number), ir_.getInt32(span.base), constant(static_cast<u64>(span.begin)),
                           ir_.getInt32(span.bytes), ir_.getInt1(span.loads), ir_.getInt1(span.stores)});
      if (keeps) call("myriarm_end_kept", {ir_.getInt32(kept->second)});
      BasicBlock* next = number + 1 == spans_.spans.size() ? fast : new_block();
      ir_.CreateCondBr(ir_.CreateNot(found), slow, next, unlikely_);
      ir_.SetInsertPoint(next);
    }
    const RegisterSet fetched = fetched_;
    const Spans spans = std::exchange(spans_, {});
    ir_.SetInsertPoint(slow);
    if (leaves_where_slow_) {
      leave_to(constant(block.pc()), stop_);
    } else {
      build_inner(block);
      ir_.CreateBr(both);
    }
    retired_ = 0;
    fetched_ = fetched;
    spans_ = spans;
    ir_.SetInsertPoint(fast);
    build_inner(block);
    ir_.CreateBr(both);
    spans_ = {};
    ir_.SetInsertPoint(both);
  }
  /// What comes before a block's branch, or before what always stops.
  void build_inner(const Block& block) {
    for (const Instruction& at : block.instructions) {
      if (at.effects.always_stops || flow_of(at.operands.row) != Flow::next) break;
      if (is_device() && joins_group(at)) {
        add_to_group(at);
        continue;
      }
      end_group();
      Value* outcome = outcome_of(at);
      // Of rows that never stop, nothing of this is left when the row has been inlined.
      BasicBlock *stopped = new_block(), *done = new_block();
      ir_.CreateCondBr(is(outcome, Outcome::stop), stopped, done, unlikely_);
      ir_.SetInsertPoint(stopped);
      if (retired_ != 0) call("myriarm_retire", {constant(retired_)});
      leave_to(constant(at.pc), stop_);
      ir_.SetInsertPoint(done);
      put_back(at);
      retired_++;
    }
    end_group();
    const Instruction& last = block.last();
    if (last.effects.always_stops || flow_of(last.operands.row) == Flow::next) retire();
  }
  void build_branch(u64 block, const Instruction& at, Flow flow) {
    Value* outcome = outcome_of(at);
    put_back(at);
    retired_++;
    retire();
    if (is_relative(at.operands.row)) {
      const bool leaves = flow == Flow::call && shape_.calls_leave;
      BasicBlock* taken = leaves ? leaving(at.target(), leave_) : edge(block, at.target());
      const bool always = flow == Flow::call || at.operands.row == kRow_B_only_branch_imm;
      if (always) {
        ir_.CreateBr(taken);
      } else {
        ir_.CreateCondBr(is(outcome, Outcome::branch), taken, edge(block, at.pc + 4));
      }
    } else if (flow == Flow::ret && returns_ != nullptr) {
      ir_.CreateBr(returns_);
    } else {
      leave_to(call("myriarm_next"), leave_);
    }
  }
  /// Whether an instruction is executed as one of a group.
  bool joins_group(const Instruction& at) const {
    const Effects& e = at.effects;
    const bool loads_there = spans_.accesses.contains(at.pc) && !e.stores && e.writes_system == 0;
    return (loads_there || (!e.loads && !e.stores)) && (!e.writes_flags || may_give_up(e));
  }
  static bool may_give_up(const Effects& e) {
    return (e.writes_system >> static_cast<u32>(SystemField::fpsr) & 1) != 0;
  }
  void add_to_group(const Instruction& at) {
    if (may_give_up(at.effects) && group_.may_give_up == kMostTogether) end_group();
    if (group_.instructions == 0) {
      group_.pc = at.pc;
      call("myriarm_begin_group");
    }
    const Effects& e = at.effects;
    note(e.writes_r & ~left_in_place_.r & ~group_.written.r, "myriarm_r", "myriarm_set_r");
    note(e.writes_v & ~left_in_place_.v & ~group_.written.v, "myriarm_v", "myriarm_set_v");
    note(e.writes_system & ~group_.writes_system, "myriarm_system", "myriarm_set_system");
    if (e.writes_flags && !group_.writes_flags) note(7, "myriarm_flag_part", "myriarm_set_flag_part");
    group_.stops.push_back(is(outcome_of(at), Outcome::stop));
    group_.written.r |= e.writes_r;
    group_.written.v |= e.writes_v;
    group_.writes_system |= e.writes_system;
    group_.writes_flags |= e.writes_flags;
    group_.may_give_up += may_give_up(e);
    group_.instructions++;
  }
  /// What the instructions of a group change is noted before, for the way out.
  void note(u64 bits, const char* get, const char* set) {
    for (u32 bit = 0; bit < 64; bit++) {
      if (bits >> bit & 1) group_.before.push_back({set, bit, call(get, {ir_.getInt32(bit)})});
    }
  }
  /// One look tells whether all instructions since the group began have their results. If not, the region is left before the first of them.
  void end_group() {
    if (group_.instructions == 0) return;
    Value* stops = call("myriarm_gave_up");
    for (Value* each : group_.stops) stops = ir_.CreateOr(stops, each);
    {
      BasicBlock *stopped = new_block(), *done = new_block();
      ir_.CreateCondBr(stops, stopped, done, unlikely_);
      ir_.SetInsertPoint(stopped);
      for (const auto& [set, number, value] : group_.before) call(set, {ir_.getInt32(number), value});
      if (retired_ != 0) call("myriarm_retire", {constant(retired_)});
      leave_to(constant(group_.pc), stop_);
      ir_.SetInsertPoint(done);
    }
    put_back(group_.written);
    retired_ += group_.instructions;
    group_ = {};
  }
  /// Where returns go: behind the calls in the region, if it is one of them that the link names.
  void build_returns() {
    ir_.SetInsertPoint(returns_);
    Value* pc = call("myriarm_next");
    BasicBlock *inside = new_block(), *outside = new_block();
    ir_.CreateCondBr(call("myriarm_limit_reached"), outside, inside, unlikely_);
    ir_.SetInsertPoint(outside);
    leave_to(pc, leave_);
    ir_.SetInsertPoint(inside);
    auto* cases = ir_.CreateSwitch(pc, outside);
    for (const u64 point : shape_.return_points) cases->addCase(ir_.getInt64(point), blocks_.at(point));
  }
  void build_exits() {
    ir_.SetInsertPoint(leave_);
    if (shape_.effects.writes_flags) call("myriarm_store_flags");
    Value* pc = ir_.CreateLoad(ir_.getInt64Ty(), exit_pc_);
    Value* next = call("myriarm_next_region", {pc});
    BasicBlock *goes_on = new_block(), *returns = new_block();
    ir_.CreateCondBr(ir_.CreateIsNull(next), returns, goes_on);
    // As a jump: else the stack would grow with each region that the lane goes through.
    ir_.SetInsertPoint(goes_on);
    Value* run = call("myriarm_next_run", {next});
    llvm::CallInst* jump = ir_.CreateCall(
        function_type(), run, {function_->getArg(0), call("myriarm_next_number", {next}), call("myriarm_count")});
    jump->setTailCallKind(llvm::CallInst::TCK_MustTail);
    ir_.CreateRet(jump);
    ir_.SetInsertPoint(returns);
    call("myriarm_end", {pc});
    ir_.CreateRet(constant(static_cast<u64>(RegionEnd::left)));

    ir_.SetInsertPoint(stop_);
    if (shape_.effects.writes_flags) call("myriarm_store_flags");
    call("myriarm_end", {ir_.CreateLoad(ir_.getInt64Ty(), exit_pc_)});
    ir_.CreateRet(constant(static_cast<u64>(RegionEnd::stopped)));
  }
  /// The rows of a HostCpu write registers through; those of a DeviceCpu do not, and one place stores them.
  void build_device_exits() {
    ir_.SetInsertPoint(stop_);
    ir_.CreateStore(ir_.getInt32(kRegionRefused), exit_flags_);
    ir_.CreateBr(leave_);
    ir_.SetInsertPoint(leave_);
    const Effects& e = shape_.effects;
    for_each(e.writes_r & ~left_in_place_.r, "myriarm_store_r");
    for_each(e.writes_v & ~left_in_place_.v & ~plan_.only_zeroed, "myriarm_store_v");
    for (u32 n = 0; n < 32; n++) {
      if (plan_.only_zeroed >> (2 * n + 1) & 1) call("myriarm_store_zero_upper", {ir_.getInt32(n)});
    }
    for (u32 i = 0; i < static_cast<u32>(SystemField::count); i++) {
      if (e.writes_system >> i & 1) call("myriarm_store_system", {ir_.getInt32(i)});
    }
    Value* nzcv = ir_.CreateOr(call("myriarm_nzcv"), ir_.CreateLoad(ir_.getInt32Ty(), exit_flags_));
    Value* parts[] = {ir_.CreateLoad(ir_.getInt64Ty(), exit_pc_), nzcv, call("myriarm_left")};
    ir_.CreateAggregateRet(parts, 3);
  }
  Value* is(Value* outcome, Outcome what) { return ir_.CreateICmpEQ(outcome, ir_.getInt8(static_cast<u8>(what))); }

  llvm::Module& module_;
  const llvm::Module& rows_;
  const Shape& shape_;
  const u64 cpu_size_;
  const RegionKind kind_;
  const bool leaves_where_slow_;  // a block whose spans are not as they should is left to others
  const Plan plan_;
  const std::map<u64, u32> places_;
  const RegisterSet& left_in_place_ = plan_.left_in_place;
  llvm::IRBuilder<> ir_;
  llvm::Function* function_ = nullptr;
  llvm::MDNode* unlikely_ = nullptr;
  Value *cpu_ = nullptr, *exit_pc_ = nullptr, *exit_flags_ = nullptr;
  BasicBlock *leave_ = nullptr, *stop_ = nullptr, *returns_ = nullptr;
  std::map<u64, BasicBlock*> blocks_;
  std::map<u64, BasicBlock*> checks_;        // of the limit, by the block that a branch goes back to
  std::map<u64, BasicBlock*> before_loops_;  // copies of the blocks of Loops::tests
  bool before_loop_ = false;                 // such a copy is being built
  bool has_inner_loops_ = false;             // the aim lies in the lane's column
  std::map<std::string, llvm::Function*> callees_;
  /// Instructions of the block that access no memory, one after the other, whose results are looked at together.
  struct Group {
    u64 pc = 0;  // of the first
    u32 instructions = 0, may_give_up = 0;
    RegisterSet written;
    u32 writes_system = 0;
    bool writes_flags = false;
    struct Before {
      const char* set;
      u32 number;
      Value* value;
    };
    std::vector<Before> before;
    std::vector<Value*> stops;  // whether an instruction stops, which few do
  };
  Spans spans_;          // of the block, where they have been found
  Group group_;          // not looked at yet
  u64 retired_ = 0;      // instructions of the block before it that are not counted yet
  RegisterSet fetched_;  // registers left in place that the block has read or written so far
};

}  // namespace

llvm::Function* build_region(llvm::Module& module, const llvm::Module& rows, u64 cpu_size, const Shape& shape,
                             RegionKind kind, Finding finding, const std::string& name) {
  return Builder(module, rows, cpu_size, shape, kind, finding).build(name);
}

}  // namespace myriarm::translate
