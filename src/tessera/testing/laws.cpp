// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/laws.hpp"

#include <algorithm>
#include <thread>

#include "tessera/linop/core/repr_html.hpp"
#include "tessera/tessera.hpp"
#include "tessera/testing/subject.hpp"

namespace tessera::laws {
namespace {

void dot_test(Subject& s) {
  for (std::uint64_t seed : {1u, 2u}) {
    const AdjointCheck c =
        check_adjoint(s.A, s.sample.input, s.dtype, s.device, seed, s.tolerance());
    s.expect(static_cast<bool>(c), "|<y, Ax> - <A.H y, x>| is ", c.error, ", expected at most ",
             c.tolerance);
  }
}

// A complex factor makes complex numbers of real ones: an operator that gives real ones has the
// adjoint of that as well.
void dot_test_of_scaled_and_added(Subject& s) {
  const Value c(c128(1, -2));
  const Shape output = s.A.output_shape(s.sample.input);
  const NamedLinop N = s.A.N();
  const auto check = [&](const NamedLinop& a, const Shape& in, DType t, Device d) {
    const AdjointCheck found = check_adjoint(a, in, t, d, 3, 4 * s.tolerance());
    s.expect(static_cast<bool>(found), "|<y, Ax> - <A.H y, x>| is ", found.error, " of\n",
             a.tree());
  };
  for (const NamedLinop& a : {c * s.A, c * N, sum({N, c * N}), c * N.H()})
    check(a, s.sample.input, s.dtype, s.device);
  check(c * s.A.H(), output, s.A.output_dtype(s.dtype), s.A.output_device(s.device));
}

void linearity(Subject& s) {
  const Array x = s.random_input(3), y = s.random_input(4);
  const bool over_complex = is_complex(s.dtype) && !s.A.real_linear();
  const Value c = over_complex ? Value(c128(2.5, -1.5)) : Value(2.5);
  const Array left = s.A(ops::add(ops::multiply(x, c), y)),
              right = ops::add(ops::multiply(s.A(x), c), s.A(y));
  s.expect_near(left, right, s.tolerance(), cat("A(", c, " x + y) and ", c, " A x + A y"));
}

void adjoint_twice_is_the_operator(Subject& s) {
  s.expect(s.A.H().H() == s.A, "A.H.H is not A");
  s.expect(s.A.H() == s.A.H(), "A.H is made twice");
  s.expect(s.A.H().ishape() == s.A.oshape() && s.A.H().oshape() == s.A.ishape(), "A.H maps ",
           s.A.H().shape(), ", A ", s.A.shape());
}

void normal_is_adjoint_after_operator(Subject& s) {
  const Array x = s.random_input(5);
  const NamedLinop N = s.A.N();
  s.expect(N.ishape() == s.A.ishape(), "A.N takes ", to_text(N.ishape()), ", A ",
           to_text(s.A.ishape()));
  s.expect_near(N(x), s.A.H()(s.A(x)), 4 * s.tolerance(), "A.N x and A.H A x");
  s.expect_near(N.H()(x), N(x), 4 * s.tolerance(), "A.N.H x and A.N x");
  const NamedLinop weighted = s.A.normal(Scalar(1.0));
  s.expect(weighted.ishape() == N.ishape() && weighted.oshape() == N.oshape(), "A.N maps ",
           N.shape(), ", with something inside ", weighted.shape());
  for (const NamedLinop& scaled :
       {Value(2.0) * s.A, s.A * Value(-0.5), -s.A, Value(c128(1, -2)) * s.A})
    s.expect(scaled.N().ishape() == N.ishape() && scaled.N().oshape() == N.oshape(), "A.N maps ",
             N.shape(), ", that of ", scaled, " ", scaled.N().shape());
}

void dense_matrix_of_the_adjoint(Subject& s) {
  if (s.A.real_linear()) return;  // not a matrix over the complex numbers
  const Array a = s.A.to_dense(s.sample.input, s.dtype);
  const Array h = s.A.H().to_dense(s.A.output_shape(s.sample.input), s.A.output_dtype(s.dtype));
  s.expect_near(h.to(a.device()), ops::conj(a).transpose(), s.tolerance(),
                "the matrix of A.H and the conjugate transpose of A's");
}

// Every rule at once; rewrite_test.cpp takes them one by one.
void rewriting_changes_nothing_but_the_work(Subject& s) {
  const Array x = s.random_input(13);
  const Array expected = s.A.N()(x), direct = s.A(x);
  const NamedShape names = s.A.N().shape();
  const Using plain(config().rewrite, false);
  const Using fresh(config().cache_adjoint_normal, false);
  const NamedShape as_written = s.A.N().shape();
  s.expect(as_written.ishape == names.ishape && as_written.oshape == names.oshape, "A.N maps ",
           names, ", without rewriting ", as_written);
  s.expect_near(expected, s.A.N()(x), 4 * s.tolerance(), "A.N x with and without rewriting");
  s.expect_near(expected, s.A.H()(direct), 4 * s.tolerance(), "A.N x and plain A.H A x");
}

void renaming_keeps_the_map(Subject& s) {
  const Array x = s.random_input(14);
  Renames r;
  for (NamedDimension d : s.A.dims())
    if (!d.is_wildcard()) r.emplace_back(d, NamedDimension("Renamed" + d.str()));
  const NamedLinop renamed = s.A.rename(r);
  const NamedShape expected(rename(s.A.ishape(), r), rename(s.A.oshape(), r));
  s.expect(renamed.ishape() == expected.ishape && renamed.oshape() == expected.oshape,
           "renamed, it maps ", renamed.shape(), ", expected ", expected);
  s.expect_near(renamed(x), s.A(x), s.tolerance(), "A x before and after renaming");
  for (NamedDimension d : s.A.dims())
    s.expect(s.A.size(d) == renamed.size(rename(Dims{d}, r)[0]), "the size of '", d,
             "' is another after renaming");
}

void inputs_are_untouched(Subject& s) {
  const Array x = s.random_input(6), before = x.copy();
  (void)s.A(x);
  (void)s.A.N()(x);
  s.expect(difference(x, before) == 0, "the input has changed");
  const Array y = s.A(x).copy(), y_before = y.copy();
  (void)s.A.H()(y);
  s.expect(difference(y, y_before) == 0, "the adjoint's input has changed");
}

void any_strides_in_and_out(Subject& s) {
  const Array x = s.random_input(7), expected = s.A(x);
  s.expect_near(s.A(awkward(x)), expected, s.tolerance(), "A of a strided input");
  const Array out = awkward(Array::empty(expected.shape(), expected.dtype(), expected.device()));
  s.A(awkward(x), out);
  s.expect_near(out, expected, s.tolerance(), "A into a strided output");
}

void eager_planned_and_captured_agree(Subject& s) {
  const Array x = s.random_input(8).contiguous(), y = s.random_input(9).contiguous(),
              expected = s.A(x);
  const Plan plan = s.A.plan({.shape = s.sample.input, .dtype = s.dtype, .device = s.device});
  tessera::Run run = plan.instance();
  auto dense = [&](const Array& like) {
    return Array(Storage::allocate(like.device(), like.bytes()), Layout::contiguous(like.shape()),
                 like.dtype());
  };
  const Array planned = dense(expected), captured = dense(expected), other = dense(expected);
  run(x, planned);
  run.capture();
  run(x, captured);
  run(y, other);
  run(x, captured);
  s.expect(difference(planned, captured) == 0, "a captured run gives other values");
  s.expect_near(planned, expected, s.tolerance(), "planned and eager");
  s.expect_near(other, s.A(y), s.tolerance(), "a captured run with another input");
}

void workspace_is_what_a_run_allocates(Subject& s) {
  const Plan plan = s.A.plan({.shape = s.sample.input, .dtype = s.dtype, .device = s.device});
  Stream::home(s.device).sync();
  const i64 before = memory_stats(s.device).in_use;
  const tessera::Run run = plan.instance();
  const i64 used = memory_stats(s.device).in_use - before;
  s.expect(used == plan.workspace(s.device), "a run holds ", used, " bytes, its plan said ",
           plan.workspace(s.device));
}

void two_threads_at_once(Subject& s) {
  const Array x = s.random_input(10), y = s.random_input(11), ax = s.A(x), ay = s.A(y);
  auto repeat = [&](const Array& in, const Array& expected, double& worst) {
    for (int i = 0; i < 5; ++i) worst = std::max(worst, difference(s.A(in), expected));
  };
  double a = 0, b = 0;
  std::thread other([&] { repeat(y, ay, b); });
  repeat(x, ax, a);
  other.join();
  s.expect(a < s.tolerance() && b < s.tolerance(), "two threads at once differ by ", a, " and ", b);
}

void devices_agree(Subject& s) {
  if (s.device == cpu || bound_to_devices(s.A)) return;
  const NamedLinop there = s.A.to(cpu);
  if (there.device().value_or(cpu) != cpu) return;
  const Array x = s.random_input(15);
  const Array y = there(x.to(cpu));
  // Of a short sum whose terms nearly cancel, the rounding of the terms is left.
  const double of_y = norm(y).item().as<double>(), of_x = norm(x.to(cpu)).item().as<double>();
  const double cancelled = of_y > 0 ? std::clamp(of_x / of_y, 1.0, 100.0) : 1.0;
  s.expect_near(s.A(x).to(cpu), y, cancelled * s.tolerance(), "A x here and on the cpu");
}

void wrong_inputs_are_refused_by_sentence(Subject& s) {
  Shape more = s.sample.input;
  more.insert(0, 2);
  more.insert(0, 2);
  const Dims names = s.A.ishape();
  if (!has_ellipses(names)) {
    try {
      (void)s.A(Array::empty(more, s.dtype, s.device));
      s.expect(false, "accepted an input of shape ", more);
    } catch (const DimError& e) {
      const std::string text = e.what();
      s.expect(text.find(s.A.kind()) != std::string::npos, "the error does not name it: ", text);
    }
  }
  for (NamedDimension d : names) {
    const auto n = s.A.size(d);
    if (!n) continue;
    Shape wrong = s.sample.input;
    wrong[*axis_of(names, d, wrong.size())] += 1;
    try {
      (void)s.A(Array::empty(wrong, s.dtype, s.device));
      s.expect(false, "accepted an input of shape ", wrong, " though '", d, "' is ", *n);
    } catch (const DimError&) {
    }
  }
}

void copies_have_their_own_memory(Subject& s) {
  const NamedLinop copy = s.A.deep_copy();
  const Array x = s.random_input(17);
  s.expect_near(copy(x), s.A(x), s.tolerance(), "a deep copy and the operator");
  s.expect_near(copy.N()(x), s.A.N()(x), 4 * s.tolerance(), "their normals");
  const std::vector<Array> mine = s.A.arrays(), its = copy.arrays();
  s.expect(mine.size() == its.size() && s.A.bytes() >= copy.bytes(), "a deep copy holds ",
           its.size(), " arrays of ", copy.bytes(), " bytes, the operator ", mine.size(), " of ",
           s.A.bytes());
  for (const Array& a : its)
    for (const Array& b : mine)
      s.expect(!may_share_memory(a, b), "a deep copy shares an array of shape ", a.shape());
}

// What can be described is the same operator once it is restored; so are its adjoint,
// its normal, its parts, and all of them in tiles.
void descriptions_restore_the_operator(Subject& s) {
  OperatorReaders readers = linop_readers();
  for (const OperatorReaders& more : {matrix_readers(), split_readers()})
    readers.insert(readers.end(), more.begin(), more.end());
  const Array x = s.random_input(21), y = s.A(x);
  const auto check = [&](const NamedLinop& a, const Array& in, std::string_view what) {
    LinopDescription d;
    try {
      d = describe(a);
    } catch (const DTypeError&) {
      return;  // functions of somebody's: they have no description
    }
    const NamedLinop again = restore(d, readers);
    s.expect(again.str() == a.str() && again.details() == a.details(), what, " is restored as ",
             again.str(), " ", again.details(), " from ", a.str(), " ", a.details());
    s.expect_near(again(in), a(in), s.tolerance(), cat(what, ", restored, and itself"));
  };
  check(s.A, x, "A");
  check(s.A.H(), y, "A.H");
  check(s.A.N(), x, "A.N");
  check(s.A.named("one of many"), x, "A with a name");
  for (const Sized& d : sized_dims(s.A, s.sample.input)) {
    if (contains(s.sample.unsplittable, d.dim) || d.size < 2) continue;
    const Tile tile{{d.dim, 1, d.size, d.size}};
    const Array part = x.view(part_of(x.layout(), s.A.ishape(), tile.only(s.A.ishape())));
    check(s.A.split(tile), part, cat("A cut along ", d.dim));
    const BatchSpec spec{.batch_sizes = {{d.dim, (d.size + 1) / 2}}};
    check(create_batched_linop(s.A, spec, s.sample.input), x, cat("A in tiles of ", d.dim));
  }
}

void sums_add_to_what_is_there(Subject& s) {
  const Array x = s.random_input(19), once = s.A(x);
  s.expect_near(sum({s.A, s.A, s.A})(x), ops::multiply(once, 3.0), s.tolerance(),
                "(A + A + A) x and 3 A x");
  const NamedLinop chained = Scalar(2.0, s.A.oshape()) * s.A;
  s.expect_near(sum({chained, s.A})(x), ops::multiply(once, 3.0), s.tolerance(),
                "(2 A + A) x and 3 A x");
}

void shows_itself(Subject& s) {
  const std::string tree = s.A.tree(), html = repr_html(s.A);
  s.expect(tree.starts_with(s.A.str()) && tree.find(s.A.kind()) != std::string::npos, "prints as ",
           tree);
  s.expect(html.find(s.A.kind()) != std::string::npos && html.ends_with("</div>"), "its card is ",
           html);
  const Device other = s.device == cpu ? Device::parse("sim:0") : cpu;
  if (bound_to_devices(s.A)) {
    bool refused = false;
    try {
      (void)s.A.to(Device::parse("sim:7"));
    } catch (const DeviceError&) {
      refused = true;
    }
    s.expect(refused && s.A.to(*s.A.device()) == s.A, "moves away from its devices");
  } else if (s.A.device() && s.A.parts().empty() && s.A.to(other).device() == other)
    s.expect(s.A.bytes() > 0, "is on ", *s.A.device(), " and lists no arrays()");
}

}  // namespace

const std::vector<Law>& all_laws() {
  static const std::vector<Law> laws{
      {"DotTest", dot_test},
      {"DotTestOfScaledAndAdded", dot_test_of_scaled_and_added},
      {"Linearity", linearity},
      {"AdjointTwiceIsTheOperator", adjoint_twice_is_the_operator},
      {"NormalIsAdjointAfterOperator", normal_is_adjoint_after_operator},
      {"DenseMatrixOfTheAdjoint", dense_matrix_of_the_adjoint},
      {"PartsMakeTheWhole", parts_make_the_whole},
      {"BatchesEqualTheWhole", batches_equal_the_whole},
      {"EverySpecEqualsTheWhole", every_spec_equals_the_whole},
      {"RewritingChangesNothingButTheWork", rewriting_changes_nothing_but_the_work},
      {"RenamingKeepsTheMap", renaming_keeps_the_map},
      {"InputsAreUntouched", inputs_are_untouched},
      {"AnyStridesInAndOut", any_strides_in_and_out},
      {"EagerPlannedAndCapturedAgree", eager_planned_and_captured_agree},
      {"WorkspaceIsWhatARunAllocates", workspace_is_what_a_run_allocates},
      {"TwoThreadsAtOnce", two_threads_at_once},
      {"DevicesAgree", devices_agree},
      {"CopiesHaveTheirOwnMemory", copies_have_their_own_memory},
      {"DescriptionsRestoreTheOperator", descriptions_restore_the_operator},
      {"SumsAddToWhatIsThere", sums_add_to_what_is_there},
      {"ShowsItself", shows_itself},
      {"WrongInputsAreRefusedBySentence", wrong_inputs_are_refused_by_sentence}};
  return laws;
}

}  // namespace tessera::laws
