#include "schedule/hierarchical.h"

#include <utility>

#include "schedule/borders.h"
#include "schedule/ring.h"
#include "schedule/sequence.h"
#include "schedule/tree.h"

namespace ringside::schedule {
namespace {

using RingPart = std::vector<Round> (*)(std::span<const Range> chunks, Direction direction);

// `rounds` between the ranks of one node.
std::vector<Round> inside(const Nodes& nodes, int node, std::vector<Round> rounds) {
  return on_ranks(std::move(rounds), [&](int place) { return node * nodes.size + place; });
}

// `rounds` between the ranks that have the same place in their nodes.
std::vector<Round> between(const Nodes& nodes, int place, std::vector<Round> rounds) {
  return on_ranks(std::move(rounds), [&](int node) { return node * nodes.size + place; });
}

// The blocks of the ranks first, first + step, ...
std::vector<Range> every(std::span<const Range> blocks, int first, int step, int count) {
  std::vector<Range> chosen;
  for (int i = 0; i < count; ++i) {
    const int block = first + step * i;
    chosen.push_back(blocks[static_cast<std::size_t>(block)]);
  }
  return chosen;
}

// A ring that does not number its chunks: they are not those of the whole buffer.
std::vector<Round> ring_of(RingPart ring, std::span<const Range> chunks) {
  std::vector<Round> rounds = ring(chunks, Direction::kUp);
  for (Round& round : rounds) {
    for (Message& message : round) message.chunk = -1;
  }
  return rounds;
}

// A ring in every node, at the same time, for the blocks of every node's ranks.
std::vector<Round> rings_inside(const Nodes& nodes, std::span<const Range> blocks, RingPart ring) {
  std::vector<Round> all;
  for (int node = 0; node < nodes.count; ++node) {
    for (int owner = 0; owner < nodes.count; ++owner) {
      const std::vector<Range> chunks = every(blocks, owner * nodes.size, 1, nodes.size);
      run_beside(all, inside(nodes, node, ring_of(ring, chunks)));
    }
  }
  return all;
}

// A ring through all nodes for every place, at the same time, each for the blocks of its ranks.
std::vector<Round> rings_between(const Nodes& nodes, std::span<const Range> blocks, RingPart ring) {
  std::vector<Round> all;
  for (int place = 0; place < nodes.size; ++place) {
    const std::vector<Range> chunks = every(blocks, place, nodes.size, nodes.count);
    run_beside(all, between(nodes, place, ring_of(ring, chunks)));
  }
  return all;
}

// One part per place in the node, each of one part per node: block node * size + place.
std::vector<Range> parts_of(const Nodes& nodes, Range buffer) {
  const std::vector<Range> shares = even_parts(buffer, nodes.size);
  std::vector<Range> blocks;
  for (int node = 0; node < nodes.count; ++node) {
    for (const Range& share : shares) {
      blocks.push_back(even_parts(share, nodes.count)[static_cast<std::size_t>(node)]);
    }
  }
  return blocks;
}

// Rings in every node over shares of the buffer.
std::vector<Round> share_rings(const Nodes& nodes, Range buffer, RingPart ring) {
  const std::vector<Range> shares = even_parts(buffer, nodes.size);
  std::vector<Round> all;
  for (int node = 0; node < nodes.count; ++node) {
    run_beside(all, inside(nodes, node, ring_of(ring, shares)));
  }
  return all;
}

}  // namespace

std::vector<Round> hierarchical_all_reduce(const Nodes& nodes, Range buffer) {
  const std::vector<Range> parts = parts_of(nodes, buffer);
  std::vector<Round> rounds = share_rings(nodes, buffer, ring_reduce_scatter);
  rounds = in_sequence(std::move(rounds), rings_between(nodes, parts, ring_reduce_scatter));
  rounds = in_sequence(std::move(rounds), rings_between(nodes, parts, ring_all_gather));
  return in_sequence(std::move(rounds), share_rings(nodes, buffer, ring_all_gather));
}

std::vector<Round> hierarchical_all_gather(const Nodes& nodes, std::span<const Range> blocks) {
  return in_sequence(rings_between(nodes, blocks, ring_all_gather),
                     rings_inside(nodes, blocks, ring_all_gather));
}

std::vector<Round> hierarchical_reduce_scatter(const Nodes& nodes, std::span<const Range> blocks) {
  return in_sequence(rings_inside(nodes, blocks, ring_reduce_scatter),
                     rings_between(nodes, blocks, ring_reduce_scatter));
}

std::vector<Round> hierarchical_broadcast(const Nodes& nodes, int root, Range buffer) {
  const int place = root % nodes.size;
  std::vector<Round> in_nodes;
  for (int node = 0; node < nodes.count; ++node) {
    run_beside(in_nodes, inside(nodes, node, tree_broadcast(nodes.size, place, buffer)));
  }
  return in_sequence(between(nodes, place, tree_broadcast(nodes.count, root / nodes.size, buffer)),
                     std::move(in_nodes));
}

std::vector<Round> hierarchical_reduce(const Nodes& nodes, int root, Range buffer) {
  return mirrored(hierarchical_broadcast(nodes, root, buffer), Action::kCombine);
}

}  // namespace ringside::schedule
