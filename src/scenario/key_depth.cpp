// Body of key_depth.h.
#include "scenario/key_depth.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "ringside/error.h"

namespace ringside {
namespace {

// No key of a scenario has more than one. A value may have one, too: that of a number.
constexpr std::size_t kMostDots = 32;

// Between keys and values: a key is over, and the next dot is of another one.
bool ends_a_key(char letter) {
  return std::string_view("=,{}[]\n").find(letter) != std::string_view::npos;
}

// The length of the string that begins at the quote text[0]; with an unknown end, of all of it.
std::size_t string_length(std::string_view text) {
  const char quote = text[0];
  const bool multiline = text.size() >= 3 && text[1] == quote && text[2] == quote;
  const std::string_view end = text.substr(0, multiline ? 3 : 1);
  for (std::size_t at = end.size(); at < text.size(); ++at) {
    if (quote == '"' && text[at] == '\\') {
      ++at;
    } else if (text.substr(at).starts_with(end)) {
      return at + end.size();
    } else if (text[at] == '\n' && !multiline) {
      return at;
    }
  }
  return text.size();
}

}  // namespace

void refuse_deep_keys(std::string_view text, const std::string& source_name) {
  std::size_t line = 1;
  std::size_t dots = 0;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t length = 1;
    if (text[at] == '#') length = std::min(text.find('\n', at), text.size()) - at;
    if (text[at] == '"' || text[at] == '\'') length = string_length(text.substr(at));
    const std::string_view piece = text.substr(at, length);
    if (piece == ".") ++dots;
    line += static_cast<std::size_t>(std::count(piece.begin(), piece.end(), '\n'));
    if (length == 1 && ends_a_key(text[at])) dots = 0;
    if (dots > kMostDots) {
      throw Error(ErrorKind::kInvalidInput,
                  fmt::format("{}:{}: a key of more than {} parts", source_name, line, kMostDots),
                  "scenario files are TOML: docs/scenario.md has an example");
    }
    at += length;
  }
}

}  // namespace ringside
