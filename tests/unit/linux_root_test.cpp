// SPDX-License-Identifier: Apache-2.0
// Roots of the lanes of a LinuxFleet: what each has open is its own, snapshots and restarts keep or undo it, and pages of
// files that are mapped are common.
#include <cerrno>

#include "linux_caller.h"
#include "root_folder.h"

namespace myriarm {
namespace {

using namespace test;

constexpr uint64_t kHere = static_cast<uint64_t>(-100), kChdir = 49, kGetcwd = 17;
constexpr uint64_t kPath = kData, kOut = kData + 0x1000;

struct Rooted {
  Rooted() {
    folder.folder("a");
    folder.file("a/f", "0123456789");
    folder.file("large", std::string(3 * kPageBytes, 'x') + "end");
  }
  LinuxOptions options() const {
    LinuxOptions options;
    options.root = read_root(folder.path());
    return options;
  }
  RootFolder folder;
};

std::string read(Caller& caller, uint64_t fd, uint32_t size, uint32_t lane = 0) {
  const int64_t got = caller.call(kRead63, fd, kOut, size);
  return got < 0 ? "error" : text(caller.machine.fleet().read(lane, kOut, static_cast<uint32_t>(got)));
}

TEST(LinuxRoot, LanesHaveDescriptorsOfTheirOwn) {
  Rooted rooted;
  Caller caller(2, rooted.options());
  for (uint32_t lane : {0u, 1u}) caller.put_text(kPath, std::string("/a/f\0", 5), lane);
  EXPECT_EQ(caller.call({{kOpenat, kHere, kPath, 0}, {kGetpid}}), (Results{3, 1000}));
  EXPECT_EQ(caller.call({{kRead63, 3, kOut, 4}, {kRead63, 3, kOut, 4}}), (Results{4, -EBADF}));
  EXPECT_EQ(caller.call({{kGetpid}, {kOpenat, kHere, kPath, 0}}), (Results{1000, 3}));
  EXPECT_EQ(caller.call({{kRead63, 3, kOut, 4}, {kRead63, 3, kOut, 2}}), (Results{4, 2}));
  EXPECT_EQ(text(caller.machine.fleet().read(0, kOut, 4)), "4567");
  EXPECT_EQ(text(caller.machine.fleet().read(1, kOut, 2)), "01");
  EXPECT_TRUE(caller.machine.unimplemented().empty());
}

TEST(LinuxRoot, SnapshotsKeepWhatIsOpenAndTheWorkingFolder) {
  Rooted rooted;
  Caller caller(1, rooted.options());
  caller.put_text(kPath, std::string("/a/f\0/a\0", 8));
  EXPECT_EQ(caller.call(kOpenat, kHere, kPath, 0), 3);
  EXPECT_EQ(caller.call(kChdir, kPath + 5), 0);
  EXPECT_EQ(read(caller, 3, 4), "0123");
  const Snapshot snapshot = caller.machine.fleet().snapshot();
  EXPECT_EQ(read(caller, 3, 4), "4567");
  EXPECT_EQ(caller.call(kClose, 3), 0);
  caller.put_text(kPath + 16, std::string("/\0", 2));
  EXPECT_EQ(caller.call(kChdir, kPath + 16), 0);
  caller.machine.fleet().restore(snapshot);
  EXPECT_EQ(read(caller, 3, 4), "4567");
  EXPECT_EQ(caller.call(kGetcwd, kOut, 100), 3) << "/a and its NUL";
}

TEST(LinuxRoot, ARestartedProcessHasNothingOpen) {
  Rooted rooted;
  LinuxOptions options = rooted.options();
  options.restartable = true;
  Caller caller(1, options);
  caller.put_text(kPath, std::string("/a/f\0", 5));
  EXPECT_EQ(caller.call(kOpenat, kHere, kPath, 0), 3);
  const uint32_t lane = 0;
  const uint64_t number = 7;
  ProcessInput input;
  caller.machine.restart({&lane, 1}, {&number, 1}, {&input, 1});
  EXPECT_EQ(caller.call(kRead63, 3, kOut, 1), -EBADF);
  caller.put_text(kPath, std::string("/a/f\0", 5));
  EXPECT_EQ(caller.call(kOpenat, kHere, kPath, 0), 3);
  EXPECT_EQ(read(caller, 3, 4), "0123");
}

TEST(LinuxRoot, MappedPagesAreCommonUntilALaneWrites) {
  Rooted rooted;
  constexpr uint32_t kLanes = 20;
  Caller caller(kLanes, rooted.options());
  for (uint32_t lane = 0; lane < kLanes; lane++) caller.put_text(kPath, std::string("/large\0", 7), lane);
  const std::vector<int64_t> opened = caller.call(std::vector<Caller::Request>(kLanes, {kOpenat, kHere, kPath, 0}));
  ASSERT_EQ(opened, Results(kLanes, 3));
  const uint64_t before = caller.machine.fleet().pool_used();
  const uint64_t size = 4 * kPageBytes;
  const std::vector<int64_t> mapped = caller.call(std::vector<Caller::Request>(kLanes, {kMmap, 0, size, 3, 2, 3, 0}));
  const auto place = static_cast<uint64_t>(mapped[0]);
  EXPECT_EQ(mapped, Results(kLanes, mapped[0]));
  // On a GPU the frame of a team has a page beside those of its lanes.
  const uint64_t ranges = test_device() == "cpu" ? kLanes : kLanes + 1;
  EXPECT_LE(caller.machine.fleet().pool_used(), before + ranges * kPageBytes) << "one page of ranges a lane at most";
  EXPECT_EQ(text(caller.machine.fleet().read(5, place + 3 * kPageBytes - 1, 6)), std::string("xend\0\0", 6));
  caller.put_text(place, "mine", 5);
  EXPECT_EQ(text(caller.machine.fleet().read(5, place, 5)), "minex");
  EXPECT_EQ(text(caller.machine.fleet().read(6, place, 5)), "xxxxx");
  EXPECT_EQ(caller.call(std::vector<Caller::Request>(kLanes, {kMunmap, place, size})), Results(kLanes, 0));
  EXPECT_EQ(caller.call(std::vector<Caller::Request>(kLanes, {kMmap, 0, size, 3, 2, 3, 0})), mapped);
  EXPECT_EQ(text(caller.machine.fleet().read(5, place, 5)), "xxxxx") << "the file is as it was";
}

TEST(LinuxRoot, LanesMapAFileOneAfterTheOther) {
  Rooted rooted;
  constexpr uint32_t kLanes = 20;
  constexpr uint64_t kSize = 4 * kPageBytes;
  Caller caller(kLanes, rooted.options());
  Fleet& fleet = caller.machine.fleet();
  for (uint32_t lane = 0; lane < kLanes; lane++) caller.put_text(kPath, std::string("/large\0", 7), lane);
  EXPECT_EQ(caller.call(std::vector<Caller::Request>(kLanes, {kOpenat, kHere, kPath, 0})), Results(kLanes, 3));
  const Caller::Request map = {kMmap, 0, kSize, 3, 2, 3, 0};
  uint64_t place = 0, used = 0;
  std::vector<Caller::Request> requests;
  for (uint32_t lane = 0; lane < kLanes; lane++) {  // one lane after the other
    requests.assign(kLanes, {kGetpid});
    requests[lane] = map;
    const int64_t at = caller.call(requests)[lane];
    ASSERT_GT(at, 0) << lane;
    if (lane == 0) place = static_cast<uint64_t>(at), used = fleet.pool_used();
    EXPECT_EQ(static_cast<uint64_t>(at), place) << lane;
    EXPECT_EQ(text(fleet.read(lane, place + 3 * kPageBytes - 1, 6)), std::string("xend\0\0", 6)) << lane;
  }
  if (test_device() != "cpu") {  // there each lane has a page of ranges of its own
    EXPECT_EQ(fleet.pool_used(), used) << "lanes have copies";
  }
  caller.put_text(place, "mine", 5);
  for (uint32_t lane = 0; lane < kLanes; lane++) {
    EXPECT_EQ(text(fleet.read(lane, place, 5)), lane == 5 ? "minex" : "xxxxx") << lane;
  }
  EXPECT_EQ(caller.call(std::vector<Caller::Request>(kLanes, {kMunmap, place, kSize})), Results(kLanes, 0));
  // What a lane has written stays, whoever maps the page after it.
  requests.assign(kLanes, map);
  requests[3] = {kGetpid};
  EXPECT_EQ(static_cast<uint64_t>(caller.call(requests)[0]), place);
  caller.put_text(place + kPageBytes, "mine", 7);
  requests.assign(kLanes, {kGetpid});
  requests[3] = map;
  EXPECT_EQ(static_cast<uint64_t>(caller.call(requests)[3]), place);
  for (uint32_t lane = 0; lane < kLanes; lane++) {
    EXPECT_EQ(text(fleet.read(lane, place + kPageBytes, 5)), lane == 7 ? "minex" : "xxxxx") << lane;
  }
  // A mapping of which some lanes may read alone.
  EXPECT_EQ(caller.call(std::vector<Caller::Request>(kLanes, {kMunmap, place, kSize})), Results(kLanes, 0));
  requests.assign(kLanes, map);
  requests[3] = {kGetpid};
  requests[8].x2 = 1;
  EXPECT_EQ(static_cast<uint64_t>(caller.call(requests)[8]), place);
  requests.assign(kLanes, {kGetpid});
  requests[3] = map;
  EXPECT_EQ(static_cast<uint64_t>(caller.call(requests)[3]), place);
  requests.assign(kLanes, {kRead63, 3, place, 2});
  Results expected(kLanes, 2);
  expected[8] = -EFAULT;
  EXPECT_EQ(caller.call(requests), expected);
}

TEST(LinuxRoot, PagesThatAllLanesMayOnlyReadAndHaveAlikeAreCommon) {
  Rooted rooted;
  constexpr uint32_t kLanes = 70;
  constexpr uint64_t kPages = 3, kSize = kPages * kPageBytes, kReadOnly = 1, kReadWrite = 3;
  Caller caller(kLanes, rooted.options());
  Fleet& fleet = caller.machine.fleet();
  const auto all_call = [&](const Caller::Request& request) {
    return caller.call(std::vector<Caller::Request>(kLanes, request));
  };
  const Results mapped = all_call({kMmap, 0, kSize, kReadWrite, 0x22, ~uint64_t{0}, 0});
  const auto place = static_cast<uint64_t>(mapped[0]);
  ASSERT_EQ(mapped, Results(kLanes, mapped[0]));
  // The second page differs in one lane.
  for (uint32_t lane = 0; lane < kLanes; lane++) {
    for (uint64_t page = 0; page < kPages; page++) caller.put_text(place + page * kPageBytes, "table", lane);
  }
  caller.put_text(place + 2 * kPageBytes - 8, "other", 40);
  EXPECT_EQ(all_call({kGetpid})[0], 1000);
  const uint64_t used = fleet.pool_used();
  EXPECT_EQ(all_call({kMprotect, place, kSize, kReadOnly}), Results(kLanes, 0));
  const auto expect_texts = [&](const std::string& of_lane_9) {
    for (uint32_t lane = 0; lane < kLanes; lane++) {
      for (uint64_t page = 0; page < kPages; page++) {
        const std::string wanted = lane == 9 && page == 0 ? of_lane_9 : "table";
        EXPECT_EQ(text(fleet.read(lane, place + page * kPageBytes, 5)), wanted) << lane << ' ' << page;
      }
      const std::string end = lane == 40 ? "other" : std::string(5, 0);
      EXPECT_EQ(text(fleet.read(lane, place + 2 * kPageBytes - 8, 5)), end) << lane;
    }
  };
  expect_texts("table");
  if (test_device() != "cpu") {  // of three teams, whose frames have 32 pages each
    EXPECT_LE(fleet.pool_used() + 7 * 32 * kPageBytes, used) << "pages of teams are given back";
  }
  const Snapshot snapshot = fleet.snapshot();
  EXPECT_EQ(all_call({kMprotect, place, kSize, kReadWrite}), Results(kLanes, 0));
  caller.put_text(place, "mine!", 9);
  expect_texts("mine!");
  EXPECT_EQ(all_call({kMprotect, place, kSize, kReadOnly}), Results(kLanes, 0));
  expect_texts("mine!");
  fleet.restore(snapshot);
  expect_texts("table");
  EXPECT_EQ(all_call({kMunmap, place, kSize}), Results(kLanes, 0));
  fleet.restore(snapshot);
  expect_texts("table");
}

TEST(LinuxRoot, AHandlerSeesACallOnceThatWaitsForAFile) {
  Rooted rooted;
  constexpr uint32_t kLanes = 3;
  Caller caller(kLanes, rooted.options());
  Fleet& fleet = caller.machine.fleet();
  for (uint32_t lane = 0; lane < kLanes; lane++) caller.put_text(kPath, std::string("/a/f\0", 5), lane);
  ASSERT_EQ(caller.call(std::vector<Caller::Request>(kLanes, {kOpenat, kHere, kPath, 0})), Results(kLanes, 3));
  const uint64_t before = fleet.get(Field::instructions, 0);
  fleet.fill(x(8), kRead63);
  fleet.fill(x(0), 3);
  fleet.fill(x(1), kOut);
  fleet.fill(x(2), 4);
  fleet.fill(Field::pc, kCode);
  fleet.resume_all();
  RunOptions options;
  std::vector<int> seen(kLanes);
  options.on_syscall = [&](Fleet&, const SyscallBatch& batch) {
    for (uint32_t lane : batch.lanes) seen[lane]++;
  };
  fleet.run(options);
  EXPECT_EQ(seen, std::vector<int>(kLanes, 1));
  for (uint32_t lane = 0; lane < kLanes; lane++) {
    EXPECT_EQ(fleet.get(x(0), lane), 4u);
    EXPECT_EQ(fleet.get(Field::instructions, lane), before + 1) << "the SVC";
    EXPECT_EQ(text(fleet.read(lane, kOut, 4)), "0123");
  }
}

TEST(LinuxRoot, AFileThatCannotBeReadIsAnError) {
  Rooted rooted;
  Caller caller(2, rooted.options());
  rooted.folder.file("a/f", "another length");
  for (uint32_t lane : {0u, 1u}) caller.put_text(kPath, std::string("/a/f\0", 5), lane);
  EXPECT_EQ(caller.call(std::vector<Caller::Request>(2, {kOpenat, kHere, kPath, 0})), (Results{3, 3}));
  for (int i = 0; i < 2; i++)
    EXPECT_EQ(caller.call(std::vector<Caller::Request>(2, {kRead63, 3, kOut, 4})), (Results{-EIO, -EIO}));
  EXPECT_EQ(caller.call(std::vector<Caller::Request>(2, {kMmap, 0, kPageBytes, 3, 2, 3, 0})), (Results{-EIO, -EIO}));
}

constexpr uint64_t kMakeFile = 0102, kAppend = 02001;

std::string collected(const Caller& caller, uint32_t lane, const std::string& path, uint64_t most = 1 << 20) {
  std::string all;
  for (const CollectedFile& file : caller.machine.collect(lane, path, most)) {
    all += file.path + "=" + (file.left_out ? "left out" : std::string(file.bytes.begin(), file.bytes.end())) + " ";
  }
  return all;
}

/// Writes a text to /tmp/f, which is made if it is not there.
void append(Caller& caller, const std::string& what, uint32_t lane = 0) {
  std::vector<Caller::Request> open(2, {kGetpid}), write = open, close = open;
  caller.put_text(kPath, std::string("/tmp/f\0", 7), lane);
  caller.put_text(kOut, what, lane);
  open[lane] = {kOpenat, kHere, kPath, kMakeFile | kAppend, 0644};
  write[lane] = {kWrite64, 3, kOut, what.size()};
  close[lane] = {kClose, 3};
  EXPECT_EQ(caller.call(open)[lane], 3);
  EXPECT_EQ(caller.call(write)[lane], static_cast<int64_t>(what.size()));
  EXPECT_EQ(caller.call(close)[lane], 0);
}

TEST(LinuxRoot, FilesGoWithSnapshotsForksAndRestarts) {
  Rooted rooted;
  LinuxOptions options = rooted.options();
  options.restartable = true;
  Caller caller(2, options);
  Fleet& fleet = caller.machine.fleet();
  const uint64_t before = fleet.pool_used();
  EXPECT_EQ(collected(caller, 0, "/tmp/f"), "") << "there is none";
  append(caller, "one");
  if (test_device() == "cpu") {
    EXPECT_LE(fleet.pool_used() - before, 14 * kPageBytes) << "with those of the process";
  }
  const Snapshot snapshot = fleet.snapshot();
  append(caller, " two");
  append(caller, "other", 1);
  EXPECT_EQ(collected(caller, 0, "/tmp/f"), "/tmp/f=one two ");
  EXPECT_EQ(collected(caller, 1, "/tmp/f"), "/tmp/f=other ");
  const uint32_t second = 1;
  fleet.fork(0, {&second, 1});
  append(caller, " three", 1);
  EXPECT_EQ(collected(caller, 0, "/tmp"), "/tmp= /tmp/f=one two ");
  EXPECT_EQ(collected(caller, 1, "/tmp/f"), "/tmp/f=one two three ");
  fleet.restore(snapshot);
  EXPECT_EQ(collected(caller, 0, "/tmp/f"), "/tmp/f=one ");
  EXPECT_EQ(collected(caller, 1, "/tmp/f"), "");
  append(caller, " again");
  EXPECT_EQ(collected(caller, 0, "/tmp/f"), "/tmp/f=one again ");
  EXPECT_EQ(collected(caller, 0, "/tmp/f", 5), "/tmp/f=left out ");
  const uint32_t lanes[] = {0, 1};
  const uint64_t numbers[] = {4, 5};
  ProcessInput inputs[2];
  caller.machine.restart(lanes, numbers, inputs);
  EXPECT_EQ(collected(caller, 0, "/tmp/f"), "");
  EXPECT_THROW(caller.machine.collect(2, "/"), ArgumentError);
}

TEST(LinuxRoot, AProcessBeginsInItsWorkingFolder) {
  Rooted rooted;
  LinuxOptions options = rooted.options();
  options.working_folder = "/a";
  Caller caller(1, options);
  EXPECT_EQ(caller.call(kGetcwd, kOut, 100), 3) << "/a and its NUL";
  options = rooted.options();
  options.working_folder = "/a/f";
  EXPECT_THROW(Caller(1, options), ArgumentError);
  options = rooted.options();
  options.file_bytes = uint64_t{65} << 30;
  EXPECT_THROW(Caller(1, options), ArgumentError);
  options = rooted.options();
  options.file_bytes = 0;
  Caller read_only(1, options);
  read_only.put_text(kPath, std::string("/tmp/f\0", 7));
  EXPECT_EQ(read_only.call(kOpenat, kHere, kPath, kMakeFile, 0644), -EROFS);
}

TEST(LinuxRoot, ADynamicProgramNeedsARootWithItsLoader) {
  RootFolder folder;
  folder.file("nothing", "");
  const auto tree = read_root(folder.path());
  EXPECT_THROW(load_program(*tree, "missing"), ArgumentError);
  EXPECT_THROW(load_program(*tree, "/nothing"), ArgumentError);
}

}  // namespace
}  // namespace myriarm
