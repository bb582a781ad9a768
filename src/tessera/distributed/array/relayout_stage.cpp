// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/array/relayout_stage.hpp"

#include <algorithm>

#include "tessera/device/registry.hpp"
#include "tessera/device/stream.hpp"
#include "tessera/kernels/copy/copy.hpp"

namespace tessera::dist {
namespace {

// Of one direction: on the device while a piece is packed or unpacked, and pinned where it is
// staged.
constexpr i64 staged_bytes = i64{12} << 20;

bool on_host(const Array& a) { return compute_device(a.device().kind).host_memory(); }

Block block_of(const TravelPart& part) {
  return {part.rank, static_cast<std::byte*>(part.block.storage().data()),
          size_of(part.block.dtype()), part.block.layout()};
}

// The layout in pieces of at most `limit` bytes (or one element), by its shape alone: both sides of
// a message cut alike, whatever their strides.
void cut(const Layout& l, i64 axis, i64 item, i64 limit, std::vector<Layout>& pieces) {
  const i64 bytes = l.size() * item;
  if (bytes == 0) return;
  if (bytes <= limit || axis == l.ndim()) {
    pieces.push_back(l);
    return;
  }
  const i64 row = bytes / l.shape[axis], rows = std::max<i64>(1, limit / row);
  for (i64 i = 0; i < l.shape[axis]; i += rows)
    cut(l.slice(axis, i, std::min(rows, l.shape[axis] - i)), axis + 1, item, limit, pieces);
}

std::vector<Layout> pieces_of(const Array& a, i64 limit) {
  std::vector<Layout> pieces;
  cut(a.layout(), 0, size_of(a.dtype()), limit, pieces);
  return pieces;
}

// A window of pinned memory through which pieces of arrays of one device pass.
class Stage {
 public:
  Stage(Device device, i64 bytes)
      : device_(device),
        stream_(Stream::home(device)),
        window_(Array::pinned({bytes}, DType::u8, device.kind)) {}

  std::byte* at(i64 offset) const { return static_cast<std::byte*>(window_.data()) + offset; }
  void pack(const Array& piece, i64 offset) const {
    const Array dense = piece.contiguous();
    stream_.copy(at(offset), cpu, dense.data(), device_, dense.bytes());
  }
  void unpack(const Array& piece, i64 offset) const {
    const Array dense =
        piece.is_contiguous() ? piece : empty_dense(piece.shape(), piece.dtype(), device_);
    stream_.copy(dense.data(), device_, at(offset), cpu, dense.bytes());
    if (!piece.is_contiguous()) piece.copy_from(dense);
  }
  // The window may be read, or used again.
  void sync() const { stream_.sync(); }

