#include "parallel/parameter_server_layout.h"

#include <fmt/format.h>

#include <algorithm>

namespace ringside {
namespace {

/// `count` - 1 ranks behind `lead`.
std::vector<int> members_behind(int lead, int count) {
  std::vector<int> members;
  for (int device = 1; device < count; ++device) members.push_back(lead + device);
  return members;
}

}  // namespace

std::size_t element_count(const std::vector<NamedTensor>& parameters) {
  std::size_t elements = 0;
  for (const NamedTensor& entry : parameters) {
    elements += static_cast<std::size_t>(entry.tensor.numel());
  }
  return elements;
}

std::vector<int> ParameterServerLayout::worker_members(int worker) const {
  return members_behind(worker_lead(worker), worker_devices_);
}

std::vector<int> ParameterServerLayout::server_members(int server) const {
  return members_behind(server_lead(server), server_devices_);
}

std::vector<int> ParameterServerLayout::served_workers(int rank) const {
  std::vector<int> workers;
  for (int worker = device_of_server(rank); worker < workers_; worker += server_devices_) {
    workers.push_back(worker);
  }
  return workers;
}

Range ParameterServerLayout::shard(int server, std::size_t elements) const {
  const auto parts = static_cast<std::size_t>(servers_);
  const auto part = static_cast<std::size_t>(server);
  const std::size_t size = elements / parts;
  const std::size_t larger = elements % parts;
  const std::size_t begin = part * size + std::min(part, larger);
  return {begin, begin + size + (part < larger ? 1 : 0)};
}

std::vector<ServerPiece> ParameterServerLayout::pieces(
    int server, const std::vector<NamedTensor>& parameters) const {
  const Range range = shard(server, element_count(parameters));
  std::vector<ServerPiece> pieces;
  std::size_t begin = 0;  // of the parameter, in the flat ones
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const std::size_t end = begin + static_cast<std::size_t>(parameters[i].tensor.numel());
    const std::size_t from = std::max(begin, range.begin);
    const std::size_t to = std::min(end, range.end);
    if (from < to) {
      const bool whole = from == begin && to == end;
      const std::string part = whole ? "" : fmt::format("[{}:{}]", from - begin, to - begin);
      pieces.push_back({parameters[i].name + part, i, {from - begin, to - begin}, whole});
    }
    begin = end;
  }
  return pieces;
}

}  // namespace ringside
