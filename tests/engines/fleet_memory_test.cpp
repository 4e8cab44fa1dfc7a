// SPDX-License-Identifier: Apache-2.0
// Guest memory of a fleet: permissions and faults, accesses that cross pages, pages that lanes share until they write
// to them, mappings that differ between lanes, and a pool that is full.
#include <algorithm>

#include "fleet_fixture.h"

namespace fleet_test {
namespace {

/// An access and where it must fail. The base is x1; x2 and x3 hold what is stored.
struct Refused {
  const char* what;
  uint32_t word;
  uint64_t base;
  FaultKind kind;
  uint64_t address;  // the first inaccessible byte
};

const Refused kRefused[] = {
    {"load, unmapped", guest::ldr(3, 0, 1), kUnmapped + 8, FaultKind::unmapped, kUnmapped + 8},
    {"load, below the window", guest::ldr(3, 0, 1), kCode - 8, FaultKind::unmapped, kCode - 8},
    {"load, beyond the window", guest::ldr(0, 0, 1), kEnd, FaultKind::unmapped, kEnd},
    {"load, far beyond", guest::ldr(3, 0, 1), 0x00FF'FFFF'FFFF'FFF8, FaultKind::unmapped, 0x00FF'FFFF'FFFF'FFF8},
    {"load, write-only", guest::ldr(2, 0, 1), kWriteOnly + 4, FaultKind::read, kWriteOnly + 4},
    {"load, no permission", guest::ldr(1, 0, 1), kNoAccess, FaultKind::read, kNoAccess},
    {"store, unmapped", guest::str(3, 2, 1), kUnmapped, FaultKind::unmapped, kUnmapped},
    {"store, beyond the window", guest::str(2, 2, 1), kEnd + 0x1000, FaultKind::unmapped, kEnd + 0x1000},
    {"store, constant", guest::str(0, 2, 1), kConstant + 5, FaultKind::write, kConstant + 5},
    {"store, code", guest::str(2, 2, 1), kCode, FaultKind::write, kCode},
    {"store, no permission", guest::str(3, 2, 1), kNoAccess + 16, FaultKind::write, kNoAccess + 16},
    {"load, both halves refused", guest::ldr(3, 0, 1), kNoAccess + kPageBytes - 3, FaultKind::read,
     kNoAccess + kPageBytes - 3},
    {"load, second half unmapped", guest::ldr(3, 0, 1), kConstant + kPageBytes - 3, FaultKind::unmapped,
     kConstant + kPageBytes},
    {"store, second half unmapped", guest::str(3, 2, 1), kData + 4 * kPageBytes - 1, FaultKind::unmapped,
     kData + 4 * kPageBytes},
    {"pair load, second unmapped", guest::ldp(0, 4, 1), kConstant + kPageBytes - 8, FaultKind::unmapped,
     kConstant + kPageBytes},
    {"pair store, second unmapped", guest::stp(2, 3, 1), kData + 4 * kPageBytes - 8, FaultKind::unmapped,
     kData + 4 * kPageBytes},
    {"pair store, inside the second", guest::stp(2, 3, 1), kData + 4 * kPageBytes - 12, FaultKind::unmapped,
     kData + 4 * kPageBytes},
    {"post-indexed store", guest::str_post(2, 1, 8), kConstant, FaultKind::write, kConstant},
    {"post-indexed load", guest::ldr_post(0, 1, 8), kUnmapped, FaultKind::unmapped, kUnmapped},
    {"load exclusive, not aligned", guest::ldxr(0, 1), kData + 4, FaultKind::alignment, kData + 4},
    {"store release, not aligned", guest::stlr(2, 1), kData + 1, FaultKind::alignment, kData + 1},
};

TEST(FleetMemory, RefusesAnAccessAndNothingElseChanges) {
  for (uint64_t lanes : kFleetSizes) {
    for (const Refused& refused : kRefused) {
      SCOPED_TRACE(std::string(refused.what) + ", " + std::to_string(lanes) + " lanes");
      // Lane 0 makes the access that is refused; the others the same access where it is allowed.
      Fleet fleet = fleet_of({guest::nop(), refused.word, guest::hlt(9)}, lanes);
      bool is_store = refused.what[0] == 's' || std::strstr(refused.what, "store") != nullptr;
      set_each(fleet, x(1), [&](uint64_t lane) { return lane == 0 ? refused.base : kData + 64; });
      for (unsigned n : {0u, 2u, 3u, 4u}) fleet.fill(x(n), 0xA0A0'0000'0000'0000 + n);
      fleet.run();
      expect_stop(fleet, 0, fault(refused.kind, refused.address));
      EXPECT_EQ(fleet.get(Field::pc, 0), kCode + 4);
      EXPECT_EQ(fleet.get(Field::instructions, 0), 1u);
      EXPECT_EQ(fleet.get(x(1), 0), refused.base);
      for (unsigned n : {0u, 2u, 3u, 4u}) EXPECT_EQ(fleet.get(x(n), 0), 0xA0A0'0000'0000'0000 + n);
      std::vector<uint8_t> data = initial_bytes(kData, 2 * kPageBytes);
      data.resize(4 * kPageBytes);
      EXPECT_EQ(fleet.read(0, kData, data.size()), data);
      for (uint32_t lane = 1; lane < lanes; lane++) {
        expect_stop(fleet, lane, halt(9));
        EXPECT_EQ(fleet.get(Field::instructions, lane), 2u);
        EXPECT_EQ(fleet.read(lane, kData + 64, 1)[0], is_store ? 0x02 : initial_byte(kData + 64));
      }
    }
  }
}

TEST(FleetMemory, WriteOnlyPagesCanBeWritten) {
  Fleet fleet = fleet_of({guest::str(3, 2, 1), guest::hlt(0)}, 5);
  fleet.fill(x(1), kWriteOnly + 8);
  fleet.fill(x(2), 0x1122334455667788);
  fleet.run();
  expect_all_stopped(fleet, halt());
  EXPECT_EQ(number_of(fleet.read(4, kWriteOnly + 8, 8)), 0x1122334455667788u);
}

/// Loads and stores of every size at every offset around a page boundary.
struct Access {
  uint32_t load, store;
  uint32_t bytes;
};
const Access kAccesses[] = {
    {guest::ldr(0, 2, 1), guest::str(0, 2, 1), 1},     {guest::ldr(1, 2, 1), guest::str(1, 2, 1), 2},
    {guest::ldr(2, 2, 1), guest::str(2, 2, 1), 4},     {guest::ldr(3, 2, 1), guest::str(3, 2, 1), 8},
    {guest::ldp_w(2, 3, 1), guest::stp_w(2, 3, 1), 8}, {guest::ldp(2, 3, 1), guest::stp(2, 3, 1), 16},
};

TEST(FleetMemory, LoadsAtEveryOffset) {
  constexpr uint64_t boundary = kData + kPageBytes;
  for (const Access& access : kAccesses) {
    Fleet fleet = fleet_of({access.load, guest::hlt(0)}, 40);
    auto address = [&](uint64_t lane) { return boundary - 20 + lane; };
    set_each(fleet, x(1), address);
    uint64_t before = fleet.pool_used();
    fleet.run();
    EXPECT_EQ(fleet.pool_used(), before) << "a load allocated a page";
    for (uint32_t lane = 0; lane < 40; lane++) {
      expect_stop(fleet, lane, halt());
      uint32_t each = access.load == guest::ldp_w(2, 3, 1) ? 4 : std::min(access.bytes, 8u);
      EXPECT_EQ(fleet.get(x(2), lane), number_of(initial_bytes(address(lane), each)))
          << access.bytes << " bytes, " << lane;
      uint64_t second = access.bytes > each ? number_of(initial_bytes(address(lane) + each, each)) : 0;
      EXPECT_EQ(fleet.get(x(3), lane), second) << access.bytes << " bytes, " << lane;
    }
  }
}

TEST(FleetMemory, StoresAtEveryOffset) {
  // Pages 0 and 1 of kData hold bytes, 2 and 3 are zero: boundaries between all three kinds.
  for (uint64_t boundary : {kData + kPageBytes, kData + 2 * kPageBytes, kData + 3 * kPageBytes}) {
    for (const Access& access : kAccesses) {
      Fleet fleet = fleet_of({access.store, guest::hlt(0)}, 40);
      auto address = [&](uint64_t lane) { return boundary - 20 + lane; };
      set_each(fleet, x(1), address);
      set_each(fleet, x(2), [](uint64_t lane) { return 0xF1E2D3C4B5A69700 + lane; });
      fleet.fill(x(3), 0x0F1E2D3C4B5A6978);
      fleet.run();
      uint32_t each = access.store == guest::stp_w(2, 3, 1) ? 4 : std::min(access.bytes, 8u);
      for (uint32_t lane = 0; lane < 40; lane++) {
        expect_stop(fleet, lane, halt());
        std::vector<uint8_t> wanted = initial_bytes(kData, 2 * kPageBytes);
        wanted.resize(4 * kPageBytes);
        uint64_t first = 0xF1E2D3C4B5A69700 + lane, second = 0x0F1E2D3C4B5A6978;
        std::memcpy(&wanted[address(lane) - kData], &first, each);
        if (access.bytes > each) std::memcpy(&wanted[address(lane) + each - kData], &second, each);
        EXPECT_EQ(fleet.read(lane, kData, wanted.size()), wanted) << access.bytes << " bytes, lane " << lane;
      }
    }
  }
}

TEST(FleetMemory, StoresNothingIfTheSecondPageRefuses) {
  for (uint64_t lanes : kFleetSizes) {
    for (const Access& access : kAccesses) {
      if (access.bytes == 1) continue;
      SCOPED_TRACE(std::to_string(access.bytes) + " bytes, " + std::to_string(lanes) + " lanes");
      Fleet fleet = fleet_of({access.store, guest::hlt(0)}, lanes);
      fleet.protect(all_lanes(fleet), kData + kPageBytes, kPageBytes, kRead);
      fleet.fill(x(1), kData + kPageBytes - 1);
      fleet.fill(x(2), ~uint64_t{0});
      fleet.fill(x(3), ~uint64_t{0});
      fleet.run();
      expect_all_stopped(fleet, fault(FaultKind::write, kData + kPageBytes));
      for (uint32_t lane = 0; lane < lanes; lane++) {
        EXPECT_EQ(fleet.read(lane, kData, 2 * kPageBytes), initial_bytes(kData, 2 * kPageBytes));
      }
      // With the permission back the same instruction succeeds.
      fleet.protect(all_lanes(fleet), kData + kPageBytes, kPageBytes, kRead | kWrite);
      fleet.resume_all();
      fleet.run();
      expect_all_stopped(fleet, halt());
      EXPECT_EQ(fleet.read(0, kData + kPageBytes - 1, access.bytes), std::vector<uint8_t>(access.bytes, 0xFF));
    }
  }
}

TEST(FleetMemory, SharesPagesUntilTheyAreWritten) {
  for (uint64_t lanes : kFleetSizes) {
    SCOPED_TRACE(lanes);
    // x2 = [x1]; if x0: [x1] = x3.
    Fleet fleet = fleet_of({guest::ldr(3, 2, 1), guest::cbz(0, 2), guest::str(3, 3, 1), guest::hlt(0)}, lanes);
    uint64_t empty = fleet.pool_used();
    // On a GPU a frame holds the page of each lane of a team of up to 32, and a page for permissions that differ by
    // lane.
    const uint64_t frame = (fleet.device().id == "cpu" ? 1 : std::min<uint64_t>(lanes, 32) + 1) * kPageBytes;
    fleet.fill(x(1), kData + 0x123);
    fleet.fill(x(3), 0xDEAD);
    fleet.run();
    EXPECT_EQ(fleet.pool_used(), empty) << "reading took pages";
    // Now lane 0 alone writes: one frame is taken.
    fleet.set(x(0), 0, 1);
    fleet.fill(Field::pc, kCode);
    fleet.resume_all();
    fleet.run();
    expect_all_stopped(fleet, halt());
    uint64_t one = fleet.pool_used();
    EXPECT_EQ(one - empty, frame);
    for (uint32_t lane = 0; lane < lanes; lane++) {
      std::vector<uint8_t> wanted = initial_bytes(kData, 4096);
      if (lane == 0) std::memcpy(&wanted[0x123], "\xAD\xDE\0\0\0\0\0\0", 8);
      EXPECT_EQ(fleet.read(lane, kData, 4096), wanted) << "lane " << lane;
    }
    // The same page again takes nothing; another page does.
    fleet.fill(Field::pc, kCode);
    fleet.resume_all();
    fleet.run();
    EXPECT_EQ(fleet.pool_used(), one);
    fleet.fill(x(1), kData + 3 * kPageBytes);
    fleet.fill(Field::pc, kCode);
    fleet.resume_all();
    fleet.run();
    EXPECT_EQ(fleet.pool_used() - one, frame);
  }
}

TEST(FleetMemory, TakesNoPageForAStoreThatIsRefused) {
  Fleet fleet = fleet_of({guest::str(3, 2, 1), guest::hlt(0)});
  fleet.set(x(1), 0, kData + 4 * kPageBytes - 4);
  uint64_t before = fleet.pool_used();
  fleet.run();
  expect_stop(fleet, 0, fault(FaultKind::unmapped, kData + 4 * kPageBytes));
  EXPECT_EQ(fleet.pool_used(), before);
}

TEST(FleetMemory, IgnoresTheTagOfDataAddresses) {
  Fleet fleet = fleet_of({guest::ldr(3, 2, 1), guest::str(3, 3, 1), guest::str(3, 3, 4), guest::hlt(0)}, 5);
  fleet.fill(x(1), 0xAB00'0000'0000'0000 | (kData + 16));
  fleet.fill(x(3), 77);
  fleet.fill(x(4), 0xFF00'0000'0000'0000 | (kConstant + 8));
  fleet.run();
  expect_all_stopped(fleet, fault(FaultKind::write, kConstant + 8));
  EXPECT_EQ(fleet.get(x(2), 4), number_of(initial_bytes(kData + 16, 8)));
  EXPECT_EQ(number_of(fleet.read(4, kData + 16, 8)), 77u);
}

TEST(FleetMemory, MapsDifferBetweenLanes) {
  // x2 = [x1], [x1] = x3.
  for (uint64_t lanes : kFleetSizes) {
    SCOPED_TRACE(lanes);
    Fleet fleet = fleet_of({guest::ldr(3, 2, 1), guest::str(3, 3, 1), guest::hlt(0)}, lanes);
    std::vector<uint32_t> even = even_lanes(fleet), all = all_lanes(fleet);
    auto again = [&](uint64_t address) {
      fleet.fill(Field::pc, kCode);
      fleet.fill(x(1), address);
      fleet.fill(x(2), 0);
      set_each(fleet, x(3), [](uint64_t lane) { return 1000 + lane; });
      fleet.resume_all();
      fleet.run();
    };
    auto expect_each = [&](auto stop_of) {
      for (uint32_t lane = 0; lane < lanes; lane++) expect_stop(fleet, lane, stop_of(lane));
    };
    constexpr uint64_t at = kUnmapped + kPageBytes + 24;
    again(at);
    expect_all_stopped(fleet, fault(FaultKind::unmapped, at));

    fleet.map(even, kUnmapped, 2 * kPageBytes, kRead | kWrite);
    again(at);
    expect_each([](uint32_t lane) { return lane % 2 == 0 ? halt() : fault(FaultKind::unmapped, at); });
    for (uint32_t lane : even) EXPECT_EQ(number_of(fleet.read(lane, at, 8)), 1000u + lane);

    fleet.protect(even, kUnmapped + kPageBytes, kPageBytes, kRead);
    again(at);
    expect_each(
        [](uint32_t lane) { return lane % 2 == 0 ? fault(FaultKind::write, at) : fault(FaultKind::unmapped, at); });
    for (uint32_t lane : even) EXPECT_EQ(fleet.get(x(2), lane), 1000u + lane);

    // Without a permission the bytes stay; only the host sees them.
    fleet.protect(even, kUnmapped + kPageBytes, kPageBytes, 0);
    again(at);
    expect_each(
        [](uint32_t lane) { return lane % 2 == 0 ? fault(FaultKind::read, at) : fault(FaultKind::unmapped, at); });
    for (uint32_t lane : even) EXPECT_EQ(number_of(fleet.read(lane, at, 8)), 1000u + lane);

    // Equal again: fresh zeros for every lane.
    fleet.map(all, kUnmapped, 2 * kPageBytes, kRead | kWrite);
    again(at);
    expect_all_stopped(fleet, halt());
    for (uint32_t lane = 0; lane < lanes; lane++) {
      EXPECT_EQ(fleet.get(x(2), lane), 0u);
      EXPECT_EQ(number_of(fleet.read(lane, at, 8)), 1000u + lane);
    }

    // A page of the program, unmapped in some lanes: the others keep what they wrote.
    again(kData);
    fleet.unmap(even, kData, kPageBytes);
    again(kData);
    expect_each([](uint32_t lane) { return lane % 2 == 0 ? fault(FaultKind::unmapped, kData) : halt(); });
    for (uint32_t lane = 1; lane < lanes; lane += 2) EXPECT_EQ(fleet.get(x(2), lane), 1000u + lane);
    fleet.map(even, kData, kPageBytes, kRead | kWrite);
    again(kData + 8);
    expect_all_stopped(fleet, halt());
    for (uint32_t lane = 0; lane < lanes; lane++) {
      EXPECT_EQ(fleet.get(x(2), lane), lane % 2 == 0 ? 0 : number_of(initial_bytes(kData + 8, 8)));
    }
  }
}

TEST(FleetMemory, ProtectLeavesUnmappedPagesUnmapped) {
  Fleet fleet = fleet_of({guest::ldr(3, 2, 1), guest::hlt(0)}, 5);
  fleet.protect(all_lanes(fleet), kUnmapped, kPageBytes, kRead);
  fleet.fill(x(1), kUnmapped);
  fleet.run();
  expect_all_stopped(fleet, fault(FaultKind::unmapped, kUnmapped));
}

TEST(FleetMemory, UnmappingGivesPagesBack) {
  Fleet fleet = fleet_of({guest::str(3, 3, 1), guest::hlt(0)});
  uint64_t before = fleet.pool_used();
  fleet.set(x(1), 0, kData);
  fleet.run();
  EXPECT_GT(fleet.pool_used(), before);
  fleet.unmap(lanes_up_to(1), kData, kPageBytes);
  EXPECT_EQ(fleet.pool_used(), before);
  // A page that is used again holds zeros.
  fleet.map(lanes_up_to(1), kData, kPageBytes, kRead | kWrite);
  fleet.set(x(1), 0, kData + 512);
  fleet.set(x(3), 0, 5);
  fleet.set(Field::pc, 0, kCode);
  fleet.resume_all();
  fleet.run();
  std::vector<uint8_t> wanted(kPageBytes);
  wanted[512] = 5;
  EXPECT_EQ(fleet.read(0, kData, kPageBytes), wanted);
}

TEST(FleetMemory, StopsWhenThePoolIsSpentAndGoesOn) {
  // A word to each of x4 pages from x1 on, with a number in x2 that shows whether a store ran twice or never.
  const Words words = {
      guest::ldr(3, 3, 1),          guest::add_register(3, 3, 2), guest::str(3, 3, 1),           guest::add(2, 2, 1),
      guest::add_register(1, 1, 5), guest::subs(4, 4, 1),         guest::b_cond(guest::kNe, -6), guest::hlt(0)};
  constexpr uint64_t kPages = 2048, kHeap = kEnd;
  for (uint64_t lanes : {uint64_t{1}, uint64_t{3}}) {
    SCOPED_TRACE(lanes);
    Program program = program_of(words);
    program.segments.push_back({kHeap, kPages * kPageBytes, kRead | kWrite, {}});
    FleetOptions options = options_of(lanes, kHeap + kPages * kPageBytes - kCode);
    options.pool = lanes * kPages * kPageBytes / 4 * 3;
    Fleet fleet(program, options);
    fleet.fill(x(1), kHeap);
    fleet.fill(x(2), 100);
    fleet.fill(x(4), kPages);
    fleet.fill(x(5), kPageBytes);
    fleet.run();
    uint64_t spent = 0;
    uint32_t waiting = 0;  // a lane that is out of memory
    for (uint32_t lane = 0; lane < lanes; lane++) {
      const Stop& stop = fleet.stops()[lane];
      if (stop.reason == StopReason::halt) continue;
      spent++;
      waiting = lane;
      expect_stop(fleet, lane, plain(StopReason::out_of_memory));
      EXPECT_EQ(fleet.get(Field::pc, lane), kCode + 8);
    }
    ASSERT_GT(spent, 0u);
    EXPECT_LE(fleet.pool_used(), fleet.pool_size());
    EXPECT_THROW(fleet.write(waiting, kHeap + (kPages - 1) * kPageBytes, std::vector<uint8_t>(1)),
                 myriarm::DeviceError);
    // The pool is still full: no lane can go on.
    uint64_t before = fleet.get(Field::instructions, waiting);
    fleet.resume(std::span(&waiting, 1));
    EXPECT_EQ(fleet.run().instructions, 0u);
    expect_stop(fleet, waiting, plain(StopReason::out_of_memory));
    EXPECT_EQ(fleet.get(Field::instructions, waiting), before);
    // A frame has a page for each of 32 lanes, even if the last team has fewer lanes.
    uint64_t team = lanes == 1 ? 1 : 32;
    fleet.grow_pool(std::max(2 * options.pool, fleet.pool_size() + kPageBytes));
    for (int tries = 0; tries < 64 && spent > 0; tries++) {
      for (uint32_t lane = 0; lane < lanes; lane++) {
        if (fleet.stops()[lane].reason == StopReason::out_of_memory) fleet.resume(std::span(&lane, 1));
      }
      fleet.run();
      spent = 0;
      for (const Stop& stop : fleet.stops()) spent += stop.reason == StopReason::out_of_memory;
      if (spent > 0) {
        try {
          fleet.grow_pool(fleet.pool_size() + kPages * kPageBytes * team);
        } catch (const myriarm::DeviceError&) {
          break;  // the reserved addresses are used up
        }
      }
    }
    for (uint32_t lane = 0; lane < lanes; lane++) {
      if (lanes == 1) expect_stop(fleet, lane, halt());
      if (fleet.stops()[lane].reason != StopReason::halt) continue;
      EXPECT_EQ(fleet.get(Field::instructions, lane), 7 * kPages);
      for (uint64_t page = 0; page < kPages; page++) {
        ASSERT_EQ(number_of(fleet.read(lane, kHeap + page * kPageBytes, 8)), 100 + page);
      }
    }
  }
}

TEST(FleetMemory, ThePoolGrowsOnlyAsFarAsItCan) {
  FleetOptions options = options_of(1);
  options.pool = 1 << 20;
  Fleet fleet(program_of({guest::hlt(0)}), options);
  EXPECT_GE(fleet.pool_size(), options.pool);
  uint64_t before = fleet.pool_size();
  fleet.grow_pool(1);  // never smaller
  EXPECT_EQ(fleet.pool_size(), before);
  EXPECT_THROW(fleet.grow_pool(~uint64_t{0}), myriarm::DeviceError);
}

TEST(FleetMemory, HostReadsAndWritesWhateverThePermissions) {
  for (uint64_t lanes : kFleetSizes) {
    Fleet fleet = fleet_of({guest::hlt(0)}, lanes);
    auto last = static_cast<uint32_t>(lanes - 1);
    for (uint64_t address : {kConstant, kWriteOnly, kNoAccess, kData, kCode}) {
      fleet.write(last, address + 5, std::vector<uint8_t>{1, 2, 3});
      EXPECT_EQ(fleet.read(last, address + 5, 3), (std::vector<uint8_t>{1, 2, 3})) << address;
      if (lanes > 1 && address != kCode) {
        EXPECT_EQ(fleet.read(0, address + 5, 3), initial_bytes(address + 5, 3)) << "another lane's page";
      }
    }
    // Permissions are what they were.
    fleet.fill(Field::pc, kConstant);
    fleet.run();
    expect_all_stopped(fleet, fault(FaultKind::execute, kConstant));
  }
}

TEST(FleetMemory, HostTransfersEndAtTheFirstUnmappedByte) {
  Fleet fleet = fleet_of({guest::hlt(0)}, 40);
  const Transfer transfers[] = {
      {0, 64, kData - 32, 0},                      // begins unmapped
      {39, 64, kData + 4 * kPageBytes - 24, 64},   // ends unmapped
      {33, 2 * kPageBytes, kData + 100, 128},      // three pages
      {7, 16, 0xFFFF'FFFF'FFFF'FFF8, 128 + 8192},  // outside, and wraps around 2^64
      {7, 0, kUnmapped, 0},                        // nothing
  };
  std::vector<uint8_t> buffer(128 + 8192 + 16, 0xEE);
  std::vector<uint32_t> done(std::size(transfers), 99);
  fleet.read(transfers, buffer, done);
  EXPECT_EQ(done, (std::vector<uint32_t>{0, 24, 8192, 0, 0}));
  std::vector<uint8_t> memory = initial_bytes(kData, 2 * kPageBytes);
  memory.resize(4 * kPageBytes);
  std::vector<uint8_t> wanted(buffer.size(), 0xEE);
  std::copy_n(memory.end() - 24, 24, wanted.begin() + 64);
  std::copy_n(memory.begin() + 100, 8192, wanted.begin() + 128);
  EXPECT_EQ(buffer, wanted);
  fleet.read(transfers, buffer);  // done may be left out

  for (size_t i = 0; i < buffer.size(); i++) buffer[i] = static_cast<uint8_t>(i * 13 + 1);
  done.assign(done.size(), 99);
  fleet.write(transfers, buffer, done);
  EXPECT_EQ(done, (std::vector<uint32_t>{0, 24, 8192, 0, 0}));
  EXPECT_EQ(fleet.read(33, kData, memory.size())[100], buffer[128]);
  std::copy_n(buffer.begin() + 128, 8192, memory.begin() + 100);
  EXPECT_EQ(fleet.read(33, kData, memory.size()), memory);
  EXPECT_EQ(fleet.read(32, kData, 2 * kPageBytes), initial_bytes(kData, 2 * kPageBytes));
  EXPECT_EQ(fleet.read(39, kData + 4 * kPageBytes - 24, 24),
            std::vector<uint8_t>(buffer.begin() + 64, buffer.begin() + 88));
}

}  // namespace
}  // namespace fleet_test
