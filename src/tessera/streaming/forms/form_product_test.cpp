// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/forms/form_product.hpp"

#include <cmath>
#include <filesystem>

#include "support/files.hpp"
#include "support/streams.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/kernels/reduce/reduce.hpp"
#include "tessera/matrix/products/multiply.hpp"
#include "tessera/store/tiles/tiled_file.hpp"

namespace tessera::streaming {
namespace {

// A matrix in memory, and the same in a store whose other half is poison.
struct Both {
  AnyMatrix memory;
  FormSource stored;
  Watched watch;  // none for diagonals
};

Array some_numbers(const Shape& shape, DType t, int seed) {
  const Array x = random_on_host(shape, DType::f64, static_cast<std::uint64_t>(seed));
  if (is_complex(t)) return random_on_host(shape, t, static_cast<std::uint64_t>(seed));
  if (is_inexact(t)) return x.astype(t);
  const Array small = ops::rint(ops::multiply(x, Value(0.6)));
  return t == DType::b1 ? ops::greater(x, 0.3) : small.astype(t);
}

Both made(Form form, bool turned, i64 rows, i64 cols, DType t, int seed) {
  const i64 r = turned ? cols : rows, c = turned ? rows : cols;
  const Array x = some_numbers({r, c}, t, seed);
  const bool strict = seed % 2 == 0;
  AnyMatrix m = AnyMatrix::dense(x);
  if (form == Form::bit) m = AnyMatrix::bit(x);
  if (form == Form::triangular_bit) m = AnyMatrix::triangular_bit(x, false);
  if (form == Form::triangular) m = AnyMatrix::triangular(x, false, strict, false);
  if (form == Form::symmetric) m = AnyMatrix::symmetric(x, false);
  if (form == Form::antisymmetric) m = AnyMatrix::antisymmetric(x, false);
  if (form == Form::diagonal)
    m = AnyMatrix::diagonal(some_numbers({std::min(r, c)}, t, seed), r, c);
  if (form == Form::identity) m = AnyMatrix::identity(r, c, t);
  Both out{m, {}, {}};
  if (form == Form::diagonal || form == Form::identity) {
    out.stored = FormSource::memory(m);
  } else if (form == Form::bit || form == Form::triangular_bit) {
    out.watch = watched(m.words(cpu).words.copy(), {100, 8});
    out.stored = FormSource::bits(form, out.watch, c);
  } else {
    out.watch = watched(x.copy(), {32, 20});
    out.stored = FormSource::numbers(form, out.watch, strict);
  }
  if (!turned) return out;
  out.memory = m.transpose();
  out.stored = out.stored.transpose();
  return out;
}

// What is stored of a result, as a matrix.
Array all_of(const FormResult& r, store::TileStore& store) {
  const FormSource m = r.source(std::shared_ptr<store::TileStore>(&store, [](auto*) {}));
  const FormSource up = r.lower ? m.transpose() : m;
  const Array numbers = whole(store);
  Piece p = piece_of(up, place_of(up, {0, up.rows()}, {0, up.cols()}), numbers);
  if (r.form == Form::triangular_bit) {
    const Array full = bit_unpack({numbers, r.cols});
    return r.lower ? full.transpose() : full;
  }
  const Array full = p.matrix().array();
  return r.lower ? full.transpose() : full;
}

bool may_be(Form form, DType t, i64 rows, i64 cols) {
  const bool bits = form == Form::bit || form == Form::triangular_bit;
  if (bits != (t == DType::b1)) return false;
  return rows == cols || form == Form::dense || form == Form::bit || form == Form::diagonal ||
         form == Form::identity;
}

// Zeros of either sign are.
bool all_equal(const Array& a, const Array& b) {
  return reduce(ReduceOp::all, ops::equal(a, b)).item().as<bool>();
}

void check_product(const Both& a, const Both& b, i64 budget, bool boolean = false) {
  const FormProduct what{boolean};
  const FormResult r = product_form(a.stored, b.stored, what);
  const AnyMatrix expected =
      boolean ? boolean_product(a.memory, b.memory) : matmul(a.memory, b.memory);
  const bool diagonal = expected.form() == Form::diagonal || expected.form() == Form::identity;
  EXPECT_EQ(r.form, diagonal ? Form::dense : expected.form());
  EXPECT_EQ(r.dtype, expected.dtype());
  EXPECT_EQ(r.lower, expected.lower());
  const bool half = r.is_half();
  const Watched out = r.form == Form::triangular_bit
                          ? watched(zeros(r.stored_shape(), DType::u64).contiguous(), {64, 8})
                          : fresh(r.stored_shape(), r.stored_dtype(), {40, half ? 40 : 64});
  std::vector<Watched> stores{out};
  for (const Both* m : {&a, &b})
    if (m->watch) stores.push_back(m->watch);
  run_checked(plan_form_product(a.stored, b.stored, out, what, {.budget = budget}), budget, stores);
  const Array got = all_of(r, *out), want = expected.array();
  if (is_inexact(r.dtype) && !all_equal(got, want)) {
    const double tolerance = (is_complex(r.dtype) ? 16 : 8) * epsilon_of(r.dtype) *
                             std::sqrt(static_cast<double>(a.memory.cols()) + 1);
    EXPECT_FALSE(!(relative(got, want) < tolerance)) << r.rows << " " << name(r.form);
  } else if (!is_inexact(r.dtype)) {
    EXPECT_TRUE(same_bits(got.contiguous(), want.contiguous()));
  }
}

constexpr Form forms[] = {Form::dense,      Form::bit,       Form::triangular_bit,
                          Form::triangular, Form::symmetric, Form::antisymmetric,
                          Form::diagonal,   Form::identity};

class FormProducts : public testing::TestWithParam<std::tuple<Form, Form>> {};

TEST_P(FormProducts, EqualThoseInMemoryForEveryDtypeViewAndBudget) {
  const auto& [left, right] = GetParam();
  const DType types[] = {DType::b1, DType::i8, DType::i64, DType::f32, DType::f64, DType::c128};
  int seed = 0;
  for (const DType s : types)
    for (const DType t : types)
      for (const auto& [m, k, n] :
           {std::tuple<i64, i64, i64>{70, 70, 70}, {37, 70, 53}, {1, 1, 1}, {70, 70, 3}}) {
        ++seed;
        if (!may_be(left, s, m, k) || !may_be(right, t, k, n)) continue;
        const Both a = made(left, seed % 3 == 1, m, k, s, seed),
                   b = made(right, seed % 5 < 2, k, n, t, seed + 1);
        SCOPED_TRACE(cat(name(left), " ", name(s), " @ ", name(right), " ", name(t), " ", m, " ", k,
                         " ", n, " ", a.stored.transposed, " ", b.stored.transposed));
        const FormResult r = product_form(a.stored, b.stored);
        const Watched nothing = fresh(r.stored_shape(), r.stored_dtype(), {64, 64});
        const auto plan_of = [&](const Options& o) {
          return plan_form_product(a.stored, b.stored, nothing, {}, o);
        };
        const i64 least = least_budget(plan_of);
        for (const i64 budget : {least, 2 * least, 8 * least, i64{0}}) {
          check_product(a, b, budget);
        }
      }
}

INSTANTIATE_TEST_SUITE_P(Every, FormProducts,
                         testing::Combine(testing::ValuesIn(forms), testing::ValuesIn(forms)),
                         [](const auto& info) {
                           return cat(name(std::get<0>(info.param)), name(std::get<1>(info.param)));
                         });

TEST(FormProducts, OfBitsAskWhetherThereIsAPath) {
  for (const Form left : {Form::bit, Form::triangular_bit})
    for (const Form right : {Form::bit, Form::triangular_bit})
      for (const int turns : {0, 1, 2, 3})
        for (const i64 n : {i64{1}, i64{600}, i64{1100}})
          for (const i64 budget : {i64{0}, i64{400000}}) {
            const Both a = made(left, turns % 2 == 1, n, n, DType::b1, 3),
                       b = made(right, turns >= 2, n, n, DType::b1, 4);
            check_product(a, b, budget, /*boolean=*/true);
          }
}

TEST(FormProducts, OfLargeBitsAreCountedByBlocks) {
  for (const Form left : {Form::bit, Form::triangular_bit})
    for (const int turns : {0, 1, 2, 3}) {
      const i64 n = 1300;
      const Both a = made(left, turns % 2 == 1, n, n, DType::b1, 5),
                 b = made(Form::triangular_bit, turns >= 2, n, n, DType::b1, 6),
                 x = made(Form::dense, turns >= 2, n, 40, DType::f32, 7);
      for (const i64 budget : {i64{5000000}, i64{16000000}, i64{0}}) {
        check_product(a, b, budget);
        check_product(a, x, budget);
      }
    }
}

TEST(FormProducts, ReadOnlyWhatTheFormsStore) {
  const i64 n = 128;
  const Both u = made(Form::triangular, false, n, n, DType::f64, 1),
             s = made(Form::symmetric, false, n, n, DType::f64, 2),
             x = made(Form::dense, false, n, 1, DType::f64, 3);
  u.watch->bytes_read = s.watch->bytes_read = 0;
  const i64 square = 32 * 32 * 8, pairs = 4 * 5 / 2;
  const auto read_by = [&](const Both& a, const Both& b, i64 budget) {
    const FormResult r = product_form(a.stored, b.stored);
    const Watched out = fresh(r.stored_shape(), r.stored_dtype(), {64, 64});
    const StreamPlan plan = plan_form_product(a.stored, b.stored, out, {}, {.budget = budget});
    return plan.bytes_read();
  };
  const i64 small = 70000;  // blocks of 32
  EXPECT_EQ(read_by(u, x, small), pairs * square + n * 8);
  EXPECT_EQ(read_by(s, x, small), pairs * square + n * 8);
}

// What is not stored is zero whatever it meets; the other half of each store holds numbers.
TEST(FormProducts, NumbersThatAreNotFiniteMeetOnlyWhatIsStored) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const Form form : {Form::triangular, Form::triangular_bit, Form::diagonal, Form::bit})
    for (const bool turned : {false, true})
      for (const i64 k : {i64{0}, i64{40}, i64{69}})
        for (const double special : {infinity, -infinity, std::nan("")}) {
          const i64 n = 70;
          const DType t =
              form == Form::triangular || form == Form::diagonal ? DType::f64 : DType::b1;
          const Both a = made(form, turned, n, n, t, 3);
          const Array x = random_on_host({n, 5}, DType::f64, 9);
          x.select(0, k).select(0, 2).fill(Value(special));
          const FormSource b = FormSource::numbers(Form::dense, store::memory_store(x, {16, 16}));
          const FormResult r = product_form(a.stored, b);
          const Array expected = matmul(a.memory, AnyMatrix::dense(x)).array();
          const i64 least = least_budget([&](const Options& o) {
            return plan_form_product(a.stored, b, fresh({n, 5}, DType::f64, {8, 8}), {}, o);
          });
          for (const i64 budget : {least, i64{0}}) {
            const Watched out = fresh({n, 5}, DType::f64, {8, 8});
            plan_form_product(a.stored, b, out, {}, {.budget = budget}).run();
            const Array got = whole(*out);
            EXPECT_TRUE(all_equal(ops::isnan(got), ops::isnan(expected)));
            EXPECT_TRUE(all_equal(ops::isinf(got), ops::isinf(expected))) << name(form) << k;
          }
        }
}

