// SPDX-License-Identifier: Apache-2.0
// The CPU interpreter: one handler for each kind, made from the instruction table. Each handler ends in a jump to the
// next instruction's handler (direct threading by tail calls). docs/design/cpu-interpreter.md says why and how fast.
#include "backends/cpu/interpreter/interpreter.h"

#include <algorithm>

#include "backends/cpu/interpreter/kinds.h"
#include "backends/cpu/interpreter/lane_code.h"
#include "backends/cpu/translated/profile.h"
#include "backends/cpu/translated/region_entry.h"
#include "core/semantics.h"
#include "isa/decoder.h"

// Tail calls: guaranteed by clang's attribute; done by gcc at -O2 for calls of the same signature. Where neither
// holds (unoptimised and sanitizer builds) handlers return to a loop instead.
#if defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define MYR_TAIL_CALL [[clang::musttail]] return
#define MYR_THREADED 1
#elif defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define MYR_TAIL_CALL return
#define MYR_THREADED 1
#else
#define MYR_TAIL_CALL return
#define MYR_THREADED 0
#endif

#define MYR_ARGUMENTS Lane *lane, const Operands *op, u64 bias, const Handler *handlers, u32 *table, u8 *frames
#if MYR_THREADED
#define MYR_DISPATCH() MYR_TAIL_CALL handlers[kind_of(*op)].run(lane, op, bias, handlers, table, frames)
#else
#define MYR_DISPATCH()                         \
  do {                                         \
    (void)handlers, (void)table, (void)frames; \
    lane->place.op = op;                       \
    lane->place.bias = bias;                   \
    return;                                    \
  } while (0)
#endif

namespace myriarm::cpu {

/// Runs one instruction and calls the next handler. The arguments stay in machine registers all the time. `bias` and
/// `op` together give the count of retired instructions: retired * 16 == bias + address of the Operands. So only a
/// taken branch has to change `bias`.
struct Handler {
  void (*run)(Lane* lane, const Operands* op, u64 bias, const Handler* handlers, u32* table, u8* frames);
};

namespace {

/// The Cpu policy. `kNear`: relative branches stay in the region and are linked by pointer. `kSlow`: memory accesses
/// may take the slow path, and floating point may use the reference. Without `kSlow` an operation that needs these
/// abandons the instruction, and the handler runs it again in slow_handler(). The fast handlers therefore call nothing
/// and save no registers, except for operations without an override (rounding to an integer, estimates).
template <bool kNear, bool kSlow>
struct Interpreter {
  Lane* lane;
  const Operands* op;
  u64 bias;
  u32* table;
  u8* frames;
  const Operands* target = nullptr;
  bool missed = false;

  /// Fast handlers only use overrides of floating-point arithmetic; slow ones call the reference where no override
  /// applies.
  using Fp = NativeFpContext<!kSlow>;
  MYR_FN bool give_up() {
    missed = true;
    return false;
  }

  MYR_FN u64 r(u32 slot) const { return lane->r[slot]; }
  MYR_FN void set_r(u32 slot, u64 value) { lane->r[slot] = value; }
  MYR_FN Flags flags() const { return lane->flags(); }
  MYR_FN void set_flags(Flags flags) { lane->set_flags(flags); }
  MYR_FN u64 pc() const { return lane->place.pc_of(op); }
  MYR_FN u64 retired() const { return (bias + reinterpret_cast<u64>(op)) / sizeof(Operands); }
  MYR_FN u64 system(SystemField field) const { return lane->system[static_cast<int>(field)]; }
  MYR_FN void set_system(SystemField field, u64 value) { lane->system[static_cast<int>(field)] = value; }
  MYR_FN u64 v(u32 n, u32 half) const { return lane->v[2 * n + half]; }
  MYR_FN void set_v(u32 n, u32 half, u64 value) { lane->v[2 * n + half] = value; }

