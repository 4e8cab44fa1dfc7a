// SPDX-License-Identifier: Apache-2.0
// Compares one lane with Unicorn.
#include "compare.h"

#include <cstdio>
#include <cstring>

#include "isa/decoder.h"

namespace myriarm::differential {
namespace {

/// Whether unaligned accesses of this row fault.
bool must_be_aligned(u16 row) {
  for (std::string_view group :
       {"ldstexclr", "ldstexclp", "ldstord", "ldapr", "ldapstl_unscaled", "memop", "comswap", "comswappr"}) {
    if (kRowInfos[row].group == group) return true;
  }
  return false;
}

/// Whether the stops are the same, or differ in a known way.
bool stops_agree(const Batch& batch, const State& ours, const State& unicorn, uint64_t pc) {
  const Stop &a = ours.stop, &b = unicorn.stop;
  if (a.reason == StopReason::fault && a.fault == FaultKind::alignment) {
    // QEMU 5, from which Unicorn 2.0 is made, fetches from addresses that are not multiples of 4.
    if (pc & 3) return true;
    // It checks the alignment of exclusives, atomics and ordered accesses late or never: the check for a missing page
    // comes first, and a store exclusive without a monitor makes no access.
    uint64_t index = (pc - Layout::code_begin) / 4;
    return index < batch.code.size() && must_be_aligned(decode(decode_table(), batch.code[index]).row) &&
           (a.address & 15) != 0;
  }
  if (a.reason != b.reason) return false;
  if (a.reason == StopReason::undefined) return a.address == b.address;
  if (a.reason != StopReason::fault) return true;
  return a.fault == b.fault;
}

/// If the monitor is clear, an unaligned store exclusive fails in myriarm without a fault; Unicorn 2.1 checks the
/// alignment first, as the manual allows (docs/design/unpredictable.md).
bool refused_store_exclusive(const Batch& batch, const State& unicorn, uint64_t pc) {
  if (unicorn.stop.reason != StopReason::fault || unicorn.stop.fault != FaultKind::alignment) return false;
  const uint64_t index = (pc - Layout::code_begin) / 4;
  if (index >= batch.code.size()) return false;
  const uint32_t word = batch.code[index];
  const std::string_view group = kRowInfos[decode(decode_table(), word).row].group;
  const bool is_store = (word >> 22 & 1) == 0;
  return is_store && (group == "ldstexclr" || group == "ldstexclp");
}

size_t index_of(const Batch& batch, Field field) {
  for (size_t i = 0; i < batch.fields.size(); i++) {
    if (batch.fields[i] == field) return i;
  }
  return 0;
}

bool same_registers_and_memory(const UnicornEngine& unicorn, const State& expected, const State& ours) {
  return expected.values == ours.values && expected.instructions == ours.instructions &&
         std::memcmp(unicorn.memory(), ours.memory.data(), ours.memory.size()) == 0;
}

/// Compares the states after exactly ours.instructions instructions.
bool states_agree(UnicornEngine& unicorn, const Batch& batch, uint32_t lane, const State& ours, State& expected) {
  expected = unicorn.run(batch, lane, ours.instructions);
  return same_registers_and_memory(unicorn, expected, ours);
}

}  // namespace

Verdict compare(UnicornEngine& unicorn, const Batch& batch, uint32_t lane, const State& ours) {
  auto verdict = [](bool same) { return same ? Verdict::same : Verdict::different; };
  State theirs = unicorn.run(batch, lane, batch.options.limit);
  const bool in_top_byte = unicorn.in_top_byte();
  if (in_top_byte && ours.instructions > theirs.instructions) return Verdict::not_comparable;
  if (ours.instructions > theirs.instructions &&
      refused_store_exclusive(batch, theirs, theirs.values[index_of(batch, Field::pc)])) {
    return Verdict::not_comparable;
  }
  if (!stops_agree(batch, ours, theirs, ours.values[index_of(batch, Field::pc)])) {
    return in_top_byte && ours.instructions == theirs.instructions ? Verdict::not_comparable : Verdict::different;
  }
  // After a fault Unicorn may have stored a part, and after a tolerated difference it may have executed more.
  if (ours.stop.reason != StopReason::fault) return verdict(same_registers_and_memory(unicorn, theirs, ours));
  State expected;
  return verdict(states_agree(unicorn, batch, lane, ours, expected));
}

void tell(UnicornEngine& unicorn, const Batch& batch, uint32_t lane, const std::string& device,
          const std::string& reproduce) {
  const size_t pc = index_of(batch, Field::pc);
  State before = run_on(batch, device, lane, 1, 0).state(0);
  State ours = before, expected = before;
  bool same = true;
  for (uint64_t count = 1; same && count <= batch.options.limit; count++) {
    State next = run_on(batch, device, lane, 1, count).state(0);
    if (next.instructions < count) {  // myriarm's lane stops here
      before = ours;
      ours = next;
      break;
    }
    same = states_agree(unicorn, batch, lane, next, expected);
    before = ours;
    ours = next;
  }
  std::printf("\nDIFFERENT: case %u of batch seed %llu\n", lane, static_cast<unsigned long long>(batch.options.seed));
  if (same) {  // the states agree up to the stop of myriarm; the stops, or the states at the stop, differ
    before = ours;
    expected = unicorn.run(batch, lane, batch.options.limit);
  }
  expected.memory.assign(unicorn.memory(), unicorn.memory() + Layout::data_bytes);
  print_listing(batch, lane, before.values[pc]);
  print_states(batch, before, ours, "myriarm", expected, "Unicorn");
  std::printf("reproduce: %s\n", reproduce.c_str());
  std::fflush(stdout);
}

}  // namespace myriarm::differential
