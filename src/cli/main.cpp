// The program's entry.
#include <string>
#include <vector>

#include "cli/program.h"

int main(int argc, char** argv) {
  if (argc == 0) return ringside::cli::run_program("ringside", {});
  return ringside::cli::run_program(argv[0], std::vector<std::string>(argv + 1, argv + argc));
}
