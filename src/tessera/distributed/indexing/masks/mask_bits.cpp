// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/indexing/masks/mask_bits.hpp"

#include <algorithm>

#include "tessera/distributed/wire/bool_bits.hpp"
#include "tessera/distributed/wire/to_index.hpp"
#include "tessera/kernels/copy/copy.hpp"

namespace tessera::dist {
namespace {

Array pack_bits(const Array& mask) {
  const Array dense = mask.to(cpu).contiguous();
  const i64 n = dense.size();
  const Array bits = empty_dense({(n + 7) / 8}, DType::u8);
  bits_of_bools(dense.host<bool>(), n, bits.host<std::uint8_t>());
  return bits;
}

Array unpack_bits(const std::uint8_t* bits, const Shape& shape) {
  const Array mask = empty_dense(shape, DType::b1);
  bools_of_bits(bits, mask.size(), mask.host<bool>());
  return mask;
}

// The elements [begin, begin + size) of every axis, in a rank's part of an array.
Array inside(const Array& part, const Box& box, const Shape& begin, const Shape& size) {
  Layout l = part.layout();
  for (i64 a = 0; a < l.ndim(); ++a)
    l = l.slice(a, begin[a] - (box.axis == a ? box.begin : 0), size[a]);
  return part.view(l);
}

}  // namespace

BitRelayout::BitRelayout(const DNDarray& mask, const Distribution& to)
    : mask_(mask),
      distribution_(to),
      from_(boxes_of(mask.shape(), mask.distribution(), mask.comm().size())),
      to_(boxes_of(mask.shape(), to, mask.comm().size())) {}

BitRelayout::Piece BitRelayout::piece(int from, int to) const {
  Piece piece{Shape(mask_.ndim(), 0), mask_.shape()};
  for (const Box* box : {&from_[to_index(from)], &to_[to_index(to)]}) {
    if (box->axis < 0) continue;
    const i64 begin = std::max(piece.begin[box->axis], box->begin),
              end = std::min(piece.begin[box->axis] + piece.size[box->axis], box->end);
    piece.begin[box->axis] = begin;
    piece.size[box->axis] = std::max<i64>(0, end - begin);
  }
  return piece;
}

void BitRelayout::count(Transfers& t, bool exact) const {
  Transfer& sent = t.pairs(Content::bits, exact);
  for (int r = 0; r < t.ranks(); ++r)
    for (int q = 0; q < t.ranks(); ++q)
      if (q != r) sent.send(r, 1, piece(r, q).bytes());
}

Array BitRelayout::run() const {
  const Communicator& comm = mask_.comm();
  const int me = comm.rank();
  Shape shape = mask_.shape();
  if (distribution_.split) shape[*distribution_.split] = distribution_.part.count(me);
  const Array out = empty_dense(shape, DType::b1, mask_.device());
  const Box &mine = from_[to_index(me)], &here = to_[to_index(me)];
  std::vector<Array> held;
  std::vector<std::pair<Piece, Array>> arrived;
  std::vector<Block> sends, receives;
  for (int r = 0; r < comm.size(); ++r) {
    const Piece given = piece(me, r), taken = piece(r, me);
    if (r == me) {
      if (!given.empty())
        inside(out, here, given.begin, given.size)
            .copy_from(inside(mask_.resident(), mine, given.begin, given.size));
      continue;
    }
    if (!given.empty()) {
      held.push_back(pack_bits(inside(mask_.resident(), mine, given.begin, given.size)));
      sends.push_back(Block::dense(r, held.back().host_data(), held.back().bytes()));
    }
    if (taken.empty()) continue;
    arrived.emplace_back(taken, empty_dense({taken.bytes()}, DType::u8));
    receives.push_back(Block::dense(r, arrived.back().second.host_data(), taken.bytes()));
  }
  comm.exchange(sends, receives);
  for (const auto& [piece, bits] : arrived)
    inside(out, here, piece.begin, piece.size)
        .copy_from(unpack_bits(bits.host<std::uint8_t>(), piece.size).to(mask_.device()));
  return out;
}

}  // namespace tessera::dist
