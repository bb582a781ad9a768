// SPDX-License-Identifier: Apache-2.0
#include "tessera/comm/mpi/transfer.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace tessera::mpi {
namespace {

constexpr int data_tag = 1, answer_tag = 2;
constexpr char taken = 1, as_stream = 2;
// Where the way over the sender's memory begins to be the quicker one.
constexpr i64 offered_bytes = 256 << 10;

// Runs up to here are packed and unpacked through a slot in less time than the kernel takes to find
// them: it pays for each run, and for each page in which one lies.
constexpr i64 longest_slot_run = 32 << 10;

bool goes_through_slot(const Block& block) {
  const BlockWalk walk(block);
  return !walk.contiguous() && walk.run() <= longest_slot_run;
}

bool offered(const Link& link, const Block& block) {
  return link.readable && block.bytes() >= offered_bytes;
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

Sending::Sending(const Link& link, const Block& block) : link_(link), block_(&block) {
  if (!offered(link, block)) {
    stream_.emplace(link, block, Stream::Way::out);
    stream_->advance();
    return;
  }
  if (goes_through_slot(block)) {
    writer_.emplace(block);
    if (*writer_)
      writer_->advance();
    else
      writer_.reset();
  }
  offer_ = std::make_unique<Offer>(writer_ ? Offer::through(writer_->place(), block, getpid())
                                           : Offer::of(block, getpid()));
  link_.world.call([&] {
    return MPI_Isend(offer_.get(), static_cast<int>(offer_->wire_bytes()), MPI_BYTE, link_.rank,
                     data_tag, link_.comm, &offering_);
  });
  if (offer_->process == 0) {
    stream_.emplace(link, block, Stream::Way::out);
    return;
  }
  link_.world.call([&] {
    return MPI_Irecv(&answer_, 1, MPI_CHAR, link_.rank, answer_tag, link_.comm, &answering_);
  });
}

bool Sending::advance() {
  if (stream_) {
    const bool moved = stream_->advance();
    done_ = stream_->done() && link_.world.test(offering_);
    return moved || done_;
  }
  if (writer_ && writer_->advance()) return true;
  if (writer_ && writer_->met() && !writer_->done()) return false;  // no word before its end
  if (!link_.world.test(answering_)) return false;
  if (answer_ == as_stream)
    stream_.emplace(link_, *block_, Stream::Way::out);
  else
    done_ = link_.world.test(offering_);
  return true;
}

void Sending::abandon() {
  drop(link_.world, offering_, false);
  drop(link_.world, answering_, true);
  if (writer_) writer_->abandon();
  if (stream_) stream_->abandon();
  (void)offer_.release();
}

Receiving::Receiving(const Link& link, const Block& block, std::string_view operation)
    : link_(link), block_(&block), operation_(operation) {
  if (!offered(link, block)) {
    stream_.emplace(link, block, Stream::Way::in);
    stream_->advance();
    return;
  }
  offer_ = std::make_unique<Offer>();
  link_.world.call([&] {
    return MPI_Irecv(offer_.get(), static_cast<int>(sizeof(Offer)), MPI_BYTE, link_.rank, data_tag,
                     link_.comm, &offering_);
  });
}

void Receiving::open_offer(i64 length) {
  require<CommError>(length <= static_cast<i64>(sizeof(Offer)) && length >= Offer{}.wire_bytes() &&
                         offer_->magic == Offer::word && offer_->bytes == block_->bytes(),
                     operation_, ": rank ", link_.rank, " sends something else than the ",
                     block_->bytes(), " bytes that are expected");
  if (offer_->process == 0) {
    stream_.emplace(link_, *block_, Stream::Way::in);
  } else if (offer_->place.file < 0) {
    read_.emplace(*offer_, *block_);
  } else {
    reader_.emplace(static_cast<pid_t>(offer_->process), offer_->place, *block_);
    if (!*reader_) answer(as_stream);
  }
}

void Receiving::answer(char word) {
  answer_ = word;
  read_.reset();
  reader_.reset();
  link_.world.call([&] {
    return MPI_Isend(&answer_, 1, MPI_CHAR, link_.rank, answer_tag, link_.comm, &answering_);
  });
  if (word == as_stream) stream_.emplace(link_, *block_, Stream::Way::in);
}

bool Receiving::empty_slot() {
  if (!reader_->advance()) return false;
  if (reader_->done()) answer(taken);
  return true;
}

// Copies a part; at the end, or when the memory cannot be read after all, the sender is told.
bool Receiving::read_on() {
  const int error = read_->step();
  require<CommError>(error != ESRCH, "waited for rank ", link_.rank, " in ", operation_,
                     ": its process ", offer_->process, " has ended");
  if (error == 0 && !read_->done()) return true;
  answer(error == 0 ? taken : as_stream);
  return true;
}

bool Receiving::advance() {
  if (read_) return read_on();
  if (reader_) return empty_slot();
  if (stream_) {
    const bool moved = stream_->advance();
    done_ = stream_->done() && link_.world.test(answering_);
    return moved || done_;
  }
  if (answer_ == taken) return done_ = link_.world.test(answering_);
  MPI_Status status;
  if (!link_.world.test(offering_, &status)) return false;
  int length = 0;
  MPI_Get_count(&status, MPI_BYTE, &length);
  open_offer(length);
  return true;
}

void Receiving::abandon() {
  drop(link_.world, offering_, true);
  drop(link_.world, answering_, false);
  if (stream_) stream_->abandon();
  (void)offer_.release();
}

}  // namespace tessera::mpi
