// Proves a schedule right by symbolic execution: instead of numbers, ranks exchange how often each
// rank's contribution is in an element. One elementary range stands for all its elements.
//
// A barrier moves no elements; of it is proved that every rank has, directly or through others,
// heard of every other.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ringside/schedule.h"
#include "schedule/elementary_ranges.h"
#include "schedule/ownership.h"
#include "schedule/symbolic.h"

namespace ringside {
namespace {

using schedule::ElementaryRanges;

// How often the contribution of each rank is in an element; empty: the element holds nothing.
using Contributions = std::vector<std::uint8_t>;

// Blocks that do not lie side by side, around the end of the buffer or those of several nodes; and
// an edge that both trees of a double tree have.
bool may_go_together(const Message& first, const Message& second, const Schedule& schedule) {
  const bool apart = first.range.end <= second.range.begin || second.range.end <= first.range.begin;
  const bool blocks = has_blocks(schedule.request.operation);
  switch (schedule.request.algorithm) {
    case Algorithm::kDoubleTree:
      return apart;
    case Algorithm::kHierarchical:
      return blocks && apart;
    case Algorithm::kTree:
      return blocks && apart && first.range.size() > 0 && second.range.size() > 0;
    default:
      return false;
  }
}

// A star's root and the inner ranks of a double tree exchange with several ranks in one round.
bool has_several_partners(Algorithm algorithm) {
  return algorithm == Algorithm::kStar || algorithm == Algorithm::kDoubleTree;
}

// Ranks and ranges exist; at most one partner each way in a round and one message to it, but for
// the exceptions above.
std::string check_messages(const Schedule& schedule) {
  const int ranks = schedule.request.ranks;
  for (std::size_t r = 0; r < schedule.rounds.size(); ++r) {
    std::map<int, const Message*> sent;      // by source; with several partners by pair
    std::map<int, const Message*> received;  // by destination; likewise
    for (const Message& message : schedule.rounds[r]) {
      const int source = message.source;
      const int destination = message.destination;
      if (source < 0 || source >= ranks || destination < 0 || destination >= ranks) {
        return fmt::format("round {}: message from rank {} to rank {}: there are {} ranks", r,
                           source, destination, ranks);
      }
      if (message.range.begin > message.range.end || message.range.end > schedule.elements) {
        return fmt::format(
            "round {}: message from rank {} to rank {}: elements [{}, {}) of a buffer of {}", r,
            source, destination, message.range.begin, message.range.end, schedule.elements);
      }
      const bool pairs = has_several_partners(schedule.request.algorithm);
      const auto conflicts = [&](std::map<int, const Message*>& seen, int key) {
        const auto [entry, fresh] = seen.try_emplace(key, &message);
        if (fresh) return false;
        const Message& other = *entry->second;
        return other.source != source || other.destination != destination ||
               !may_go_together(other, message, schedule);
      };
      if (conflicts(sent, pairs ? source * ranks + destination : source)) {
        return fmt::format("round {}: rank {} sends twice", r, source);
      }
      if (conflicts(received, pairs ? destination * ranks + source : destination)) {
        return fmt::format("round {}: rank {} receives twice", r, destination);
      }
    }
  }
  return {};
}

class SymbolicExecution {
 public:
  explicit SymbolicExecution(const Schedule& schedule)
      : schedule_(schedule),
        ranks_(static_cast<std::size_t>(schedule.request.ranks)),
        pieces_(schedule),
        held_(ranks_, std::vector<Contributions>(pieces_.size())) {
    for (std::size_t rank = 0; rank < ranks_; ++rank) {
      Contributions own(ranks_, 0);
      own[rank] = 1;
      const Range input = pieces_.within(schedule::input_range(schedule, static_cast<int>(rank)));
      for (std::size_t piece = input.begin; piece < input.end; ++piece) held_[rank][piece] = own;
    }
  }

  std::string run() {
    std::string violation;
    schedule::run_symbolically(schedule_, pieces_, held_,
                               [&](std::size_t round, const Message& message, std::size_t piece,
                                   const Contributions& sent, Contributions& into) {
                                 violation =
                                     deliver(round, message, pieces_[piece].begin, sent, into);
                                 return violation.empty();
                               });
    return violation.empty() ? check_results() : violation;
  }

 private:
  std::string deliver(std::size_t round, const Message& message, std::size_t element,
                      const Contributions& sent, Contributions& into) const {
    if (sent.empty()) {
      return fmt::format("round {}: rank {} sends element {}, which it does not hold", round,
                         message.source, element);
    }
    if (message.action == Action::kCopy) {
      into = sent;
      return {};
    }
    if (into.empty()) {
      return fmt::format("round {}: rank {} combines into element {}, which it does not hold",
                         round, message.destination, element);
    }
    for (std::size_t rank = 0; rank < ranks_; ++rank) {
      into[rank] = static_cast<std::uint8_t>(into[rank] + sent[rank]);
      if (into[rank] > 1) {
        return fmt::format("rank {}, element {}: contribution of rank {} counted twice",
                           message.destination, element, rank);
      }
    }
    return {};
  }

  // Whether the contribution of `rank` belongs into element `element` of the result.
  bool belongs(std::size_t rank, std::size_t element) const {
    if (combines(schedule_.request.operation)) return true;
    const Range input = schedule::input_range(schedule_, static_cast<int>(rank));
    return input.begin <= element && element < input.end;
  }

  std::string check_results() const {
    for (std::size_t rank = 0; rank < ranks_; ++rank) {
      for (const Range output : schedule::output_ranges(schedule_, static_cast<int>(rank))) {
        const Range within = pieces_.within(output);
        for (std::size_t piece = within.begin; piece < within.end; ++piece) {
          std::string violation = check_result(rank, piece);
          if (!violation.empty()) return violation;
        }
      }
    }
    return {};
  }

  std::string check_result(std::size_t rank, std::size_t piece) const {
    const Contributions& result = held_[rank][piece];
    const std::size_t element = pieces_[piece].begin;
    for (std::size_t from = 0; from < ranks_; ++from) {
      const bool there = !result.empty() && result[from] == 1;
      if (there == belongs(from, element)) continue;
      return fmt::format("rank {}, element {}: contribution of rank {} {}", rank, element, from,
                         there ? "does not belong there" : "missing");
    }
    return {};
  }

  const Schedule& schedule_;
  std::size_t ranks_;
  ElementaryRanges pieces_;
  schedule::Held<Contributions> held_;
};

std::string check_barrier(const Schedule& schedule) {
  const auto ranks = static_cast<std::size_t>(schedule.request.ranks);
  std::vector<std::vector<bool>> heard(ranks, std::vector<bool>(ranks, false));
  for (std::size_t rank = 0; rank < ranks; ++rank) heard[rank][rank] = true;
  for (const Round& round : schedule.rounds) {
    const auto before = heard;
    for (const Message& message : round) {
      const auto& news = before[static_cast<std::size_t>(message.source)];
      auto& known = heard[static_cast<std::size_t>(message.destination)];
      for (std::size_t rank = 0; rank < ranks; ++rank) known[rank] = known[rank] || news[rank];
    }
  }
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    for (std::size_t other = 0; other < ranks; ++other) {
      if (!heard[rank][other]) return fmt::format("rank {} has not heard of rank {}", rank, other);
    }
  }
  return {};
}

}  // namespace

std::string check_schedule(const Schedule& schedule) {
  std::string violation = check_messages(schedule);
  if (!violation.empty()) return violation;
  if (schedule.request.operation == Operation::kBarrier) return check_barrier(schedule);
  return SymbolicExecution(schedule).run();
}

}  // namespace ringside
