// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/forms/form_propagator.hpp"

#include "support/streams.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/kernels/linalg/linalg_error.hpp"
#include "tessera/kernels/reduce/reduce.hpp"
#include "tessera/matrix/products/compute_k.hpp"

namespace tessera::streaming {
namespace {

// Strictly triangular: in memory, and in a store whose other half is poison (of bits: zeros).
struct Relations {
  AnyMatrix memory;
  FormSource stored;
  Watched watch;
};

Relations relations(i64 n, DType t, bool lower) {
  const Array x = random_on_host({n, n}, DType::f64, static_cast<std::uint64_t>(n) + 7);
  Relations out{AnyMatrix::triangular_bit(ops::greater(x, 1.2), false), {}, {}};
  if (t == DType::b1) {
    out.watch = watched(out.memory.words(cpu).words.copy(), {300, 8});
    out.stored = FormSource::bits(Form::triangular_bit, out.watch, n);
  } else {
    const Array numbers = is_inexact(t) ? ops::multiply(x, Value(0.02)).astype(t)
                                        : ops::rint(ops::multiply(x, Value(0.3))).astype(t);
    out.memory = AnyMatrix::triangular(numbers, false, true, false);
    out.watch = watched(numbers.copy(), {40, 48});
    out.stored = FormSource::numbers(Form::triangular, out.watch, true);
  }
  if (lower) {
    out.memory = out.memory.transpose();
    out.stored = out.stored.transpose();
  }
  return out;
}

double largest(const Array& x) {
  return reduce(ReduceOp::max, ops::absolute(x)).item().as<double>();
}

void check(i64 n, DType t, bool lower, double a) {
  SCOPED_TRACE(cat(n, " ", name(t), lower ? " lower" : "", " a = ", a));
  const Relations c = relations(n, t, lower);
  const FormResult r = propagator_form(c.stored, a);
  EXPECT_EQ(r.lower, lower);
  const Array expected = compute_k(c.memory, a).array(),
              up = lower ? expected.transpose() : expected;
  const double tolerance = 1e-13 * (1 + largest(up));
  const Watched nothing = fresh({n, n}, DType::f64, {64, 64});
  const auto plan_of = [&](const Options& o) { return plan_propagator(c.stored, a, nothing, o); };
  for (const i64 budget : budgets_of(plan_of, n * n * 8)) {
    const Watched out = watched(zeros({n, n}, DType::f64).copy(), {60, 60});
    run_checked(plan_propagator(c.stored, a, out, {.budget = budget}), budget, {out, c.watch});
    EXPECT_FALSE(!(largest(ops::subtract(whole(*out), up)) < tolerance)) << budget;
  }
}

TEST(FormPropagator, EqualsThatInMemoryForEveryDtypeHalfAndBudget) {
  for (const DType t : {DType::b1, DType::f64, DType::f32, DType::i8, DType::i64})
    for (const i64 n : {i64{1}, i64{2}, i64{65}, i64{200}})
      for (const bool lower : {false, true}) check(n, t, lower, n % 2 == 0 ? 40.0 : -35.5);
}

TEST(FormPropagator, OfMoreSquaresOfBitsThanStay) {
  for (const bool lower : {false, true}) check(1100, DType::b1, lower, 300.0);
}

TEST(FormPropagator, OfNothingIsNothing) {
  const Array none = Array::empty({0, 0}, DType::f64);
  const FormSource c =
      FormSource::numbers(Form::triangular, store::memory_store(none, {1, 1}), true);
  plan_propagator(c, 1.0, fresh({0, 0}, DType::f64, {1, 1})).run();
}

TEST(FormPropagator, RefusesWhatItCannotSolve) {
  const Relations c = relations(9, DType::b1, false);
  EXPECT_THROW(propagator_form(c.stored, 0.0), LinAlgError);
  EXPECT_THROW(propagator_form(c.stored, std::numeric_limits<double>::infinity()), ArgumentError);
  const Array x = random_on_host({4, 4}, DType::f64, 1);
  const StorePtr s = store::memory_store(x, {2, 2});
  EXPECT_THROW(propagator_form(FormSource::numbers(Form::triangular, s), 1.0), ArgumentError);
  EXPECT_THROW(propagator_form(FormSource::numbers(Form::symmetric, s), 1.0), ArgumentError);
  const Array z = random_on_host({4, 4}, DType::c128, 1);
  EXPECT_THROW(
      propagator_form(FormSource::numbers(Form::triangular, store::memory_store(z, {2, 2}), true),
                      1.0),
      ArgumentError);
  EXPECT_THROW(plan_propagator(c.stored, 1.0, fresh({8, 9}, DType::f64, {4, 4})), ShapeError);
}

}  // namespace
}  // namespace tessera::streaming
