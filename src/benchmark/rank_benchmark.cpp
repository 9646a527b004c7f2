#include "benchmark/rank_benchmark.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "comm/validate.h"
#include "core/counted.h"
#include "core/fnv1a.h"
#include "core/format_bytes.h"
#include "ringside/error.h"
#include "ringside/kernels.h"

namespace ringside::benchmark {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kPeriodsInBlock = 256;  // that is filled and read at once
/// Calls that may be under way: each is held until it has run.
constexpr int kMaxEnqueued = 1024;

/// Ranks with the same number share a machine, and with it the memory.
std::int64_t machine_number() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  Fnv1a hash;
  hash.add(std::as_bytes(std::span(name)));
  return static_cast<std::int64_t>(hash.value() >> 1U);
}

DeviceArray array_in(const Buffer& buffer, DType dtype, std::size_t count) {
  return buffer.array(dtype, Shape{static_cast<std::int64_t>(count)});
}

void submit_copy(Stream& stream, std::string_view name, std::size_t bytes, Launch&& launch) {
  OpInfo info;
  info.kind = OpKind::kCopy;
  info.name = name;
  info.bytes = bytes;
  stream.submit(info, std::move(launch));
}

void copy_from_host(Stream& stream, const DeviceArray& to,
                    std::shared_ptr<const std::vector<std::byte>> from) {
  submit_copy(stream, "copy-host-to-device", to.bytes(),
              [to, from = std::move(from)](LaunchContext& context) {
                context.kernels.copy_from_host(context, to, from->data());
              });
}

/// Blocks until they are there.
std::shared_ptr<const std::vector<std::byte>> read_back(Stream& stream, const DeviceArray& from) {
  // Shared with the launch, which may still run after an error has ended the wait for it.
  const auto staged = std::make_shared<std::vector<std::byte>>(from.bytes());
  submit_copy(stream, "copy-device-to-host", from.bytes(), [from, staged](LaunchContext& context) {
    context.kernels.copy_to_host(context, staged->data(), from);
  });
  stream.synchronize();
  return staged;
}

double bandwidth(std::size_t bytes, double seconds) {
  return seconds > 0 ? static_cast<double>(bytes) / seconds : 0;
}

}  // namespace

RankBenchmark::RankBenchmark(Rank& rank, const Request& request, const Pattern& pattern)
    : rank_(rank),
      request_(request),
      pattern_(pattern),
      stream_(rank.device.stream(StreamKind::kCommunication)),
      block_elements_(kPeriod * kPeriodsInBlock),
      contribution_(std::make_shared<const Bytes>(
          elements_of(pattern.contribution(rank.rank), request.dtype, kPeriodsInBlock))),
      // As a float it is no number, as a whole number none that a result can be.
      unwritten_(std::make_shared<const Bytes>(block_elements_ * size_of(request.dtype),
                                               std::byte{0xFF})) {
  Sizes largest;
  for (const std::size_t bytes : request.sizes) {
    const Sizes sizes = sizes_for(
        extent_of(request.operation, request.dtype, rank.communicator.size(), bytes).count);
    largest = {std::max(largest.send, sizes.send), std::max(largest.recv, sizes.recv)};
  }
  rank.communicator.set_defaults(request.algorithm);
  if (request.host_memory > 0) check_host_memory(largest);
  const std::size_t size = size_of(request.dtype);
  send_ = rank.device.allocate(largest.send * size, MemoryKind::kWorkspace);
  recv_ = rank.device.allocate(largest.recv * size, MemoryKind::kWorkspace);
}

RankBenchmark::Sizes RankBenchmark::sizes_for(std::size_t count) const {
  if (is_pair(request_.operation)) return {count, count};
  CollectiveCall call;
  call.operation = request_.operation;
  call.count = count;
  call.root = request_.root;
  const BufferSizes sizes = buffer_sizes(call, rank_.rank, rank_.communicator.size());
  return {sizes.send, sizes.recv};
}

template <typename T>
std::vector<T> RankBenchmark::over_ranks(std::vector<T> values, ReduceOp op) {
  const Buffer buffer = rank_.device.allocate(values.size() * sizeof(T), MemoryKind::kWorkspace);
  const DeviceArray array = array_in(buffer, dtype_of<T>(), values.size());
  const auto bytes = std::as_bytes(std::span(values));
  copy_from_host(stream_, array, std::make_shared<const Bytes>(bytes.begin(), bytes.end()));
  rank_.communicator.all_reduce(array, array, values.size(), op, stream_);
  const auto result = read_back(stream_, array);
  std::copy(result->begin(), result->end(), std::as_writable_bytes(std::span(values)).begin());
  return values;
}

