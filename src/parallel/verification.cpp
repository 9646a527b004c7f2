#include "parallel/verification.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "parallel/peer_messages.h"
#include "parallel/rehearsal.h"
#include "parallel/state_checksum.h"
#include "parallel/trainer.h"
#include "ringside/error.h"

namespace ringside {
namespace {

// ---------------------------------------------------------------- ranks

using Integers = std::vector<std::int64_t>;

Tensor on_device(Rank& rank, const Integers& integers) {
  const std::vector<double> values(integers.begin(), integers.end());
  return Tensor::from_host(rank.device, Shape{static_cast<std::int64_t>(values.size())},
                           DType::kInt64, values, MemoryKind::kWorkspace, "checksums");
}

Integers on_host(const Tensor& tensor) {
  const std::vector<double> values = host_values(tensor);
  return {values.begin(), values.end()};
}

/// Who has another parameter than most of the ranks have.
struct Dissent {
  std::int64_t parameter = -1;  ///< its index; -1: nobody, all agree
  std::int64_t rank = 0;
  std::int64_t checksum = 0;
  std::int64_t other_rank = 0;  ///< the first of the most
  std::int64_t other_checksum = 0;
  std::int64_t agreeing = 0;  ///< ranks that have the other checksum
};

/// `checksums` has a list of all parameters for each of `ranks`.
Dissent find_dissent(const std::vector<int>& ranks, const std::vector<Integers>& checksums) {
  for (std::size_t parameter = 0; parameter < checksums.front().size(); ++parameter) {
    const auto differs = [&](const Integers& list) {
      return list[parameter] != checksums.front()[parameter];
    };
    if (std::none_of(checksums.begin(), checksums.end(), differs)) continue;
    const auto agreeing_with = [&](std::size_t i) {
      return std::count_if(checksums.begin(), checksums.end(), [&](const Integers& list) {
        return list[parameter] == checksums[i][parameter];
      });
    };
    std::size_t most = 0;
    for (std::size_t i = 1; i < ranks.size(); ++i) {
      if (agreeing_with(i) > agreeing_with(most)) most = i;
    }
    const std::int64_t common = checksums[most][parameter];
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      if (checksums[i][parameter] == common) continue;
      return {static_cast<std::int64_t>(parameter),
              ranks[i],
              checksums[i][parameter],
              ranks[most],
              common,
              agreeing_with(most)};
    }
  }
  return {};
}

/// The lowest of the ranks hears all checksums and tells what it found.
Dissent exchange_checksums(Rank& rank, const std::vector<int>& ranks, const Integers& own) {
  Integers told(6);
  const Tensor verdict = on_device(rank, told);
  if (rank.rank != ranks.front()) {
    const Tensor list = on_device(rank, own);
    send_to_peers(rank, {{ranks.front(), list.array()}});
    receive_from_peers(rank, {{ranks.front(), verdict.array()}});
    told = on_host(verdict);
    return {told[0], told[1], told[2], told[3], told[4], told[5]};
  }
  std::vector<Tensor> lists;
  std::vector<PeerMessage> from_peers;
  for (std::size_t i = 1; i < ranks.size(); ++i) {
    lists.push_back(on_device(rank, own));
    from_peers.push_back({ranks[i], lists.back().array()});
  }
  receive_from_peers(rank, from_peers);
  std::vector<Integers> checksums = {own};
  for (const Tensor& list : lists) checksums.push_back(on_host(list));
  const Dissent found = find_dissent(ranks, checksums);
  const Tensor answer = on_device(rank, {found.parameter, found.rank, found.checksum,
                                         found.other_rank, found.other_checksum, found.agreeing});
  std::vector<PeerMessage> to_peers;
  for (std::size_t i = 1; i < ranks.size(); ++i) to_peers.push_back({ranks[i], answer.array()});
  send_to_peers(rank, to_peers);
  rank.device.synchronize();
  return found;
}

/// A deadlock is the fault of who is here already: the others wait within the step.
Error explained(const Error& error, int step) {
  const std::string prefix = fmt::format("verify: after step {}: ", step);
  if (error.kind() != ErrorKind::kDeadlock) return error.with_prefix(prefix);
  return {ErrorKind::kTrainingFailed,
          fmt::format("{}this rank has ended the step, and others still wait in it for what this "
                      "one did not call: {}",
                      prefix, error.what()),
          "its gradients were not reduced: look for a wrapper bypassed or a no_sync on this rank "
          "alone"};
}

// ---------------------------------------------------------------- single device

/// What is compared of each parameter: its gradient, or its values.
using Part = std::vector<double> ParameterValues::*;

double largest_of(const std::vector<ParameterValues>& parameters, Part part) {
  double largest = 0;
  for (const ParameterValues& parameter : parameters) {
    for (const double value : parameter.*part) largest = std::max(largest, std::abs(value));
  }
  return largest;
}

/// Relative to the largest number, for one step. Compression rounds every gradient.
double tolerance_of(const Scenario& scenario) {
  if (scenario.comm_hook == "bf16") return 3e-2;
  if (scenario.comm_hook == "fp16") return 4e-3;
  return scenario.dtype == DType::kFloat64 ? 1e-9 : 1e-4;
}

/// What in the scenario can make the difference, for the hint.
std::string likely_reason(const TrainingPlan& plan) {
  const Scenario& scenario = plan.scenario;
  std::vector<std::string_view> reasons;
  const auto add = [&](bool applies, std::string_view reason) {
    if (applies) reasons.push_back(reason);
  };
  add(!scenario.events.empty(), "the scenario's events, of which a single device knows nothing");
  add(!plan.single_device.unlike.empty(), plan.single_device.unlike);
  add(scenario.server_op == "sum", "server-op sum: the servers do not divide what they add up");
  add(scenario.comm_hook == "sum", "comm-hook sum: nobody divides the gradients");
  add(scenario.gathered_loss == "sum", "gathered-loss sum: the losses are not divided");
  add(scenario.accumulate > 1 && !scenario.divide_loss,
      "divide-loss false: a step's losses are not divided");
  add(scenario.join == "initial",
      "join initial: divides by all ranks, also by those without a batch");
  if (reasons.empty()) return "the rows may not weigh alike: a mean of means over unequal parts";
  return fmt::format("what can make the difference: {}", fmt::join(reasons, "; "));
}

class Comparison {
 public:
  Comparison(const TrainingPlan& plan, const Module& module, int step, Verification& verification)
      : plan_(plan),
        own_(values_of(module)),
        expected_(plan.single_device.parameters),
        step_(step),
        tolerance_(tolerance_of(plan.scenario) *
                   static_cast<double>(1 + step - plan.first().step)),  // rounding adds up
        noise_(tolerance_ * largest_of(expected_, &ParameterValues::gradient)),
        verification_(verification) {}

