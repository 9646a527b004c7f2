// Clipping of gradients that lie on several servers: by the norm of all of them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "server_scenario.h"

namespace ringside::test {
namespace {

constexpr double kMaxNorm = 0.1;  // below the norms of the first steps

Scenario clipped(Scenario scenario) {
  scenario.clip_grad_norm = kMaxNorm;
  scenario.dtype = DType::kFloat64;
  return scenario;
}

void expect_same_to_rounding(const RunReport& run, const RunReport& expected) {
  ASSERT_EQ(run.step_losses.size(), expected.step_losses.size());
  for (std::size_t step = 0; step < run.step_losses.size(); ++step) {
    EXPECT_NEAR(run.step_losses[step], expected.step_losses[step], 1e-12) << step;
  }
  for (const std::string& checksum : run.rank_checksums) EXPECT_EQ(checksum, run.checksum);
}

TEST(ParameterServerClipping, IsThatOfDdp) {
  const Scenario ddp = clipped(scenario_of("ddp", 3));
  const RunReport expected = run_quietly(ddp);
  Scenario unclipped = ddp;
  unclipped.clip_grad_norm = 0;
  ASSERT_GT(std::abs(run_quietly(unclipped).step_losses.back() - expected.step_losses.back()), 1e-3)
      << "clipping changes something";
  for (const std::string variant : {"a", "b"}) {
    for (const int servers : {1, 2, 5}) {
      SCOPED_TRACE(fmt::format("variant {}, {} servers", variant, servers));
      Scenario scenario = clipped(server_scenario(3, servers));
      scenario.variant = variant;
      const RunReport run = run_quietly(scenario);
      expect_same_to_rounding(run, expected);
      if (servers == 1) {
        EXPECT_EQ(run.checksum, expected.checksum);
      }
    }
  }
}

TEST(ParameterServerClipping, OfServersWithSeveralDevicesIsThatOfDdp) {
  Scenario scenario = clipped(server_scenario(3, 2));
  scenario.server_devices = 2;
  scenario.devices = 7;
  expect_same_to_rounding(run_quietly(scenario), run_quietly(clipped(scenario_of("ddp", 3))));
}

TEST(ParameterServerClipping, OfEachPushOfOneAsynchronousWorkerIsThatOfOneDevice) {
  Scenario scenario = clipped(server_scenario(1, 3));
  scenario.asynchronous = true;
  Scenario single = clipped(scenario_of("single", 1));
  single.algorithm = Algorithm::kAutomatic;
  expect_same_to_rounding(run_quietly(scenario), run_quietly(single));
}

TEST(ParameterServerClipping, OfAsynchronousPushesIsRepeatableAndEndsForAllServers) {
  Scenario scenario = clipped(server_scenario(4, 3));
  scenario.asynchronous = true;
  scenario.staleness = 2;
  const RunReport run = run_quietly(scenario);
  EXPECT_EQ(run.checksum, run_quietly(scenario).checksum);
  scenario.clip_grad_norm = 0;
  EXPECT_NE(run.checksum, run_quietly(scenario).checksum);
}

}  // namespace
}  // namespace ringside::test
