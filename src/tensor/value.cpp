#include "ringside/value.h"

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

}  // namespace ringside
