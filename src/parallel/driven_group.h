// The devices that one host thread drives through a collective: DataParallel's side of the
// communication layer.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ringside/tensor.h"
#include "ringside/world.h"

namespace ringside {

/// Some devices of a world in a given order, with a sub-communicator in that order. Member i is
/// rank i of it.
class DrivenGroup {
 public:
  DrivenGroup(World& world, std::vector<int> world_ranks);

  int size() const { return static_cast<int>(world_ranks_.size()); }
  Device& device(int member) const { return *devices_[static_cast<std::size_t>(member)]; }
  const std::vector<int>& world_ranks() const { return world_ranks_; }
  /// The member on world rank `rank`; -1 if there is none.
  int member_of(int rank) const;

  /// Makes every member's call in one group, on its communication stream: after what its compute
  /// stream has done so far, and before what it does next.
  using MemberCall = std::function<Work(int member, Communicator& communicator, Stream& stream)>;
  void collective(const MemberCall& call);

  /// Cuts `whole`, which lies on member `root`, along `dim` into parts of `sizes`, and sends part i
  /// to member i (members beyond the parts get none). Root's own part is a view of `whole` where it
  /// lies in one piece.
  std::vector<Tensor> scatter(const Tensor& whole, int dim, const std::vector<std::int64_t>& sizes,
                              int root, MemoryKind kind, const std::string& name);
  /// Joins part i of member i along `dim` on member `root`.
  Tensor gather(const std::vector<Tensor>& parts, int dim, int root, MemoryKind kind,
                const std::string& name);

 private:
  std::vector<std::size_t> counts_for_all(std::vector<std::size_t> counts) const;

  std::vector<int> world_ranks_;
  std::vector<Device*> devices_;
  std::vector<std::unique_ptr<Communicator>> communicators_;
  std::vector<Communicator*> borrowed_;
};

}  // namespace ringside
