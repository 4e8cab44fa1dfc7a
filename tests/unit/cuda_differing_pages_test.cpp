// SPDX-License-Identifier: Apache-2.0
// Which kernel a launch of processes on a GPU gets, where lanes differ in the permissions of pages.
#include <gtest/gtest.h>

#include "backends/cuda/process/differing_pages.h"

namespace myriarm::cuda {
namespace {

struct Launches {
  DifferingPages pages;
  View view = {};
  u32 teams_that_differ = 0;
  int looks = 0;
  Control control = {};

  void begin(u64 launch_ticks = 0) {
    control = {};
    control.launch_ticks = launch_ticks;
    pages.begin(view, control, [&] {
      looks++;
      return teams_that_differ;
    });
  }
  void end(bool came_to_differ, u32 orders = 0) {
    Report report = {};
    report.pages_differ = came_to_differ;
    report.orders = orders;
    pages.end(report);
  }
};

TEST(CudaDifferingPages, ALaunchLooksForThemOnlyWhereTheyMayBe) {
  Launches launches;
  launches.begin();
  EXPECT_EQ(launches.looks, 1) << "the image may have some";
  EXPECT_EQ(launches.view.processes.pages_differ, 0u);
  EXPECT_EQ(launches.control.launch_ticks, 0u);
  EXPECT_NE(launches.control.differ_ticks, 0u);
  launches.end(false);
  launches.begin();
  launches.end(true);
  EXPECT_EQ(launches.looks, 1);
  launches.teams_that_differ = 1;
  launches.begin();
  EXPECT_EQ(launches.looks, 2);
  EXPECT_NE(launches.view.processes.pages_differ, 0u);
  launches.end(false);
  launches.begin();
  EXPECT_EQ(launches.looks, 3) << "while they differ, each launch looks whether they still do";
  launches.teams_that_differ = 0;
  launches.end(false);
  launches.begin();
  EXPECT_EQ(launches.view.processes.pages_differ, 0u);
  launches.end(false);
  launches.begin();
  EXPECT_EQ(launches.looks, 4);
  launches.pages.may_differ();
  launches.begin();
  EXPECT_EQ(launches.looks, 5);
}

TEST(CudaDifferingPages, ALaunchForThemEndsSoThatTheHostLooksAgain) {
  Launches launches;
  launches.teams_that_differ = 1;
  launches.begin();
  EXPECT_NE(launches.control.launch_ticks, 0u);
  EXPECT_EQ(launches.control.differ_ticks, 0u);
  launches.begin(50);
  EXPECT_EQ(launches.control.launch_ticks, 50u) << "the launch of a queue ends sooner by itself";
}

TEST(CudaDifferingPages, FewTeamsOfManyDoNotChooseForAll) {
  Launches launches;
  launches.view.teams = 160;
  launches.teams_that_differ = 9;
  launches.begin();
  EXPECT_EQ(launches.view.processes.pages_differ, 0u);
  EXPECT_NE(launches.control.differ_ticks, 0u);
  launches.end(false);
  launches.teams_that_differ = 10;
  launches.begin();
  EXPECT_NE(launches.view.processes.pages_differ, 0u) << "the teams that differ are counted again";
}

TEST(CudaDifferingPages, PagesThatDifferForAMomentEndFewLaunches) {
  Launches launches;
  launches.begin();
  const u64 first = launches.control.differ_ticks;
  u64 before = first;
  for (int i = 0; i < 20; i++) {
    launches.end(true, kHostOrder);
    launches.begin();
    EXPECT_GE(launches.control.differ_ticks, before);
    before = launches.control.differ_ticks;
  }
  EXPECT_EQ(before, 64 * first) << "about a second";
  launches.end(true, kHostOrder);
  launches.teams_that_differ = 1;
  launches.begin();
  launches.end(false);
  launches.teams_that_differ = 0;
  launches.begin();
  EXPECT_EQ(launches.control.differ_ticks, first);
}

}  // namespace
}  // namespace myriarm::cuda
