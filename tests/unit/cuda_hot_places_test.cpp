// SPDX-License-Identifier: Apache-2.0
// Where regions of a program on a GPU are to begin.
#include <gtest/gtest.h>

#include "backends/cuda/translated/hot_places.h"

namespace myriarm::cuda {
namespace {

using Chosen = std::vector<u32>;

struct Launches {
  HotPlaces hot{{100, 2000, 2100}, 32};
  std::vector<u32> heat = std::vector<u32>(4000), places = std::vector<u32>(4000, kCold);

  Chosen choose(u64 retired = 1'000'000, u64 most = 100) { return hot.choose(heat, places, retired, most); }
};

TEST(HotPlaces, TheHottestComesFirstAndNoneIsNamedTwice) {
  Launches launches;
  EXPECT_EQ(launches.choose(), Chosen{});
  launches.heat[1000] = 5000;
  launches.heat[3000] = 9000;
  EXPECT_EQ(launches.choose(), (Chosen{3000, 1000}));
  EXPECT_EQ(launches.choose(), Chosen{});
}

TEST(HotPlaces, WhatIsNotAmongTheMostIsChosenLater) {
  Launches launches;
  launches.heat[1000] = 5000;
  launches.heat[3000] = 9000;
  EXPECT_EQ(launches.choose(1'000'000, 0), Chosen{});
  EXPECT_EQ(launches.choose(1'000'000, 1), Chosen{3000});
  EXPECT_EQ(launches.choose(1'000'000, 1), Chosen{1000});
}

TEST(HotPlaces, WhatTakesLittleOfTheLaunchIsNotHot) {
  Launches launches;
  launches.heat[1000] = 2047;
  EXPECT_EQ(launches.choose(), Chosen{});
  launches.heat[1000] = 5000;
  EXPECT_EQ(launches.choose(u64{5000} * 32 * 1024 + 1), Chosen{});
  EXPECT_EQ(launches.choose(u64{5000} * 32 * 1024), Chosen{1000});
}

TEST(HotPlaces, FunctionsThatBeginNearAreChosenOnceInPlaceOfTheirMiddle) {
  Launches launches;
  launches.heat[150] = 9000;
  launches.heat[2050] = 8000;
  launches.heat[2150] = 7000;  // less than 256 words behind what was chosen for 2050
  EXPECT_EQ(launches.choose(), (Chosen{100, 2000}));
  EXPECT_EQ(launches.choose(), (Chosen{150, 2050})) << "the regions of the functions did not help";
  launches.heat[100 + 256] = 5000;
  launches.heat[150] = launches.heat[2050] = 0;
  EXPECT_EQ(launches.choose(), (Chosen{2100, 356}));
}

TEST(HotPlaces, EntriesAreNotHotAndPlacesWithinRegionsMustBeHotter) {
  Launches launches;
  launches.heat[1000] = launches.heat[3000] = 5000;
  launches.places[1000] = 7;
  launches.places[3000] = kInRegion;
  EXPECT_EQ(launches.choose(u64{5000} * 32 * 64 + 1), Chosen{});
  EXPECT_EQ(launches.choose(u64{5000} * 32 * 64), Chosen{3000});
}

}  // namespace
}  // namespace myriarm::cuda
