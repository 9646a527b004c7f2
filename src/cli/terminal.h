// Where a command writes: text or one JSON document on standard output, progress and notes on
// standard error. Colour and progress only where a person sees them.
//
// Threads: any (a run's observers call from the ranks' threads).
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <cstddef>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "cli/command.h"
#include "core/counted.h"

namespace ringside::cli {

/// The reader of standard output has gone: nothing more to say, and nothing to report.
class OutputClosed : public std::runtime_error {
 public:
  OutputClosed() : std::runtime_error("standard output is closed") {}
};

/// Writes to a file descriptor at once. Throws OutputClosed where nobody reads, Error(kIo) where
/// the system refuses (a full disk).
void write_to(int descriptor, std::string_view text);

/// The same to standard error, as far as it can be written: what it lacks changes nothing of what
/// the program does or how it ends.
void write_note(std::string_view text);

/// The beginning of `text` that one line of `columns` columns can hold, all of it where that is 0.
/// A character that is not ASCII counts as two columns.
std::string_view fitting(std::string_view text, std::size_t columns);

/// `text` in lines of at most `width` columns, as far as its words allow; each after the first
/// begins with `indent` blanks, and the first one is taken to stand behind as many.
std::string wrap(std::string_view text, std::size_t indent, std::size_t width);

/// Whether text on `descriptor` is coloured: `mode` is auto, always or never; auto asks for a
/// terminal, no NO_COLOR and a TERM that is not dumb.
bool use_color(int descriptor, std::string_view mode);

enum class Style { kPlain, kBold, kGood, kBad, kWarning };
std::string paint(std::string_view text, Style style, bool color);

class Terminal {
 public:
  /// From --json, --quiet and --color. Throws Error(kInvalidArgument) for another colour mode.
  explicit Terminal(const Arguments& arguments);
  ~Terminal() { clear_progress(); }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  bool json() const { return json_; }

  /// Text for people; nothing with --json or --quiet.
  template <typename... Values>
  void print(fmt::format_string<Values...> format, Values&&... values) {
    say(fmt::format(format, std::forward<Values>(values)...));
  }
  void say(std::string_view text);
  /// The one document of --json, or the output that a command is for (completion); always written.
  void emit(std::string_view text);
  /// A line on standard error that the user must see ("ringside: warning: ..."), unless --quiet.
  void warn(std::string_view text);
  /// One changing line on standard error, if it is a terminal and neither --quiet nor TERM=dumb.
  void progress(std::string_view text);
  void clear_progress();

  std::string style(std::string_view text, Style style) const;

 private:
  void erase_line();  // with the mutex held

  bool json_;
  bool quiet_;
  bool color_ = false;
  bool color_errors_ = false;
  bool shows_progress_ = false;
  std::mutex mutex_;
  bool line_is_dirty_ = false;
  std::chrono::steady_clock::time_point last_progress_;
};

}  // namespace ringside::cli