  MYR_FN PagedMemory<1> memory() const { return {frames, table, lane->first_page, lane->page_count, 0}; }
  MYR_FN SlowLoad load_slow(u64 address, u32 size) {
    if constexpr (kSlow) return cpu::load_slow(lane, address, size);
    missed = true;
    return {0, false};
  }
  MYR_FN bool store_slow(u64 address, u64 value, u32 size) {
    if constexpr (kSlow) return cpu::store_slow(lane, address, value, size);
    missed = true;
    return false;
  }
  MYR_FN bool store_pair_slow(u64 address, u64 first, u64 second, u32 size) {
    if constexpr (kSlow) return cpu::store_pair_slow(lane, address, first, second, size);
    missed = true;
    return false;
  }

  MYR_FN Outcome branch_relative(i64 offset) {
    if (!kNear) return branch_to(pc() + static_cast<u64>(offset));
    target = reinterpret_cast<const Operands*>(reinterpret_cast<const u8*>(op) + offset * 4);
    return Outcome::branch;
  }
  MYR_FN Outcome branch_to(u64 address) {
    u64 delta = address - lane->place.code_address;
    if (MYR_LIKELY(delta < lane->place.code_bytes && (delta & 3) == 0)) {
      target = reinterpret_cast<const Operands*>(reinterpret_cast<const u8*>(lane->place.code) + delta * 4);
    } else {
      lane->place.far_pc = address;
      target = &lane->place.far;
    }
    return Outcome::branch;
  }
  MYR_FN Outcome stop(StopCode code, u32 detail, u64 address) {
    lane->stop = stop_record(code, detail, address);
    return Outcome::stop;
  }
  MYR_FN Outcome fault(FaultCode fault, u64 address) {
    lane->stop = fault_record(fault, address);
    return Outcome::stop;
  }
  MYR_FN Outcome undefined() { return stop(StopCode::undefined, 0, 0); }  // run_interpreter() adds the word
};
static_assert(Cpu<Interpreter<true, true>> && Cpu<Interpreter<false, false>>);
static_assert(sizeof(Operands) == 4 * sizeof(u32), "pc distance times four is the distance of Operands");

// What each kind does, by name, so that a pair can call its two kinds.
#define GROUP(name, title)
#define UNDEFINED(name, bits, reason)
#define A64(name, syntax, bits, form, semantics, feature)  \
  struct Do_kRow_##name {                                  \
    static constexpr bool kNear = false;                   \
    template <class C>                                     \
    MYR_FN static Outcome run(C& cpu, const Operands& o) { \
      return semantics(cpu, o);                            \
    }                                                      \
  };
#include "isa/a64.inc"
#undef GROUP
#undef A64
#undef UNDEFINED

// A kind of specialisations.inc calls what it is made from. Near branches are near, and so is all that is made from
// them.
#define NEAR(row)                                          \
  struct Do_kKind_near_##row {                             \
    static constexpr bool kNear = true;                    \
    template <class C>                                     \
    MYR_FN static Outcome run(C& cpu, const Operands& o) { \
      return Do_kRow_##row::run(cpu, o);                   \
    }                                                      \
  };
#define PIN(name, from, condition, pins)                          \
  struct Do_kKind_##name {                                        \
    static constexpr bool kNear = Do_##from::kNear;               \
    template <class C>                                            \
    MYR_FN static Outcome run(C& cpu, const Operands& operands) { \
      Operands o = operands;                                      \
      pins;                                                       \
      return Do_##from::run(cpu, o);                              \
    }                                                             \
  };
#define FUSE(name, first, second)
#include "backends/cpu/interpreter/specialisations.inc"
#undef NEAR
#undef PIN
#undef FUSE

__attribute__((noinline)) void leave(MYR_ARGUMENTS) {
  (void)handlers, (void)table, (void)frames;
  lane->place.op = op;
  lane->place.bias = bias;
  lane->place.far.kind = kKindCount;  // tells the loop of unthreaded builds to end
}

