#include "sim/comm/sim_group.h"

#include <fmt/format.h>

#include "ringside/error.h"
#include "sim/comm/group_directory.h"

namespace ringside::sim {
namespace {

constexpr int kSource = 0;
constexpr int kDestination = 1;

// Done as soon as it is called: it moves nothing and, as in NCCL, waits for nobody.
bool moves_nothing(const CallSignature& signature) {
  return !signature.split && signature.request.operation != Operation::kBarrier &&
         signature.request.count == 0 && signature.request.counts.empty();
}

std::string title(const CallSignature& signature, std::int64_t sequence,
                  const CommunicatorName& name) {
  if (is_message(signature)) {
    return fmt::format("{}, message {} from rank {} to rank {} of {}", pair_text(signature),
                       sequence, signature.request.root, signature.request.peer, name.text());
  }
  return fmt::format("{}{}, call {} of {}", to_string(signature), to_string(signature.purpose),
                     sequence, name.text());
}

}  // namespace

SimGroup::SimGroup(SimContext& context, CommunicatorName name)
    : context_(context),
      name_(std::move(name)),
      collectives_(static_cast<int>(name_.world_ranks.size())),
      completed_(name_.world_ranks.size()) {}

SimGroup::Sequence& SimGroup::sequence_of(const CallSignature& signature) {
  if (!is_message(signature)) return collectives_;
  return messages_.try_emplace({signature.request.root, signature.request.peer}, 2).first->second;
}

Meeting* SimGroup::open_meeting(std::int64_t sequence, int sides) {
  Books& books = sides == size() ? collective_books_ : message_books_;
  if (books.spare.empty()) {
    Meeting* meeting = books.all.emplace_back(std::make_unique<Meeting>(sequence, sides)).get();
    books.spare.reserve(books.all.capacity());  // putting back never allocates
    return meeting;
  }
  Meeting* meeting = books.spare.back();
  books.spare.pop_back();
  meeting->reset(sequence);
  return meeting;
}

SimGroup::Entry SimGroup::enter(int rank, CollectiveCall call, const CallSignature& signature,
                                std::shared_ptr<JointCall> joint) {
  int side = rank;
  int sides = size();
  if (is_message(signature)) {
    side = call.operation == Operation::kSend ? kSource : kDestination;
    sides = 2;
  }
  Notices notices;
  std::unique_lock lock(mutex_);
  Meeting& meeting = *sequence_of(signature).next(
      side, [&](std::int64_t sequence) { return open_meeting(sequence, sides); });
  const std::int64_t sequence = meeting.sequence();
  Meeting::Side& books = meeting.sides[static_cast<std::size_t>(side)];
  books.call = std::move(call);
  books.joint = std::move(joint);
  this->call(meeting, side, signature, notices);
  lock.unlock();
  notices.deliver();
  return {meeting, sequence, side};
}

void SimGroup::enter_split(int rank, int color, int key, std::shared_ptr<SplitAnswer> answer) {
  const CallSignature signature = split_signature(size());
  Notices notices;
  {
    const std::lock_guard lock(mutex_);
    Meeting& meeting = *collectives_.next(
        rank, [&](std::int64_t sequence) { return open_meeting(sequence, size()); });
    Meeting::Side& side = meeting.sides[static_cast<std::size_t>(rank)];
    side.split = std::move(answer);
    side.color = color;
    side.key = key;
    side.arrived = true;  // a split waits on no stream
    ++meeting.arrivals;
    call(meeting, rank, signature, notices);
  }
  notices.deliver();
}

// The last side's call decides: they differ, or (split, nothing to move) it is done already.
void SimGroup::call(Meeting& meeting, int side, const CallSignature& signature, Notices& notices) {
  ++meeting.untold;
  if (!meeting.call(side, signature)) return;
  const std::optional<Error> mismatch =
      is_message(signature)
          ? find_pair_mismatch(name_, meeting.sequence(), meeting.signature(kSource),
                               meeting.signature(kDestination))
          : meeting.mismatch(name_);
  if (mismatch) {
    fail(meeting, std::make_shared<const Error>(*mismatch), notices);
    return;
  }
  if (moves_nothing(signature)) close(meeting);
  if (signature.split) {
    give_places(meeting);
    const auto now = CallSlot::Clock::now();
    for (int rank = 0; rank < size(); ++rank) {
      remember(meeting, rank, now);
      tell(meeting, rank, nullptr, notices);
    }
    close(meeting);
  }
}

// Whoever waits is told now, whoever comes later when it arrives.
void SimGroup::fail(Meeting& meeting, const Failure& error, Notices& notices) {
  meeting.error = error;
  for (std::size_t side = 0; side < meeting.sides.size(); ++side) {
    if (meeting.sides[side].arrived) tell(meeting, static_cast<int>(side), error, notices);
  }
  close(meeting);
}

void SimGroup::close(Meeting& meeting) {
  for (std::size_t side = 0; side < meeting.sides.size(); ++side) {
    if (!meeting.called(static_cast<int>(side))) continue;
    sequence_of(meeting.signature(static_cast<int>(side))).close(meeting.sequence());
    break;
  }
  meeting.closed = true;
  put_back_if_over(meeting);
}

void SimGroup::tell(Meeting& meeting, int side, const Failure& error, Notices& notices) {
  notices.add(meeting.sides[static_cast<std::size_t>(side)], error);
  --meeting.untold;
}

// Nobody refers to it any more; what it held is let go of now.
void SimGroup::put_back_if_over(Meeting& meeting) {
  if (!meeting.closed || meeting.untold > 0) return;
  meeting.reset(0);
  Books& books =
      meeting.sides.size() == name_.world_ranks.size() ? collective_books_ : message_books_;
  books.spare.push_back(&meeting);
}

void SimGroup::let_go(Meeting& meeting, int side) {
  Notices never_told;  // what the call holds dies without the lock
  const std::lock_guard lock(mutex_);
  never_told.add(meeting.sides[static_cast<std::size_t>(side)], nullptr);
  --meeting.untold;
  put_back_if_over(meeting);
}

int SimGroup::rank_of(const Meeting& meeting, int side) const {
  const CallSignature& signature = meeting.signature(side);
  if (!is_message(signature)) return side;
  return side == kSource ? signature.request.root : signature.request.peer;
}

void SimGroup::remember(Meeting& meeting, int side, CallSlot::Clock::time_point when) {
  completed_[static_cast<std::size_t>(rank_of(meeting, side))] =
      Completed{meeting.signature(side), meeting.sequence(), when};
}

void SimGroup::give_places(Meeting& meeting) {
  std::vector<int> colors;
  std::vector<int> keys;
  for (const Meeting::Side& side : meeting.sides) {
    colors.push_back(side.color);
    keys.push_back(side.key);
  }
  for (const SplitGroup& group : split_groups(colors, keys)) {
    const auto made =
        std::make_shared<SimGroup>(context_, child_of(name_, ++children_, group.members));
    context_.directory.add(made);
    for (std::size_t rank = 0; rank < group.members.size(); ++rank) {
      meeting.sides[static_cast<std::size_t>(group.members[rank])].split->place = {
          made, static_cast<int>(rank)};
    }
  }
}

void SimGroup::arrive(Meeting& meeting, int side_index, Failure poison) {
  Notices notices;
  bool ready = false;
  {
    const std::lock_guard lock(mutex_);
    Meeting::Side& side = meeting.sides[static_cast<std::size_t>(side_index)];
    if (meeting.error) {
      tell(meeting, side_index, meeting.error, notices);
      put_back_if_over(meeting);
    } else if (moves_nothing(meeting.signature(side_index))) {
      remember(meeting, side_index, CallSlot::Clock::now());
      tell(meeting, side_index, poison, notices);
      put_back_if_over(meeting);
    } else {
      side.arrived = true;
      side.poison = std::move(poison);
      ready = ++meeting.arrivals == static_cast<int>(meeting.sides.size());
      if (ready) meeting.running = shared_from_this();
    }
  }
  notices.deliver();
  if (ready) run(meeting);
}

// All sides have arrived: nobody else touches the meeting until finish().
void SimGroup::run(Meeting& meeting) {
  for (std::size_t side = 0; side < meeting.sides.size(); ++side) {
    if (!meeting.sides[side].poison) continue;
    const CallSignature& signature = meeting.signature(static_cast<int>(side));
    finish(meeting,
           std::make_shared<const Error>(
               ErrorKind::kRankFailed,
               fmt::format("rank {} failed before {}: {}", rank_of(meeting, static_cast<int>(side)),
                           title(signature, meeting.sequence(), name_),
                           meeting.sides[side].poison->what())));
    return;
  }
  if (meeting.signature(0).request.operation == Operation::kBarrier) {
    finish(meeting, nullptr);
    return;
  }
  meeting.move.start(*this, meeting);
}

// A side whose stream had an error of its own keeps that one.
void SimGroup::finish(Meeting& meeting, const Failure& error) {
  Notices notices;
  std::shared_ptr<SimGroup> self;  // the last holder may be this one
  {
    const auto now = CallSlot::Clock::now();
    notices.reserve(meeting.sides.size());
    const std::lock_guard lock(mutex_);
    self = std::move(meeting.running);
    for (std::size_t i = 0; i < meeting.sides.size(); ++i) {
      const int side = static_cast<int>(i);
      if (!error) remember(meeting, side, now);
      const Failure& poison = meeting.sides[i].poison;
      tell(meeting, side, poison ? poison : error, notices);
    }
    close(meeting);
  }
  notices.deliver();
}

void SimGroup::abandon(const Failure& error, bool only_uncalled, Notices& notices) {
  const auto forget = [&](const Meeting& meeting) {
    return !meeting.running && !(only_uncalled && meeting.complete());
  };
  const auto end_all = [&](Sequence& sequence) {
    for (Meeting* meeting : sequence.realign(forget)) fail(*meeting, error, notices);
  };
  end_all(collectives_);
  for (auto& [pair, sequence] : messages_) end_all(sequence);
}

std::string SimGroup::describe(const Meeting& meeting, int side) const {
  const CallSignature& signature = meeting.signature(side);
  if (!is_message(signature)) {
    std::vector<bool> held_up;
    held_up.reserve(meeting.sides.size());
    for (const Meeting::Side& other : meeting.sides) held_up.push_back(!other.arrived);
    return meeting.describe(side, name_, held_up);
  }
  std::string text =
      fmt::format("waits in {}, since {}", title(signature, meeting.sequence(), name_),
                  elapsed_text(meeting.since(side)));
  const int other = 1 - side;
  const int other_rank = side == kSource ? signature.request.peer : signature.request.root;
  if (!meeting.called(other)) {
    return text + fmt::format("; rank {} has not called {} for it", other_rank,
                              side == kSource ? "recv" : "send");
  }
  for (const int held : {kSource, kDestination}) {
    if (meeting.sides[static_cast<std::size_t>(held)].arrived) continue;
    text += fmt::format("; rank {} called {}, but earlier work holds up its stream",
                        rank_of(meeting, held), held == kSource ? "send" : "recv");
  }
  return text;
}

// The call that a stream stands at, else the first one that is enqueued.
std::optional<SimGroup::OpenCall> SimGroup::open_call(int rank) {
  const std::lock_guard lock(mutex_);
  std::optional<OpenCall> result;
  const auto consider = [&](const Meeting& meeting, int side) {
    if (!meeting.called(side) || rank_of(meeting, side) != rank) return;
    if (moves_nothing(meeting.signature(side))) return;  // it waits for nobody
    const bool arrived = meeting.sides[static_cast<std::size_t>(side)].arrived;
    const auto since = meeting.since(side);
    const bool better = !result || (arrived && !result->arrived) ||
                        (arrived == result->arrived && since < result->since);
    if (better) result = OpenCall{since, arrived, describe(meeting, side)};
  };
  for (const Meeting* meeting : collectives_.open()) consider(*meeting, rank);
  for (const auto& [pair, messages] : messages_) {
    for (const Meeting* meeting : messages.open()) {
      consider(*meeting, kSource);
      consider(*meeting, kDestination);
    }
  }
  return result;
}

std::optional<SimGroup::CompletedCall> SimGroup::last_completed(int rank) {
  const std::lock_guard lock(mutex_);
  const auto& last = completed_[static_cast<std::size_t>(rank)];
  if (!last) return std::nullopt;
  return CompletedCall{last->when, title(last->signature, last->sequence, name_)};
}

}  // namespace ringside::sim
