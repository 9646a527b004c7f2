// The mpi backend, run by mpirun with several processes: every process runs every case.
#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "backends/mpi/mpi_world.h"
#include "ringside/error.h"
#include "ringside/scenario.h"
#include "ringside/tensor.h"
#include "support/error_text.h"

namespace ringside::test {
namespace {

std::unique_ptr<World> mpi_world() {
  WorldOptions options;
  options.size = 0;
  return open_mpi_world(options);
}

Tensor on_device(Rank& rank, const std::vector<double>& values, DType dtype = DType::kFloat32) {
  return Tensor::from_host(rank.device, Shape{static_cast<std::int64_t>(values.size())}, dtype,
                           values, MemoryKind::kWorkspace);
}

/// Copies are on the compute stream; the collectives below go there too.
Stream& stream_of(Rank& rank) { return rank.device.compute(); }

TEST(Mpi, EveryCollectiveGivesWhatItsDefinitionSays) {
  const auto world = mpi_world();
  world->run([](Rank& rank) {
    const int n = rank.communicator.size();
    const auto ranks = static_cast<std::size_t>(n);
    Communicator& communicator = rank.communicator;
    for (const std::size_t count :
         {std::size_t{0}, std::size_t{1}, std::size_t{7}, std::size_t{1000}}) {
      for (int root = 0; root < n; ++root) {
        std::vector<double> own(count);
        for (std::size_t i = 0; i < count; ++i)
          own[i] = rank.rank + 1 + 10 * static_cast<double>(i % 5);
        std::vector<double> sums(count);
        for (std::size_t i = 0; i < count; ++i) {
          sums[i] = n * (n + 1) / 2.0 + 10.0 * n * static_cast<double>(i % 5);
        }
        Tensor value = on_device(rank, own);
        communicator.all_reduce(value.array(), value.array(), count, ReduceOp::kSum,
                                stream_of(rank));
        EXPECT_EQ(host_values(value), sums);

        value = on_device(rank, own, DType::kInt64);
        communicator.reduce(value.array(), value.array(), count, ReduceOp::kSum, root,
                            stream_of(rank));
        if (rank.rank == root) {
          EXPECT_EQ(host_values(value), sums);
        }

        value = on_device(rank, own);
        communicator.broadcast(value.array(), value.array(), count, root, stream_of(rank));
        const std::vector<double> of_root = host_values(value);
        for (std::size_t i = 0; i < count; ++i)
          EXPECT_EQ(of_root[i], root + 1 + 10 * static_cast<double>(i % 5));

        Tensor all = on_device(rank, std::vector<double>(count * ranks, -1));
        value = on_device(rank, own);
        communicator.all_gather(value.array(), all.array(), count, stream_of(rank));
        const std::vector<double> gathered = host_values(all);
        for (std::size_t i = 0; i < gathered.size(); ++i) {
          const std::size_t owner = i / count;
          EXPECT_EQ(gathered[i],
                    static_cast<double>(owner) + 1 + 10 * static_cast<double>(i % count % 5));
        }
        communicator.reduce_scatter(all.array(), value.array(), count, ReduceOp::kAvg,
                                    stream_of(rank));
        EXPECT_EQ(host_values(value), own) << "the mean of equal buffers";
        communicator.scatter(all.array(), value.array(), count, root, stream_of(rank));
        EXPECT_EQ(host_values(value), own);
        Tensor back = on_device(rank, std::vector<double>(count * ranks, -1));
        communicator.gather(value.array(), back.array(), count, root, stream_of(rank));
        if (rank.rank == root) {
          EXPECT_EQ(host_values(back), gathered);
        }
        communicator.barrier(stream_of(rank)).synchronize();
      }
    }
  });
}

TEST(Mpi, SendsAndReceivesOfAGroupProgressTogether) {
  const auto world = mpi_world();
  if (world->size() == 1) GTEST_SKIP() << "needs two processes";
  world->run([](Rank& rank) {
    const int n = rank.communicator.size();
    const Tensor out = on_device(rank, {static_cast<double>(rank.rank), 5});
    const Tensor in = on_device(rank, {-1, -1});
    {
      GroupScope group(rank.communicator);
      rank.communicator.send(out.array(), 2, (rank.rank + 1) % n, stream_of(rank));
      rank.communicator.recv(in.array(), 2, (rank.rank + n - 1) % n, stream_of(rank));
    }
    EXPECT_EQ(host_values(in),
              (std::vector<double>{static_cast<double>((rank.rank + n - 1) % n), 5}));
  });
}

TEST(Mpi, SplitsByColorAndKey) {
  const auto world = mpi_world();
  world->run([](Rank& rank) {
    const int n = rank.communicator.size();
    const auto part = rank.communicator.split(rank.rank % 2, -rank.rank);
    ASSERT_NE(part, nullptr);
    EXPECT_EQ(part->world_ranks()[static_cast<std::size_t>(part->rank())], rank.rank);
    EXPECT_EQ(part->size(), (n + 1 - rank.rank % 2) / 2);
    Tensor value = on_device(rank, {static_cast<double>(rank.rank)});
    part->all_reduce(value.array(), value.array(), 1, ReduceOp::kMax, stream_of(rank));
    const int last = n - 1;
    EXPECT_EQ(host_value(value, 0), last % 2 == rank.rank % 2 ? last : last - 1);
  });
}

TEST(Mpi, AMismatchIsAnErrorOnEveryRankAndTheNextCallWorks) {
  const auto world = mpi_world();
  if (world->size() == 1) GTEST_SKIP() << "needs two processes";
  world->run([](Rank& rank) {
    Tensor value = on_device(rank, {1, 2});
    const std::size_t count = rank.rank == 1 ? 1 : 2;
    try {
      rank.communicator
          .all_reduce(value.array(), value.array(), count, ReduceOp::kSum, stream_of(rank))
          .synchronize();
      FAIL() << "no error";
    } catch (const Error& error) {
      const std::string text = error.what();
      EXPECT_EQ(to_string(error.kind()), to_string(ErrorKind::kCommMismatch)) << text;
      EXPECT_NE(text.find("rank 1 called all-reduce(count=1, float32, sum)"), std::string::npos)
          << text;
      EXPECT_NE(text.find("all-reduce(count=2, float32, sum)"), std::string::npos) << text;
    }
    value = on_device(rank, {1, 2});
    rank.communicator.all_reduce(value.array(), value.array(), 2, ReduceOp::kSum, stream_of(rank));
    const double n = rank.communicator.size();
    EXPECT_EQ(host_values(value), (std::vector<double>{n, 2 * n}));
  });
}

TEST(Mpi, DdpTrainsWithTheBitsOfTheSimulatedDevices) {
  Scenario scenario;
  scenario.strategy = "ddp";
  scenario.devices = mpi_world()->size();
  scenario.model = "mlp:64,16,10:bn";
  scenario.batch_size = 8;
  scenario.steps = 6;
  scenario.first_bucket_mb = 0.001;
  scenario.bucket_cap_mb = 0.002;
  scenario.algorithm = Algorithm::kRing;
  scenario.backend = "sim";
  const RunReport simulated = run_scenario(scenario, {}, nullptr, {});
  scenario.backend = "mpi";
  Trace trace;
  const RunReport real = run_scenario(scenario, {}, &trace, {});
  const int rank = mpi_world()->local_ranks().front();
  EXPECT_EQ(real.rank_checksums,
            std::vector<std::string>{simulated.rank_checksums[static_cast<std::size_t>(rank)]});
  EXPECT_EQ(real.step_losses, simulated.step_losses);
  EXPECT_EQ(real.primary, rank == 0);
  EXPECT_FALSE(trace.ops.empty());
}

// Rank 0's process writes, all read: the same file for all, whose name has their parent's number.
TEST(Mpi, ATrainingIsResumedWithTheBitsOfTheSimulatedDevices) {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() /
      ("ringside-mpi-" + std::to_string(::getppid()) + ".safetensors");
  Scenario scenario;
  scenario.strategy = "ddp";
  scenario.devices = mpi_world()->size();
  scenario.model = "mlp:64,16,10";
  scenario.batch_size = 8;
  scenario.momentum = 0.9;
  scenario.steps = 7;
  scenario.algorithm = Algorithm::kRing;
  const RunReport simulated = run_scenario(scenario, {}, nullptr, {});
  scenario.backend = "mpi";
  scenario.steps = 3;
  scenario.save = file.string();
  const RunReport first = run_scenario(scenario, {}, nullptr, {});
  EXPECT_EQ(first.saved.size(), first.primary ? 1U : 0U);
  // The run has ended on rank 0, and so has its writing, once all have been here.
  mpi_world()->run([](Rank& rank) { rank.communicator.barrier(stream_of(rank)); });
  scenario.steps = 7;
  scenario.save.clear();
  scenario.resume = file.string();
  const RunReport resumed = run_scenario(scenario, {}, nullptr, {});
  EXPECT_EQ(resumed.checksum, simulated.checksum);
  mpi_world()->run([](Rank& rank) { rank.communicator.barrier(stream_of(rank)); });
  std::error_code ignored;
  std::filesystem::remove(file, ignored);
}

TEST(Mpi, AParameterServerTrainsWithTheBitsOfTheSimulatedDevices) {
  const int ranks = mpi_world()->size();
  if (ranks == 1) GTEST_SKIP() << "needs two processes";
  const int rank = mpi_world()->local_ranks().front();
  for (const std::string variant : {"a", "b", "asynchronous"}) {
    Scenario scenario;
    scenario.strategy = "ps";
    scenario.devices = ranks;
    scenario.servers = ranks / 2;
    scenario.workers = ranks - scenario.servers;
    scenario.asynchronous = variant == "asynchronous";
    if (!scenario.asynchronous) scenario.variant = variant;
    scenario.model = "mlp:64,16,10";
    scenario.batch_size = 8;
    scenario.steps = 6;
    scenario.backend = "sim";
    const RunReport simulated = run_scenario(scenario, {}, nullptr, {});
    scenario.backend = "mpi";
    const RunReport real = run_scenario(scenario, {}, nullptr, {});
    if (rank < scenario.workers) {
      EXPECT_EQ(real.rank_checksums,
                std::vector<std::string>{simulated.rank_checksums[static_cast<std::size_t>(rank)]});
    } else {
      EXPECT_TRUE(real.rank_checksums.empty());
    }
    EXPECT_EQ(real.step_losses, simulated.step_losses) << variant;
  }
}

TEST(Mpi, AVerifiedTrainingIsTheSame) {
  Scenario scenario;
  scenario.strategy = "ddp";
  scenario.devices = mpi_world()->size();
  scenario.model = "mlp:64,16,10";
  scenario.batch_size = 8;
  scenario.steps = 4;
  scenario.backend = "mpi";
  const RunReport plain = run_scenario(scenario, {}, nullptr, {});
  scenario.verify = true;
  scenario.verify_step = 2;
  const RunReport report = run_scenario(scenario, {}, nullptr, {});
  EXPECT_EQ(report.checksum, plain.checksum);
  ASSERT_TRUE(report.verification.has_value());
  EXPECT_EQ(report.verification->steps, 4);
  EXPECT_EQ(report.verification->ranks, scenario.devices);
  EXPECT_EQ(report.verification->single_step, report.primary ? 2 : -1);
}

// All ranks end together, and each says what is different where.
TEST(Mpi, ASilentFaultIsNamedByEveryProcess) {
  if (mpi_world()->size() < 3) GTEST_SKIP() << "of two, none is the odd one out";
  Scenario scenario;
  scenario.strategy = "ddp";
  scenario.devices = mpi_world()->size();
  scenario.model = "mlp:64,16,10";
  scenario.batch_size = 8;
  scenario.steps = 4;
  scenario.backend = "mpi";
  scenario.verify = true;
  scenario.events = {{ScenarioEvent::Kind::kPerturb, 1, 2, "2.bias", 1}};
  const bool is_odd = mpi_world()->local_ranks().front() == 1;
  const std::string text = error_text(is_odd ? ErrorKind::kTrainingFailed : ErrorKind::kRankFailed,
                                      [&] { run_scenario(scenario, {}, nullptr, {}); });
  EXPECT_NE(text.find(is_odd ? "verify: after step 2 parameter 2.bias is not that of rank 0"
                             : "verify: after step 2 parameter 2.bias of rank 1 is not that of "
                               "rank 0"),
            std::string::npos)
      << text;
}

// These end a run in an error, so they come last: what the failed calls had declared is still under
// way.
TEST(MpiFailures, ARankThatFinishesEarlyIsNamed) {
  const auto world = mpi_world();
  if (world->size() == 1) GTEST_SKIP() << "needs two processes";
  try {
    world->run([](Rank& rank) {
      if (rank.rank == 1) return;
      Tensor value = on_device(rank, {1});
      rank.communicator.all_reduce(value.array(), value.array(), 1, ReduceOp::kSum, stream_of(rank))
          .synchronize();
    });
    FAIL() << "no error";
  } catch (const Error& error) {
    const std::string text = error.what();
    if (world->local_ranks().front() == 1) {
      EXPECT_EQ(to_string(error.kind()), to_string(ErrorKind::kRankFailed)) << text;
    } else {
      EXPECT_NE(text.find("waits in all-reduce(count=1, float32, sum)"), std::string::npos) << text;
      EXPECT_NE(text.find("rank 1 has finished without calling it"), std::string::npos) << text;
    }
  }
}

TEST(MpiFailures, ARankThatEndsInAnErrorOfTheLibraryIsNamed) {
  const auto world = mpi_world();
  if (world->size() == 1) GTEST_SKIP() << "needs two processes";
  const bool fails = world->local_ranks().front() == 1;
  try {
    world->run([&](Rank&) {
      if (fails) throw std::out_of_range("beyond the end");
    });
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_FALSE(fails);
    EXPECT_EQ(to_string(error.kind()), to_string(ErrorKind::kRankFailed));
    EXPECT_NE(std::string(error.what()).find("beyond the end"), std::string::npos) << error.what();
  } catch (const std::exception& error) {
    EXPECT_TRUE(fails) << error.what();
  }
}

}  // namespace
}  // namespace ringside::test
