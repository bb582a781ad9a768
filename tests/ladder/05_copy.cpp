// SPDX-License-Identifier: Apache-2.0
// Rung 5: elements arrive, from any layout into any layout, as any dtype.
#include "ladder/ladder.hpp"

namespace tessera::ladder {
namespace {

ElementwiseSpec copy_spec(const Twin& in, const Twin& out) {
  ElementwiseSpec spec;
  spec.op = ElementOp::copy;
  spec.compute = in.host.dtype();
  spec.inputs = {{in.operand(), std::nullopt}};
  spec.out = out.operand();
  return spec;
}

TEST(Ladder05Copy, ThereAndBack) {
  for (int t = 0; t < dtype_count; ++t) {
    const Twin x = twin({7, 13}, static_cast<DType>(t), LayoutKind::padded, t);
    expect_same(x, 1e-300, to_text(static_cast<DType>(t)));
  }
}

TEST(Ladder05Copy, AnyLayoutIntoAnyLayout) {
  for (const Shape& shape :
       {Shape{}, Shape{1}, Shape{3}, Shape{1000}, Shape{5, 8}, Shape{3, 4, 16}, Shape{2, 1, 3, 7}})
    for (DType t : {DType::u8, DType::f16, DType::f32, DType::f64, DType::c128})
      for (LayoutKind from : all_layouts)
        for (LayoutKind to : all_layouts) {
          const Twin in = twin(shape, t, from, 3), out = twin(shape, t, to, 4);
          run_both(&KernelTable::elementwise, "copy", copy_spec(in, out), {in, out});
          expect_same(out, 1e-300,
                      cat("copy ", shape, " ", name(t), " ", text(from), " to ", text(to)));
        }
}

TEST(Ladder05Copy, AnyDtypeIntoAnyDtype) {
  for (int a = 0; a < dtype_count; ++a)
    for (int b = 0; b < dtype_count; ++b) {
      const auto from = static_cast<DType>(a), to = static_cast<DType>(b);
      if (is_unsigned_int(to) && !is_unsigned_int(from) && from != DType::b1)
        continue;  // negative: not defined in C++
      const Twin in = twin({3, 37}, from, LayoutKind::dense, a),
                 out = twin({3, 37}, to, LayoutKind::strided, b);
      run_both(&KernelTable::elementwise, "copy", copy_spec(in, out), {in, out});
      expect_same(out, 1e-300, cat("copy ", name(from), " to ", name(to)));
    }
}

TEST(Ladder05Copy, FillsWithANumber) {
  for (int t = 0; t < dtype_count; ++t)
    for (LayoutKind kind : all_layouts) {
      const Twin out = twin({4, 33}, static_cast<DType>(t), kind, t);
      ElementwiseSpec spec;
      spec.compute = out.host.dtype();
      spec.inputs = {{{}, Value(5)}};
      spec.out = out.operand();
      run_both(&KernelTable::elementwise, "fill", spec, {out});
      expect_same(out, 1e-300, cat("fill ", name(static_cast<DType>(t)), " ", text(kind)));
    }
}

TEST(Ladder05Copy, ExchangedAxes) {
  for (const Shape& shape :
       {Shape{70, 45}, Shape{3, 33, 100}, Shape{20, 5, 64}, Shape{17, 16, 2, 31}})
    for (DType t : {DType::u8, DType::f16, DType::f32, DType::c64, DType::c128})
      for (LayoutKind from : {LayoutKind::reversed_axes, LayoutKind::padded}) {
        const Twin in = twin(shape, t, from, 3), out = twin(shape, t, LayoutKind::dense, 4),
                   back = twin(shape, t, LayoutKind::reversed_axes, 5);
        run_both(&KernelTable::elementwise, "copy", copy_spec(in, out), {in, out});
        expect_same(out, 1e-300, cat("copy with exchanged axes ", shape, " ", name(t)));
        run_both(&KernelTable::elementwise, "copy", copy_spec(in, back), {in, back});
        expect_same(back, 1e-300, cat("copy to exchanged axes ", shape, " ", name(t)));
      }
}

TEST(Ladder05Copy, ManyAxes) {
  const Shape shape{2, 3, 2, 2, 3, 2, 2, 2, 2, 3};
  Twin in = twin(shape, DType::f32, LayoutKind::dense, 1),
       out = twin(shape, DType::f32, LayoutKind::dense, 2);
  Shape order;  // no two axes can be merged
  for (i64 i = 0; i < 5; ++i) {
    order.push_back(i);
    order.push_back(i + 5);
  }
  in.host = in.host.permute(order);
  in.device = in.device.permute(order);
  Twin target = twin(in.host.shape(), DType::f32, LayoutKind::padded, 2);
  run_both(&KernelTable::elementwise, "copy", copy_spec(in, target), {in, target});
  expect_same(target, 1e-300, "copy of ten axes");
}

}  // namespace
}  // namespace tessera::ladder
