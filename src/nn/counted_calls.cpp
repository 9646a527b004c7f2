// A model that counts the calls of its forward, as people do to log every hundredth one: once in a
// plain attribute, once in a buffer. Under DataParallel the one is lost with the replicas.
#include <utility>

#include "nn/layer_base.h"
#include "nn/models.h"

namespace ringside {
namespace {

class CountedCalls final : public LayerBase<CountedCalls> {
 public:
  CountedCalls(const ModuleContext& context, std::shared_ptr<Module> layers) {
    register_child("layers", std::move(layers));
    register_buffer("seen", Tensor::full(context.device, Shape{}, DType::kFloat32, 0,
                                         MemoryKind::kParameters, "seen"));
  }
  Tensor forward(const Tensor& input) override {
    ++calls_;
    Tensor seen = buffer(0);
    add_in_place(
        seen, Tensor::full(seen.device(), Shape{}, seen.dtype(), 1, MemoryKind::kWorkspace, "one"));
    return child(0).forward(input);
  }
  std::optional<std::int64_t> calls() const override { return calls_; }
  std::string describe() const override {
    return fmt::format("CountedCalls({})", child(0).describe());
  }

 private:
  std::int64_t calls_ = 0;
};

}  // namespace

std::shared_ptr<Module> make_counted_calls(const ModuleContext& context,
                                           std::shared_ptr<Module> layers) {
  return std::make_shared<CountedCalls>(context, std::move(layers));
}

}  // namespace ringside
