#include "parallel/scatter_gather.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "ringside/error.h"

namespace ringside {
namespace {

// ---------------------------------------------------------------- scatter

class Scattering {
 public:
  Scattering(std::size_t devices, const ScatterTensor& scatter)
      : devices_(devices), scatter_(scatter) {}

  /// The value's part for each device that gets one.
  std::vector<Value> parts(const Value& value) const {
    if (value.is<Tensor>()) {
      const std::vector<Tensor> tensors = scatter_(value.get<Tensor>());
      return {tensors.begin(), tensors.end()};
    }
    if (value.is<NamedTupleValue>()) {
      return zipped(fields(value.get<NamedTupleValue>().fields), [&](std::vector<Value> items) {
        NamedTupleValue part = value.get<NamedTupleValue>();
        for (std::size_t i = 0; i < items.size(); ++i) part.fields[i].second = std::move(items[i]);
        return Value(std::move(part));
      });
    }
    if (value.is<TupleValue>() && !value.get<TupleValue>().items.empty()) {
      return zipped(value.get<TupleValue>().items,
                    [](std::vector<Value> items) { return Value(TupleValue{std::move(items)}); });
    }
    if (value.is<ListValue>() && !value.get<ListValue>().items.empty()) {
      return zipped(value.get<ListValue>().items,
                    [](std::vector<Value> items) { return Value(ListValue{std::move(items)}); });
    }
    if (value.is<DictValue>() && !value.get<DictValue>().entries.empty()) {
      return zipped(fields(value.get<DictValue>().entries), [&](std::vector<Value> items) {
        DictValue part = value.get<DictValue>();
        for (std::size_t i = 0; i < items.size(); ++i) part.entries[i].second = std::move(items[i]);
        return Value(std::move(part));
      });
    }
    // An empty container, too, is the same object for all.
    return std::vector<Value>(devices_, value);
  }

 private:
  static std::vector<Value> fields(const std::vector<NamedValue>& named) {
    std::vector<Value> values;
    for (const auto& [name, value] : named) values.push_back(value);
    return values;
  }

  /// As Python's zip: as many as the item with the fewest parts.
  template <typename Rebuild>
  std::vector<Value> zipped(const std::vector<Value>& items, const Rebuild& rebuild) const {
    std::vector<std::vector<Value>> item_parts;
    for (const Value& item : items) item_parts.push_back(parts(item));
    std::size_t count = item_parts.empty() ? 0 : item_parts.front().size();
    for (const std::vector<Value>& of_item : item_parts) count = std::min(count, of_item.size());
    std::vector<Value> rebuilt;
    for (std::size_t part = 0; part < count; ++part) {
      std::vector<Value> own;
      for (std::vector<Value>& of_item : item_parts) own.push_back(std::move(of_item[part]));
      rebuilt.push_back(rebuild(std::move(own)));
    }
    return rebuilt;
  }

