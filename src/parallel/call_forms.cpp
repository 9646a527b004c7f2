#include "parallel/call_forms.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "ringside/error.h"

namespace ringside {
namespace {

std::vector<Value> values_of(const std::vector<NamedValue>& named) {
  std::vector<Value> values;
  for (const auto& [name, value] : named) values.push_back(value);
  return values;
}

/// "forward() missing 2 required positional arguments: 'input' and 'target'".
[[noreturn]] void refuse_missing(const std::vector<std::string_view>& names) {
  std::string list;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) list += i + 1 == names.size() ? " and " : ", ";
    list += fmt::format("'{}'", names[i]);
  }
  throw Error(ErrorKind::kTrainingFailed,
              fmt::format("forward() missing {} required positional argument{}: {}", names.size(),
                          names.size() == 1 ? "" : "s", list),
              "a replica without rows is called with what goes to all");
}

Tensor named(const std::vector<NamedValue>& values, std::string_view name) {
  const auto found = std::find_if(values.begin(), values.end(),
                                  [&](const NamedValue& value) { return value.first == name; });
  if (found == values.end()) refuse_missing({name});
  return found->second.get<Tensor>();
}

std::vector<Value> items_of(const Value& container) {
  if (container.is<TupleValue>()) return container.get<TupleValue>().items;
  if (container.is<ListValue>()) return container.get<ListValue>().items;
  if (container.is<DictValue>()) return values_of(container.get<DictValue>().entries);
  return values_of(container.get<NamedTupleValue>().fields);
}

}  // namespace

InputForm parse_input_form(std::string_view name) {
  if (name == "keyword") return InputForm::kKeyword;
  if (name == "tuple") return InputForm::kTuple;
  if (name == "list") return InputForm::kList;
  if (name == "dict") return InputForm::kDict;
  if (name == "namedtuple") return InputForm::kNamedTuple;
  return name == "nested" ? InputForm::kNested : InputForm::kPositional;
}

OutputForm parse_output_form(std::string_view name) {
  if (name == "tuple") return OutputForm::kTuple;
  if (name == "list") return OutputForm::kList;
  if (name == "dict") return OutputForm::kDict;
  if (name == "namedtuple") return OutputForm::kNamedTuple;
  return name == "flat" ? OutputForm::kFlat : OutputForm::kTensor;
}

Arguments pack_inputs(InputForm form, std::vector<NamedValue> inputs) {
  switch (form) {
    case InputForm::kPositional:
      return {values_of(inputs), {}};
    case InputForm::kKeyword:
      return {{}, std::move(inputs)};
    case InputForm::kTuple:
      return {{TupleValue{values_of(inputs)}}, {}};
    case InputForm::kList:
      return {{ListValue{values_of(inputs)}}, {}};
    case InputForm::kDict:
      return {{DictValue{std::move(inputs)}}, {}};
    case InputForm::kNamedTuple:
      return {{NamedTupleValue{"Batch", std::move(inputs)}}, {}};
    case InputForm::kNested:
      return {{ListValue{{DictValue{std::move(inputs)}}}}, {}};
  }
  return {};
}

std::vector<Tensor> unpack_inputs(InputForm form, const Arguments& arguments,
                                  const std::vector<std::string_view>& names) {
  std::vector<Tensor> tensors;
  if (form == InputForm::kKeyword) {
    for (const std::string_view name : names) tensors.push_back(named(arguments.keywords, name));
    return tensors;
  }
  std::vector<Value> values = arguments.positional;
  if (form != InputForm::kPositional) {
    if (values.empty()) refuse_missing({"batch"});
    values = items_of(values.front());
  }
  if (form == InputForm::kNested) values = items_of(values.front());
  if (values.size() < names.size()) {
    refuse_missing({names.begin() + static_cast<std::ptrdiff_t>(values.size()), names.end()});
  }
  for (std::size_t i = 0; i < names.size(); ++i) tensors.push_back(values[i].get<Tensor>());
  return tensors;
}

Value pack_outputs(OutputForm form, std::vector<NamedValue> outputs) {
  if (form == OutputForm::kTensor) return outputs.front().second;
  if (form == OutputForm::kFlat) {
    const auto& output = outputs.front().second.get<Tensor>();
    return reshape(output, Shape{1, output.numel()});
  }
  outputs.resize(outputs.size() + 1);  // a None
  outputs.back().first = "attentions";
  switch (form) {
    case OutputForm::kTuple:
      return TupleValue{values_of(outputs)};
    case OutputForm::kList:
      return ListValue{values_of(outputs)};
    case OutputForm::kDict:
      return DictValue{std::move(outputs)};
    default:
      return NamedTupleValue{"Output", std::move(outputs)};
  }
}

Tensor unpack_output(OutputForm form, const Value& gathered, std::int64_t columns) {
  if (form == OutputForm::kTensor) return gathered.get<Tensor>();
  if (form != OutputForm::kFlat) return items_of(gathered).front().get<Tensor>();
  const auto& flat = gathered.get<Tensor>();
  return reshape(flat, Shape{flat.numel() / columns, columns});
}

}  // namespace ringside
