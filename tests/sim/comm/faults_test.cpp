// Random programs with exactly one defect: every defect is reported, to the right ranks and with
// the right call, and clean programs run. What must be reported comes from a reference that is
// written differently: it steps through the ranks' lists of calls, without threads, streams or
// slots.
//
// RINGSIDE_FAULT_SEEDS=N tries N seeds instead of 1,000.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "sim/comm/world_fixture.h"

namespace ringside::sim {
namespace {

using Program = std::vector<std::vector<CollectiveCall>>;  // by rank, without buffers

enum class Defect {
  kNone,
  kOperation,
  kCount,
  kDType,
  kReduceOp,
  kRoot,
  kOrder,
  kMissingCall,
  kExtraCall,
  kCrossedSends,
  kWrongPeer,
  kMessageCount,
  kDeath
};
constexpr int kDefects = static_cast<int>(Defect::kDeath) + 1;

struct Case {
  Program program;
  Defect defect = Defect::kNone;
  int dying_rank = -1;  // throws instead of making call `dying_call`
  std::size_t dying_call = 0;
};

// ------------------------------------------------------------------ making

class CaseGenerator {
 public:
  explicit CaseGenerator(unsigned seed) : random_(seed) {}

  Case make(Defect defect) {
    for (;;) {
      ranks_ = from(2, 5);
      Case made;
      made.defect = defect;
      made.program.resize(static_cast<std::size_t>(ranks_));
      const int steps = from(3, 8);
      for (int step = 0; step < steps; ++step) add_step(made.program);
      if (damage(made)) return made;
    }
  }

 private:
  int from(int least, int most) { return std::uniform_int_distribution<int>(least, most)(random_); }
  template <typename T>
  T one_of(const std::vector<T>& choices) {
    return choices[static_cast<std::size_t>(from(0, static_cast<int>(choices.size()) - 1))];
  }

  CollectiveCall collective() {
    CollectiveCall call;
    call.operation =
        one_of<Operation>({Operation::kBroadcast, Operation::kReduce, Operation::kAllReduce,
                           Operation::kAllGather, Operation::kReduceScatter, Operation::kScatter,
                           Operation::kGather, Operation::kAllToAll, Operation::kBarrier});
    if (call.operation == Operation::kBarrier) return call;
    call.count = static_cast<std::size_t>(from(1, 6));
    call.dtype = one_of<DType>({DType::kFloat32, DType::kBFloat16, DType::kInt32});
    if (combines(call.operation)) call.op = one_of<ReduceOp>({ReduceOp::kSum, ReduceOp::kMax});
    if (has_root(call.operation)) call.root = from(0, ranks_ - 1);
    return call;
  }

  static CollectiveCall message(Operation operation, const CollectiveCall& like, int peer) {
    CollectiveCall call;
    call.operation = operation;
    call.count = like.count;
    call.dtype = like.dtype;
    call.peer = peer;
    return call;
  }

  // A collective, or two ranks that send to each other, one after the other.
  void add_step(Program& program) {
    if (from(0, 3) > 0) {
      const CollectiveCall call = collective();
      for (auto& calls : program) calls.push_back(call);
      return;
    }
    const int a = from(0, ranks_ - 1);
    const int b = (a + from(1, ranks_ - 1)) % ranks_;
    CollectiveCall like;
    like.count = static_cast<std::size_t>(from(1, 6));
    auto& first = program[static_cast<std::size_t>(a)];
    auto& second = program[static_cast<std::size_t>(b)];
    first.push_back(message(Operation::kSend, like, b));
    first.push_back(message(Operation::kRecv, like, b));
    second.push_back(message(Operation::kRecv, like, a));
    second.push_back(message(Operation::kSend, like, a));
  }