// A store of one page whose file says those words.
StorePtr that_says(const std::string& about, const Shape& shape, DType t) {
  const std::string path = path_of("said.tiles");
  std::filesystem::remove(path);
  return store::create_tiled_file(path, {shape, shape, t}, {.about = about});
}

TEST(FormResult, IsToldInWords) {
  for (const Form form :
       {Form::triangular, Form::symmetric, Form::antisymmetric, Form::bit, Form::triangular_bit})
    for (const bool lower : {false, true}) {
      const bool bits = form == Form::bit || form == Form::triangular_bit;
      if (lower && form != Form::triangular && form != Form::triangular_bit) continue;
      const FormResult r{form, bits ? DType::b1 : DType::f32, 7, 7, lower, !lower};
      const FormResult again =
          FormResult::told_by(that_says(r.about(), r.stored_shape(), r.stored_dtype()));
      EXPECT_EQ(again.about(), r.about());
      EXPECT_EQ(again.dtype, r.dtype);
      EXPECT_EQ(again.rows, 7);
    }
  EXPECT_EQ((FormResult{Form::dense, DType::f32, 3, 3}).about(), "");
  for (const std::string words :
       {"matrix", "matrix Symmetric", "matrix Diagonal 3", "matrix Dense 3", "vector Symmetric 3",
        "matrix Symmetric 3 upside", "?"})
    EXPECT_TRUE(has(thrown_text<IoError>([&] {
                      FormResult::told_by(that_says(words, {3, 3}, DType::f64));
                    }),
                    words))
        << words;
  EXPECT_THROW(FormResult::told_by(that_says("matrix Bit 3", {3}, DType::u64)), IoError);
}