void RankBenchmark::check_host_memory(const Sizes& largest) {
  // Every rank tells where it is and what it needs, and has the same answer as its neighbours.
  const auto ranks = static_cast<std::size_t>(rank_.communicator.size());
  const auto own = static_cast<std::size_t>(rank_.rank);
  std::vector<std::int64_t> told(2 * ranks);
  told[own] = machine_number();
  told[ranks + own] =
      static_cast<std::int64_t>((largest.send + largest.recv) * size_of(request_.dtype));
  told = over_ranks(std::move(told), ReduceOp::kSum);
  std::size_t neighbours = 0;
  std::size_t needed = 0;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    if (told[rank] != told[own]) continue;
    ++neighbours;
    needed += static_cast<std::size_t>(told[ranks + rank]);
  }
  if (needed <= request_.host_memory) return;
  throw Error(ErrorKind::kOutOfMemory,
              fmt::format("the buffers of {} on this machine need {}, and {} are free",
                          counted(neighbours, "rank"), format_bytes(needed),
                          format_bytes(request_.host_memory)),
              "lower --end, or take fewer ranks");
}

CollectiveCall RankBenchmark::make_call(std::size_t count, bool in_place) const {
  const Sizes sizes = sizes_for(count);
  CollectiveCall call;
  call.operation = request_.operation;
  call.algorithm = request_.algorithm.algorithm;
  call.count = count;
  call.dtype = request_.dtype;
  call.op = request_.op;
  call.root = has_root(request_.operation) ? request_.root : 0;
  if (sizes.send > 0) call.send = array_in(send_, request_.dtype, sizes.send);
  if (sizes.recv > 0) call.recv = array_in(recv_, request_.dtype, sizes.recv);
  if (!in_place || sizes.send == 0 || sizes.recv == 0) return call;
  // The smaller buffer is the rank's own block of the larger one.
  const std::size_t own_block = static_cast<std::size_t>(rank_.rank) * count;
  if (sizes.send < sizes.recv) {
    call.send = call.recv.slice(own_block, sizes.send);
  } else {
    call.recv = sizes.send == sizes.recv ? call.send : call.send.slice(own_block, sizes.recv);
  }
  return call;
}

void RankBenchmark::enqueue(const CollectiveCall& call) {
  if (!is_pair(call.operation)) {
    rank_.communicator.call(call, stream_);
    return;
  }
  const int ranks = rank_.communicator.size();
  GroupScope group(rank_.communicator);
  rank_.communicator.send(call.send, call.count, (rank_.rank + 1) % ranks, stream_);
  rank_.communicator.recv(call.recv, call.count, (rank_.rank + ranks - 1) % ranks, stream_);
  group.end();
}

void RankBenchmark::enqueue_many(const CollectiveCall& call, int times) {
  for (int i = 1; i <= times; ++i) {
    enqueue(call);
    if (i % kMaxEnqueued == 0) stream_.synchronize();
  }
  stream_.synchronize();
}

void RankBenchmark::fill(const DeviceArray& array, const std::shared_ptr<const Bytes>& block) {
  for (std::size_t first = 0; first < array.count(); first += block_elements_) {
    copy_from_host(stream_, array.slice(first, std::min(block_elements_, array.count() - first)),
                   block);
  }
}

void RankBenchmark::prepare(const CollectiveCall& call) {
  if (!call.recv.empty()) fill(call.recv, unwritten_);
  if (!call.send.empty()) fill(call.send, contribution_);
}

Measurement RankBenchmark::measure(const Extent& extent, bool in_place) {
  const CollectiveCall call = make_call(extent.count, in_place);
  prepare(call);
  enqueue_many(call, request_.warmup);
  rank_.communicator.barrier(stream_).synchronize();
  const auto start = Clock::now();
  enqueue_many(call, request_.iterations);
  const double seconds =
      std::chrono::duration<double>(Clock::now() - start).count() / request_.iterations;

  const int ranks = rank_.communicator.size();
  Measurement result;
  result.seconds = over_ranks<double>({seconds}, ReduceOp::kMax).front();
  result.mean_seconds = over_ranks<double>({seconds}, ReduceOp::kSum).front() / ranks;
  result.algorithm_bandwidth = bandwidth(extent.bytes, result.seconds);
  result.bus_bandwidth = result.algorithm_bandwidth * bus_factor(request_.operation, ranks);
  if (!request_.check) return result;
  prepare(call);
  enqueue(call);
  const std::size_t own = wrong_elements(call.recv, extent.count);
  result.wrong = static_cast<std::size_t>(
      over_ranks<std::int64_t>({static_cast<std::int64_t>(own)}, ReduceOp::kSum).front());
  return result;
}

std::size_t RankBenchmark::wrong_elements(const DeviceArray& result, std::size_t count) {
  std::size_t wrong = 0;
  std::size_t first = 0;
  for (const ExpectedPart& expected : pattern_.expected(rank_.rank, count)) {
    if (expected.count == 0) continue;
    wrong += wrong_elements(result.slice(first, expected.count), expected);
    first += expected.count;
  }
  return wrong;
}

std::size_t RankBenchmark::wrong_elements(const DeviceArray& part, const ExpectedPart& expected) {
  std::size_t wrong = 0;
  for (std::size_t first = 0; first < expected.count; first += block_elements_) {
    const std::size_t count = std::min(block_elements_, expected.count - first);
    const auto elements = read_back(stream_, part.slice(first, count));
    wrong += count_wrong(*elements, part.dtype, *expected.values, expected.first + first,
                         pattern_.tolerance());
  }
  return wrong;
}

}  // namespace ringside::benchmark
