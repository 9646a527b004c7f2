// Module: the tree of named tensors that every layer is.
//
// The tree is walked in one way only (visit_slots): depth first, in registration order, each
// module's own tensors before its children's. A tensor that sits in several places (a shared layer)
// is listed once, under its first name, but saved under each. Threads: one at a time per module.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/nearest_name.h"
#include "core/state_keys.h"
#include "ringside/error.h"
#include "ringside/nn.h"

namespace ringside {
namespace {

/// What tells whether two handles are one tensor.
const void* identity(const Tensor& tensor) { return &tensor.array(); }

/// `value` in the device, dtype and shape of `destination`.
void copy_value(Tensor& destination, const Tensor& value) {
  const bool alike =
      &value.device() == &destination.device() && value.dtype() == destination.dtype();
  copy_in_place(destination, alike ? value
                                   : Tensor::from_host(destination.device(), destination.shape(),
                                                       destination.dtype(), host_values(value),
                                                       MemoryKind::kWorkspace, destination.name()));
}

/// Throws with all that is wrong with a state at once.
void check_state(const std::vector<NamedShape>& own, const std::vector<NamedShape>& given) {
  const KeyComparison comparison = compare_keys(own, given);
  if (comparison.same()) return;
  const std::string words = suggestion_words(comparison);
  throw Error(ErrorKind::kInvalidInput,
              fmt::format("load_state_dict: {}", difference_text(comparison)),
              words.empty() ? "the state must come from the same model" : words);
}

NamedShape named_shape(const NamedTensor& entry) {
  const std::span<const std::int64_t> sizes = entry.tensor.shape().sizes();
  return {entry.name, {sizes.begin(), sizes.end()}};
}

void check_replacement_count(std::string_view what, std::size_t given, std::size_t needed) {
  if (given == needed) return;
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("replace_tensors: {} {} for a module with {}", given, what, needed));
}

}  // namespace

// ---------------------------------------------------------------- construction

Module::Module(const Module& other)
    : parameters_(other.parameters_), buffers_(other.buffers_), training_(other.training_) {
  children_.reserve(other.children_.size());
  for (const auto& [name, child] : other.children_) {
    children_.emplace_back(name, child->shallow_copy());
  }
}

std::size_t Module::register_parameter(std::string name, Tensor tensor) {
  tensor.set_name(name);
  tensor.set_requires_grad(true);
  parameters_.push_back({std::move(name), std::move(tensor)});
  return parameters_.size() - 1;
}

std::size_t Module::register_buffer(std::string name, Tensor tensor) {
  tensor.set_name(name);
  buffers_.push_back({std::move(name), std::move(tensor)});
  return buffers_.size() - 1;
}

std::size_t Module::register_child(std::string name, std::shared_ptr<Module> child) {
  // Tensors carry their full names, so that traces can be read.
  for (const NamedTensor& entry : child->state_dict(name + ".")) {
    Tensor tensor = entry.tensor;
    tensor.set_name(entry.name);
  }
  children_.emplace_back(std::move(name), std::move(child));
  return children_.size() - 1;
}

// ---------------------------------------------------------------- the walk

template <typename Self, typename Visitor>
void Module::visit_slots(Self& self, const std::string& prefix, const Visitor& visit) {
  for (auto& slot : self.parameters_) visit(prefix, slot, SlotKind::kParameter);
  for (auto& slot : self.buffers_) visit(prefix, slot, SlotKind::kBuffer);
  for (const auto& [name, child] : self.children_) {
    visit_slots<Self>(*child, prefix + name + ".", visit);
  }
}

std::vector<NamedTensor> Module::listed(const std::string& prefix, SlotKind kind) const {
  std::vector<NamedTensor> list;
  std::unordered_set<const void*> seen;
  visit_slots(*this, prefix,
              [&](const std::string& path, const NamedTensor& slot, SlotKind slot_kind) {
                if (slot_kind != kind || !seen.insert(identity(slot.tensor)).second) return;
                list.push_back({path + slot.name, slot.tensor});
              });
  return list;
}

std::vector<NamedTensor> Module::named_parameters(const std::string& prefix) const {
  return listed(prefix, SlotKind::kParameter);
}

std::vector<NamedTensor> Module::named_buffers(const std::string& prefix) const {
  return listed(prefix, SlotKind::kBuffer);
}

std::vector<NamedTensor> Module::state_dict(const std::string& prefix) const {
  std::vector<NamedTensor> state;
  visit_slots(*this, prefix, [&](const std::string& path, const NamedTensor& slot, SlotKind) {
    state.push_back({path + slot.name, slot.tensor});
  });
  return state;
}

