// Values of options as people write them: whole numbers, numbers, sizes, lists.
//
// Every function throws Error(kInvalidArgument) that begins with `what`, the option's name, and
// shows the text: "batch-size '12x': is not a whole number". Nothing is guessed: trailing letters,
// an empty text, or a value that does not fit are errors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace ringside {

std::int64_t parse_integer(std::string_view what, std::string_view text);
/// The same, and within [minimum, maximum].
std::int64_t parse_integer(std::string_view what, std::string_view text, std::int64_t minimum,
                           std::int64_t maximum);
/// A whole number from 0 to 2^64-1.
std::uint64_t parse_unsigned(std::string_view what, std::string_view text);
/// A finite decimal number: "0.1", "1e-3".
double parse_number(std::string_view what, std::string_view text);
/// "true" or "false".
bool parse_flag(std::string_view what, std::string_view text);
/// "0,1,2".
std::vector<std::int64_t> parse_integers(std::string_view what, std::string_view text);
/// A size in bytes: plain ("1048576"), decimal units (kB, MB, GB, TB: powers of 1000) or binary
/// ones (KiB, MiB, GiB, TiB: powers of 1024), which may have a fraction ("1.5GiB"). At least 1.
std::size_t parse_bytes(std::string_view what, std::string_view text);

/// Whether `value` is one of `choices`, which are separated by blanks.
bool is_listed(std::string_view value, std::string_view choices);

/// Throws for a value below the minimum or above the maximum: "devices 0: must be at least 1". The
/// reason, if given, follows the limit.
void check_range(std::string_view what, std::int64_t value, std::int64_t minimum,
                 std::int64_t maximum, std::string_view reason = {});

}  // namespace ringside
