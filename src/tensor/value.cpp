#include "ringside/value.h"

#include <fmt/format.h>

#include "ringside/error.h"

namespace ringside {
namespace {

struct TypeName {
  std::string_view operator()(std::monostate) const { return "NoneType"; }
  std::string_view operator()(const Tensor&) const { return "Tensor"; }
  std::string_view operator()(bool) const { return "bool"; }
  std::string_view operator()(std::int64_t) const { return "int"; }
  std::string_view operator()(double) const { return "float"; }
  std::string_view operator()(const std::string&) const { return "str"; }
  std::string_view operator()(const ObjectValue&) const { return "object"; }
  std::string_view operator()(const TupleValue&) const { return "tuple"; }
  std::string_view operator()(const ListValue&) const { return "list"; }
  std::string_view operator()(const DictValue&) const { return "dict"; }
  std::string_view operator()(const NamedTupleValue& value) const { return value.type; }
};

}  // namespace

std::string_view type_name(const Value& value) { return std::visit(TypeName{}, value.held); }

void Value::throw_other_type(const Value& wanted) const {
  const std::string_view name = wanted.is<NamedTupleValue>() ? "namedtuple" : type_name(wanted);
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("a value is of type {}, must be {}", type_name(*this), name),
              "a module's forward must return what its caller takes");
}

}  // namespace ringside
