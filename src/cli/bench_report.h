// A benchmark as the table of nccl-tests and as a JSON document (docs/json.md).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "benchmark/measure.h"

namespace ringside::cli {

/// A benchmark as it was asked for.
struct BenchRun {
  std::string backend;
  int ranks = 0;
  benchmark::SizeRange range;
  benchmark::Request request;
};

/// The operation's name; of a pair "sendrecv".
std::string_view bench_name(Operation operation);

/// What stands above the rows, which come one by one.
std::string bench_heading(const BenchRun& run);
std::string bench_line(const BenchRun& run, const benchmark::Row& row);
/// The last lines: wrong elements, the mean of the bus bandwidths.
std::string bench_summary(const std::vector<benchmark::Row>& rows);

std::string bench_document(const BenchRun& run, const std::vector<benchmark::Row>& rows);

}  // namespace ringside::cli
