// What tests/oracles holds, who reads it, and what no reader can notice.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "system/json_mutations.h"

namespace ringside::test {

struct Reader {
  std::string program;  ///< under the folder of test programs
  std::string filter;   ///< its tests that read the section
};

/// A list of cases in a file, and who reads it; all readers together must notice a change.
struct Section {
  std::string file;
  std::string name;
  std::vector<Reader> readers;
};

/// "file section".
std::ostream& operator<<(std::ostream& stream, const Section& section);

const std::vector<Section>& sections();

/// What nobody can notice.
struct Exception {
  std::string place;  ///< file, section and path
  Change change;
  std::string reason;
};

const std::vector<Exception>& exceptions();

}  // namespace ringside::test