/// After a taken branch: counts it, checks the limit, and dispatches.
#define MYR_TAKEN(target)                                                \
  do {                                                                   \
    u64 retired16 = bias + reinterpret_cast<u64>(op) + sizeof(Operands); \
    op = (target);                                                       \
    bias = retired16 - reinterpret_cast<u64>(op);                        \
    if (MYR_UNLIKELY(retired16 >= lane->place.fast_limit)) {             \
      MYR_TAIL_CALL leave(lane, op, bias, handlers, table, frames);      \
    }                                                                    \
    MYR_DISPATCH();                                                      \
  } while (0)

template <class Do>
__attribute__((noinline)) void slow_handler(MYR_ARGUMENTS) {
  Interpreter<Do::kNear, true> cpu{lane, op, bias, table, frames};
  Outcome outcome = Do::run(cpu, *op);
  if (outcome == Outcome::next) {
    op++;
    MYR_DISPATCH();
  }
  if (outcome == Outcome::branch) MYR_TAKEN(cpu.target);
  return leave(lane, op, bias, handlers, table, frames);
}

template <class Do>
void handler(MYR_ARGUMENTS) {
  Interpreter<Do::kNear, false> cpu{lane, op, bias, table, frames};
  Outcome outcome = Do::run(cpu, *op);
  if (outcome == Outcome::next) {
    op++;
    MYR_DISPATCH();
  }
  if (outcome == Outcome::branch) MYR_TAKEN(cpu.target);
  if (cpu.missed) MYR_TAIL_CALL slow_handler<Do>(lane, op, bias, handlers, table, frames);
  MYR_TAIL_CALL leave(lane, op, bias, handlers, table, frames);
}

template <class First, class Second>
void pair_handler(MYR_ARGUMENTS) {
  {
    Interpreter<First::kNear, false> cpu{lane, op, bias, table, frames};
    if (First::run(cpu, *op) != Outcome::next) {
      if (cpu.missed) MYR_TAIL_CALL slow_handler<First>(lane, op, bias, handlers, table, frames);
      MYR_TAIL_CALL leave(lane, op, bias, handlers, table, frames);
    }
  }
  op++;
  Interpreter<Second::kNear, false> cpu{lane, op, bias, table, frames};
  Outcome outcome = Second::run(cpu, *op);
  if (outcome == Outcome::next) {
    op++;
    MYR_DISPATCH();
  }
  if (outcome == Outcome::branch) MYR_TAKEN(cpu.target);
  if (cpu.missed) MYR_TAIL_CALL slow_handler<Second>(lane, op, bias, handlers, table, frames);
  MYR_TAIL_CALL leave(lane, op, bias, handlers, table, frames);
}

void undefined_handler(MYR_ARGUMENTS) {
  Interpreter<false, true> cpu{lane, op, bias, table, frames};
  cpu.undefined();
  return leave(lane, op, bias, handlers, table, frames);
}

/// A branch out of the area, or a word that has no predecoded instruction: finds the one at its address.
void far_handler(MYR_ARGUMENTS) {
  u64 pc = op == &lane->place.far ? lane->place.far_pc : lane->place.pc_of(op);
  u64 retired16 = bias + reinterpret_cast<u64>(op);
  if (retired16 >= lane->place.fast_limit) return leave(lane, op, bias, handlers, table, frames);
  // Calls of libraries and returns from them change between two areas.
  if (InterpreterPlace& place = lane->place; pc - place.other_address < place.other_bytes && (pc & 3) == 0) {
    const Operands* there = place.other_code + (pc - place.other_address) / 4;
    if (kind_of(*there) != kKindFar) {
      place.change_areas();
      op = there;
      bias = retired16 - reinterpret_cast<u64>(op);
      MYR_DISPATCH();
    }
  }
  bool entered = enter_code(*lane, pc, retired16 / sizeof(Operands));
  op = lane->place.op;
  bias = lane->place.bias;
  // With other code fast_limit may have to be lower.
  if (!entered || lane->restart) return leave(lane, op, bias, handlers, table, frames);
  MYR_DISPATCH();
}

/// A word that the lane has written to since it was decoded.
void lazy_handler(MYR_ARGUMENTS) {
  decode_written_words(*lane, lane->place.pc_of(op));
  MYR_DISPATCH();
}

