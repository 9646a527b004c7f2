// GroupScope tells every communicator of its begin and its end, whatever happens in between.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "comm/fake_communicator.h"
#include "support/error_text.h"

namespace ringside {
namespace {

using Events = std::vector<std::string>;

class Group : public testing::Test {
 protected:
  test::InlineDevice device_;
  test::FakeCommunicator a_{device_, 0, 2};
  test::FakeCommunicator b_{device_, 1, 2};
  std::vector<Communicator*> both_{&a_, &b_};
};

TEST_F(Group, EndsOnceOnAllCommunicators) {
  {
    GroupScope scope(both_);
    scope.end();
  }
  EXPECT_EQ(a_.group_events, (Events{"start", "end"}));
  EXPECT_EQ(b_.group_events, (Events{"start", "end"}));
}

TEST_F(Group, TheDestructorEndsIt) {
  { const GroupScope scope(a_); }
  EXPECT_EQ(a_.group_events, (Events{"start", "end"}));
}

TEST_F(Group, AnExceptionThatPassesCancelsIt) {
  EXPECT_THROW(
      {
        const GroupScope scope(both_);
        throw std::runtime_error("passing");
      },
      std::runtime_error);
  EXPECT_EQ(a_.group_events, (Events{"start", "cancel"}));
  EXPECT_EQ(b_.group_events, (Events{"start", "cancel"}));
}

// A group may be used while another exception is being handled.
TEST_F(Group, EndsInsideOfACatchBlock) {
  try {
    throw std::runtime_error("handled");
  } catch (const std::runtime_error&) {
    const GroupScope scope(a_);
  }
  EXPECT_EQ(a_.group_events, (Events{"start", "end"}));
}

TEST_F(Group, AnErrorOfOneCommunicatorStillEndsTheOthers) {
  a_.failure_at_group_end = "a fails";
  GroupScope scope(both_);
  EXPECT_THROW(scope.end(), std::runtime_error);
  EXPECT_EQ(b_.group_events, (Events{"start", "end"}));
}

TEST(Work, DefaultConstructedIsDone) {
  const Work work;
  EXPECT_TRUE(work.done());
  work.synchronize();
  EXPECT_EQ(work.event(), nullptr);
}

TEST(Work, InAnOpenGroupCannotBeWaitedFor) {
  const Work work(std::make_shared<Work::State>());
  EXPECT_FALSE(work.done());
  const std::string text =
      test::error_text(ErrorKind::kInvalidArgument, [&] { work.synchronize(); });
  EXPECT_NE(text.find("not enqueued"), std::string::npos);
}

}  // namespace
}  // namespace ringside
