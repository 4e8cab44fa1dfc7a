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

class LinuxRoot : public testing::Test {
 protected:
  void SetUp() override {
    if (test_device() != "cpu") GTEST_SKIP() << "LinuxRoots.AGpuHasNone asserts what is said there";
  }
};

TEST(LinuxRoots, AGpuHasNone) {
  if (test_device() == "cpu") GTEST_SKIP() << "for a GPU";
  Rooted rooted;
  EXPECT_THROW(Caller(1, rooted.options()), ArgumentError);
}

TEST_F(LinuxRoot, LanesHaveDescriptorsOfTheirOwn) {
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

TEST_F(LinuxRoot, SnapshotsKeepWhatIsOpenAndTheWorkingFolder) {
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

TEST_F(LinuxRoot, ARestartedProcessHasNothingOpen) {
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

TEST_F(LinuxRoot, MappedPagesAreCommonUntilALaneWrites) {
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
  EXPECT_LE(caller.machine.fleet().pool_used(), before + kLanes * kPageBytes) << "one page of ranges a lane at most";
  EXPECT_EQ(text(caller.machine.fleet().read(5, place + 3 * kPageBytes - 1, 6)), std::string("xend\0\0", 6));
  caller.put_text(place, "mine", 5);
  EXPECT_EQ(text(caller.machine.fleet().read(5, place, 5)), "minex");
  EXPECT_EQ(text(caller.machine.fleet().read(6, place, 5)), "xxxxx");
  EXPECT_EQ(caller.call(std::vector<Caller::Request>(kLanes, {kMunmap, place, size})), Results(kLanes, 0));
  EXPECT_EQ(caller.call(std::vector<Caller::Request>(kLanes, {kMmap, 0, size, 3, 2, 3, 0})), mapped);
  EXPECT_EQ(text(caller.machine.fleet().read(5, place, 5)), "xxxxx") << "the file is as it was";
}

TEST(LinuxRoots, ADynamicProgramNeedsARootWithItsLoader) {
  RootFolder folder;
  folder.file("nothing", "");
  const auto tree = read_root(folder.path());
  EXPECT_THROW(load_program(*tree, "missing"), ArgumentError);
  EXPECT_THROW(load_program(*tree, "/nothing"), ArgumentError);
}

}  // namespace
}  // namespace myriarm
