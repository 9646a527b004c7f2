// Data sets, samplers and the loader.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ringside/tensor.h"

namespace ringside {

/// Samples held in host memory, scaled to [0, 1]; or a text, cut into sequences of tokens.
struct Dataset {
  std::string name;
  Shape sample_shape;  ///< without the batch dimension: {64}, {1,28,28}; of a text {tokens}
  std::int64_t classes = 0;
  std::vector<float> samples;  ///< size() * sample_shape.numel()
  std::vector<std::int64_t> targets;
  /// Instead of samples and targets: a text's bytes. With L tokens in a sample, sample i are the
  /// bytes from i L on, and its targets the bytes from i L + 1 on, one for each token.
  std::vector<unsigned char> text = {};

  bool is_text() const { return !text.empty(); }
  std::int64_t targets_per_sample() const { return is_text() ? sample_shape[0] : 1; }
  std::int64_t size() const {
    if (!is_text()) return static_cast<std::int64_t>(targets.size());
    return (static_cast<std::int64_t>(text.size()) - 1) / sample_shape[0];
  }
};

struct TrainTest {
  Dataset train;
  Dataset test;
};

/// "digits" (shipped; rows 0 to 1535 train, the last 261 test), "mnist:DIR" (IDX files, plain or
/// .gz), "random:N:SHAPE:CLASSES" (SHAPE as 64 or 1x28x28; from `seed`; the last sixth is the test
/// part), "text:FILE" (bytes in sequences of `tokens`; the last tenth of the file is the test
/// part). Throws Error(kInvalidArgument / kInvalidInput) naming file, place and values.
TrainTest load_dataset(std::string_view spec, std::uint64_t seed, std::int64_t tokens = 64);

struct SamplerOptions {
  bool shuffle = true;
  std::uint64_t seed = 0;
  bool drop_last = false;
};

/// torch.utils.data.DistributedSampler: indices of `rank` of `replicas` for `epoch`.
/// [utils/data/distributed.py] Throws Error(kInvalidArgument) for a rank outside [0, replicas).
std::vector<std::int64_t> distributed_sampler(std::int64_t length, int replicas, int rank,
                                              std::int64_t epoch, const SamplerOptions& options);

/// One batch on a device.
struct Batch {
  Tensor inputs;   ///< [B, sample_shape...]; of a text int64
  Tensor targets;  ///< int64 [B]; of a text [B, tokens]
  std::int64_t rows() const { return targets.defined() ? targets.shape()[0] : 0; }
};

struct LoaderOptions {
  std::int64_t batch_size = 64;
  bool drop_last = false;
  int workers = 0;            ///< host threads that read ahead; 0 = the calling thread reads
  int prefetch = 2;           ///< batches read ahead per worker (bounded)
  bool pin_memory = false;    ///< an extra host copy into pinned memory, traced
  bool non_blocking = false;  ///< with pinned memory the device copy does not block the host
  DType dtype = DType::kFloat32;
};

/// Batches of `dataset` in the order of `indices`, whatever the number of workers. Host read, pin
/// copy and device copy are traced ops of phase load: "host-read" and "pin-copy" on host thread
/// "loader", "copy-host-to-device" on the copy stream, and "wait-copy" where the host waits for it
/// (always, unless pin_memory and non_blocking). Closing it early stops the workers. Used by one
/// host thread.
class Loader {
 public:
  virtual ~Loader() = default;
  /// The next batch on the device (enqueued on its copy stream, the compute stream waits); false at
  /// the end. Throws what a worker threw.
  virtual bool next(Batch& batch) = 0;
  virtual std::int64_t batches() const = 0;
};
/// `dataset` and `device` must outlive the loader. Throws Error(kInvalidArgument) for options out
/// of range; an index outside of the data set throws from next().
std::unique_ptr<Loader> make_loader(const Dataset& dataset, std::vector<std::int64_t> indices,
                                    Device& device, const LoaderOptions& options);

}  // namespace ringside