 private:
  Device device_;
  Stream stream_;
  Array window_;
};

struct Track {  // the pieces of one part, and their place in the window
  const TravelPart* part;
  std::vector<Layout> pieces;
  i64 offset;
};

std::vector<Track> tracks_of(std::span<const TravelPart> parts, i64 limit, i64* window) {
  std::vector<Track> tracks;
  for (const TravelPart& part : parts) {
    tracks.push_back({&part, pieces_of(part.block, limit), *window});
    i64 longest = 0;
    for (const Layout& l : tracks.back().pieces) longest = std::max(longest, l.size());
    *window += (longest * size_of(part.block.dtype()) + 63) / 64 * 64;
  }
  return tracks;
}

// f(piece, track) for the tracks that have a piece number `round`; whether any had.
template <class F>
bool each_piece(const std::vector<Track>& tracks, std::size_t round, F&& f) {
  bool any = false;
  for (const Track& track : tracks) {
    if (round >= track.pieces.size()) continue;
    f(track.part->block.view(track.pieces[round]), track);
    any = true;
  }
  return any;
}

i64 piece_limit(const Communicator& comm) {
  return std::max<i64>(4096, staged_bytes / std::max(1, comm.size() - 1));
}

// Piece k of every pair of ranks travels in round k on both sides, so that no rank waits for a
// message that is behind one of its own.
void exchange_staged(std::span<const TravelPart> sends, std::span<const TravelPart> receives,
                     const Communicator& comm) {
  const i64 limit = piece_limit(comm);
  const Device device = (sends.empty() ? receives : sends).front().block.device();
  i64 out_bytes = 0, in_bytes = 0;
  const std::vector<Track> out = tracks_of(sends, limit, &out_bytes),
                           in = tracks_of(receives, limit, &in_bytes);
  const Stage outgoing(device, out_bytes), incoming(device, in_bytes);
  for (std::size_t round = 0;; ++round) {
    std::vector<Block> leave, arrive;
    each_piece(out, round, [&](const Array& piece, const Track& track) {
      outgoing.pack(piece, track.offset);
      leave.push_back(Block::dense(track.part->rank, outgoing.at(track.offset), piece.bytes()));
    });
    each_piece(in, round, [&](const Array& piece, const Track& track) {
      arrive.push_back(Block::dense(track.part->rank, incoming.at(track.offset), piece.bytes()));
    });
    if (leave.empty() && arrive.empty()) break;
    outgoing.sync();  // the one stream of both windows
    comm.exchange(leave, arrive);
    each_piece(in, round, [&](const Array& piece, const Track& track) {
      incoming.unpack(piece, track.offset);
    });
  }
  incoming.sync();
}

// A piece as dense memory of its device: itself where it is, else room for it.
Array room_for(const Array& piece) {
  return piece.is_contiguous() ? piece : empty_dense(piece.shape(), piece.dtype(), piece.device());
}

// The same pieces, packed and unpacked on the device. Memory is freed in the order of the home
// stream, which waits for what the others read.
void exchange_direct(std::span<const TravelPart> sends, std::span<const TravelPart> receives,
                     const DeviceLane& lane, const Communicator& comm) {
  const i64 limit = piece_limit(comm);
  const Stream stream = Stream::home((sends.empty() ? receives : sends).front().block.device());
  i64 unused = 0;
  const std::vector<Track> out = tracks_of(sends, limit, &unused),
                           in = tracks_of(receives, limit, &unused);
  for (std::size_t round = 0;; ++round) {
    std::vector<Block> leave, arrive;
    std::vector<Array> packed, rooms;
    each_piece(out, round, [&](const Array& piece, const Track& track) {
      packed.push_back(piece.contiguous());
      leave.push_back(Block::dense(track.part->rank, packed.back().data(), piece.bytes()));
    });
    each_piece(in, round, [&](const Array& piece, const Track& track) {
      rooms.push_back(room_for(piece));
      arrive.push_back(Block::dense(track.part->rank, rooms.back().data(), piece.bytes()));
    });
    if (leave.empty() && arrive.empty()) return;
    lane.exchange(stream, leave, arrive);
    std::size_t k = 0;
    each_piece(in, round, [&](const Array& piece, const Track&) {
      if (!piece.is_contiguous()) piece.copy_from(rooms[k]);
      ++k;
    });
  }
}

void broadcast_direct(const Array& all, int owner, const DeviceLane& lane,
                      const Communicator& comm) {
  const Stream stream = Stream::home(all.device());
  for (const Layout& l : pieces_of(all, staged_bytes)) {
    const Array piece = all.view(l);
    std::vector<Block> leave, arrive;
    const bool mine = comm.rank() == owner;
    const Array dense = mine ? piece.contiguous() : room_for(piece);
    for (int q = 0; q < comm.size() && mine; ++q)
      if (q != owner) leave.push_back(Block::dense(q, dense.data(), dense.bytes()));
    if (!mine) arrive.push_back(Block::dense(owner, dense.data(), dense.bytes()));
    lane.exchange(stream, leave, arrive);
    if (!mine && !piece.is_contiguous()) piece.copy_from(dense);
  }
}

void broadcast_staged(const Array& all, int owner, const Communicator& comm) {
  const Stage stage(all.device(), std::min(staged_bytes, all.bytes()));
  for (const Layout& l : pieces_of(all, staged_bytes)) {
    const Array piece = all.view(l);
    if (comm.rank() == owner) stage.pack(piece, 0);
    stage.sync();
    comm.broadcast(stage.at(0), piece.bytes(), owner);
    if (comm.rank() != owner) stage.unpack(piece, 0);
  }
  stage.sync();
}

}  // namespace

void exchange_parts(std::span<const TravelPart> sends, std::span<const TravelPart> receives,
                    const DeviceLane* lane, const Communicator& comm) {
  if (sends.empty() && receives.empty()) return;
  if (lane) return exchange_direct(sends, receives, *lane, comm);
  if (!on_host((sends.empty() ? receives : sends).front().block))
    return exchange_staged(sends, receives, comm);
  std::vector<Block> out, in;
  for (const TravelPart& part : sends) {
    part.block.storage().wait();
    out.push_back(block_of(part));
  }
  for (const TravelPart& part : receives) {
    part.block.storage().wait();
    in.push_back(block_of(part));
  }
  comm.exchange(out, in);
}

Array broadcast_whole(const Array& there, const Shape& shape, DType dtype, Device device, int owner,
                      const Communicator& comm) {
  const bool mine = comm.rank() == owner;
  const Array all = mine ? there : empty_dense(shape, dtype, device);
  require<ShapeError>(all && all.shape() == shape,
                      "broadcast: the owner's array should have shape ", shape);
  if (comm.alone() || all.size() == 0) return all;
  if (on_host(all)) {
    const Array dense = all.contiguous();
    comm.broadcast(dense.host_data(), dense.bytes(), owner);
  } else if (const DeviceLane* lane = comm.lane(device)) {
    broadcast_direct(all, owner, *lane, comm);
  } else {
    broadcast_staged(all, owner, comm);
  }
  return all;
}

}  // namespace tessera::dist
