// SPDX-License-Identifier: Apache-2.0
// Rung 8: gathers, scatters, positions of nonzero elements, sorting, random numbers.
#include "ladder/ladder.hpp"

namespace tessera::ladder {
namespace {

TEST(Ladder08Gather, OneIndexArray) {
  for (DType t : {DType::b1, DType::i16, DType::f32, DType::c64, DType::c128})
    for (LayoutKind kind : all_layouts) {
      const Twin source = twin({9, 4, 5}, t, kind, 1), index = index_twin({3, 6}, 9, kind, 2);
      const Twin out = twin({3, 6, 4, 5}, t, LayoutKind::padded, 3);
      GatherSpec spec{source.operand(), {index.operand()}, out.operand()};
      run_both(&KernelTable::gather, "gather", spec, {source, index, out});
      expect_same(out, 1e-300, cat("gather ", name(t), " ", text(kind)));
    }
}

TEST(Ladder08Gather, SeveralIndexArraysBroadcast) {
  const Twin source = twin({5, 6, 7, 3}, DType::f64, LayoutKind::padded, 1),
             out = twin({4, 2, 3}, DType::f64, LayoutKind::dense, 3);
  const Twin i = index_twin({4, 1}, 5, LayoutKind::dense, 4),
             j = index_twin({2}, 6, LayoutKind::dense, 5),
             k = index_twin({4, 2}, 7, LayoutKind::padded, 6);
  GatherSpec spec{source.operand(), {i.operand(), j.operand(), k.operand()}, out.operand()};
  for (Operand& o : spec.indices) o.layout = o.layout.broadcast_to({4, 2});
  run_both(&KernelTable::gather, "gather", spec, {source, i, j, k, out});
  expect_same(out, 1e-300, "gather by three index arrays");
}

void try_scatter(ScatterOp op, DType t, const Shape& target_shape, i64 tuples, LayoutKind kind) {
  const Twin target = twin(target_shape, t, kind, 1),
             index = index_twin({tuples}, target_shape[0], LayoutKind::dense, 2);
  Shape value_shape = target_shape;
  value_shape[0] = tuples;
  const Twin value = twin(value_shape, t, LayoutKind::padded, 3);
  ScatterSpec spec{op, value.operand(), {index.operand()}, target.operand()};
  run_both(&KernelTable::scatter, "scatter", spec, {value, index, target});
  expect_same(target, op == ScatterOp::add ? tolerance(t, tuples) * 10 : 1e-300,
              cat("scatter ", op == ScatterOp::add ? "add " : "assign ", name(t), " ", target_shape,
                  " ", text(kind)));
}

TEST(Ladder08Scatter, TheLastOneWins) {
  for (DType t : {DType::u8, DType::f16, DType::f32, DType::i64, DType::c128})
    for (LayoutKind kind : all_layouts) try_scatter(ScatterOp::assign, t, {7, 5}, 1000, kind);
  try_scatter(ScatterOp::assign, DType::f32, {300000}, 5000,
              LayoutKind::dense);  // hashed claims
  try_scatter(ScatterOp::assign, DType::f32, {100000}, 200000,
              LayoutKind::dense);  // table of claims
}

TEST(Ladder08Scatter, AllCountForAdd) {
  for (int t = 0; t < dtype_count; ++t) {
    const auto dtype = static_cast<DType>(t);
    const i64 tuples =
        dtype == DType::f16 || dtype == DType::bf16 ? 8 : 500;  // the order of rounding is free
    try_scatter(ScatterOp::add, dtype, {6, 5}, tuples, LayoutKind::dense);
    try_scatter(ScatterOp::add, dtype, {6, 5}, tuples, LayoutKind::strided);
  }
}

TEST(Ladder08Nonzero, InRowMajorOrder) {
  for (DType t : {DType::b1, DType::i32, DType::f64, DType::c64})
    for (LayoutKind kind : all_layouts)
      for (const Shape& shape : {Shape{1000}, Shape{13, 5, 7}, Shape{300, 70}}) {
        Twin x = t == DType::b1 ? twin(shape, t, kind, 1) : special_twin(shape, t, kind, 1);
        const i64 count = [&] {
          ReduceSpec spec;
          spec.op = ReduceOp::count_nonzero;
          spec.in = x.operand();
          Shape ones(shape.size(), 1);
          const Array n = Array::empty(ones, DType::i64);
          spec.out = operand_of(n);
          const Array* operands[] = {&x.host, &n};
          enqueue(cpu_kernels().reduce.prepare(spec, cpu), cpu, operands);
          return *static_cast<i64*>(n.host_data());
        }();
        const Twin out = twin({count, shape.size()}, DType::i64, LayoutKind::dense, 2);
        NonzeroSpec spec{x.operand(), out.operand()};
        run_both(&KernelTable::nonzero, "nonzero", spec, {x, out});
        expect_same(out, 1e-300, cat("nonzero ", shape, " ", name(t), " ", text(kind)));
      }
}

TEST(Ladder08Sort, ValuesAndPositions) {
  for (int t = 0; t < dtype_count; ++t)
    for (const Shape& shape : {Shape{1}, Shape{77}, Shape{5, 300}, Shape{40, 3, 8}, Shape{20000}})
      for (LayoutKind kind : {LayoutKind::dense, LayoutKind::negative, LayoutKind::reversed_axes})
        for (bool positions : {false, true}) {
          const auto dtype = static_cast<DType>(t);
          const Twin x = special_twin(shape, dtype, kind, 1);
          const Twin out = twin(shape, positions ? DType::i64 : dtype, LayoutKind::padded, 2);
          SortSpec spec{x.operand(), out.operand(), positions};
          run_both(&KernelTable::sort, "sort", spec, {x, out});
          expect_same(
              out, 1e-300,
              cat(positions ? "argsort " : "sort ", shape, " ", name(dtype), " ", text(kind)));
        }
}

TEST(Ladder08Random, TheSameNumbersEverywhere) {
  for (LayoutKind kind : {LayoutKind::dense, LayoutKind::padded, LayoutKind::reversed_axes}) {
    RandomSpec spec;
    spec.seed = 0x123456789abcdefu;
    spec.draw = 5;
    spec.first = 1000;
    const auto run = [&](Distribution distribution, DType t, double tolerance) {
      spec.distribution = distribution;
      const Twin out = twin({37, 111}, t, kind, 1);
      spec.out = out.operand();
      run_both(&KernelTable::random, "random", spec, {out});
      expect_same(out, tolerance, cat("random ", static_cast<int>(distribution), " ", name(t)));
    };
    run(Distribution::bits, DType::u64, 1e-300);
    for (DType t : {DType::f16, DType::bf16, DType::f32, DType::f64})
      run(Distribution::uniform, t, 1e-300);
    spec.low = -2.5;
    spec.high = 3.7;
    for (DType t : {DType::f32, DType::f64}) run(Distribution::uniform, t, 1e-300);
    for (DType t : {DType::f16, DType::f32, DType::f64, DType::c64, DType::c128})
      run(Distribution::normal, t, tolerance(t) * 10);
    spec.integer_low = -5;
    spec.integer_range = 1000003;
    for (DType t : {DType::i32, DType::i64, DType::u64}) run(Distribution::integers, t, 1e-300);
    spec.integer_range = 0;
    run(Distribution::integers, DType::i64, 1e-300);
  }
}

}  // namespace
}  // namespace tessera::ladder
