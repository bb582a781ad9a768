// SPDX-License-Identifier: Apache-2.0
// Rung 7: reductions over any axes, and scans along one.
#include "ladder/ladder.hpp"

namespace tessera::ladder {
namespace {

constexpr ReduceOp all_reduce_ops[] = {
#define REDUCE(name) ReduceOp::name,
    TESSERA_REDUCE_OPS(REDUCE)
#undef REDUCE
};

Shape reduced(const Shape& shape, unsigned mask) {
  Shape out = shape;
  for (i64 i = 0; i < shape.size(); ++i)
    if (mask >> i & 1) out[i] = 1;
  return out;
}

void try_reduce(ReduceOp op, const Shape& shape, unsigned mask, DType t, LayoutKind kind,
                bool specials = false) {
  const bool two = op == ReduceOp::vdot;
  const Twin x = specials ? special_twin(shape, t, kind, 1) : twin(shape, t, kind, 1),
             y = twin(shape, t, LayoutKind::dense, 2);
  const Shape out_shape = reduced(shape, mask);
  const Twin out = twin(out_shape, reduce_dtype(op, t), LayoutKind::padded, 3);
  ReduceSpec spec;
  spec.op = op;
  spec.in = x.operand();
  spec.in2 = y.operand();
  spec.out = out.operand();
  std::vector<Twin> operands{x};
  if (two) operands.push_back(y);
  operands.push_back(out);
  run_both(&KernelTable::reduce, name(op), spec, operands);
  const i64 n = x.host.size() / std::max<i64>(1, out.host.size());
  // Sums of n terms of size 10 (squares: 100) may cancel, so the error counts against the sum of
  // magnitudes.
  const bool adds = op == ReduceOp::sum || op == ReduceOp::vdot || op == ReduceOp::sum_abs2;
  const double tol =
      tolerance(out.host.dtype(), n) * (adds ? 100 * std::sqrt(static_cast<double>(n)) : 4);
  expect_same(out, tol,
              cat(name(op), " of ", shape, " over mask ", mask, " of ", name(t), " ", text(kind)));
}

class Ladder07Reduce : public testing::TestWithParam<int> {};
TEST_P(Ladder07Reduce, EveryOperation) {
  const auto t = static_cast<DType>(GetParam());
  for (ReduceOp op : all_reduce_ops)
    for (unsigned mask = 0; mask < 8; ++mask) {
      if (op == ReduceOp::prod && mask == 7 && !is_complex(t) && is_inexact(t))
        continue;  // overflows
      try_reduce(op, {3, 5, 7}, mask, t, LayoutKind::dense);
      try_reduce(op, {2, 4, 3}, mask, t, LayoutKind::reversed_axes);
      try_reduce(op, {2, 3, 9}, mask, t, LayoutKind::negative);
    }
}
INSTANTIATE_TEST_SUITE_P(Types, Ladder07Reduce, testing::Range(0, dtype_count),
                         [](const auto& info) { return to_text(static_cast<DType>(info.param)); });

TEST(Ladder07ReduceLong, SegmentsAndSecondPass) {
  for (ReduceOp op : {ReduceOp::sum, ReduceOp::max, ReduceOp::argmin, ReduceOp::count_nonzero,
                      ReduceOp::vdot, ReduceOp::sum_abs2})
    for (DType t : {DType::f32, DType::f64, DType::i32, DType::c64}) {
      try_reduce(op, {200001}, 1, t, LayoutKind::dense);
      try_reduce(op, {3, 70001}, 2, t, LayoutKind::padded);
      try_reduce(op, {70001, 3}, 1, t, LayoutKind::dense);
      try_reduce(op, {5001, 40}, 1, t, LayoutKind::dense);
      try_reduce(op, {3, 900, 50}, 5, t, LayoutKind::strided);
    }
}

TEST(Ladder07ReduceLong, NanIsAnExtreme) {
  for (ReduceOp op : {ReduceOp::max, ReduceOp::min, ReduceOp::argmax, ReduceOp::argmin,
                      ReduceOp::any, ReduceOp::all})
    for (DType t : {DType::f16, DType::f32, DType::f64, DType::c64}) {
      try_reduce(op, {300, 11}, 1, t, LayoutKind::dense, true);
      try_reduce(op, {11, 5}, 2, t, LayoutKind::dense, true);
    }
}

TEST(Ladder07ReduceLong, NothingToAdd) {
  for (ReduceOp op :
       {ReduceOp::sum, ReduceOp::prod, ReduceOp::any, ReduceOp::all, ReduceOp::count_nonzero})
    try_reduce(op, {4, 0}, 2, DType::f32, LayoutKind::dense);
}

TEST(Ladder07ReduceLong, TwiceTheSame) {
  const Twin x = twin({1000003}, DType::f32, LayoutKind::dense, 1);
  ReduceSpec spec;
  spec.in = x.operand();
  const Twin a = twin({1}, DType::f32, LayoutKind::dense, 2),
             b = twin({1}, DType::f32, LayoutKind::dense, 3);
  spec.out = a.operand();
  const auto& kernel = kernels_of(test_device()).reduce;
  for (const Twin* out : {&a, &b}) {
    const Array* operands[] = {&x.device, &out->device};
    enqueue(kernel.prepare(spec, test_device()), test_device(), operands);
  }
  const Array first = device_to_host(a.device), second = device_to_host(b.device);
  EXPECT_EQ(first.host<float>()[0], second.host<float>()[0]);
}

TEST(Ladder07Scan, AlongAnyAxis) {
  for (ScanOp op : {ScanOp::sum, ScanOp::prod})
    for (DType t : {DType::i32, DType::u8, DType::f32, DType::f64, DType::c64})
      for (const Shape& shape :
           {Shape{7}, Shape{5000}, Shape{3, 5, 4}, Shape{2000, 3}, Shape{5, 3000}, Shape{6, 1200}})
        for (i64 axis = 0; axis < shape.size(); ++axis) {
          if (op == ScanOp::prod && shape[axis] > 20) continue;
          const DType to = is_inexact(t) ? t : is_unsigned_int(t) ? DType::u64 : DType::i64;
          for (LayoutKind kind : {LayoutKind::dense, LayoutKind::padded, LayoutKind::negative}) {
            const Twin x = twin(shape, t, kind, 1), out = twin(shape, to, LayoutKind::padded, 2);
            ScanSpec spec{op, x.operand(), out.operand(), axis};
            run_both(&KernelTable::scan, "scan", spec, {x, out});
            const double n = static_cast<double>(shape[axis]);
            expect_same(out, tolerance(to, shape[axis]) * 10 * std::sqrt(n),
                        cat("scan of ", shape, " along ", axis, " of ", name(t), " ", text(kind)));
          }
        }
}

}  // namespace
}  // namespace tessera::ladder
