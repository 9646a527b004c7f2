// Activations and dropout.
#include <cmath>
#include <numbers>

#include "backends/cuda/cuda_kernels.h"
#include "backends/cuda/elements.cuh"
#include "backends/cuda/floating.h"
#include "backends/cuda/functions.cuh"
#include "tensor/philox.h"

namespace ringside::cuda {
namespace {

template <typename T>
struct Relu {
  T* y;
  const T* x;
  template <int N>
  __device__ void at(std::size_t i) const {
    auto values = load<N>(x + i);
    // Written so that NaN stays NaN.
    for (int n = 0; n < N; ++n) values[n] = values[n] <= T(0) ? T(0) : values[n];
    store(y + i, values);
  }
};

template <typename T>
struct ReluBackward {
  T* dx;
  const T* dy;
  const T* y;
  template <int N>
  __device__ void at(std::size_t i) const {
    auto gradient = load<N>(dy + i);
    const auto activation = load<N>(y + i);
    for (int n = 0; n < N; ++n) gradient[n] = activation[n] <= T(0) ? T(0) : gradient[n];
    store(dx + i, gradient);
  }
};

template <typename T>
struct Tanh {
  T* y;
  const T* x;
  template <int N>
  __device__ void at(std::size_t i) const {
    auto values = load<N>(x + i);
    for (int n = 0; n < N; ++n) values[n] = vector_tanh(values[n]);
    store(y + i, values);
  }
};

template <typename T>
struct TanhBackward {
  T* dx;
  const T* dy;
  const T* y;
  template <int N>
  __device__ void at(std::size_t i) const {
    auto gradient = load<N>(dy + i);
    const auto activation = load<N>(y + i);
    for (int n = 0; n < N; ++n) gradient[n] *= T(1) - activation[n] * activation[n];
    store(dx + i, gradient);
  }
};

template <typename T>
inline constexpr T kInverseRoot2 = T(1) / std::numbers::sqrt2_v<T>;
template <typename T>
inline constexpr T kInverseRoot2Pi = std::numbers::inv_sqrtpi_v<T>* kInverseRoot2<T>;

template <typename T>
struct Gelu {
  T* y;
  const T* x;
  template <int N>
  __device__ void at(std::size_t i) const {
    auto values = load<N>(x + i);
    for (int n = 0; n < N; ++n) {
      values[n] = T(0.5) * values[n] * (T(1) + device_erf(values[n] * kInverseRoot2<T>));
    }
    store(y + i, values);
  }
};

template <typename T>
struct GeluBackward {
  T* dx;
  const T* dy;
  const T* x;
  template <int N>
  __device__ void at(std::size_t i) const {
    auto gradient = load<N>(dy + i);
    const auto in = load<N>(x + i);
    for (int n = 0; n < N; ++n) {
      const T below = T(0.5) * (T(1) + device_erf(in[n] * kInverseRoot2<T>));
      const T density = kInverseRoot2Pi<T> * device_exp(T(-0.5) * in[n] * in[n]);
      gradient[n] = gradient[n] * (below + in[n] * density);
    }
    store(dx + i, gradient);
  }
};

/// Element i takes word i % 4 of block i / 4 of its key's numbers, as on the CPU.
template <typename T>
struct Dropout {
  T* y;
  const T* x;
  T scale;
  std::uint64_t dropped;  // words below it
  RandomKey key;
  template <int N>
  __device__ void at(std::size_t i) const {
    static_assert(N <= 4, "a vector takes its words from one block");
    const PhiloxKey seed{static_cast<std::uint32_t>(key.seed),
                         static_cast<std::uint32_t>(key.seed >> 32)};
    const PhiloxCounter words =
        philox({static_cast<std::uint32_t>(i / 4), key.draw, key.step, key.rank}, seed);
    auto values = load<N>(x + i);
    for (int n = 0; n < N; ++n) {
      values[n] = words[(i + static_cast<std::size_t>(n)) % 4] < dropped ? T(0) : values[n] * scale;
    }
    store(y + i, values);
  }
};

/// Bodies whose arrays are all of one type and named in the order of the body.
template <template <typename> class Body, typename... Arrays>
void run(const LaunchContext& context, const DeviceArray& out, const Arrays&... in) {
  visit_trainable(out.dtype, [&]<typename T>() {
    for_elements<T>(context, out.count(), {out.raw(), in.raw()...},
                    Body<T>{out.data<T>(), in.template data<T>()...});
  });
}

}  // namespace

void CudaKernels::relu(LaunchContext& context, const DeviceArray& y, const DeviceArray& x) {
  run<Relu>(context, y, x);
}

void CudaKernels::relu_backward(LaunchContext& context, const DeviceArray& dx,
                                const DeviceArray& dy, const DeviceArray& y) {
  run<ReluBackward>(context, dx, dy, y);
}

void CudaKernels::tanh(LaunchContext& context, const DeviceArray& y, const DeviceArray& x) {
  run<Tanh>(context, y, x);
}

void CudaKernels::tanh_backward(LaunchContext& context, const DeviceArray& dx,
                                const DeviceArray& dy, const DeviceArray& y) {
  run<TanhBackward>(context, dx, dy, y);
}

void CudaKernels::gelu(LaunchContext& context, const DeviceArray& y, const DeviceArray& x) {
  run<Gelu>(context, y, x);
}

void CudaKernels::gelu_backward(LaunchContext& context, const DeviceArray& dx,
                                const DeviceArray& dy, const DeviceArray& x) {
  run<GeluBackward>(context, dx, dy, x);
}

void CudaKernels::dropout(LaunchContext& context, const DeviceArray& y, const DeviceArray& x,
                          double p, const RandomKey& key) {
  visit_trainable(y.dtype, [&]<typename T>() {
    const T scale = p < 1 ? static_cast<T>(1 / (1 - p)) : T(0);
    const Dropout<T> body{y.data<T>(), x.data<T>(), scale,
                          static_cast<std::uint64_t>(p * 4294967296.0), key};
    for_elements<T>(context, y.count(), {body.y, body.x}, body);
  });
}

}  // namespace ringside::cuda
