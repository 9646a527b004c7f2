// What a command's observers throw on the ranks' threads (a full disk, a reader that went away):
// kept here, because the world that ends with it would report it as a rank's.
#pragma once

#include <exception>

namespace ringside::cli {

class KeptError {
 public:
  /// Calls `body`; keeps and rethrows what it throws.
  template <typename Body>
  void keep(Body body) {
    try {
      body();
    } catch (...) {
      error_ = std::current_exception();
      throw;
    }
  }

  bool has() const { return error_ != nullptr; }
  /// Throws what was kept, if anything was.
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::exception_ptr error_;
};

}  // namespace ringside::cli
