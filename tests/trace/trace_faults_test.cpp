// Every fault a trace file can have is refused with its place.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "ringside/error.h"
#include "ringside/trace.h"
#include "support/example_traces.h"

namespace ringside {
namespace {

/// The message for the two-rank all-reduce with the first `from` replaced by `to`.
std::string fault(std::string_view from, std::string_view to) {
  std::string json = trace_to_json(test::collective_trace(2, 4));
  const std::size_t at = json.find(from);
  if (at == std::string::npos) return "'" + std::string(from) + "' is not in the file";
  json.replace(at, from.size(), to);
  try {
    trace_from_json(json, "t.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInvalidInput);
    return error.what();
  }
  return "no fault";
}

TEST(TraceFaults, SyntaxHasLineAndColumn) {
  const std::string words = fault(R"("version":1)", R"("version":)");
  EXPECT_EQ(words.find("t.json: line 3, column 11: syntax error"), 0U) << words;
  EXPECT_EQ(words.find("json.exception"), std::string::npos) << words;
}

TEST(TraceFaults, NothingIsHiddenBehindANul) {
  const std::string words = fault("\n", std::string_view("\0garbage\n", 9));
  EXPECT_EQ(words, "t.json: byte 2 is a NUL");
}

TEST(TraceFaults, VersionsAndKindsOfFileShowBoth) {
  EXPECT_EQ(fault(R"("version":1)", R"("version":2)"),
            "t.json: version: the file has version 2, this program reads version 1");
  EXPECT_EQ(fault(R"("ringside":"trace")", R"("ringside":"timeline")"),
            "t.json: ringside: this is a 'timeline', not a 'trace'");
  EXPECT_EQ(fault(R"("ringside":"trace",)", ""), "t.json: field 'ringside' is missing");
}

TEST(TraceFaults, FieldsAreKnownAndThere) {
  EXPECT_EQ(fault(R"("id":0,)", ""), "t.json: ops[0]: field 'id' is missing");
  EXPECT_EQ(fault(R"("peer":0,)", ""), "t.json: ops[0].collective: field 'peer' is missing");
  EXPECT_EQ(fault(R"("memory":[)", R"("extra":1,"memory":[)"),
            "t.json: unknown field 'extra'; known are ringside, version, run, ops, memory");
  EXPECT_EQ(
      fault(R"({"name":"data")", R"({"colour":1,"name":"data")"),
      "t.json: ops[0].reads[0]: unknown field 'colour'; known are name, dtype, shape, values, "
      "norm, checksum");
}

TEST(TraceFaults, NoFieldStandsTwice) {
  EXPECT_EQ(fault(R"("version":1)", R"("version":1,"version":1)"),
            "t.json: field 'version' stands there twice; leave one of them out");
  EXPECT_EQ(fault(R"("name":"all-reduce")", R"("name":"all-gather","name":"all-reduce")"),
            "t.json: ops[0]: field 'name' stands there twice; leave one of them out");
  EXPECT_EQ(fault(R"("operation":)", R"("ranks":2,"operation":)"),
            "t.json: ops[0].collective: field 'ranks' stands there twice; leave one of them out");
  EXPECT_EQ(fault(R"({"name":"data")", R"({"name":"","name":"data")"),
            "t.json: ops[0].reads[0]: field 'name' stands there twice; leave one of them out");
}

TEST(TraceFaults, TypesAreRight) {
  EXPECT_EQ(fault(R"("name":"all-reduce")", R"("name":7)"),
            "t.json: ops[0].name: must be a string, not number");
  EXPECT_EQ(fault(R"("step":0)", R"("step":0.5)"),
            "t.json: ops[0].step: must be a whole number, not 0.5");
  EXPECT_EQ(fault(R"("bytes":16)", R"("bytes":-16)"),
            "t.json: ops[0].bytes: must be a whole number from 0, not -16");
  EXPECT_EQ(fault(R"("shape":[4])", R"("shape":{})"),
            "t.json: ops[0].reads[0].shape: must be an array, not object");
  EXPECT_EQ(fault(R"([-1.921875)", R"(["NaN")"),
            "t.json: ops[0].writes[0].values[0]: must be a number, \"nan\", \"inf\" or \"-inf\"");
}

TEST(TraceFaults, NamesOfEnumerationsAreListed) {
  EXPECT_EQ(
      fault(R"("kind":"collective")", R"("kind":"collectiv")"),
      "t.json: ops[0].kind: 'collectiv' must be one of compute, copy, collective, send, recv, "
      "host, wait");
  EXPECT_EQ(fault(R"("op":"sum")", R"("op":"mean")"),
            "t.json: ops[0].collective.op: 'mean' must be one of sum, avg, min, max, prod");
}

TEST(TraceFaults, IdsAndDependenciesAreInOrder) {
  EXPECT_EQ(fault(R"({"id":1)", R"({"id":2)"), "t.json: ops[1].id: 2 must be the op's index, 1");
  EXPECT_EQ(fault(R"("rank":1,"stream")", R"("rank":1,"dependencies":[40],"stream")"),
            "t.json: ops[1].dependencies[0]: 40 is not an earlier op");
  EXPECT_EQ(fault(R"("rank":1,"stream")", R"("rank":1,"dependencies":[-1],"stream")"),
            "t.json: ops[1].dependencies[0]: -1 is not an earlier op");
  EXPECT_EQ(fault(R"("rank":1,"stream")", R"("rank":1,"dependencies":[0,0],"stream")"),
            "t.json: ops[1].dependencies[1]: 0 after 0: must be ascending");
}

TEST(TraceFaults, WorkersAndServersAreTheDevices) {
  const auto with = [](const std::string& counts, const std::string& variant) {
    return fault(R"("buckets":[])", R"("buckets":[],"parameter_server":{)" + counts +
                                        R"(,"worker_devices":1,"server_devices":1,"variant":")" +
                                        variant + R"(","server_op":"sum","mode":"synchronous"})");
  };
  EXPECT_EQ(with(R"("workers":1,"servers":1)", "b"), "no fault");
  EXPECT_EQ(with(R"("workers":2,"servers":1)", "b"),
            "t.json: run.parameter_server: these are 3 devices, the run has 2");
  EXPECT_EQ(with(R"("workers":0,"servers":2)", "b"),
            "t.json: run.parameter_server.workers: 0 must be from 1 to 2");
  EXPECT_EQ(with(R"("workers":1,"servers":1)", "c"),
            "t.json: run.parameter_server.variant: 'c' must be one of b, a");
}

TEST(TraceFaults, ALossIsInForwardOrOfTheOutput) {
  const auto with = [](const std::string& place) {
    return fault(R"("buckets":[])", R"("buckets":[],"loss_in":")" + place + '"');
  };
  EXPECT_EQ(with("forward"), "no fault");
  EXPECT_EQ(with("output"), "no fault");
  EXPECT_EQ(with("home"), "t.json: run.loss_in: 'home' must be output or forward");
}

TEST(TraceFaults, RanksAreInRange) {
  EXPECT_EQ(fault(R"("rank":1,"stream")", R"("rank":2,"stream")"),
            "t.json: ops[1].rank: 2 must be from 0 to 1");
  EXPECT_EQ(fault(R"("world_ranks":[0,1])", R"("world_ranks":[0,2])"),
            "t.json: ops[0].collective.world_ranks[1]: 2 must be from 0 to 1");
  EXPECT_EQ(fault(R"("world_ranks":[0,1])", R"("world_ranks":[0,0])"),
            "t.json: ops[0].collective.world_ranks[1]: 0 takes part twice");
  EXPECT_EQ(fault(R"("world_ranks":[0,1])", R"("world_ranks":[1,0])"),
            "t.json: ops[0].collective.rank: 0 is world rank 1, but the op is of rank 0");
  EXPECT_EQ(fault(R"("world_ranks":[0,1])", R"("world_ranks":[0])"),
            "t.json: ops[0].collective.world_ranks: 1 entries for 2 ranks");
}

TEST(TraceFaults, ValuesFitTheShape) {
  EXPECT_EQ(fault(R"([-1.921875,)", "["),
            "t.json: ops[0].writes[0].values: 3 values for shape 4 of 4 elements");
  EXPECT_EQ(fault(R"("shape":[4])", R"("shape":[1048576,1048576,1048576])"),
            "t.json: ops[0].reads[0].shape[2]: 1048576 must be from 0 to 1");
  EXPECT_EQ(fault(R"("shape":[4])", R"("shape":[1,1,1,1,1,1,1])"),
            "t.json: ops[0].reads[0].shape: 7 dimensions, at most 6 are possible");
}

TEST(TraceFaults, AFieldThatIsNotForThisKind) {
  EXPECT_EQ(fault(R"("kind":"collective")", R"("kind":"host")"),
            "t.json: ops[0].stream: not for an op of kind host");
  EXPECT_EQ(fault(R"("kind":"collective")", R"("kind":"compute")"),
            "t.json: ops[0].collective: not for an op of kind compute");
  EXPECT_EQ(fault(R"("kind":"collective")", R"("kind":"send")"),
            "t.json: ops[0].collective.operation: not for an op of kind send");
  EXPECT_EQ(fault(R"("stream":"communication",)", ""),
            "t.json: ops[0]: field 'stream' is missing, of kind collective");
  EXPECT_EQ(fault(R"("host_thread")", R"("measured_start":1,"host_thread")"),
            "t.json: ops[0]: measured_start and measured_end must be there both or neither");
  EXPECT_EQ(fault(R"("host_thread")", R"("measured_start":2,"measured_end":1,"host_thread")"),
            "t.json: ops[0].measured_end: 1 is before measured_start, 2");
}

TEST(TraceFaults, RequestsAreWhatSchedulesCanBeMadeOf) {
  EXPECT_EQ(fault(R"("operation":"all-reduce")", R"("operation":"broadcast")"),
            "t.json: ops[1].collective: differs from the same collective in ops[0]");
  EXPECT_EQ(fault(R"("count":4)", R"("count":1000000000000000000)"),
            "t.json: ops[0].collective: the buffer is larger than 1099511627776 bytes");
  EXPECT_EQ(fault(R"("ranks":2)", R"("ranks":1000000000)"),
            "t.json: ops[0].collective.ranks: 1000000000 must be from 1 to 1048576");
  EXPECT_EQ(fault(R"("ranks":2)", R"("ranks":1000000)"),
            "t.json: ops[0].collective.world_ranks: 2 entries for 1000000 ranks");
  EXPECT_EQ(fault(R"("operation":"all-reduce","algorithm":"ring","ranks":2,"count":4,"root":0)",
                  R"("operation":"reduce","algorithm":"ring","ranks":2,"count":4,"root":2)"),
            "t.json: ops[0].collective: reduce: root 2: must be in [0, 1]");
  EXPECT_EQ(fault(R"("operation":"all-reduce","algorithm":"ring","ranks":2)",
                  R"("operation":"gather","algorithm":"star","counts":[1,2,3],"ranks":2)"),
            "t.json: ops[0].collective: gather: 3 counts for 2 ranks: one per rank is needed");
  const std::string words = fault(R"("operation":"all-reduce")", R"("operation":"scatter")");
  EXPECT_EQ(words.find("t.json: ops[0].collective: scatter"), 0U) << words;
  EXPECT_NE(words.find("must be one of star, tree"), std::string::npos) << words;
}

TEST(TraceFaults, ARankTakesPartOnce) {
  Trace trace = test::collective_trace(2, 4);
  trace.ops[1] = trace.ops[0];
  trace.ops[1].id = 1;
  try {
    trace_from_json(trace_to_json(trace), "t.json");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(
        std::string(error.what()),
        "t.json: ops[1].collective: rank 0 takes part in all-reduce 0 of communicator 0 twice");
  }
}

}  // namespace
}  // namespace ringside
