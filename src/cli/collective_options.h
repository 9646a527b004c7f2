// What the command lines of `ringside collective` and `ringside bench` share: the options that say
// which collective is meant, and their checks.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "cli/command.h"
#include "ringside/schedule.h"

namespace ringside::cli {

/// The row of algorithm, op, dtype, direction, pieces or node-size.
Option collective_option(std::string_view name);

/// The operation that the only operand names: one of `names`, which are those of parse_operation.
/// Send and recv are the same pair, kSend. Throws Error(kInvalidArgument) with the nearest name;
/// where there is no operand, it begins with `command`.
Operation operation_of(const Arguments& arguments, std::string_view command,
                       std::span<const std::string_view> names);

/// A whole number within limits, of the option `name`.
int int_of(const Arguments& arguments, std::string_view name, std::string_view fallback,
           std::int64_t minimum, std::int64_t maximum);

/// Throws Error(kInvalidArgument) if `option` is given and means nothing: "--root: all-reduce has
/// none".
void check_has_meaning(const Arguments& arguments, std::string_view option, Operation operation,
                       bool has_meaning);
/// The same of op and pieces.
void check_operation_options(const Arguments& arguments, Operation operation);

/// Sets the algorithm and its parameters; `border` is the one taken where none is given.
void set_algorithm(ScheduleRequest& request, const Arguments& arguments, std::string_view border);
/// Throws Error(kInvalidArgument) for parameters that the request's algorithm does not have.
void check_algorithm_options(const Arguments& arguments, const ScheduleRequest& request);

}  // namespace ringside::cli
