// The numbers of explain.h: counted from the messages, not from formulas.
#include "cli/explain.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <map>
#include <utility>

#include "cli/explain_words.h"
#include "cli/terminal.h"
#include "ringside/views.h"
#include "schedule/request.h"

namespace ringside::cli {
namespace {

constexpr std::size_t kLine = 100;  // columns of the texts

using Pair = std::pair<int, int>;

BusiestLink busiest_link(const Schedule& schedule) {
  const std::size_t size = size_of(schedule.request.dtype);
  std::map<Pair, BusiestLink> links;
  for (const Round& round : schedule.rounds) {
    for (const Message& message : round) {
      BusiestLink& link = links[{message.source, message.destination}];
      link.source = message.source;
      link.destination = message.destination;
      link.bytes += message.range.size() * size;
      ++link.messages;
    }
  }
  BusiestLink busiest;
  for (const auto& [pair, link] : links) {
    if (std::pair(link.bytes, link.messages) > std::pair(busiest.bytes, busiest.messages)) {
      busiest = link;
    }
  }
  return busiest;
}

double round_seconds(const Round& round, std::size_t size, const CostModel& model) {
  std::map<Pair, std::size_t> bytes;  // by source and destination
  for (const Message& message : round) {
    bytes[{message.source, message.destination}] += message.range.size() * size;
  }
  std::map<Pair, double> ports;  // by rank and direction
  for (const auto& [pair, sent] : bytes) {
    const double seconds = model.alpha + model.beta * static_cast<double>(sent);
    ports[{pair.first, 0}] += seconds;
    ports[{pair.second, 1}] += seconds;
  }
  double longest = 0;
  for (const auto& [port, seconds] : ports) longest = std::max(longest, seconds);
  return longest;
}

AlgorithmCost cost_of(const ScheduleRequest& request, const CostModel& model) {
  const Schedule schedule = make_schedule(request);
  const ScheduleCost counted = count_cost(schedule);
  const std::size_t size = size_of(request.dtype);
  AlgorithmCost cost;
  cost.algorithm = schedule.request.algorithm;
  cost.rounds = counted.rounds;
  cost.messages = counted.messages;
  cost.sent = counted.max_sent_by_rank * size;
  cost.received = counted.max_received_by_rank * size;
  cost.link = busiest_link(schedule);
  cost.seconds = model_seconds(schedule, model);
  cost.why_rounds = why_rounds(schedule.request);
  cost.why_bytes = why_bytes(schedule.request);
  return cost;
}

// docs/communication.md, "The least that any algorithm can do".
LowerBound bound_of(const ScheduleRequest& request, std::size_t bytes, const CostModel& model) {
  LowerBound bound;
  const auto n = static_cast<std::size_t>(request.ranks);
  if (n == 1) return bound;
  bound.rounds = is_pair(request.operation) ? 1 : static_cast<std::size_t>(std::bit_width(n - 1));
  const std::size_t others = bytes - bytes / n;  // (n-1)/n S
  switch (request.operation) {
    case Operation::kBroadcast:
    case Operation::kReduce:
    case Operation::kSend:
    case Operation::kRecv:
      bound.bytes = bytes;
      break;
    case Operation::kAllReduce:
      bound.bytes = 2 * others;
      break;
    case Operation::kBarrier:
      break;
    case Operation::kScatter:
    case Operation::kGather: {
      const std::size_t own = request.counts.empty()
                                  ? request.count
                                  : request.counts[static_cast<std::size_t>(request.root)];
      bound.bytes = bytes - own * size_of(request.dtype);
      break;
    }
    case Operation::kAllGather: {  // the rank with the smallest block receives the most
      const std::size_t least =
          request.counts.empty() ? request.count
                                 : *std::min_element(request.counts.begin(), request.counts.end());
      bound.bytes = bytes - least * size_of(request.dtype);
      break;
    }
    case Operation::kReduceScatter:
    case Operation::kAllToAll:
      bound.bytes = others;
      break;
  }
  bound.seconds = std::max(model.alpha * static_cast<double>(bound.rounds),
                           model.beta * static_cast<double>(bound.bytes));
  return bound;
}

// Three digits: "12.3 us".
std::string time_text(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.3g} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.3g} ms", seconds * 1e3);
  return fmt::format("{:.3g} s", seconds);
}

template <typename Value>
std::string names_with_least(const std::vector<AlgorithmCost>& costs, Value value) {
  const auto least = value(*std::min_element(
      costs.begin(), costs.end(),
      [&](const AlgorithmCost& a, const AlgorithmCost& b) { return value(a) < value(b); }));
  std::vector<std::string> names;
  for (const AlgorithmCost& cost : costs) {
    if (value(cost) == least) names.emplace_back(to_string(cost.algorithm));
  }
  std::string text = names.front();
  for (std::size_t i = 1; i < names.size(); ++i) {
    text += (i + 1 == names.size() ? " and " : ", ") + names[i];
  }
  return text;
}

// Why an algorithm may need fewer rounds than the bound: its rounds are longer ones.
std::string about_the_bound(const Explanation& explanation) {
  std::vector<std::string> names;
  for (const AlgorithmCost& cost : explanation.algorithms) {
    if (cost.rounds < explanation.bound.rounds) names.emplace_back(to_string(cost.algorithm));
  }
  if (names.empty()) return {};
  return fmt::format(
      "{} {} fewer rounds than the bound, which is for rounds in which a port takes one message; "
      "here a rank takes several in a round, and the time counts each of them.",
      fmt::join(names, " and "), names.size() == 1 ? "has" : "have");
}

