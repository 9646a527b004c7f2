// The text of a collective's run.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/collective_report.h"
#include "cli/terminal.h"
#include "ringside/views.h"
#include "schedule/request.h"

namespace ringside::cli {
namespace {

constexpr std::size_t kShownInCell = 12;  // elements
constexpr std::size_t kShownRanks = 8;    // columns; of more, the first ones and the last
constexpr std::size_t kLineWidth = 100;
constexpr std::size_t kShownMessages = 8;  // of a round

std::string heading(const CollectiveRun& run) {
  const ScheduleRequest& request = run.schedule.request;
  std::string text =
      fmt::format("{}, {}", to_string(request.operation), to_string(request.algorithm));
  if (request.algorithm == Algorithm::kRing) {
    text += fmt::format(" ({}", to_string(request.direction));
    if (request.operation == Operation::kAllReduce) {
      text += fmt::format(", border {}", to_string(request.border));
    }
    if (request.pieces > 1) text += fmt::format(", {} pieces", request.pieces);
    text += ")";
  }
  const bool pipelined =
      request.algorithm == Algorithm::kChain || request.algorithm == Algorithm::kDoubleTree;
  if (pipelined && request.pieces > 1) text += fmt::format(" ({} pieces)", request.pieces);
  text += fmt::format(", {}", counted(static_cast<std::size_t>(request.ranks), "rank"));
  if (request.node_size > 0) text += fmt::format(" in nodes of {}", request.node_size);
  if (!request.counts.empty()) {
    text += fmt::format(", counts {}", fmt::join(request.counts, ","));
  } else if (request.operation != Operation::kBarrier) {
    text += fmt::format(", count {}", request.count);
  }
  text += fmt::format(", {}", to_string(request.dtype));
  if (combines(request.operation)) text += fmt::format(", {}", to_string(run.op));
  if (has_root(request.operation)) text += fmt::format(", root {}", request.root);
  if (request.operation == Operation::kSend) {
    text += fmt::format(", from {} to {}", request.root, request.peer);
  }
  return text;
}

// The ranks that have a column; -1 stands for those left out.
std::vector<int> columns(std::size_t ranks, std::size_t most) {
  std::vector<int> result;
  for (std::size_t rank = 0; rank < std::min(ranks, most); ++rank) {
    result.push_back(static_cast<int>(rank));
  }
  if (ranks > most) {
    result[most - 1] = -1;
    result.push_back(static_cast<int>(ranks) - 1);
  }
  return result;
}

std::string values_text(const Holding& holding, std::size_t most) {
  std::string text;
  for (std::size_t i = 0; i < std::min(most, holding.values.size()); ++i) {
    const std::optional<double>& value = holding.values[i];
    text += (text.empty() ? "" : " ") + (value ? fmt::format("{:.6g}", *value) : "-");
  }
  return holding.values.size() > most ? text + " ..." : text;
}

bool has_values(const Holding& holding) {
  return !holding.values.empty() && holding.values.size() <= kShownInCell;
}

std::string cell_text(const Holding& holding, std::size_t most_values) {
  return has_values(holding) ? values_text(holding, most_values) : holding_text(holding);
}

std::string values_table(const CollectiveRun& run, std::size_t most_ranks,
                         std::size_t most_values) {
  const std::vector<int> shown =
      columns(static_cast<std::size_t>(run.schedule.request.ranks), most_ranks);
  std::vector<std::string> header{"after"};
  for (const int rank : shown) header.push_back(rank < 0 ? "..." : fmt::format("rank {}", rank));
  std::vector<std::vector<std::string>> rows;
  for (const StageRecord& stage : run.stages) {
    std::vector<std::string>& row = rows.emplace_back(std::vector<std::string>{stage.label});
    for (const int rank : shown) {
      row.push_back(rank < 0 ? "..."
                             : cell_text(stage.ranks[static_cast<std::size_t>(rank)], most_values));
    }
  }
  return format_table(header, rows);
}

// With as many ranks and values as a line has room for.
std::string values_table(const CollectiveRun& run) {
  std::string table;
  const std::size_t fewest_values = 3;  // with all columns
  for (const std::size_t ranks : {kShownRanks, kShownRanks / 2}) {
    const std::size_t least = ranks == kShownRanks ? fewest_values : 1;
    for (std::size_t values = kShownInCell; values >= least; --values) {
      table = values_table(run, ranks, values);
      if (table.find('\n') <= kLineWidth) return table;
    }
  }
  return table;
}

// "0 -> 1 [2,4) +": elements 2 and 3 of rank 0, added to rank 1's own; = for a copy.
std::string message_text(const Message& message) {
  return fmt::format("{} -> {} [{},{}) {}", message.source, message.destination,
                     message.range.begin, message.range.end,
                     message.action == Action::kCombine ? "+" : "=");
}

// "round 1: ", the items with commas between them, in lines that begin below the first item.
std::string wrapped(const std::string& begin, const std::vector<std::string>& items) {
  std::string text = begin;
  std::size_t column = begin.size();
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string item = items[i] + (i + 1 < items.size() ? ", " : "");
    if (i > 0 && column + item.size() > kLineWidth) {
      text.erase(text.find_last_not_of(' ') + 1);
      text += "\n" + std::string(begin.size(), ' ');
      column = begin.size();
    }
    text += item;
    column += item.size();
  }
  return text;
}

std::string messages_text(const Schedule& schedule) {
  std::string text;
  for (std::size_t r = 0; r < schedule.rounds.size(); ++r) {
    const Round& round = schedule.rounds[r];
    std::vector<std::string> messages;
    for (const Message& message : round) {
      if (messages.size() == kShownMessages) break;
      messages.push_back(message_text(message));
    }
    const std::string more = round.size() > kShownMessages
                                 ? fmt::format(", and {} more", round.size() - kShownMessages)
                                 : "";
    text += wrapped(fmt::format("round {}: ", r + 1), messages) + more + "\n";
  }
  return text;
}

// "2(n-1) = 6 rounds"; of a formula that is a number, "1 round".
std::string rounds_by_formula(const ClosedForm& closed) {
  const std::string rounds = counted(closed.rounds, "round");
  const bool is_number = closed.rounds_formula == fmt::format("{}", closed.rounds);
  return is_number ? rounds : fmt::format("{} = {}", closed.rounds_formula, rounds);
}

std::string cost_text(const CollectiveRun& run) {
  const std::size_t size = size_of(run.schedule.request.dtype);
  const auto bytes = [&](std::size_t elements) { return format_bytes(elements * size); };
  std::string text =
      fmt::format("{}, {}, {} in all; the busiest rank sends {} and receives {}\n",
                  counted(run.cost.rounds, "round"), counted(run.cost.messages, "message"),
                  bytes(run.cost.elements), bytes(run.cost.max_sent_by_rank),
                  bytes(run.cost.max_received_by_rank));
  if (!run.closed) return text;
  const ScheduleRequest& request = run.schedule.request;
  std::string pieces = request.pieces > 1 ? fmt::format(", k = {}", request.pieces) : "";
  if (request.node_size > 0) {
    pieces += fmt::format(", N = {}, p = {}", request.ranks / request.node_size, request.node_size);
  }
  text += fmt::format("closed form: {}, {} = {} (n = {}, S = {}, the full buffer{})\n",
                      rounds_by_formula(*run.closed), run.closed->bytes_formula,
                      format_bytes(run.closed->bytes), request.ranks,
                      bytes(schedule::rank_buffer_elements(request)), pieces);
  return text;
}

constexpr std::size_t kMaxTextRounds = 64;

}  // namespace

std::string holding_text(const Holding& holding) {
  if (has_values(holding)) return values_text(holding, kShownInCell);
  if (holding.held == 0) return "nothing";
  return fmt::format("{}, norm {:.6g}", counted(holding.held, "value"), holding.norm);
}

std::string collective_text(const CollectiveRun& run) {
  std::string text = heading(run) + "\n\n";
  if (run.executed && run.schedule.elements > 0) {
    text += values_table(run) + "\n";
  } else if (!run.executed) {
    text += fmt::format(
        "Values are not worked out: {} ranks of {} elements are more than {} in all.\n\n",
        run.schedule.request.ranks, run.schedule.elements, kMaxValues);
  }
  if (run.schedule.rounds.size() <= kMaxTextRounds) {
    text += messages_text(run.schedule) +
            "(source -> destination [first,last) +: added to the receiver's, =: copied)\n\n";
  }
  text += cost_text(run);
  if (run.executed && run.schedule.elements > 0) {
    text += "The simulated devices, message by message, computed the same values.\n";
  }
  return text;
}

}  // namespace ringside::cli
