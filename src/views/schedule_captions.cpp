#include "views/schedule_captions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <vector>

#include "views/rank_places.h"
#include "views/text.h"

namespace ringside {
namespace {

std::size_t element_bytes(const Schedule& schedule) { return size_of(schedule.request.dtype); }

bool crosses_nodes(const Schedule& schedule, const Message& message) {
  return node_of(schedule.request, message.source) !=
         node_of(schedule.request, message.destination);
}

// "Every rank", "Rank 0, the busiest," or "The busiest rank" of several, by what they send or, if
// nobody sends `most` elements, receive.
std::string busiest_ranks(const Schedule& schedule, std::size_t most) {
  std::map<int, std::size_t> sent;
  std::map<int, std::size_t> received;
  for (const Round& round : schedule.rounds) {
    for (const Message& message : round) {
      sent[message.source] += message.range.size();
      received[message.destination] += message.range.size();
    }
  }
  std::vector<int> busiest;
  for (const auto& moved : {sent, received}) {
    if (!busiest.empty()) break;
    for (const auto& [rank, elements] : moved) {
      if (elements == most) busiest.push_back(rank);
    }
  }
  if (busiest.size() == static_cast<std::size_t>(schedule.request.ranks)) return "Every rank";
  return busiest.size() == 1 ? fmt::format("Rank {}, the busiest,", busiest.front())
                             : "The busiest rank";
}

// How much of a schedule goes between nodes, where it has nodes.
std::string between_nodes(const Schedule& schedule) {
  if (node_of(schedule.request, 0) < 0) return "";
  std::size_t elements = 0;
  for (const Round& round : schedule.rounds) {
    for (const Message& message : round) {
      elements += crosses_nodes(schedule, message) ? message.range.size() : 0;
    }
  }
  return fmt::format(" {} go between nodes of {}.",
                     format_bytes(elements * element_bytes(schedule)),
                     counted(static_cast<std::size_t>(schedule.request.node_size), "rank"));
}

// Which ranks a round joins, where that is the algorithm's idea: ", inside nodes".
std::string partners(const Schedule& schedule, const Round& messages) {
  if (messages.empty()) return "";
  const Message& first = messages.front();
  const auto distance = [](const Message& m) { return std::abs(m.source - m.destination); };
  const auto all = [&](const auto& alike) {
    return std::all_of(messages.begin(), messages.end(), alike);
  };
  if (node_of(schedule.request, 0) >= 0) {
    const bool crosses = crosses_nodes(schedule, first);
    if (!all([&](const Message& m) { return crosses_nodes(schedule, m) == crosses; })) return "";
    return crosses ? ", between nodes" : ", inside nodes";
  }
  if (schedule.request.algorithm != Algorithm::kHalvingDoubling) return "";
  if (!all([&](const Message& m) { return distance(m) == distance(first); })) return "";
  return fmt::format(", between ranks {} apart", distance(first));
}

}  // namespace

std::string schedule_title(const Schedule& schedule, ReduceOp op) {
  std::string text = as_sentence(std::string(to_string(schedule.request.operation)));
  if (combines(schedule.request.operation)) text += fmt::format(" ({})", to_string(op));
  text += fmt::format(" on {}", counted(static_cast<std::size_t>(schedule.request.ranks), "rank"));
  if (is_pair(schedule.request.operation)) return text;
  return text + fmt::format(", {}", to_string(schedule.request.algorithm));
}

std::string whole_caption(const Schedule& schedule) {
  const ScheduleCost cost = count_cost(schedule);
  if (cost.messages == 0) return "Nothing is sent.";
  std::string text =
      fmt::format("{}, {}", counted(cost.rounds, "round"), counted(cost.messages, "message"));
  if (cost.elements == 0) return text + ".";
  text += fmt::format(", {} in all.", format_bytes(cost.elements * element_bytes(schedule)));
  const std::size_t most = std::max(cost.max_sent_by_rank, cost.max_received_by_rank);
  const std::string ratio =
      most == schedule.elements
          ? "as much as"
          : short_number(static_cast<double>(most) / static_cast<double>(schedule.elements)) +
                " times";
  text += fmt::format(" {} {} {}, {} its buffer of {}.", busiest_ranks(schedule, most),
                      cost.max_sent_by_rank >= cost.max_received_by_rank ? "sends" : "receives",
                      format_bytes(most * element_bytes(schedule)), ratio,
                      format_bytes(schedule.elements * element_bytes(schedule)));
  return text + between_nodes(schedule);
}

std::string round_caption(const Schedule& schedule, ReduceOp op, std::size_t round) {
  const Round& messages = schedule.rounds[round];
  std::size_t bytes = 0;
  std::size_t combined = 0;
  for (const Message& message : messages) {
    bytes += message.range.size() * element_bytes(schedule);
    combined += message.action == Action::kCombine ? 1 : 0;
  }
  std::string text = fmt::format("Round {} of {}{}: {}", round + 1, schedule.rounds.size(),
                                 partners(schedule, messages), counted(messages.size(), "message"));
  if (bytes > 0) text += fmt::format(", {}", format_bytes(bytes));
  if (schedule.request.operation == Operation::kBarrier) return text + ".";
  if (combined == 0) return text + "; what arrives is kept as it is.";
  return text + fmt::format("; what arrives is combined ({}) with the receiver's.", to_string(op));
}

}  // namespace ringside
