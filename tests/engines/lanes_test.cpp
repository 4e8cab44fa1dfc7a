// SPDX-License-Identifier: Apache-2.0
// Runs of some lanes, what lanes that have not begun take, and lanes that give their memory back.
#include <algorithm>

#include "fleet_fixture.h"

namespace fleet_test {
namespace {

using myriarm::ArgumentError;
using myriarm::MemoryPolicy;
using myriarm::Mode;
using myriarm::Placement;
using myriarm::RunOptions;
using myriarm::RunResult;
using myriarm::Snapshot;
using myriarm::StateError;

RunOptions only(std::vector<uint32_t> lanes) {
  RunOptions options;
  options.lanes = std::move(lanes);
  return options;
}

// ---- RunOptions::lanes

TEST(FleetLanes, OnlyThoseThatAreNamedRun) {
  Fleet fleet = fleet_of({guest::add(0, 0, 1), guest::hlt(0)}, 70);
  const std::vector<uint32_t> lanes = {69, 3, 32};
  const RunResult result = fleet.run(only(lanes));
  EXPECT_EQ(result.instructions, 3u);
  EXPECT_EQ(result.lanes_run, 3u);
  EXPECT_EQ(result.stopped, 3u);
  EXPECT_EQ(result.lanes_left, 0u);
  EXPECT_EQ(result.stops[static_cast<unsigned>(StopReason::halt)], 3u);
  EXPECT_EQ(fleet.poll().instructions, 3u);
  std::vector<Stop> stops(2);
  fleet.get_stops(std::vector<uint32_t>{32, 31}, stops);
  EXPECT_EQ(stops[0].reason, StopReason::halt);
  EXPECT_EQ(stops[1].reason, StopReason::none);
  for (uint32_t lane = 0; lane < 70; lane++) {
    const bool named = std::find(lanes.begin(), lanes.end(), lane) != lanes.end();
    EXPECT_EQ(fleet.get(x(0), lane), named) << lane;
    EXPECT_EQ(fleet.stops()[lane].reason, named ? StopReason::halt : StopReason::none) << lane;
  }
  EXPECT_EQ(fleet.run().lanes_run, 67u);
  EXPECT_EQ(fleet.get(x(0), 3), 1u);
}

TEST(FleetLanes, EveryModeRunsOnlyThem) {
  for (const Mode mode : {Mode::run, Mode::continuous, Mode::mega, Mode::self_dispatch}) {
    Fleet fleet = fleet_of({guest::add(0, 0, 1), guest::b(-1)}, 40);
    RunOptions options = only({1, 38});
    options.mode = mode;
    options.instructions = 10;
    if (mode == Mode::continuous || mode == Mode::self_dispatch) options.instructions_per_batch = 3;
    // The others stop at their budget first, and must not go on.
    RunOptions one;
    one.instructions = 1;
    fleet.run(one);
    for (int again = 1; again <= 2; again++) {
      const RunResult result = fleet.run(options);
      EXPECT_EQ(result.instructions, 20u);
      EXPECT_EQ(result.lanes_left, 2u);
      for (uint32_t lane = 0; lane < 40; lane++) {
        EXPECT_EQ(fleet.get(Field::instructions, lane), lane == 1 || lane == 38 ? 1u + 10u * again : 1u) << lane;
        EXPECT_EQ(fleet.stops()[lane].reason, StopReason::budget);
      }
    }
  }
}

TEST(FleetLanes, AnEmptyListRunsNoneAndAWrongOneIsRefused) {
  Fleet fleet = fleet_of({guest::hlt(0)}, 5);
  EXPECT_EQ(fleet.run(only({})).lanes_run, 0u);
  EXPECT_THROW(fleet.run(only({1, 2, 1})), ArgumentError);
  EXPECT_THROW(fleet.start(only({5})), ArgumentError);
  EXPECT_FALSE(fleet.is_running());
  for (uint32_t lane = 0; lane < 5; lane++) EXPECT_EQ(fleet.stops()[lane].reason, StopReason::none);
}

TEST(FleetLanes, OnlyTheirSystemCallsAreServed) {
  Fleet fleet = fleet_of({guest::svc(0), guest::hlt(0)}, 6);
  fleet.run(only({0, 1, 2, 3}));
  fleet.resume(std::vector<uint32_t>{1});
  RunOptions options = only({1, 4});
  uint64_t served = 0;
  options.on_syscall = [&](Fleet&, const myriarm::SyscallBatch& batch) { served += batch.lanes.size(); };
  EXPECT_EQ(fleet.run(options).lanes_run, 2u);
  EXPECT_EQ(served, 1u);
  expect_stop(fleet, 4, halt());
  expect_stop(fleet, 3, plain(StopReason::syscall));
}

// ---- lanes that have not begun, and write_later()

std::vector<Transfer> a_transfer_each(const Fleet& fleet, uint64_t address, uint32_t size) {
  std::vector<Transfer> transfers;
  for (uint32_t lane = 0; lane < fleet.lanes(); lane++) transfers.push_back({lane, size, address, lane * size});
  return transfers;
}
std::vector<uint8_t> numbered_bytes(const Fleet& fleet, uint32_t size) {
  std::vector<uint8_t> bytes(fleet.lanes() * size);
  for (size_t i = 0; i < bytes.size(); i++) bytes[i] = static_cast<uint8_t>(i * 31 + 1);
  return bytes;
}
std::vector<uint8_t> of_lane(const std::vector<uint8_t>& bytes, uint32_t lane, uint32_t size) {
  return {bytes.begin() + lane * size, bytes.begin() + (lane + 1) * size};
}

TEST(FleetLater, BytesAreThereForHostAndGuest) {
  Fleet fleet = fleet_of({guest::ldr(3, 2, 1), guest::str(3, 2, 3), guest::hlt(0)}, 40);
  const uint64_t address = kData + kPageBytes - 3;  // in two pages
  const std::vector<uint8_t> bytes = numbered_bytes(fleet, 8);
  fleet.write_later(a_transfer_each(fleet, address, 8), bytes);
  if (on_cpu()) {
    EXPECT_EQ(fleet.pool_used(), 0u);
  }
  for (uint32_t lane : {0u, 7u, 39u}) {
    EXPECT_EQ(fleet.read(lane, address, 8), of_lane(bytes, lane, 8));
    EXPECT_EQ(fleet.read(lane, address - 1, 1), initial_bytes(address - 1, 1));
    const std::vector<uint8_t> written = of_lane(bytes, lane, 8), behind = initial_bytes(address + 8, 6);
    std::vector<uint8_t> wanted(written.begin() + 2, written.end());
    wanted.insert(wanted.end(), behind.begin(), behind.end());
    EXPECT_EQ(fleet.read(lane, address + 2, 12), wanted) << "the first bytes come from the write";
  }
  if (on_cpu()) {
    EXPECT_EQ(fleet.pool_used(), 0u) << "to read takes no page";
  }
  fleet.fill(x(1), address);
  fleet.fill(x(3), kData + 3 * kPageBytes);
  fleet.run();
  expect_all_stopped(fleet, halt());
  for (uint32_t lane = 0; lane < 40; lane++) {
    EXPECT_EQ(fleet.get(x(2), lane), number_of(of_lane(bytes, lane, 8)));
    EXPECT_EQ(fleet.read(lane, address, 8), of_lane(bytes, lane, 8));
  }
  if (on_cpu()) {
    EXPECT_EQ(fleet.pool_used(), 40 * 3 * kPageBytes);
  }
}

TEST(FleetLater, TheLastWriteCountsAndChangedPagesLoseTheirBytes) {
  Fleet fleet = fleet_of({guest::hlt(0)}, 3);
  const auto later = [&](uint64_t address, std::vector<uint8_t> bytes) {
    const Transfer transfer{1, static_cast<uint32_t>(bytes.size()), address, 0};
    fleet.write_later({&transfer, 1}, bytes);
  };
  const uint64_t edge = kData + 2 * kPageBytes;
  later(edge - 2, {1, 2, 3, 4});
  later(edge - 1, {9});
  EXPECT_EQ(fleet.read(1, edge - 2, 4), (std::vector<uint8_t>{1, 9, 3, 4}));
  fleet.map(std::vector<uint32_t>{1}, edge - kPageBytes, kPageBytes, kRead);
  EXPECT_EQ(fleet.read(1, edge - 2, 4), (std::vector<uint8_t>{0, 0, 3, 4}));
  later(edge + 1, {5});
  fleet.write(1, edge, std::vector<uint8_t>{7});
  EXPECT_EQ(fleet.read(1, edge - 2, 4), (std::vector<uint8_t>{0, 0, 7, 5}));
  fleet.unmap(std::vector<uint32_t>{1}, edge, kPageBytes);
  fleet.run();
  EXPECT_EQ(fleet.read(1, edge - 2, 2), (std::vector<uint8_t>{0, 0}));
  EXPECT_EQ(fleet.read(0, edge - 2, 2), initial_bytes(edge - 2, 2));
  later(kEnd - 8, {1, 2});  // not mapped: nothing is written, as by write()
  later(kData + 4 * kPageBytes - 1, {6, 6});
  EXPECT_EQ(fleet.read(1, kData + 4 * kPageBytes - 1, 1)[0], 6);
}

TEST(FleetLater, InstructionsAreDecodedAnew) {
  Fleet fleet = fleet_of({guest::movz(0, 1), guest::hlt(0)}, 5, kRead | kWrite | kExecute);
  const std::vector<uint8_t> code = bytes_of({guest::movz(0, 2)});
  const Transfer transfer{3, 4, kCode, 0};
  fleet.write_later({&transfer, 1}, code);
  fleet.run();
  for (uint32_t lane = 0; lane < 5; lane++) EXPECT_EQ(fleet.get(x(0), lane), lane == 3 ? 2u : 1u);
}

TEST(FleetLater, SnapshotsAndForksHoldThem) {
  Fleet fleet = fleet_of({guest::hlt(0)}, 3);
  const std::vector<uint8_t> bytes = numbered_bytes(fleet, 4);
  fleet.write_later(a_transfer_each(fleet, kData, 4), bytes);
  const Snapshot snapshot = fleet.snapshot();
  fleet.fork(2, std::vector<uint32_t>{0});
  EXPECT_EQ(fleet.read(0, kData, 4), of_lane(bytes, 2, 4));
  const std::vector<uint8_t> other = {42, 42, 42, 42};
  const Transfer transfer{1, 4, kData, 0};
  fleet.write_later({&transfer, 1}, other);
  fleet.restore(snapshot);
  for (uint32_t lane = 0; lane < 3; lane++) EXPECT_EQ(fleet.read(lane, kData, 4), of_lane(bytes, lane, 4));
}

TEST(FleetLater, WithoutAFrameTheLaneStopsBeforeItsFirstInstruction) {
  if (!on_cpu()) GTEST_SKIP() << "a GPU takes the pages at once";
  FleetOptions options = options_of(2);
  options.pool = kPageBytes;
  options.threads = 1;
  Fleet fleet(program_of({guest::add(0, 0, 1), guest::hlt(0)}), options);
  const std::vector<uint8_t> bytes = numbered_bytes(fleet, 4);
  fleet.write_later(a_transfer_each(fleet, kData, 4), bytes);
  fleet.run();
  expect_stop(fleet, 0, halt());
  expect_stop(fleet, 1, plain(StopReason::out_of_memory));
  EXPECT_EQ(fleet.get(Field::instructions, 1), 0u);
  EXPECT_THROW(fleet.snapshot(), myriarm::DeviceError);
  EXPECT_EQ(fleet.read(1, kData, 4), of_lane(bytes, 1, 4));
  fleet.grow_pool(2 * kPageBytes);
  fleet.resume(std::vector<uint32_t>{1});
  fleet.run();
  expect_stop(fleet, 1, halt());
  EXPECT_EQ(fleet.read(1, kData, 4), of_lane(bytes, 1, 4));
}

// ---- release_memory()

const Words kDirtiesData = {guest::str(3, 1, 1), guest::add(0, 0, 1), guest::hlt(0)};

TEST(FleetRelease, PagesGoBackAndNothingReachesThem) {
  Fleet fleet = fleet_of(kDirtiesData, 64);
  const uint64_t before = fleet.pool_used();
  fleet.fill(x(1), kData);
  fleet.run();
  EXPECT_GT(fleet.pool_used(), before);
  fleet.release_memory(all_lanes(fleet));
  EXPECT_EQ(fleet.pool_used(), before);
  expect_all_stopped(fleet, halt());
  EXPECT_EQ(fleet.get(x(0), 63), 1u);
  EXPECT_EQ(fleet.get(Field::instructions, 63), 2u);
  const std::vector<uint32_t> one = {33};
  std::vector<uint8_t> buffer(8);
  const Transfer transfer{33, 8, kData, 0};
  const std::pair<const char*, std::function<void()>> refused[] = {
      {"read", [&] { fleet.read(33, kData, 8); }},
      {"read",
       [&] {
         fleet.read({&transfer, 1}, buffer);
       }},
      {"write",
       [&] {
         fleet.write({&transfer, 1}, buffer);
       }},
      {"write_later",
       [&] {
         fleet.write_later({&transfer, 1}, buffer);
       }},
      {"map", [&] { fleet.map(one, kData, kPageBytes, kRead); }},
      {"unmap", [&] { fleet.unmap(one, kData, kPageBytes); }},
      {"protect", [&] { fleet.protect(one, kData, kPageBytes, kRead); }},
      {"permissions", [&] { fleet.permissions(one, kData, kPageBytes, std::span(buffer).first(1)); }},
      {"resume", [&] { fleet.resume(one); }},
  };
  for (const auto& [what, call] : refused) {
    try {
      call();
      ADD_FAILURE() << what << " was not refused";
    } catch (const StateError& error) {
      EXPECT_EQ(error.what(), std::string(what) +
                                  ": lane 33 has ended and given its memory back; make the fleet with keep_memory, or "
                                  "restore() a snapshot of the lane");
    }
  }
  fleet.resume_all();
  EXPECT_EQ(fleet.run().lanes_run, 0u) << "lanes without memory keep their stops";
  EXPECT_THROW(fleet.release_memory(std::vector<uint32_t>{64}), ArgumentError);
  fleet.release_memory(all_lanes(fleet));  // again: nothing to do
  EXPECT_EQ(fleet.pool_used(), before);
}

TEST(FleetRelease, RestoreAndForkBringMemoryBack) {
  Fleet fleet = fleet_of(kDirtiesData, 40);
  const Snapshot begin = fleet.snapshot();
  set_each(fleet, x(1), [](uint64_t lane) { return kData + 8 * lane; });
  fleet.run();
  const Snapshot ended = fleet.snapshot();
  const uint64_t used = fleet.pool_used();
  std::vector<uint32_t> lanes = all_lanes(fleet);
  lanes.pop_back();
  fleet.release_memory(lanes);
  EXPECT_EQ(fleet.pool_used(), used) << "the snapshot holds the pages";
  const Snapshot without = fleet.snapshot();
  fleet.restore(ended, std::vector<uint32_t>{5});
  EXPECT_EQ(number_of(fleet.read(5, kData + 40, 8)), kData + 40);
  fleet.fork(39, std::vector<uint32_t>{6});
  EXPECT_EQ(number_of(fleet.read(6, kData + 8 * 39, 8)), kData + 8 * 39);
  fleet.fork(7, std::vector<uint32_t>{5});  // a copy of a lane without memory
  EXPECT_THROW(fleet.read(5, kData, 1), StateError);
  fleet.restore(begin);
  fleet.fill(x(1), kData);
  fleet.run();
  expect_all_stopped(fleet, halt());
  for (uint32_t lane = 0; lane < 40; lane++) EXPECT_EQ(number_of(fleet.read(lane, kData, 8)), kData);
  fleet.restore(without);
  EXPECT_THROW(fleet.read(0, kData, 1), StateError);
  EXPECT_EQ(number_of(fleet.read(39, kData + 8 * 39, 8)), kData + 8 * 39);
}

TEST(FleetRelease, LanesThatBeginLaterFindTheirProgram) {
  // What ended lanes have changed must not show: written and remapped pages, code, permissions.
  Program other = program_of({guest::ldr(3, 2, 1), guest::hlt(1)});
  other.segments.pop_back();
  const std::vector<Placement> placements = {{program_of(kDirtiesData, kRead | kWrite | kExecute), 64}, {other, 8}};
  Fleet fleet(placements, options_of(0));
  std::vector<uint32_t> first = lanes_up_to(32);
  fleet.fill(x(1), kData + kPageBytes);
  fleet.map(first, kData, kPageBytes, kRead);
  fleet.unmap(first, kConstant, kPageBytes);
  fleet.protect(first, kWriteOnly, kPageBytes, kRead);
  for (uint32_t lane : first) fleet.write(lane, kCode + 8, bytes_of({guest::hlt(7)}));
  fleet.run(only(first));
  expect_stop(fleet, 31, halt(7));
  fleet.release_memory(first);
  std::vector<uint32_t> rest;
  for (uint32_t lane = 32; lane < 72; lane++) rest.push_back(lane);
  fleet.run(only(rest));
  for (uint32_t lane : rest) {
    expect_stop(fleet, lane, halt(lane < 64 ? 0 : 1));
    EXPECT_EQ(fleet.read(lane, kData, kPageBytes), initial_bytes(kData, kPageBytes));
    EXPECT_EQ(fleet.read(lane, kConstant, kPageBytes), initial_bytes(kConstant, kPageBytes));
    std::vector<uint8_t> pages(1);
    fleet.permissions({&lane, 1}, kWriteOnly, kPageBytes, pages);
    EXPECT_EQ(pages[0], kWrite | myriarm::kMapped);
    fleet.permissions({&lane, 1}, kNoAccess, kPageBytes, pages);
    EXPECT_EQ(pages[0], lane < 64 ? myriarm::kMapped : 0) << lane;
  }
}

TEST(FleetRelease, SharedMemoryStays) {
  FleetOptions options = options_of(3);
  options.memory_policy = MemoryPolicy::shared;
  Fleet fleet(program_of(kDirtiesData), options);
  fleet.fill(x(1), kData);
  fleet.run();
  fleet.release_memory(all_lanes(fleet));
  EXPECT_EQ(number_of(fleet.read(1, kData, 8)), kData);
}

}  // namespace
}  // namespace fleet_test
