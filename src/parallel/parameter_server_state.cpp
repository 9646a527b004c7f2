#include "parallel/parameter_server_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>
#include <sstream>
#include <string_view>
#include <utility>

#include "parallel/peer_messages.h"
#include "ringside/error.h"

namespace ringside {
namespace {

/// "0.weight.exp_avg" -> "0.weight", "exp_avg".
std::pair<std::string, std::string> split_key(const std::string& key) {
  const std::size_t dot = key.rfind('.');
  if (dot == std::string::npos) return {key, {}};
  return {key.substr(0, dot), key.substr(dot + 1)};
}

Tensor message(Rank& rank, DType dtype, const std::vector<double>& values) {
  return Tensor::from_host(rank.device, Shape{static_cast<std::int64_t>(values.size())}, dtype,
                           values, MemoryKind::kWorkspace, "optimizer state");
}

std::vector<double> receive(Rank& rank, int peer, DType dtype, std::int64_t count) {
  const Tensor values =
      Tensor::empty(rank.device, Shape{count}, dtype, MemoryKind::kWorkspace, "optimizer state");
  receive_from_peers(rank, {{peer, values.array()}});
  return host_values(values);
}

Tensor scalar_tensor(Device& device, double value, const std::string& name) {
  return Tensor::full(device, Shape{}, DType::kFloat32, value, MemoryKind::kWorkspace, name);
}

[[noreturn]] void throw_unfit(const std::string& problem) {
  throw Error(ErrorKind::kInvalidInput, problem,
              "the state must come from the same optimizer of the same model");
}

/// Number of the parameter whose state `entry` is.
std::size_t owner_of(const NamedTensor& entry, const std::vector<NamedTensor>& parameters) {
  const std::string name = split_key(entry.name).first;
  const auto owner = std::find_if(parameters.begin(), parameters.end(),
                                  [&](const NamedTensor& each) { return each.name == name; });
  if (owner == parameters.end()) throw_unfit(fmt::format("unexpected {}", entry.name));
  const Shape& shape = entry.tensor.shape();
  if (shape.rank() > 0 && shape != owner->tensor.shape()) {
    throw_unfit(fmt::format("{} is {}, but its parameter is {}", entry.name, to_string(shape),
                            to_string(owner->tensor.shape())));
  }
  return static_cast<std::size_t>(owner - parameters.begin());
}

/// Under the piece's name. A scalar is each piece's.
NamedTensor part_of(const NamedTensor& entry, const ServerPiece& piece) {
  const std::string name = fmt::format("{}.{}", piece.name, split_key(entry.name).second);
  if (piece.whole || entry.tensor.shape().rank() == 0) return {name, entry.tensor};
  const std::vector<double> values = host_values(entry.tensor);
  return {name, Tensor::from_host(entry.tensor.device(),
                                  Shape{static_cast<std::int64_t>(piece.part.size())},
                                  entry.tensor.dtype(),
                                  std::span(values).subspan(piece.part.begin, piece.part.size()),
                                  MemoryKind::kWorkspace, name)};
}

}  // namespace

void send_state(Rank& rank, int peer, const std::vector<NamedTensor>& state) {
  std::string names;  // a line for each: name, whether it is a scalar, values
  std::vector<double> values;
  for (const NamedTensor& entry : state) {
    const std::vector<double> own = host_values(entry.tensor);
    names += fmt::format("{} {:d} {}\n", entry.name, entry.tensor.shape().rank() == 0, own.size());
    values.insert(values.end(), own.begin(), own.end());
  }
  const Tensor sizes = message(
      rank, DType::kInt64, {static_cast<double>(names.size()), static_cast<double>(values.size())});
  const Tensor text = message(rank, DType::kUInt8, {names.begin(), names.end()});
  const Tensor all = message(rank, DType::kFloat64, values);
  for (const Tensor& part : {sizes, text, all}) send_to_peers(rank, {{peer, part.array()}});
  rank.device.synchronize();
}

std::vector<StateValues> receive_state(Rank& rank, int peer) {
  const std::vector<double> sizes = receive(rank, peer, DType::kInt64, 2);
  const auto size = [&](std::size_t i) { return static_cast<std::int64_t>(sizes[i]); };
  const std::vector<double> text = receive(rank, peer, DType::kUInt8, size(0));
  const std::vector<double> all = receive(rank, peer, DType::kFloat64, size(1));
  std::string names;
  for (const double character : text) names += static_cast<char>(character);
  std::vector<StateValues> state;
  std::istringstream lines(names);
  auto next = all.begin();
  for (StateValues entry; lines >> entry.name;) {
    std::ptrdiff_t count = 0;
    lines >> entry.scalar >> count;
    entry.values.assign(next, next + count);
    next += count;
    state.push_back(entry);
  }
  return state;
}

std::vector<NamedTensor> joined_state(const std::vector<std::vector<StateValues>>& parts,
                                      const ParameterServerLayout& layout,
                                      const std::vector<NamedTensor>& parameters) {
  std::map<std::pair<std::size_t, std::string>, StateValues> whole;  // by parameter and kind
  for (int server = 0; server < layout.servers(); ++server) {
    const std::vector<ServerPiece> pieces = layout.pieces(server, parameters);
    for (const StateValues& part : parts[static_cast<std::size_t>(server)]) {
      const auto [owner, kind] = split_key(part.name);
      const auto piece =
          std::find_if(pieces.begin(), pieces.end(),
                       [&, &name = owner](const ServerPiece& each) { return each.name == name; });
      StateValues& entry = whole[{piece->parameter, kind}];
      entry.name = fmt::format("{}.{}", parameters[piece->parameter].name, kind);
      entry.scalar = part.scalar;
      if (part.scalar) entry.values.clear();
      entry.values.insert(entry.values.end(), part.values.begin(), part.values.end());
    }
  }
  std::vector<NamedTensor> state;
  for (const auto& [place, entry] : whole) {
    const Tensor& parameter = parameters[place.first].tensor;
    state.push_back(
        {entry.name,
         entry.scalar ? scalar_tensor(parameter.device(), entry.values.front(), entry.name)
                      : Tensor::from_host(parameter.device(), parameter.shape(), parameter.dtype(),
                                          entry.values, MemoryKind::kWorkspace, entry.name)});
  }
  return state;
}

std::vector<NamedTensor> state_of_pieces(const std::vector<NamedTensor>& state,
                                         const std::vector<ServerPiece>& pieces,
                                         const std::vector<NamedTensor>& parameters) {
  std::vector<NamedTensor> own;
  for (const NamedTensor& entry : state) {
    const std::size_t parameter = owner_of(entry, parameters);
    for (const ServerPiece& piece : pieces) {
      if (piece.parameter == parameter) own.push_back(part_of(entry, piece));
    }
  }
  return own;
}

}  // namespace ringside
