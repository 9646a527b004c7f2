// Filling, linear combinations, and conversion.
#include "backends/cuda/cuda_kernels.h"
#include "backends/cuda/elements.cuh"
#include "backends/cuda/floating.h"

namespace ringside::cuda {
namespace {

template <typename T>
struct Fill {
  T* out;
  T value;
  template <int N>
  __device__ void at(std::size_t i) const {
    Pack<T, N> filled;
    for (int n = 0; n < N; ++n) filled[n] = value;
    store(out + i, filled);
  }
};

template <typename T>
struct Add {
  T* out;
  const T* a;
  const T* b;
  T alpha, beta;
  template <int N>
  __device__ void at(std::size_t i) const {
    const auto left = load<N>(a + i);
    const auto right = load<N>(b + i);
    Pack<T, N> sum;
    for (int n = 0; n < N; ++n) {
      sum[n] = rounded<T>(widened(alpha) * widened(left[n]) + widened(beta) * widened(right[n]));
    }
    store(out + i, sum);
  }
};

template <typename T>
struct Scale {
  T* out;
  const T* a;
  T factor;
  template <int N>
  __device__ void at(std::size_t i) const {
    auto values = load<N>(a + i);
    for (int n = 0; n < N; ++n) values[n] *= factor;
    store(out + i, values);
  }
};

template <typename T>
struct Divide {
  T* out;
  const T* a;
  Wide<T> divisor;
  template <int N>
  __device__ void at(std::size_t i) const {
    auto values = load<N>(a + i);
    for (int n = 0; n < N; ++n) values[n] = rounded<T>(widened(values[n]) / divisor);
    store(out + i, values);
  }
};

template <typename To, typename From>
struct Convert {
  To* out;
  const From* a;
  template <int N>
  __device__ void at(std::size_t i) const {
    const auto from = load<N>(a + i);
    Pack<To, N> to;
    for (int n = 0; n < N; ++n) to[n] = rounded<To>(widened(from[n]));
    store(out + i, to);
  }
};

}  // namespace

void CudaKernels::fill(LaunchContext& context, const DeviceArray& out, double value) {
  visit_any(out.dtype, [&]<typename T>() {
    T* to = out.data<T>();
    for_elements<T>(context, out.count(), {to}, Fill<T>{to, rounded<T>(value)});
  });
}

void CudaKernels::add(LaunchContext& context, const DeviceArray& out, double alpha,
                      const DeviceArray& a, double beta, const DeviceArray& b) {
  visit_any(out.dtype, [&]<typename T>() {
    const Add<T> body{out.data<T>(), a.data<T>(), b.data<T>(), rounded<T>(alpha), rounded<T>(beta)};
    for_elements<T>(context, out.count(), {body.out, body.a, body.b}, body);
  });
}

void CudaKernels::scale(LaunchContext& context, const DeviceArray& out, const DeviceArray& a,
                        double factor) {
  visit_trainable(out.dtype, [&]<typename T>() {
    const Scale<T> body{out.data<T>(), a.data<T>(), static_cast<T>(factor)};
    for_elements<T>(context, out.count(), {body.out, body.a}, body);
  });
}

void CudaKernels::divide(LaunchContext& context, const DeviceArray& out, const DeviceArray& a,
                         double divisor) {
  visit_any_floating(out.dtype, [&]<typename T>() {
    const Divide<T> body{out.data<T>(), a.data<T>(), widened(rounded<T>(divisor))};
    for_elements<T>(context, out.count(), {body.out, body.a}, body);
  });
}

void CudaKernels::convert(LaunchContext& context, const DeviceArray& out, const DeviceArray& a) {
  visit_any_floating(out.dtype, [&]<typename To>() {
    visit_any_floating(a.dtype, [&]<typename From>() {
      using Widest = std::conditional_t<(sizeof(To) > sizeof(From)), To, From>;
      const Convert<To, From> body{out.data<To>(), a.data<From>()};
      for_elements<Widest>(context, out.count(), {body.out, body.a}, body);
    });
  });
}

}  // namespace ringside::cuda
