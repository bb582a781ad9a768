// SPDX-License-Identifier: Apache-2.0
// ts.context(): the context that picks devices; tessera/compute.py gives it its Python
// shape. Promotion of matrices, warnings and tags of the last kernels beside it.
#include "core/compute.hpp"

#include <array>
#include <utility>

#include "matrix/matrix.hpp"
#include "tessera/base/tags.hpp"
#include "tessera/base/warn.hpp"
#include "tessera/compute/context.hpp"
#include "tessera/compute/promotion.hpp"
#include "tessera/device/memory.hpp"
#include "tessera/matrix/forms/place.hpp"

namespace tessera::python {

namespace {

using nb::literals::operator""_a;

// Matrices are looked at as they are packed; everything else as an array.
OperandInfo operand_of(nb::handle h) {
  return is_matrix(h) ? shown(matrix_of(h)) : OperandInfo(as_array(h, "explain"));
}

Choice choice_of(const std::string& function, const nb::args& operands) {
  std::vector<OperandInfo> all;
  for (const nb::handle h : operands) all.push_back(operand_of(h));
  return released([&] { return context().choose(function, all); });
}

// A PrecisionMode, or its name.
PrecisionMode precision_from(nb::handle h) {
  PrecisionMode mode{};
  if (nb::try_cast(h, mode)) return mode;
  const std::string text = nb::cast<std::string>(nb::str(h));
  if (text == "AUTO") return PrecisionMode::automatic;
  if (text == "FORCE_FLOAT32") return PrecisionMode::force_float32;
  if (text == "FORCE_FLOAT64") return PrecisionMode::force_float64;
  throw ArgumentError(
      cat("precision: '", text, "'; expected 'AUTO', 'FORCE_FLOAT32' or 'FORCE_FLOAT64'"));
}

void bind_config_of_accelerators(nb::module_& m) {
  nb::enum_<PrecisionMode>(
      m, "PrecisionMode",
      "Which real dtype an accelerator is for; nothing is converted for it.\n\n"
      ">>> ts.PrecisionMode.AUTO\nPrecisionMode.AUTO\n")
      .value("AUTO", PrecisionMode::automatic)
      .value("FORCE_FLOAT32", PrecisionMode::force_float32)
      .value("FORCE_FLOAT64", PrecisionMode::force_float64);
  nb::class_<AcceleratorConfig>(
      m, "AcceleratorConfig",
      "How an accelerator may be used; for ts.context().enable_gpu.\n\n"
      "``stream_buffer_size``: bytes of one of the pinned buffers, four "
      "each way, through which host memory that is not pinned travels; 0: the "
      "driver copies by itself.\n\n"
      ">>> ts.AcceleratorConfig(memory_limit_bytes=2**30).device_id\n0\n")
      .def(
          "__init__",
          [](AcceleratorConfig* self, i64 device_id, i64 memory_limit_bytes, i64 stream_buffer_size,
             bool enable_async, nb::handle precision, i64 pinned_budget_bytes) {
            const PrecisionMode mode = precision_from(precision);
            new (self)
                AcceleratorConfig{device_id, memory_limit_bytes, stream_buffer_size, enable_async,
                                  mode,      pinned_budget_bytes};
          },
          "device_id"_a = 0, "memory_limit_bytes"_a = 0,
          "stream_buffer_size"_a = default_stream_buffer, "enable_async"_a = true,
          "precision"_a = PrecisionMode::automatic, "pinned_budget_bytes"_a = 0)
      .def_ro("device_id", &AcceleratorConfig::device_id)
      .def_ro("memory_limit_bytes", &AcceleratorConfig::memory_limit_bytes)
      .def_ro("stream_buffer_size", &AcceleratorConfig::stream_buffer_size)
      .def_ro("enable_async", &AcceleratorConfig::enable_async)
      .def_ro("precision", &AcceleratorConfig::precision)
      .def_ro("pinned_budget_bytes", &AcceleratorConfig::pinned_budget_bytes)
      .def(
          "__reduce__",
          [](nb::handle self) {
            const auto& c = nb::cast<const AcceleratorConfig&>(self);
            return nb::make_tuple(
                self.type(), nb::make_tuple(c.device_id, c.memory_limit_bytes, c.stream_buffer_size,
                                            c.enable_async, c.precision, c.pinned_budget_bytes));
          },
          nb::sig("def __reduce__(self) -> tuple[typing.Any, ...]"))
      .def(
          "__repr__",
          [](const AcceleratorConfig& c) {
            const std::string mode = nb::cast<std::string>(nb::str(nb::cast(c.precision)));
            return cat("AcceleratorConfig(device_id=", c.device_id,
                       ", memory_limit_bytes=", c.memory_limit_bytes,
                       ", stream_buffer_size=", c.stream_buffer_size,
                       ", enable_async=", c.enable_async ? "True" : "False", ", precision=", mode,
                       ", pinned_budget_bytes=", c.pinned_budget_bytes, ")");
          },
          nb::sig("def __repr__(self) -> str"));
}

MatrixOp matrix_op_from(const std::string& text) {
  std::string known;
  for (int i = 0; i < matrix_op_count; ++i) {
    const auto op = static_cast<MatrixOp>(i);
    if (text == name(op)) return op;
    known += cat(i ? ", " : "", name(op));
  }
  throw ArgumentError(cat("resolve: '", text, "' is no operation of matrices; expected ", known));
}

void bind_promotion(nb::module_& m) {
  m.def("_promotion", [] { return std::string(name(promotion())); });
  m.def(
      "_set_promotion", [](const std::string& mode) { set_promotion(parse_promotion(mode)); },
      "mode"_a);
  m.def(
      "_resolve",
      [](const std::string& op, nb::handle a, nb::handle b, const std::string& mode) {
        const Resolved r =
            resolve(matrix_op_from(op), dtype_from(a), dtype_from(b), parse_promotion(mode));
        return nb::make_tuple(dtype_object(r.dtype), r.underpromotion);
      },
      "op"_a, "a"_a, "b"_a, "mode"_a);
}

// Classes of warnings in the order of WarningKind; kept for the life of the process.
std::array<PyObject*, 3> warning_classes{};

// A warning that Python's filters turn into an error is thrown to whoever caused it.
void warn_in_python(WarningKind kind, const std::string& text) {
  if (!Py_IsInitialized()) return;
  const nb::gil_scoped_acquire locked;
  if (PyErr_WarnEx(warning_classes[static_cast<std::size_t>(kind)], text.c_str(), 1) != 0)
    throw nb::python_error();
}

void bind_warnings(nb::module_& m) {
  const std::array<std::pair<const char*, const char*>, 3> names{
      {{"DeviceWarning",
        "A device failed or cannot do something, and another one did it.\n\n"
        ">>> issubclass(ts.DeviceWarning, RuntimeWarning)\nTrue\n"},
       {"PrecisionWarning",
        "Numbers were shortened: float64 with float32 gave float32.\n\n"
        ">>> issubclass(ts.PrecisionWarning, RuntimeWarning)\nTrue\n"},
       {"OverflowRiskWarning",
        "Integers of a product may not fit their dtype.\n\n"
        ">>> issubclass(ts.OverflowRiskWarning, RuntimeWarning)\nTrue\n"}}};
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string qualified = cat("tessera.", names[i].first);
    warning_classes[i] = PyErr_NewExceptionWithDoc(qualified.c_str(), names[i].second,
                                                   PyExc_RuntimeWarning, nullptr);
    if (!warning_classes[i]) throw nb::python_error();
    m.attr(names[i].first) = nb::handle(warning_classes[i]);
  }
  set_warning_hook(&warn_in_python);
  m.def("_forget_warnings", &forget_warnings);
  m.def(
      "_warn_once",
      [](int kind, const std::string& key, const std::string& text) {
        released([&] { warn_once(static_cast<WarningKind>(kind), key, text); });
      },
      "kind"_a, "key"_a, "text"_a);
}

void bind_tags(nb::module_& m) {
  m.def("_last_kernel", [] { return last_tag(Channel::kernel); });
  m.def("_last_io", [] { return last_tag(Channel::io); });
  m.def("_clear_kernel", [] { clear_tag(Channel::kernel); });
  m.def("_clear_io", [] { clear_tag(Channel::io); });
}

}  // namespace

