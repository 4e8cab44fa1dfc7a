// SPDX-License-Identifier: Apache-2.0
// Pages that the lanes of a team have in different ways: some have mapped a file and others have not, or with other permissions. On a
// GPU they are one page for all until a lane writes (docs/design/split-pages.md); what lanes see of them is the same on each device.
#include <array>
#include <cerrno>
#include <random>

#include "linux_caller.h"
#include "root_folder.h"

namespace myriarm {
namespace {

using namespace test;

constexpr uint64_t kHere = static_cast<uint64_t>(-100);
constexpr uint64_t kPath = kData, kFileFd = 3, kMapPrivate = 2, kMapFixed = 0x10, kMapAnonymous = 0x20;
constexpr uint64_t kRead = 1, kReadWrite = 3, kReadExecute = 5;
constexpr uint64_t kFilePages = 6;
constexpr uint64_t kLoad = kCode + 8;  // ldr x0, [x0]; brk

struct Rooted {
  Rooted() {
    std::string content;
    for (uint64_t page = 0; page < kFilePages; page++)
      content += std::string(kPageBytes, static_cast<char>('a' + page));
    folder.file("pages", content.substr(0, content.size() - 100));
  }
  LinuxOptions options() const {
    LinuxOptions options;
    options.root = read_root(folder.path());
    return options;
  }
  RootFolder folder;
};

/// Lanes that have opened the file.
struct Lanes : Caller {
  Lanes(const Rooted& rooted, uint32_t count, const std::string& device)
      : Caller(on(device, count), rooted.options()), lanes(count) {
    for (uint32_t lane = 0; lane < count; lane++) {
      put_text(kPath, std::string("/pages\0", 7), lane);
      put(kLoad, {kLoadX0 | uint64_t{kBrk} << 32}, lane);
    }
    EXPECT_EQ(all({kOpenat, kHere, kPath, 0}), Results(count, kFileFd));
  }
  static FleetOptions on(const std::string& device, uint32_t count) {
    FleetOptions options = fleet_of(count);
    options.device = device;
    return options;
  }
  Results all(const Request& request) { return call(std::vector<Request>(lanes, request)); }
  std::vector<uint8_t> permissions(uint64_t place, uint64_t pages) {
    std::vector<uint32_t> numbers(lanes);
    for (uint32_t lane = 0; lane < lanes; lane++) numbers[lane] = lane;
    std::vector<uint8_t> result(lanes * pages);
    machine.fleet().permissions(numbers, place, pages * kPageBytes, result);
    return result;
  }
  uint32_t lanes;
};

TEST(LinuxSplit, AFileIsOneSetOfPagesForThoseLanesThatHaveMappedIt) {
  Rooted rooted;
  constexpr uint32_t kLanes = 20;
  constexpr uint64_t kPages = 4, kSize = kPages * kPageBytes;
  Lanes caller(rooted, kLanes, test_device());
  Fleet& fleet = caller.machine.fleet();
  const Caller::Request map = {kMmap, 0, kSize, kRead, kMapPrivate, kFileFd, 0};
  std::vector<Caller::Request> requests(kLanes, {kGetpid});
  requests[4] = map;
  const auto place = static_cast<uint64_t>(caller.call(requests)[4]);
  const uint64_t used = fleet.pool_used();
  // The others one after the other, but for the last one.
  for (uint32_t lane = 0; lane + 1 < kLanes; lane++) {
    if (lane == 4) continue;
    requests.assign(kLanes, {kGetpid});
    requests[lane] = map;
    EXPECT_EQ(static_cast<uint64_t>(caller.call(requests)[lane]), place) << lane;
    EXPECT_EQ(text(fleet.read(lane, place + kPageBytes - 1, 2)), "ab") << lane;
    // On the CPU each lane has its ranges in a page of its own.
    if (test_device() != "cpu") {
      EXPECT_EQ(fleet.pool_used(), used) << "lane " << lane << " has copies";
    }
  }
  EXPECT_EQ(caller.permissions(place, 1)[kLanes - 1], 0) << "the last lane has not mapped it";
  // Some may write, and some give it back.
  requests.assign(kLanes, {kMprotect, place, kSize, kReadWrite});
  for (const uint32_t lane : {3u, 9u}) requests[lane] = {kMunmap, place + kPageBytes, kPageBytes};
  requests[kLanes - 1] = {kGetpid};
  caller.call(requests);
  if (test_device() != "cpu") {
    EXPECT_EQ(fleet.pool_used(), used) << "nobody has written";
  }
  requests.assign(kLanes, {kPread64, kFileFd, place, 3, 2 * kPageBytes});
  EXPECT_EQ(caller.call(requests)[kLanes - 1], -EFAULT);
  for (uint32_t lane = 0; lane + 1 < kLanes; lane++) {
    const bool wrote = lane != 3 && lane != 9;
    EXPECT_EQ(text(fleet.read(lane, place, 4)), wrote ? "ccca" : "aaaa") << lane;
  }
}

/// What a guest's load of each lane gives that may read there; 0 for the others.
std::vector<uint64_t> loads(Lanes& caller, const std::vector<uint8_t>& permissions, uint64_t pages, uint64_t page,
                            uint64_t address) {
  Fleet& fleet = caller.machine.fleet();
  std::vector<uint64_t> addresses(caller.lanes, kCode), values(caller.lanes);
  for (uint32_t lane = 0; lane < caller.lanes; lane++) {
    if (permissions[lane * pages + page] & kRead) addresses[lane] = address;
  }
  fleet.set_all(x(0), addresses);
  fleet.fill(Field::pc, kLoad);
  fleet.resume_all();
  caller.machine.run();
  for (uint32_t lane = 0; lane < caller.lanes; lane++) {
    EXPECT_EQ(fleet.stops()[lane].reason, StopReason::breakpoint) << lane;
    values[lane] = addresses[lane] == address ? fleet.get(x(0), lane) : 0;
  }
  return values;
}

TEST(LinuxSplit, RandomMappingsAreWhatTheyAreOnTheCpu) {
  Rooted rooted;
  constexpr uint32_t kLanes = 40, kRounds = 100;
  constexpr uint64_t kPages = 12;
  Lanes ours(rooted, kLanes, test_device()), theirs(rooted, kLanes, "cpu");
  std::mt19937_64 random(20);
  const auto below = [&](uint64_t end) { return random() % end; };
  const Results free = ours.all({kMmap, 0, kPages * kPageBytes, kRead, kMapPrivate | kMapAnonymous, ~uint64_t{0}, 0});
  const auto place = static_cast<uint64_t>(free[0]);
  EXPECT_EQ(theirs.all({kMmap, 0, kPages * kPageBytes, kRead, kMapPrivate | kMapAnonymous, ~uint64_t{0}, 0}), free);
  std::vector<std::array<Snapshot, 2>> kept;
  for (uint32_t round = 0; round < kRounds; round++) {
    // Most lanes do what the one before does, or nothing.
    std::vector<Caller::Request> requests(kLanes, {kGetpid});
    Caller::Request last = {kGetpid};
    for (uint32_t lane = 0; lane < kLanes; lane++) {
      const uint64_t page = below(kPages), count = 1 + below(kPages - page), at = place + page * kPageBytes;
      const uint64_t allows = std::array{kRead, kReadWrite, kReadExecute, uint64_t{0}}[below(4)];
      switch (below(24)) {
        case 0: {
          const uint64_t offset = below(kFilePages) * kPageBytes;
          last = {kMmap, at, count * kPageBytes, allows, kMapPrivate | kMapFixed, kFileFd, offset};
          break;
        }
        case 1:
          last = {kMmap, at, count * kPageBytes, allows, kMapPrivate | kMapFixed | kMapAnonymous, ~uint64_t{0}, 0};
          break;
        case 2: last = {kMunmap, at, count * kPageBytes}; break;
        case 3: last = {kMprotect, at, count * kPageBytes, allows}; break;
        case 4: last = {kPread64, kFileFd, at + below(kPageBytes), 1 + below(9), below(kFilePages * kPageBytes)}; break;
        case 5: last = {kWrite64, 1, at + below(kPageBytes), 1 + below(9)}; break;
        default: break;
      }
      if (below(3) != 0) requests[lane] = last;
    }
    ASSERT_EQ(ours.call(requests), theirs.call(requests)) << "round " << round;
    const auto both = [&](const auto& change) {
      change(ours.machine.fleet(), 0);
      change(theirs.machine.fleet(), 1);
    };
    if (round % 7 == 3) {
      kept.emplace_back();
      both([&](Fleet& fleet, size_t of) { kept.back()[of] = fleet.snapshot(); });
    }
    if (round % 11 == 9) {
      const size_t which = below(kept.size());
      std::vector<uint32_t> lanes;
      for (uint32_t lane = 0; lane < kLanes; lane++) {
        if (round % 2 == 0 || below(2) == 0) lanes.push_back(lane);
      }
      both([&](Fleet& fleet, size_t of) { fleet.restore(kept[which][of], lanes); });
    }
    if (round % 13 == 5) {
      const auto from = static_cast<uint32_t>(below(kLanes)),
                 to = static_cast<uint32_t>((from + 1 + below(kLanes - 1)) % kLanes);
      both([&](Fleet& fleet, size_t) { fleet.fork(from, std::span(&to, 1)); });
    }
    if (round % 17 == 8) {
      const auto lane = static_cast<uint32_t>(below(kLanes));
      const uint64_t at = place + below(kPages) * kPageBytes;
      both([&](Fleet& fleet, size_t) { fleet.protect(std::span(&lane, 1), at, kPageBytes, kRead); });
    }
    const std::vector<uint8_t> permissions = theirs.permissions(place, kPages);
    ASSERT_EQ(ours.permissions(place, kPages), permissions) << "round " << round;
    const uint64_t page = below(kPages), address = place + page * kPageBytes + below(kPageBytes - 7);
    ASSERT_EQ(loads(ours, permissions, kPages, page, address), loads(theirs, permissions, kPages, page, address))
        << "round " << round;
    for (uint32_t lane = 0; lane < kLanes; lane++) {
      for (uint64_t of = 0; of < kPages; of++) {
        if (permissions[lane * kPages + of] == 0 || (lane + of + round) % 5 != 0) continue;
        const uint64_t begin = place + of * kPageBytes;
        ASSERT_EQ(ours.machine.fleet().read(lane, begin, kPageBytes),
                  theirs.machine.fleet().read(lane, begin, kPageBytes))
            << "round " << round << ", lane " << lane << ", page " << of;
      }
    }
  }
  for (uint32_t lane = 0; lane < kLanes; lane++) {
    EXPECT_EQ(text(ours.machine.standard_output(lane)), text(theirs.machine.standard_output(lane))) << lane;
  }
}

}  // namespace
}  // namespace myriarm
