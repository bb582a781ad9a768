// SPDX-License-Identifier: Apache-2.0
#include "tessera/comm/mpi/transfer.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

namespace tessera::mpi {
namespace {

constexpr int data_tag = 1, answer_tag = 2;
using Word = Answer::Word;
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
  const std::optional<Offer> shared = Offer::shared(block, getpid());
  if (!shared && goes_through_slot(block)) {
    writer_.emplace(block);
    if (*writer_)
      writer_->advance();
    else
      writer_.reset();
  }
  talk_ = std::make_unique<Talk>();
  talk_->offer = shared    ? *shared
                 : writer_ ? Offer::through(writer_->place(), block, getpid())
                           : Offer::of(block, getpid());
  talk_->offer.load = link.load;
  link_.world.call([&] {
    return MPI_Isend(&talk_->offer, static_cast<int>(talk_->offer.wire_bytes()), MPI_BYTE,
                     link_.rank, data_tag, link_.comm, &offering_);
  });
  if (talk_->offer.process == 0) {
    stream_.emplace(link, block, Stream::Way::out);
    return;
  }
  link_.world.call([&] {
    return MPI_Irecv(&talk_->answer, sizeof talk_->answer, MPI_BYTE, link_.rank, answer_tag,
                     link_.comm, &answering_);
  });
}

bool Sending::advance() {
  if (stream_) {
    const bool moved = stream_->advance();
    done_ = stream_->done() && link_.world.test(offering_) && link_.world.test(answering_);
    return moved || done_;
  }
  if (shared_) return false;  // write() goes on
  if (writer_ && writer_->advance()) return true;
  if (writer_ && writer_->met() && !writer_->done()) return false;  // no word before its end
  if (!link_.world.test(answering_)) return false;
  if (!ended_ && talk_->answer.word == Word::write_here) {
    writer_.reset();
    shared_.emplace(talk_->answer.room, *block_);
  } else if (talk_->answer.word == Word::as_stream) {
    stream_.emplace(link_, *block_, Stream::Way::out);
  } else {
    done_ = link_.world.test(offering_);
  }
  return true;
}

// At the end, or when the room cannot be written to after all, the receiver is told.
i64 Sending::write() {
  const auto [bytes, error] = shared_->step();
  if (error == 0 && !shared_->done()) return bytes;
  shared_.reset();
  ended_ = true;
  talk_->end.word = error == 0 ? Word::written : Word::as_stream;
  std::atomic_thread_fence(std::memory_order_release);
  link_.world.call([&] {
    return MPI_Isend(&talk_->end, sizeof talk_->end, MPI_BYTE, link_.rank, data_tag, link_.comm,
                     &answering_);
  });
  if (error != 0) stream_.emplace(link_, *block_, Stream::Way::out);
  return bytes;
}

void Sending::abandon() {
  // The receiver may still read memory that the caller takes back.
  if (awaits_answer() && talk_->offer.pages.file >= 0) SharedPages::own().withdraw();
  drop(link_.world, offering_, false);
  drop(link_.world, answering_, !ended_);
  if (writer_) writer_->abandon();
  if (stream_) stream_->abandon();
  (void)talk_.release();
}

Receiving::Receiving(const Link& link, const Block& block, std::string_view operation)
    : link_(link), block_(&block), operation_(operation) {
  if (!offered(link, block)) {
    stream_.emplace(link, block, Stream::Way::in);
    stream_->advance();
    return;
  }
  talk_ = std::make_unique<Talk>();
  link_.world.call([&] {
    return MPI_Irecv(&talk_->offer, static_cast<int>(sizeof(Offer)), MPI_BYTE, link_.rank, data_tag,
                     link_.comm, &offering_);
  });
}

// Into one place, columns are best written by the rank that walks its rows; else whoever would be
// done first copies. To read through the kernel takes about twice as long.
bool Receiving::sender_shall_write() const {
  const Offer& offer = talk_->offer;
  const i64 through_kernel = offer.pages.file < 0 ? offer.bytes : 0;
  return offer.strided || offer.load + offer.bytes < link_.load + through_kernel;
}

void Receiving::open_offer(i64 length) {
  require<CommError>(length <= static_cast<i64>(sizeof(Offer)) && length >= Offer{}.wire_bytes() &&
                         talk_->offer.magic == Offer::word && talk_->offer.bytes == block_->bytes(),
                     operation_, ": rank ", link_.rank, " sends something else than the ",
                     block_->bytes(), " bytes that are expected");
  if (talk_->offer.process == 0) {
    stream_.emplace(link_, *block_, Stream::Way::in);
  } else if (const auto room = Room::of(*block_, getpid()); room && sender_shall_write()) {
    answer(Word::write_here, *room);
  } else if (talk_->offer.pages.file >= 0) {
    shared_.emplace(talk_->offer, *block_);
    if (!*shared_) answer(Word::as_stream);
  } else if (talk_->offer.place.file < 0) {
    read_.emplace(talk_->offer, *block_);
  } else {
    reader_.emplace(static_cast<pid_t>(talk_->offer.process), talk_->offer.place, *block_);
    if (!*reader_) answer(Word::as_stream);
  }
}

void Receiving::answer(Word word, const Room& room) {
  talk_->answer = {word, room};
  std::atomic_thread_fence(std::memory_order_release);
  read_.reset();
  shared_.reset();
  reader_.reset();
  link_.world.call([&] {
    return MPI_Isend(&talk_->answer, sizeof talk_->answer, MPI_BYTE, link_.rank, answer_tag,
                     link_.comm, &answering_);
  });
  if (word == Word::as_stream) stream_.emplace(link_, *block_, Stream::Way::in);
  if (word != Word::write_here) return;
  link_.world.call([&] {
    return MPI_Irecv(&talk_->end, sizeof talk_->end, MPI_BYTE, link_.rank, data_tag, link_.comm,
                     &offering_);
  });
}

bool Receiving::empty_slot() {
  if (!reader_->advance()) return false;
  if (reader_->done()) answer(Word::taken);
  return true;
}

// Copies a part; at the end, or when the memory cannot be read after all, the sender is told.
template <class Read>
bool Receiving::read_on(Read& read) {
  const int error = read.step();
  require<CommError>(error != ESRCH, "waited for rank ", link_.rank, " in ", operation_,
                     ": its process ", talk_->offer.process, " has ended");
  if (error == 0 && !read.done()) return true;
  answer(error == 0 ? Word::taken : Word::as_stream);
  return true;
}

bool Receiving::advance() {
  if (read_) return read_on(*read_);
  if (shared_) return read_on(*shared_);
  if (reader_) return empty_slot();
  if (stream_) {
    const bool moved = stream_->advance();
    done_ = stream_->done() && link_.world.test(answering_);
    return moved || done_;
  }
  if (talk_->answer.word == Word::taken || written_) return done_ = link_.world.test(answering_);
  MPI_Status status;
  if (!link_.world.test(offering_, &status)) return false;
  if (talk_->answer.word == Word::write_here) {
    written_ = talk_->end.word == Word::written;
    if (!written_) stream_.emplace(link_, *block_, Stream::Way::in);
    require<CommError>(!written_ || Room::of(*block_, getpid()), operation_,
                       ": this process shares its memory no more, because another group is lost");
    return true;
  }
  int length = 0;
  MPI_Get_count(&status, MPI_BYTE, &length);
  open_offer(length);
  return true;
}

void Receiving::abandon() {
  // The sender may still be writing into memory that the caller takes back.
  if (talk_ && talk_->answer.word == Word::write_here && !written_) SharedPages::own().withdraw();
  drop(link_.world, offering_, true);
  drop(link_.world, answering_, false);
  if (stream_) stream_->abandon();
  (void)talk_.release();
}

}  // namespace tessera::mpi
