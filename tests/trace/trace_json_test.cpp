// The JSON form: exact both ways, and never worse than an Error for damaged files.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>
#include <string>

#include "ringside/error.h"
#include "ringside/timeline.h"
#include "support/example_traces.h"
#include "trace/random_trace.h"

namespace ringside {
namespace {

void expect_round_trip(const Trace& trace) {
  const std::string json = trace_to_json(trace);
  const Trace again = trace_from_json(json, "t.json");
  EXPECT_EQ(again, trace) << json;
  EXPECT_EQ(trace_to_json(again), json);
}

TEST(TraceJson, RoundTripsTheExamples) {
  expect_round_trip({});
  expect_round_trip(test::data_parallel_trace());
  expect_round_trip(test::ddp_trace());
  expect_round_trip(test::overlap_trace());
  expect_round_trip(test::collective_trace());
}

TEST(TraceJson, RoundTripsRandomTraces) {
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    expect_round_trip(test::random_trace(seed));
  }
}

TraceTensor tensor_of(std::vector<double> values) {
  TraceTensor tensor;
  tensor.name = "x";
  tensor.shape = {static_cast<std::int64_t>(values.size())};
  tensor.values = std::move(values);
  return tensor;
}

Trace trace_with(const TraceTensor& tensor) {
  Trace trace;
  TraceOp op;
  op.stream = StreamKind::kCompute;
  op.writes = {tensor};
  trace.ops = {op};
  return trace;
}

TEST(TraceJson, KeepsEveryBitOfANumber) {
  const std::vector<double> values = {-0.0,
                                      0.1,
                                      1.0 / 3,
                                      5e-324,
                                      1.7976931348623157e308,
                                      std::nextafter(1.0, 2.0),
                                      123456789012345678.0};
  const Trace again = trace_from_json(trace_to_json(trace_with(tensor_of(values))), "t.json");
  const std::vector<double>& read = again.ops[0].writes[0].values;
  ASSERT_EQ(read.size(), values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(read[i], values[i]);
    EXPECT_EQ(std::signbit(read[i]), std::signbit(values[i]));
  }
}

TEST(TraceJson, NamesWhatJsonHasNoNumberFor) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::string json =
      trace_to_json(trace_with(tensor_of({std::nan(""), kInfinity, -kInfinity})));
  EXPECT_NE(json.find(R"("values":["nan","inf","-inf"])"), std::string::npos) << json;
  const Trace again = trace_from_json(json, "t.json");
  EXPECT_TRUE(std::isnan(again.ops[0].writes[0].values[0]));
  EXPECT_EQ(again.ops[0].writes[0].values[2], -kInfinity);
  EXPECT_EQ(trace_to_json(again), json);
}

TEST(TraceJson, ChecksumsAreHexadecimal) {
  TraceTensor tensor;
  tensor.name = "x";
  tensor.shape = {1000};
  tensor.norm = 2.5;
  tensor.checksum = 0xfedcba9876543210U;
  const std::string json = trace_to_json(trace_with(tensor));
  EXPECT_NE(json.find(R"("norm":2.5,"checksum":"0xfedcba9876543210")"), std::string::npos) << json;
  EXPECT_EQ(trace_from_json(json, "t.json").ops[0].writes[0], tensor);
}

