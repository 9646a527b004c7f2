// ringside calc: how batches and data sets are cut.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "cli/calc_report.h"
#include "core/counted.h"
#include "parallel/chunks.h"
#include "ringside/data.h"
#include "ringside/error.h"
#include "scenario/values.h"

namespace ringside::cli {
namespace {

constexpr std::int64_t kMostReaders = 16384;
constexpr std::int64_t kMostSamples = 1'000'000;
constexpr std::int64_t kMostDealt = 100'000'000;  // every rank makes the whole list
constexpr std::int64_t kMostRows = 1'000'000'000'000;

CalcReport split(const Arguments& arguments) {
  const std::int64_t batch = calc_integer(arguments, "batch", 0, kMostRows);
  const std::int64_t devices = calc_integer(arguments, "devices", 1, kMostReaders);
  const std::vector<std::int64_t> sizes = chunk_sizes(batch, static_cast<int>(devices));
  CalcReport report;
  report.title = fmt::format("A batch of {} on {}, as torch.chunk cuts it",
                             counted(static_cast<std::size_t>(batch), "row"),
                             counted(static_cast<std::size_t>(devices), "device"));
  report.columns = {{"device", "device"}, {"first", "first row"}, {"rows", "rows"}};
  std::int64_t first = 0;
  std::int64_t used = 0;
  for (std::int64_t device = 0; device < devices; ++device) {
    const auto index = static_cast<std::size_t>(device);
    const std::int64_t rows = index < sizes.size() ? sizes[index] : 0;
    report.rows.push_back({device, first, rows});
    first += rows;
    if (rows > 0) ++used;
  }
  const std::int64_t length = batch == 0 ? 0 : sizes.front();
  report.results = {{"sizes", sizes, "chunk sizes"},
                    {"devices_used", used, "devices that get rows"},
                    {"idle_devices", devices - used, "devices that get nothing"}};
  report.notes.push_back(fmt::format(
      "Every chunk has ceil({} / {}) = {} rows until none are left; the last one has the rest.",
      batch, devices, length));
  if (used < devices) {
    report.notes.emplace_back("A device without rows gets no replica in this step.");
  }
  return report;
}

/// The indices that no rank was dealt.
std::vector<std::int64_t> never_seen(const std::vector<std::int64_t>& times) {
  std::vector<std::int64_t> indices;
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (times[i] == 0) indices.push_back(static_cast<std::int64_t>(i));
  }
  return indices;
}

CalcReport sampler(const Arguments& arguments) {
  const std::int64_t length = calc_integer(arguments, "length", 0, kMostSamples);
  const auto world = static_cast<int>(calc_integer(arguments, "world", 1, kMostReaders));
  if (length * world > kMostDealt) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("--length {} with --world {}: the product must be at most {}", length,
                            world, kMostDealt),
                "take fewer samples or ranks");
  }
  const std::int64_t epoch = calc_integer(arguments, "epoch", 0, INT64_MAX, "0");
  const SamplerOptions options{arguments.flag("shuffle"),
                               parse_unsigned("--seed", arguments.value("seed", "0")),
                               arguments.flag("drop-last")};
  CalcReport report;
  report.title = fmt::format(
      "DistributedSampler: {} for {}, {}", counted(static_cast<std::size_t>(length), "sample"),
      counted(static_cast<std::size_t>(world), "rank"),
      options.shuffle ? fmt::format("shuffled with seed {} + epoch {}", options.seed, epoch)
                      : std::string("in order"));
  report.columns = {{"rank", "rank"}, {"indices", "indices"}};
  std::vector<std::int64_t> times(static_cast<std::size_t>(length));
  std::int64_t each = 0;
  for (int rank = 0; rank < world; ++rank) {
    std::vector<std::int64_t> indices = distributed_sampler(length, world, rank, epoch, options);
    each = static_cast<std::int64_t>(indices.size());
    for (const std::int64_t index : indices) ++times[static_cast<std::size_t>(index)];
    report.rows.push_back({std::int64_t{rank}, std::move(indices)});
  }
  const std::int64_t total = each * world;
  const std::vector<std::int64_t> unseen = never_seen(times);
  const auto seen = length - static_cast<std::int64_t>(unseen.size());
  report.results = {{"num_samples", each, "samples of each rank"},
                    {"total_size", total, "samples of all ranks"},
                    {"repeated", total - seen, "of them dealt a second time, to pad"},
                    {"never_seen", unseen, "indices that nobody sees in this epoch"}};
  report.notes.push_back(
      fmt::format("Rank r takes entries r, r+{}, r+{}, ... of the common list.", world, 2 * world));
  if (options.shuffle) {
    report.notes.emplace_back(
        "Without set_epoch the epoch stays 0: every epoch then has the same order.");
  }
  return report;
}

CalcReport batch(const Arguments& arguments) {
  constexpr std::int64_t kMost = 1'000'000;
  const std::int64_t per_gpu = calc_integer(arguments, "per-gpu", 1, kMost);
  const std::int64_t gpus = calc_integer(arguments, "gpus", 1, kMostReaders);
  const std::int64_t accumulate = calc_integer(arguments, "accumulate", 1, kMost, "1");
  const std::int64_t together = per_gpu * gpus;
  CalcReport report;
  report.title = fmt::format("{} x {} x {} = {} samples in an update", per_gpu, gpus, accumulate,
                             together * accumulate);
  report.columns = {{"strategy", "strategy"},
                    {"loader_batch", "batch_size of the DataLoader"},
                    {"loaders", "loaders"}};
  report.rows = {{std::string("DataParallel"), together, std::int64_t{1}},
                 {std::string("DistributedDataParallel"), per_gpu, gpus}};
  report.results = {{"per_forward", together, "samples in a forward of all GPUs"},
                    {"effective_batch", together * accumulate, "samples in an update"},
                    {"loss_divisor", accumulate, "divide each loss by, where gradients add up"},
                    {"synchronisations_saved", accumulate - 1,
                     "all-reduces per update that DDP saves with no_sync"}};
  report.notes.emplace_back(
      "DataParallel's batch is cut among the GPUs; each rank of DDP loads its own.");
  return report;
}

}  // namespace

std::vector<Calculator> data_calculators() {
  return {{"split", "batch devices", split},
          {"sampler", "length world shuffle seed epoch drop-last", sampler},
          {"batch", "per-gpu gpus accumulate", batch}};
}

}  // namespace ringside::cli
