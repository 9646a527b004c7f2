// What reading refuses of a collective is what make_schedule refuses; what it accepts is bounded.
#include "trace/collective_check.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <utility>

#include "ringside/error.h"
#include "trace/enumerations.h"

namespace ringside {
namespace {

bool make_schedule_accepts(const ScheduleRequest& request) {
  try {
    make_schedule(request);
    return true;
  } catch (const Error&) {
    return false;
  }
}

TEST(CollectiveCheck, AgreesWithMakeSchedule) {
  std::mt19937 random(5);
  const auto between = [&](int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(random);
  };
  const auto any_of = [&](const auto& all) {
    return all[static_cast<std::size_t>(between(0, static_cast<int>(all.size()) - 1))];
  };
  int accepted = 0;
  for (int round = 0; round < 5000; ++round) {
    ScheduleRequest request;
    request.operation = any_of(kAllOperations);
    request.algorithm = any_of(kAllAlgorithms);
    request.ranks = between(0, 9);
    request.count = static_cast<std::size_t>(between(0, 20));
    request.root = between(-1, 9);
    request.peer = between(-1, 9);
    if (between(0, 3) == 0) request.counts.resize(static_cast<std::size_t>(between(0, 9)), 3);
    request.pieces = between(0, 4);
    const std::string fault = fault_of(request);
    EXPECT_EQ(fault.empty(), make_schedule_accepts(request))
        << to_string(request.operation) << " " << to_string(request.algorithm) << " ranks "
        << request.ranks << " root " << request.root << " peer " << request.peer << " counts "
        << request.counts.size() << " pieces " << request.pieces << ": " << fault;
    if (!fault.empty()) continue;
    ++accepted;
    EXPECT_LE(count_cost(make_schedule(request)).messages, most_messages(request));
  }
  EXPECT_GT(accepted, 500);
}

TEST(CollectiveCheck, BoundsWhatIsExpanded) {
  TraceCollective collective;
  collective.request.count = 1;
  for (const auto& [ranks, pieces] : {std::pair(1 << 20, 1), {2, 1 << 30}}) {
    collective.request.operation = Operation::kBroadcast;
    collective.request.ranks = ranks;
    collective.request.pieces = pieces;
    EXPECT_EQ(fault_of(collective.request), "");
    EXPECT_THROW(expand(collective), Error);
  }
}

}  // namespace
}  // namespace ringside
