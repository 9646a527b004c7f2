// Why one algorithm of a collective needs fewer rounds or bytes than another: what each costs in
// the alpha-beta model, beside the least that any could, and in words.
//
// The model: ports that send and receive one message at a time, both ways at once. A message of m
// bytes takes alpha + beta * m; what a rank sends to one other in one round is one message. A round
// takes as long as its busiest port, the next one begins after it. Adding is not counted. (Hockney
// 1994; Chan, Heimlich, Purkayastha, van de Geijn, "Collective communication", 2007.)
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "ringside/schedule.h"

namespace ringside::cli {

struct CostModel {
  double alpha = 5e-6;  ///< seconds to start a message
  double beta = 1e-10;  ///< seconds per byte on one direction of a link
};

/// The ordered pair of ranks between which most bytes pass in all.
struct BusiestLink {
  int source = 0;
  int destination = 0;
  std::size_t bytes = 0;
  std::size_t messages = 0;
};

struct AlgorithmCost {
  Algorithm algorithm = Algorithm::kRing;
  std::size_t rounds = 0;
  std::size_t messages = 0;
  std::size_t sent = 0;      ///< bytes, by the rank that sends most
  std::size_t received = 0;  ///< bytes, by the rank that receives most
  BusiestLink link;
  double seconds = 0;
  std::string why_rounds;  ///< a sentence
  std::string why_bytes;   ///< a sentence
};

/// What no algorithm beats. Each is a bound of its own; seconds is the larger of both.
struct LowerBound {
  std::size_t rounds = 0;
  std::size_t bytes = 0;  ///< through the busiest port in one direction
  double seconds = 0;
};

struct Explanation {
  ScheduleRequest request;  ///< with the algorithm that was asked for or chosen
  std::size_t bytes = 0;    ///< S
  CostModel model;
  std::vector<AlgorithmCost> algorithms;  ///< all of the operation, the one of `request` first
  LowerBound bound;
  std::vector<std::string> conclusions;  ///< sentences
};

/// The time of one schedule in the model, in seconds.
double model_seconds(const Schedule& schedule, const CostModel& model);

/// Pure. Throws what make_schedule throws.
Explanation explain(const ScheduleRequest& request, const CostModel& model);

std::string explanation_text(const Explanation& explanation);
std::string explanation_document(const Explanation& explanation);

}  // namespace ringside::cli
