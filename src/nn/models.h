// The models behind make_model, and what reading their names takes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ringside/nn.h"

namespace ringside {

inline constexpr std::int64_t kLargestLayer = std::int64_t{1} << 24;
inline constexpr std::int64_t kMostModelParameters = std::int64_t{1} << 31;

/// Throws Error(kInvalidArgument) "model 'SPEC': FAULT" with the grammar as its hint.
[[noreturn]] void fail_model(std::string_view spec, const std::string& fault);
void check_classes(std::string_view spec, std::int64_t outputs, std::int64_t classes);
/// A whole number from 1 to kLargestLayer; `what` is for the message: "layer size".
std::int64_t parse_size(std::string_view spec, std::string_view what, std::string_view text);
/// "64,32,10".
std::vector<std::int64_t> parse_sizes(std::string_view spec, std::string_view what,
                                      std::string_view text);
/// The side of a square one-channel image, given as 1xNxN or as N*N values; 0 if it is none.
std::int64_t image_side(const Shape& sample_shape);

/// What "gpt" and "gpt:layers=2,heads=2,width=64,context=64,dropout=0" say.
struct GptSpec {
  std::int64_t layers = 2;
  std::int64_t heads = 2;
  std::int64_t width = 64;
  std::int64_t context = 64;
  double dropout = 0;
};
GptSpec parse_gpt(std::string_view spec);
std::shared_ptr<Module> make_gpt(std::string_view spec, const ModuleContext& context,
                                 const Shape& sample_shape, std::int64_t classes);

/// "cnn:32,64,128", "cnn:32,64,128:tanh": the channels of each convolution, and the hidden layer.
std::shared_ptr<Module> make_cnn(std::string_view spec, const ModuleContext& context,
                                 const Shape& sample_shape, std::int64_t classes);

/// "resnet:8,16": the channels of each stage.
std::shared_ptr<Module> make_resnet(std::string_view spec, const ModuleContext& context,
                                    const Shape& sample_shape, std::int64_t classes);

/// `layers` (child "layers") with a count of its forwards, as an attribute (Module::calls) and as
/// the buffer "seen".
std::shared_ptr<Module> make_counted_calls(const ModuleContext& context,
                                           std::shared_ptr<Module> layers);

}  // namespace ringside
