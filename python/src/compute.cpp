// SPDX-License-Identifier: Apache-2.0
// ts.context(): the context that picks devices; tessera/_compute.py gives it its Python shape.
#include "compute.hpp"

#include "tessera/compute/context.hpp"
#include "tessera/compute/problem_of.hpp"
#include "tessera/compute/promotion.hpp"

namespace tessera::python {

namespace {

using nb::literals::operator""_a;

Operation operation_from(const std::string& text) {
  if (const auto op = parse_operation(text)) return *op;
  std::string known;
  for (int i = 0; i < operation_count; ++i)
    known += cat(i ? ", " : "", name(static_cast<Operation>(i)));
  throw ArgumentError(
      cat("explain: '", text, "' is no operation with a known cost; expected ", known));
}

Choice choice_of(const std::string& op, const nb::args& operands) {
  std::vector<Array> arrays;
  for (const nb::handle h : operands) arrays.push_back(as_array(h, "explain"));
  return released([&] {
    const Question q = problem_of(operation_from(op), arrays);
    return context().choose(q.problem, q.held, q.result_bytes);
  });
}

void bind_config_of_accelerators(nb::module_& m) {
  nb::enum_<PrecisionMode>(m, "PrecisionMode",
                           "Which real dtype a device is said to prefer.\n\n"
                           ">>> ts.PrecisionMode.AUTO\nPrecisionMode.AUTO\n")
      .value("AUTO", PrecisionMode::automatic)
      .value("FORCE_FLOAT32", PrecisionMode::force_float32)
      .value("FORCE_FLOAT64", PrecisionMode::force_float64);
  nb::class_<AcceleratorConfig>(m, "AcceleratorConfig",
                                "How an accelerator may be used; for ts.context().enable_gpu.\n\n"
                                ">>> ts.AcceleratorConfig(memory_limit_bytes=2**30).device_id\n0\n")
      .def(
          "__init__",
          [](AcceleratorConfig* self, i64 device_id, i64 memory_limit_bytes, i64 stream_buffer_size,
             bool enable_async, PrecisionMode precision) {
            new (self) AcceleratorConfig{device_id, memory_limit_bytes, stream_buffer_size,
                                         enable_async, precision};
          },
          "device_id"_a = 0, "memory_limit_bytes"_a = 0, "stream_buffer_size"_a = i64{64} << 20,
          "enable_async"_a = true, "precision"_a = PrecisionMode::automatic)
      .def_ro("device_id", &AcceleratorConfig::device_id)
      .def_ro("memory_limit_bytes", &AcceleratorConfig::memory_limit_bytes)
      .def_ro("stream_buffer_size", &AcceleratorConfig::stream_buffer_size)
      .def_ro("enable_async", &AcceleratorConfig::enable_async)
      .def_ro("precision", &AcceleratorConfig::precision);
}

}  // namespace

void bind_compute(nb::module_& m) {
  bind_config_of_accelerators(m);
  m.def(
      "_enable_gpu", [](const AcceleratorConfig& c) { context().enable_gpu(c); }, "config"_a,
      nb::call_guard<nb::gil_scoped_release>());
  m.def("_disable_gpu", [] { context().disable_gpu(); });
  m.def("_is_gpu_active", [] { return context().is_gpu_active(); });
  m.def("_accelerator_config", [] { return context().config(); });
  m.def("_auto_solver", [] { return context().device(); });
  m.def(
      "_force_device",
      [](nb::handle device) {
        context().force(device.is_none() ? std::optional<Device>() : device_from(device));
      },
      "device"_a.none());
  m.def(
      "_gpu_threshold_elements",
      [](i64 elements) { context().set_gpu_threshold_elements(elements); }, "elements"_a);
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
  m.def("_promotion", [] { return std::string(name(promotion())); });
  m.def(
      "_set_promotion", [](const std::string& mode) { set_promotion(parse_promotion(mode)); },
      "mode"_a);
}

}  // namespace tessera::python
