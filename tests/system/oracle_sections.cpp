#include "system/oracle_sections.h"

#include <ostream>

namespace ringside::test {

std::ostream& operator<<(std::ostream& stream, const Section& section) {
  return stream << section.file << ' ' << section.name;
}

const std::vector<Section>& sections() {
  const Reader assign{"parallel/assignment_oracle_test", "BucketOracle.AssignsAsC10dDoes"};
  const std::string init = "nn/init_oracle_test";
  const std::string ddp = "parallel/ddp_oracle_test";
  const std::string dp = "parallel/dp_oracle_test";
  const std::string optim = "optim/optim_oracle_test";
  static const std::vector<Section> list{
      {"buckets.json", "hand", {assign}},
      {"buckets.json", "random", {assign}},
      {"buckets.json",
       "models",
       {{"parallel/assignment_oracle_test", "BucketOracle.OfModelsAreDdps"},
        {"calculators/known_models_oracle_test", "*"}}},
      {"chunk.json", "rows", {{"parallel/assignment_oracle_test", "ChunkOracle.*"}}},
      {"ddp_steps.json", "scenarios", {{ddp, "Ddp.TrainsAsPyTorchDoes"}}},
      {"ddp_steps.json", "join", {{ddp, "Ddp.JoinsUnevenInputsAsPyTorchDoes"}}},
      {"ddp_steps.json", "epochs", {{ddp, "Ddp.TrainsOnASamplersEpochsAsPyTorchDoes"}}},
      {"ddp_steps.json", "division", {{ddp, "Ddp.RoundsTheDivisionAsPyTorchDoes"}}},
      {"dp_reference.json", "runs", {{dp, "DataParallel.TrainsAsPyTorchDoes"}}},
      {"dp_reference.json", "scatter", {{dp, "DataParallel.ScattersArgumentsAsPyTorchDoes"}}},
      {"init.json", "seed_folding", {{init, "InitOracle.FoldsSeedsTo32Bits"}}},
      {"init.json", "models", {{init, "InitOracle.LayersStartAsPyTorchsDo"}}},
      {"init.json", "plain_models", {{init, "InitOracle.LayersStartAsPyTorchsDoWithoutAvx2"}}},
      {"init.json", "samples", {{init, "InitOracle.DrawsWhatPyTorchDraws"}}},
      {"init.json", "plain_samples", {{init, "InitOracle.DrawsWhatPyTorchDrawsWithoutAvx2"}}},
      {"init.json", "sequences", {{init, "InitOracle.KeepsItsStateBetweenCalls"}}},
      {"optim.json", "cases", {{optim, "OptimOracle.StepsAsPyTorchDoes"}}},
      {"optim.json", "clip_grad_norm", {{optim, "OptimOracle.ClipsAsPyTorchDoes"}}},
      {"optim.json", "cross_entropy", {{"tensor/cross_entropy_oracle_test", "*"}}},
      {"sampler.json", "cases", {{"data/sampler_oracle_test", "*"}}},
  };
  return list;
}

const std::vector<Exception>& exceptions() {
  const auto free_text = [](const std::string& place, Change change) {
    return Exception{place, change, "a text for people"};
  };
  static const std::vector<Exception> list{
      free_text("buckets.json hand/what", Change::kValue),
      free_text("buckets.json hand/what", Change::kRemoved),
      free_text("ddp_steps.json scenarios/name", Change::kValue),
      free_text("ddp_steps.json join/name", Change::kValue),
      free_text("ddp_steps.json epochs/name", Change::kValue),
      free_text("dp_reference.json runs/name", Change::kValue),
      {"buckets.json hand/sparse=null", Change::kRemoved, "means the same"},
      {"buckets.json hand/indices=null", Change::kRemoved, "means the same"},
      {"buckets.json random/sparse=null", Change::kRemoved, "means the same"},
      {"buckets.json random/indices=null", Change::kRemoved, "means the same"},
      {"buckets.json hand/limits", Change::kLonger, "the last limit holds for all that follow"},
      {"buckets.json random/limits", Change::kLonger, "the last limit holds for all that follow"},
      {"ddp_steps.json scenarios/no_sync", Change::kValue, "gradients are the same, as it shows"},
      {"ddp_steps.json scenarios/no_sync", Change::kRemoved, "gradients are the same, as it shows"},
      {"ddp_steps.json scenarios/rank_dependent_init", Change::kValue,
       "DDP gives every rank the parameters of rank 0, as it shows"},
      {"ddp_steps.json scenarios/rank_dependent_init", Change::kRemoved,
       "DDP gives every rank the parameters of rank 0, as it shows"},
      {"init.json models/full_up_to", Change::kValue, "no tensor has a size between the two"},
      {"init.json plain_models/full_up_to", Change::kValue, "no tensor has a size between the two"},
      {"init.json sequences/calls", Change::kShorter, "a sequence may end after any call"},
  };
  return list;
}

}  // namespace ringside::test
