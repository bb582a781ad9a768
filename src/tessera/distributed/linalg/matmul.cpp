// SPDX-License-Identifier: Apache-2.0
// Note [rows only]: products whose result is split along its columns are computed transposed, which
// costs nothing (strides), so that everything below has the rows of the result split.
#include "tessera/distributed/linalg/matmul.hpp"

#include <algorithm>
#include <utility>

#include "tessera/base/config.hpp"
#include "tessera/distributed/exchange/over_ranks.hpp"
#include "tessera/distributed/exchange/point_to_point.hpp"
#include "tessera/distributed/functions/elementwise.hpp"
#include "tessera/distributed/functions/moves.hpp"
#include "tessera/distributed/functions/reduce.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/eager.hpp"
#include "tessera/kernels/matmul/matmul.hpp"

namespace tessera::dist {
namespace {

// Which axis of a matrix is split.
enum class Cut : std::uint8_t { none, rows, columns };
Cut cut_of(const DNDarray& x) {
  if (!x.split()) return Cut::none;
  return *x.split() == x.ndim() - 2 ? Cut::rows : Cut::columns;
}
i64 rows_axis(const DNDarray& x) { return x.ndim() - 2; }
i64 columns_axis(const DNDarray& x) { return x.ndim() - 1; }
DNDarray turned(const DNDarray& x) { return swapaxes(x, -1, -2); }

// c = a b + beta c; the batch axes of c are those of the product.
void multiply_into(const Array& a, const Array& b, const Array& c, bool add) {
  if (c.size() == 0) return;
  const i64 k = a.shape(a.ndim() - 1);
  if (k == 0) {
    if (!add) c.fill(Value(false));
    return;
  }
  const auto batched = [&](const Array& x) {
    Shape shape(c.shape().begin(), c.shape().end() - 2);
    shape.push_back(x.shape(x.ndim() - 2));
    shape.push_back(x.shape(x.ndim() - 1));
    return x.layout().broadcast_to(shape);
  };
  MatmulSpec spec;
  spec.a = {batched(a), a.dtype()};
  spec.b = {batched(b), b.dtype()};
  spec.out = operand_of(c);
  spec.beta = c128(add ? 1 : 0, 0);
  launch_now(&KernelTable::matmul, "matmul", spec, c.device(), {&a, &b, &c});
}

// Two matrices (batches of them) and the shape of their product.
struct Product {
  DNDarray a, b;
  Shape shape;

