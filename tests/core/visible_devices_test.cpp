// RINGSIDE_VISIBLE_DEVICES follows the rules of CUDA_VISIBLE_DEVICES.
#include "core/visible_devices.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ringside/error.h"

namespace ringside {
namespace {

using Devices = std::vector<int>;

TEST(VisibleDevices, UnsetShowsAll) { EXPECT_EQ(visible_devices(3, nullptr), (Devices{0, 1, 2})); }

TEST(VisibleDevices, EmptyHidesAll) {
  EXPECT_EQ(visible_devices(3, ""), Devices{});
  EXPECT_EQ(visible_devices(3, " "), Devices{});
}

TEST(VisibleDevices, ListsInTheOrderGiven) {
  EXPECT_EQ(visible_devices(3, "2,0"), (Devices{2, 0}));
  EXPECT_EQ(visible_devices(3, " 2 , 0"), (Devices{2, 0}));
}

TEST(VisibleDevices, AnInvalidEntryHidesItselfAndWhatFollows) {
  EXPECT_EQ(visible_devices(3, "1,7,0"), (Devices{1}));
  EXPECT_EQ(visible_devices(3, "0,-1,2"), (Devices{0}));
  EXPECT_EQ(visible_devices(3, "1,x,2"), (Devices{1}));
  EXPECT_EQ(visible_devices(3, "1,0x,2"), (Devices{1}));
  EXPECT_EQ(visible_devices(3, "1,,2"), (Devices{1}));
  EXPECT_EQ(visible_devices(3, "99999999999999999999,1"), Devices{});
  EXPECT_EQ(visible_devices(3, "-1"), Devices{});
  EXPECT_EQ(visible_devices(3, "2,"), (Devices{2}));
}

TEST(VisibleDevices, ADeviceListedTwiceIsAnError) {
  try {
    visible_devices(3, "1,0,1");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInvalidArgument);
    EXPECT_NE(std::string(error.what()).find("RINGSIDE_VISIBLE_DEVICES='1,0,1': device 1"),
              std::string::npos);
  }
  // Hidden entries do not count.
  EXPECT_EQ(visible_devices(3, "1,x,1"), (Devices{1}));
}

TEST(SimulatedDevices, UnsetCountsFromZero) {
  EXPECT_EQ(simulated_devices(2, nullptr), (Devices{0, 1}));
}

TEST(SimulatedDevices, TakesTheFirstVisibleOnes) {
  EXPECT_EQ(simulated_devices(2, "2,0"), (Devices{2, 0}));
  EXPECT_EQ(simulated_devices(1, "5,3,4"), (Devices{5}));
}

TEST(SimulatedDevices, TooFewVisibleIsAnErrorThatShowsBoth) {
  try {
    simulated_devices(4, "2,0");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInvalidArgument);
    EXPECT_STREQ(error.what(),
                 "4 devices are asked for, but RINGSIDE_VISIBLE_DEVICES='2,0' makes 2 visible");
    EXPECT_FALSE(error.hint().empty());
  }
}

}  // namespace
}  // namespace ringside
