#include "backends/mpi/channel.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "comm/call_slot.h"
#include "ringside/error.h"

namespace ringside::mpi {
namespace {

/// MPI counts in int; longer messages go in pieces, which arrive in order.
constexpr std::size_t kPieceBytes = std::size_t{1} << 30U;

template <typename Byte, typename Start>
void in_pieces(std::span<Byte> data, Start start) {
  do {
    const std::size_t size = std::min(data.size(), kPieceBytes);
    start(data.first(size));
    data = data.subspan(size);
  } while (!data.empty());
}

/// A rank's last declaration may still be on its way when its goodbye has come.
constexpr std::chrono::milliseconds kGrace{200};

}  // namespace

Channel::Channel(Session& session, MPI_Comm comm, CommunicatorName name)
    : session_(session), comm_(comm), name_(std::move(name)) {
  MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
  MPI_Comm_rank(comm_, &rank_);
  MPI_Comm_size(comm_, &size_);
}

// Not freed: MPI_Comm_free waits for all members, who may have failed. MPI_Finalize takes them all.
Channel::~Channel() = default;

void Channel::declare(const Declaration& declaration, const std::vector<int>& partners, int tag) {
  int sent = 0;
  MPI_Testall(static_cast<int>(declaring_.size()), declaring_.data(), &sent, MPI_STATUSES_IGNORE);
  if (sent != 0) {
    declaring_.clear();
    declared_.clear();
  }
  std::vector<std::int64_t> code = {declaration.sequence, declaration.poisoned ? 1 : 0};
  const std::vector<std::int64_t> signature = encode(declaration.signature);
  code.insert(code.end(), signature.begin(), signature.end());
  declared_.push_back(std::move(code));
  for (const int partner : partners) {
    declaring_.emplace_back();
    check(MPI_Isend(declared_.back().data(), static_cast<int>(declared_.back().size()), MPI_INT64_T,
                    partner, tag, comm_, &declaring_.back()),
          "MPI_Isend");
  }
}

bool Channel::take(int source, int tag, Declaration& declaration) {
  int found = 0;
  MPI_Message handle = MPI_MESSAGE_NULL;
  MPI_Status status;
  check(MPI_Improbe(source, tag, comm_, &found, &handle, &status), "MPI_Improbe");
  if (found == 0) return false;
  int length = 0;
  MPI_Get_count(&status, MPI_INT64_T, &length);
  std::vector<std::int64_t> code(static_cast<std::size_t>(length));
  check(MPI_Mrecv(code.data(), length, MPI_INT64_T, &handle, &status), "MPI_Mrecv");
  declaration = {decode(std::span<const std::int64_t>(code).subspan(2)), code[0], code[1] != 0};
  return true;
}

std::vector<Declaration> Channel::hear(const Declaration& own, const std::vector<int>& partners,
                                       int tag) {
  const auto since = std::chrono::steady_clock::now();
  std::vector<Declaration> heard(partners.size());
  std::vector<std::size_t> missing(partners.size());
  for (std::size_t i = 0; i < missing.size(); ++i) missing[i] = i;
  poll(
      [&] {
        std::erase_if(missing, [&](std::size_t i) { return take(partners[i], tag, heard[i]); });
        return missing.empty();
      },
      [&] {
        std::vector<int> ranks;
        for (const std::size_t i : missing) ranks.push_back(partners[i]);
        explain_absence(own, ranks, since);
      });
  return heard;
}

void Channel::explain_absence(const Declaration& own, const std::vector<int>& missing,
                              std::chrono::steady_clock::time_point since) {
  session_.hear_goodbyes();
  const auto now = std::chrono::steady_clock::now();
  const std::string waiting = fmt::format(
      "rank {} waits in {}{}, call {} of {}, since {}", rank_, to_string(own.signature),
      to_string(own.signature.purpose), own.sequence, name_.text(), elapsed_text(since));
  for (const int rank : missing) {
    const int world_rank = name_.world_ranks[static_cast<std::size_t>(rank)];
    const Goodbye& goodbye = session_.goodbye_of(world_rank);
    if (!goodbye.said || now - goodbye.heard < kGrace) continue;
    if (goodbye.failed) {
      throw Error(ErrorKind::kRankFailed,
                  fmt::format("{}; rank {} failed: {}", waiting, rank, goodbye.message));
    }
    throw Error(ErrorKind::kDeadlock,
                fmt::format("{}; rank {} has finished without calling it", waiting, rank),
                "every rank must make the same calls");
  }
  if (std::chrono::duration<double>(now - since).count() < session_.time_limit()) return;
  throw Error(ErrorKind::kDeadlock,
              fmt::format("{}; {} has not called it", waiting, ranks_text(missing)),
              fmt::format("between processes a deadlock shows by the time limit only: raise "
                          "RINGSIDE_MPI_TIMEOUT (now {:g} s) if the others are slow",
                          session_.time_limit()));
}

void Channel::start_send(int destination, std::span<const std::byte> data, int tag) {
  in_pieces(data, [&](std::span<const std::byte> piece) {
    requests_.emplace_back();
    check(MPI_Isend(piece.data(), static_cast<int>(piece.size()), MPI_BYTE, destination, tag, comm_,
                    &requests_.back()),
          "MPI_Isend");
  });
}

void Channel::start_receive(int source, std::span<std::byte> data, int tag) {
  in_pieces(data, [&](std::span<std::byte> piece) {
    requests_.emplace_back();
    check(MPI_Irecv(piece.data(), static_cast<int>(piece.size()), MPI_BYTE, source, tag, comm_,
                    &requests_.back()),
          "MPI_Irecv");
  });
}

void Channel::finish() {
  poll(
      [&] {
        int done = 0;
        check(MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done,
                          MPI_STATUSES_IGNORE),
              "MPI_Testall");
        return done != 0;
      },
      [] {});
  requests_.clear();
}

}  // namespace ringside::mpi
