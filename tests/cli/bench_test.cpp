// bench, from the outside.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "cli/bench_report.h"
#include "cli/documented_json.h"
#include "cli/subprocess.h"

namespace ringside::test {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(Bench, IsADocumentWithEveryRow) {
  const json document = result_of(run_ringside(
      {"bench", "all-reduce", "--ranks", "2", "--begin", "8", "--end", "1K", "--json"}));
  EXPECT_EQ(document["ringside"], "bench");
  EXPECT_EQ(document["request"]["ranks"], 2);
  EXPECT_EQ(document["request"]["end"], 1024);
  EXPECT_EQ(document["request"]["iterations"], 20);
  EXPECT_EQ(document["bus_factor"], 1.0);
  EXPECT_EQ(document["wrong"], 0);
  ASSERT_EQ(document["rows"].size(), 8U);
  double sum = 0;
  for (std::size_t i = 0; i < 8; ++i) {
    const json& row = document["rows"][i];
    EXPECT_EQ(row["size"], 8U << i);
    EXPECT_EQ(row["count"], 2U << i);
    for (const char* part : {"out_of_place", "in_place"}) {
      EXPECT_EQ(row[part]["wrong"], 0);
      EXPECT_DOUBLE_EQ(row[part]["algorithm_bandwidth"].get<double>(),
                       row["size"].get<double>() / row[part]["seconds"].get<double>());
      sum += row[part]["bus_bandwidth"].get<double>();
    }
  }
  EXPECT_DOUBLE_EQ(document["average_bus_bandwidth"].get<double>(), sum / 16);
}

TEST(Bench, KnowsEveryOperationAndAlgorithm) {
  for (const char* operation : {"broadcast", "scatter", "gather", "reduce", "all-reduce",
                                "all-gather", "reduce-scatter", "all-to-all", "sendrecv", "send"}) {
    const json document =
        result_of(run_ringside({"bench", operation, "--begin", "1M", "--end", "1MiB", "--ranks",
                                "3", "--iters", "2", "--json"}));
    EXPECT_EQ(document["wrong"], 0) << operation;
    const std::string name = operation;
    EXPECT_EQ(document["request"]["operation"], name == "send" ? "sendrecv" : name);
    const bool never_in_place = name == "all-to-all" || name.starts_with("send");
    EXPECT_EQ(document["rows"][0]["in_place"].is_null(), never_in_place) << name;
  }
  for (const char* algorithm : {"auto", "ring", "star", "tree", "chain", "double-tree",
                                "halving-doubling", "hierarchical", "direct"}) {
    const json document =
        result_of(run_ringside({"bench", "all-reduce", "--end", "4K", "--factor", "8",
                                "--algorithm", algorithm, "--op", "max", "--json"}));
    EXPECT_EQ(document["wrong"], 0) << algorithm;
    EXPECT_EQ(document["request"]["algorithm"], algorithm);
  }
}

TEST(Bench, HasTheColumnsOfNcclTests) {
  const ProcessResult result =
      run_ringside({"bench", "reduce", "--begin", "1000", "--end", "3000", "--step", "1kB",
                    "--dtype", "float64", "--op", "avg", "--root", "3"});
  EXPECT_EQ(result.status, 0) << result.errors;
  const std::vector<std::string> lines = lines_of(result.output);
  ASSERT_EQ(lines.size(), 11U) << result.output;
  std::istringstream header(lines[4]);
  Words names;
  for (std::string name; header >> name;) names.push_back(name);
  EXPECT_EQ(names, (Words{"#", "size", "count", "type", "redop", "root", "time", "algbw", "busbw",
                          "#wrong", "time", "algbw", "busbw", "#wrong"}));
  std::istringstream row(lines[6]);
  Words cells;
  for (std::string cell; row >> cell;) cells.push_back(cell);
  ASSERT_EQ(cells.size(), 13U) << lines[6];
  EXPECT_EQ(Words(cells.begin(), cells.begin() + 5), (Words{"1000", "125", "float64", "avg", "3"}));
  EXPECT_EQ(cells[8], "0");
  EXPECT_EQ(cells[12], "0");
  EXPECT_EQ(lines[9], "# Out of bounds values : 0 OK");
  EXPECT_TRUE(lines[10].starts_with("# Avg bus bandwidth    : ")) << lines[10];
}

TEST(Bench, LeavesOutWhatIsNotWanted) {
  const Words words{"bench", "broadcast", "--end", "8", "--check=false", "--in-place=false"};
  Words with_json = words;
  with_json.emplace_back("--json");
  const json document = result_of(run_ringside(with_json));
  EXPECT_TRUE(document["rows"][0]["in_place"].is_null());
  EXPECT_TRUE(document["rows"][0]["out_of_place"]["wrong"].is_null());
  EXPECT_TRUE(lines_of(run_ringside(words).output)[6].ends_with(
      "     N/A      N/A     N/A     N/A     N/A"));
  Words quiet = words;
  quiet.emplace_back("--quiet");
  EXPECT_EQ(run_ringside(quiet).output, "");
}

TEST(Bench, WrongElementsAreInTheTable) {
  cli::BenchRun run;
  run.backend = "sim";
  run.ranks = 2;
  benchmark::Row row;
  row.extent = {262144, 1048576};
  row.out_of_place = {0.0001234567, 0.0001, 8.5e9, 123456e9, 17};
  EXPECT_EQ(cli::bench_line(run, row),
            "     1048576        262144   float32     sum      -1   123.46    8.50  123456      17"
            "      N/A     N/A     N/A     N/A\n");
  EXPECT_TRUE(cli::bench_summary({row}).starts_with("# Out of bounds values : 17 FAILED\n"));
}

}  // namespace
}  // namespace ringside::test