std::vector<std::string> conclusions_of(const Explanation& explanation) {
  const std::vector<AlgorithmCost>& costs = explanation.algorithms;
  if (costs.front().messages == 0) return {"A single rank has nobody to send to."};
  if (costs.size() == 1) return {};
  const auto busier = [](const AlgorithmCost& cost) { return std::max(cost.sent, cost.received); };
  std::vector<std::string> sentences;
  sentences.push_back(
      fmt::format("Fewest rounds: {}.",
                  names_with_least(costs, [](const AlgorithmCost& cost) { return cost.rounds; })));
  if (std::string sentence = about_the_bound(explanation); !sentence.empty()) {
    sentences.push_back(std::move(sentence));
  }
  if (explanation.bytes > 0) {
    sentences.push_back(
        fmt::format("Fewest bytes through one port: {}.", names_with_least(costs, busier)));
  }
  const AlgorithmCost& fastest =
      *std::min_element(costs.begin(), costs.end(),
                        [](const auto& a, const auto& b) { return a.seconds < b.seconds; });
  const AlgorithmCost& slowest =
      *std::max_element(costs.begin(), costs.end(),
                        [](const auto& a, const auto& b) { return a.seconds < b.seconds; });
  sentences.push_back(fmt::format(
      "At this alpha, beta and size {} is the fastest in the model, {:.3g} times as fast as {}.",
      to_string(fastest.algorithm), slowest.seconds / fastest.seconds,
      to_string(slowest.algorithm)));
  const double per_byte = explanation.model.beta * static_cast<double>(explanation.bytes);
  sentences.emplace_back(
      per_byte > explanation.model.alpha * explanation.request.ranks
          ? "Bytes decide here: sending the buffer once takes longer than starting a message for "
            "every rank."
          : "Rounds decide here: starting a message for every rank takes longer than sending the "
            "buffer once.");
  return sentences;
}

}  // namespace

double model_seconds(const Schedule& schedule, const CostModel& model) {
  const std::size_t size = size_of(schedule.request.dtype);
  double seconds = 0;
  for (const Round& round : schedule.rounds) seconds += round_seconds(round, size, model);
  return seconds;
}

Explanation explain(const ScheduleRequest& request, const CostModel& model) {
  Explanation explanation;
  explanation.model = model;
  explanation.request = request;
  explanation.algorithms.push_back(cost_of(request, model));  // refuses what does not exist
  explanation.request.algorithm = explanation.algorithms.front().algorithm;
  explanation.bytes = schedule::rank_buffer_elements(request) * size_of(request.dtype);
  for (const Algorithm algorithm : algorithms_for(request.operation)) {
    if (algorithm == explanation.request.algorithm) continue;
    // Two names of one schedule.
    const bool one_way =
        request.operation == Operation::kBroadcast || request.operation == Operation::kReduce;
    const bool ring_and_chain =
        (algorithm == Algorithm::kChain && explanation.request.algorithm == Algorithm::kRing) ||
        (algorithm == Algorithm::kRing && explanation.request.algorithm == Algorithm::kChain);
    if (one_way && ring_and_chain) continue;
    ScheduleRequest other = request;
    other.algorithm = algorithm;
    explanation.algorithms.push_back(cost_of(other, model));
  }
  explanation.bound = bound_of(request, explanation.bytes, model);
  explanation.conclusions = conclusions_of(explanation);
  return explanation;
}

std::string explanation_text(const Explanation& explanation) {
  const ScheduleRequest& request = explanation.request;
  std::string text = fmt::format(
      "{}, {}, S = {}; alpha = {} to start a message, beta = {:.4g} ns per byte ({:.4g} GB/s)\n\n",
      to_string(request.operation), counted(static_cast<std::size_t>(request.ranks), "rank"),
      format_bytes(explanation.bytes), time_text(explanation.model.alpha),
      explanation.model.beta * 1e9, 1e-9 / explanation.model.beta);
  std::vector<std::vector<std::string>> rows;
  for (const AlgorithmCost& cost : explanation.algorithms) {
    rows.push_back(
        {std::string(to_string(cost.algorithm)), fmt::format("{}", cost.rounds),
         fmt::format("{}", cost.messages), format_bytes(cost.sent), format_bytes(cost.received),
         cost.messages == 0 ? "-"
                            : fmt::format("{} -> {}, {}", cost.link.source, cost.link.destination,
                                          format_bytes(cost.link.bytes)),
         time_text(cost.seconds)});
  }
  rows.push_back({"no fewer than", fmt::format("{}", explanation.bound.rounds), "",
                  format_bytes(explanation.bound.bytes), "", "",
                  time_text(explanation.bound.seconds)});
  text += format_table(
      {"algorithm", "rounds", "messages", "most sent", "most received", "busiest link", "time"},
      rows);
  text += "\n";
  const auto reason = [](const std::string& why) { return wrap(why, 10, kLine); };
  for (const AlgorithmCost& cost : explanation.algorithms) {
    text += fmt::format("{}\n  rounds: {}\n", to_string(cost.algorithm), reason(cost.why_rounds));
    if (explanation.bytes > 0) text += fmt::format("  bytes:  {}\n", reason(cost.why_bytes));
  }
  text += "\n";
  for (const std::string& sentence : explanation.conclusions)
    text += wrap(sentence, 0, kLine) + "\n";
  text += wrap(
      "In the model a port sends and receives one message at a time, and each round waits for its "
      "busiest port.\n",
      0, kLine);
  return text;
}

}  // namespace ringside::cli
