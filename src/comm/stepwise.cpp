#include "comm/stepwise.h"

#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <utility>

#include "comm/arithmetic.h"

namespace ringside {
namespace {

// Mailboxes between the ranks of one thread.
class InMemoryTransport : public Transport {
 public:
  using Mailboxes = std::map<std::pair<int, int>, std::deque<std::vector<std::byte>>>;
  InMemoryTransport(Mailboxes& mailboxes, int rank) : mailboxes_(mailboxes), rank_(rank) {}

  void send(int destination, std::span<const std::byte> data) override {
    mailboxes_[{rank_, destination}].emplace_back(data.begin(), data.end());
  }
  void receive(int source, std::span<std::byte> data) override {
    auto& mailbox = mailboxes_[{source, rank_}];
    if (!data.empty()) std::memcpy(data.data(), mailbox.front().data(), data.size());
    mailbox.pop_front();
  }
  void finish_round() override {}

 private:
  Mailboxes& mailboxes_;
  int rank_;
};

}  // namespace

StepwiseRank::StepwiseRank(const Schedule& schedule, ReduceOp op, int rank,
                           const RankBuffers& buffers)
    : schedule_(schedule),
      op_(combines(schedule.request.operation) ? op : ReduceOp::kSum),
      rank_(rank),
      buffers_(buffers),
      elements_(schedule.elements) {
  if (schedule.request.operation == Operation::kAllToAll) {
    move_own_block();
    return;
  }
  if (buffers.output.size() == elements_ && buffers.destination != nullptr) {
    work_ = buffers.destination;
  } else {
    scratch_.resize(size_of_elements(elements_));
    work_ = scratch_.data();
  }
  if (buffers_.input.size() > 0) {
    contribute(schedule_.request.dtype, op_, schedule_.request.ranks,
               bytes_of(buffers_.input).data(), buffers_.source, buffers_.input.size());
  }
}

std::size_t StepwiseRank::size_of_elements(std::size_t count) const {
  return count * size_of(schedule_.request.dtype);
}

std::span<std::byte> StepwiseRank::bytes_of(Range range) const {
  return {work_ + size_of_elements(range.begin), size_of_elements(range.size())};
}

// All-to-all: a block lies in the sender's buffer by destination, in the receiver's by source, so
// that it needs no full buffer between them.
std::span<const std::byte> StepwiseRank::outgoing(const Message& message) const {
  if (schedule_.request.operation != Operation::kAllToAll) return bytes_of(message.range);
  return {buffers_.source + size_of_elements(message.range.begin - buffers_.input.begin),
          size_of_elements(message.range.size())};
}

std::byte* StepwiseRank::place_of(const Message& message) const {
  if (schedule_.request.operation != Operation::kAllToAll) return bytes_of(message.range).data();
  return buffers_.destination +
         size_of_elements(static_cast<std::size_t>(message.source) * schedule_.request.count);
}

void StepwiseRank::move_own_block() const {
  const std::size_t block = size_of_elements(schedule_.request.count);
  const std::size_t offset = static_cast<std::size_t>(rank_) * block;
  if (block > 0) std::memcpy(buffers_.destination + offset, buffers_.source + offset, block);
}

void StepwiseRank::send(std::size_t round, Transport& transport) {
  for (const Message& message : schedule_.rounds[round]) {
    if (message.source == rank_) transport.send(message.destination, outgoing(message));
  }
}

// Everything is received before anything is applied: what is sent in a round is what was there
// before it.
void StepwiseRank::receive(std::size_t round, Transport& transport) {
  std::size_t size = 0;
  for (const Message& message : schedule_.rounds[round]) {
    if (message.destination == rank_) size += size_of_elements(message.range.size());
  }
  if (incoming_.size() < size) incoming_.resize(size);
  std::size_t offset = 0;
  for (const Message& message : schedule_.rounds[round]) {
    if (message.destination != rank_) continue;
    const std::size_t bytes = size_of_elements(message.range.size());
    transport.receive(message.source, {incoming_.data() + offset, bytes});
    offset += bytes;
  }
  transport.finish_round();
  offset = 0;
  for (const Message& message : schedule_.rounds[round]) {
    if (message.destination != rank_ || message.range.size() == 0) continue;
    std::byte* into = place_of(message);
    const std::byte* from = incoming_.data() + offset;
    const std::size_t bytes = size_of_elements(message.range.size());
    if (message.action == Action::kCopy) {
      std::memcpy(into, from, bytes);
    } else {
      combine(schedule_.request.dtype, op_, into, into, from, message.range.size());
    }
    offset += bytes;
  }
}

void StepwiseRank::finish() {
  const Range output = buffers_.output;
  if (output.size() == 0) return;
  if (work_ != buffers_.destination) {
    std::memcpy(buffers_.destination, bytes_of(output).data(), size_of_elements(output.size()));
  }
  conclude(schedule_.request.dtype, op_, schedule_.request.ranks, buffers_.destination,
           output.size());
}

void run_stepwise(const Schedule& schedule, ReduceOp op, int rank, const RankBuffers& buffers,
                  Transport& transport) {
  StepwiseRank executor(schedule, op, rank, buffers);
  for (std::size_t round = 0; round < schedule.rounds.size(); ++round) {
    executor.send(round, transport);
    executor.receive(round, transport);
  }
  executor.finish();
}

void run_in_memory(const Schedule& schedule, ReduceOp op, const std::vector<RankBuffers>& buffers) {
  const int ranks = schedule.request.ranks;
  InMemoryTransport::Mailboxes mailboxes;
  std::vector<InMemoryTransport> transports;
  std::vector<std::unique_ptr<StepwiseRank>> executors;
  for (int rank = 0; rank < ranks; ++rank) {
    transports.emplace_back(mailboxes, rank);
    executors.push_back(std::make_unique<StepwiseRank>(schedule, op, rank,
                                                       buffers[static_cast<std::size_t>(rank)]));
  }
  for (std::size_t round = 0; round < schedule.rounds.size(); ++round) {
    for (std::size_t rank = 0; rank < executors.size(); ++rank) {
      executors[rank]->send(round, transports[rank]);
    }
    for (std::size_t rank = 0; rank < executors.size(); ++rank) {
      executors[rank]->receive(round, transports[rank]);
    }
  }
  for (const auto& executor : executors) executor->finish();
}

}  // namespace ringside
