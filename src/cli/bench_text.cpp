// The table of nccl-tests: its columns, widths and last lines, so that what reads one reads the
// other. [nccl-tests src/util.cu]
#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "cli/bench_report.h"
#include "core/counted.h"

namespace ringside::cli {
namespace {

using benchmark::Measurement;
using benchmark::Row;

constexpr int kTimeWidth = 7;
constexpr int kBandwidthWidth = 6;

// Two decimals, or as many as there is room for.
std::string figure(double value, int width) {
  const double first_without = std::pow(10, width - 2);
  const int decimals = value < first_without / 10 ? 2 : value < first_without ? 1 : 0;
  return fmt::format("{:.{}f}", value, decimals);
}

std::string columns(std::string_view time, std::string_view algorithm, std::string_view bus,
                    std::string_view wrong) {
  return fmt::format("  {:>{}}  {:>{}}  {:>{}}  {:>6}", time, kTimeWidth, algorithm,
                     kBandwidthWidth, bus, kBandwidthWidth, wrong);
}

std::string measurement_text(const std::optional<Measurement>& measurement) {
  constexpr std::string_view kNone = "N/A";
  if (!measurement) return columns(kNone, kNone, kNone, kNone);
  const auto bandwidth = [](double bytes_per_second) {
    return figure(bytes_per_second * 1e-9, kBandwidthWidth);
  };
  return columns(figure(measurement->seconds * 1e6, kTimeWidth),
                 bandwidth(measurement->algorithm_bandwidth), bandwidth(measurement->bus_bandwidth),
                 measurement->wrong ? fmt::format("{}", *measurement->wrong) : kNone);
}

std::string left_columns(std::string_view size, std::string_view count, std::string_view type,
                         std::string_view op, std::string_view root) {
  return fmt::format("{:>12}  {:>12}  {:>8}  {:>6}  {:>6}", size, count, type, op, root);
}

}  // namespace

std::string_view bench_name(Operation operation) {
  return is_pair(operation) ? "sendrecv" : to_string(operation);
}

std::string bench_heading(const BenchRun& run) {
  const benchmark::Request& request = run.request;
  std::string text = fmt::format("# {} on {} of {}, algorithm {}\n", bench_name(request.operation),
                                 counted(static_cast<std::size_t>(run.ranks), "rank"), run.backend,
                                 to_string(request.algorithm.algorithm));
  text += fmt::format(
      "# {} back to back, after {} to warm up; the slowest rank's time; results {}\n#\n",
      counted(static_cast<std::size_t>(request.iterations), "call"), request.warmup,
      request.check ? "verified" : "not verified");
  const std::string both = columns("time", "algbw", "busbw", "#wrong");
  const std::string units = columns("(us)", "(GB/s)", "(GB/s)", "");
  text += fmt::format("#{}{:^33}{:^33}\n", left_columns("", "", "", "", "").substr(1),
                      "out-of-place", "in-place");
  text += fmt::format("#{}{}{}\n", left_columns("size", "count", "type", "redop", "root").substr(1),
                      both, both);
  text += fmt::format("#{}{}{}\n", left_columns("(B)", "(elements)", "", "", "").substr(1), units,
                      units);
  std::string trimmed;  // no blanks at the ends of lines
  for (const char letter : text) {
    if (letter == '\n') trimmed.erase(trimmed.find_last_not_of(' ') + 1);
    trimmed += letter;
  }
  return trimmed;
}

std::string bench_line(const BenchRun& run, const Row& row) {
  const benchmark::Request& request = run.request;
  return left_columns(
             fmt::format("{}", row.extent.bytes), fmt::format("{}", row.extent.count),
             to_string(request.dtype),
             combines(request.operation) ? to_string(request.op) : std::string_view("none"),
             fmt::format("{}", has_root(request.operation) ? request.root : -1)) +
         measurement_text(row.out_of_place) + measurement_text(row.in_place) + "\n";
}

std::string bench_summary(const std::vector<Row>& rows) {
  const std::size_t wrong = total_wrong(rows);
  return fmt::format("# Out of bounds values : {} {}\n# Avg bus bandwidth    : {:.6g}\n", wrong,
                     wrong == 0 ? "OK" : "FAILED", average_bus_bandwidth(rows) * 1e-9);
}

}  // namespace ringside::cli
