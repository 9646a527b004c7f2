// Bodies of values.h.
#include "scenario/values.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>
#include <system_error>

#include "core/whole_number.h"
#include "ringside/error.h"

namespace ringside {
namespace {

[[noreturn]] void throw_bad(std::string_view what, std::string_view text, std::string_view problem,
                            std::string hint = {}) {
  throw Error(ErrorKind::kInvalidArgument, fmt::format("{} '{}': {}", what, text, problem),
              std::move(hint));
}

template <typename Number>
Number parse_whole(std::string_view what, std::string_view text, std::string_view wanted) {
  Number value{};
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc::result_out_of_range && rest == end) {
    throw_bad(what, text,
              fmt::format("does not fit; the range is {} to {}", std::numeric_limits<Number>::min(),
                          std::numeric_limits<Number>::max()));
  }
  if (error != std::errc() || rest != end) throw_bad(what, text, wanted);
  return value;
}

// The number at the beginning of `text`, which is cut off it.
double take_number(std::string_view what, std::string_view whole, std::string_view& text) {
  double value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) throw_bad(what, whole, "does not fit a number");
  if (error != std::errc()) throw_bad(what, whole, "is not a number");
  if (!std::isfinite(value)) throw_bad(what, whole, "must be a finite number");
  text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
  return value;
}

}  // namespace

std::int64_t parse_integer(std::string_view what, std::string_view text) {
  return parse_whole<std::int64_t>(what, text, "is not a whole number");
}

std::int64_t parse_integer(std::string_view what, std::string_view text, std::int64_t minimum,
                           std::int64_t maximum) {
  const std::int64_t value = parse_integer(what, text);
  check_range(what, value, minimum, maximum);
  return value;
}

std::uint64_t parse_unsigned(std::string_view what, std::string_view text) {
  return parse_whole<std::uint64_t>(what, text, "is not a whole number of 0 or more");
}

double parse_number(std::string_view what, std::string_view text) {
  std::string_view rest = text;
  const double value = take_number(what, text, rest);
  if (!rest.empty()) throw_bad(what, text, "is not a number");
  return value;
}

bool parse_flag(std::string_view what, std::string_view text) {
  if (text == "true") return true;
  if (text == "false") return false;
  throw_bad(what, text, "must be true or false");
}

std::vector<std::int64_t> parse_integers(std::string_view what, std::string_view text) {
  std::vector<std::int64_t> values;
  std::string_view rest = text;
  for (;;) {
    const std::size_t comma = rest.find(',');
    const std::string_view item = rest.substr(0, comma);
    const auto value = whole_number<std::int64_t>(item);
    if (!value) {
      if (item.find_first_of("0123456789") == 0) parse_integer(what, item);  // which says why
      throw_bad(what, text, "is not a list of whole numbers such as 0,1,2");
    }
    values.push_back(*value);
    if (comma == std::string_view::npos) return values;
    rest.remove_prefix(comma + 1);
  }
}

std::size_t parse_bytes(std::string_view what, std::string_view text) {
  struct Unit {
    std::string_view name;
    double bytes;
  };
  static constexpr std::array<Unit, 11> kUnits{{{"", 1},
                                                {"B", 1},
                                                {"kB", 1e3},
                                                {"KB", 1e3},
                                                {"MB", 1e6},
                                                {"GB", 1e9},
                                                {"TB", 1e12},
                                                {"KiB", 1024.0},
                                                {"MiB", 1024.0 * 1024},
                                                {"GiB", 1024.0 * 1024 * 1024},
                                                {"TiB", 1024.0 * 1024 * 1024 * 1024}}};
  std::string_view rest = text;
  const double number = take_number(what, text, rest);
  while (rest.starts_with(' ')) rest.remove_prefix(1);
  for (const Unit& unit : kUnits) {
    if (rest != unit.name) continue;
    const double bytes = number * unit.bytes;
    if (bytes < 1) throw_bad(what, text, "must be at least 1 byte");
    if (unit.bytes == 1 && bytes != std::floor(bytes)) {
      throw_bad(what, text, "is not a whole number of bytes",
                fmt::format("name the unit, such as {:g}GB", number));
    }
    constexpr double kLimit = 9.2e18;  // below 2^63, so that sums of a few sizes do not overflow
    if (bytes > kLimit) throw_bad(what, text, "is more than can be counted");
    return static_cast<std::size_t>(bytes);
  }
  throw_bad(what, text, fmt::format("'{}' is not a unit of bytes", rest),
            "write bytes, or kB, MB, GB, TB (powers of 1000), or KiB, MiB, GiB, TiB (of 1024)");
}

bool is_listed(std::string_view value, std::string_view choices) {
  return !value.empty() && value.find(' ') == std::string_view::npos &&
         fmt::format(" {} ", choices).find(fmt::format(" {} ", value)) != std::string::npos;
}

void check_range(std::string_view what, std::int64_t value, std::int64_t minimum,
                 std::int64_t maximum, std::string_view reason) {
  if (value >= minimum && value <= maximum) return;
  const std::string because = reason.empty() ? "" : fmt::format(": {}", reason);
  const std::string limit = value < minimum ? fmt::format("at least {}", minimum)
                                            : fmt::format("at most {}{}", maximum, because);
  throw Error(ErrorKind::kInvalidArgument, fmt::format("{} {}: must be {}", what, value, limit));
}

}  // namespace ringside
