// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the ranks of a group on one machine say to each other in a few bytes, without MPI: each rank
// has a board in memory that all of them see. In a round, which all ranks make in the same order, a
// rank writes its board, tells those who are to read it, and sleeps until everybody whom it waits
// for has told it: it is woken once, by the last of them, which is what counts where ranks share
// cores. Boards come in twos, so that nobody waits for slow readers of the last round.
//   boards.begin(patience);   memcpy(boards.own(), ...);   boards.tell(others);
//   boards.hear(others, patience);   memcpy(..., boards.of(q), ...);   boards.end();

#include <cstdint>
#include <memory>
#include <span>

#include "tessera/comm/mpi/patience.hpp"

namespace tessera::mpi {

class Boards {
 public:
  static constexpr int most_ranks = 64;
  static constexpr i64 room = 64 << 10;  // bytes of a board

  // Where rank 0 of the group has them: the file is open until all others have found it.
  struct Place {
    i64 process = 0, file = -1;
    std::uint64_t word = 0;  // stands in the file: another one may have the number by now
  };
  // Of rank 0, and of the others; nullptr where the system does not allow it.
  static std::unique_ptr<Boards> make(int ranks, Place& place);
  static std::unique_ptr<Boards> find(const Place& place, int rank, int ranks);
  ~Boards();
  Boards(const Boards&) = delete;
  Boards& operator=(const Boards&) = delete;

  void begin(Patience& patience);
  std::byte* own() { return board(rank_); }
  void tell(std::span<const int> listeners);  // each of them waits for this rank in this round
  void hear(std::span<const int> speakers, Patience& patience);
  const std::byte* of(int rank) const { return board(rank); }
  void end();

 private:
  struct Head;
  struct Seat;
  Boards(std::byte* start, int rank, int ranks) : start_(start), rank_(rank), ranks_(ranks) {}
  static i64 heads_bytes(int ranks);
  static i64 all_bytes(int ranks) { return heads_bytes(ranks) + 2 * ranks * room; }
  Head& head() const;
  Seat& seat(int rank) const;
  std::byte* board(int rank) const {
    return start_ + heads_bytes(ranks_) + (2 * rank + round_ % 2) * room;
  }

  std::byte* start_;
  int rank_, ranks_;
  i64 round_ = 0;
  i64 ended_ = 0;  // rounds that all ranks are known to have ended
};

}  // namespace tessera::mpi
