// Pictures into files, and what to type where this program cannot render them.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/files.h"
#include "ringside/error.h"
#include "ringside/views.h"
#include "views/render.h"
#include "views/svg.h"

namespace ringside {
namespace {

void check_formats(const std::vector<std::string>& formats) {
  for (const std::string& format : formats) {
    if (format == "dot" || format == "svg" || format == "png") continue;
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("format '{}': must be one of dot, svg, png", format));
  }
}

}  // namespace

bool can_render() { return has_graphviz(); }

std::string render_command(const Picture& picture, std::string_view format) {
  return fmt::format("{} -T{}{} {}.dot -o {}.{}", picture.layout == "neato" ? "neato -n2" : "dot",
                     format, format == "png" ? " -Gdpi=110" : "", picture.name, picture.name,
                     format);
}

std::string render(const Picture& picture, std::string_view format) {
  if (format != "svg" && format != "png") {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("format '{}': must be one of svg, png", format));
  }
  if (!has_graphviz()) {
    throw Error(
        ErrorKind::kUnavailable,
        fmt::format("cannot render {}.{}: this program was built without Graphviz's library",
                    picture.name, format),
        fmt::format("write the .dot file and type: {}", render_command(picture, format)));
  }
  std::string bytes = render_dot(picture.dot, picture.layout, format).bytes;
  return format == "svg" ? finish_svg(bytes, picture) : bytes;
}

std::vector<std::string> write_pictures(const std::vector<Picture>& pictures,
                                        const std::string& directory,
                                        const std::vector<std::string>& formats) {
  check_formats(formats);
  make_directory(directory);
  const std::string folder = directory.empty() ? "." : directory;
  std::vector<std::string> paths;
  for (const Picture& picture : pictures) {
    for (const std::string& format : formats) {
      const std::string path = fmt::format("{}/{}.{}", folder, picture.name, format);
      write_whole_file(path, format == "dot" ? picture.dot : render(picture, format));
      paths.push_back(path);
    }
  }
  return paths;
}

}  // namespace ringside
