// Division and conversion, which also the floating types of 16 bits have.
#include <string>
#include <type_traits>

#include "tensor/cpu_kernel_set.h"

namespace ringside {
namespace {

/// visit_dtype for the four floating types.
template <typename Visitor>
void visit_any_floating(DType dtype, Visitor&& visitor) {
  if (!is_floating(dtype)) {
    throw Error(ErrorKind::kInvalidArgument,
                "this CPU kernel works on floating types, not on " + std::string(to_string(dtype)));
  }
  visit_dtype(dtype, std::forward<Visitor>(visitor));
}

/// What values of a type are computed in.
template <typename T>
using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;

}  // namespace

void CpuKernels::divide(LaunchContext&, const DeviceArray& out, const DeviceArray& a,
                        double divisor) {
  visit_any_floating(out.dtype, [&]<typename T>() {
    T* quotients = out.data<T>();
    const T* values = a.data<T>();
    const Wide<T> rounded = static_cast<Wide<T>>(static_cast<T>(divisor));
    const std::size_t count = out.count();
    for (std::size_t i = 0; i < count; ++i) {
      quotients[i] = static_cast<T>(static_cast<Wide<T>>(values[i]) / rounded);
    }
  });
}

void CpuKernels::convert(LaunchContext&, const DeviceArray& out, const DeviceArray& a) {
  visit_any_floating(out.dtype, [&]<typename To>() {
    visit_any_floating(a.dtype, [&]<typename From>() {
      To* __restrict to = out.data<To>();
      const From* __restrict from = a.data<From>();
      const std::size_t count = out.count();
      for (std::size_t i = 0; i < count; ++i) {
        to[i] = static_cast<To>(static_cast<Wide<From>>(from[i]));
      }
    });
  });
}

}  // namespace ringside
