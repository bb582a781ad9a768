// SPDX-License-Identifier: Apache-2.0
#pragma once
// One block on its way to, or from, one rank. advance() does what can be done without waiting and
// says whether that was anything. Small blocks are one message; large ones are staged in the shared
// window where both ranks have one; else they are a stream of pieces, packed where they are
// strided, two at a time, so that no copy of the data is ever whole.
//   Sending s(link, block);   while (!s.done()) s.advance();

#include <memory>
#include <optional>

#include "tessera/comm/mpi/intranode/staged_block.hpp"
#include "tessera/comm/mpi/scratch.hpp"
#include "tessera/comm/mpi/world.hpp"

namespace tessera::mpi {

struct Link {
  World& world;
  MPI_Comm comm;
  int rank;              // of the other side, in the group
  int rank_in_world;     // of the other side
  SharedWindow* window;  // that both sides have; null: none
  i64 piece;             // bytes of a message of a stream: both sides must agree
};

// The bytes of a block as messages of at most `piece` bytes.
class Stream {
 public:
  enum class Way : std::uint8_t { out, in };
  Stream(const Link& link, const Block& block, Way way);
  bool advance();
  bool done() const { return unposted_ == 0 && open_ == 0; }
  void abandon();

 private:
  static constexpr int most = 4;
  struct Piece {
    MPI_Request request = MPI_REQUEST_NULL;
    i64 bytes = 0;
    Scratch room;
  };
  Piece& piece(int k) { return pieces_[(first_ + k) % most]; }
  void post(Piece& piece);
  bool finish(Piece& piece);

  Link link_;
  BlockWalk walk_;
  Way way_;
  bool packed_;
  i64 unposted_;
  int first_ = 0, open_ = 0;
  Piece pieces_[most];
};

// What a sender says of a large block before its bytes come. MPI may read and write it after a side
// has given up: then it is left to MPI.
struct Offer {
  static constexpr std::uint64_t word = 0x7465737365726122u;
  std::uint64_t magic = word;
  i64 bytes = 0;
  Staging staging;  // without one the bytes follow as a stream
};

class Sending {
 public:
  Sending(const Link& link, const Block& block);
  bool advance();
  bool done() const { return done_; }
  int rank() const { return link_.rank; }
  void abandon();

 private:
  Link link_;
  bool done_ = false;
  std::unique_ptr<Offer> offer_;
  MPI_Request offering_ = MPI_REQUEST_NULL;
  std::optional<StagedSend> staged_;
  std::optional<Stream> stream_;
};

class Receiving {
 public:
  Receiving(const Link& link, const Block& block, std::string_view operation);
  bool advance();
  bool done() const { return done_; }
  int rank() const { return link_.rank; }
  void abandon();

 private:
  void open_offer(i64 length);

  Link link_;
  const Block* block_;
  std::string_view operation_;
  bool done_ = false;
  std::unique_ptr<Offer> offer_;
  MPI_Request offering_ = MPI_REQUEST_NULL;
  std::optional<StagedReceive> staged_;
  std::optional<Stream> stream_;
};

}  // namespace tessera::mpi
