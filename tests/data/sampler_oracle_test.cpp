// The distributed sampler against PyTorch's, index for index (sampler.json).

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "ringside/data.h"
#include "support/oracle.h"

namespace ringside::test {
namespace {

TEST(SamplerOracle, DealsAsPyTorchDoes) {
  with_oracle("sampler.json", [](Record& file) {
    file.for_each("cases", [](Record& record) {
      const auto length = record.get<std::int64_t>("len");
      const auto world = record.get<int>("world");
      const auto epoch = record.get<std::int64_t>("epoch");
      const SamplerOptions options{record.get<bool>("shuffle"), record.seed("seed"),
                                   record.get<bool>("drop_last")};
      const auto ranks = exactly<std::vector<std::vector<std::int64_t>>>(
          record.list("ranks", static_cast<std::size_t>(world)));
      std::size_t total = 0;
      for (int rank = 0; rank < world; ++rank) {
        const std::vector<std::int64_t> dealt =
            distributed_sampler(length, world, rank, epoch, options);
        EXPECT_EQ(dealt, ranks.at(static_cast<std::size_t>(rank))) << "rank " << rank;
        EXPECT_EQ(dealt.size(), record.get<std::size_t>("num_samples"));
        total += dealt.size();
      }
      EXPECT_EQ(total, record.get<std::size_t>("total_size"));
    });
  });
}

}  // namespace
}  // namespace ringside::test