  // Puts the defect into one rank's calls; false if this program has no place for it.
  bool damage(Case& made) {
    const int rank = from(0, ranks_ - 1);
    auto& calls = made.program[static_cast<std::size_t>(rank)];
    if (calls.empty()) return false;
    const auto index = static_cast<std::size_t>(from(0, static_cast<int>(calls.size()) - 1));
    CollectiveCall& call = calls[index];
    const bool pair = is_pair(call.operation);
    const bool barrier = call.operation == Operation::kBarrier;
    switch (made.defect) {
      case Defect::kNone:
        return true;
      case Defect::kOperation: {
        if (pair) return false;
        const CollectiveCall before = call;
        while (call.operation == before.operation) call = collective();
        return true;
      }
      case Defect::kCount:
        if (pair || barrier) return false;
        call.count += 1;
        return true;
      case Defect::kDType:
        if (pair || barrier) return false;
        call.dtype = DType::kInt64;
        return true;
      case Defect::kReduceOp:
        if (!combines(call.operation)) return false;
        call.op = ReduceOp::kMin;
        return true;
      case Defect::kRoot:
        if (!has_root(call.operation)) return false;
        call.root = (call.root + 1) % ranks_;
        return true;
      case Defect::kOrder:
        if (index + 1 == calls.size() || pair || is_pair(calls[index + 1].operation)) return false;
        std::swap(call, calls[index + 1]);
        return to_string(call) != to_string(calls[index + 1]);
      case Defect::kMissingCall:
        calls.erase(calls.begin() + static_cast<std::ptrdiff_t>(index));
        return true;
      case Defect::kExtraCall:
        calls.insert(calls.begin() + static_cast<std::ptrdiff_t>(index), collective());
        return true;
      case Defect::kCrossedSends:
        if (call.operation != Operation::kRecv || index + 1 == calls.size() ||
            calls[index + 1].operation != Operation::kSend || calls[index + 1].peer != call.peer) {
          return false;
        }
        std::swap(call, calls[index + 1]);
        return true;
      case Defect::kWrongPeer:
        if (!pair || ranks_ < 3) return false;
        do {
          call.peer = (call.peer + 1) % ranks_;
        } while (call.peer == rank);
        return true;
      case Defect::kMessageCount:
        if (!pair) return false;
        call.count += 1;
        return true;
      case Defect::kDeath:
        made.dying_rank = rank;
        made.dying_call = index;
        return true;
    }
    return false;
  }

  std::mt19937 random_;
  int ranks_ = 0;
};

// ------------------------------------------------------------------ what must be reported

struct Verdict {
  std::optional<ErrorKind> kind;   // none: no error
  std::vector<std::string> parts;  // of the error's text; of a mismatch, all of it
  bool operator==(const Verdict&) const = default;
};

// Steps every rank through its calls. A rank that got an error makes no more calls.
class Reference {
 public:
  explicit Reference(const Case& tested)
      : case_(tested),
        ranks_(tested.program.size()),
        at_(ranks_, 0),
        collectives_(ranks_, 0),
        ended_(ranks_, false),
        verdicts_(ranks_) {}

  std::vector<Verdict> run() {
    while (step()) {
    }
    report_those_who_wait();
    return verdicts_;
  }

 private:
  bool is_dead(std::size_t rank) const {
    return case_.dying_rank == static_cast<int>(rank) && at_[rank] >= case_.dying_call;
  }
  bool waits(std::size_t rank) const {
    return !ended_[rank] && !is_dead(rank) && at_[rank] < case_.program[rank].size();
  }
  const CollectiveCall& current(std::size_t rank) const { return case_.program[rank][at_[rank]]; }

  bool step() {
    for (std::size_t rank = 0; rank < ranks_; ++rank) {
      if (waits(rank) && current(rank).operation == Operation::kSend && try_message(rank)) {
        return true;
      }
    }
    return try_collective();
  }

