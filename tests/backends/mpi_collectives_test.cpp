// The collectives of the mpi backend, run by mpirun: the table that the simulated world is tested
// with, and the same bits as there.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "backends/mpi/mpi_world.h"
#include "sim/comm/sim_world.h"
#include "support/collective_matrix.h"
#include "support/collective_run.h"
#include "support/world_programs.h"

namespace ringside::test {
namespace {

std::unique_ptr<World> mpi_world() {
  WorldOptions options;
  options.size = 0;
  return open_mpi_world(options);
}

std::vector<Bits> results_of(World& world, const std::vector<CollectiveCase>& cases, int of_rank,
                             bool in_place) {
  std::vector<Bits> results;
  world.run([&](Rank& rank) {
    for (const CollectiveCase& c : cases) {
      Bits bits = run_case(c, rank, in_place);
      if (rank.rank == of_rank) results.push_back(std::move(bits));
    }
  });
  return results;
}

void expect_the_bits_of_simulated_devices(std::vector<CollectiveCase> (*cases_for)(int)) {
  const auto mpi = mpi_world();
  WorldOptions options;
  options.size = mpi->size();
  const auto simulated = open_sim_world(options);
  const std::vector<CollectiveCase> cases = cases_for(mpi->size());
  const int rank = mpi->local_ranks().front();
  for (const bool in_place : {false, true}) {
    const std::vector<Bits> expected = results_of(*simulated, cases, rank, in_place);
    const std::vector<Bits> results = results_of(*mpi, cases, rank, in_place);
    ASSERT_EQ(results.size(), cases.size());
    for (std::size_t i = 0; i < cases.size(); ++i) {
      EXPECT_EQ(results[i], expected[i]) << describe(cases[i]) << ", rank " << rank;
    }
  }
}

TEST(MpiCollectives, OfEveryOperationAlgorithmAndType) {
  expect_the_bits_of_simulated_devices(pairwise_matrix);
}

TEST(MpiCollectives, WithCountsPerRank) { expect_the_bits_of_simulated_devices(cases_with_counts); }

TEST(MpiCollectives, WithPiecesAndNodes) {
  expect_the_bits_of_simulated_devices(cases_with_parameters);
}

TEST(MpiCollectives, MixInAGroup) {
  mpi_world()->run([](Rank& rank) {
    const auto part = rank.communicator.split(rank.rank % 2, -rank.rank);
    mix_operations(rank, *part);
  });
}

TEST(MpiCollectives, OfCommunicatorsSplitFromSplitOnes) { mpi_world()->run(split_splits); }

}  // namespace
}  // namespace ringside::test