  const Communicator& comm() const { return a.comm(); }
  Array empty_result(i64 rows) const {
    Shape s = shape;
    s[s.size() - 2] = rows;
    return Array::empty(s, a.dtype(), a.device());
  }
};

// How many entries of an axis go at once.
i64 entries_of_piece(const Shape& shape, i64 axis, DType dtype) {
  const i64 n = std::max<i64>(1, shape[axis]);
  const i64 entry = std::max<i64>(1, count_of(shape) / n * size_of(dtype));
  return std::max<i64>(1, config().staging_bytes / entry);
}

// What arrived of b: entries [begin, end) of its split axis.
void use_piece(const Product& p, const Array& piece, i64 begin, i64 end, const Array& c,
               bool* started) {
  const Array& a = p.a.local();
  if (cut_of(p.b) == Cut::columns) {
    multiply_into(a, piece, c.slice(c.ndim() - 1, begin, end), false);
  } else {
    multiply_into(a.slice(a.ndim() - 1, begin, end), piece, c, *started);
    *started = true;
  }
}

// Pieces of two blocks that cross: entries [at, at + mine) of this rank's leave for `to` while
// entries [at, at + theirs) come from `from`.
struct Crossing {
  int from, to;
  i64 at, mine, theirs;
};

// All pieces, nearest neighbours first. `leaving(q)`, `coming(q)`: entries for and from rank q.
template <class Leaving, class Coming>
std::vector<Crossing> crossings(const Communicator& comm, i64 step, bool upwards, Leaving leaving,
                                Coming coming) {
  std::vector<Crossing> all;
  const int size = comm.size(), me = comm.rank();
  for (int t = 1; t < size; ++t) {
    const int up = (me + t) % size, down = (me + size - t) % size;
    const int to = upwards ? up : down, from = upwards ? down : up;
    const i64 out = leaving(to), in = coming(from);
    for (i64 at = 0; at < std::max(out, in); at += step)
      all.push_back({from, to, at, std::min(step, out - at), std::min(step, in - at)});
  }
  return all;
}

// a has its rows split; the blocks of b visit every rank. The next piece is on its way while one is
// multiplied.
DNDarray send_round(const Product& p) {
  const int me = p.comm().rank();
  const Array c = p.empty_result(p.a.part().count(me));
  const Distribution distribution{p.shape.size() - 2, p.a.part()};
  bool started = false;
  if (!p.b.split()) {
    multiply_into(p.a.local(), p.b.local(), c, false);
    return DNDarray(c, p.shape, distribution, p.comm());
  }
  const i64 axis = *p.b.split(), step = entries_of_piece(p.b.shape(), axis, p.b.dtype());
  const Partition &part = p.b.part(), &rows = p.a.part();
  const DeviceLane* lane = p.comm().lane(p.b.device());
  const std::vector<Crossing> pieces = crossings(
      p.comm(), step, false, [&](int to) { return rows.count(to) > 0 ? part.count(me) : 0; },
      [&](int from) { return rows.count(me) > 0 ? part.count(from) : 0; });
  Array coming;
  auto set_out = [&](std::size_t i) -> std::optional<Moving> {
    coming = Array();
    if (i == pieces.size()) return std::nullopt;
    const Crossing& x = pieces[i];
    std::vector<TravelPart> sends, receives;
    if (x.mine > 0) sends.push_back({x.to, p.b.local().slice(axis, x.at, x.at + x.mine)});
    if (x.theirs > 0) {
      Shape shape = p.b.shape();
      shape[axis] = x.theirs;
      coming = Array::empty(shape, p.b.dtype(), p.b.device());
      receives.push_back({x.from, coming});
    }
    return Moving(std::move(sends), std::move(receives), lane, p.comm());
  };
  std::optional<Moving> moving = set_out(0);
  if (p.b.shape(axis) == 0) c.fill(Value(false));
  if (part.count(me) > 0) use_piece(p, p.b.local(), part.begin(me), part.end(me), c, &started);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    moving->wait();
    const Array piece = std::exchange(coming, Array());
    moving = set_out(i + 1);
    const i64 begin = part.begin(pieces[i].from) + pieces[i].at;
    if (piece) use_piece(p, piece, begin, begin + pieces[i].theirs, c, &started);
  }
  return DNDarray(c, p.shape, distribution, p.comm());
}

// Partial products of this rank's part of K with the rows that another rank keeps.
Array partial_rows(const Product& p, i64 begin, i64 end) {
  const Array y = p.empty_result(end - begin);
  const Array& a = p.a.local();
  multiply_into(a.slice(a.ndim() - 2, begin, end), p.b.local(), y, false);
  return y;
}

// a has its columns split, b its rows, alike; partial products are added where their rows belong.
// One is on its way while the next is computed.
DNDarray add_up(const Product& p) {
  const int size = p.comm().size(), me = p.comm().rank();
  const i64 axis = p.shape.size() - 2;
  const Partition rows = Partition::even(p.shape[axis], size), &inner = p.a.part();
  const i64 step = entries_of_piece(p.shape, axis, p.a.dtype());
  const std::vector<Crossing> pieces = crossings(
      p.comm(), step, true, [&](int to) { return inner.count(me) > 0 ? rows.count(to) : 0; },
      [&](int from) { return inner.count(from) > 0 ? rows.count(me) : 0; });
  const DeviceLane* lane = p.comm().lane(p.a.device());
  std::optional<Moving> moving;
  Array coming;
  i64 row = 0;
  Array c;
  auto arrive = [&] {
    if (moving) moving->wait();
    if (!coming || coming.size() == 0) return;
    const Array sum = c.slice(axis, row, row + coming.shape(axis));
    const ArrayOrValue both[] = {sum, coming};
    tessera::elementwise(ElementOp::add, both, sum);
  };
  for (const Crossing& x : pieces) {
    std::vector<TravelPart> sends, receives;
    const i64 begin = rows.begin(x.to) + x.at;
    if (x.mine > 0) sends.push_back({x.to, partial_rows(p, begin, begin + x.mine)});
    if (moving && !c) c = partial_rows(p, rows.begin(me), rows.end(me));
    arrive();
    coming = x.theirs > 0 ? p.empty_result(x.theirs) : Array();
    row = x.at;
    if (coming) receives.push_back({x.from, coming});
    moving.emplace(std::move(sends), std::move(receives), lane, p.comm());
  }
  if (!c) c = partial_rows(p, rows.begin(me), rows.end(me));
  arrive();
  return DNDarray(c, p.shape, {axis, rows}, p.comm());
}

// The same where every rank wants the sum.
DNDarray add_up_everywhere(const Product& p) {
  const Array mine = partial_rows(p, 0, p.shape[p.shape.size() - 2]);
  const std::vector<int> ranks = ranks_with_entries(p.a);
  if (ranks.empty() || mine.size() == 0 || p.comm().alone())
    return DNDarray::replicated(mine, p.comm());
  return DNDarray::replicated(
      fold_ranks(p.comm(), {mine}, ranks,
                 [](const Arrays& all) {
                   return Arrays{
                       tessera::reduce(ReduceOp::sum, all[0], Axes{0}, false, all[0].dtype())};
                 })[0],
      p.comm());
}

// Both split along K, alike: as a is, else as b is.
Product along_inner(const Product& p) {
  Partition part = Partition::even(p.a.shape(columns_axis(p.a)), p.comm().size());
  if (cut_of(p.b) == Cut::rows) part = p.b.part();
  if (cut_of(p.a) == Cut::columns) part = p.a.part();
  return {p.a.distributed_as({columns_axis(p.a), part}), p.b.distributed_as({rows_axis(p.b), part}),
          p.shape};
}

// Elements that leave each rank on average, times p / (p - 1), for the three ways.
struct Costs {
  double second_round, first_round, added;
};
Costs costs_of(const Product& p) {
  const double ranks = p.comm().size(), a = static_cast<double>(p.a.size()),
               b = static_cast<double>(p.b.size()), c = static_cast<double>(count_of(p.shape));
  const Cut of_a = cut_of(p.a), of_b = cut_of(p.b);
  return {(of_a == Cut::columns ? a / ranks : 0) + (of_b == Cut::none ? 0 : b),
          a + (of_b == Cut::rows ? b / ranks : 0) + c / ranks,
          (of_a == Cut::rows ? a / ranks : 0) + (of_b == Cut::columns ? b / ranks : 0) + c};
}

// The rows of the result are split. a is split.
DNDarray with_rows_split(const Product& p) {
  const Costs cost = costs_of(p);
  if (cost.second_round <= std::min(cost.first_round, cost.added))
    return send_round({p.a.resplit(rows_axis(p.a)), p.b, p.shape});
  if (cost.added <= cost.first_round) return add_up(along_inner(p));
  Shape across = p.shape;
  std::swap(across[across.size() - 1], across[across.size() - 2]);
  return turned(send_round({turned(p.b.resplit(columns_axis(p.b))), turned(p.a), across}))
      .resplit(p.shape.size() - 2);
}

// The rows of the result do not exist: a was a vector, split along K.
DNDarray with_rows_lent(const Product& p) {
  const double a = static_cast<double>(p.a.size()), c = static_cast<double>(count_of(p.shape));
  if (cut_of(p.b) != Cut::none || a > 2 * c / p.comm().size())
    return add_up_everywhere(along_inner(p));
  return DNDarray::replicated(tessera::matmul(p.a.gathered(), p.b.local()), p.comm());
}

DNDarray of_matrices(const Product& p, bool rows_lent, bool columns_lent) {
  const Cut a = cut_of(p.a), b = cut_of(p.b);
  if (a == Cut::none && b == Cut::none)
    return DNDarray::replicated(tessera::matmul(p.a.local(), p.b.local()), p.comm());
  if (a == Cut::none || (a == Cut::columns && b == Cut::columns)) {
    Shape across = p.shape;
    std::swap(across[across.size() - 1], across[across.size() - 2]);
    const Product mirrored{turned(p.b), turned(p.a), across};
    return turned(columns_lent ? with_rows_lent(mirrored) : with_rows_split(mirrored));
  }
  return rows_lent ? with_rows_lent(p) : with_rows_split(p);
}

// The split batch axis of x in a product of `shape`, unless x is repeated along it.
std::optional<i64> batch_axis(const DNDarray& x, const Shape& shape) {
  if (!x.split() || *x.split() >= x.ndim() - 2) return std::nullopt;
  const i64 axis = *x.split() + shape.size() - x.ndim();
  return x.shape(*x.split()) == shape[axis] ? std::optional(axis) : std::nullopt;
}

DNDarray of_batches(const Product& p) {
  const std::optional<i64> first = batch_axis(p.a, p.shape), second = batch_axis(p.b, p.shape);
  if (first || second) {
    const Distribution to{first ? *first : *second, first ? p.a.part() : p.b.part()};
    const Array a = part_for(p.a, p.shape, to), b = part_for(p.b, p.shape, to);
    return DNDarray(tessera::matmul(a, b), p.shape, to, p.comm());
  }
  return {};
}

DNDarray without_batch_split(const DNDarray& x) {
  return x.split() && *x.split() < x.ndim() - 2 ? x.resplit(std::nullopt) : x;
}

// The axis that an operand of rank 1 lent, dropped again.
DNDarray dropped(const DNDarray& x, i64 axis) { return squeeze(x, Shape{axis}); }

}  // namespace

DNDarray matmul(const DNDarray& a, const DNDarray& b) {
  require_same_group("matmul", a, b);
  (void)matmul_shape(a.shape(), b.shape());
  const DType dtype = promote(a.dtype(), b.dtype());
  const bool half = dtype == DType::f16 || dtype == DType::bf16;
  // Sums of half precision are rounded once, after the ranks' parts are joined.
  const DType work = half && (a.split() || b.split()) ? DType::f32 : dtype;
  Product p{a.astype(work), b.astype(work), {}};
  if (a.ndim() == 1) p.a = expand_dims(p.a, 0);
  if (b.ndim() == 1) p.b = expand_dims(p.b, 1);
  p.shape = matmul_shape(p.a.shape(), p.b.shape());
  DNDarray c = of_batches(p);
  if (!c)
    c = of_matrices({without_batch_split(p.a), without_batch_split(p.b), p.shape}, a.ndim() == 1,
                    b.ndim() == 1);
  if (b.ndim() == 1) c = dropped(c, c.ndim() - 1);
  if (a.ndim() == 1) c = dropped(c, c.ndim() - (b.ndim() == 1 ? 1 : 2));
  return c.astype(dtype);
}

}  // namespace tessera::dist
