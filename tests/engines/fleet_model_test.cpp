// SPDX-License-Identifier: Apache-2.0
// Random stores, patched functions, host writes, mappings, snapshots, restores, forks and lanes that give their memory
// back, compared with a model that keeps every lane's memory as plain bytes: sharing, copying and predecoding of pages must not affect a result.
#include <algorithm>
#include <map>
#include <random>

#include "fleet_fixture.h"

namespace {

using namespace fleet_test;
using myriarm::MemoryPolicy;
using myriarm::Placement;
using myriarm::Snapshot;

// Two stores, a call and the end. The functions that it calls are 8 bytes each and lie in two pages.
constexpr uint64_t kBegin = 0x10000;
constexpr uint64_t kPatched = 0x12000;  // read, write, execute; functions from the start
constexpr uint64_t kFilled = 0x14000;   // the same, zeros at the start
constexpr uint64_t kStores = 0x16000;   // 10 pages of data, the first two with bytes
constexpr uint64_t kPages = 16;
constexpr uint64_t kFirstData = (kStores - kBegin) / kPageBytes;

uint64_t function(uint32_t imm) { return uint64_t{guest::ret()} << 32 | guest::add(6, 6, imm & 4095); }

Program program_with(uint32_t seed) {
  std::vector<uint8_t> functions(kPageBytes), data(2 * kPageBytes);
  for (uint32_t i = 0; i < kPageBytes / 8; i++) {
    const uint64_t code = function(i * 7 + seed);
    std::memcpy(functions.data() + i * 8, &code, 8);
  }
  for (size_t i = 0; i < data.size(); i++) data[i] = static_cast<uint8_t>(i * 13 + seed);
  Program program;
  program.name = "model";
  program.entry = kBegin;
  program.segments = {{kBegin, kPageBytes, kRead | kExecute,
                       bytes_of({guest::str(3, 1, 0), guest::str(3, 3, 2), guest::blr(5), guest::hlt(0)})},
                      {kPatched, kPageBytes, kRead | kWrite | kExecute, functions},
                      {kFilled, kPageBytes, kRead | kWrite | kExecute, {}},
                      {kStores, 10 * kPageBytes, kRead | kWrite, data}};
  return program;
}

/// The state of a lane that the test compares.
struct ModelLane {
  std::vector<uint8_t> bytes = std::vector<uint8_t>(kPages * kPageBytes);
  std::vector<int> permissions = std::vector<int>(kPages, -1);  // -1: not mapped
  bool has_memory = true;
  uint64_t x6 = 0, pc = kBegin, instructions = 0;
  Stop stop = {};

  void load(const Program& program) {
    for (const Segment& s : program.segments) {
      std::copy(s.bytes.begin(), s.bytes.end(), bytes.begin() + static_cast<long>(s.address - kBegin));
      for (uint64_t at = 0; at < s.size; at += kPageBytes) {
        permissions[(s.address + at - kBegin) / kPageBytes] = static_cast<int>(s.permissions);
      }
    }
  }
  uint64_t word(uint64_t address) const { return number_of(std::span(bytes).subspan(address - kBegin, 8)); }
  /// False: the store faults.
  bool store(uint64_t address, uint64_t value) {
    for (uint64_t at : {address, address + 7}) {
      const int page = permissions[(at - kBegin) / kPageBytes];
      if (page > 0 && (page & static_cast<int>(kWrite))) continue;
      const FaultKind kind = page < 0 ? FaultKind::unmapped : FaultKind::write;
      stop = {StopReason::fault, kind, 0, at == address ? address : at & ~(kPageBytes - 1)};
      return false;
    }
    std::memcpy(bytes.data() + (address - kBegin), &value, 8);
    return true;
  }
  void run(uint64_t x0, uint64_t x1, uint64_t x2, uint64_t x3, uint64_t x5) {
    stop = {};
    pc = kBegin;
    if (!store(x0, x1)) return;
    pc += 4, instructions++;
    if (!store(x2, x3)) return;
    pc += 4, instructions += 2;
    const uint32_t first = static_cast<uint32_t>(word(x5));
    if ((first & 0xFFC003FF) != guest::add(6, 6, 0)) {
      stop = {StopReason::undefined, FaultKind::none, 0, first};
      pc = x5;
      return;
    }
    x6 += first >> 10 & 4095;
    pc += 4, instructions += 2;
    stop = halt();
  }
};

struct ModelSnapshot {
  Snapshot real;
  std::map<uint32_t, ModelLane> lanes;
};

class Model : public testing::TestWithParam<std::tuple<MemoryPolicy, uint64_t>> {
 protected:
  static constexpr uint32_t kLanes = 40;

