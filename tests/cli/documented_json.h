// docs/json.md is the form of the documents of --json.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cli/subprocess.h"

namespace ringside::test {

/// The document that the program has printed, of a result or of an error.
nlohmann::json document_of(const ProcessResult& result);
/// The same; its exit status must be 0.
nlohmann::json result_of(const ProcessResult& result);

/// Runs the program with `arguments` and --json: the document has the keys that the table of the
/// section `kind` has, no more and no fewer, and every key inside them is told of there.
void expect_documented(const std::string& kind, const std::vector<std::string>& arguments);

}  // namespace ringside::test
