// Which data set a name stands for.

#include <fmt/format.h>

#include <string>

#include "data/datasets.h"
#include "ringside/error.h"

namespace ringside {
namespace {

std::string path_in(std::string_view spec, std::string_view path, std::string_view what) {
  if (!path.empty()) return std::string(path);
  throw Error(ErrorKind::kInvalidArgument, fmt::format("data '{}': names no {}", spec, what),
              fmt::format("put the {} after the colon", what));
}

}  // namespace

TrainTest load_dataset(std::string_view spec, std::uint64_t seed, std::int64_t tokens) {
  if (spec == "digits") return load_digits();
  const std::size_t colon = spec.find(':');
  if (colon != std::string_view::npos) {
    const std::string_view name = spec.substr(0, colon);
    const std::string_view parameters = spec.substr(colon + 1);
    if (name == "mnist") return load_mnist(path_in(spec, parameters, "directory"));
    if (name == "random") return make_random_dataset(parameters, seed);
    if (name == "text") return load_text(path_in(spec, parameters, "file"), tokens);
  }
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("data '{}': must be digits, mnist:DIR, random:N:SHAPE:CLASSES or "
                          "text:FILE",
                          spec),
              "for example: digits, mnist:/data/mnist, random:6000:1x28x28:10, text:poems.txt");
}

}  // namespace ringside