void bind_compute(nb::module_& m) {
  bind_warnings(m);
  bind_tags(m);
  bind_promotion(m);
  bind_config_of_accelerators(m);
  m.def(
      "_enable_gpu", [](const AcceleratorConfig& c) { context().enable_gpu(c); }, "config"_a,
      nb::call_guard<nb::gil_scoped_release>());
  m.def("_disable_gpu", [] { context().disable_gpu(); });
  m.def("_is_gpu_active", [] { return context().is_gpu_active(); });
  m.def("_accelerator_config", [] { return context().config(); });
  m.def("_auto_solver", [] { return context().device(); });
  m.def("_solver_devices", [] {
    nb::list names;
    for (const Device d : context().devices()) names.append(d.str());
    return names;
  });
  m.def(
      "_force_device",
      [](nb::handle device) {
        context().force(device.is_none() ? std::optional<Device>() : device_from(device));
      },
      "device"_a.none());
  m.def(
      "_gpu_threshold_elements",
      [](i64 elements) { context().set_gpu_threshold_elements(elements); }, "elements"_a);
  m.def("_pinned_stats", [] {
    const MemoryStats s = pinned_stats();
    return nb::make_tuple(s.in_use, s.peak, s.reserved, s.budget);
  });
  m.def(
      "_set_pinned_budget", [](nb::handle bytes) { set_pinned_budget(bytes_from(bytes)); },
      "bytes"_a);
  m.def(
      "_choose",
      [](const std::string& op, const nb::args& operands) {
        const Choice c = choice_of(op, operands);
        return nb::make_tuple(c.device.str(), c.compute_seconds, c.transfer_seconds,
                              c.transferred_bytes, c.str());
      },
      "op"_a, "operands"_a);
  m.def(
      "_preferred_precision",
      [](nb::handle device) {
        const Device d = device_from(device);
        return dtype_object(released([&] { return context().preferred_precision(d); }));
      },
      "device"_a);
}

}  // namespace tessera::python
