// The data sets behind load_dataset, one source file each.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ringside/data.h"

namespace ringside {

/// More values than this (4 GiB of float32) are refused, whatever a file or a user claims.
inline constexpr std::int64_t kMaxDatasetValues = std::int64_t{1} << 30;

/// The digits shipped with the program.
TrainTest load_digits();
/// Rows of 64 pixels 0 to 16 and a label 0 to 9. `name` is for messages.
Dataset parse_digits_csv(const std::string& name, std::string_view text);

/// The four IDX files of MNIST (or of a look-alike with 10 classes) in `directory`.
/// [yann.lecun.com/exdb/mnist, "File formats"]
TrainTest load_mnist(const std::string& directory);

/// The bytes of a file (gzip if its name ends in ".gz"), in sequences of `tokens`.
TrainTest load_text(const std::string& path, std::int64_t tokens);

/// What "random:N:SHAPE:CLASSES" says after the first colon.
TrainTest make_random_dataset(std::string_view parameters, std::uint64_t seed);

}  // namespace ringside
