// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cstring>

#include "tessera/dist/at.hpp"
#include "tessera/dist/mask.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/gather/gather.hpp"
#include "tessera/kernels/reduce/reduce.hpp"

namespace tessera {
namespace {

using dist::at;

// Numbers of `bits` bits each, one behind the other.
std::vector<std::byte> pack(std::span<const i64> numbers, int bits) {
  std::vector<std::byte> out((numbers.size() * static_cast<std::size_t>(bits) + 7) / 8);
  std::size_t bit = 0;
  for (const i64 n : numbers)
    for (int b = 0; b < bits; ++b, ++bit)
      if ((n >> b & 1) != 0) out[bit >> 3] |= std::byte{1} << (bit & 7);
  return out;
}

std::vector<i64> unpack(const std::byte* in, i64 count, int bits) {
  std::vector<i64> numbers(at(count));
  std::size_t bit = 0;
  for (i64& n : numbers)
    for (int b = 0; b < bits; ++b, ++bit)
      if ((in[bit >> 3] & (std::byte{1} << (bit & 7))) != std::byte{0}) n |= i64{1} << b;
  return numbers;
}

int bits_of_count(i64 widest) { return std::bit_width(static_cast<std::uint64_t>(widest)); }

// What of one rank's elements falls into [begin, end) of the result: its positions are ascending.
struct Run {
  i64 first, count;
};
Run within(std::span<const i64> positions, i64 begin, i64 end) {
  const auto low = std::lower_bound(positions.begin(), positions.end(), begin),
             high = std::lower_bound(low, positions.end(), end);
  return {low - positions.begin(), high - low};
}

}  // namespace

std::vector<i64> MaskOrder::counts() const {
  std::vector<i64> sums;
  for (const std::vector<i64>& rows_of_rank : picked) {
    i64 sum = 0;
    for (const i64 n : rows_of_rank) sum += n;
    sums.push_back(sum);
  }
  return sums;
}

std::vector<i64> MaskOrder::positions(int rank) const {
  std::vector<i64> all;
  for (i64 row = 0; row < rows; ++row) {
    i64 first = before[at(row)];
    for (int r = 0; r < rank; ++r) first += picked[at(r)][at(row)];
    for (i64 k = 0; k < picked[at(rank)][at(row)]; ++k) all.push_back(first + k);
  }
  return all;
}

i64 bytes_of_counts(i64 rows, i64 widest) { return (rows * bits_of_count(widest) + 7) / 8; }

MaskOrder order_of(const Array& mask, i64 rows, i64 widest, const Communicator& comm) {
  const i64 width = rows > 0 ? mask.size() / rows : 0;
  const Array counts =
      reduce(ReduceOp::count_nonzero, mask.contiguous().reshape({rows, width}), Axes{1})
          .to(cpu)
          .contiguous();
  const std::span<const i64> mine{counts.host<i64>(), at(rows)};
  const int bits = bits_of_count(widest);
  const std::vector<std::byte> packed = pack(mine, bits);
  std::vector<std::byte> all(packed.size() * at(comm.size()));
  comm.allgather(packed.data(), static_cast<i64>(packed.size()), all.data());
  MaskOrder order;
  order.rows = rows;
  for (int r = 0; r < comm.size(); ++r)
    order.picked.push_back(unpack(all.data() + at(r) * packed.size(), rows, bits));
  order.before.push_back(0);
  for (i64 row = 0; row < rows; ++row) {
    i64 sum = order.before.back();
    for (const std::vector<i64>& of_rank : order.picked) sum += of_rank[at(row)];
    order.before.push_back(sum);
  }
  return order;
}

Array put_in_order(const Array& mine, const MaskOrder& order, const Partition& to,
                   const Communicator& comm) {
  const int me = comm.rank();
  const Array held = mine.contiguous().to(cpu);
  Shape shape = mine.shape();
  shape[0] = to.count(me);
  const Array arrived = empty_dense(shape, mine.dtype(), cpu);
  const Array place = empty_dense({shape[0]}, DType::i64, cpu);  // where each arrived element goes
  i64 row = size_of(mine.dtype());
  for (i64 a = 1; a < shape.size(); ++a) row *= shape[a];
  auto* from = static_cast<std::byte*>(held.host_data());
  auto* into = static_cast<std::byte*>(arrived.host_data());
  i64* places = place.host<i64>();
  std::vector<Block> sends, receives;
  i64 filled = 0;
  const std::vector<i64> own = order.positions(me);
  for (int r = 0; r < comm.size(); ++r) {
    const std::vector<i64> theirs = r == me ? own : order.positions(r);
    const Run in = within(theirs, to.begin(me), to.end(me)),
              out = within(own, to.begin(r), to.end(r));
    for (i64 k = 0; k < in.count; ++k) places[theirs[at(in.first + k)] - to.begin(me)] = filled + k;
    if (r == me) {
      if (in.count * row > 0)
        std::memcpy(into + filled * row, from + in.first * row, at(in.count * row));
    } else {
      if (in.count * row > 0)
        receives.push_back(Block::dense(r, into + filled * row, in.count * row));
      if (out.count * row > 0)
        sends.push_back(Block::dense(r, from + out.first * row, out.count * row));
    }
    filled += in.count;
  }
  comm.exchange(sends, receives);
  return take(arrived, place, 0).to(mine.device());
}

}  // namespace tessera
