// The forms in which a training script and its module hand tensors to each other through
// DataParallel: model(x), model(input=x), model({"input": x}), and what forward returns.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ringside/strategy.h"
#include "ringside/value.h"

namespace ringside {

/// "keyword", "namedtuple", ... as a scenario has them; any other is positional, or a tensor.
InputForm parse_input_form(std::string_view name);
OutputForm parse_output_form(std::string_view name);

/// The script's side: `inputs` as the arguments of a call.
Arguments pack_inputs(InputForm form, std::vector<NamedValue> inputs);
/// The module's side: the tensors that it asks for by `names`, which pack_inputs was given first.
/// Throws Error(kTrainingFailed), Python's TypeError, where the call has not got them: "forward()
/// missing 1 required positional argument: 'input'".
std::vector<Tensor> unpack_inputs(InputForm form, const Arguments& arguments,
                                  const std::vector<std::string_view>& names);

/// The module's side: what forward returns. Containers also have a None, as models have for what
/// they were not asked for.
Value pack_outputs(OutputForm form, std::vector<NamedValue> outputs);
/// The script's side: the first of the outputs that were gathered; `columns`: of a row of it.
Tensor unpack_output(OutputForm form, const Value& gathered, std::int64_t columns);

}  // namespace ringside
