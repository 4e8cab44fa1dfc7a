// SPDX-License-Identifier: Apache-2.0
// The state of a lane's page after map(), unmap() and protect(), as permissions() reports it: not mapped, mapped
// without permissions, or with some; by lane, and under every memory policy.
#include "fleet_fixture.h"

namespace fleet_test {
namespace {

using myriarm::ArgumentError;
using myriarm::kMapped;
using myriarm::MemoryPolicy;

using Pages = std::vector<uint8_t>;

constexpr uint8_t kNone = 0;  // not mapped
constexpr uint8_t mapped(uint32_t permissions) { return static_cast<uint8_t>(kMapped | permissions); }

constexpr MemoryPolicy kPolicies[] = {MemoryPolicy::private_copy, MemoryPolicy::transactional, MemoryPolicy::shared,
                                      MemoryPolicy::device_shared};

Fleet fleet_with(const Words& words, uint64_t lanes, MemoryPolicy policy) {
  FleetOptions options = options_of(lanes);
  options.memory_policy = policy;
  return Fleet(program_of(words), options);
}

Pages pages_of(const Fleet& fleet, const std::vector<uint32_t>& lanes, uint64_t address, uint64_t count) {
  Pages pages(lanes.size() * count, 0xEE);
  fleet.permissions(lanes, address, count * kPageBytes, pages);
  return pages;
}
Pages pages_of(const Fleet& fleet, uint32_t lane, uint64_t address, uint64_t count) {
  return pages_of(fleet, std::vector<uint32_t>{lane}, address, count);
}

TEST(Pages, OfTheProgramAreWhatItsSegmentsSay) {
  for (uint64_t lanes : kFleetSizes) {
    const Fleet fleet = fleet_with({guest::hlt(0)}, lanes, MemoryPolicy::private_copy);
    Pages wanted((kEnd - kCode) / kPageBytes, kNone);
    auto at = [&](uint64_t address) -> uint8_t& { return wanted[(address - kCode) / kPageBytes]; };
    at(kCode) = mapped(kRead | kExecute);
    at(kOtherCode) = mapped(kRead | kWrite | kExecute);
    for (uint64_t page = 0; page < 4; page++) at(kData + page * kPageBytes) = mapped(kRead | kWrite);
    at(kConstant) = mapped(kRead);
    at(kWriteOnly) = mapped(kWrite);
    at(kNoAccess) = mapped(0);
    const Pages all = pages_of(fleet, all_lanes(fleet), kCode, wanted.size());
    for (uint64_t lane = 0; lane < lanes; lane++) {
      EXPECT_TRUE(std::equal(wanted.begin(), wanted.end(), all.begin() + static_cast<long>(lane * wanted.size())))
          << "lane " << lane << " of " << lanes;
    }
  }
}

TEST(Pages, ReadOnlyTakesTheGuestsWritePermission) {
  Fleet fleet = fleet_with({guest::hlt(0)}, 3, MemoryPolicy::read_only);
  EXPECT_EQ(pages_of(fleet, 1, kData, 1), Pages{mapped(kRead)});
  EXPECT_EQ(pages_of(fleet, 1, kWriteOnly, 1), Pages{mapped(0)});
  fleet.map(all_lanes(fleet), kUnmapped, kPageBytes, kWrite);
  EXPECT_EQ(pages_of(fleet, 2, kUnmapped, 2), (Pages{mapped(0), kNone}));
}

TEST(Pages, WithoutPermissionsAreNotUnmapped) {
  // x2 = [x1].
  for (MemoryPolicy policy : kPolicies) {
    for (uint64_t lanes : kFleetSizes) {
      SCOPED_TRACE(std::to_string(static_cast<int>(policy)) + ", " + std::to_string(lanes) + " lanes");
      Fleet fleet = fleet_with({guest::ldr(3, 2, 1), guest::hlt(0)}, lanes, policy);
      const std::vector<uint32_t> even = even_lanes(fleet), all = all_lanes(fleet);
      auto expect = [&](auto value_of, auto stop_of) {
        const Pages pages = pages_of(fleet, all, kData, 1);
        fleet.fill(Field::pc, kCode);
        fleet.fill(x(1), kData + 8);
        fleet.resume_all();
        fleet.run();
        for (uint32_t lane = 0; lane < lanes; lane++) {
          EXPECT_EQ(pages[lane], value_of(lane)) << "lane " << lane;
          expect_stop(fleet, lane, stop_of(lane));
        }
      };
      const Stop refused = fault(FaultKind::read, kData + 8), missing = fault(FaultKind::unmapped, kData + 8);
      auto is_even = [](uint32_t lane) { return lane % 2 == 0; };

      fleet.map(even, kData, kPageBytes, 0);
      expect([&](uint32_t lane) { return is_even(lane) ? mapped(0) : mapped(kRead | kWrite); },
             [&](uint32_t lane) { return is_even(lane) ? refused : halt(); });
      for (uint32_t lane = 0; lane < lanes; lane++) {
        const std::vector<uint8_t> wanted =
            is_even(lane) ? std::vector<uint8_t>(16) : initial_bytes(kData, 16);  // the host may read it
        EXPECT_EQ(fleet.read(lane, kData, 16), wanted) << "lane " << lane;
      }

      fleet.unmap(even, kData, kPageBytes);
      expect([&](uint32_t lane) { return is_even(lane) ? kNone : mapped(kRead | kWrite); },
             [&](uint32_t lane) { return is_even(lane) ? missing : halt(); });
      for (uint32_t lane : even) EXPECT_THROW((void)fleet.read(lane, kData, 16), ArgumentError);

      fleet.protect(all, kData, kPageBytes, 0);  // changes what is mapped
      expect([&](uint32_t lane) { return is_even(lane) ? kNone : mapped(0); },
             [&](uint32_t lane) { return is_even(lane) ? missing : refused; });

      fleet.map(all, kData, kPageBytes, 0);
      expect([&](uint32_t) { return mapped(0); }, [&](uint32_t) { return refused; });
      fleet.protect(all, kData, kPageBytes, kRead);
      expect([&](uint32_t) { return mapped(kRead); }, [&](uint32_t) { return halt(); });
      for (uint32_t lane : all) EXPECT_EQ(fleet.get(x(2), lane), 0u) << "zeros, whatever was there";

      fleet.unmap(all, kData, kPageBytes);
      expect([&](uint32_t) { return kNone; }, [&](uint32_t) { return missing; });
    }
  }
}

TEST(Pages, WithoutPermissionsTakeNoFrame) {
  for (uint64_t lanes : kFleetSizes) {
    Fleet fleet = fleet_with({guest::hlt(0)}, lanes, MemoryPolicy::private_copy);
    const uint64_t before = fleet.pool_used();
    fleet.map(all_lanes(fleet), kUnmapped, 4 * kPageBytes, 0);
    EXPECT_EQ(fleet.pool_used(), before);
    // The frame of a page that a lane has written goes back to the pool.
    const auto last = static_cast<uint32_t>(lanes - 1);
    fleet.write(last, kData, initial_bytes(0, 16));
    EXPECT_GT(fleet.pool_used(), before);
    fleet.map(all_lanes(fleet), kData, kPageBytes, 0);
    EXPECT_EQ(fleet.pool_used(), before);
  }
}

TEST(Pages, PermissionsAreAskedInTheOrderOfTheLanes) {
  Fleet fleet = fleet_with({guest::hlt(0)}, 70, MemoryPolicy::private_copy);
  const uint32_t first = 3, second = 66;
  fleet.protect(std::span(&first, 1), kData, kPageBytes, kRead);
  fleet.unmap(std::span(&second, 1), kData + kPageBytes, kPageBytes);
  const uint8_t both = mapped(kRead | kWrite);
  EXPECT_EQ(pages_of(fleet, {66, 4, 3, 66}, kData, 2),
            (Pages{both, kNone, both, both, mapped(kRead), both, both, kNone}));
}

TEST(Pages, SnapshotsKeepPermissions) {
  for (MemoryPolicy policy : {MemoryPolicy::private_copy, MemoryPolicy::shared}) {
    Fleet fleet = fleet_with({guest::hlt(0)}, 40, policy);
    const std::vector<uint32_t> even = even_lanes(fleet);
    fleet.map(even, kUnmapped, kPageBytes, 0);
    const Pages before = pages_of(fleet, all_lanes(fleet), kUnmapped, 1);
    const myriarm::Snapshot snapshot = fleet.snapshot();
    fleet.unmap(even, kUnmapped, kPageBytes);
    EXPECT_NE(pages_of(fleet, all_lanes(fleet), kUnmapped, 1), before);
    fleet.restore(snapshot);
    EXPECT_EQ(pages_of(fleet, all_lanes(fleet), kUnmapped, 1), before);
  }
}

TEST(Pages, ArgumentsAreChecked) {
  Fleet fleet = fleet_with({guest::hlt(0)}, 2, MemoryPolicy::private_copy);
  const std::vector<uint32_t> both = {0, 1}, none, wrong = {2};
  Pages pages(4);
  EXPECT_THROW(fleet.permissions(both, kData, kPageBytes, pages), ArgumentError) << "4 values for 2 pages";
  EXPECT_THROW(fleet.permissions(both, kData, 4 * kPageBytes, pages), ArgumentError);
  EXPECT_THROW(fleet.permissions(both, kData + 1, 2 * kPageBytes, pages), ArgumentError);
  EXPECT_THROW(fleet.permissions(both, kEnd - kPageBytes, 2 * kPageBytes, pages), ArgumentError);
  EXPECT_THROW(fleet.permissions(wrong, kData, 4 * kPageBytes, pages), ArgumentError);
  EXPECT_THROW(fleet.unmap(wrong, kData, kPageBytes), ArgumentError);
  EXPECT_THROW(fleet.unmap(both, kData, 0), ArgumentError);
  EXPECT_THROW(fleet.unmap(both, kEnd, kPageBytes), ArgumentError);
  fleet.permissions(none, kData, kPageBytes, {});
  fleet.permissions(both, kData, 2 * kPageBytes, pages);
  EXPECT_EQ(pages, Pages(4, mapped(kRead | kWrite)));
}

}  // namespace
}  // namespace fleet_test
