#include "schedule/halving_doubling.h"

#include <bit>
#include <utility>

#include "schedule/borders.h"
#include "schedule/sequence.h"

namespace ringside::schedule {
namespace {

// Who takes part in the exchanges: 2^d ranks, the first `pairs` of which act for the rank behind
// them, too.
struct Participants {
  explicit Participants(int ranks)
      : count(static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)))),
        pairs(ranks - count) {}
  int rank_of(int participant) const {
    return participant < pairs ? 2 * participant : participant + pairs;
  }
  int count;
  int pairs;
};

const Range& at(std::span<const Range> ranges, int index) {
  return ranges[static_cast<std::size_t>(index)];
}

// Parts first, first + 1, ..., first + count - 1.
Range joined(std::span<const Range> parts, int first, int count) {
  return {at(parts, first).begin, at(parts, first + count - 1).end};
}

// `parts` has one range per participant.
std::vector<Round> doubling_rounds(const Participants& participants, std::span<const Range> parts) {
  std::vector<Round> rounds;
  for (int held = 1; held < participants.count; held *= 2) {
    Round& round = rounds.emplace_back();
    for (int participant = 0; participant < participants.count; ++participant) {
      const int first = participant / held * held;
      round.push_back({participants.rank_of(participant), participants.rank_of(participant ^ held),
                       joined(parts, first, held), Action::kCopy, -1});
    }
  }
  return rounds;
}

// Halving is doubling backwards: what comes in last there is sent off first here.
std::vector<Round> halving_rounds(const Participants& participants, std::span<const Range> parts) {
  return mirrored(doubling_rounds(participants, parts), Action::kCombine);
}

// A round of one message between the two of every pair, if there are pairs.
template <typename RangeOfPair>
std::vector<Round> pair_round(const Participants& participants, bool towards_participant,
                              Action action, RangeOfPair range_of) {
  if (participants.pairs == 0) return {};
  Round round;
  for (int pair = 0; pair < participants.pairs; ++pair) {
    const int acting = 2 * pair;
    const int other = acting + 1;
    round.push_back({towards_participant ? other : acting, towards_participant ? acting : other,
                     range_of(pair), action, -1});
  }
  return {round};
}

// A participant's part: its own block, or both blocks of its pair.
std::vector<Range> parts_of(const Participants& participants, std::span<const Range> blocks) {
  std::vector<Range> parts;
  for (int participant = 0; participant < participants.count; ++participant) {
    parts.push_back(joined(blocks, participants.rank_of(participant),
                           participant < participants.pairs ? 2 : 1));
  }
  return parts;
}

Range whole(std::span<const Range> blocks) {
  return joined(blocks, 0, static_cast<int>(blocks.size()));
}

}  // namespace

std::vector<Round> halving_reduce_scatter(std::span<const Range> blocks) {
  const Participants participants(static_cast<int>(blocks.size()));
  std::vector<Round> rounds =
      pair_round(participants, true, Action::kCombine, [&](int /*pair*/) { return whole(blocks); });
  rounds =
      in_sequence(std::move(rounds), halving_rounds(participants, parts_of(participants, blocks)));
  return in_sequence(std::move(rounds),
                     pair_round(participants, false, Action::kCopy,
                                [&](int pair) { return at(blocks, 2 * pair + 1); }));
}

std::vector<Round> doubling_all_gather(std::span<const Range> blocks) {
  const Participants participants(static_cast<int>(blocks.size()));
  std::vector<Round> rounds = pair_round(participants, true, Action::kCopy,
                                         [&](int pair) { return at(blocks, 2 * pair + 1); });
  rounds =
      in_sequence(std::move(rounds), doubling_rounds(participants, parts_of(participants, blocks)));
  return in_sequence(std::move(rounds), pair_round(participants, false, Action::kCopy,
                                                   [&](int /*pair*/) { return whole(blocks); }));
}

std::vector<Round> halving_doubling_all_reduce(int ranks, Range buffer) {
  const Participants participants(ranks);
  const std::vector<Range> parts = even_parts(buffer, participants.count);
  const auto all = [&](int /*pair*/) { return buffer; };
  std::vector<Round> rounds = pair_round(participants, true, Action::kCombine, all);
  rounds = in_sequence(std::move(rounds), halving_rounds(participants, parts));
  rounds = in_sequence(std::move(rounds), doubling_rounds(participants, parts));
  return in_sequence(std::move(rounds), pair_round(participants, false, Action::kCopy, all));
}

}  // namespace ringside::schedule
