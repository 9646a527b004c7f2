// Tensor: making, viewing, reading back.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "ringside/error.h"
#include "tensor/operator.h"
#include "tensor/tensor_impl.h"

namespace ringside {
namespace {

using Bytes = std::pmr::vector<std::byte>;

/// On the host, for one copy from or to the device.
std::shared_ptr<Bytes> staging(Device& device, std::size_t bytes) {
  return std::allocate_shared<Bytes>(std::pmr::polymorphic_allocator<>(&device.host_memory()),
                                     bytes);
}

template <typename T>
T converted(double value) {
  if constexpr (std::is_integral_v<T>) {
    // 2^63 is the first double beyond int64; half of it and one are exact for every type.
    constexpr double kLeast = static_cast<double>(std::numeric_limits<T>::min());
    constexpr T kHalf = std::numeric_limits<T>::max() / 2 + 1;
    constexpr double kBeyond = 2 * static_cast<double>(kHalf);
    if (!(value >= kLeast && value < kBeyond)) {
      throw Error(ErrorKind::kInvalidInput,
                  fmt::format("the value {} does not fit {}", value, to_string(dtype_of<T>())));
    }
  }
  return static_cast<T>(value);
}

/// `place` has room for all.
void to_bytes(std::byte* place, std::span<const double> values, DType dtype) {
  visit_dtype(dtype, [&]<typename T>() {
    for (const double value : values) {
      const T element = converted<T>(value);
      std::memcpy(place, &element, sizeof(T));
      place += sizeof(T);
    }
  });
}

/// As many values as there is room for.
void from_bytes(std::span<double> values, const std::byte* place, DType dtype) {
  visit_dtype(dtype, [&]<typename T>() {
    for (double& value : values) {
      T element;
      std::memcpy(&element, place, sizeof(T));
      value = static_cast<double>(element);
      place += sizeof(T);
    }
  });
}

/// The tensor's bytes; blocks until they are there. None where nothing executes.
std::shared_ptr<const Bytes> read_back(const Tensor& tensor) {
  Device& device = tensor.device();
  // Shared with the launch, which may still run after an error has ended the wait for it.
  const auto staged = staging(device, device.executes() ? tensor.bytes() : 0);
  submit_copy(device, "copy-device-to-host", tensor.name(), tensor.bytes(), {{tensor, "input"}}, {},
              [staged, from = tensor.array()](LaunchContext& context) {
                context.kernels.copy_to_host(context, staged->data(), from);
              });
  device.compute().synchronize();
  return staged;
}

/// All are `healthy` where nothing executes.
void read_values(std::span<double> values, const Tensor& tensor, double healthy) {
  const std::shared_ptr<const Bytes> bytes = read_back(tensor);
  if (tensor.device().executes()) {
    from_bytes(values, bytes->data(), tensor.dtype());
  } else {
    std::fill(values.begin(), values.end(), healthy);
  }
}

/// `fill(place)` writes the tensor's bytes; not called where nothing executes.
template <typename Fill>
Tensor sent_to_device(Device& device, const Shape& shape, DType dtype, MemoryKind kind,
                      std::string_view name, const Fill& fill) {
  Tensor tensor = Tensor::empty(device, shape, dtype, kind, name);
  const auto staged = staging(device, device.executes() ? tensor.bytes() : 0);
  if (device.executes()) fill(staged->data());
  submit_copy(device, "copy-host-to-device", tensor.name(), tensor.bytes(), {},
              {{tensor, "output"}}, [to = tensor.array(), staged](LaunchContext& context) {
                context.kernels.copy_from_host(context, to, staged->data());
              });
  return tensor;
}

}  // namespace

// ---------------------------------------------------------------- making

Tensor Tensor::view(Device& device, const Buffer& buffer, std::size_t offset, const Shape& shape,
                    DType dtype, std::string_view name) {
  auto impl = Impl::make(device);
  impl->buffer = buffer;
  impl->array = buffer.array(dtype, shape, offset);
  impl->name = name;
  const std::size_t available = buffer ? buffer.storage()->bytes() : 0;
  if (offset > available || impl->array.bytes() > available - offset ||
      offset % size_of(dtype) != 0) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("view: {} elements of {} from byte {} on do not lie in a buffer of {} "
                            "bytes",
                            shape.numel(), to_string(dtype), offset, available));
  }
  return Tensor(std::move(impl));
}

Tensor Tensor::empty(Device& device, const Shape& shape, DType dtype, MemoryKind kind,
                     std::string_view name) {
  const std::size_t bytes = static_cast<std::size_t>(shape.numel()) * size_of(dtype);
  return view(device, device.allocate(bytes, kind), 0, shape, dtype, name);
}

Tensor Tensor::full(Device& device, const Shape& shape, DType dtype, double value, MemoryKind kind,
                    std::string_view name) {
  Tensor tensor = empty(device, shape, dtype, kind, name);
  fill_in_place(tensor, value);
  return tensor;
}

