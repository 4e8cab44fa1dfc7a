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

/// At this place of each page of the file: counts x1 down to 0, each time with a load of the page's first bytes to x2, and sets x0 to
/// code_of() the page.
constexpr uint64_t kCodeInPage = 64;
uint32_t code_of(uint64_t file_page) { return static_cast<uint32_t>(7 * (file_page + 1)); }
std::string code_bytes(uint64_t file_page) {
  const std::array<uint32_t, 5> words = {0xd1000421, 0x58fffde2, 0xb5ffffc1, 0xd2800000 | code_of(file_page) << 5,
                                         kBrk};
  std::string bytes(sizeof words, 0);
  std::memcpy(bytes.data(), words.data(), sizeof words);
  return bytes;
}

struct Rooted {
  Rooted() {
    std::string content;
    for (uint64_t page = 0; page < kFilePages; page++) {
      content += std::string(kPageBytes, static_cast<char>('a' + page));
      const std::string code = code_bytes(page);
      content.replace(page * kPageBytes + kCodeInPage, code.size(), code);
    }
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

TEST(LinuxSplit, CopiesThatTheHostHasMadeAreGivenBackOnceAllLanesHaveTheFile) {
  Rooted rooted;
  constexpr uint32_t kLanes = 20, kLast = kLanes - 1, kOfHost = 3;
  Lanes caller(rooted, kLanes, test_device());
  Fleet& fleet = caller.machine.fleet();
  const Caller::Request map = {kMmap, 0, kPageBytes, kRead, kMapPrivate, kFileFd, 0};
  std::vector<Caller::Request> requests(kLanes, map);
  requests[kLast] = {kGetpid};
  const auto place = static_cast<uint64_t>(caller.call(requests)[0]);
  const uint64_t used = fleet.pool_used();
  fleet.protect(std::span(&kOfHost, 1), place, kPageBytes, kRead);
  const uint64_t with_copies = fleet.pool_used();
  requests.assign(kLanes, {kGetpid});
  requests[kLast] = map;
  EXPECT_EQ(static_cast<uint64_t>(caller.call(requests)[kLast]), place);
  if (test_device() != "cpu") {
    EXPECT_GT(with_copies, used) << "a change by the host makes no splits";
    EXPECT_EQ(fleet.pool_used(), used) << "copies are not given back";
  }
  for (uint32_t lane = 0; lane < kLanes; lane++) {
    EXPECT_EQ(text(fleet.read(lane, place + kPageBytes - 2, 2)), "aa") << lane;
  }
}

/// Lets each lane run from an address with x1, and gives x0 then.
std::vector<uint64_t> run_from(Lanes& caller, const std::vector<uint64_t>& pcs, const std::vector<uint64_t>& x0,
                               uint64_t x1 = 0) {
  Fleet& fleet = caller.machine.fleet();
  fleet.set_all(x(0), x0);
  fleet.fill(x(1), x1);
  fleet.set_all(Field::pc, pcs);
  fleet.resume_all();
  caller.machine.run();
  std::vector<uint64_t> values;
  for (uint32_t lane = 0; lane < caller.lanes; lane++) values.push_back(fleet.get(x(0), lane));
  return values;
}
/// A loader reserves pages of zeros, and then maps a library there. Lanes that are out of step have done so or not.
TEST(LinuxSplit, PagesOfTwoFilesAtOnePlaceAreNotCopied) {
  Rooted rooted;
  constexpr uint32_t kLanes = 20, kOther = 5;
  constexpr uint64_t kSize = 3 * kPageBytes;
  Lanes caller(rooted, kLanes, test_device());
  Fleet& fleet = caller.machine.fleet();
  const Caller::Request reserve = {kMmap, 0, kSize, 0, kMapPrivate | kMapAnonymous, ~uint64_t{0}, 0};
  const auto place = static_cast<uint64_t>(caller.all(reserve)[0]);
  const uint64_t used = fleet.pool_used();
  std::vector<uint64_t> expected(kLanes);
  const auto map_one_after_the_other = [&](uint32_t first, uint64_t offset) {
    for (uint32_t lane = first; lane < kLanes; lane += 2) {
      std::vector<Caller::Request> requests(kLanes, {kGetpid});
      requests[lane] = {kMmap, place, kSize, kRead, kMapPrivate | kMapFixed, kFileFd, offset};
      EXPECT_EQ(static_cast<uint64_t>(caller.call(requests)[lane]), place) << lane;
      expected[lane] = 0x0101010101010101 * ('a' + offset / kPageBytes);
      if (test_device() != "cpu") {
        EXPECT_EQ(fleet.pool_used(), used) << "lane " << lane << " has copies";
      }
    }
  };
  map_one_after_the_other(0, 0);
  EXPECT_EQ(caller.permissions(place, 3)[3], kMapped) << "lane 1 has reserved the place";
  std::vector<Caller::Request> requests(kLanes, {kGetpid});
  for (uint32_t lane = 1; lane < kLanes; lane += 2) requests[lane] = {kMunmap, place, kSize};
  caller.call(requests);
  map_one_after_the_other(1, kPageBytes);
  const std::vector<uint64_t> pcs(kLanes, kLoad), addresses(kLanes, place);
  EXPECT_EQ(run_from(caller, pcs, addresses), expected);
  // Equal permissions do not make the pages equal: the host gives one lane what it has, and all lanes ask for others.
  const uint32_t first = 0;
  fleet.protect(std::span(&first, 1), place, kPageBytes, kRead);
  EXPECT_EQ(run_from(caller, pcs, addresses), expected) << "after a change by the host";
  EXPECT_EQ(caller.all({kMprotect, place, kSize, kReadWrite}), Results(kLanes, 0));
  EXPECT_EQ(run_from(caller, pcs, addresses), expected) << "after mprotect()";
  std::vector<uint64_t> next = expected;
  for (uint64_t& word : next) word += 0x0101010101010101;
  const std::vector<uint64_t> behind(kLanes, place + kPageBytes);
  EXPECT_EQ(run_from(caller, pcs, behind), next) << "the next page, which the host has not changed";
  // What a snapshot has stays so, for all lanes and for some.
  const Snapshot snapshot = fleet.snapshot();
  EXPECT_EQ(caller.all({kMunmap, place, kSize}), Results(kLanes, 0));
  fleet.restore(snapshot);
  EXPECT_EQ(run_from(caller, pcs, behind), next) << "after a restore";
  fleet.restore(snapshot, std::array<uint32_t, 2>{3, kOther + 1});
  EXPECT_EQ(run_from(caller, pcs, behind), next) << "after a restore of two lanes";
  // Of a third file there are copies.
  const uint64_t without = fleet.pool_used();
  requests.assign(kLanes, {kGetpid});
  requests[kOther] = {kMmap, place, kSize, kRead, kMapPrivate | kMapFixed | kMapAnonymous, ~uint64_t{0}, 0};
  caller.call(requests);
  if (test_device() != "cpu") {
    EXPECT_GT(fleet.pool_used(), without);
  }
  expected[kOther] = next[kOther] = 0;
  EXPECT_EQ(run_from(caller, pcs, addresses), expected) << "with a third file";
  EXPECT_EQ(run_from(caller, pcs, behind), next) << "the next page, with a third file";
}

/// What a guest's load of each lane gives that may read there, and what code there sets x0 to in those that may execute it.
std::vector<uint64_t> accesses(Lanes& caller, const std::vector<uint8_t>& permissions, uint64_t pages, uint64_t page,
                               uint64_t address) {
  Fleet& fleet = caller.machine.fleet();
  std::vector<uint64_t> pcs(caller.lanes, kLoad), x0(caller.lanes, kCode), first = x0;
  const uint64_t code = address / kPageBytes * kPageBytes + kCodeInPage;
  for (uint32_t lane = 0; lane < caller.lanes; lane++) {
    const uint8_t allowed = permissions[lane * pages + page];
    if (allowed & kRead) first[lane] = address;
    if ((allowed & kExecute) && fleet.read(lane, code, 4)[3] == 0xd1) pcs[lane] = code;
  }
  std::vector<uint64_t> values = run_from(caller, std::vector<uint64_t>(caller.lanes, kLoad), first);
  const std::vector<uint64_t> of_code = run_from(caller, pcs, x0, 300);
  for (uint32_t lane = 0; lane < caller.lanes; lane++) {
    EXPECT_EQ(fleet.stops()[lane].reason, StopReason::breakpoint) << lane;
    values.push_back(of_code[lane]);
  }
  return values;
}

TEST(LinuxSplit, OnlyLanesThatHaveMappedCodeRunIt) {
  Rooted rooted;
  constexpr uint32_t kLanes = 20;
  constexpr uint64_t kSize = 2 * kPageBytes;
  Lanes ours(rooted, kLanes, test_device()), theirs(rooted, kLanes, "cpu");
  std::vector<Caller::Request> requests(kLanes, {kMmap, 0, kSize, kReadExecute, kMapPrivate, kFileFd, 0});
  for (const uint32_t lane : {0u, 7u, 12u}) requests[lane] = {kGetpid};
  const Results mapped = ours.call(requests);
  EXPECT_EQ(theirs.call(requests), mapped);
  const uint64_t place = static_cast<uint64_t>(mapped[1]), code = place + kCodeInPage;
  std::vector<uint64_t> pcs(kLanes, code), x0(kLanes, kCode), codes(kLanes, code_of(0));
  const uint64_t first_word = ours.word(kCode);
  for (const uint32_t lane : {0u, 7u, 12u}) pcs[lane] = kLoad, codes[lane] = first_word;
  const uint64_t used = ours.machine.fleet().pool_used();
  for (int time = 0; time < 4; time++) EXPECT_EQ(run_from(ours, pcs, x0, 100'000), codes);
  if (test_device() != "cpu") {
    EXPECT_GT(ours.machine.fleet().pool_used(), used) << "there are no predecoded words for those that run it";
  }
  // Those that have not mapped it, or not any more, cannot.
  const auto expect_equal_ends = [&](const char* when) {
    run_from(ours, std::vector<uint64_t>(kLanes, code), x0, 50);
    run_from(theirs, std::vector<uint64_t>(kLanes, code), x0, 50);
    for (uint32_t lane = 0; lane < kLanes; lane++) {
      const Stop a = ours.machine.fleet().stops()[lane], b = theirs.machine.fleet().stops()[lane];
      EXPECT_EQ(a.reason, b.reason) << when << ", lane " << lane;
      EXPECT_EQ(a.detail, b.detail) << when << ", lane " << lane;
      EXPECT_EQ(ours.machine.fleet().get(Field::instructions, lane),
                theirs.machine.fleet().get(Field::instructions, lane))
          << when << ", lane " << lane;
    }
    EXPECT_NE(ours.machine.fleet().stops()[7].reason, StopReason::breakpoint) << when;
  };
  run_from(theirs, pcs, x0, 100'000);
  for (Lanes* caller : {&ours, &theirs}) caller->machine.fleet().fill(Field::instructions, 0);
  const Snapshot of_ours = ours.machine.fleet().snapshot(), of_theirs = theirs.machine.fleet().snapshot();
  expect_equal_ends("at first");
  ours.machine.fleet().restore(of_ours);
  theirs.machine.fleet().restore(of_theirs);
  EXPECT_EQ(run_from(ours, pcs, x0, 100'000), codes) << "after a restore";
  run_from(theirs, pcs, x0, 100'000);
  requests.assign(kLanes, {kGetpid});
  requests[4] = {kMunmap, place, kPageBytes};
  requests[5] = {kMprotect, place, kSize, kRead};
  requests[6] = {kMmap, place, kSize, kReadExecute, kMapPrivate | kMapFixed, kFileFd, kPageBytes};
  EXPECT_EQ(ours.call(requests), theirs.call(requests));
  expect_equal_ends("after changes");
  EXPECT_EQ(ours.machine.fleet().get(x(0), 6), code_of(1));
}

/// Two pages of code, each from two files, and divided between other lanes.
TEST(LinuxSplit, LanesWithOtherCodeAtOnePlaceRunTheirOwn) {
  Rooted rooted;
  constexpr uint32_t kLanes = 20;
  Lanes caller(rooted, kLanes, test_device());
  Fleet& fleet = caller.machine.fleet();
  const auto place =
      static_cast<uint64_t>(caller.all({kMmap, 0, 2 * kPageBytes, 0, kMapPrivate | kMapAnonymous, ~uint64_t{0}, 0})[0]);
  std::array<std::vector<uint64_t>, 2> codes = {std::vector<uint64_t>(kLanes), std::vector<uint64_t>(kLanes)};
  const auto map_in = [&](uint64_t page, uint64_t file_page, uint32_t lanes) {
    std::vector<Caller::Request> requests(kLanes, {kGetpid});
    for (uint32_t lane = 0; lane < kLanes; lane++) {
      if (!(lanes >> lane & 1)) continue;
      requests[lane] = {kMmap,   place + page * kPageBytes, kPageBytes, kReadExecute, kMapPrivate | kMapFixed,
                        kFileFd, file_page * kPageBytes};
      codes[page][lane] = code_of(file_page);
    }
    caller.call(requests);
  };
  const auto expect_own_code = [&](const char* when) {
    for (int time = 0; time < 3; time++) {
      for (uint64_t page = 0; page < 2; page++) {
        const std::vector<uint64_t> pcs(kLanes, place + page * kPageBytes + kCodeInPage), x0(kLanes, kCode);
        EXPECT_EQ(run_from(caller, pcs, x0, 100'000), codes[page]) << when << ", page " << page;
      }
    }
  };
  map_in(0, 1, 0x000FF);
  map_in(0, 3, 0xFFF00);  // most lanes
  map_in(1, 2, 0x007FF);
  map_in(1, 4, 0xFF800);
  const uint64_t used = fleet.pool_used();
  expect_own_code("at first");
  if (test_device() != "cpu") {
    EXPECT_GT(fleet.pool_used(), used) << "there are no predecoded words for anybody";
  }
  map_in(0, 3, 0x0000C);
  map_in(0, 1, 0x18000);
  expect_own_code("with the code of others");
  map_in(0, 5, 0x00010);
  expect_own_code("with a third file");
}

/// All lanes change the permissions of pages that they have from two files, each page divided between others.
TEST(LinuxSplit, SplitsThatNoPageHasAnyMoreServeFurtherChangesOfPermissions) {
  Rooted rooted;
  constexpr uint32_t kLanes = 20;
  constexpr uint64_t kPages = 24, kSize = kPages * kPageBytes;  // a table has 128 splits
  Lanes caller(rooted, kLanes, test_device());
  Fleet& fleet = caller.machine.fleet();
  const auto place =
      static_cast<uint64_t>(caller.all({kMmap, 0, kSize, kRead, kMapPrivate | kMapAnonymous, ~uint64_t{0}, 0})[0]);
  const auto has_file = [](uint32_t lane, uint64_t page) { return ((page + 1) * 0x9E3779B1 >> lane & 1) != 0; };
  for (uint64_t page = 0; page < kPages; page++) {
    std::vector<Caller::Request> requests(kLanes, {kGetpid});
    for (uint32_t lane = 0; lane < kLanes; lane++) {
      if (!has_file(lane, page)) continue;
      requests[lane] = {kMmap, place + page * kPageBytes, kPageBytes, kRead, kMapPrivate | kMapFixed, kFileFd, 0};
    }
    caller.call(requests);
  }
  const uint64_t used = fleet.pool_used();
  for (const uint64_t allows : {3, 5, 4, 7, 2, 0, 6, 1}) {
    ASSERT_EQ(caller.all({kMprotect, place, kSize, allows}), Results(kLanes, 0)) << allows;
    if (test_device() != "cpu") {
      EXPECT_EQ(fleet.pool_used(), used) << "there are copies since the lanes may do " << allows;
    }
  }
  for (uint64_t page = 0; page < kPages; page++) {
    std::vector<uint64_t> expected(kLanes);
    for (uint32_t lane = 0; lane < kLanes; lane++) expected[lane] = has_file(lane, page) ? 0x6161616161616161 : 0;
    ASSERT_EQ(run_from(caller, std::vector<uint64_t>(kLanes, kLoad),
                       std::vector<uint64_t>(kLanes, place + page * kPageBytes)),
              expected)
        << page;
  }
}

TEST(LinuxSplit, AreAsTheyWereAfterARestore) {
  Rooted rooted;
  constexpr uint32_t kLanes = 20, kWays = 200;
  Lanes caller(rooted, kLanes, test_device());
  const auto reserved =
      static_cast<uint64_t>(caller.all({kMmap, 0, 2 * kPageBytes, 0, kMapPrivate | kMapAnonymous, ~uint64_t{0}, 0})[0]);
  EXPECT_EQ(caller.all({kMunmap, reserved, 2 * kPageBytes}), Results(kLanes, 0));
  const auto map_in = [&](uint32_t lanes, uint64_t page, uint64_t file_page) {
    std::vector<Caller::Request> requests(kLanes, {kGetpid});
    for (uint32_t lane = 0; lane < kLanes; lane++) {
      if (lanes >> lane & 1) {
        requests[lane] = {kMmap,   reserved + page * kPageBytes, kPageBytes, kRead, kMapPrivate | kMapFixed,
                          kFileFd, file_page * kPageBytes};
      }
    }
    caller.call(requests);
  };
  map_in(0x3FF, 0, 2);
  const std::vector<uint8_t> permissions = caller.permissions(reserved, 2);
  const Snapshot snapshot = caller.machine.fleet().snapshot();
  // What some lanes get back as they have it stays one page.
  const uint64_t used = caller.machine.fleet().pool_used();
  const std::array<uint32_t, 2> some = {3, 12};
  for (int time = 0; time < 2; time++) caller.machine.fleet().restore(snapshot, some);
  if (test_device() != "cpu") {
    EXPECT_LE(caller.machine.fleet().pool_used(), used) << "a restore of two lanes has made copies";
  }
  EXPECT_EQ(caller.permissions(reserved, 2), permissions);
  EXPECT_EQ(caller.all({kMunmap, reserved, kPageBytes}), Results(kLanes, 0));
  // More ways to have a page than a table has splits, one after the other.
  for (uint32_t way = 1; way <= kWays; way++) {
    map_in(way << 8, 1, way % kFilePages);
    for (uint32_t lane = 0; lane < kLanes; lane += 3) {
      EXPECT_EQ(caller.permissions(reserved, 2)[2 * lane + 1] != 0, (way << 8 >> lane & 1) != 0) << way << ' ' << lane;
    }
    caller.all({kMunmap, reserved, 2 * kPageBytes});
  }
  map_in(~0x3FFu, 1, 0);
  caller.machine.fleet().restore(snapshot);
  EXPECT_EQ(caller.permissions(reserved, 2), permissions);
  std::vector<uint64_t> pcs(kLanes, kCode + 4), addresses(kLanes, reserved);
  std::fill_n(pcs.begin(), 10, kLoad);
  for (int time = 0; time < 2; time++) {
    const std::vector<uint64_t> loaded = run_from(caller, pcs, addresses);
    for (uint32_t lane = 0; lane < kLanes; lane++) {
      EXPECT_EQ(loaded[lane], lane < 10 ? 0x6363636363636363 : reserved) << lane;
    }
  }
  for (uint32_t lane = 0; lane < 10; lane++) {
    EXPECT_EQ(text(caller.machine.fleet().read(lane, reserved, 3)), "ccc") << lane;
  }
}

TEST(LinuxSplit, PagesThatLanesHaveInMoreWaysThanThereAreSplitsAreRight) {
  Rooted rooted;
  constexpr uint32_t kLanes = 20;
  constexpr uint64_t kPages = 160;  // a table has 128 splits
  Lanes ours(rooted, kLanes, test_device()), theirs(rooted, kLanes, "cpu");
  const Caller::Request reserve = {kMmap, 0, kPages * kPageBytes, 0, kMapPrivate | kMapAnonymous, ~uint64_t{0}, 0};
  const Results free = ours.all(reserve);
  EXPECT_EQ(theirs.all(reserve), free);
  const auto place = static_cast<uint64_t>(free[0]);
  const Caller::Request unmap = {kMunmap, place, kPages * kPageBytes};
  EXPECT_EQ(ours.all(unmap), theirs.all(unmap));
  const auto has = [](uint32_t lane, uint64_t page, uint64_t time) {
    return ((page + 1 + 7 * time) * 0x9E3779B1 >> lane & 1) != 0;
  };
  for (uint64_t time = 0; time < 2; time++) {
    for (uint64_t page = 0; page < kPages; page++) {
      std::vector<Caller::Request> requests(kLanes, {kGetpid});
      const uint64_t at = place + page * kPageBytes;
      for (uint32_t lane = 0; lane < kLanes; lane++) {
        if (has(lane, page, time)) {
          requests[lane] = {kMmap,
                            at,
                            kPageBytes,
                            kReadExecute,
                            kMapPrivate | kMapFixed,
                            kFileFd,
                            (page + time) % kFilePages * kPageBytes};
        } else if (time != 0) {
          requests[lane] = {kMunmap, at, kPageBytes};
        }
      }
      ASSERT_EQ(ours.call(requests), theirs.call(requests)) << "page " << page;
    }
    const std::vector<uint8_t> permissions = theirs.permissions(place, kPages);
    ASSERT_EQ(ours.permissions(place, kPages), permissions) << "time " << time;
    for (uint64_t page = 0; page < kPages; page++) {
      const uint64_t address = place + page * kPageBytes + 8 * page;
      ASSERT_EQ(accesses(ours, permissions, kPages, page, address),
                accesses(theirs, permissions, kPages, page, address))
          << "time " << time << ", page " << page;
    }
  }
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
    const uint64_t page = below(kPages), unaligned = round % 2 == 0 ? 0 : below(8);
    const uint64_t address = place + page * kPageBytes + 8 * below(kPageBytes / 8 - 1) + unaligned;
    ASSERT_EQ(accesses(ours, permissions, kPages, page, address), accesses(theirs, permissions, kPages, page, address))
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
