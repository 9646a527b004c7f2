#include "comm/call_slot.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ringside {
namespace {

// Whether calls that differ can be told apart without the algorithm.
bool differ_in_text(std::span<const CallSignature> calls) {
  return std::any_of(calls.begin(), calls.end(), [&](const CallSignature& call) {
    return to_string(call) != to_string(calls.front());
  });
}

}  // namespace

std::optional<Error> find_mismatch(const CommunicatorName& communicator, std::int64_t sequence,
                                   std::span<const CallSignature> calls) {
  const bool agree = std::all_of(calls.begin(), calls.end(),
                                 [&](const CallSignature& call) { return call == calls.front(); });
  if (agree) return std::nullopt;

  const bool with_algorithm = !differ_in_text(calls);
  std::vector<std::pair<std::string, std::vector<int>>> callers;  // in order of first caller
  for (std::size_t rank = 0; rank < calls.size(); ++rank) {
    const std::string text =
        to_string(calls[rank], with_algorithm) + to_string(calls[rank].purpose);
    auto known = std::find_if(callers.begin(), callers.end(),
                              [&](const auto& entry) { return entry.first == text; });
    if (known == callers.end()) known = callers.insert(callers.end(), {text, {}});
    known->second.push_back(static_cast<int>(rank));
  }
  std::vector<std::string> parts;
  parts.reserve(callers.size());
  for (const auto& [text, ranks] : callers) {
    parts.push_back(fmt::format("{} called {}", ranks_text(ranks), text));
  }
  return Error(
      ErrorKind::kCommMismatch,
      fmt::format("call {} of {}: {}", sequence, communicator.text(), fmt::join(parts, ", ")),
      with_algorithm ? "set the same defaults (algorithm, direction, border) on every rank"
                     : "every rank of a communicator must make the same calls in the same order");
}

std::optional<Error> find_pair_mismatch(const CommunicatorName& communicator, std::int64_t sequence,
                                        const CallSignature& send, const CallSignature& recv) {
  const ScheduleRequest& sent = send.request;
  const ScheduleRequest& received = recv.request;
  if (sent.count == received.count && sent.dtype == received.dtype) return std::nullopt;
  return Error(
      ErrorKind::kCommMismatch,
      fmt::format("message {} from rank {} to rank {} of {}: rank {} called {}, rank {} "
                  "called {}",
                  sequence, sent.root, sent.peer, communicator.text(), sent.root, pair_text(send),
                  sent.peer, pair_text(recv)),
      "the n-th recv from a rank meets that rank's n-th send: give both the same count and "
      "dtype");
}

std::string elapsed_text(std::chrono::steady_clock::time_point since) {
  const std::chrono::duration<double, std::milli> elapsed =
      std::chrono::steady_clock::now() - since;
  if (elapsed.count() < 1000) return fmt::format("{:.0f} ms", elapsed.count());
  return fmt::format("{:.1f} s", elapsed.count() / 1000);
}

bool CallSlot::call(int rank, CallSignature signature) {
  calls_[static_cast<std::size_t>(rank)] = {std::move(signature), Clock::now()};
  ++called_;
  return complete();
}

std::optional<Error> CallSlot::mismatch(const CommunicatorName& communicator) const {
  const bool agree = std::all_of(calls_.begin(), calls_.end(), [&](const Call& call) {
    return *call.signature == *calls_.front().signature;
  });
  if (agree) return std::nullopt;
  std::vector<CallSignature> calls;
  calls.reserve(calls_.size());
  for (const Call& call : calls_) calls.push_back(*call.signature);
  return find_mismatch(communicator, sequence_, calls);
}

std::string CallSlot::describe(int rank, const CommunicatorName& communicator,
                               const std::vector<bool>& held_up) const {
  std::string text = fmt::format("waits in {}{}, call {} of {}, since {}",
                                 to_string(signature(rank)), to_string(signature(rank).purpose),
                                 sequence_, communicator.text(), elapsed_text(since(rank)));
  std::vector<int> missing;
  std::vector<int> late;
  for (std::size_t other = 0; other < calls_.size(); ++other) {
    if (!calls_[other].signature) {
      missing.push_back(static_cast<int>(other));
    } else if (held_up[other]) {
      late.push_back(static_cast<int>(other));
    }
  }
  if (!missing.empty()) {
    text += fmt::format("; {} {} not called it", ranks_text(missing),
                        missing.size() == 1 ? "has" : "have");
  }
  if (!late.empty()) {
    text += fmt::format("; {} called it, but earlier work holds up {}", ranks_text(late),
                        late.size() == 1 ? "its stream" : "their streams");
  }
  return text;
}

}  // namespace ringside
