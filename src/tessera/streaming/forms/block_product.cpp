// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/forms/block_product.hpp"

#include <algorithm>

#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/matrix/forms/checked.hpp"
#include "tessera/matrix/products/multiply.hpp"
#include "tessera/streaming/linalg/blocks.hpp"

namespace tessera::streaming {
namespace {

using Kind = BlockPlace::Kind;

bool is_blas(DType t) {
  return t == DType::f32 || t == DType::f64 || t == DType::c64 || t == DType::c128;
}
bool is_cut(const Piece& p) { return p.kind == Kind::half || p.kind == Kind::diagonal; }

void add_to(const Array& c, const Array& x, const BlockCall& call) {
  if (is_inexact(call.work) || call.counts)
    elementwise(ElementOp::add, std::array<ArrayOrValue, 2>{c, x}, c);
  else
    c.copy_from(checked_elementwise(MatrixOp::add, c, x, call.work));
}

Bits bits_as_seen(const Piece& p) {
  const Bits stored{p.numbers, p.columns};
  return p.turned ? bit_transpose(stored) : stored;
}

std::vector<Range> cut(i64 n, i64 by) { return cut_at_multiples(0, n, by); }

void count(const Array& c, const Piece& a, const Piece& b, const BlockCall& call) {
  const Bits left = bits_as_seen(a);
  // The kernel wants the transpose of the right operand.
  const Bits right = b.turned ? Bits{b.numbers, b.columns} : bit_transpose({b.numbers, b.columns});
  for (const Range& r : cut(left.rows(), call.strip)) {
    poll_stream();
    const Bits rows{left.words.slice(0, r.begin, r.end), left.columns};
    const DType t = is_integer(call.work) ? call.work : DType::i64;
    const Array counts = bit_counts(rows, right, {.transposed = true, .dtype = t});
    add_to(c.slice(0, r.begin, r.end), counts.astype(call.work), call);
  }
}

// Numbers as BLAS takes them.
struct Numbers {
  Array array;
  Block block;
};
Numbers numbers_of(const Piece& p, DType dtype) {
  Array x = p.numbers.astype(dtype);
  const bool apart = p.conj && !p.turned;  // BLAS conjugates what it transposes
  if (apart) x = ops::conj(x);
  const void* data = x.host_data();
  return {x, {data, std::max<i64>(x.layout().strides[0], 1), p.turned, p.conj && p.turned}};
}

void multiply_numbers(const Array& c, const Piece& a, const Piece& b, const BlockCall& call) {
  const Numbers x = numbers_of(a, call.dtype), y = numbers_of(b, call.dtype);
  const double sign = a.negative != b.negative ? -1 : 1;
  gemm(call.dtype, c.shape(0), c.shape(1), a.cols(), {sign, 0}, x.block, y.block, {1, 0},
       c.host_data(), c.layout().strides[0]);
}

AnyMatrix in_work(const Piece& p, const BlockCall& call) {
  const AnyMatrix m = p.matrix();
  // Integers whose scale is no integer are summed as floats.
  const bool converts = call.work != call.dtype || (call.scales() && is_inexact(call.work));
  return p.has_words() || !converts ? m : m.astype(call.work);
}

void multiply_whole(const Array& c, const Piece& a, const Piece& b, const BlockCall& call) {
  add_to(c, matmul(in_work(a, call), in_work(b, call)).array(call.work), call);
}

void multiply_by_strips(const Array& c, Piece a, const Piece& b, const BlockCall& call) {
  if (a.has_words() && a.turned) {
    const Bits seen = bits_as_seen(a);
    a.numbers = seen.words;
    a.columns = seen.columns;
    a.turned = false;
  }
  for (const Range& r : cut(c.shape(0), call.strip)) {
    poll_stream();
    multiply_whole(c.slice(0, r.begin, r.end), a.part(r, {0, a.cols()}), b, call);
  }
}

// Squares on a diagonal: only their parts that are stored meet those of the other operand.
void multiply_cut(const Array& c, const Piece& a, const Piece& b, const BlockCall& call) {
  const i64 by = a.has_words() || b.has_words() ? (call.strip + 511) / 512 * 512 : call.strip;
  const i64 all = std::max<i64>({1, c.shape(0), c.shape(1)});
  for (const Range& r : cut(c.shape(0), is_cut(a) ? by : all))
    for (const Range& k : cut(a.cols(), by)) {
      const Piece left = a.part(r, k);
      if (left.kind == Kind::zero) continue;
      for (const Range& j : cut(c.shape(1), is_cut(b) ? by : all)) {
        const Piece right = b.part(k, j);
        if (right.kind == Kind::zero) continue;
        const Array part = c.slice(0, r.begin, r.end).slice(1, j.begin, j.end);
        if (is_cut(left) || is_cut(right))
          multiply_whole(part, left, right, call);
        else
          multiply_add(part, left, right, call);
      }
    }
}

void join(const Array& c, const Piece& a, const Piece& b) {
  const Bits any = bit_any(bits_as_seen(a), bits_as_seen(b));
  elementwise(ElementOp::bitwise_or, std::array<ArrayOrValue, 2>{c, any.words}, c);
}

}  // namespace

DType work_dtype(DType product, bool counts) {
  if (product == DType::f16 || product == DType::bf16) return DType::f32;
  if (is_inexact(product) || counts) return product;
  return product == DType::u64 ? DType::u64 : DType::i64;
}

void finish_block(const Array& sums, const Array& result, const BlockCall& call) {
  for (const Range& r : cut(sums.shape(0), call.strip)) {
    AnyMatrix rows = AnyMatrix::dense(sums.slice(0, r.begin, r.end));
    if (call.scales()) rows = rows.scaled(call.factor);
    result.slice(0, r.begin, r.end).copy_from(rows.astype(result.dtype()).array());
  }
  result.host_data();
}

i64 temporary_bytes(const FormSource& a, const FormSource& b, const BlockCall& call, i64 side) {
  const i64 words = word_bytes(side, side), number = size_of(call.work);
  const bool bits = a.has_words() || b.has_words();
  if (call.boolean) return 4 * words;
  // At the end strips of sums are multiplied and converted, looked at as wider integers.
  const i64 finishing = call.scales() ? 4 * call.strip * side * 16 : 0;
  if (a.has_words() && b.has_words())
    return finishing + 3 * words + 3 * call.strip * side * std::max<i64>(number, 8);
  const bool half = (a.is_half() && !a.has_words()) || a.is_diagonal() ||
                    (b.is_half() && !b.has_words()) || b.is_diagonal();
  const i64 rows = std::min(side, half && bits ? (call.strip + 511) / 512 * 512 : call.strip);
  const i64 height = std::min(side, a.rows()), depth = std::min(side, a.cols()),
            width = std::min(side, b.cols());
  const bool cuts_b = (b.is_half() && !b.has_words()) || b.is_diagonal();
  const i64 extent = std::max({rows, width, cuts_b ? height : 0});
  i64 bytes = finishing + (half && !bits ? 12 : 5) * rows * extent * number;
  if (bits) bytes += 3 * words;
  const bool blas = is_blas(call.dtype) && !bits;
  const bool converts =
      a.dtype != call.dtype || b.dtype != call.dtype || a.conjugated || b.conjugated;
  if (!blas) bytes += 3 * depth * (width + rows) * number;
  if (blas && converts) bytes += depth * (height + width) * number;
  return bytes;
}

void multiply_add(const Array& c, const Piece& a, const Piece& b, const BlockCall& call) {
  if (call.boolean)
    join(c, a, b);
  else if (a.has_words() && b.has_words())
    count(c, a, b, call);
  else if (is_cut(a) || is_cut(b))
    multiply_cut(c, a, b, call);
  else if (is_blas(call.dtype) && !a.has_words() && !b.has_words())
    multiply_numbers(c, a, b, call);
  else
    multiply_by_strips(c, a, b, call);
  c.host_data();  // waits: the buffers are given to transfers next
}

}  // namespace tessera::streaming