void Module::train(bool training) {
  training_ = training;
  for (const auto& [name, child] : children_) child->train(training);
}

// Overridden by models that have one.
// NOLINTNEXTLINE(readability-convert-member-functions-to-static)
void Module::use_second_head(bool /*use*/) {
  throw Error(ErrorKind::kInvalidArgument, fmt::format("{} has no second head", describe()),
              "take a model with two, such as mlp:64,32,10:heads");
}

int Module::synchronise_batch_norm(const std::shared_ptr<const RankExchange>& exchange) {
  int converted = 0;
  for (const auto& [name, child] : children_) converted += child->synchronise_batch_norm(exchange);
  return converted;
}

// ---------------------------------------------------------------- the call

Value Module::call(const Arguments& arguments) {
  const auto refuse = [&](const std::string& fault) {
    throw Error(ErrorKind::kTrainingFailed, fmt::format("forward() {}", fault),
                fmt::format("{} takes one tensor, input", describe()));
  };
  const Value* input = arguments.positional.empty() ? nullptr : &arguments.positional.front();
  if (arguments.positional.size() > 1) {
    refuse(
        fmt::format("takes 1 positional argument but {} were given", arguments.positional.size()));
  }
  for (const auto& [name, value] : arguments.keywords) {
    if (name != "input") refuse(fmt::format("got an unexpected keyword argument '{}'", name));
    if (input != nullptr) refuse("got multiple values for argument 'input'");
    input = &value;
  }
  if (input == nullptr) refuse("missing 1 required positional argument: 'input'");
  if (!input->is<Tensor>()) {
    refuse(fmt::format("input must be a Tensor, not {}", type_name(*input)));
  }
  return forward(input->get<Tensor>());
}

// ---------------------------------------------------------------- new values, new tensors

// Not const: it changes the tensors, though not the handles that the module holds.
// NOLINTNEXTLINE(readability-make-member-function-const)
void Module::load_state_dict(const std::vector<NamedTensor>& state, const std::string& prefix) {
  std::vector<NamedShape> own_shapes;
  std::vector<NamedShape> given_shapes;
  std::unordered_map<std::string_view, const Tensor*> given;
  for (const NamedTensor& entry : state) {
    if (!entry.tensor.defined()) continue;  // no value: the same as missing
    if (given.emplace(entry.name, &entry.tensor).second) given_shapes.push_back(named_shape(entry));
  }
  const std::vector<NamedTensor> own = state_dict(prefix);
  for (const NamedTensor& entry : own) own_shapes.push_back(named_shape(entry));
  check_state(own_shapes, given_shapes);
  for (const NamedTensor& entry : own) {
    Tensor destination = entry.tensor;
    copy_value(destination, *given.at(entry.name));
  }
}

void Module::replace_tensors(const std::vector<Tensor>& parameters,
                             const std::vector<Tensor>& buffers) {
  check_replacement_count("parameters", parameters.size(), named_parameters().size());
  check_replacement_count("buffers", buffers.size(), named_buffers().size());
  // A tensor in several places is replaced in all of them. The old ones live until the end, so that
  // no address is used twice.
  std::unordered_map<const void*, const Tensor*> replacement;
  std::vector<Tensor> old;
  std::size_t next_parameter = 0;
  std::size_t next_buffer = 0;
  visit_slots(*this, {}, [&](const std::string&, NamedTensor& slot, SlotKind kind) {
    const auto [place, is_new] = replacement.emplace(identity(slot.tensor), nullptr);
    if (is_new) {
      place->second =
          kind == SlotKind::kParameter ? &parameters[next_parameter++] : &buffers[next_buffer++];
    }
    old.push_back(std::exchange(slot.tensor, *place->second));
  });
}

void Module::replace_tensor(std::string_view name, Tensor tensor) {
  const void* old = nullptr;
  const std::vector<NamedTensor> names = state_dict();
  for (const NamedTensor& entry : names) {
    if (entry.name == name) old = identity(entry.tensor);
  }
  if (old == nullptr) {
    std::vector<std::string_view> candidates;
    for (const NamedTensor& entry : names) candidates.emplace_back(entry.name);
    const std::string nearest = nearest_name(name, candidates);
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("no parameter or buffer is called '{}'", name),
                nearest.empty() ? fmt::format("there are {}", fmt::join(candidates, ", "))
                                : fmt::format("did you mean '{}'?", nearest));
  }
  tensor.set_name(std::string(name));
  visit_slots(*this, {}, [&](const std::string&, NamedTensor& slot, SlotKind) {
    if (identity(slot.tensor) == old) slot.tensor = tensor;
  });
}

}  // namespace ringside