TEST(TraceJson, IsOneOpALine) {
  const Trace trace = test::collective_trace(2, 4);
  EXPECT_EQ(trace_to_json(trace), R"({
"ringside":"trace",
"version":1,
"run":{"strategy":"collective","backend":"sim","model":"","data":"","devices":2,"device_ids":[],"output_device":0,"batch_size":0,"dtype":"float32","parameters":0,"parameter_bytes":0,"buckets":[]},
"ops":[
{"id":0,"kind":"collective","name":"all-reduce","step":0,"phase":"all-reduce","rank":0,"stream":"communication","host_thread":"main","bytes":16,"reads":[{"name":"data","dtype":"float32","shape":[4]}],"writes":[{"name":"data","dtype":"float32","shape":[4],"values":[-1.921875,-0.84375,0.546875,-1.25]}],"collective":{"operation":"all-reduce","algorithm":"ring","ranks":2,"count":4,"root":0,"peer":0,"dtype":"float32","direction":"up","border":"nccl","pieces":1,"op":"sum","communicator":0,"sequence":0,"rank":0,"world_ranks":[0,1]}},
{"id":1,"kind":"collective","name":"all-reduce","step":0,"phase":"all-reduce","rank":1,"stream":"communication","host_thread":"main","bytes":16,"reads":[{"name":"data","dtype":"float32","shape":[4]}],"writes":[{"name":"data","dtype":"float32","shape":[4],"values":[-1.921875,-0.84375,0.546875,-1.25]}],"collective":{"operation":"all-reduce","algorithm":"ring","ranks":2,"count":4,"root":0,"peer":0,"dtype":"float32","direction":"up","border":"nccl","pieces":1,"op":"sum","communicator":0,"sequence":0,"rank":1,"world_ranks":[0,1]}}
],
"memory":[
]
}
)");
}

TEST(TraceJson, BytesThatAreNotUtf8AreReplaced) {
  Trace trace;
  trace.run.data = "mnist:/tmp/\xff";
  const Trace again = trace_from_json(trace_to_json(trace), "t.json");
  EXPECT_EQ(again.run.data, "mnist:/tmp/\xef\xbf\xbd");
}

// ---------------------------------------------------------------- files

TEST(TraceFile, IsWrittenAndReadBack) {
  const std::string path = testing::TempDir() + "ringside_trace_test.json";
  const Trace trace = test::ddp_trace();
  write_trace(trace, path);
  EXPECT_EQ(read_trace(path), trace);
  std::filesystem::remove(path);
}

TEST(TraceFile, AFullDiskIsAnError) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full on this system";
  try {
    write_trace(test::ddp_trace(), "/dev/full");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kIo);
    EXPECT_NE(std::string(error.what()).find("/dev/full"), std::string::npos) << error.what();
  }
}

TEST(TraceFile, AMissingFileIsNamed) {
  try {
    read_trace("/nonexistent/trace.json");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_status(), 2);
    EXPECT_NE(std::string(error.what()).find("/nonexistent/trace.json"), std::string::npos);
  }
}

// ---------------------------------------------------------------- damage

// A damaged file gives an Error, or a trace that everything else can work with.
void expect_error_or_trace(const std::string& json, int& errors) {
  try {
    const Trace trace = trace_from_json(json, "t.json");
    for (const int step : trace.steps()) {
      transfers(trace, step);
      replay(trace, Rates(), step);
    }
    EXPECT_EQ(trace_from_json(trace_to_json(trace), "again").ops.size(), trace.ops.size());
  } catch (const Error& error) {
    EXPECT_FALSE(std::string(error.what()).empty());
    ++errors;
  }
}

TEST(TraceDamage, FlippedAndCutFilesNeverCrash) {
  std::mt19937 random(11);
  const std::string whole = trace_to_json(test::random_trace(3));
  const std::vector<std::string> files = {whole, trace_to_json(test::collective_trace(3, 7)),
                                          trace_to_json(test::random_trace(8))};
  int errors = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string json = files[static_cast<std::size_t>(round) % files.size()];
    if (round % 4 == 0) json.resize(random() % json.size());
    for (std::size_t flips = 1 + random() % 3; flips > 0 && !json.empty(); --flips) {
      char& byte = json[random() % json.size()];
      // Half of the time another digit, so that many stay JSON and say something else.
      byte = random() % 2 == 0 ? static_cast<char>('0' + random() % 10)
                               : static_cast<char>(random() & 0xff);
    }
    expect_error_or_trace(json, errors);
  }
  EXPECT_GT(errors, 1000);
  EXPECT_LT(errors, 2000);
}

TEST(TraceDamage, DeepNestingIsRefused) {
  int errors = 0;
  expect_error_or_trace(std::string(1000000, '['), errors);
  expect_error_or_trace(std::string(100000, '[') + std::string(100000, ']'), errors);
  EXPECT_EQ(errors, 2);
}

}  // namespace
}  // namespace ringside
