// Bodies of json.h.
#include "cli/json.h"

#include <nlohmann/json.hpp>

#include "ringside/error.h"
#include "ringside/version.h"

namespace ringside::cli {
namespace {

constexpr int kDocumentVersion = 1;

}  // namespace

nlohmann::ordered_json make_document(std::string_view kind) {
  nlohmann::ordered_json document;
  document["ringside"] = kind;
  document["version"] = kDocumentVersion;
  document["program"] = kVersion;
  return document;
}

std::string to_text(const nlohmann::ordered_json& document) {
  return document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string completion_document(std::string_view shell, std::string_view script) {
  nlohmann::ordered_json document = make_document("completion");
  document["shell"] = shell;
  document["script"] = script;
  return to_text(document);
}

std::string version_document() { return to_text(make_document("version")); }

std::string error_document(const Error& error, int exit_status) {
  nlohmann::ordered_json document = make_document("error");
  document["kind"] = to_string(error.kind());
  document["message"] = error.what();
  document["hint"] = error.hint();
  document["exit_status"] = exit_status;
  return to_text(document);
}

}  // namespace ringside::cli
