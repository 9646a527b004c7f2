// Events: names, what each needs, and their checks.
#include "scenario/events.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "core/nearest_name.h"
#include "ringside/error.h"
#include "scenario/values.h"

namespace ringside {
namespace {

using Kind = ScenarioEvent::Kind;

// A rank can do otherwise than the others only in ddp and ps, where each has a training loop of its
// own; a wrapper to bypass is there in dp, too.
constexpr auto kRules = std::to_array<EventRule>({
    // kind, name, parameter, amount, operation, strategies, model
    {Kind::kPerturb, "perturb", true, true, false, "single dp ddp ps"},
    {Kind::kFreeze, "freeze", true, false, false, "single dp ddp ps"},
    {Kind::kStop, "stop", false, false, false, "ddp ps"},
    {Kind::kSlow, "slow", false, true, false, "single dp ddp ps"},
    {Kind::kFewerBatches, "fewer-batches", false, true, false, "ddp ps"},
    {Kind::kOtherCollective, "other-collective", false, false, true, "ddp"},
    {Kind::kBypass, "bypass", false, false, false, "dp ddp"},
    {Kind::kNoSync, "no-sync", false, false, false, "ddp"},
    {Kind::kExtraForward, "extra-forward", false, false, false, "single dp ddp ps"},
    {Kind::kReplace, "replace", true, false, false, "single dp ddp ps"},
    {Kind::kUnusedHead, "unused-head", false, false, false, "single dp ddp ps"},
    {Kind::kSecondBackward, "second-backward", false, false, false, "ddp"},
    {Kind::kNoSyncBackward, "no-sync-backward", false, false, false, "ddp"},
    {Kind::kFlagKeyword, "flag-keyword", false, false, false, "dp"},
    {Kind::kWrapOptimizer, "wrap-optimizer", false, false, false, "dp"},
    {Kind::kOtherModel, "other-model", false, false, false, "ddp", true},
    {Kind::kRegisterHook, "register-hook", false, false, false, "ddp"},
    {Kind::kReplaceGradient, "replace-gradient", true, false, false, "ddp"},
    {Kind::kNoGradForward, "no-grad-forward", false, false, false, "ddp"},
    {Kind::kSummedLosses, "summed-losses", false, false, false, "ddp"},
    {Kind::kKeywordTensor, "keyword-tensor", false, true, false, "dp"},
    {Kind::kSecondTensor, "second-tensor", false, true, false, "dp"},
    {Kind::kNoArguments, "no-arguments", false, false, false, "dp"},
});

/// Why a parameter server cannot: what is not there that the event is about.
std::string_view reason_in_ps(Kind kind) {
  switch (kind) {
    case Kind::kBypass:
      return "a worker has no wrapper to bypass";
    case Kind::kNoSync:
    case Kind::kNoSyncBackward:
      return "a worker has no wrapper that holds gradients back: it pushes after every backward";
    case Kind::kSecondBackward:
      return "no hook sends gradients during backward: a worker pushes all of them after it";
    case Kind::kOtherCollective:
      return "workers and servers send messages to each other, and call no collective";
    case Kind::kFlagKeyword:
    case Kind::kWrapOptimizer:
    case Kind::kKeywordTensor:
    case Kind::kSecondTensor:
    case Kind::kNoArguments:
      return "a worker has no DataParallel";
    default:
      return "";
  }
}

constexpr std::int64_t kMaxRows = 1'000'000;

[[noreturn]] void throw_event(const EventRule& rule, const std::string& problem,
                              std::string hint = {}) {
  throw Error(ErrorKind::kInvalidArgument, fmt::format("event {}: {}", rule.name, problem),
              std::move(hint));
}

/// Of the events that hand forward another tensor.
void check_rows(const Scenario& scenario, const ScenarioEvent& event, const EventRule& rule) {
  if (event.kind != Kind::kKeywordTensor && event.kind != Kind::kSecondTensor) return;
  if (!(event.amount >= 1 && event.amount <= kMaxRows) ||
      event.amount != std::floor(event.amount)) {
    throw_event(rule, fmt::format("amount {}: must be a whole number of rows, 1 to {}",
                                  event.amount, kMaxRows));
  }
  if (event.kind == Kind::kSecondTensor && scenario.input_form == "keyword") {
    throw_event(rule, "nothing is by its place where input-form is keyword",
                "leave input-form out, or choose the event keyword-tensor");
  }
}

}  // namespace

std::span<const EventRule> event_rules() { return kRules; }

const EventRule& rule_of(Kind kind) {
  return *std::find_if(kRules.begin(), kRules.end(),
                       [&](const EventRule& rule) { return rule.kind == kind; });
}

std::string_view to_string(Kind kind) { return rule_of(kind).name; }

Kind parse_event_kind(std::string_view name) {
  std::vector<std::string_view> names;
  for (const EventRule& rule : kRules) {
    if (rule.name == name) return rule.kind;
    names.push_back(rule.name);
  }
  const std::string nearest = nearest_name(name, names);
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("event kind '{}': must be one of {}", name, fmt::join(names, ", ")),
              nearest.empty() ? "" : fmt::format("did you mean {}?", nearest));
}

