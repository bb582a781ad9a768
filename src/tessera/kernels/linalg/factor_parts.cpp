// SPDX-License-Identifier: Apache-2.0
// Factored matrices taken apart and put together again. What comes from a file is checked: rows are
// exchanged by number, and a wrong one would be memory of somebody else.
#include <algorithm>
#include <numeric>
#include <utility>

#include "tessera/kernels/linalg/stack.hpp"

namespace tessera::linalg {
namespace {

constexpr const char* lu_again = "Lu";

Array working_copy(const Array& a, std::string_view who) {
  require<DTypeError>(a && working_dtype(a.dtype()) == a.dtype(), who,
                      ": expected factors of float32, float64, complex64 or complex128");
  require_matrices(who, a);
  return columns_of(a, a.dtype());
}

// Integers of that shape beside the factors, and the same for the host to look at.
struct Numbers {
  Array mine, seen;
  Numbers(const Array& given, const Shape& shape, const Array& factors, const char* what) {
    require<DTypeError>(given && given.dtype() == DType::i64, lu_again, ": expected ", what,
                        " of int64");
    require<ShapeError>(given.shape() == shape, lu_again, ": ", what, " of shape ", given.shape(),
                        ", expected ", shape);
    mine = rows_of(given.to(factors.device()), DType::i64);
    seen = mine.to(cpu);
  }
  const i64* begin() const { return seen.host<i64>(); }
};

// a[rows] = L U, as the exchanges make it.
Array rows_after(const i64* pivots, const Shape& lead, i64 m, i64 k, Device device) {
  const Array rows = empty_dense(with(lead, {m}), DType::i64, cpu);
  i64* out = rows.host<i64>();
  for (i64 batch = count_of(lead), b = 0; b < batch; ++b, out += m, pivots += k) {
    std::iota(out, out + m, i64{0});
    for (i64 i = 0; i < k; ++i) {
      require<ArgumentError>(pivots[i] > i && pivots[i] <= m, lu_again, ": row ", i + 1,
                             " of a matrix of ", m, " rows is exchanged with row ", pivots[i]);
      std::swap(out[i], out[pivots[i] - 1]);
    }
  }
  return rows.to(device);
}

}  // namespace

LuParts Lu::parts() const { return {turned(packed_).copy(), pivots_.copy(), info_.copy()}; }

Lu::Lu(const LuParts& parts) : packed_(working_copy(parts.triangles, lu_again)) {
  const Array f = turned(packed_);
  const Shape lead = leading(f);
  const i64 m = tessera::linalg::rows(f), k = std::min(m, columns(f));
  const Numbers pivots(parts.pivots, with(lead, {k}), f, "pivots"),
      info(parts.info, lead, f, "zero pivots");
  for (i64 i = 0; i < info.seen.size(); ++i)
    require<ArgumentError>(info.begin()[i] >= 0 && info.begin()[i] <= k, lu_again, ": pivot ",
                           info.begin()[i], " of ", k, " is said to be zero");
  rows_ = rows_after(pivots.begin(), lead, m, k, f.device());
  pivots_ = pivots.mine;
  info_ = info.mine;
}

Cholesky Cholesky::of_factor(const Array& l) {
  Cholesky c;
  c.packed_ = working_copy(l, "Cholesky");
  require_square("Cholesky", l);
  return c;
}

}  // namespace tessera::linalg