  static FleetOptions options() {
    FleetOptions options = options_of(kLanes, std::get<1>(GetParam()));
    options.memory_policy = std::get<0>(GetParam());
    return options;
  }
  Program one = program_with(1), other = program_with(1000);
  std::vector<Placement> placements = {{one, 32}, {other, kLanes - 32}};
  Fleet fleet{placements, options()};
  std::vector<ModelLane> model = std::vector<ModelLane>(kLanes);
  std::vector<ModelSnapshot> snapshots;
  std::mt19937_64 random{20};

  uint64_t below(uint64_t n) { return random() % n; }
  std::vector<uint32_t> some_lanes() {
    std::vector<uint32_t> lanes;
    for (uint32_t lane = 0; lane < kLanes; lane++) {
      if (below(3) == 0) lanes.push_back(lane);
    }
    if (lanes.empty()) lanes.push_back(static_cast<uint32_t>(below(kLanes)));
    return lanes;
  }
  std::vector<uint32_t> some_lanes_with_memory() {
    std::vector<uint32_t> lanes = some_lanes();
    std::erase_if(lanes, [this](uint32_t lane) { return !model[lane].has_memory; });
    return lanes;
  }
  uint64_t data_address() {
    const uint64_t size = 10 * kPageBytes - 8;
    return kStores + (below(4) ? below(size) & ~uint64_t{7} : below(size));
  }
  uint64_t function_address() { return (below(2) ? kPatched : kFilled) + below(24) * 8; }

