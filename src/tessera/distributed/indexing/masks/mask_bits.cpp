// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/indexing/masks/mask_bits.hpp"

#include "tessera/distributed/wire/bool_bits.hpp"
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

}  // namespace

Array BitRelayout::run() const {
  const Communicator& comm = mask_.comm();
  const int me = comm.rank();
  const Array out = empty_dense(relayout_.new_shape(me), DType::b1, mask_.device());
  std::vector<Array> held;
  std::vector<std::pair<Array, Array>> arrived;  // the bits, and where they go
  std::vector<Block> sends, receives;
  for (int r = 0; r < comm.size(); ++r) {
    const Relayout::Piece given = relayout_.piece(me, r), taken = relayout_.piece(r, me);
    if (r == me) {
      if (!given.empty())
        relayout_.in_new(out, me, given).copy_from(relayout_.in_old(mask_.resident(), me, given));
      continue;
    }
    if (!given.empty()) {
      held.push_back(pack_bits(relayout_.in_old(mask_.resident(), me, given)));
      sends.push_back(Block::dense(r, held.back().host_data(), held.back().bytes()));
    }
    if (taken.empty()) continue;
    arrived.emplace_back(empty_dense({(taken.elements() + 7) / 8}, DType::u8),
                         relayout_.in_new(out, me, taken));
    const Array& bits = arrived.back().first;
    receives.push_back(Block::dense(r, bits.host_data(), bits.bytes()));
  }
  comm.exchange(sends, receives);
  for (const auto& [bits, to] : arrived)
    to.copy_from(unpack_bits(bits.host<std::uint8_t>(), to.shape()).to(mask_.device()));
  return out;
}

}  // namespace tessera::dist
