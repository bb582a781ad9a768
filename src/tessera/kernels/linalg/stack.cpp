// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/linalg/stack.hpp"

#include <algorithm>
#include <complex>

namespace tessera::linalg {

DType working_dtype(DType t) {
  if (t == DType::f16 || t == DType::bf16) return DType::f32;
  return is_inexact(t) ? t : DType::f64;
}

void require_matrices(std::string_view who, const Array& a) {
  require<ShapeError>(a.ndim() >= 2, who,
                      ": expected a matrix or a stack of them, got an array of shape ", a.shape());
  for (const i64 axis : {a.ndim() - 2, a.ndim() - 1})
    require<ShapeError>(a.shape(axis) < std::numeric_limits<std::int32_t>::max(), who,
                        ": a matrix of shape ", a.shape(),
                        " is larger than LAPACK's 32-bit integers can count");
}

void require_square(std::string_view who, const Array& a) {
  require_matrices(who, a);
  require<ShapeError>(rows(a) == columns(a), who, ": expected square matrices, got shape ",
                      a.shape());
}

void factor(const DenseSpec& spec, Device device, std::initializer_list<const Array*> operands) {
  launch_now(&KernelTable::dense, "linalg", spec, device, operands);
}

void require_done(std::string_view who, const Array& info, std::string_view reason,
                  std::string_view pivot) {
  const Array here = info.to(cpu);
  const i64* p = here.host<i64>();
  for (i64 i = 0; i < here.size(); ++i) {
    if (p[i] == 0) [[likely]]
      continue;
    const std::string problem = cat(who, ": ", reason);
    const std::string where = pivot.empty() ? "" : cat(": ", pivot, " ", p[i]);
    if (here.ndim() == 0) throw LinAlgError(problem + where);
    Shape at;
    for (i64 axis = here.ndim() - 1, rest = i; axis >= 0; rest /= here.shape(axis--))
      at.push_back(rest % here.shape(axis));
    std::reverse(at.begin(), at.end());
    throw LinAlgError(problem, at, where);
  }
}

namespace {

// (batch) of bool, or nothing where none is lower triangular.
Array lower_on_host(const Array& m, i64 batch, i64 n) {
  const Array which = zeros({batch}, DType::b1).contiguous();
  bool* out = which.host<bool>();
  dispatch<float, double, std::complex<float>, std::complex<double>>(
      m.dtype(), "linalg", [&]<class T>() {
        const T* first = static_cast<const T*>(m.host_data());
        for (i64 i = 0; i < batch; ++i) out[i] = is_lower(first + i * n * n, n, 1, n);
      });
  return std::find(out, out + batch, true) == out + batch ? Array{} : which.to(m.device());
}

// A look at the corners first: full matrices have no zero there.
Array lower_on_device(const Array& m) {
  const auto any = [](const Array& x) { return reduce(ReduceOp::any, x).item().as<bool>(); };
  if (!any(ops::equal(m.select(1, m.shape(1) - 1).select(1, 0), 0.0))) return {};
  const Array above = reduce(ReduceOp::any, triangle(m, /*lower=*/true, -1), Axes{1, 2});
  const Array which = ops::logical_not(above);
  return any(which) ? which : Array{};
}

}  // namespace

TurnedAround::TurnedAround(const Array& m) : batch_(count_of(leading(m))), n_(columns(m)) {
  if (n_ < 2 || m.size() == 0) return;
  const bool host = m.device().kind == Kind::cpu;
  which_ = host ? lower_on_host(m, batch_, n_) : lower_on_device(m.reshape({batch_, n_, n_}));
  if (!which_) return;
  which_ = which_.reshape({batch_, 1, 1});
  matrices(m);
}

// Column-major: the last axis runs over rows.
void TurnedAround::rows(const Array& x) const {
  if (!which_ || x.size() == 0) return;
  const Array each = x.reshape({batch_, x.size() / (batch_ * n_), n_});
  each.copy_from(ops::where(which_, flip(each, {2}), each));
}

void TurnedAround::matrices(const Array& x) const {
  if (!which_) return;
  const Array each = x.reshape({batch_, n_, n_});
  each.copy_from(ops::where(which_, flip(each, {1, 2}), each));
}

void TurnedAround::pivots(const Array& info) const {
  if (!which_) return;
  const Array each = info.reshape({batch_});
  const Array both = ops::logical_and(which_.reshape({batch_}), ops::greater(each, Value(0)));
  each.copy_from(ops::where(both, ops::subtract(Value(n_ + 1), each), each));
}

DenseSpec spec_of(DenseOp op, const Array& a, DType t) {
  DenseSpec s;
  s.op = op;
  s.dtype = t;
  s.batch = count_of(leading(a));
  s.m = rows(a);
  s.n = columns(a);
  return s;
}

Sides::Sides(std::string_view who, const Array& matrices, const Array& right)
    : vector(right.ndim() == 1) {
  require_square(who, matrices);
  n = columns(matrices);
  const Array many = vector ? right.expand_dims(1) : right;
  require<ShapeError>(many.ndim() >= 2 && rows(many) == n, who, ": matrices of shape ",
                      matrices.shape(), " and right sides of shape ", right.shape(), " do not fit");
  const Array* both[] = {&matrices, &right};
  device = common_device(who, both);
  dtype = promote(working_dtype(matrices.dtype()), working_dtype(right.dtype()));
  lead = broadcast_shapes(leading(matrices), leading(many));
  k = columns(many);
  one = count_of(leading(matrices)) == 1;
  a = one ? matrices : matrices.broadcast_to(with(lead, {n, n}));
  b = many.broadcast_to(with(lead, {n, k}));
}

Array Sides::right() const { return columns_of(b, dtype); }

// Right sides of one matrix lie side by side: columns of one.
DenseSpec Sides::spec(DenseOp op) const {
  DenseSpec s;
  s.op = op;
  s.dtype = dtype;
  s.batch = one ? 1 : count_of(lead);
  s.m = s.n = n;
  s.columns = one ? k * count_of(lead) : k;
  return s;
}

Array Sides::result(const Array& x) const {
  const Array y = turned(x);
  return (vector ? y.squeeze(y.ndim() - 1) : y).contiguous();
}

}  // namespace tessera::linalg
