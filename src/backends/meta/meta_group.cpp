#include "backends/meta/meta_group.h"

#include <fmt/format.h>

#include <optional>

#include "ringside/error.h"

namespace ringside {
namespace {

constexpr int kSource = 0;
constexpr int kDestination = 1;

}  // namespace

MetaGroup::MetaGroup(CommunicatorName name)
    : name_(std::move(name)), collectives_(static_cast<int>(name_.world_ranks.size())) {}

MetaGroup::Sequence& MetaGroup::sequence_of(const CallSignature& signature) {
  if (!is_message(signature)) return collectives_;
  return messages_.try_emplace({signature.request.root, signature.request.peer}, 2).first->second;
}

// The last side's call closes the slot and decides whether all agree.
std::shared_ptr<MetaGroup::Split> MetaGroup::enter(int side, int sides,
                                                   const CallSignature& signature) {
  Sequence& sequence = sequence_of(signature);
  std::shared_ptr<Split> slot = sequence.next(
      side, [&](std::int64_t number) { return std::make_shared<Split>(number, sides); });
  if (!slot->call(side, signature)) return slot;
  sequence.close(slot->sequence());
  const std::optional<Error> mismatch =
      is_message(signature) ? find_pair_mismatch(name_, slot->sequence(), slot->signature(kSource),
                                                 slot->signature(kDestination))
                            : slot->mismatch(name_);
  if (mismatch) throw Error(*mismatch);
  return slot;
}

std::int64_t MetaGroup::call(int rank, const CallSignature& signature) {
  if (!is_message(signature)) return enter(rank, size(), signature)->sequence();
  const bool sends = signature.request.operation == Operation::kSend;
  return enter(sends ? kSource : kDestination, 2, signature)->sequence();
}

std::shared_ptr<MetaGroup::Split> MetaGroup::split(int rank, int color, int key) {
  std::shared_ptr<Split> split = enter(rank, size(), split_signature(size()));
  const auto ranks = static_cast<std::size_t>(size());
  split->colors.resize(ranks, -1);
  split->keys.resize(ranks, 0);
  split->colors[static_cast<std::size_t>(rank)] = color;
  split->keys[static_cast<std::size_t>(rank)] = key;
  if (split->complete()) make_places(*split);
  return split;
}

void MetaGroup::make_places(Split& split) {
  split.places.resize(split.colors.size());
  for (const SplitGroup& group : split_groups(split.colors, split.keys)) {
    const auto ordinal = static_cast<std::int64_t>(children_.size()) + 1;
    const auto made = std::make_shared<MetaGroup>(child_of(name_, ordinal, group.members));
    children_.push_back(made);
    for (std::size_t rank = 0; rank < group.members.size(); ++rank) {
      split.places[static_cast<std::size_t>(group.members[rank])] = {made, static_cast<int>(rank)};
    }
  }
}

std::vector<std::string> MetaGroup::abandon() {
  const auto all = [](const CallSlot& /*slot*/) { return true; };
  std::vector<std::string> lines;
  const std::vector<bool> nobody_is_late(static_cast<std::size_t>(size()), false);
  for (const auto& slot : collectives_.realign(all)) {
    for (int rank = 0; rank < size(); ++rank) {
      if (!slot->called(rank)) continue;
      lines.push_back(fmt::format("rank {} {}", name_.world_ranks[static_cast<std::size_t>(rank)],
                                  slot->describe(rank, name_, nobody_is_late)));
    }
  }
  for (auto& [pair, sequence] : messages_) {
    for (const auto& slot : sequence.realign(all)) {
      const int side = slot->called(kSource) ? kSource : kDestination;
      const int caller = side == kSource ? pair.first : pair.second;
      const int other = side == kSource ? pair.second : pair.first;
      lines.push_back(fmt::format(
          "rank {} waits in {}, message {} of {}; rank {} has not called {} for it",
          name_.world_ranks[static_cast<std::size_t>(caller)], pair_text(slot->signature(side)),
          slot->sequence(), name_.text(), other, side == kSource ? "recv" : "send"));
    }
  }
  for (const auto& child : children_) {
    if (const auto group = child.lock()) {
      for (std::string& line : group->abandon()) lines.push_back(std::move(line));
    }
  }
  return lines;
}

}  // namespace ringside
