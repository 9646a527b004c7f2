// An error that all processes of an mpirun have is said by one of them.
#pragma once

#include <functional>
#include <string>

namespace ringside::cli {

/// Calls `say`, unless a process of the same mpirun on this machine has said the same `text`: then
/// it has been written when this returns, and nothing is called. A beginning "rank R: " with the
/// process's own rank makes no difference. An error that only one process has is always said.
/// Blocks while another process says the same, for nothing else.
void say_once(const std::string& text, const std::function<void()>& say);

}  // namespace ringside::cli
