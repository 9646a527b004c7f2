#include "sim/device/failure.h"

#include <string>

namespace ringside::sim {

Failure to_failure(const std::exception_ptr& error) {
  if (!error) return nullptr;
  try {
    std::rethrow_exception(error);
  } catch (const Error& e) {
    return std::make_shared<const Error>(e.kind(), std::string(e.what()), e.hint());
  } catch (const std::exception& e) {
    return std::make_shared<const Error>(ErrorKind::kDevice, std::string(e.what()));
  } catch (...) {
    return std::make_shared<const Error>(ErrorKind::kDevice, "an exception without a text");
  }
}

std::exception_ptr to_exception(const Failure& failure) {
  if (!failure) return nullptr;
  return std::make_exception_ptr(
      Error(failure->kind(), std::string(failure->what()), failure->hint()));
}

void raise(const Failure& failure) {
  throw Error(failure->kind(), std::string(failure->what()), failure->hint());
}

}  // namespace ringside::sim
