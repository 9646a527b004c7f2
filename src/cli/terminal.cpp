// Bodies of terminal.h.
#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <system_error>

#include "core/environment.h"
#include "ringside/error.h"

namespace ringside::cli {
namespace {

std::string checked_color_mode(const Arguments& arguments) {
  std::string mode = arguments.value("color", "auto");
  if (mode != "auto" && mode != "always" && mode != "never") {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("--color '{}': must be one of auto always never", mode));
  }
  return mode;
}

constexpr auto kProgressInterval = std::chrono::milliseconds(80);

// Of the terminal; 0 where it does not say.
std::size_t columns_of(int descriptor) {
  winsize size{};
  return ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

}  // namespace

void write_to(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EPIPE) throw OutputClosed();
    if (written < 0) {
      throw Error(ErrorKind::kIo, fmt::format("cannot write to standard output: {}",
                                              std::generic_category().message(errno)));
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void write_note(std::string_view text) {
  try {
    write_to(STDERR_FILENO, text);
  } catch (const std::exception&) {  // nobody listens: there is nowhere left to say so
    return;
  }
}

std::string_view fitting(std::string_view text, std::size_t columns) {
  if (columns == 0) return text;
  std::size_t width = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    const bool continues_character = (byte & 0xC0U) == 0x80;
    if (!continues_character) width += byte < 0x80 ? 1 : 2;
    if (width > columns) return text.substr(0, at);
  }
  return text;
}

std::string wrap(std::string_view text, std::size_t indent, std::size_t width) {
  std::string result;
  std::size_t column = indent;
  while (!text.empty()) {
    const std::size_t blank = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, blank);
    if (column > indent && column + 1 + word.size() > width) {
      result += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      result += " ";
      ++column;
    }
    result += word;
    column += word.size();
    text.remove_prefix(std::min(blank + 1, text.size()));
  }
  return result;
}

bool use_color(int descriptor, std::string_view mode) {
  if (mode != "auto") return mode == "always";
  return ::isatty(descriptor) == 1 && environment("NO_COLOR").empty() &&
         environment("TERM") != "dumb";
}

std::string paint(std::string_view text, Style style, bool color) {
  if (!color || style == Style::kPlain) return std::string(text);
  const char* code = style == Style::kGood      ? "32"
                     : style == Style::kBad     ? "1;31"
                     : style == Style::kWarning ? "33"
                                                : "1";
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

Terminal::Terminal(const Arguments& arguments)
    : json_(arguments.flag("json")), quiet_(arguments.flag("quiet")) {
  const std::string mode = checked_color_mode(arguments);
  color_ = use_color(STDOUT_FILENO, mode);
  color_errors_ = use_color(STDERR_FILENO, mode);
  shows_progress_ = !quiet_ && ::isatty(STDERR_FILENO) == 1 && environment("TERM") != "dumb";
}

void Terminal::say(std::string_view text) {
  if (json_ || quiet_) return;
  emit(text);
}

void Terminal::emit(std::string_view text) {
  const std::lock_guard lock(mutex_);
  erase_line();
  write_to(STDOUT_FILENO, text);
}

void Terminal::warn(std::string_view text) {
  if (quiet_) return;
  const std::lock_guard lock(mutex_);
  erase_line();
  write_note(
      fmt::format("ringside: {} {}\n", paint("warning:", Style::kWarning, color_errors_), text));
}

void Terminal::progress(std::string_view text) {
  if (!shows_progress_) return;
  const std::lock_guard lock(mutex_);
  const auto now = std::chrono::steady_clock::now();
  if (line_is_dirty_ && now - last_progress_ < kProgressInterval) return;
  last_progress_ = now;
  erase_line();
  write_note(fitting(text, columns_of(STDERR_FILENO)));
  line_is_dirty_ = true;
}

void Terminal::clear_progress() {
  const std::lock_guard lock(mutex_);
  erase_line();
}

void Terminal::erase_line() {
  if (!line_is_dirty_) return;
  line_is_dirty_ = false;
  write_note("\r\x1b[K");
}

std::string Terminal::style(std::string_view text, Style style) const {
  return paint(text, style, color_);
}

}  // namespace ringside::cli
