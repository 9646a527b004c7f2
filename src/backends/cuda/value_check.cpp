#include "backends/cuda/value_check.h"

#include <fmt/format.h>

#include "backends/cuda/check.h"
#include "ringside/error.h"

namespace ringside::cuda {

std::string describe(const ValueReport& report) {
  switch (report.kernel) {
    case Checked::kEmbedding:
      return fmt::format("embedding: index {} at place {} is outside [0, {})", report.value,
                         report.place, report.limit);
    case Checked::kCountCorrect:
      return fmt::format("count_correct: target {} of row {} is outside [0, {})", report.value,
                         report.place, report.limit);
    case Checked::kCrossEntropy:
      break;
  }
  return fmt::format("cross_entropy: target {} of row {} is outside [0, {})", report.value,
                     report.place, report.limit);
}

std::string remedy(const ValueReport& report) {
  if (report.kernel == Checked::kEmbedding) {
    return fmt::format("the table has {} rows; tokens must be numbers from 0 to {}", report.limit,
                       report.limit - 1);
  }
  return fmt::format("the model has {} outputs; targets must be class numbers from 0 to {}",
                     report.limit, report.limit - 1);
}

ValueCheck::ValueCheck() {
  RINGSIDE_CUDA_CHECK(cudaMalloc(&report_, sizeof(ValueReport)));
  try {
    RINGSIDE_CUDA_CHECK(cudaHostAlloc(&reported_, sizeof(int), cudaHostAllocMapped));
    forget();
  } catch (...) {
    static_cast<void>(cudaFree(report_));
    throw;
  }
}

ValueCheck::~ValueCheck() {
  static_cast<void>(cudaFree(report_));
  static_cast<void>(cudaFreeHost(reported_));
}

void ValueCheck::forget() {
  const ValueReport none;
  RINGSIDE_CUDA_CHECK(cudaMemcpy(report_, &none, sizeof none, cudaMemcpyHostToDevice));
  *reported_ = 0;
}

void ValueCheck::throw_if_reported() {
  if (*static_cast<volatile int*>(reported_) == 0) return;
  ValueReport report{};
  RINGSIDE_CUDA_CHECK(cudaMemcpy(&report, report_, sizeof report, cudaMemcpyDeviceToHost));
  forget();
  throw Error(ErrorKind::kInvalidInput, describe(report), remedy(report));
}

}  // namespace ringside::cuda
