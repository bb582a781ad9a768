// SPDX-License-Identifier: Apache-2.0
// Rung 6: every element-wise operation, in every dtype that NumPy computes it in.
#include "ladder/ladder.hpp"

namespace tessera::ladder {
namespace {

constexpr ElementOp all_element_ops[] = {
#define ELEMENT(name, arity, family) ElementOp::name,
    TESSERA_ELEMENT_OPS(ELEMENT)
#undef ELEMENT
};

// Shifts and powers of the sample numbers are defined for small non-negative right sides only.
bool needs_small_right_side(ElementOp op) {
  return op == ElementOp::left_shift || op == ElementOp::right_shift || op == ElementOp::power;
}

double op_tolerance(ElementOp op, DType t) {
  // exp of 9.6 and the like magnify: relative to the value; complex functions lose a few digits
  // near cuts.
  const double base = tolerance(t);
  return family(op) == ElementFamily::math || op == ElementOp::power ? 40 * base : 2 * base;
}

void try_op(ElementOp op, DType t, LayoutKind in_kind, LayoutKind out_kind, bool specials) {
  const int n = arity(op);
  std::vector<DType> types(static_cast<std::size_t>(n), t);
  if (op == ElementOp::where) types[0] = DType::b1;
  ElementTypes result{};
  try {
    result = element_types(op, types);
  } catch (const DTypeError&) {
    return;  // NumPy does not do it
  }
  const Shape shape{3, 5, 8};
  std::vector<Twin> operands;
  ElementwiseSpec spec;
  spec.op = op;
  spec.compute = result.compute;
  for (int k = 0; k < n; ++k) {
    const DType type = types[static_cast<std::size_t>(k)];
    const DType drawn =
        k == 1 && needs_small_right_side(op) && is_signed_int(type) ? DType::b1 : type;
    Twin x = specials ? special_twin(shape, drawn, in_kind, 10 * k + 1)
                      : twin(shape, drawn, in_kind, 10 * k + 1);
    spec.inputs.push_back({x.operand(), std::nullopt});
    operands.push_back(x);
  }
  const Twin out = twin(shape, result.result, out_kind, 77);
  spec.out = out.operand();
  operands.push_back(out);
  run_both(&KernelTable::elementwise, name(op), spec, operands);
  expect_same(out, op_tolerance(op, result.compute),
              cat(name(op), " of ", name(t), " from ", text(in_kind), " to ", text(out_kind),
                  specials ? " specials" : ""));
}

class Ladder06Elementwise : public testing::TestWithParam<int> {};
TEST_P(Ladder06Elementwise, EveryOperation) {
  const auto t = static_cast<DType>(GetParam());
  for (ElementOp op : all_element_ops) {
    try_op(op, t, LayoutKind::dense, LayoutKind::dense, false);
    try_op(op, t, LayoutKind::shifted, LayoutKind::dense, false);
    try_op(op, t, LayoutKind::padded, LayoutKind::reversed_axes, false);
    try_op(op, t, LayoutKind::negative, LayoutKind::strided, false);
  }
}
INSTANTIATE_TEST_SUITE_P(Types, Ladder06Elementwise, testing::Range(0, dtype_count),
                         [](const auto& info) { return to_text(static_cast<DType>(info.param)); });

// Of real numbers only: what complex functions make of infinities is their libraries' own business.
TEST(Ladder06Special, NanAndInfinity) {
  for (DType t : {DType::f16, DType::bf16, DType::f32, DType::f64})
    for (ElementOp op : all_element_ops) try_op(op, t, LayoutKind::dense, LayoutKind::dense, true);
}

TEST(Ladder06Broadcast, RowsColumnsAndNumbers) {
  for (DType t : {DType::f32, DType::f64, DType::c64, DType::c128, DType::i32})
    for (const Shape& b_shape :
         {Shape{4, 1, 16}, Shape{1, 6, 1}, Shape{16}, Shape{}, Shape{6, 16}, Shape{4, 6, 1}})
      for (ElementOp op : {ElementOp::add, ElementOp::multiply, ElementOp::conj_multiply}) {
        const Twin a = twin({4, 6, 16}, t, LayoutKind::dense, 1),
                   out = twin({4, 6, 16}, t, LayoutKind::dense, 3);
        const Twin b = twin(b_shape, t, LayoutKind::dense, 2);
        ElementwiseSpec spec;
        spec.op = op;
        spec.compute = t;
        Operand wide = b.operand();
        wide.layout = wide.layout.broadcast_to({4, 6, 16});
        spec.inputs = {{a.operand(), std::nullopt}, {wide, std::nullopt}};
        spec.out = out.operand();
        run_both(&KernelTable::elementwise, name(op), spec, {a, b, out});
        expect_same(out, tolerance(t), cat(name(op), " with ", b_shape, " of ", name(t)));
      }
}

TEST(Ladder06Broadcast, ImmediatesAndInPlace) {
  for (DType t : {DType::f16, DType::f32, DType::c64, DType::c128, DType::i16, DType::u8})
    for (i64 n : {1, 3, 64, 1021}) {
      const Twin x = twin({n}, t, LayoutKind::shifted, 5);
      ElementwiseSpec spec;
      spec.op = ElementOp::multiply_add;  // x = 2 x + x
      spec.compute = t;
      spec.inputs = {{x.operand(), std::nullopt}, {{}, Value(2.0)}, {x.operand(), std::nullopt}};
      spec.out = x.operand();
      run_both(&KernelTable::elementwise, "multiply_add", spec, {x, x, x});
      expect_same(x, tolerance(t), cat("multiply_add of ", n, " ", name(t)));
    }
}

TEST(Ladder06Mixed, RealWeightsOfComplexNumbers) {
  const Twin w = twin({33, 65}, DType::f32, LayoutKind::dense, 1),
             z = twin({33, 65}, DType::c64, LayoutKind::padded, 2);
  const Twin out = twin({33, 65}, DType::c64, LayoutKind::dense, 3);
  ElementwiseSpec spec;
  spec.op = ElementOp::multiply;
  spec.compute = DType::c64;
  spec.inputs = {{w.operand(), std::nullopt}, {z.operand(), std::nullopt}};
  spec.out = out.operand();
  run_both(&KernelTable::elementwise, "multiply", spec, {w, z, out});
  expect_same(out, tolerance(DType::c64), "real times complex");
}

TEST(Ladder06Large, EveryElementOnce) {
  const i64 n = (i64{1} << 22) + 3;
  for (DType t : {DType::f32, DType::u8, DType::c64}) {
    const Twin a = twin({n}, t, LayoutKind::dense, 1), b = twin({n}, t, LayoutKind::dense, 2);
    const Twin out = twin({n}, t, LayoutKind::dense, 3);
    ElementwiseSpec spec;
    spec.op = ElementOp::add;
    spec.compute = t;
    spec.inputs = {{a.operand(), std::nullopt}, {b.operand(), std::nullopt}};
    spec.out = out.operand();
    run_both(&KernelTable::elementwise, "add", spec, {a, b, out});
    expect_same(out, tolerance(t), cat("add of ", n, " ", name(t)));
  }
}

}  // namespace
}  // namespace tessera::ladder