const RegionEntry& entry_at(const InterpreterPlace& place, const Operands* op) {
  (void)kind_of(*op, std::memory_order_acquire);  // as SpaceEntries::at() wants it
  return place.entries->at(place.pc_of(op));
}

/// Whether the lane is often where regions have left it.
bool is_hot_exit(Lane& lane, const Operands* op) {
  if (lane.exits == nullptr || kind_of(*op) == kKindRegion) return false;
  const u64 pc = op == &lane.place.far ? lane.place.far_pc : lane.place.pc_of(op);
  lane.is_at_hot_exit = lane.exits->count(&code_of(lane), pc, lane.hot_exit);
  return lane.is_at_hot_exit;
}

/// For lanes that change between the tiers wherever they can.
struct Change {
  bool passes;  // the region, by interpretation
  u64 most;     // instructions of the visit
};
Change next_change(Lane& lane) {
  lane.change_random = lane.change_random * 6364136223846793005u + 1442695040888963407u;
  const u64 random = lane.change_random >> 33;
  return {random % 4 == 0, 1 + random / 4 % lane.longest_visit};
}

/// An entry of a region: runs the region and goes on where the lane has left it.
template <bool kChanges>
void region_handler(MYR_ARGUMENTS) {
  InterpreterPlace& place = lane->place;
  const RegionEntry& entry = entry_at(place, op);
  const u64 retired = (bias + reinterpret_cast<u64>(op)) / sizeof(Operands),
            limit = place.step_limit / sizeof(Operands);
  Change change = {false, ~u64{0}};
  if constexpr (kChanges) change = next_change(*lane);
  // Else regions could retire too many.
  if (limit - retired > lane->longest_region_run && !change.passes) {
    lane->pc = place.pc_of(op);
    lane->retired = retired;
    if (lane->found_is_stale) lane->forget_found_pages();
    lane->is_in_region = true;
    u64 region_limit = std::min(place.fast_limit / sizeof(Operands), limit - lane->longest_region_run);
    if constexpr (kChanges) region_limit = std::min(region_limit, retired + change.most);
    const translate::RegionEnd end = run_region(lane, entry, place.entries->points(), region_limit);
    lane->is_in_region = false;
    lane->translated += lane->retired - retired;
    if (end == translate::RegionEnd::stopped || lane->retired != retired) {
      const u64 delta = lane->pc - place.code_address, retired16 = lane->retired * sizeof(Operands);
      if (delta < place.code_bytes && (delta & 3) == 0) {
        op = place.code + delta / 4;
      } else {
        place.far_pc = lane->pc;
        op = &place.far;
      }
      bias = retired16 - reinterpret_cast<u64>(op);
      if (end == translate::RegionEnd::stopped || retired16 >= place.fast_limit || is_hot_exit(*lane, op)) {
        MYR_TAIL_CALL leave(lane, op, bias, handlers, table, frames);
      }
      MYR_DISPATCH();
    }
  }
  // The region has done nothing: the interpreter brings the lane past its entry.
  MYR_TAIL_CALL handlers[entry.kind].run(lane, op, bias, handlers, table, frames);
}

/// The same where regions are not to be used.
void entry_handler(MYR_ARGUMENTS) {
  const RegionEntry& entry = entry_at(lane->place, op);
  MYR_TAIL_CALL handlers[entry.kind].run(lane, op, bias, handlers, table, frames);
}

/// Runs before every instruction while stepping: checks the exact limit, then runs the row itself, never a pair.
void step_handler(MYR_ARGUMENTS);

constexpr bool is_todo(const char* semantics) {
  return semantics[0] == 't' && semantics[1] == 'o' && semantics[2] == 'd';
}

