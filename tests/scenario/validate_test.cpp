// Scenario::validate names the option, its value and what is allowed.

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>

#include "ringside/error.h"
#include "ringside/scenario.h"
#include "scenario/events.h"
#include "scenario/options.h"

namespace ringside {
namespace {

/// What validate says of the default scenario after `change`; empty if it is good.
std::string verdict(const std::function<void(Scenario&)>& change) {
  Scenario scenario;
  change(scenario);
  try {
    scenario.validate();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInvalidArgument);
    return error.what();
  }
  return "";
}

TEST(Validate, TheDefaultsAreGood) {
  EXPECT_EQ(verdict([](Scenario&) {}), "");
  EXPECT_EQ(verdict([](Scenario& s) { s.strategy = "dp"; }), "");
  EXPECT_EQ(verdict([](Scenario& s) { s.strategy = "single"; }), "");
}

TEST(Validate, ChecksEveryOptionByItself) {
  EXPECT_EQ(verdict([](Scenario& s) { s.strategy = "pp"; }),
            "strategy 'pp': must be one of single dp ddp ps");
  EXPECT_EQ(verdict([](Scenario& s) { s.devices = 0; }), "devices 0: must be at least 1");
  EXPECT_EQ(verdict([](Scenario& s) { s.devices = 1'000'000; }),
            "devices 1000000: must be at most 1024: each has a host thread and a copy of the model "
            "of its own");
  EXPECT_EQ(verdict([](Scenario& s) {
              s.backend = "meta";
              s.devices = 16384;
            }),
            "");
  EXPECT_EQ(verdict([](Scenario& s) { s.batch_size = 0; }), "batch-size 0: must be at least 1");
  EXPECT_EQ(verdict([](Scenario& s) { s.epochs = 0; }), "epochs 0: must be at least 1");
  EXPECT_EQ(verdict([](Scenario& s) { s.steps = -3; }), "steps -3: must be at least 1");
  EXPECT_EQ(verdict([](Scenario& s) { s.lr = -0.5; }), "lr -0.5: must be 0 or more");
  EXPECT_NE(verdict([](Scenario& s) { s.lr = std::numeric_limits<double>::quiet_NaN(); }), "");
  EXPECT_NE(verdict([](Scenario& s) { s.bucket_cap_mb = -1; }), "");
  EXPECT_NE(verdict([](Scenario& s) { s.first_bucket_mb = 1e12; }), "");
  EXPECT_EQ(verdict([](Scenario& s) { s.dtype = DType::kInt32; }),
            "dtype 'int32': must be one of float32 float64");
  EXPECT_NE(verdict([](Scenario& s) { s.loader_workers = -1; }), "");
  EXPECT_NE(verdict([](Scenario& s) { s.sim_workers = 100'000; }), "");
}

TEST(Validate, ChecksWhatOptionsMustAgreeOn) {
  EXPECT_EQ(verdict([](Scenario& s) {
              s.epochs = 1;
              s.steps = 2;
            }),
            "epochs 1 and steps 2: only one may be given");
  EXPECT_NE(verdict([](Scenario& s) { s.nesterov = true; }), "");
  const auto dp = [](auto change) {
    return verdict([&](Scenario& s) {
      s.strategy = "dp";
      change(s);
    });
  };
  EXPECT_EQ(dp([](Scenario& s) {
              s.device_ids = {0, 4};
            }),
            "device-ids 4: there are 4 devices, 0 to 3");
  EXPECT_EQ(dp([](Scenario& s) {
              s.device_ids = {1, 0, 1};
            }),
            "device-ids 1,0,1: device 1 is named more than once");
  EXPECT_EQ(dp([](Scenario& s) { s.output_device = -1; }),
            "output-device -1: there are 4 devices, 0 to 3");
  EXPECT_EQ(dp([](Scenario& s) {
              s.chunk_sizes = {30, 30};
            }),
            "chunk-sizes 30,30: 60 rows in all, but batch-size is 64");
  EXPECT_EQ(dp([](Scenario& s) {
              s.device_ids = {2};
              s.chunk_sizes = {32, 32};
            }),
            "chunk-sizes 32,32: 2 chunks for 1 device");
  EXPECT_EQ(dp([](Scenario& s) { s.chunk_sizes = {10, 20, 34}; }), "");
}

TEST(Validate, ChecksEvents) {
  const auto event = [](ScenarioEvent e, const std::string& strategy = "ddp") {
    return verdict([&](Scenario& s) {
      s.strategy = strategy;
      s.events = {e};
    });
  };
  using Kind = ScenarioEvent::Kind;
  EXPECT_EQ(event({.kind = Kind::kPerturb, .rank = 3, .parameter = "0.weight", .amount = 1}), "");
  EXPECT_EQ(event({.kind = Kind::kPerturb, .rank = 4, .parameter = "0.weight"}),
            "event perturb: rank 4: must be from 0 to 3");
  EXPECT_EQ(event({.kind = Kind::kPerturb, .rank = 1, .parameter = "w"}, "dp"),
            "event perturb: rank 1: must be from 0 to 0");
  EXPECT_EQ(event({.kind = Kind::kFreeze}), "event freeze: parameter: must be named");
  EXPECT_EQ(event({.kind = Kind::kStop, .parameter = "w"}),
            "event stop: parameter 'w': has no meaning here");
  EXPECT_EQ(event({.kind = Kind::kStop, .step = -1}), "event stop: step -1: must be 0 or more");
  EXPECT_EQ(event({.kind = Kind::kSlow, .rank = 3, .amount = 1}, "ps"), "");
  EXPECT_EQ(event({.kind = Kind::kExtraForward, .rank = 3}, "ps"),
            "event extra-forward: rank 3: must be from 0 to 2");
  EXPECT_EQ(event({.kind = Kind::kNoSync}, "ps"),
            "event no-sync: strategy ps cannot express it: a worker has no wrapper that holds "
            "gradients back: it pushes after every backward");
  EXPECT_EQ(event({.kind = Kind::kNoSync}, "dp"), "event no-sync: strategy dp cannot express it");
  EXPECT_EQ(event({.kind = Kind::kBypass}, "dp"), "");
  EXPECT_EQ(event({.kind = Kind::kBypass}, "single"),
            "event bypass: strategy single cannot express it");
  EXPECT_EQ(event({.kind = Kind::kKeywordTensor, .amount = 2.5}, "dp"),
            "event keyword-tensor: amount 2.5: must be a whole number of rows, 1 to 1000000");
  EXPECT_EQ(event({.kind = Kind::kSecondTensor}, "dp"),
            "event second-tensor: amount 0: must be a whole number of rows, 1 to 1000000");
  EXPECT_EQ(event({.kind = Kind::kNoArguments}, "ps"),
            "event no-arguments: strategy ps cannot express it: a worker has no DataParallel");
  EXPECT_EQ(event({.kind = Kind::kUnusedHead}, "single"), "");
  EXPECT_EQ(event({.kind = Kind::kSlow, .amount = 0}),
            "event slow: amount 0: must be above 0 and at most 3600000 milliseconds");
  EXPECT_EQ(event({.kind = Kind::kFewerBatches, .amount = 1.5}),
            "event fewer-batches: amount 1.5: must be a whole number of batches, 1 or more");
  EXPECT_EQ(event({.kind = Kind::kOtherCollective, .operation = Operation::kSend}),
            "event other-collective: operation send: must be a collective");
  EXPECT_EQ(event({.kind = Kind::kOtherModel}), "event other-model: model: must be named");
  EXPECT_EQ(event({.kind = Kind::kOtherModel, .step = 1, .model = "mlp:64,10"}),
            "event other-model: step 1: has no meaning here: the model is built before the first "
            "step");
  EXPECT_EQ(event({.kind = Kind::kSlow, .amount = 1, .model = "lenet"}),
            "event slow: model 'lenet': has no meaning here");
  EXPECT_EQ(event({.kind = Kind::kReplaceGradient}),
            "event replace-gradient: parameter: must be named");
  for (const Kind kind : {Kind::kRegisterHook, Kind::kNoGradForward, Kind::kSummedLosses}) {
    EXPECT_EQ(event({.kind = kind}), "");
    EXPECT_NE(event({.kind = kind}, "dp").find("strategy dp cannot express it"), std::string::npos);
  }
}

TEST(Events, NamesGoBothWays) {
  for (const EventRule& rule : event_rules()) {
    EXPECT_EQ(to_string(rule.kind), rule.name);
    EXPECT_EQ(parse_event_kind(rule.name), rule.kind);
  }
  try {
    parse_event_kind("pertrub");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.hint(), "did you mean perturb?");
  }
}

TEST(CompleteRequest, SingleTakesOneDevice) {
  RunRequest request;
  set_option(request, *find_scenario_option("strategy"), "single");
  complete_request(request);
  EXPECT_EQ(request.scenario.devices, 1);
  set_option(request, *find_scenario_option("devices"), "2");
  EXPECT_THROW(complete_request(request), Error);
}

TEST(CompleteRequest, RecordedStepsNeedAPlace) {
  RunRequest request;
  set_option(request, *find_scenario_option("trace-steps"), "3-5");
  EXPECT_EQ(request.first_step, 3);
  EXPECT_EQ(request.last_step, 5);
  EXPECT_THROW(complete_request(request), Error);
  set_option(request, *find_scenario_option("trace"), "t.json");
  EXPECT_NO_THROW(complete_request(request));
  for (const char* text : {"5-3", "-1", "a-b", "1-", "1-2-3", ""}) {
    EXPECT_THROW(set_option(request, *find_scenario_option("trace-steps"), text), Error) << text;
  }
}

}  // namespace
}  // namespace ringside
