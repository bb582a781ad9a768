// SPDX-License-Identifier: Apache-2.0
#include "tessera/comm/mpi/transfer.hpp"

#include <algorithm>

namespace tessera::mpi {
namespace {

constexpr int data_tag = 1;
// Where the way through the window begins to be quicker than a message.
constexpr i64 staged_bytes = 256 << 10;

bool is_staged(const Link& link, const Block& block) {
  return link.window != nullptr && block.bytes() >= staged_bytes;
}

// A receive that has not met its message must not write into memory that the caller takes back.
void drop(World& world, MPI_Request& request, bool receive) {
  if (request == MPI_REQUEST_NULL) return;
  world.attempt([&] {
    if (receive) MPI_Cancel(&request);
    return MPI_Request_free(&request);
  });
}

}  // namespace

Stream::Stream(const Link& link, const Block& block, Way way)
    : link_(link), walk_(block), way_(way), packed_(!walk_.contiguous()), unposted_(walk_.left()) {}

void Stream::post(Piece& piece) {
  piece.bytes = std::min(unposted_, link_.piece);
  unposted_ -= piece.bytes;
  std::byte* data = nullptr;
  if (!packed_) {
    data = walk_.next(piece.bytes).data();
  } else {
    if (piece.room.data() == nullptr) piece.room = Scratch(piece.bytes);
    data = piece.room.data();
    if (way_ == Way::out) walk_.pack(data, piece.bytes);
  }
  const int count = static_cast<int>(piece.bytes);
  link_.world.call([&] {
    return way_ == Way::out
               ? MPI_Isend(data, count, MPI_BYTE, link_.rank, data_tag, link_.comm, &piece.request)
               : MPI_Irecv(data, count, MPI_BYTE, link_.rank, data_tag, link_.comm, &piece.request);
  });
}

bool Stream::finish(Piece& piece) {
  MPI_Status status;
  if (!link_.world.test(piece.request, &status)) return false;
  if (way_ == Way::out) return true;
  int count = 0;
  MPI_Get_count(&status, MPI_BYTE, &count);
  require<CommError>(count == piece.bytes, "rank ", link_.rank, " sent ", count, " bytes where ",
                     piece.bytes, " were expected");
  if (packed_) walk_.unpack(piece.room.data(), piece.bytes);
  return true;
}

bool Stream::advance() {
  bool moved = false;
  for (; open_ > 0 && finish(piece(0)); moved = true) {
    first_ = (first_ + 1) % most;
    --open_;
  }
  for (; open_ < (packed_ ? 2 : most) && unposted_ > 0; moved = true) post(piece(open_++));
  return moved;
}

void Stream::abandon() {
  for (Piece& piece : pieces_) {
    drop(link_.world, piece.request, way_ == Way::in);
    piece.room.release();  // MPI may still be reading it
  }
}

Sending::Sending(const Link& link, const Block& block) : link_(link) {
  if (is_staged(link, block)) {
    staged_.emplace(*link.window, link.world.rank(), block);
    if (*staged_)
      staged_->advance();
    else
      staged_.reset();
    offer_ = std::make_unique<Offer>();
    offer_->bytes = block.bytes();
    if (staged_) offer_->staging = staged_->staging();
    link_.world.call([&] {
      return MPI_Isend(offer_.get(), sizeof(Offer), MPI_BYTE, link_.rank, data_tag, link_.comm,
                       &offering_);
    });
  }
  if (staged_) return;
  stream_.emplace(link, block, Stream::Way::out);
  stream_->advance();
}

bool Sending::advance() {
  const bool moved = staged_ ? staged_->advance() : stream_->advance();
  done_ = (staged_ ? staged_->done() : stream_->done()) && link_.world.test(offering_);
  return moved || done_;
}

void Sending::abandon() {
  drop(link_.world, offering_, false);
  if (staged_) staged_->abandon();
  if (stream_) stream_->abandon();
  (void)offer_.release();
}

Receiving::Receiving(const Link& link, const Block& block, std::string_view operation)
    : link_(link), block_(&block), operation_(operation) {
  if (!is_staged(link, block)) {
    stream_.emplace(link, block, Stream::Way::in);
    stream_->advance();
    return;
  }
  offer_ = std::make_unique<Offer>();
  link_.world.call([&] {
    return MPI_Irecv(offer_.get(), sizeof(Offer), MPI_BYTE, link_.rank, data_tag, link_.comm,
                     &offering_);
  });
}

void Receiving::open_offer(i64 length) {
  require<CommError>(length == static_cast<i64>(sizeof(Offer)) && offer_->magic == Offer::word &&
                         offer_->bytes == block_->bytes(),
                     operation_, ": rank ", link_.rank, " sends something else than the ",
                     block_->bytes(), " bytes that are expected");
  if (offer_->staging.offset < 0)
    stream_.emplace(link_, *block_, Stream::Way::in);
  else
    staged_.emplace(*link_.window, link_.rank_in_world, offer_->staging, *block_);
}

bool Receiving::advance() {
  if (staged_ || stream_) {
    const bool moved = staged_ ? staged_->advance() : stream_->advance();
    done_ = staged_ ? staged_->done() : stream_->done();
    return moved || done_;
  }
  MPI_Status status;
  if (!link_.world.test(offering_, &status)) return false;
  int length = 0;
  MPI_Get_count(&status, MPI_BYTE, &length);
  open_offer(length);
  return true;
}

void Receiving::abandon() {
  drop(link_.world, offering_, true);
  if (stream_) stream_->abandon();
  (void)offer_.release();
}

}  // namespace tessera::mpi