struct HandlerTables {
  Handler fast[kKindCount];
  Handler step[kKindCount];
  Handler translated[kKindCount];  // as fast, and goes into regions
  Handler changing[kKindCount];    // the same, for tests
  HandlerTables() {
    for (Handler& entry : fast) entry = {undefined_handler};
    for (Handler& entry : step) entry = {step_handler};
#define GROUP(name, title)
#define UNDEFINED(name, bits, reason)
#define A64(name, syntax, bits, form, semantics, feature) \
  if constexpr (!is_todo(#semantics)) fast[kRow_##name] = {handler<Do_kRow_##name>};
#include "isa/a64.inc"
#undef GROUP
#undef A64
#undef UNDEFINED
#define NEAR(row) fast[kKind_near_##row] = {handler<Do_kKind_near_##row>};
#define PIN(name, from, condition, pins) fast[kKind_##name] = {handler<Do_kKind_##name>};
#define FUSE(name, first, second) fast[kKind_##name] = {pair_handler<Do_##first, Do_##second>};
#include "backends/cpu/interpreter/specialisations.inc"
#undef NEAR
#undef PIN
#undef FUSE
    for (Handler* handlers : {fast, step}) {
      handlers[kKindFar] = {far_handler};
      handlers[kKindLazy] = {lazy_handler};
    }
    fast[kKindRegion] = {entry_handler};
    std::copy(std::begin(fast), std::end(fast), translated);
    std::copy(std::begin(fast), std::end(fast), changing);
    translated[kKindRegion] = {region_handler<false>};
    changing[kKindRegion] = {region_handler<true>};
  }
};
const HandlerTables kHandlers;

void step_handler(MYR_ARGUMENTS) {
  if (bias + reinterpret_cast<u64>(op) >= lane->place.step_limit) return leave(lane, op, bias, handlers, table, frames);
  const u32 kind = op->row == kRowUndefined ? u32{kKindUndefined} : op->row;
  MYR_TAIL_CALL kHandlers.fast[kind].run(lane, op, bias, handlers, table, frames);
}

/// Runs handlers from the lane's place on until one leaves.
void run_handlers(Lane& lane, const Handler* handlers) {
  InterpreterPlace& place = lane.place;
  place.far.kind = kKindFar;
#if MYR_THREADED
  handlers[kind_of(*place.op)].run(&lane, place.op, place.bias, handlers, lane.table, lane.frames);
#else
  while (place.far.kind == kKindFar) {
    handlers[kind_of(*place.op)].run(&lane, place.op, place.bias, handlers, lane.table, lane.frames);
  }
#endif
}

/// EngineEntry::run with these handlers where it need not step.
void run_with(const Handler* fast, Lane& lane, u64 limit, u64 quantum) {
  InterpreterPlace& place = lane.place;
  place.code_bytes = place.other_bytes = 0;  // those of before may be of another space
  if (!enter_code(lane, lane.pc, lane.retired)) return;
  lane.restart = false;
  // The fast handlers may overrun a limit by the longest run without a taken branch. So they stop that far before it,
  // and the rest is stepped.
  const u64 slack = longest_run(lane);
  const bool stepping = limit - lane.retired <= slack;
  const u64 until = stepping ? limit : std::min(limit - slack, lane.retired + quantum);
  place.fast_limit = until * sizeof(Operands);
  place.step_limit = limit * sizeof(Operands);
  run_handlers(lane, stepping ? kHandlers.step : fast);
  lane.pc = place.op == &place.far ? place.far_pc : place.pc_of(place.op);
  lane.retired = (place.bias + reinterpret_cast<u64>(place.op)) / sizeof(Operands);
  if (lane.stop.code == StopCode::undefined) lane.stop.address = fetch_word(lane, lane.pc);
}

}  // namespace

void run_interpreter(Lane& lane, u64 limit, u64 quantum) { run_with(kHandlers.fast, lane, limit, quantum); }
void run_translated(Lane& lane, u64 limit, u64 quantum) {
  run_with(kHandlers.translated, lane, limit, quantum);
  drop_left_code(lane);
}
void run_translated_changing(Lane& lane, u64 limit, u64 quantum) {
  run_with(kHandlers.changing, lane, limit, quantum);
  drop_left_code(lane);
}

}  // namespace myriarm::cpu
