// SPDX-License-Identifier: Apache-2.0
// Arrays that are not in memory: conversion only. Keys, functions of NumPy's names and operators
// are in tessera/stored.py.
#include "streaming/stored_array.hpp"

#include <atomic>

#include "core/common.hpp"
#include "core/sequence.hpp"
#include "streaming/stored_creation.hpp"
#include "streaming/stored_forms.hpp"
#include "streaming/stored_linalg.hpp"
#include "streaming/stored_plan.hpp"
#include "streaming/stored_transforms.hpp"
#include "tessera/store/io/io_engine.hpp"
#include "tessera/store/tiles/hdf5_store.hpp"
#include "tessera/store/tiles/open_store.hpp"
#include "tessera/streaming/forms/form_product.hpp"

namespace tessera::python {

PyTypeObject* stored_type = nullptr;

namespace {

using nb::literals::operator""_a;
using streaming::Expression;
using streaming::Reduction;
using streaming::StoredArray;

const StoredArray& stored_of(nb::handle h) { return *nb::inst_ptr<StoredArray>(h); }

// Arrays on disk are computed with by the host; nothing comes there from another device in silence.
Array host_operand(nb::handle h, std::string_view who) {
  Array a = as_array(h, who);
  require<DeviceError>(a.device() == cpu, who, ": an array on disk beside one on ", a.device(),
                       "; move that to the host with to(\"cpu\")");
  return a;
}

Expression input_from(nb::handle h, std::string_view who) {
  if (is_stored(h.ptr())) return stored_of(h).expression();
  if (auto v = weak_value(h.ptr())) return Expression(*v);
  const Array a = host_operand(h, who);
  return released([&] { return streaming::kept_operand(a); });
}

std::optional<ElementOp> element_op(std::string_view text) {
  for (int k = 0; k <= static_cast<int>(ElementOp::angle); ++k)
    if (name(static_cast<ElementOp>(k)) == text) return static_cast<ElementOp>(k);
  return {};
}

nb::object apply(const std::string& op, const nb::args& inputs) {
  const auto found = element_op(op);
  if (!found) return nb::borrow(Py_NotImplemented);
  std::vector<Expression> all;
  for (nb::handle h : inputs) all.push_back(input_from(h, op));
  return nb::cast(streaming::apply(*found, all));
}

Reduction reduction_from(const std::string& text) {
  using enum Reduction;
  for (const Reduction r : {sum, mean, min, max, norm})
    if (name(r) == text) return r;
  throw ArgumentError(cat("reduce: no reduction is named '", text, "'"));
}

streaming::StreamPlan reduction_plan(const std::string& which, const StoredArray& x,
                                     nb::handle axis, bool keepdims) {
  std::optional<Axes> axes;
  if (const auto given = axes_from(axis, x.ndim())) axes = Axes(given->begin(), given->end());
  return streaming::plan_reduce(reduction_from(which), x.expression(), axes, keepdims,
                                {.budget = streaming::stream_budget()});
}

std::string repr_of_stored(const StoredArray& x) {
  return cat("StoredArray(shape=", to_text(x.shape()), ", dtype=", name(x.dtype()), ", ",
             bytes_text(x.bytes()), ", ", x.describe(), ")");
}

// Of a result: refused before anything else is done where its ending says what is not made there.
std::string result_path(nb::handle h) {
  if (h.is_none()) return {};
  std::string path = path_from(h);
  store::require_result_name(path);
  return path;
}

std::optional<Shape> axes_or_none(nb::handle h) {
  if (h.is_none()) return {};
  return shape_from(h);
}

void bind_class(nb::module_& m) {
  nb::class_<StoredArray> c(
      m, "StoredArray",
      "An array that is not in memory: numbers in a file, or a formula over such arrays that is "
      "not computed yet.\n\nElement-wise operations build the formula; reductions read all of it "
      "in one pass; `x[key]` reads what the\nkey names. Work holds no more memory than "
      "`ts.set_memory_budget` leaves.\n\n"
      ">>> a = ts.stored.zeros((1000, 1000), dtype='float32')\n"
      ">>> a[10:20] = 2; float(((a - 1) ** 2).sum())\n1000000.0\n"
      ">>> a[9:11, 5].tolist()\n[0.0, 2.0]\n");
  stored_type = reinterpret_cast<PyTypeObject*>(c.ptr());
  c.def_prop_ro(
      "shape", [](const StoredArray& x) { return tuple_of(x.shape()); },
      nb::sig("def shape(self) -> tuple[int, ...]"), "Sizes of the axes.");
  c.def_prop_ro(
      "dtype", [](const StoredArray& x) { return dtype_object(x.dtype()); },
      nb::sig("def dtype(self) -> DType"), "Of the elements.");
  c.def_prop_ro("ndim", &StoredArray::ndim, "Number of axes.");
  c.def_prop_ro("size", &StoredArray::size, "Number of elements.");
  c.def_prop_ro("nbytes", &StoredArray::bytes, "Bytes of the elements.");
  c.def_prop_ro("is_formula", &StoredArray::is_formula, "Whether nothing is computed yet.");
  c.def(
      "compute",
      [](nb::handle self) {
        const StoredArray& x = stored_of(self);
        released([&] { x.store(); });
        return nb::borrow(self);
      },
      nb::sig("def compute(self) -> StoredArray"),
      "The same array with its numbers in a file of the backing folder; a formula is computed "
      "once.\n\n>>> (ts.stored.zeros(4) + 1).compute().is_formula\nFalse\n");
  c.def(
      "save",
      [](const StoredArray& x, nb::handle path) {
        const std::string to = result_path(path);
        return released([&] { return x.save(to); });
      },
      "path"_a, nb::sig("def save(self, path: str | os.PathLike[str]) -> StoredArray"),
      "A file with the numbers, which stays; that file as an array. There must be none of that "
      "name.\n\nA path that ends in .npy makes a file of that format, any other a tiled file; "
      "endings of other formats\n(.npz, .zarr, .tessera, .h5, .hdf5), which ``ts.save`` writes, "
      "are refused.\n\n"
      "It is a job: while it is written there are PATH.partial and PATH.job, and when it was "
      "interrupted or killed\nthe same call goes on from there.\n\n"
      ">>> import os, tempfile; path = os.path.join(tempfile.mkdtemp(), 'x.tiles')\n"
      ">>> (ts.stored.zeros(4) + 1).save(path)[:2].tolist()\n[1.0, 1.0]\n");
  c.def(
      "transpose",
      [](const StoredArray& x, nb::handle axes, nb::handle path) {
        const auto order = axes_or_none(axes);
        const std::string to = result_path(path);
        return released([&] { return x.transpose(order, to); });
      },
      "axes"_a.none() = nb::none(), "path"_a.none() = nb::none(),
      nb::sig("def transpose(self, axes: collections.abc.Sequence[int] | None = None, path: str | "
              "os.PathLike[str] | None = None) -> StoredArray"),
      "A copy in a file with the axes in another order (reversed without `axes`); each byte is "
      "read and written once.\n\nWith a `path` it is a job (see `save`).\n\n"
      ">>> ts.stored.zeros((2, 3)).transpose().shape\n(3, 2)\n");
  c.def(
      "_read",
      [](const StoredArray& x, nb::handle begin, nb::handle shape) {
        const streaming::Box box{shape_from(begin), shape_from(shape)};
        return wrap(released([&] { return x.read(box); }));
      },
      "begin"_a, "shape"_a,
      nb::sig("def _read(self, begin: typing.Any, shape: typing.Any) -> Array"));
  c.def(
      "_write",
      [](const StoredArray& x, nb::handle begin, nb::handle shape, nb::handle value) {
        const streaming::Box box{shape_from(begin), shape_from(shape)};
        const auto number = weak_value(value.ptr());
        if (number) check_fits(*number, x.dtype());
        const Array from = number ? Array::scalar(*number, x.dtype()) : as_array(value, "write");
        released([&] { x.write(box, from.to(cpu)); });
      },
      "begin"_a, "shape"_a, "value"_a,
      nb::sig("def _write(self, begin: typing.Any, shape: typing.Any, value: typing.Any) -> None"));
  c.def_prop_ro("_path", &StoredArray::path);
  c.def_prop_ro("_writable",
                [](const StoredArray& x) { return !x.is_formula() && x.store()->writable(); });
  c.def(
      "_as",
      [](const StoredArray& x, nb::handle t) {
        return StoredArray(x.expression().as(dtype_from(t)));
      },
      "dtype"_a, nb::sig("def _as(self, dtype: typing.Any) -> StoredArray"));
  c.def("__repr__", &repr_of_stored);
}

// For tests: the nth call of the kind that a fault is about fails; a disk that is full stays so. No
// kind: from now on calls are as they are. Gives the calls of that kind since the last time.
i64 inject_faults(const std::string& kind, i64 nth) {
  static auto seen = std::make_shared<std::atomic<i64>>(0);
  const auto engine = store::IoEngine::shared();
  engine->inject({});
  const i64 before = seen->load();
  seen = std::make_shared<std::atomic<i64>>(0);
  if (kind.empty()) return before;
  const bool full = kind == "disk full", brief = kind == "short", ended = kind == "ended";
  require<ArgumentError>(full || brief || ended || kind == "error",
                         "_stored_faults: no fault is named '", kind, "'");
  engine->inject([=, count = seen](const store::IoRequest& r) {
    if ((full && !r.write) || (ended && r.write)) return store::IoFault::none;
    const i64 now = ++*count;
    if (nth <= 0 || now < nth || (now > nth && !full)) return store::IoFault::none;
    if (full) return store::IoFault::disk_full;
    if (brief) return store::IoFault::short_call;
    return ended ? store::IoFault::ended : store::IoFault::io_error;
  });
  return before;
}

}  // namespace

nb::object open_stored(const std::string& path, bool writable, const std::string& dataset) {
  const streaming::StorePtr s =
      released([&] { return store::open_store(path, writable, dataset); });
  // Forms know no writes: what is to be written are the numbers as they lie.
  if (writable || s->about().empty()) return nb::cast(StoredArray(s));
  return nb::cast(streaming::FormResult::told_by(s).source(s));
}

StoredArray in_place(nb::handle h, std::string_view who) {
  return is_stored(h.ptr()) ? stored_of(h) : StoredArray::in_place(host_operand(h, who));
}

StoredArray place_for(nb::handle out, std::string_view who,
                      std::initializer_list<nb::handle> operands) {
  if (is_stored(out.ptr())) return stored_of(out);
  const Array& to = target_array(out, who);
  require<DeviceError>(to.device() == cpu, who, ": out is on ", to.device(),
                       ", expected an array of the host or one on disk");
  require<ArgumentError>(to.storage().writable(), who, ": out is read-only");
  for (const nb::handle h : operands)
    require<ArgumentError>(is_stored(h.ptr()) || !may_share_memory(as_array(h, who), to), who,
                           ": out shares memory with an operand");
  return StoredArray::in_place(to);
}

std::optional<Device> device_or_none(nb::handle h) {
  return h.is_none() ? std::optional<Device>() : device_from(h);
}

void bind_stored(nb::module_& m) {
  bind_class(m);
  streaming::set_stream_poll(&check_signals);
  m.def("_stored_mark_interval", &streaming::set_mark_interval, "seconds"_a);
  m.def("_stored_faults", &inject_faults, "kind"_a, "nth"_a);
  bind_stored_creation(m);
  m.def(
      "_stored_create",
      [](nb::handle shape, nb::handle dtype, const std::string& path) {
        const Shape s = shape_from(shape);
        const DType t = dtype_from(dtype);
        return released([&] { return StoredArray::create(s, t, path); });
      },
      "shape"_a, "dtype"_a, "path"_a,
      nb::sig(
          "def _stored_create(shape: typing.Any, dtype: typing.Any, path: str) -> StoredArray"));
  m.def("_stored_path", &result_path, "path"_a.none(),
        nb::sig("def _stored_path(path: str | os.PathLike[str] | None) -> str"));
  m.def("_has_hdf5", &store::has_hdf5);
  m.def(
      "_stored_new_hdf5",
      [](const std::string& path, nb::handle sets, nb::handle groups) {
        std::vector<store::Hdf5Dataset> all;
        std::vector<std::string> names;
        for (nb::handle g : nb::borrow<nb::list>(groups)) names.push_back(nb::cast<std::string>(g));
        for (nb::handle s : nb::borrow<nb::list>(sets))
          all.push_back({nb::cast<std::string>(s[0]), shape_from(s[1]), dtype_from(s[2])});
        released([&] { store::create_hdf5_file(path, all, names); });
      },
      "path"_a, "sets"_a, "groups"_a,
      nb::sig("def _stored_new_hdf5(path: str, sets: list[tuple[str, tuple[int, ...], "
              "typing.Any]], groups: list[str]) -> None"));
  m.def("_stored_open", &open_stored, "path"_a, "writable"_a, "dataset"_a,
        nb::sig("def _stored_open(path: str, writable: bool, dataset: str) -> typing.Any"));
  m.def(
      "_stored_from",
      [](nb::handle array, const std::string& path) {
        const Array a = as_array(array, "stored.array");
        return released([&] { return StoredArray::from(a, path); });
      },
      "array"_a, "path"_a,
      nb::sig("def _stored_from(array: typing.Any, path: str) -> StoredArray"));
  m.def(
      "_stored_operand",
      [](nb::handle h, const std::string& who) {
        if (is_stored(h.ptr())) return stored_of(h);
        const Array a = host_operand(h, who);
        return released([&] { return StoredArray::from(a, ""); });
      },
      "x"_a, "who"_a, nb::sig("def _stored_operand(x: typing.Any, who: str) -> StoredArray"));
  m.def("_stored_apply", &apply,
        nb::sig("def _stored_apply(op: str, *inputs: typing.Any) -> typing.Any"));
  m.def(
      "_stored_reduce",
      [](const std::string& which, const StoredArray& x, nb::handle axis, bool keepdims) {
        auto plan = reduction_plan(which, x, axis, keepdims);
        return wrap(released([&] { return plan.run(); }));
      },
      "which"_a, "x"_a, "axis"_a.none(), "keepdims"_a,
      nb::sig("def _stored_reduce(which: str, x: StoredArray, axis: typing.Any, keepdims: bool) "
              "-> Array"));
  m.def(
      "_stored_explain",
      [](const std::string& which, const StoredArray& x, nb::handle axis) {
        return reduction_plan(which, x, axis, false).explain();
      },
      "which"_a, "x"_a, "axis"_a.none(),
      nb::sig("def _stored_explain(which: str, x: StoredArray, axis: typing.Any) -> str"));
  m.def(
      "_stored_sort",
      [](const StoredArray& x, i64 axis, const std::string& path) {
        return released([&] { return streaming::sort(x, axis, path); });
      },
      "x"_a, "axis"_a, "path"_a = "");
  m.def(
      "_stored_matmul",
      [](const StoredArray& a, const StoredArray& b, nb::handle path, nb::handle device) {
        const std::string to = result_path(path);
        const std::optional<Device> where = device_or_none(device);
        return released([&] { return streaming::matmul(a, b, to, where); });
      },
      "a"_a, "b"_a, "path"_a.none(), "device"_a.none() = nb::none(),
      nb::sig("def _stored_matmul(a: StoredArray, b: StoredArray, path: typing.Any, "
              "device: typing.Any = None) -> StoredArray"));
  m.def(
      "_stored_matmul_into",
      [](nb::handle out, nb::handle a, nb::handle b, nb::handle device) {
        const StoredArray left = in_place(a, "matmul"), right = in_place(b, "matmul");
        const StoredArray to = place_for(out, "matmul", {a, b});
        const std::optional<Device> where = device_or_none(device);
        released([&] { streaming::matmul_into(to, left, right, where); });
      },
      "out"_a, "a"_a, "b"_a, "device"_a.none(),
      nb::sig("def _stored_matmul_into(out: typing.Any, a: typing.Any, b: typing.Any, "
              "device: typing.Any) -> None"));
  m.def(
      "_stored_in_place", [](nb::handle h, const std::string& who) { return in_place(h, who); },
      "x"_a, "who"_a, nb::sig("def _stored_in_place(x: typing.Any, who: str) -> StoredArray"));
  bind_stored_linalg(m);
  bind_stored_plan(m);
  bind_stored_transforms(m);
  bind_stored_forms(m);
}

}  // namespace tessera::python
