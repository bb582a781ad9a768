// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/matmul/matmul.hpp"

#include "tessera/kernels/eager.hpp"

namespace tessera {
namespace {

constexpr const char* signature = "(n?,k),(k,m?)->(n?,m?)";

// What NumPy's rules make of two operands: matrices with one batch shape, and the result's shape.
struct Operands {
  Layout a, b;   // rank >= 2, batch axes broadcast
  Shape full;    // of the product of a and b
  Shape result;  // without the axes that one-dimensional operands lend
};

std::string remapped(const Shape& s) {
  std::string text = to_text(s) + "->(";
  for (i64 i = 0; i < s.size(); ++i)
    text += cat(i == 0 ? "" : ",", i + 2 < s.size() ? to_text(s[i]) : std::string("newaxis"));
  return text + ")";
}

Shape batch_of(const Shape& s) { return Shape(s.begin(), s.end() - 2); }

Operands arrange(const Layout& a, const Layout& b) {
  for (const Layout* x : {&a, &b})
    require<ShapeError>(x->ndim() > 0, "matmul: Input operand ", x == &a ? 0 : 1,
                        " does not have enough dimensions (has 0, gufunc core with signature ",
                        signature, " requires 1)");
  Operands o{a, b, {}, {}};
  if (a.ndim() == 1) o.a = o.a.insert_axis(0);
  if (b.ndim() == 1) o.b = o.b.insert_axis(1);
  const i64 k = o.a.shape.back(), given = o.b.shape[o.b.ndim() - 2];
  require<ShapeError>(
      k == given, "matmul: Input operand 1 has a mismatch in its core dimension 0, ",
      "with gufunc signature ", signature, " (size ", given, " is different from ", k, ")");
  const i64 m = o.a.shape[o.a.ndim() - 2], n = o.b.shape.back();
  Shape batch;
  try {
    batch = broadcast_shapes(batch_of(o.a.shape), batch_of(o.b.shape));
  } catch (const ShapeError&) {
    throw ShapeError(cat("matmul: operands could not be broadcast together with remapped shapes ",
                         "[original->remapped]: ", remapped(o.a.shape), " ", remapped(o.b.shape)));
  }
  auto with = [&](i64 x, i64 y) {
    Shape s = batch;
    s.push_back(x);
    s.push_back(y);
    return s;
  };
  o.a = o.a.broadcast_to(with(m, k));
  o.b = o.b.broadcast_to(with(k, n));
  o.full = with(m, n);
  o.result = batch;
  if (a.ndim() > 1) o.result.push_back(m);
  if (b.ndim() > 1) o.result.push_back(n);
  return o;
}

// The result's layout as a batch of matrices: the axes that one-dimensional operands lend are of
// size 1.
Layout as_matrices(const Layout& result, const Array& a, const Array& b) {
  Layout l = result;
  if (b.ndim() == 1) l = l.insert_axis(l.ndim());
  if (a.ndim() == 1) l = l.insert_axis(l.ndim() - 1);
  return l;
}

void product(const Array& a, const Array& b, const Operands& o, const Array& out) {
  MatmulSpec spec;
  spec.a = {o.a, a.dtype()};
  spec.b = {o.b, b.dtype()};
  spec.out = {as_matrices(out.layout(), a, b), out.dtype()};
  launch_now(&KernelTable::matmul, "matmul", spec, out.device(), {&a, &b, &out});
}

Array promoted(const Array& a, const Array& b) {
  const Array* both[] = {&a, &b};
  const Device device = common_device("matmul", both);
  const DType dtype = promote(a.dtype(), b.dtype());
  const Array x = a.astype(dtype), y = b.astype(dtype);
  const Operands o = arrange(x.layout(), y.layout());
  const Array out = Array::empty(o.result, dtype, device);
  product(x, y, o, out);
  return out;
}

}  // namespace

Array matmul(const Array& a, const Array& b) { return promoted(a, b); }

Shape matmul_shape(const Shape& a, const Shape& b) {
  return arrange({a, Strides(a.size(), 0), 0}, {b, Strides(b.size(), 0), 0}).result;
}

void matmul(const Array& a, const Array& b, const Array& out) {
  const Array* all[] = {&a, &b, &out};
  common_device("matmul", all);
  const Operands o = arrange(a.layout(), b.layout());
  const i64 core = o.result.size() - (o.full.size() - 2);
  require<ShapeError>(out.ndim() >= core, "matmul: Output operand 0 does not have enough ",
                      "dimensions (has ", out.ndim(), ", gufunc core with signature ", signature,
                      " requires ", core, ")");
  for (i64 i = 0; i < core; ++i) {
    const i64 given = out.shape(out.ndim() - core + i), want = o.result[o.full.size() - 2 + i];
    require<ShapeError>(given == want, "matmul: Output operand 0 has a mismatch in its core ",
                        "dimension ", i, ", with gufunc signature ", signature, " (size ", given,
                        " is different from ", want, ")");
  }
  require<ArgumentError>(out.storage().writable(), "matmul: output array is read-only");
  require<ShapeError>(out.shape() == o.result, "matmul: the output has shape ", out.shape(),
                      ", expected ", o.result);
  const DType dtype = promote(a.dtype(), b.dtype());
  require<DTypeError>(can_cast_same_kind(dtype, out.dtype()),
                      "Cannot cast ufunc 'matmul' output from dtype('", name(dtype),
                      "') to dtype('", name(out.dtype()), "') with casting rule 'same_kind'");
  if (dtype == out.dtype() && a.dtype() == dtype && b.dtype() == dtype &&
      !may_share_memory(a, out) && !may_share_memory(b, out) && !out.layout().self_overlaps())
    return product(a, b, o, out);
  out.copy_from(promoted(a, b));
}

}  // namespace tessera
