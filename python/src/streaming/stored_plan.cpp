// SPDX-License-Identifier: Apache-2.0
#include "streaming/stored_plan.hpp"

#include "core/common.hpp"
#include "tessera/store/io/io_engine.hpp"
#include "tessera/streaming/plan/planning.hpp"
#include "tessera/streaming/stored/stored_plan.hpp"

namespace tessera::python {

using nb::literals::operator""_a;
using streaming::StoredPlan;

void bind_stored_plan(nb::module_& m) {
  nb::class_<StoredPlan>(
      m, "StoredPlan",
      "What a call on arrays on disk will read, write, hold and take. Made by `ts.stored.plan`.\n\n"
      ">>> x = ts.stored.ones((100, 100))\n"
      ">>> p = ts.stored.plan(ts.linalg.cholesky, x)\n"
      ">>> p.disk_read, p.disk_written\n(80000, 80000)\n")
      .def_prop_ro(
          "passes", [](const StoredPlan& p) { return p.passes().size(); },
          "How often data pass through memory, one operation after the other.")
      .def_prop_ro("steps", &StoredPlan::steps, "Steps of all passes.")
      .def_prop_ro(
          "disk_read", [](const StoredPlan& p) { return p.disk().read; },
          "Bytes read from files, with what lies between and is read along.")
      .def_prop_ro(
          "disk_written", [](const StoredPlan& p) { return p.disk().written; },
          "Bytes written to files.")
      .def_prop_ro(
          "host_read", [](const StoredPlan& p) { return p.host().read; },
          "Bytes read from operands in memory.")
      .def_prop_ro(
          "host_written", [](const StoredPlan& p) { return p.host().written; },
          "Bytes written to results in memory.")
      .def_prop_ro("host_peak", &StoredPlan::host_peak,
                   "Bytes of host memory that are held at a time, at most.")
      .def_prop_ro(
          "device_peak", &StoredPlan::device_peak,
          "Bytes of a device's memory that are held at a time, at most; 0 where the host computes.")
      .def_prop_ro("disk_peak", &StoredPlan::disk_peak,
                   "Bytes of new files that are there at a time, at most.")
      .def_prop_ro(
          "seconds",
          [](const StoredPlan& p) -> nb::object {
            const auto s = released([&] { return p.seconds(); });
            return s ? nb::cast(*s) : nb::none();
          },
          nb::sig("def seconds(self) -> float | None"),
          "What it takes by the measured costs of this machine; None where nothing was measured.")
      .def(
          "explain", [](const StoredPlan& p) { return released([&] { return p.explain(); }); },
          nb::sig("def explain(self) -> str"),
          "All of it as text, pass by pass and store by store.\n\n"
          ">>> text = ts.stored.plan(ts.stored.ones(4).sum).explain()\n"
          ">>> text.splitlines()[0]\n'sum: (4,) float64 over axes (0,)'\n")
      .def("__str__", [](const StoredPlan& p) { return released([&] { return p.explain(); }); });
  m.def(
      "_stored_plan", [](const nb::callable& call) { return StoredPlan::of([&] { call(); }); },
      "call"_a,
      nb::sig("def _stored_plan(call: collections.abc.Callable[[], typing.Any]) -> StoredPlan"));
  m.def("_stored_planning", [] { return streaming::Planning::now() != nullptr; });
  m.def(
      "_stored_traffic",
      [] {
        const store::IoTraffic t = store::io_traffic();
        return nb::make_tuple(t.read, t.written);
      },
      nb::sig("def _stored_traffic() -> tuple[int, int]"));
}

}  // namespace tessera::python
