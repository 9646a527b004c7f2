// DataParallel's corners as a scenario has them: the forms of inputs and outputs, other tensors
// beside the batch.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "ringside/error.h"
#include "ringside/scenario.h"

namespace ringside::test {
namespace {

Scenario dp_scenario() {
  Scenario scenario;
  scenario.strategy = "dp";
  scenario.model = "mlp:64,8,10";
  scenario.batch_size = 10;
  scenario.steps = 3;
  return scenario;
}

Scenario with_event(ScenarioEvent::Kind kind, double amount = 0) {
  Scenario scenario = dp_scenario();
  scenario.events = {{.kind = kind, .step = 1, .amount = amount}};
  return scenario;
}

RunReport run_quietly(const Scenario& scenario) { return run_scenario(scenario, {}, nullptr, {}); }

std::string error_of(const Scenario& scenario) {
  try {
    run_quietly(scenario);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(DataParallelScenario, TheFormOfInputsAndOutputsChangesNoNumber) {
  for (const std::string loss_in : {"output", "forward"}) {
    Scenario scenario = dp_scenario();
    scenario.loss_in = loss_in;
    const RunReport plain = run_quietly(scenario);
    for (const std::string form : {"keyword", "tuple", "list", "dict", "namedtuple", "nested"}) {
      scenario.input_form = form;
      EXPECT_EQ(run_quietly(scenario).checksum, plain.checksum) << form;
    }
    for (const std::string form : {"tuple", "list", "dict", "namedtuple"}) {
      scenario.output_form = form;
      const RunReport report = run_quietly(scenario);
      EXPECT_EQ(report.checksum, plain.checksum) << form;
      EXPECT_EQ(report.epochs.back().test_loss, plain.epochs.back().test_loss) << form;
      EXPECT_EQ(report.warnings, plain.warnings) << form;
    }
  }
}

TEST(DataParallelScenario, ScalarsInContainersAreGatheredWithTheWarning) {
  Scenario scenario = dp_scenario();
  scenario.loss_in = "forward";
  scenario.output_form = "dict";
  const std::vector<std::string> warnings = run_quietly(scenario).warnings;
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings.front().find("all input tensors were scalars"), std::string::npos);
}

TEST(DataParallelScenario, OutputsWhoseShapeDependsOnTheRowsNeedEqualChunks) {
  Scenario scenario = dp_scenario();
  scenario.data = "random:60:64:10";  // of which 10 rows are for evaluation
  scenario.devices = 2;
  const RunReport plain = run_quietly(scenario);
  scenario.output_form = "flat";
  EXPECT_EQ(run_quietly(scenario).checksum, plain.checksum);
  scenario.batch_size = 9;
  EXPECT_EQ(error_of(scenario),
            "gather: Input tensor at index 1 has invalid shape [1, 40], but expected [1, 50]: "
            "dimension 1 differs: 40 on device 1, 50 on device 0");
}

TEST(DataParallelScenario, AKeywordTensorIsCutByItself) {
  using Kind = ScenarioEvent::Kind;
  EXPECT_EQ(error_of(with_event(Kind::kKeywordTensor, 10)), "no error");
  EXPECT_EQ(error_of(with_event(Kind::kKeywordTensor, 3)),
            "in replica 3 on device 3: forward() missing 1 required keyword-only argument: "
            "'extra'");
  Scenario scenario = with_event(Kind::kKeywordTensor, 30);
  scenario.devices = 7;  // 10 rows make five chunks, 30 make six
  EXPECT_EQ(error_of(scenario),
            "in replica 5 on device 5: forward() missing 1 required positional argument: 'input'");
}

// With the batch among the keywords, all are cut together: the flag makes no replica without rows.
TEST(DataParallelScenario, AFlagBesideAKeywordTensorIsHarmless) {
  Scenario scenario = with_event(ScenarioEvent::Kind::kFlagKeyword);
  scenario.batch_size = 5;
  EXPECT_EQ(error_of(scenario),
            "in replica 3 on device 3: forward() missing 1 required positional argument: 'input'");
  scenario.input_form = "list";
  EXPECT_EQ(error_of(scenario),
            "in replica 3 on device 3: forward() missing 1 required positional argument: 'batch'");
  scenario.input_form = "keyword";
  EXPECT_EQ(error_of(scenario), "no error");
}

TEST(DataParallelScenario, TheShorterTensorDropsRows) {
  using Kind = ScenarioEvent::Kind;
  EXPECT_EQ(error_of(with_event(Kind::kSecondTensor, 4)), "no error");
  EXPECT_EQ(error_of(with_event(Kind::kSecondTensor, 2)),
            "cross_entropy: targets 10 do not fit logits 6x10: one target per row is needed, 6 in "
            "all");
  Scenario scenario = with_event(Kind::kSecondTensor, 2);
  scenario.loss_in = "forward";  // the targets are cut with the rows
  EXPECT_EQ(error_of(scenario), "no error");
  scenario.verify = true;
  scenario.verify_step = 1;
  EXPECT_NE(error_of(scenario).find("is not that of a single device"), std::string::npos);
}

// Three steps and the evaluation's two batches; the copies count, and are lost.
TEST(DataParallelScenario, AnAttributeThatCountsIsLostWithTheReplicas) {
  Scenario scenario = dp_scenario();
  scenario.model += ":counted";
  EXPECT_EQ(run_quietly(scenario).counted_calls, (CountedCalls{0, 5}));
  scenario.device_ids = {2};
  EXPECT_EQ(run_quietly(scenario).counted_calls, (CountedCalls{5, 5}));
  scenario.device_ids = {};
  scenario.strategy = "ddp";
  EXPECT_EQ(run_quietly(scenario).counted_calls, (CountedCalls{5, 5}));
  scenario.model = "mlp:64,8,10";
  EXPECT_EQ(run_quietly(scenario).counted_calls, std::nullopt);
}

TEST(DataParallelScenario, WithoutArgumentsTheFirstReplicaIsCalledWithNothing) {
  const Scenario scenario = with_event(ScenarioEvent::Kind::kNoArguments);
  EXPECT_EQ(error_of(scenario),
            "in replica 0 on device 0: forward() missing 1 required positional argument: 'input'");
}

}  // namespace
}  // namespace ringside::test
