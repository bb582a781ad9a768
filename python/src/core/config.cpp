// SPDX-License-Identifier: Apache-2.0
// Settings by name, counters and traces; tessera/_config.py and _trace.py give them their Python
// shape.
#include "tessera/base/config.hpp"

#include "core/common.hpp"
#include "tessera/base/report/watch.hpp"
#include "tessera/base/trace.hpp"
#include "tessera/kernels/fft/line_plan.hpp"

namespace tessera::python {

namespace {

nb::object number_of(bool value, const std::string&) { return nb::cast(value); }
// A share of what there is, which settings hold as a negative number, is text: "50%".
nb::object number_of(i64 value, const std::string& name) {
  if (value < 0) return nb::cast(config().value(name));
  return nb::cast(value);
}

// bool settings as bool, the others as int; shares of memory as text.
nb::object setting(const std::string& name) {
#define TESSERA_ONE(type, setting, initial, text) \
  if (name == #setting) return number_of(static_cast<type>(config().setting), name);
  TESSERA_SETTINGS(TESSERA_ONE)
#undef TESSERA_ONE
  config().value(name);  // throws with the list of names
  return nb::none();
}

nb::list rows() {
  nb::list l;
  for (const Config::Row& r : config().rows())
    l.append(nb::make_tuple(r.name.c_str(), r.value.c_str(), r.initial.c_str(), r.text.c_str()));
  return l;
}

// What `with ts.doctor()` looks at, after each line of a program: in the order of its names.
nb::tuple watched_now() {
  const auto now = [](Counter c) { return nb::int_(counter(c)); };
  const auto seen = [](Watched w) { return nb::int_(watched(w)); };
  return nb::make_tuple(now(Counter::copies), now(Counter::bytes_host_to_device),
                        now(Counter::bytes_device_to_host), now(Counter::bytes_device_to_device),
                        now(Counter::plans), now(Counter::runs), now(Counter::launches),
                        now(Counter::messages), now(Counter::bytes_sent), seen(Watched::elements),
                        seen(Watched::small_launches), seen(Watched::pageable_copies),
                        seen(Watched::pageable_bytes));
}

}  // namespace

void bind_config(nb::module_& m) {
  m.def("_setting", &setting, nb::arg("name"),
        nb::sig("def _setting(name: str) -> bool | int | str"));
  m.def(
      "_set_setting",
      [](const std::string& name, const std::string& value) { config().set(name, value); },
      nb::arg("name"), nb::arg("value"));
  m.def("_fft_by_fftw", &fftw_plans);
  m.def("_settings", &rows, nb::sig("def _settings() -> list[tuple[str, str, str, str]]"));
  m.def(
      "counters",
      [] {
        nb::dict d;
        for (const auto& [name, value] : counters()) d[name.c_str()] = value;
        return d;
      },
      nb::sig("def counters() -> dict[str, int]"),
      "What happened since the start or the last reset: allocations, copies, bytes by link, "
      "launches, messages.\n\n"
      ">>> ts.reset_counters(); y = ts.zeros(3).to('sim:0'); "
      "ts.counters()['bytes_host_to_device']\n24\n");
  m.def("reset_counters", &reset_counters,
        "All counters to zero.\n\n>>> ts.reset_counters(); ts.counters()['messages']\n0\n");
  m.def("_watched", &watched_now, nb::sig("def _watched() -> tuple[int, ...]"));
  nb::class_<Watch>(m, "_Watch").def(nb::init<>());
  nb::class_<TraceFile>(m, "_TraceFile")
      .def(nb::init<std::string>(), nb::arg("path"))
      .def("close", &TraceFile::close, nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace tessera::python
