// ringside doctor: what was found, what is missing, what that costs and how to get it.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/findings.h"
#include "cli/json.h"
#include "cli/terminal.h"

namespace ringside::cli {
namespace {

std::string document_of(const std::vector<Finding>& findings) {
  nlohmann::ordered_json document = make_document("doctor");
  document["findings"] = nlohmann::ordered_json::array();
  for (const Finding& finding : findings) {
    document["findings"].push_back({{"name", finding.name},
                                    {"found", finding.health == Health::kFound},
                                    {"detail", finding.detail},
                                    {"cost", finding.cost},
                                    {"remedy", finding.remedy}});
  }
  return to_text(document);
}

std::string text_of(const std::vector<Finding>& findings, const Terminal& terminal) {
  constexpr std::size_t kNameWidth = 18;
  std::string text;
  std::size_t missing = 0;
  for (const Finding& finding : findings) {
    const bool is_found = finding.health == Health::kFound;
    text += fmt::format("{}  {:<{}}{}\n",
                        is_found ? terminal.style("found  ", Style::kGood)
                                 : terminal.style("missing", Style::kWarning),
                        finding.name, kNameWidth, finding.detail);
    if (is_found) continue;
    ++missing;
    const std::string indent(kNameWidth + 9, ' ');
    text += fmt::format("{}cost: {}\n{}remedy: {}\n", indent, finding.cost, indent, finding.remedy);
  }
  text += missing == 0 ? "\nEverything was found.\n"
                       : fmt::format("\n{} of {} are missing; all of them are optional.\n", missing,
                                     findings.size());
  return text;
}

std::vector<Option> options() { return {}; }

int run(const Arguments&, Terminal& terminal) {
  const std::vector<Finding> findings = find_everything();
  if (terminal.json()) {
    terminal.emit(document_of(findings));
  } else {
    terminal.say(text_of(findings, terminal));
  }
  return 0;
}

}  // namespace

Command doctor_command() {
  return {
      .name = "doctor",
      .summary = "say what was found on this machine and what is missing",
      .operands = "",
      .operand_choices = "",
      .description =
          "Says what this program was built with, what it finds on this machine, what is missing, "
          "what that costs and how to get it. Everything that can be missing is optional: the exit "
          "status is 0.",
      .examples = "ringside doctor\nringside doctor --json",
      .options = options,
      .run = run,
  };
}

}  // namespace ringside::cli