  bool try_message(std::size_t sender) {
    const auto receiver = static_cast<std::size_t>(current(sender).peer);
    if (!waits(receiver) || current(receiver).operation != Operation::kRecv ||
        current(receiver).peer != static_cast<int>(sender)) {
      return false;
    }
    const std::int64_t number = ++messages_[{sender, receiver}];
    if (current(sender).count != current(receiver).count) {
      const Verdict verdict{
          ErrorKind::kCommMismatch,
          {fmt::format("message {} from rank {} to rank {} of the world: rank {} called {}, rank "
                       "{} called {}",
                       number, sender, receiver, sender, to_string(current(sender)), receiver,
                       to_string(current(receiver)))}};
      end(sender, verdict);
      end(receiver, verdict);
      return true;
    }
    ++at_[sender];
    ++at_[receiver];
    return true;
  }

  bool try_collective() {
    std::vector<std::pair<std::string, std::vector<std::size_t>>> callers;
    for (std::size_t rank = 0; rank < ranks_; ++rank) {
      if (!waits(rank) || is_pair(current(rank).operation)) return false;
      const std::string text = to_string(current(rank));
      auto known = std::find_if(callers.begin(), callers.end(),
                                [&](const auto& entry) { return entry.first == text; });
      if (known == callers.end()) known = callers.insert(callers.end(), {text, {}});
      known->second.push_back(rank);
    }
    if (callers.size() == 1) {
      for (std::size_t rank = 0; rank < ranks_; ++rank) {
        ++at_[rank];
        ++collectives_[rank];
      }
      return true;
    }
    std::vector<std::string> parts;
    for (const auto& [text, ranks] : callers) {
      parts.push_back(fmt::format("rank{} {} called {}", ranks.size() == 1 ? "" : "s",
                                  fmt::join(ranks, ", "), text));
    }
    const Verdict verdict{
        ErrorKind::kCommMismatch,
        {fmt::format("call {} of the world: {}", collectives_[0] + 1, fmt::join(parts, ", "))}};
    for (std::size_t rank = 0; rank < ranks_; ++rank) end(rank, verdict);
    return true;
  }

  // All who wait get the same report, with a line for each of them.
  void report_those_who_wait() {
    std::vector<std::string> lines;
    for (std::size_t rank = 0; rank < ranks_; ++rank) {
      if (waits(rank)) lines.push_back(waiting_line(rank));
    }
    ErrorKind kind = ErrorKind::kDeadlock;
    if (case_.dying_rank >= 0) {
      kind = ErrorKind::kRankFailed;
      lines.push_back(fmt::format("rank {} failed: ill-fated", case_.dying_rank));
    }
    for (std::size_t rank = 0; rank < ranks_; ++rank) {
      if (waits(rank)) verdicts_[rank] = {kind, lines};
    }
  }

  std::string waiting_line(std::size_t rank) {
    const CollectiveCall& call = current(rank);
    if (!is_pair(call.operation)) {
      return fmt::format("rank {} waits in {}, call {} of the world, since ", rank, to_string(call),
                         collectives_[rank] + 1);
    }
    const auto peer = static_cast<std::size_t>(call.peer);
    const bool sends = call.operation == Operation::kSend;
    const std::size_t source = sends ? rank : peer;
    const std::size_t destination = sends ? peer : rank;
    return fmt::format(
        "rank {} waits in {}, message {} from rank {} to rank {} of the world, since ", rank,
        to_string(call), messages_[{source, destination}] + 1, source, destination);
  }

  void end(std::size_t rank, const Verdict& verdict) {
    verdicts_[rank] = verdict;
    ended_[rank] = true;
  }