TEST(FormResult, IsToldOnlyOfWhatTheFileHolds) {
  struct Case {
    std::string words;
    Shape shape;
    DType dtype;
  };
  for (const auto& [words, shape, dtype] : {
           Case{"matrix Bit 99999", {3, 8}, DType::u64},
           Case{"matrix Bit 513", {3, 8}, DType::u64},
           Case{"matrix Bit 0", {3, 8}, DType::u64},
           Case{"matrix Bit -1", {3, 8}, DType::u64},
           Case{"matrix Bit 9223372036854775807", {3, 8}, DType::u64},
           Case{"matrix Bit 3", {3, 8}, DType::f64},
           Case{"matrix Bit 3", {3, 8}, DType::i64},
           Case{"matrix TriangularBit 3", {4, 8}, DType::u64},
           Case{"matrix TriangularBit 3", {3, 3}, DType::f64},
           Case{"matrix Triangular 4", {3, 3}, DType::f64},
           Case{"matrix Triangular 3", {4, 3}, DType::f64},
           Case{"matrix Symmetric 4", {3, 3}, DType::f32},
           Case{"matrix AntiSymmetric -3", {3, 3}, DType::f32},
           Case{"matrix Symmetric 3 lower", {3, 3}, DType::f64},
           Case{"matrix AntiSymmetric 3 lower strict", {3, 3}, DType::f64},
           Case{"matrix Bit 3 lower", {3, 8}, DType::u64},
       })
    EXPECT_TRUE(
        has(thrown_text<IoError>([&] { FormResult::told_by(that_says(words, shape, dtype)); }),
            cat("is said to hold '", words, "'")))
        << words;
}

}  // namespace
}  // namespace tessera::streaming
