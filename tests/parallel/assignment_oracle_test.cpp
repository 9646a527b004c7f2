// Chunks and buckets against PyTorch's own functions (chunk.json, buckets.json).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "parallel/chunks.h"
#include "ringside/strategy.h"
#include "support/oracle.h"

namespace ringside::test {
namespace {

using Sizes = std::vector<std::size_t>;
using Groups = std::vector<Sizes>;

TEST(ChunkOracle, AreTorchChunks) {
  with_oracle("chunk.json", [](Record& file) {
    const Json& rows = file["rows"];
    EXPECT_FALSE(rows.empty());
    for (const Json& row : rows) {
      list_of(3, row, "row " + row.dump());
      EXPECT_EQ(chunk_sizes(exactly<std::int64_t>(row[0]), exactly<int>(row[1])),
                exactly<std::vector<std::int64_t>>(row[2]))
          << row[0] << " on " << row[1];
    }
  });
}

/// [elements, dtype] or [elements, dtype, "device1"].
BucketedTensor tensor_of(const Json& json) {
  const bool second = json.size() > 2;
  list_of(second ? 3 : 2, json, "tensor " + json.dump());
  const DType dtype = parse_dtype(exactly<std::string>(json[1]));
  if (second && json[2] != "device1") throw std::runtime_error("device " + json[2].dump());
  return {exactly<std::size_t>(json[0]) * size_of(dtype), dtype, second ? 1 : 0};
}

Groups groups_of(const Json& json) { return exactly<Groups>(json); }

void compare_assignment(Record& record) {
  SCOPED_TRACE(record.get_or<std::string>("what", ""));
  const bool ordered = record.has("indices") && !record["indices"].is_null();
  std::vector<BucketedTensor> tensors;
  for (const Json& json : record["tensors"]) tensors.push_back(tensor_of(json));
  const auto indices = ordered ? exactly<Sizes>(record.list("indices", tensors.size())) : Sizes();
  if (record.has("sparse") && !record["sparse"].is_null()) {
    // Flags stand at the numbers that tensors have.
    const auto sparse = exactly<std::vector<bool>>(record.list("sparse", tensors.size()));
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      tensors[i].sparse = sparse.at(indices.empty() ? i : indices[i]);
    }
  }
  const BucketAssignment assignment = assign_buckets(tensors, record.get<Sizes>("limits"), indices);
  EXPECT_EQ(assignment.buckets, groups_of(record["buckets"]));
  EXPECT_EQ(assignment.limits, record.get<Sizes>("limits_out"));
}

void with_buckets(const char* section, const std::function<void(Record&)>& check) {
  with_oracle("buckets.json", [&](Record& file) {
    file.leave({"hand", "random", "models", "upstream_test_facts"});
    ASSERT_TRUE(file.has(section));
    check(file);
  });
}

TEST(BucketOracle, AssignsAsC10dDoes) {
  with_buckets("hand", [](Record& file) {
    // Facts of PyTorch's own tests are cases as the others are, and may stand for those by hand.
    const bool facts = file.has("upstream_test_facts");
    if (facts) file.for_each("upstream_test_facts", compare_assignment);
    if (!facts || !file["hand"].empty()) file.for_each("hand", compare_assignment);
    file.for_each("random", compare_assignment);
  });
}

Sizes bytes_of(const Groups& buckets, const Sizes& tensors) {
  Sizes bytes;
  for (const Sizes& bucket : buckets) {
    std::size_t sum = 0;
    for (const std::size_t index : bucket) sum += tensors.at(index);
    bytes.push_back(sum);
  }
  return bytes;
}

/// `tensors` in the order of `indices`.
std::vector<BucketedTensor> in_order(const Sizes& tensors, const Sizes& indices) {
  std::vector<BucketedTensor> result;
  for (const std::size_t index : indices) result.push_back({.bytes = tensors.at(index)});
  return result;
}

template <typename T>
std::vector<T> reversed(std::vector<T> list) {
  std::reverse(list.begin(), list.end());
  return list;
}

Sizes registration_order(std::size_t tensors) {
  Sizes order(tensors);
  std::iota(order.begin(), order.end(), std::size_t{0});
  return order;
}

/// What DDP makes at its construction with find_unused_parameters.
void compare_initial(Record&& record, const Sizes& tensors, const Sizes& limits) {
  EXPECT_EQ(record.get<Sizes>("limits"), limits);
  const BucketAssignment assignment = assign_buckets(tensors, limits);
  EXPECT_EQ(reversed(assignment.buckets), groups_of(record["buckets"]));
  EXPECT_EQ(reversed(assignment.limits), record.get<Sizes>("limits_out"));
}

void compare_rebuilt(Record&& record, const Sizes& tensors, const Sizes& limits) {
  EXPECT_EQ(record.get<Sizes>("limits"), limits);
  const Sizes order = reversed(registration_order(tensors.size()));
  const BucketAssignment assignment = assign_buckets(in_order(tensors, order), limits, order);
  EXPECT_EQ(assignment.buckets, groups_of(record["buckets"]));
  EXPECT_EQ(assignment.limits, record.get<Sizes>("limits_out"));
  EXPECT_EQ(bytes_of(assignment.buckets, tensors), record.get<Sizes>("bytes"));
}

/// A real DDP's buckets, in bytes, before and after its rebuild. Returns the order in which
/// gradients arrived.
Sizes compare_real(Record&& record, const Sizes& tensors, const Sizes& limits, bool find_unused) {
  const Sizes first = find_unused ? limits : Sizes{SIZE_MAX};
  EXPECT_EQ(bytes_of(reversed(assign_buckets(tensors, first).buckets), tensors),
            record.get<Sizes>("initial_bucket_bytes"));
  auto order = exactly<Sizes>(record.list("grad_ready_order", tensors.size()));
  const bool rebuilds = !find_unused;
  EXPECT_EQ(record.get<int>("has_rebuilt"), rebuilds ? 1 : 0);
  const Json& buckets = record["rebuilt_buckets"];
  const Json& bytes = record["rebuilt_bucket_bytes"];
  EXPECT_EQ(buckets.is_null(), !rebuilds);
  EXPECT_EQ(bytes.is_null(), !rebuilds);
  if (!rebuilds || buckets.is_null() || bytes.is_null()) return order;
  const BucketAssignment rebuilt = assign_buckets(in_order(tensors, order), limits, order);
  EXPECT_EQ(rebuilt.buckets, groups_of(buckets));
  EXPECT_EQ(bytes_of(rebuilt.buckets, tensors), exactly<Sizes>(bytes));
  return order;
}

/// Two runs of one model, without and with find_unused_parameters, which does not change the graph.
void compare_runs(Record& record, const Sizes& tensors, const Sizes& limits) {
  const auto run = [&](const std::string& field, bool find_unused) {
    return compare_real(Record(record[field], record.place() + ' ' + field), tensors, limits,
                        find_unused);
  };
  const Sizes order = run("real_ddp_find_unused=False", false);
  EXPECT_EQ(run("real_ddp_find_unused=True", true), order);
  Sizes every = order;
  std::sort(every.begin(), every.end());
  EXPECT_EQ(every, registration_order(tensors.size())) << "parameters whose gradients arrived";
}

/// Bytes of every parameter in float32, which only the first record of a model has.
class ParameterBytes {
 public:
  const Sizes& of(Record& record) {
    const auto model = record.get<std::string>("model");
    if (!record.has("params")) return known_.at(model);
    if (known_.contains(model)) throw std::runtime_error("the first record of a model has these");
    Sizes& bytes = known_[model];
    for (const Json& parameter : record["params"]) {
      list_of(2, parameter, "parameter " + parameter.dump());
      std::size_t elements = 1;
      for (const std::size_t size : exactly<Sizes>(parameter[1])) elements *= size;
      bytes.push_back(elements * sizeof(float));
    }
    return bytes;
  }

 private:
  std::map<std::string, Sizes> known_;
};

TEST(BucketOracle, OfModelsAreDdps) {
  with_buckets("models", [](Record& file) {
    ParameterBytes parameters;
    file.for_each("models", [&](Record& record) {
      const Sizes& tensors = parameters.of(record);
      EXPECT_EQ(tensors.size(), record.get<std::size_t>("tensors"));
      EXPECT_EQ(std::accumulate(tensors.begin(), tensors.end(), std::size_t{0}),
                record.get<std::size_t>("total_params") * sizeof(float));
      constexpr double kMebibyte = 1 << 20;
      const Sizes limits{1 << 20,
                         static_cast<std::size_t>(record.get<double>("bucket_cap_mb") * kMebibyte)};
      compare_initial(Record(record["initial_if_find_unused"], record.place()), tensors, limits);
      compare_rebuilt(Record(record["rebuilt_if_exact_reverse"], record.place()), tensors, limits);
      const bool was_run =
          record.has("real_ddp_find_unused=False") || record.has("real_ddp_find_unused=True");
      if (was_run) compare_runs(record, tensors, limits);
    });
  });
}

}  // namespace
}  // namespace ringside::test
