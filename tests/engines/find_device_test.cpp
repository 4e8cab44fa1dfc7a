// SPDX-License-Identifier: Apache-2.0
// The device that a name stands for, the reason why a device cannot be used, and the device that a fleet reports.
#include <algorithm>

#include "fleet_fixture.h"

namespace fleet_test {
namespace {

using myriarm::ArgumentError;
using myriarm::Device;
using myriarm::DeviceError;
using myriarm::DeviceKind;

TEST(Devices, AreListedAsTheyAreFound) {
  const std::vector<Device> all = myriarm::devices();
  ASSERT_FALSE(all.empty());
  EXPECT_EQ(all[0].id, "cpu");
  EXPECT_EQ(all[0].kind, DeviceKind::cpu);
  EXPECT_EQ(all[0].team_lanes, 1u);
  for (size_t i = 0; i < all.size(); i++) {
    if (i > 0) {
      EXPECT_EQ(all[i].kind, DeviceKind::cuda);
      EXPECT_EQ(all[i].id, "cuda:" + std::to_string(all[i].ordinal));
      EXPECT_EQ(all[i].team_lanes, 32u);
    }
    EXPECT_EQ(all[i].id.substr(0, all[i].id.find(':')), name(all[i].kind));
    EXPECT_EQ(32 % all[i].team_lanes, 0u) << "Placement::lanes says that a multiple of 32 suits every device";
    const Device found = myriarm::find_device(all[i].id);
    EXPECT_EQ(found.id, all[i].id);
    EXPECT_EQ(found.name, all[i].name);
    EXPECT_EQ(found.kind, all[i].kind);
    EXPECT_EQ(found.ordinal, all[i].ordinal);
    EXPECT_EQ(myriarm::why_unusable(all[i].id), "");
  }
  EXPECT_EQ(myriarm::find_device("auto").id, all[all.size() > 1 ? 1 : 0].id);
  EXPECT_EQ(myriarm::why_unusable("auto"), "");
}

TEST(Devices, ThatCannotBeUsedSayWhy) {
  const auto all = myriarm::devices();
  const bool any_cuda = all.size() > 1;
  for (const char* wrong : {"", "CPU", "cpu:0", "nonsense", "cuda7", "auto:0"}) {
    EXPECT_THROW((void)myriarm::find_device(wrong), ArgumentError) << wrong;
    const std::string why = myriarm::why_unusable(wrong);
    EXPECT_EQ(why, "device \"" + std::string(wrong) + "\" is unknown; use auto, cpu, cuda or cuda:N");
  }
  for (const std::string missing : {"cuda:7654", "cuda:99999999999999999999", "cuda:", "cuda:x", "cuda:-1"}) {
    EXPECT_THROW((void)myriarm::find_device(missing), DeviceError) << missing;
    const std::string why = myriarm::why_unusable(missing);
    EXPECT_EQ(why.find("device " + missing + " is not there: "), 0u) << why;
    EXPECT_NE(why.find("; use cpu or auto"), std::string::npos) << why;
    EXPECT_EQ(why.find('\n'), std::string::npos) << why;
  }
  EXPECT_EQ(myriarm::why_unusable("cuda").empty(), any_cuda);
  // A fleet gives the same sentence.
  FleetOptions options = options_of(1);
  options.device = "cuda:7654";
  try {
    Fleet fleet(program_of({guest::hlt(0)}), options);
    ADD_FAILURE() << "a fleet was made";
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.what(), myriarm::why_unusable(options.device));
  }
}

TEST(Devices, AFleetKnowsItsOwn) {
  const FleetOptions options = options_of(5);
  const Fleet fleet(program_of({guest::hlt(0)}), options);
  const Device found = myriarm::find_device(options.device);
  EXPECT_EQ(fleet.device().id, found.id);
  EXPECT_EQ(fleet.device().kind, found.kind);
  EXPECT_EQ(fleet.device().ordinal, found.ordinal);
  EXPECT_EQ(fleet.team_lanes(), found.team_lanes);
}

}  // namespace
}  // namespace fleet_test