  void compare(Part part, std::string_view what);

 private:
  /// Adam makes a whole step of a gradient that is nothing but rounding: of any sign.
  bool is_left_to_chance(const ParameterValues& expected, Part part, std::size_t element) const {
    return part == &ParameterValues::values && plan_.scenario.optimizer != "sgd" &&
           element < expected.gradient.size() && std::abs(expected.gradient[element]) <= noise_;
  }

  const TrainingPlan& plan_;
  const std::vector<ParameterValues> own_;
  const std::vector<ParameterValues>& expected_;
  int step_;
  double tolerance_;
  double noise_;
  Verification& verification_;
};

/// A gradient that one side lacks counts as zeros, as the optimiser takes it.
void Comparison::compare(Part part, std::string_view what) {
  const double scale = std::max(largest_of(expected_, part), largest_of(own_, part));
  const auto at = [](const std::vector<double>& list, std::size_t i) {
    return i < list.size() ? list[i] : 0;
  };
  for (std::size_t i = 0; i < expected_.size(); ++i) {
    const std::vector<double>& here = own_[i].*part;
    const std::vector<double>& there = expected_[i].*part;
    for (std::size_t k = 0; k < std::max(here.size(), there.size()); ++k) {
      if (at(here, k) == at(there, k) || is_left_to_chance(expected_[i], part, k)) continue;
      const double relative = std::abs(at(here, k) - at(there, k)) / scale;
      if (!(relative <= tolerance_)) {
        throw Error(ErrorKind::kTrainingFailed,
                    fmt::format("verify: after step {} {} {} is not that of a single device: "
                                "element {} is {:.9g}, there {:.9g}",
                                step_, what, expected_[i].name, k, at(here, k), at(there, k)),
                    likely_reason(plan_));
      }
      if (relative <= verification_.largest_difference) continue;
      verification_.largest_difference = relative;
      verification_.parameter = expected_[i].name;
    }
  }
}

}  // namespace

void verify_ranks(Rank& rank, const std::vector<int>& ranks, Strategy& strategy, int step) {
  const std::vector<NamedTensor> parameters = strategy.module().named_parameters();
  const Dissent found = [&] {
    try {
      strategy.check_step();
      Integers own;
      for (const NamedTensor& entry : parameters) own.push_back(short_checksum({entry}));
      return exchange_checksums(rank, ranks, own);
    } catch (const Error& error) {
      throw explained(error, step);
    }
  }();
  if (found.parameter < 0) return;
  const bool is_own = found.rank == rank.rank;
  throw Error(
      is_own ? ErrorKind::kTrainingFailed : ErrorKind::kRankFailed,
      fmt::format("verify: after step {} parameter {}{} is not that of rank {}: its checksum is "
                  "{:013x}, there {:013x}, which {} of {} ranks have",
                  step, parameters[static_cast<std::size_t>(found.parameter)].name,
                  is_own ? "" : fmt::format(" of rank {}", found.rank), found.other_rank,
                  found.checksum, found.other_checksum, found.agreeing, ranks.size()),
      "the ranks have gone apart without an error: look for a bypassed wrapper, a parameter "
      "that was changed or replaced on one rank, a backward that was not reduced, an optimizer's "
      "state that stayed behind in a join");
}

void verify_single_device(const TrainingPlan& plan, const Module& module, int step,
                          Verification& verification) {
  const SingleDevice& single = plan.single_device;
  if (step != single.step) return;
  if (!single.unlike.empty() && !plan.scenario.verify_step) {
    verification.not_compared = single.unlike;
    return;
  }
  Comparison comparison(plan, module, step, verification);
  // The servers' own updates leave each worker with the gradient of its own rows.
  const bool own_gradient = plan.scenario.strategy == "ps" && plan.scenario.variant == "b";
  if (!own_gradient) comparison.compare(&ParameterValues::gradient, "the gradient of");
  comparison.compare(&ParameterValues::values, "parameter");
  verification.single_step = step;
}

}  // namespace ringside
