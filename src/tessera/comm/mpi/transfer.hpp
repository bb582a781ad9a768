// SPDX-License-Identifier: Apache-2.0
#pragma once
// One block on its way to, or from, one rank. advance() does what can be done without waiting and
// says whether that was anything. Small blocks are one message; large ones are read from the
// sender's memory where that is allowed, or come through a slot where their runs are short and the
// memory is not shared; else they are a stream of pieces, packed where they are strided, two at a
// time, so that no copy of the data is ever whole.
//   Sending s(link, block);   while (!s.done()) s.advance();

#include <memory>
#include <optional>

#include "tessera/comm/mpi/scratch.hpp"
#include "tessera/comm/mpi/shared_copy.hpp"

namespace tessera::mpi {

struct Link {
  World& world;
  MPI_Comm comm;
  int rank;       // of the other side, in the group
  bool readable;  // single copies both ways
  i64 piece;      // bytes of a message of a stream: both sides must agree
  i64 load;       // bytes that this side receives in this exchange, of all ranks and its own
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

// What a receiver says to an offer, and a sender that was given room at its end.
struct Answer {
  enum class Word : std::uint8_t { none, taken, as_stream, write_here, written };
  Word word = Word::none;
  Room room;
};

// All that both sides say of one block. MPI may read and write it after a side has given up: then
// it is left to MPI.
struct Talk {
  Offer offer;
  Answer answer, end;
};

class Sending {
 public:
  Sending(const Link& link, const Block& block);
  bool advance();
  // Whether the receiver has given us room; write() copies a run or a few and says how many bytes.
  bool writes() const { return shared_.has_value(); }
  i64 write();
  bool awaits_answer() const {
    return talk_ && !stream_ && talk_->answer.word == Answer::Word::none;
  }
  bool done() const { return done_; }
  int rank() const { return link_.rank; }
  void abandon();

 private:
  Link link_;
  const Block* block_;
  bool done_ = false, ended_ = false;  // ended: said so, where it wrote
  std::unique_ptr<Talk> talk_;
  MPI_Request offering_ = MPI_REQUEST_NULL, answering_ = MPI_REQUEST_NULL;
  std::optional<SlotWriter> writer_;
  std::optional<SharedWrite> shared_;
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
  bool sender_shall_write() const;
  template <class Read>
  bool read_on(Read& read);
  bool empty_slot();
  void answer(Answer::Word word, const Room& room = {});

  Link link_;
  const Block* block_;
  std::string_view operation_;
  bool done_ = false, written_ = false;
  std::unique_ptr<Talk> talk_;
  MPI_Request offering_ = MPI_REQUEST_NULL, answering_ = MPI_REQUEST_NULL;
  std::optional<RemoteRead> read_;
  std::optional<SharedRead> shared_;
  std::optional<SlotReader> reader_;
  std::optional<Stream> stream_;
};

}  // namespace tessera::mpi
