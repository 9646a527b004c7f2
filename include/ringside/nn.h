// Modules: layers with named parameters and buffers, and the models made of them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ringside/tensor.h"
#include "ringside/value.h"

namespace ringside {

/// Which of PyTorch's CPU kernels draw; the last bits of what they compute differ.
/// [ATEN_CPU_CAPABILITY]
enum class CpuCapability : std::uint8_t {
  kAvx2,    ///< fused multiply-adds, and vector functions for float32 normals: every recent CPU
  kDefault  ///< products and sums rounded one by one, and the C library's functions
};

/// PyTorch's CPU generator (MT19937, seed folded to 32 bits): the same draws, bit for bit.
/// [ATen/core/MT19937RNGEngine.h]
class Generator {
 public:
  explicit Generator(std::uint64_t seed, CpuCapability capability = CpuCapability::kAvx2);
  std::uint32_t next_u32();
  /// (first draw << 32) | second draw.
  std::uint64_t next_u64();
  /// torch.rand in `dtype` (float32: 24 bits of one u32; float64: 53 bits of one u64), times (to -
  /// from), plus from.
  double uniform(double from, double to, DType dtype);
  /// torch.randint(low, high).
  std::int64_t randint(std::int64_t low, std::int64_t high);
  /// torch.randperm(n), 1.13.1.
  std::vector<std::int64_t> randperm(std::int64_t n);
  /// torch.randn(n) in `dtype`: both branches (below 16 elements; 16 and more) and the cache
  /// between calls.
  std::vector<double> randn(std::size_t n, DType dtype) { return normal(n, 0, 1, dtype); }
  /// torch.empty(n).normal_(mean, deviation) in `dtype`.
  std::vector<double> normal(std::size_t n, double mean, double deviation, DType dtype);

 private:
  double next_normal();

  std::mt19937 engine_;
  CpuCapability capability_;
  double cached_normal_ = 0;
  bool has_cached_normal_ = false;
};

struct NamedTensor {
  std::string name;  ///< "0.weight", "conv1.bias", "1.running_mean"
  Tensor tensor;
};

/// What a layer needs to be built.
struct ModuleContext {
  Device& device;
  /// parameters are drawn in float32 and cast, as PyTorch users do with .double()
  DType dtype = DType::kFloat32;
  Generator& generator;  ///< layers draw in the order they are constructed
};

class Module {
 public:
  virtual ~Module() = default;
  virtual Tensor forward(const Tensor& input) = 0;
  /// module(*positional, **keywords): what a wrapper calls. A module with more inputs or other
  /// outputs than a tensor overrides it; the others take one tensor, by its place or as `input`.
  /// Throws Error(kTrainingFailed), Python's TypeError: "forward() missing 1 required positional
  /// argument: 'input'".
  virtual Value call(const Arguments& arguments);
  /// "Linear(64, 32)".
  virtual std::string describe() const = 0;

  /// Depth first, in registration order, each module's own before its children's; `prefix` such as
  /// "module.". A tensor in several places is listed once, under its first name (state_dict lists
  /// it under each).
  std::vector<NamedTensor> named_parameters(const std::string& prefix = {}) const;
  std::vector<NamedTensor> named_buffers(const std::string& prefix = {}) const;
  /// Parameters and buffers in PyTorch's order (per module: parameters, then buffers, then
  /// children).
  std::vector<NamedTensor> state_dict(const std::string& prefix = {}) const;
  /// Copies the values of `state` in. Throws Error(kInvalidInput) naming missing and unexpected
  /// keys and wrong shapes.
  void load_state_dict(const std::vector<NamedTensor>& state, const std::string& prefix = {});

  bool training() const { return training_; }
  /// Sets the mode of this module and all its children.
  void train(bool training = true);

  /// Whether forward uses the second head of a model that has one ("mlp:64,32,10:heads"); copies
  /// keep the choice. Parameters of a head that is not used take no part in the loss. Throws
  /// Error(kInvalidArgument) for a module without a second head.
  virtual void use_second_head(bool use);

  /// How often forward has run, by the own count of a model that has one ("mlp:64,32,10:counted"),
  /// an attribute that copies take along; none of the others.
  virtual std::optional<std::int64_t> calls() const { return std::nullopt; }

  /// SyncBatchNorm: in training, every batch normalisation in this module takes the statistics of
  /// all ranks of `exchange` from now on. Returns how many there are.
  /// [torch.nn.SyncBatchNorm.convert_sync_batchnorm]
  virtual int synchronise_batch_norm(const std::shared_ptr<const RankExchange>& exchange);

  /// A copy with the same structure, sharing every tensor (the start of a replica).
  virtual std::shared_ptr<Module> shallow_copy() const = 0;
  /// Replaces parameters and buffers by others on another device, in the order of named_parameters
  /// and named_buffers. Throws Error(kInvalidArgument) for another number of them.
  void replace_tensors(const std::vector<Tensor>& parameters, const std::vector<Tensor>& buffers);
  /// Replaces one parameter or buffer by name. Throws Error(kInvalidArgument) naming the nearest
  /// existing name.
  void replace_tensor(std::string_view name, Tensor tensor);

