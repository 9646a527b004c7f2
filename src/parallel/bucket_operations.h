// What DDP does to a gradient on its way into a bucket, as recorded ops on the compute stream.
#pragma once

#include "parallel/coalesce.h"
#include "ringside/tensor.h"

namespace ringside {

/// True if `gradient` (may be undefined) already lives where the bucket's `view` does.
bool lies_in(const Tensor& view, const Tensor& gradient);

/// view = gradient * factor, the factor rounded to the dtype: "copy-to-bucket".
void copy_to_bucket(const Tensor& view, const Tensor& gradient, double factor);

/// values = values / divisor, in place: "divide".
void divide_in_place(const Tensor& values, double divisor);

/// to = from, converted to to's dtype: "convert".
void convert(const Tensor& to, const Tensor& from, Stream& stream);

/// Zeros in the sizes of `bucket`.
FlatBuffer zeros_like(Device& device, const FlatBuffer& bucket);

}  // namespace ringside
