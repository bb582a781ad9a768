// SPDX-License-Identifier: Apache-2.0
// Rung 9: matrix products, transposed, conjugated, batched, of vectors, of awkward strides, of
// integers.
#include "ladder/ladder.hpp"

namespace tessera::ladder {
namespace {

struct Product {
  Shape batch;
  i64 m, k, n;
};

Shape with(Shape batch, i64 rows, i64 columns) {
  batch.push_back(rows);
  batch.push_back(columns);
  return batch;
}

void try_product(const Product& c, DType t, LayoutKind a_kind, LayoutKind b_kind,
                 LayoutKind out_kind, bool conj_a = false, bool conj_b = false, c128 alpha = {1, 0},
                 c128 beta = {0, 0}) {
  const Twin a = twin(with(c.batch, c.m, c.k), t, a_kind, 1),
             b = twin(with(c.batch, c.k, c.n), t, b_kind, 2);
  const Twin out = beta == c128(0, 0) ? special_twin(with(c.batch, c.m, c.n), t, out_kind, 3)
                                      : twin(with(c.batch, c.m, c.n), t, out_kind, 3);
  MatmulSpec spec{a.operand(), b.operand(), out.operand(), conj_a, conj_b, alpha, beta};
  run_both(&KernelTable::matmul, "matmul", spec, {a, b, out});
  expect_same(out, tolerance(t, c.k) * 100 * std::sqrt(static_cast<double>(c.k + 1)),
              cat("matmul ", c.batch, " x ", c.m, " ", c.k, " ", c.n, " of ", name(t), " ",
                  text(a_kind), " ", text(b_kind), " ", text(out_kind), conj_a ? " conj a" : "",
                  conj_b ? " conj b" : ""));
}

constexpr DType float_types[] = {DType::f32,  DType::f64, DType::c64,
                                 DType::c128, DType::f16, DType::bf16};

TEST(Ladder09Matmul, ShapesAndLayouts) {
  const Product cases[] = {{{}, 3, 4, 5},  {{}, 1, 7, 5},     {{}, 6, 7, 1},  {{}, 1, 9, 1},
                           {{}, 5, 1, 4},  {{}, 65, 130, 33}, {{4}, 3, 5, 2}, {{2, 3}, 4, 3, 2},
                           {{3}, 6, 4, 1}, {{3}, 1, 4, 6},    {{2}, 3, 0, 2}};
  for (DType t : float_types)
    for (const Product& c : cases)
      for (LayoutKind a : all_layouts)
        for (LayoutKind b : {LayoutKind::dense, LayoutKind::reversed_axes, LayoutKind::negative})
          for (LayoutKind out : {LayoutKind::dense, LayoutKind::reversed_axes, LayoutKind::strided})
            try_product(c, t, a, b, out);
}

TEST(Ladder09Matmul, Conjugates) {
  for (DType t : {DType::c64, DType::c128, DType::f32})
    for (const Product& c :
         {Product{{}, 7, 5, 6}, Product{{}, 7, 5, 1}, Product{{}, 1, 5, 6}, Product{{3}, 4, 5, 2}})
      for (LayoutKind kind : {LayoutKind::dense, LayoutKind::reversed_axes})
        for (int flags = 1; flags < 4; ++flags)
          try_product(c, t, kind, kind, LayoutKind::dense, flags & 1, flags & 2);
}

TEST(Ladder09Matmul, AlphaAndBeta) {
  for (DType t : {DType::f32, DType::f64, DType::c64, DType::c128, DType::i32})
    for (const Product& c :
         {Product{{}, 4, 5, 6}, Product{{}, 4, 5, 1}, Product{{2}, 4, 5, 3}, Product{{}, 4, 0, 3}})
      for (LayoutKind out : {LayoutKind::dense, LayoutKind::reversed_axes, LayoutKind::strided})
        try_product(c, t, LayoutKind::dense, LayoutKind::padded, out, false, false, {2, 0}, {3, 0});
}

TEST(Ladder09Matmul, SharedMatrixOfABatch) {
  for (DType t : float_types)
    for (const Product& c : {Product{{6}, 5, 4, 3}, Product{{6}, 5, 4, 1}, Product{{6}, 1, 4, 3},
                             Product{{2, 3}, 5, 4, 3}})
      for (bool left : {false, true}) {
        const Twin a =
            twin(left ? Shape{c.m, c.k} : with(c.batch, c.m, c.k), t, LayoutKind::dense, 1);
        const Twin b =
            twin(left ? with(c.batch, c.k, c.n) : Shape{c.k, c.n}, t, LayoutKind::dense, 2);
        const Twin out = twin(with(c.batch, c.m, c.n), t, LayoutKind::dense, 3);
        MatmulSpec spec{a.operand(), b.operand(), out.operand()};
        spec.a.layout = spec.a.layout.broadcast_to(with(c.batch, c.m, c.k));
        spec.b.layout = spec.b.layout.broadcast_to(with(c.batch, c.k, c.n));
        run_both(&KernelTable::matmul, "matmul", spec, {a, b, out});
        expect_same(out, tolerance(t, c.k) * 300,
                    cat("shared matrix ", c.batch, " ", c.m, " ", c.n, " ", name(t)));
      }
}

TEST(Ladder09Matmul, IntegersWrap) {
  for (DType t : {DType::b1, DType::i8, DType::i32, DType::u16, DType::i64, DType::u64})
    for (const Product& c : {Product{{}, 20, 35, 17}, Product{{3}, 5, 40, 6}})
      for (LayoutKind kind : all_layouts)
        try_product(c, t, kind, LayoutKind::dense, LayoutKind::padded);
}

TEST(Ladder09Matmul, ManyBatchesThatDoNotMerge) {
  Twin a = twin({40, 3, 4, 5}, DType::f32, LayoutKind::dense, 1),
       b = twin({3, 40, 5, 2}, DType::f32, LayoutKind::dense, 2);
  const Twin out = twin({3, 40, 4, 2}, DType::f32, LayoutKind::dense, 3);
  MatmulSpec spec{a.operand(), b.operand(), out.operand()};
  spec.a.layout = a.host.swap_axes(0, 1).layout();
  run_both(&KernelTable::matmul, "matmul", spec, {a, b, out});
  expect_same(out, 1e-4, "batches in another order");
}

}  // namespace
}  // namespace tessera::ladder
