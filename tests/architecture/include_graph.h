// Checks who includes whom: the rooms of include/ringside, src and sim, against one explicit table.
//
// Pure: it is given the files' texts, so that its own test can hand it bad ones. What it does not
// see: dependencies without an include (a forward declaration), and includes under tests/, which
// may look into every room.

#pragma once

#include <map>
#include <string>
#include <vector>

namespace ringside::test {

/// Path from the repository's root ("src/nn/linear.cpp") to the text of the file.
using SourceFiles = std::map<std::string, std::string>;

/// Reads every .h, .cpp, .cu and .cuh under include/ringside, src and sim.
SourceFiles read_source_files(const std::string& repository);

/// One line per violation, "src/nn/linear.cpp:12: nn may not include comm (ringside/comm.h)";
/// empty when all is well.
std::vector<std::string> check_includes(const SourceFiles& files);

/// Violations of the table itself: a room that depends on itself through others.
std::vector<std::string> check_table();

}  // namespace ringside::test
