#include <gtest/gtest.h>

#include "ringside/views.h"
#include "views/text.h"

namespace ringside {
namespace {

TEST(FormatBytes, KeepsThreeDecimalsBelowTenAndThreeDigitsAbove) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(512), "512 B");
  EXPECT_EQ(format_bytes(999), "999 B");
  EXPECT_EQ(format_bytes(1000), "1.000 kB");
  EXPECT_EQ(format_bytes(1792), "1.792 kB");
  EXPECT_EQ(format_bytes(64'000), "64.0 kB");
  EXPECT_EQ(format_bytes(264'321), "264 kB");
  EXPECT_EQ(format_bytes(4'004'000), "4.004 MB");
  EXPECT_EQ(format_bytes(24'600'000), "24.6 MB");
  EXPECT_EQ(format_bytes(80'000'000'000), "80.0 GB");
}

TEST(FormatBytes, CarriesIntoTheNextForm) {
  EXPECT_EQ(format_bytes(9'999), "9.999 kB");
  EXPECT_EQ(format_bytes(9'999'600), "10.0 MB");
  EXPECT_EQ(format_bytes(99'960), "100 kB");
  EXPECT_EQ(format_bytes(999'499), "999 kB");
  EXPECT_EQ(format_bytes(999'500), "1.000 MB");
  EXPECT_EQ(format_bytes(18'446'744'073'709'551'615U), "18.4 EB");
}

TEST(FormatTable, AlignsNumbersRightAndTextLeft) {
  EXPECT_EQ(format_table({"phase", "bytes"}, {{"load", "64.0 kB"}, {"scatter-input", "512 B"}}),
            "phase            bytes\n"
            "-------------  -------\n"
            "load           64.0 kB\n"
            "scatter-input    512 B\n");
}

TEST(FormatTable, CountsColumnsOfTheTerminalNotBytes) {
  EXPECT_EQ(format_table({"模型", "n"}, {{"é", "a"}, {"数据并行", "b"}}),
            "模型      n\n"
            "--------  -\n"
            "é         a\n"
            "数据并行  b\n");
}

TEST(FormatTable, KeepsControlCharactersAndBrokenUtf8FromTheTerminal) {
  EXPECT_EQ(format_table({"name"}, {{"a\x1b[31m\n"}, {"b\xff"}}),
            "name\n-------\na [31m\nb\xEF\xBF\xBD\n");
}

TEST(FormatTransfers, EndsWithTheTotal) {
  std::vector<TransferRow> rows(2);
  rows[0] = {Phase::kScatterInput, "scatter", "0", "1", 3, 1792};
  rows[1] = {Phase::kReplicate, "broadcast", "0", "all", 6, 4'004'000};
  EXPECT_EQ(format_transfers(rows),
            "phase          primitive  from  to   messages     bytes\n"
            "-------------  ---------  ----  ---  --------  --------\n"
            "scatter-input  scatter       0  1           3  1.792 kB\n"
            "replicate      broadcast     0  all         6  4.004 MB\n"
            "total                                       9  4.006 MB\n");
}

MemoryAccount account(std::size_t parameters, std::size_t activations) {
  MemoryAccount memory;
  memory.at_peak[static_cast<std::size_t>(MemoryKind::kParameters)] = parameters;
  memory.at_peak[static_cast<std::size_t>(MemoryKind::kActivations)] = activations;
  memory.peak = parameters + activations;
  return memory;
}

TEST(FormatMemory, GroupsDevicesThatAreAlike) {
  EXPECT_EQ(format_memory({account(64'000, 500), account(0, 500), account(0, 500)}),
            "memory at peak  device 0  devices 1-2\n"
            "--------------  --------  -----------\n"
            "parameters       64.0 kB            -\n"
            "activations        500 B        500 B\n"
            "peak             64.5 kB        500 B\n");
}

TEST(Text, EstimatesHelvetica) {
  EXPECT_NEAR(text_width("idle", 10.0), 2.22 + 5.56 + 2.22 + 5.56, 1e-9);
  EXPECT_GT(text_width("idle", 10.0, true), text_width("idle", 10.0));
  EXPECT_NEAR(text_width("桶", 12.0), 12.0, 1e-9);
}

TEST(Text, CutsWithAnEllipsis) {
  EXPECT_EQ(fit_text("0.weight", 10, 1000), "0.weight");
  const std::string cut = fit_text("encoder.layer.11.attention.weight", 10, 60);
  EXPECT_LE(text_width(cut, 10), 60);
  EXPECT_EQ(cut.substr(cut.size() - 3), "…");
}

TEST(Text, FormatsTimesInTheUnitOfTheScale) {
  EXPECT_EQ(format_seconds(0.00644, 0.02), "6.44 ms");
  EXPECT_EQ(format_seconds(0.0000124, 0.0004), "12.4 µs");
  EXPECT_EQ(format_seconds(0, 0.02), "0 ms");
  EXPECT_EQ(format_seconds(2.5, 3), "2.5 s");
}

TEST(Text, NamesRunsOfRanks) {
  EXPECT_EQ(format_ranks({0, 1, 2, 5}), "0 to 2, 5");
  EXPECT_EQ(format_ranks({1, 2}), "1, 2");
  EXPECT_EQ(format_ranks({}), "");
}

}  // namespace
}  // namespace ringside