Tensor Tensor::from_host(Device& device, const Shape& shape, DType dtype,
                         std::span<const double> values, MemoryKind kind, std::string_view name) {
  if (values.size() != static_cast<std::size_t>(shape.numel())) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("from_host: {} values do not fill shape {} of {} elements",
                            values.size(), to_string(shape), shape.numel()));
  }
  return sent_to_device(device, shape, dtype, kind, name,
                        [&](std::byte* place) { to_bytes(place, values, dtype); });
}

Tensor Tensor::from_host_bytes(Device& device, const Shape& shape, DType dtype,
                               std::span<const std::byte> bytes, MemoryKind kind,
                               std::string_view name) {
  if (bytes.size() != static_cast<std::size_t>(shape.numel()) * size_of(dtype)) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("from_host_bytes: {} bytes do not fill shape {} of {} elements of {}",
                            bytes.size(), to_string(shape), shape.numel(), to_string(dtype)));
  }
  return sent_to_device(device, shape, dtype, kind, name,
                        [&](std::byte* place) { std::copy(bytes.begin(), bytes.end(), place); });
}

// ---------------------------------------------------------------- reading

std::vector<double> host_values(const Tensor& tensor, double healthy) {
  check_defined("host_values", {{tensor, "tensor"}});
  std::vector<double> values(static_cast<std::size_t>(tensor.numel()));
  read_values(values, tensor, healthy);
  return values;
}

std::vector<std::byte> host_bytes(const Tensor& tensor) {
  check_defined("host_bytes", {{tensor, "tensor"}});
  const std::shared_ptr<const Bytes> bytes = read_back(tensor);
  if (!tensor.device().executes()) return std::vector<std::byte>(tensor.bytes());
  return {bytes->begin(), bytes->end()};
}

double host_value(const Tensor& tensor, double healthy) {
  check_defined("host_value", {{tensor, "tensor"}});
  if (tensor.numel() != 1) {
    fail("host_value", fmt::format("tensor {} must have one element", to_string(tensor.shape())));
  }
  double value = 0;
  read_values({&value, 1}, tensor, healthy);
  return value;
}

// ---------------------------------------------------------------- members

Device& Tensor::device() const { return *impl_->device; }
const Shape& Tensor::shape() const { return impl_->array.shape; }
DType Tensor::dtype() const { return impl_->array.dtype; }
const Buffer& Tensor::buffer() const { return impl_->buffer; }
const DeviceArray& Tensor::array() const { return impl_->array; }
std::string_view Tensor::name() const { return impl_->name; }
void Tensor::set_name(std::string_view name) { impl_->name = name; }

bool Tensor::requires_grad() const { return impl_->requires_grad || impl_->grad_fn != nullptr; }

void Tensor::set_requires_grad(bool requires_grad) {
  if (requires_grad && !is_trainable(dtype())) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("tensor '{}' is {}: only floating-point tensors can require gradients",
                            name(), to_string(dtype())));
  }
  if (impl_->grad_fn != nullptr) {
    throw Error(
        ErrorKind::kInvalidArgument,
        "requires_grad can be set on leaves only; use detach() for a result of an operator");
  }
  impl_->requires_grad = requires_grad;
}

const std::shared_ptr<Node>& Tensor::grad_fn() const { return impl_->grad_fn; }

void Tensor::set_grad_fn(std::shared_ptr<Node> node, int output) {
  impl_->grad_fn = std::move(node);
  impl_->output = output;
}

Edge Tensor::gradient_edge() const {
  if (impl_->grad_fn != nullptr) return {impl_->grad_fn, impl_->output};
  if (!impl_->requires_grad) return {};
  if (impl_->accumulator == nullptr) impl_->accumulator = std::make_shared<Accumulator>(impl_);
  return {impl_->accumulator, 0};
}

Tensor Tensor::grad() const { return impl_->grad; }
void Tensor::set_grad(Tensor grad) { impl_->grad = std::move(grad); }
void Tensor::add_accumulate_hook(const void* owner, std::function<void(Tensor&)> hook) {
  impl_->hooks.push_back({owner, std::move(hook)});
}

void Tensor::remove_accumulate_hooks(const void* owner) {
  auto& hooks = impl_->hooks;
  hooks.erase(std::remove_if(hooks.begin(), hooks.end(),
                             [&](const AccumulateHook& hook) { return hook.owner == owner; }),
              hooks.end());
}

Tensor Tensor::detach() const {
  auto impl = Impl::make(*impl_->device);
  impl->buffer = impl_->buffer;
  impl->array = impl_->array;
  impl->name = impl_->name;
  return Tensor(std::move(impl));
}

bool Tensor::shared() const { return impl_.use_count() > 1 || impl_->buffer.shared(); }

}  // namespace ringside
