// SPDX-License-Identifier: Apache-2.0
// Plans as Python holds them: the recorded steps and the one run that executes them.
#include "tessera/plan/plan.hpp"

#include <mutex>

#include "core/callables.hpp"

namespace tessera::python {

namespace {

using nb::literals::operator""_a;

// A Run serves one thread at a time; calls from several threads take turns.
struct PlanObject {
  explicit PlanObject(NamedLinop a) : source(std::move(a)) {}
  Reached reached;    // first: it outlives the plan and its run
  NamedLinop source;  // with the options, all that a plan is made of
  Plan plan;
  PlanOptions options;
  Shape out_shape;
  DType out_dtype;
  Device out_device;
  std::mutex mutex;
  std::optional<Run> run;
};

Array fresh_output(const PlanObject& p) {
  return Array(Storage::allocate(p.out_device, count_of(p.out_shape) * size_of(p.out_dtype)),
               Layout::contiguous(p.out_shape), p.out_dtype);
}

void execute(PlanObject& p, const Array& input, const Array& output) {
  const std::lock_guard lock(p.mutex);
  if (!p.run) p.run.emplace(p.plan.instance());
  (*p.run)(input, output);
}

// Inputs and outputs with other strides than planned go through a dense copy.
nb::object applied(PlanObject& p, nb::handle x, nb::handle out) {
  const Array input = as_array(x, p.plan.name());
  if (out.is_none()) {
    return wrap(released([&] {
      Array y = fresh_output(p);
      execute(p, input.contiguous(), y);
      return y;
    }));
  }
  const Array& target = target_array(out, p.plan.name());
  released([&] {
    const bool direct = target.is_contiguous() || target.shape() != p.out_shape;
    const Array y = direct ? target : fresh_output(p);
    execute(p, input.contiguous(), y);
    if (!direct) target.copy_from(y);
  });
  return nb::borrow(out);
}

std::string explained(const PlanObject& p, const std::string& format, nb::handle trace) {
  if (!trace.is_none()) {
    require<ArgumentError>(format == "html", "explain: a trace is drawn by format 'html', got '",
                           format, "'");
    return p.plan.explain_html(path_from(trace));
  }
  if (format == "html") return p.plan.explain(ExplainFormat::html);
  if (format == "text") return p.plan.explain(ExplainFormat::text);
  if (format == "json") return p.plan.explain(ExplainFormat::json);
  require<ArgumentError>(format == "dot",
                         "explain: format is 'text', 'json', 'dot' or 'html', got '", format, "'");
  return p.plan.explain(ExplainFormat::dot);
}

nb::dict workspace(const PlanObject& p) {
  nb::dict d;
  for (const auto& [device, bytes] : p.plan.workspace()) d[nb::str(device.str().c_str())] = bytes;
  if (const i64 pinned = p.plan.pinned_workspace(); pinned > 0) d["pinned"] = pinned;
  return d;
}

int traverse_plan(PyObject* self, visitproc visit, void* arg) noexcept {
  Py_VISIT(Py_TYPE(self));
  return nb::inst_ready(self) ? nb::inst_ptr<PlanObject>(self)->reached.traverse(visit, arg) : 0;
}
PyType_Slot plan_slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(&traverse_plan)},
                            {0, nullptr}};

}  // namespace

nb::object make_plan(const NamedLinop& a, nb::handle x, nb::handle shape, nb::handle dtype,
                     nb::handle device) {
  PlanOptions options;
  if (!x.is_none()) {
    const Array like = as_array(x, "plan");
    options.shape = like.shape();
    options.dtype = like.dtype();
    options.device = like.device();
  }
  require<ArgumentError>(!x.is_none() || !shape.is_none(), "plan: give an input array or shape=");
  if (!shape.is_none()) options.shape = shape_from(shape);
  if (!dtype.is_none()) options.dtype = dtype_from(dtype);
  if (!device.is_none())
    options.device = device_from(device);
  else if (x.is_none())
    options.device = a.device().value_or(cpu);
  auto p = std::make_unique<PlanObject>(a);
  released([&] {
    p->plan = a.plan(options);
    p->out_shape = a.output_shape(options.shape);
    p->out_dtype = a.output_dtype(options.dtype);
    p->out_device = a.output_device(options.device);
  });
  p->options = std::move(options);
  p->reached.add(a);
  return nb::cast(p.release(), nb::rv_policy::take_ownership);
}

void bind_plan(nb::module_& m) {
  nb::class_<PlanObject>(m, "Plan", nb::type_slots(plan_slots),
                         "The recorded steps of an operator for one shape, dtype and device.\n\n"
                         ">>> p = ts.Diagonal([1, 2], ('X',)).plan(ts.ones(2))\n>>> "
                         "p(ts.ones(2)).tolist()\n[1.0, 2.0]\n")
      .def("__call__", &applied, "x"_a, "out"_a = nb::none(),
           nb::sig("def __call__(self, x: ArrayLike, out: Array | None = None) -> Array"))
      .def("explain", &explained, "format"_a = "text", nb::kw_only(), "trace"_a = nb::none(),
           nb::sig("def explain(self, format: str = 'text', *, trace: str | os.PathLike[str] | "
                   "None = None) -> str"),
           "The steps with their devices, bytes and reasons; format 'text', 'json', 'dot' or "
           "'html',\na page of its own that draws them. With the file of ts.trace, the page shows "
           "the times\nof the last run of this plan in it.\n\n"
           ">>> len(ts.FFT(1).plan(shape=8).explain('json')) > 2\nTrue\n")
      .def(
          "_repr_html_", [](const PlanObject& p) { return p.plan.repr_html(); },
          nb::sig("def _repr_html_(self) -> str"))
      .def_prop_ro("workspace", &workspace, nb::sig("def workspace(self) -> dict[str, int]"),
                   "Exact bytes by device, and of pinned host memory.")
      .def_prop_ro(
          "transferred_bytes", [](const PlanObject& p) { return p.plan.transferred_bytes(); },
          "Bytes that cross between devices in one run.")
      .def(
          "capture",
          [](PlanObject& p) {
            nb::gil_scoped_release unlocked;
            const std::lock_guard lock(p.mutex);
            if (!p.run) p.run.emplace(p.plan.instance());
            p.run->capture();
          },
          "From the next run on, steps that only enqueue become graphs; nothing on devices that "
          "run inline.\n\n"
          ">>> ts.FFT(1).plan(shape=8).capture()\n")
      .def_prop_ro("_recipe",
                   [](const PlanObject& p) {
                     return nb::make_tuple(wrap_linop(p.source), tuple_of(p.options.shape),
                                           name(p.options.dtype), p.options.device.str());
                   })
      .def("__repr__", [](const PlanObject& p) {
        return nb::str(cat("<Plan ", p.plan.name(), ": ", p.options.shape, " -> ", p.out_shape,
                           " on ", p.options.device, ">")
                           .c_str());
      });
}

}  // namespace tessera::python