 protected:
  Module() = default;
  Module(const Module& other);  // children are shallow-copied
  /// Each returns the index for parameter(i), buffer(i), child(i). A parameter is made to require
  /// grad; the tensors get the name, and a child's tensors their path in front: "0.weight".
  std::size_t register_parameter(std::string name, Tensor tensor);
  std::size_t register_buffer(std::string name, Tensor tensor);
  std::size_t register_child(std::string name, std::shared_ptr<Module> child);
  const Tensor& parameter(std::size_t index) const { return parameters_[index].tensor; }
  const Tensor& buffer(std::size_t index) const { return buffers_[index].tensor; }
  Module& child(std::size_t index) const { return *children_[index].second; }
  std::size_t children() const { return children_.size(); }

 private:
  enum class SlotKind : std::uint8_t { kParameter, kBuffer };
  /// Self is Module or const Module; calls visit(prefix, slot, kind).
  template <typename Self, typename Visitor>
  static void visit_slots(Self& self, const std::string& prefix, const Visitor& visit);
  std::vector<NamedTensor> listed(const std::string& prefix, SlotKind kind) const;

  std::vector<NamedTensor> parameters_;
  std::vector<NamedTensor> buffers_;
  std::vector<std::pair<std::string, std::shared_ptr<Module>>> children_;
  bool training_ = true;
};

// Layers with PyTorch's default initialisation (kaiming_uniform(a=sqrt 5), nn/modules/linear.py,
// conv.py).
std::shared_ptr<Module> make_linear(const ModuleContext& context, std::int64_t in, std::int64_t out,
                                    bool bias = true);
std::shared_ptr<Module> make_conv2d(const ModuleContext& context, std::int64_t in, std::int64_t out,
                                    std::int64_t kernel, const Conv2dOptions& options = {},
                                    bool bias = true);
std::shared_ptr<Module> make_relu();
std::shared_ptr<Module> make_tanh();
std::shared_ptr<Module> make_gelu();
std::shared_ptr<Module> make_flatten();
std::shared_ptr<Module> make_max_pool2d(const Pool2dOptions& options = {});
std::shared_ptr<Module> make_avg_pool2d(const Pool2dOptions& options = {});
/// Weight 1, bias 0, running mean 0, running variance 1, int64 counter num_batches_tracked; input
/// [B,C] (or [B,C,L]).
std::shared_ptr<Module> make_batch_norm1d(const ModuleContext& context, std::int64_t channels,
                                          double momentum = 0.1, double epsilon = 1e-5);
/// The same for input [B,C,H,W].
std::shared_ptr<Module> make_batch_norm2d(const ModuleContext& context, std::int64_t channels,
                                          double momentum = 0.1, double epsilon = 1e-5);
/// Over the last dimension; weight 1, bias 0.
std::shared_ptr<Module> make_layer_norm(const ModuleContext& context, std::int64_t width,
                                        double epsilon = 1e-5);
/// In training zeroes elements with probability p and divides the others by 1 - p; else gives its
/// input. Draws from the input's device (Device::next_random_key). Throws for p outside [0, 1].
std::shared_ptr<Module> make_dropout(double p = 0.5);
/// Weight [rows, width] from the normal distribution; input int64.
std::shared_ptr<Module> make_embedding(const ModuleContext& context, std::int64_t rows,
                                       std::int64_t width);
/// An embedding of places, added to the input [B,T,width], T <= places.
std::shared_ptr<Module> make_positions(const ModuleContext& context, std::int64_t places,
                                       std::int64_t width);
/// Multi-head attention of a sequence [B,T,width] to itself: children "c_attn" (width to 3 width:
/// query, key, value) and "c_proj". Throws for a width that heads do not divide.
std::shared_ptr<Module> make_self_attention(const ModuleContext& context, std::int64_t width,
                                            std::int64_t heads, bool causal = true);
/// y = shortcut(x) + body(x); without a shortcut x + body(x). Children "body", "shortcut".
std::shared_ptr<Module> make_residual(std::shared_ptr<Module> body,
                                      std::shared_ptr<Module> shortcut = nullptr);
/// Children "0", "1", ...
std::shared_ptr<Module> make_sequential(std::vector<std::shared_ptr<Module>> layers);

/// The model zoo by name: "mlp:64,32,10" (ReLU between; ":tanh", ":bn" for BatchNorm1d before each
/// ReLU, ":heads" for two heads that are added, ":backwards" for layers registered from the last to
/// the first, ":counted" for a count of its forwards), "lenet" (1x28x28, or 1x8x8 images padded;
/// classes from the data),
/// "resnet:8,16" (one residual block for each number of channels) and
/// "gpt:layers=2,heads=2,width=64,context=64,dropout=0" (int64 tokens [B,T] to logits
/// [B,T,classes]). Throws Error(kInvalidArgument) that shows the grammar. `sample_shape` (without
/// the batch dimension) is checked against the model's input; an mlp flattens.
std::shared_ptr<Module> make_model(std::string_view spec, const ModuleContext& context,
                                   const Shape& sample_shape, std::int64_t classes);
/// The most tokens that a model takes at once; none for models of other samples. Throws for a
/// "gpt:" that cannot be read.
std::optional<std::int64_t> token_context(std::string_view spec);

}  // namespace ringside
