// SPDX-License-Identifier: Apache-2.0
#include "core/reports.hpp"

#include "tessera/base/report/log.hpp"
#include "tessera/base/report/progress.hpp"

namespace tessera::python {

using nb::literals::operator""_a;

namespace {

// Whether a function of tessera._reports took it. What fails there is shown as unraisable and stops nothing.
template <class... A>
bool taken(const char* function, const A&... arguments) noexcept {
  if (!Py_IsInitialized()) return false;
  const nb::gil_scoped_acquire locked;
  nb::error_scope pending;
  try {
    return nb::cast<bool>(nb::module_::import_("tessera._reports").attr(function)(arguments...));
  } catch (nb::python_error& e) {
    e.restore();
    PyErr_WriteUnraisable(nullptr);
  } catch (...) {  // no memory for the arguments, say: the line goes to stderr
  }
  return false;
}

bool log_in_python(const std::string& text) noexcept { return taken("logged", text); }

bool show_in_python(const ProgressState& s) noexcept {
  return taken("shown", reinterpret_cast<std::uintptr_t>(s.bar), std::string(s.name),
               std::string(s.note), s.done, s.total, s.ended);
}

}  // namespace

void bind_reports(nb::module_& m) {
  set_log_hook(&log_in_python);
  m.def(
      "_follow_progress", [](bool on) { set_progress_hook(on ? &show_in_python : nullptr); },
      "on"_a);
}

}  // namespace tessera::python
