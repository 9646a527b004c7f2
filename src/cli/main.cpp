// The program's entry.

#include <fmt/core.h>

#include "ringside/version.h"

int main() {
  fmt::print("ringside {}\n", ringside::kVersion);
  return 0;
}
