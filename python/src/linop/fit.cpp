// SPDX-License-Identifier: Apache-2.0
// ts.fit: tiles and devices chosen for an operator under budgets of bytes.
#include "tessera/split/fit.hpp"

#include <algorithm>

#include "linop/operators.hpp"
#include "streaming/stored_array.hpp"
#include "streaming/stored_operators.hpp"
#include "tessera/streaming/operators/on_disk.hpp"

namespace tessera::python {

namespace {

using nb::literals::operator""_a;

const Fitted& fitted(const LinopObject& self) { return *self.op.as<Fitted>(); }

nb::dict forecast_of(const LinopObject& self) {
  const FitForecast& f = fitted(self).forecast;
  nb::dict memory, transfers, all;
  for (const DeviceBytes& m : f.memory) {
    nb::dict d;
    d["arrays"] = m.arrays;
    d["workspace"] = m.workspace;
    d["data"] = m.data;
    d["total"] = m.total();
    d["budget"] = m.budget > 0 ? nb::object(nb::int_(m.budget)) : nb::none();
    memory[nb::str(m.device.str().c_str())] = d;
  }
  for (const LinkBytes& l : f.transfers)
    transfers[nb::str(cat(l.from, " -> ", l.to).c_str())] = l.bytes;
  all["memory"] = memory;
  all["transfers"] = transfers;
  all["seconds"] = f.seconds;
  return all;
}

// Of a shape alone: an input that with its output exceeds the budget of the host is on disk.
bool lies_on_disk(const NamedLinop& a, const FitOptions& o) {
  if (o.device != cpu) return false;
  if (streaming::has_weights_on_disk(a)) return true;
  const i64 data = count_of(o.shape) * size_of(o.dtype) +
                   count_of(a.output_shape(o.shape)) * size_of(a.output_dtype(o.dtype));
  return std::any_of(o.budget.begin(), o.budget.end(),
                     [&](const auto& b) { return b.first == cpu && b.second < data; });
}

nb::object fit_of(nb::handle linop, nb::handle x, nb::handle budget, nb::handle devices,
                  nb::handle shape, nb::handle dtype) {
  const NamedLinop& a = linop_from(linop, "fit");
  FitOptions o;
  require<DTypeError>(budget.is_none() || PyDict_Check(budget.ptr()),
                      "fit: budget is a dict {device: bytes}, got ",
                      Py_TYPE(budget.ptr())->tp_name);
  if (is_stored(x.ptr())) {
    const auto& like = *nb::inst_ptr<streaming::StoredArray>(x);
    require<ArgumentError>(devices.is_none(), "fit: ", a,
                           ": for an array on disk give the devices as budget={device: bytes}");
    return fitted_on_disk(a, shape.is_none() ? like.shape() : shape_from(shape),
                          dtype.is_none() ? like.dtype() : dtype_from(dtype), budget);
  }
  if (!x.is_none()) {
    const Array like = as_array(x, "fit");
    o.shape = like.shape();
    o.dtype = like.dtype();
    o.device = like.device();
  } else {
    require<ArgumentError>(!shape.is_none(), "fit: ", a, ": give an input array or shape=");
    o.device = a.device().value_or(cpu);
  }
  if (!shape.is_none()) o.shape = shape_from(shape);
  if (!dtype.is_none()) o.dtype = dtype_from(dtype);
  if (!budget.is_none())
    for (const auto& [device, bytes] : nb::borrow<nb::dict>(budget))
      o.budget.emplace_back(device_from(device), bytes_from(bytes));
  if (x.is_none() && devices.is_none() && lies_on_disk(a, o))
    return fitted_on_disk(a, o.shape, o.dtype, budget);
  if (!devices.is_none())
    for (nb::handle d : nb::borrow(devices)) o.devices.push_back(device_from(d));
  return wrap_linop(released([&] { return NamedLinop(fit(a, o)); }));
}

}  // namespace

void bind_fit(nb::module_& m) {
  nb::class_<OperatorObject<Fitted>, LinopObject> c(
      m, "Fitted", nb::type_slots(linop_slots),
      "An operator that ts.fit() cut and placed, with its forecast.\n\n"
      ">>> F = ts.fit(ts.Diagonal(ts.ones(8), ('X',)), ts.ones(8), budget={'sim:0': '2kB'})\n"
      ">>> F(ts.ones(8)).tolist() == [1.0] * 8, F.forecast['memory']['sim:0']['total'] <= 2000\n"
      "(True, True)\n");
  c.def_prop_ro(
       "forecast", &forecast_of, nb::sig("def forecast(self) -> dict[str, typing.Any]"),
       "What a run takes: 'memory' by device (exact bytes), 'transfers' by link, 'seconds' "
       "(an estimate).")
      .def_prop_ro(
          "reasons",
          [](const LinopObject& self) {
            nb::list l;
            for (const std::string& r : fitted(self).reasons) l.append(nb::str(r.c_str()));
            return l;
          },
          nb::sig("def reasons(self) -> list[str]"),
          "A sentence for each way that was looked at, and which was chosen.")
      .def_prop_ro(
          "specs",
          [](const LinopObject& self) {
            nb::list l;
            for (const BatchSpec& s : fitted(self).specs) l.append(nb::cast(s));
            return l;
          },
          nb::sig("def specs(self) -> list[BatchSpec]"),
          "What create_batched_linop would be given to make it; empty: the operator as it was.")
      .def(
          "explain",
          [](nb::handle self, nb::handle x, nb::handle shape, nb::handle dtype, nb::handle device,
             const std::string& format) -> nb::object {
            const NamedLinop& a = linop_from(self, "explain");
            if (!x.is_none() || !shape.is_none())
              return make_plan(a, x, shape, dtype, device).attr("explain")(format);
            return nb::str(a.as<Fitted>()->explain().c_str());
          },
          "x"_a = nb::none(), nb::kw_only(), "shape"_a = nb::none(), "dtype"_a = nb::none(),
          "device"_a = nb::none(), "format"_a = "text",
          nb::sig(
              "def explain(self, x: ArrayLike | None = None, *, shape: ShapeLike | None = None, "
              "dtype: DTypeLike | None = None, device: DeviceLike | None = None, "
              "format: str = 'text') -> str"),
          "Bytes on each device, transfers, time and reasons, as text; for an input or a shape, "
          "the\n"
          "plan, as of any operator.\n\n"
          ">>> A = ts.fit(ts.Diagonal(ts.ones(64), ('X',)), shape=(64,), budget={'sim:0': "
          "'2KiB'})\n"
          ">>> 'sim:0' in A.explain()\nTrue\n");
  set_class_of_kind("Fitted", c);
  m.def(
      "fit", &fit_of, "A"_a, "x"_a = nb::none(), "budget"_a = nb::none(), "devices"_a = nb::none(),
      "shape"_a = nb::none(), "dtype"_a = nb::none(),
      nb::sig("@typing.overload\n"
              "def fit(A: NamedLinop, x: StoredArray, budget: dict[DeviceLike, int | str] | None = "
              "None, devices: None = None, shape: ShapeLike | None = None, dtype: DTypeLike | None "
              "= None) -> NamedLinop: ...\n"
              "@typing.overload\n"
              "def fit(A: NamedLinop, x: ArrayLike | None = None, budget: dict[DeviceLike, int | "
              "str] | None = None, devices: typing.Sequence[DeviceLike] | None = None, shape: "
              "ShapeLike | None = None, dtype: DTypeLike | None = None) -> Fitted"),
      "The operator cut into tiles and placed on devices so that each holds no more bytes than "
      "its\n"
      "budget: the fastest way, by forecast, of those that fit. Give an input like those to come,\n"
      "or shape= and dtype=. OutOfMemory when nothing fits names the array that is too large and\n"
      "the smallest budget that would do. For a solver, fit what it applies: ts.fit(A.N, ...).\n"
      "For an array on disk the budget of 'cpu' is what tiles may hold of the host while they\n"
      "come and go; without one, it is what ts.set_memory_budget leaves. A shape= that the budget\n"
      "of 'cpu' does not hold is taken for that of an array on disk.\n\n"
      ">>> W = ts.ones((64, 64)); x = ts.ones(64)\n"
      ">>> F = ts.fit(ts.Dense(W, 'MN', 'N', 'M'), x, budget={'sim:0': '8KiB'})\n"
      ">>> float(F(x)[0]), F.specs[0].resident\n(64.0, False)\n");
}

}  // namespace tessera::python