  std::size_t devices_;
  const ScatterTensor& scatter_;
};

// ---------------------------------------------------------------- gather

[[noreturn]] void refuse(const std::string& message, std::string hint) {
  throw Error(ErrorKind::kTrainingFailed, "gather: " + message, std::move(hint));
}

template <typename Alternative>
std::vector<Alternative> all_as(const std::vector<Value>& values) {
  std::vector<Alternative> alternatives;
  for (std::size_t replica = 0; replica < values.size(); ++replica) {
    if (!values[replica].is<Alternative>()) {
      refuse(fmt::format("replica {} returned a {}, replica 0 a {}", replica,
                         type_name(values[replica]), type_name(values.front())),
             "return the same type from every replica");
    }
    alternatives.push_back(values[replica].get<Alternative>());
  }
  return alternatives;
}

/// Item by item, as far as the shortest has some.
std::vector<Value> gather_items(const std::vector<std::vector<Value>>& lists,
                                const GatherTensors& gather) {
  std::size_t count = lists.front().size();
  for (const std::vector<Value>& list : lists) count = std::min(count, list.size());
  std::vector<Value> gathered;
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<Value> column;
    for (const std::vector<Value>& list : lists) column.push_back(list[i]);
    gathered.push_back(gather_values(column, gather));
  }
  return gathered;
}

DictValue gather_dicts(const std::vector<DictValue>& dicts, const GatherTensors& gather) {
  DictValue gathered;
  for (std::size_t replica = 1; replica < dicts.size(); ++replica) {
    if (dicts[replica].entries.size() == dicts.front().entries.size()) continue;
    refuse(fmt::format("All dicts must have the same number of keys: replica {} returned {}, "
                       "replica 0 {}",
                       replica, dicts[replica].entries.size(), dicts.front().entries.size()),
           "return the same keys from every replica");
  }
  for (const auto& [key, first] : dicts.front().entries) {
    std::vector<Value> column;
    for (std::size_t replica = 0; replica < dicts.size(); ++replica) {
      const auto& entries = dicts[replica].entries;
      const auto found =
          std::find_if(entries.begin(), entries.end(),
                       [&, &name = key](const NamedValue& e) { return e.first == name; });
      if (found == entries.end()) {
        refuse(fmt::format("KeyError: replica {} returned no '{}'", replica, key),
               "return the same keys from every replica");
      }
      column.push_back(found->second);
    }
    gathered.entries.emplace_back(key, gather_values(column, gather));
  }
  return gathered;
}

NamedTupleValue gather_named_tuples(const std::vector<NamedTupleValue>& tuples,
                                    const GatherTensors& gather) {
  std::vector<std::vector<Value>> lists;
  for (const NamedTupleValue& tuple : tuples) {
    std::vector<Value> fields;
    for (const auto& [name, value] : tuple.fields) fields.push_back(value);
    lists.push_back(std::move(fields));
  }
  std::vector<Value> items = gather_items(lists, gather);
  NamedTupleValue gathered = tuples.front();
  gathered.fields.resize(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) gathered.fields[i].second = std::move(items[i]);
  return gathered;
}

}  // namespace

std::vector<Arguments> scatter_arguments(const Arguments& arguments, std::size_t devices,
                                         const ScatterTensor& scatter) {
  const Scattering scattering(devices, scatter);
  std::vector<Value> positional;
  std::vector<Value> keywords;
  if (!arguments.positional.empty()) {
    positional = scattering.parts(TupleValue{arguments.positional});
  }
  if (!arguments.keywords.empty()) keywords = scattering.parts(DictValue{arguments.keywords});
  std::vector<Arguments> calls(std::max(positional.size(), keywords.size()));
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (i < positional.size()) calls[i].positional = positional[i].get<TupleValue>().items;
    if (i < keywords.size()) calls[i].keywords = keywords[i].get<DictValue>().entries;
  }
  return calls;
}

Value gather_values(const std::vector<Value>& values, const GatherTensors& gather) {
  const Value& first = values.front();
  if (first.is_none()) return {};
  if (first.is<Tensor>()) return gather(all_as<Tensor>(values));
  if (first.is<DictValue>()) return gather_dicts(all_as<DictValue>(values), gather);
  if (first.is<NamedTupleValue>()) {
    return gather_named_tuples(all_as<NamedTupleValue>(values), gather);
  }
  std::vector<std::vector<Value>> lists;
  if (first.is<TupleValue>()) {
    for (TupleValue& tuple : all_as<TupleValue>(values)) lists.push_back(std::move(tuple.items));
    return TupleValue{gather_items(lists, gather)};
  }
  if (first.is<ListValue>()) {
    for (ListValue& list : all_as<ListValue>(values)) lists.push_back(std::move(list.items));
    return ListValue{gather_items(lists, gather)};
  }
  refuse(fmt::format("'{}' object is not iterable", type_name(first)),
         "return tensors, or tuples, lists and dicts of them; a number as a tensor");
}

}  // namespace ringside
