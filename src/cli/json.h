// The JSON documents of --json (docs/json.md): how each begins, and how it is written.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace ringside {
class Error;
}  // namespace ringside

namespace ringside::cli {

/// {"ringside": kind, "version": 1, "program": "0.1.0"}; the rest is added by the command.
nlohmann::ordered_json make_document(std::string_view kind);
/// Two blanks deep, a newline at the end. Bytes that are not UTF-8 (paths) become U+FFFD.
std::string to_text(const nlohmann::ordered_json& document);
/// A shell's completion script as a document.
std::string completion_document(std::string_view shell, std::string_view script);
/// What --version says as a document: nothing but how every document begins.
std::string version_document();
/// The document of an error.
std::string error_document(const Error& error, int exit_status);

}  // namespace ringside::cli
