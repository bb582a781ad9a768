// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sums, extrema, means, truth values and running sums as functions and methods with NumPy's
// arguments: one list for local and for distributed arrays, which say how each is computed.
//   bind_reduction_functions<Array>(m, c, {.type = "Array", .array = "ts.array(", …});

#include <algorithm>
#include <cmath>

#include "core/both.hpp"
#include "tessera/kernels/reduce/reduce.hpp"
#include "tessera/kernels/scan/scan.hpp"

namespace tessera::python {

struct Reductions {
  const char* type;         // of arrays, in signatures
  const char *array, *end;  // around the numbers of examples
  const char* masked;  // what in tessera/_masked.py has the reductions with initial= and where=
  nb::object (*reduce)(ReduceOp op, nb::handle x, nb::handle axis, nb::handle dtype, nb::handle out,
                       bool keepdims);
  nb::object (*mean)(nb::handle x, nb::handle axis, nb::handle dtype, nb::handle out,
                     bool keepdims);
  nb::object (*distributed)(bool root, nb::handle x, nb::handle axis, nb::handle dtype,
                            nb::handle out, double ddof, bool keepdims);
  nb::object (*scan)(ScanOp op, nb::handle x, nb::handle axis, nb::handle dtype, nb::handle out);

  std::string doc(const char* text, const char* numbers, const char* name, const char* call,
                  const char* result) const {
    return cat(text, "\n\n>>> ", array, numbers, end, ".", name, call, "\n", result, "\n");
  }
  std::string axis() const { return "axis: int | typing.Sequence[int] | None = None, "; }
  std::string dtype() const { return "dtype: DTypeLike | None = None, "; }
  std::string out() const { return cat("out: ", type, " | None = None"); }
  std::string keepdims(std::string_view more = "") const {
    return cat(", keepdims: bool = False", more, ") -> ", type);
  }
  // These are rare and made of other functions, once for all kinds of arrays, in Python.
  nb::object with_mask(const char* name, nb::handle x, nb::handle axis, nb::handle dtype,
                       nb::handle out, bool keepdims, nb::handle initial, nb::handle where,
                       double ddof = 0) const {
    return nb::module_::import_("tessera._masked")
        .attr(masked)
        .attr("reduced")(name, x, axis, dtype, out, keepdims, initial, where, ddof);
  }
};

inline bool everywhere(nb::handle where) { return where.is_none() || where.ptr() == Py_True; }
inline constexpr const char* with_initial =
    ", initial: complex | None = None, where: ArrayLike | None = None";
inline constexpr const char* with_where = ", where: ArrayLike | None = None";

struct ReductionEntry {
  const char* name;
  ReduceOp op;
  const char *text, *numbers, *result;
};
inline constexpr ReductionEntry typed_reductions[] = {
    {"sum", ReduceOp::sum, "The sum over axes; small integers are summed in 64 bits.", "[1, 2, 6]",
     "9"},
    {"prod", ReduceOp::prod, "The product over axes.", "[1, 2, 3, 4]", "24"}};
inline constexpr ReductionEntry extrema[] = {
    {"max", ReduceOp::max, "The largest element over axes; NaN where there is one.", "[3, 1]", "3"},
    {"min", ReduceOp::min, "The smallest element over axes; NaN where there is one.", "[3, 1]",
     "1"}};
inline constexpr ReductionEntry truths[] = {
    {"any", ReduceOp::any, "Some element is not zero.", "[0, 2]", "True"},
    {"all", ReduceOp::all, "Every element is not zero.", "[0, 2]", "False"}};
inline constexpr ReductionEntry plain_reductions[] = {
    {"argmax", ReduceOp::argmax, "Where the largest element is, counted along the axis.",
     "[1, 5, 5]", "1"},
    {"argmin", ReduceOp::argmin, "Where the smallest element is, counted along the axis.",
     "[2, 1, 1]", "1"},
    {"count_nonzero", ReduceOp::count_nonzero, "How many elements are not zero.", "[0, 3, 4]",
     "2"}};

// Variances know whole corrections; one between is made up for by a factor of the variance without.
inline bool is_whole(double ddof) { return std::floor(ddof) == ddof; }
inline double factor_for(double ddof, i64 elements, i64 results) {
  const double n = static_cast<double>(elements) / static_cast<double>(std::max<i64>(results, 1));
  return n / std::max(n - ddof, 0.0);
}

template <class A>
void bind_reduction_lists(nb::module_& m, nb::class_<A>& c, const Reductions& r) {
  using nb::literals::operator""_a;
  for (const ReductionEntry& e : typed_reductions) {
    both(
        m, c, e.name, r.axis() + r.dtype() + r.out() + r.keepdims(with_initial),
        r.doc(e.text, e.numbers, e.name, "().item()", e.result).c_str(),
        [r, op = e.op, who = e.name](nb::handle x, nb::handle axis, nb::handle dtype,
                                     nb::handle out, bool keepdims, nb::handle initial,
                                     nb::handle where) {
          if (initial.is_none() && everywhere(where))
            return r.reduce(op, x, axis, dtype, out, keepdims);
          return r.with_mask(who, x, axis, dtype, out, keepdims, initial, where);
        },
        "axis"_a = nb::none(), "dtype"_a = nb::none(), "out"_a = nb::none(), "keepdims"_a = false,
        "initial"_a = nb::none(), "where"_a = nb::none());
  }
  for (const ReductionEntry& e : extrema) {
    both(
        m, c, e.name, r.axis() + r.out() + r.keepdims(with_initial),
        r.doc(e.text, e.numbers, e.name, "().item()", e.result).c_str(),
        [r, op = e.op, who = e.name](nb::handle x, nb::handle axis, nb::handle out, bool keepdims,
                                     nb::handle initial, nb::handle where) {
          if (initial.is_none() && everywhere(where))
            return r.reduce(op, x, axis, nb::none(), out, keepdims);
          return r.with_mask(who, x, axis, nb::none(), out, keepdims, initial, where);
        },
        "axis"_a = nb::none(), "out"_a = nb::none(), "keepdims"_a = false, "initial"_a = nb::none(),
        "where"_a = nb::none());
  }
  for (const ReductionEntry& e : truths) {
    both(
        m, c, e.name, r.axis() + r.out() + r.keepdims(with_where),
        r.doc(e.text, e.numbers, e.name, "().item()", e.result).c_str(),
        [r, op = e.op, who = e.name](nb::handle x, nb::handle axis, nb::handle out, bool keepdims,
                                     nb::handle where) {
          if (everywhere(where)) return r.reduce(op, x, axis, nb::none(), out, keepdims);
          return r.with_mask(who, x, axis, nb::none(), out, keepdims, nb::none(), where);
        },
        "axis"_a = nb::none(), "out"_a = nb::none(), "keepdims"_a = false, "where"_a = nb::none());
  }
  for (const ReductionEntry& e : plain_reductions) {
    both(
        m, c, e.name, r.axis() + r.out() + r.keepdims(),
        r.doc(e.text, e.numbers, e.name, "().item()", e.result).c_str(),
        [f = r.reduce, op = e.op](nb::handle x, nb::handle axis, nb::handle out, bool keepdims) {
          return f(op, x, axis, nb::none(), out, keepdims);
        },
        "axis"_a = nb::none(), "out"_a = nb::none(), "keepdims"_a = false);
  }
}

template <class A>
void bind_reduction_functions(nb::module_& m, nb::class_<A>& c, const Reductions& r) {
  using nb::literals::operator""_a;
  bind_reduction_lists(m, c, r);
  both(
      m, c, "mean", r.axis() + r.dtype() + r.out() + r.keepdims(with_where),
      r.doc("The mean over axes.", "[1, 2, 6]", "mean", "().item()", "3.0").c_str(),
      [r](nb::handle x, nb::handle axis, nb::handle dtype, nb::handle out, bool keepdims,
          nb::handle where) {
        if (everywhere(where)) return r.mean(x, axis, dtype, out, keepdims);
        return r.with_mask("mean", x, axis, dtype, out, keepdims, nb::none(), where);
      },
      "axis"_a = nb::none(), "dtype"_a = nb::none(), "out"_a = nb::none(), "keepdims"_a = false,
      "where"_a = nb::none());
  for (const bool root : {false, true}) {
    const std::string doc =
        root ? r.doc("The standard deviation over axes.", "[1.0, 3.0]", "std", "().item()", "1.0")
             : r.doc("The variance over axes.", "[1.0, 5.0]", "var", "().item()", "4.0");
    both(
        m, c, root ? "std" : "var",
        r.axis() + r.dtype() + r.out() +
            ", ddof: float = 0, keepdims: bool = False, *, where: ArrayLike | None = None, "
            "correction: float | None = None) -> " +
            r.type,
        doc.c_str(),
        [r, root](nb::handle x, nb::handle axis, nb::handle dtype, nb::handle out, double ddof,
                  bool keepdims, nb::handle where, nb::handle correction) {
          const char* who = root ? "std" : "var";
          require<ArgumentError>(correction.is_none() || ddof == 0,
                                 "ddof and correction can't be provided simultaneously.");
          const double less =
              correction.is_none() ? ddof : value_from(correction, who).as<double>();
          if (everywhere(where)) return r.distributed(root, x, axis, dtype, out, less, keepdims);
          return r.with_mask(who, x, axis, dtype, out, keepdims, nb::none(), where, less);
        },
        "axis"_a = nb::none(), "dtype"_a = nb::none(), "out"_a = nb::none(), "ddof"_a = 0,
        "keepdims"_a = false, nb::kw_only(), "where"_a = nb::none(), "correction"_a = nb::none());
  }
  for (const ScanOp op : {ScanOp::sum, ScanOp::prod}) {
    const bool sum = op == ScanOp::sum;
    const char* const name = sum ? "cumsum" : "cumprod";
    const std::string doc =
        r.doc(sum ? "Running sums along an axis, or over the flattened array."
                  : "Running products along an axis, or over the flattened array.",
              "[1, 2, 3]", name, "().tolist()", sum ? "[1, 3, 6]" : "[1, 2, 6]");
    both(
        m, c, name, cat("axis: int | None = None, ", r.dtype(), r.out(), ") -> ", r.type),
        doc.c_str(),
        [f = r.scan, op](nb::handle x, nb::handle axis, nb::handle dtype, nb::handle out) {
          return f(op, x, axis, dtype, out);
        },
        "axis"_a = nb::none(), "dtype"_a = nb::none(), "out"_a = nb::none());
  }
}

}  // namespace tessera::python
