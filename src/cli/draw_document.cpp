#include "cli/draw_document.h"

#include <nlohmann/json.hpp>

#include "cli/json.h"

namespace ringside::cli {

std::string draw_document(const Trace& trace, int step, const std::vector<Picture>& pictures,
                          const std::vector<std::string>& files) {
  nlohmann::ordered_json document = make_document("draw");
  document["strategy"] = trace.run.strategy;
  document["devices"] = trace.run.devices;
  document["step"] = step;
  document["failure"] = trace.run.failure;
  document["pictures"] = nlohmann::ordered_json::array();
  for (const Picture& picture : pictures) {
    document["pictures"].push_back(
        {{"name", picture.name}, {"title", picture.title}, {"caption", picture.caption}});
  }
  document["files"] = files;
  return to_text(document);
}

}  // namespace ringside::cli
