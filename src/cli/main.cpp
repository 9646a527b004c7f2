// The program's entry.
#include <string>
#include <vector>

#include "cli/program.h"

int main(int argc, char** argv) {
  return ringside::cli::run_program(
      std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
}