  void SetUp() override {
    for (uint32_t lane = 0; lane < kLanes; lane++) model[lane].load(lane < 32 ? one : other);
  }
  void run() {
    const std::vector<uint32_t> lanes = some_lanes_with_memory();
    std::vector<uint64_t> values[5];
    for (uint32_t lane : lanes) {
      uint64_t x[] = {data_address(), random(), below(2) ? function_address() : data_address(),
                      function(static_cast<uint32_t>(random())), function_address()};
      if (x[2] < kStores && below(2)) x[4] = x[2];  // what it has just written
      for (int i = 0; i < 5; i++) values[i].push_back(x[i]);
      model[lane].run(x[0], x[1], x[2], x[3], x[4]);
    }
    const unsigned registers[] = {0, 1, 2, 3, 5};
    for (int i = 0; i < 5; i++) fleet.set(x(registers[i]), lanes, values[i]);
    fleet.set(Field::pc, lanes, std::vector<uint64_t>(lanes.size(), kBegin));
    fleet.resume(lanes);
    // The others keep the stops that they have; at first they have none, and would run.
    if (below(2)) {
      myriarm::RunOptions only;
      only.lanes = lanes;
      EXPECT_EQ(fleet.run(only).lanes_run, lanes.size());
      return;
    }
    std::vector<uint32_t> held;
    for (uint32_t lane = 0; lane < kLanes; lane++) {
      if (model[lane].stop.reason == StopReason::none) held.push_back(lane);
    }
    fleet.set_stops(held, std::vector<Stop>(held.size(), plain(StopReason::exited)));
    fleet.run();
    fleet.resume(held);
  }
  void host_write() {
    std::vector<Transfer> transfers;
    std::vector<uint8_t> buffer;
    for (uint32_t lane : some_lanes_with_memory()) {
      const bool code = below(2) == 0;
      const uint64_t address = code ? function_address() : data_address();
      const uint64_t value = code ? function(static_cast<uint32_t>(random())) : random();
      uint8_t bytes[8];
      std::memcpy(bytes, &value, 8);
      uint8_t* in_model = model[lane].bytes.data() + (address - kBegin);
      myriarm::ArrayView view;
      if (std::get<0>(GetParam()) == MemoryPolicy::shared) view = fleet.memory_view();
      const int here = model[lane].permissions[(address - kBegin) / kPageBytes];
      const int there = model[lane].permissions[(address + 7 - kBegin) / kPageBytes];
      if (here < 0 || there < 0) continue;
      std::memcpy(in_model, bytes, 8);
      if (view.data != nullptr && view.device == myriarm::DeviceKind::cpu && below(2)) {
        std::memcpy(static_cast<uint8_t*>(view.data) + lane * view.lane_stride + (address - kBegin), bytes, 8);
      } else {
        transfers.push_back({lane, sizeof bytes, address, buffer.size()});
        buffer.insert(buffer.end(), std::begin(bytes), std::end(bytes));
      }
    }
    if (below(2)) return fleet.write_later(transfers, buffer);
    std::vector<uint32_t> done(transfers.size());
    fleet.write(transfers, buffer, done);
    EXPECT_EQ(done, std::vector<uint32_t>(transfers.size(), 8));
  }
  void change_pages() {
    const std::vector<uint32_t> lanes = some_lanes_with_memory();
    const uint64_t page = kFirstData + 3 + below(5), count = 1 + below(2);
    const int wanted = std::array{3, 1, 7, 0, 3}[below(5)];
    enum { map, unmap, protect } const change = std::array{map, unmap, protect, protect}[below(4)];
    const uint64_t address = kBegin + page * kPageBytes, size = count * kPageBytes;
    switch (change) {
      case map: fleet.map(lanes, address, size, static_cast<uint32_t>(wanted)); break;
      case unmap: fleet.unmap(lanes, address, size); break;
      case protect: fleet.protect(lanes, address, size, static_cast<uint32_t>(wanted)); break;
    }
    for (uint32_t lane : lanes) {
      for (uint64_t p = page; p < page + count; p++) {
        int& permissions = model[lane].permissions[p];
        if (change != protect || permissions >= 0) permissions = change == unmap ? -1 : wanted;
        if (change == protect) continue;
        std::fill_n(model[lane].bytes.begin() + static_cast<long>(p * kPageBytes), kPageBytes, uint8_t{0});
      }
    }
  }
  void take() {
    const bool all = below(2) == 0;
    const std::vector<uint32_t> lanes = all ? all_lanes(fleet) : some_lanes();
    ModelSnapshot made{all ? fleet.snapshot() : fleet.snapshot(lanes), {}};
    for (uint32_t lane : lanes) made.lanes[lane] = model[lane];
    snapshots.push_back(std::move(made));
    if (snapshots.size() > 4) snapshots.erase(snapshots.begin() + static_cast<long>(below(4)));
  }
  void restore() {
    if (snapshots.empty()) return;
    const ModelSnapshot& chosen = snapshots[below(snapshots.size())];
    std::vector<uint32_t> lanes;
    const bool all = below(2) == 0;
    for (const auto& [lane, state] : chosen.lanes) {
      if (!all && below(2)) continue;
      lanes.push_back(lane);
      model[lane] = state;
    }
    if (all) {
      fleet.restore(chosen.real);
    } else if (!lanes.empty()) {
      fleet.restore(chosen.real, lanes);
    }
  }
  void fork() {
    const uint32_t from = static_cast<uint32_t>(below(kLanes));
    std::vector<uint32_t> targets = some_lanes();
    std::erase(targets, from);
    if (targets.empty()) return;
    fleet.fork(from, targets);
    for (uint32_t lane : targets) model[lane] = model[from];
  }
  /// Only lanes that have a stop, as lanes that have ended do.
  void release() {
    std::vector<uint32_t> lanes = some_lanes();
    std::erase_if(lanes, [this](uint32_t lane) { return model[lane].stop.reason == StopReason::none || below(2); });
    fleet.release_memory(lanes);
    if (std::get<0>(GetParam()) == MemoryPolicy::shared) return;
    for (uint32_t lane : lanes) model[lane].has_memory = false;
  }
  void compare(int step) {
    std::vector<uint32_t> lanes;
    for (uint32_t lane = 0; lane < kLanes; lane++) {
      if (model[lane].has_memory) {
        lanes.push_back(lane);
      } else {
        EXPECT_THROW(fleet.read(lane, kBegin, 1), myriarm::StateError);
      }
    }
    std::vector<uint8_t> pages(lanes.size() * kPages);
    fleet.permissions(lanes, kBegin, kPages * kPageBytes, pages);
    const std::vector<uint64_t> x6 = values_of(fleet, x(6)), pc = values_of(fleet, Field::pc),
                                instructions = values_of(fleet, Field::instructions);
    std::vector<Transfer> transfers;
    for (uint64_t i = 0; i < lanes.size() * kPages; i++) {
      transfers.push_back({lanes[i / kPages], kPageBytes, kBegin + i % kPages * kPageBytes, i * kPageBytes});
    }
    std::vector<uint8_t> memory(transfers.size() * kPageBytes);
    std::vector<uint32_t> done(transfers.size());
    fleet.read(transfers, memory, done);
    for (uint32_t lane = 0; lane < kLanes; lane++) {
      const ModelLane& wanted = model[lane];
      EXPECT_EQ(x6[lane], wanted.x6);
      EXPECT_EQ(pc[lane], wanted.pc);
      EXPECT_EQ(instructions[lane], wanted.instructions);
      expect_stop(fleet, lane, wanted.stop);
      ASSERT_FALSE(testing::Test::HasFailure()) << "lane " << lane << ", step " << step;
    }
    for (size_t k = 0; k < lanes.size(); k++) {
      const uint32_t lane = lanes[k];
      const ModelLane& wanted = model[lane];
      for (uint64_t p = 0; p < kPages; p++) {
        const uint64_t i = k * kPages + p;
        ASSERT_EQ(done[i], wanted.permissions[p] < 0 ? 0 : kPageBytes) << "page " << p;
        ASSERT_EQ(pages[i], wanted.permissions[p] < 0 ? 0 : wanted.permissions[p] | myriarm::kMapped)
            << "page " << p << " of lane " << lane;
        if (done[i] == 0) continue;
        const auto* from = wanted.bytes.data() + p * kPageBytes;
        ASSERT_TRUE(std::equal(from, from + kPageBytes, memory.data() + i * kPageBytes))
            << "page " << p << " of lane " << lane;
      }
      ASSERT_FALSE(testing::Test::HasFailure()) << "lane " << lane << ", step " << step;
    }
  }
};

TEST_P(Model, HoldsAfterEveryStep) {
  for (int step = 0; step < 400; step++) {
    switch (below(13)) {
      case 0: take(); break;
      case 1: restore(); break;
      case 2: fork(); break;
      case 3: host_write(); break;
      case 4: change_pages(); break;
      case 5: release(); break;
      default: run(); break;
    }
    if (step % 4 == 0) compare(step);
    if (HasFatalFailure() || HasFailure()) return;
  }
  compare(400);
}

TEST_P(Model, GivesBackWhatItTook) {
  const uint64_t before = fleet.pool_used();
  {
    const Snapshot begin = fleet.snapshot();
    for (int step = 0; step < 60; step++) {
      run();
      if (step % 10 == 5) take();
      if (step % 10 == 9) fork();
    }
    fleet.restore(begin);
  }
  snapshots.clear();
  EXPECT_EQ(fleet.pool_used(), before);
}

INSTANTIATE_TEST_SUITE_P(Policies, Model,
                         testing::Combine(testing::Values(MemoryPolicy::private_copy, MemoryPolicy::shared),
                                          testing::Values(kPages* kPageBytes, uint64_t{8} << 20)));

}  // namespace