  const Case& case_;
  std::size_t ranks_;
  std::vector<std::size_t> at_;            // by rank: its current call
  std::vector<std::int64_t> collectives_;  // by rank: collectives that are done
  std::vector<bool> ended_;
  std::map<std::pair<std::size_t, std::size_t>, std::int64_t> messages_;
  std::vector<Verdict> verdicts_;
};

// ------------------------------------------------------------------ running

void run_calls(const Case& tested, Rank& rank) {
  const auto& calls = tested.program[static_cast<std::size_t>(rank.rank)];
  for (std::size_t index = 0; index < calls.size(); ++index) {
    if (tested.dying_rank == rank.rank && tested.dying_call == index) {
      throw std::runtime_error("ill-fated");
    }
    CollectiveCall call = calls[index];
    constexpr std::size_t kRoom = 64;
    const auto array = [&] {
      return rank.device.allocate(kRoom * 8, MemoryKind::kWorkspace)
          .array(call.dtype, Shape{static_cast<std::int64_t>(kRoom)});
    };
    if (call.operation != Operation::kRecv) call.send = array();
    if (call.operation != Operation::kSend) call.recv = array();
    rank.communicator.call(std::move(call), communication(rank)).synchronize();
  }
}

void expect_verdicts(const Case& tested, const std::vector<Verdict>& verdicts, Caught& caught,
                     const std::string& what) {
  for (std::size_t rank = 0; rank < verdicts.size(); ++rank) {
    const int number = static_cast<int>(rank);
    const Verdict& verdict = verdicts[rank];
    ASSERT_EQ(caught.any(number), verdict.kind.has_value())
        << what << ", rank " << rank << ": " << caught.text(number);
    if (!verdict.kind) continue;
    ASSERT_EQ(caught.kind(number), *verdict.kind) << what << ": " << caught.text(number);
    for (const std::string& part : verdict.parts) {
      ASSERT_TRUE(contains(caught.text(number), part)) << what << ", rank " << rank;
    }
    if (*verdict.kind == ErrorKind::kCommMismatch) {
      ASSERT_EQ(caught.text(number), verdict.parts.front()) << what;
    }
  }
  const bool any = std::any_of(verdicts.begin(), verdicts.end(),
                               [](const Verdict& verdict) { return verdict.kind.has_value(); });
  if (tested.defect == Defect::kNone) {
    ASSERT_FALSE(any) << what << ": a false alarm";
  }
}

void run_case(const Case& tested, const std::string& what) {
  const int ranks = static_cast<int>(tested.program.size());
  const auto world = world_of(ranks);
  Caught caught(ranks);
  try {
    world->run([&](Rank& rank) { caught.in(rank.rank, [&] { run_calls(tested, rank); }); });
    EXPECT_LT(tested.dying_rank, 0) << what << ": the run did not report the rank that died";
  } catch (const std::exception& error) {
    EXPECT_EQ(std::string(error.what()), fmt::format("rank {}: ill-fated", tested.dying_rank))
        << what;
  }
  expect_verdicts(tested, Reference(tested).run(), caught, what);
}

int number_of_seeds() {
  const char* asked = std::getenv("RINGSIDE_FAULT_SEEDS");
  return asked == nullptr ? 1000 : std::atoi(asked);
}

TEST(Faults, EveryDefectIsReportedAndNothingElse) {
  std::map<Defect, int> reported;  // cases in which somebody got an error
  for (int seed = 0; seed < number_of_seeds(); ++seed) {
    const auto defect = static_cast<Defect>(seed % kDefects);
    const Case tested = CaseGenerator(static_cast<unsigned>(seed)).make(defect);
    const std::string what = fmt::format("seed {}, defect {}", seed, seed % kDefects);
    with_time_limit([&] { run_case(tested, what); });
    if (testing::Test::HasFailure()) return;
    for (const Verdict& verdict : Reference(tested).run()) {
      if (!verdict.kind) continue;
      ++reported[defect];
      break;
    }
  }
  // A rank that dies before its last call, which nobody needs, is reported by the run alone.
  for (int defect = 1; defect < kDefects && number_of_seeds() >= 1000; ++defect) {
    const int tried = (number_of_seeds() + kDefects - 1 - defect) / kDefects;
    const bool dies = static_cast<Defect>(defect) == Defect::kDeath;
    EXPECT_GE(reported[static_cast<Defect>(defect)], dies ? tried / 2 : tried) << defect;
  }
  EXPECT_EQ(reported[Defect::kNone], 0);
}

}  // namespace
}  // namespace ringside::sim