void check_event(const Scenario& scenario, const ScenarioEvent& event) {
  const EventRule& rule = rule_of(event.kind);
  if (!is_listed(scenario.strategy, rule.strategies)) {
    const std::string_view reason =
        scenario.strategy == "ps" ? reason_in_ps(event.kind) : std::string_view();
    throw_event(rule,
                fmt::format("strategy {} cannot express it{}{}", scenario.strategy,
                            reason.empty() ? "" : ": ", reason),
                fmt::format("strategies that can: {}", rule.strategies));
  }
  const bool of_any_loop = event.kind == Kind::kStop || event.kind == Kind::kSlow;
  const int ranks = scenario.has_ranks() && of_any_loop ? scenario.devices : scenario.replicas();
  if (event.rank < 0 || event.rank >= ranks) {
    std::string hint;
    if (!scenario.has_ranks()) hint = "one thread drives all devices: it is rank 0";
    if (event.rank >= 0 && event.rank < scenario.devices && scenario.has_ranks()) {
      hint = "the other ranks are servers, which have no model";
    }
    throw_event(rule, fmt::format("rank {}: must be from 0 to {}", event.rank, ranks - 1), hint);
  }
  if (event.step < 0) throw_event(rule, fmt::format("step {}: must be 0 or more", event.step));
  if (rule.parameter == event.parameter.empty()) {
    throw_event(rule,
                rule.parameter
                    ? "parameter: must be named"
                    : fmt::format("parameter '{}': has no meaning here", event.parameter),
                rule.parameter ? "such as \"0.weight\"" : "");
  }
  if (rule.model == event.model.empty()) {
    throw_event(rule,
                rule.model ? "model: must be named"
                           : fmt::format("model '{}': has no meaning here", event.model),
                rule.model ? "such as \"mlp:64,16,10\"" : "");
  }
  if (rule.model && event.step != 0) {
    throw_event(rule,
                fmt::format("step {}: has no meaning here: the model is built before the first "
                            "step",
                            event.step),
                "leave step out");
  }
  if (!std::isfinite(event.amount)) throw_event(rule, "amount: must be a finite number");
  const double whole = std::floor(event.amount);
  if (event.kind == Kind::kFewerBatches && (event.amount < 1 || whole != event.amount)) {
    throw_event(
        rule, fmt::format("amount {}: must be a whole number of batches, 1 or more", event.amount));
  }
  constexpr double kMostBatches = 1e15;  // of which every number is a whole one
  if (event.kind == Kind::kFewerBatches && event.amount > kMostBatches) {
    throw_event(rule, fmt::format("amount {}: must be at most {}", event.amount, kMostBatches));
  }
  if (event.kind == Kind::kFewerBatches && event.step != 0) {
    throw_event(rule,
                fmt::format("step {}: has no meaning here: the batches are missing at the "
                            "end of every epoch",
                            event.step),
                "leave step out");
  }
  check_rows(scenario, event, rule);
  constexpr double kMilliseconds = 3.6e6;
  if (event.kind == Kind::kSlow && !(event.amount > 0 && event.amount <= kMilliseconds)) {
    throw_event(rule, fmt::format("amount {}: must be above 0 and at most {} milliseconds",
                                  event.amount, kMilliseconds));
  }
  if (!rule.amount && event.amount != 0) {
    throw_event(rule, fmt::format("amount {}: has no meaning here", event.amount));
  }
  if (rule.operation && is_pair(event.operation)) {
    throw_event(rule,
                fmt::format("operation {}: must be a collective", to_string(event.operation)));
  }
}

}  // namespace ringside
