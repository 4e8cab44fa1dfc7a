// SPDX-License-Identifier: Apache-2.0
// What the tests of modes, policies and snapshots share: every way to start a run, the whole state of a fleet for
// comparisons, and the wandering program, which accesses its data in another order in each lane.
#pragma once

#include <algorithm>
#include <ostream>
#include <random>

#include "fleet_fixture.h"

namespace fleet_test {

using myriarm::BatchReport;
using myriarm::kEndless;
using myriarm::MemoryPolicy;
using myriarm::Mode;
using myriarm::Poll;
using myriarm::RunOptions;
using myriarm::RunResult;
using myriarm::Signal;
using myriarm::Snapshot;
using myriarm::StateError;
using myriarm::SyscallAction;
using myriarm::SyscallBatch;

/// A way to run: a mode, in this thread or with start() and wait().
struct How {
  const char* name;
  Mode mode;
  bool async;
  bool batches() const { return mode == Mode::continuous || mode == Mode::self_dispatch; }
};
inline std::ostream& operator<<(std::ostream& out, const How& how) { return out << how.name; }

constexpr How kHows[] = {{"run", Mode::run, false},
                         {"continuous", Mode::continuous, false},
                         {"mega", Mode::mega, false},
                         {"self_dispatch", Mode::self_dispatch, false},
                         {"async", Mode::run, true},
                         {"async_continuous", Mode::continuous, true},
                         {"async_self_dispatch", Mode::self_dispatch, true}};

inline const char* policy_name(MemoryPolicy policy) {
  switch (policy) {
    case MemoryPolicy::private_copy: return "private";
    case MemoryPolicy::read_only: return "read_only";
    case MemoryPolicy::transactional: return "transactional";
    case MemoryPolicy::shared: return "shared";
    case MemoryPolicy::device_shared: return "device_shared";
  }
  return "unknown";
}
constexpr MemoryPolicy kPolicies[] = {MemoryPolicy::private_copy, MemoryPolicy::read_only, MemoryPolicy::transactional,
                                      MemoryPolicy::shared, MemoryPolicy::device_shared};
constexpr MemoryPolicy kWritablePolicies[] = {MemoryPolicy::private_copy, MemoryPolicy::transactional,
                                              MemoryPolicy::shared, MemoryPolicy::device_shared};

inline FleetOptions options_of(uint64_t lanes, MemoryPolicy policy, uint64_t memory = kEnd - kCode) {
  FleetOptions options = options_of(lanes, memory);
  options.memory_policy = policy;
  return options;
}
inline Fleet fleet_of(const Words& words, uint64_t lanes, MemoryPolicy policy,
                      uint32_t code_permissions = kRead | kExecute) {
  return Fleet(program_of(words, code_permissions), options_of(lanes, policy));
}

/// Runs as `how` says. A mode that needs a budget gets one that no test reaches.
inline RunResult drive(Fleet& fleet, const How& how, RunOptions options = {}) {
  options.mode = how.mode;
  if (how.mode == Mode::mega && options.instructions == kEndless) options.instructions = uint64_t{1} << 40;
  if (!how.async) return fleet.run(options);
  fleet.start(options);
  return fleet.wait().value();
}
inline RunOptions budget_of(uint64_t instructions, uint64_t per_batch = 10'000'000) {
  RunOptions options;
  options.instructions = instructions;
  options.instructions_per_batch = per_batch;
  return options;
}

/// How many lanes got this stop, by a result or a report.
template <class Report>
uint64_t stops_of(const Report& report, StopReason reason) {
  return report.stops[static_cast<size_t>(reason)];
}
template <class Report>
uint64_t all_stops(const Report& report) {
  return std::accumulate(report.stops.begin(), report.stops.end(), uint64_t{0});
}

inline bool operator==(const Stop& a, const Stop& b) {
  return a.reason == b.reason && a.fault == b.fault && a.detail == b.detail && a.address == b.address;
}

/// The whole state of a lane: all fields, its stop, and the pages of a range; `mapped` has the number of readable bytes
/// of each page.
struct LaneState {
  std::vector<uint64_t> fields;
  Stop stop;
  std::vector<uint8_t> memory;
  std::vector<uint32_t> mapped;
};

/// The first difference of two states, as text; empty if there is none.
inline std::string difference(const LaneState& have, const LaneState& want) {
  for (size_t f = 0; f < have.fields.size(); f++) {
    if (have.fields[f] == want.fields[f]) continue;
    return "field " + std::to_string(f) + " of those compared is " + std::to_string(have.fields[f]) + ", not " +
           std::to_string(want.fields[f]);
  }
  if (!(have.stop == want.stop)) return describe(0, have.stop) + "\nnot " + describe(0, want.stop);
  if (have.mapped != want.mapped) {
    for (size_t page = 0; page < have.mapped.size(); page++) {
      if (have.mapped[page] != want.mapped[page])
        return "page " + std::to_string(page) + " of the range is mapped in one";
    }
  }
  if (have.memory == want.memory) return {};
  auto at = std::mismatch(have.memory.begin(), have.memory.end(), want.memory.begin()).first - have.memory.begin();
  return "byte " + std::to_string(at) + " of the range is " + std::to_string(have.memory[static_cast<size_t>(at)]) +
         ", not " + std::to_string(want.memory[static_cast<size_t>(at)]);
}

inline std::vector<Field> all_fields() {
  std::vector<Field> fields;
  for (unsigned f = 0; f < static_cast<unsigned>(Field::count); f++) fields.push_back(static_cast<Field>(f));
  return fields;
}

/// The state of every lane, with these fields and the pages from `begin` to `end`.
inline std::vector<LaneState> states_of(const Fleet& fleet, uint64_t begin = kData,
                                        uint64_t end = kData + 4 * kPageBytes,
                                        const std::vector<Field>& fields = all_fields()) {
  const uint64_t lanes = fleet.lanes(), size = end - begin, pages = size / kPageBytes;
  std::vector<Transfer> transfers;
  for (uint64_t lane = 0; lane < lanes; lane++) {
    for (uint64_t page = 0; page < pages; page++) {
      transfers.push_back(
          {static_cast<uint32_t>(lane), kPageBytes, begin + page * kPageBytes, lane * size + page * kPageBytes});
    }
  }
  std::vector<uint8_t> buffer(lanes * size);
  std::vector<uint32_t> done(transfers.size());
  fleet.read(transfers, buffer, done);
  std::vector<LaneState> states(lanes);
  std::vector<uint64_t> values(lanes);
  for (Field field : fields) {
    fleet.get_all(field, values);
    for (uint64_t lane = 0; lane < lanes; lane++) states[lane].fields.push_back(values[lane]);
  }
  for (uint64_t lane = 0; lane < lanes; lane++) {
    states[lane].stop = fleet.stops()[lane];
    auto from = buffer.begin() + static_cast<std::ptrdiff_t>(lane * size);
    states[lane].memory.assign(from, from + static_cast<std::ptrdiff_t>(size));
    auto first = done.begin() + static_cast<std::ptrdiff_t>(lane * pages);
    states[lane].mapped.assign(first, first + static_cast<std::ptrdiff_t>(pages));
  }
  return states;
}

/// True if all lanes are equal; else the first that differs is reported.
inline bool expect_same(const std::vector<LaneState>& have, const std::vector<LaneState>& want,
                        const std::string& what) {
  EXPECT_EQ(have.size(), want.size());
  for (size_t lane = 0; lane < std::min(have.size(), want.size()); lane++) {
    std::string differs = difference(have[lane], want[lane]);
    if (differs.empty()) continue;
    ADD_FAILURE() << what << ": lane " << lane << ": " << differs;
    return false;
  }
  return true;
}

/// More instructions; ModeFixture.WordsAreWhatTheySay in modes_test.cpp compares them with the disassembler.
constexpr uint32_t ubfx(uint32_t d, uint32_t n, uint32_t lsb, uint32_t width) {
  return 0xD3400000 | lsb << 16 | (lsb + width - 1) << 10 | n << 5 | d;
}
using guest::tbnz;
constexpr uint32_t stxr(uint32_t s, uint32_t t, uint32_t n) { return 0xC8007C00 | s << 16 | n << 5 | t; }
constexpr uint32_t add_shifted(uint32_t d, uint32_t n, uint32_t m, uint32_t lsl) {
  return guest::add_register(d, n, m) | lsl << 10;
}

/// x24 rounds through two pages of data from x21 on: a load, mostly a store, sometimes a call with a short loop, all as
/// x19 has it, which begins differently in each lane. Ends with HLT #7. If it changes itself, an ADD in the loop gets
/// another constant now and then.
inline Words wandering_program(bool changes_itself = false) {
  return {guest::madd(19, 19, 20, 22), ubfx(1, 19, 33, 13), guest::add_register(1, 1, 21), guest::ldr(3, 2, 1),
          guest::eor_register(23, 23, 2), tbnz(19, 60, 2), guest::str(3, 23, 1), tbnz(19, 61, 2), guest::bl(9),
          tbnz(19, 62, 4), ubfx(4, 19, 40, 12), add_shifted(4, 27, 4, 10), guest::str(2, 4, changes_itself ? 26 : 21),
          guest::add(5, 5, 1),  // kPatchedWord
          guest::subs(24, 24, 1), guest::b_cond(guest::kNe, -15), guest::hlt(7),
          // The function.
          ubfx(7, 19, 50, 3), guest::cbz(7, 4), guest::sub(7, 7, 1), guest::add_register(6, 6, 7), guest::b(-3),
          guest::ret()};
}
constexpr uint64_t kPatchedWord = kCode + 13 * 4;

/// Sets the registers that the wandering program begins with.
inline void prepare_wandering(Fleet& fleet, uint64_t rounds) {
  set_each(fleet, x(19), [](uint64_t lane) { return (lane + 1) * 0x9E3779B97F4A7C15; });
  fleet.fill(x(20), 6364136223846793005);
  fleet.fill(x(21), kData);
  fleet.fill(x(22), 1442695040888963407);
  set_each(fleet, x(24), [&](uint64_t lane) { return rounds + lane % 7; });
  fleet.fill(x(26), kPatchedWord);
  fleet.fill(x(27), guest::add(5, 5, 0));
}

}  // namespace fleet_test
