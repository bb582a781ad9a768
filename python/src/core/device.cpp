// SPDX-License-Identifier: Apache-2.0
// Devices, streams, events and threads.
#include "tessera/device/device.hpp"

#include <nanobind/stl/optional.h>

#include "core/common.hpp"
#include "core/repr.hpp"
#include "tessera/device/registry.hpp"
#include "tessera/device/stream.hpp"
#include "tessera/device/threads.hpp"
#include "tessera/device/transfer_streams.hpp"

namespace tessera::python {

namespace {

using nb::literals::operator""_a;

nb::str text_of(Device d) { return nb::str(d.str().c_str()); }

bool same_device(Device d, nb::handle other) {
  if (nb::isinstance<Device>(other)) return nb::cast<Device>(other) == d;
  return PyUnicode_Check(other.ptr()) &&
         (text_of(d).equal(other) || (d == cpu && nb::cast<std::string>(other) == "cpu:0"));
}

void synchronize(nb::handle device) {
  const auto one = device.is_none() ? std::nullopt : std::optional(device_from(device));
  nb::gil_scoped_release unlocked;
  if (one) return Stream::home(*one).sync();
  for (const Device d : devices()) Stream::home(d).sync();
}

void bind_streams(nb::module_& m) {
  nb::class_<Event>(m, "Event",
                    "A point in a stream that the host or other streams can wait for.\n\n"
                    ">>> e = ts.Stream('sim:0').record(); e.wait(); e.done()\nTrue\n")
      .def("done", &Event::done,
           "The work before the event has ended.\n\n"
           ">>> e = ts.Stream('sim:0').record(); e.wait(); e.done()\nTrue\n")
      .def("wait", &Event::wait, nb::call_guard<nb::gil_scoped_release>(),
           "The host waits; raises what failed before the event.\n\n"
           ">>> ts.Stream('sim:0').record().wait()\n");
  nb::class_<Stream>(m, "Stream",
                     "An ordered queue of work on a device.\n\n"
                     ">>> s = ts.Stream('sim:0'); s.sync(); s.device\nDevice('sim:0')\n")
      .def(
          "__init__", [](Stream* s, nb::handle device) { new (s) Stream(device_from(device)); },
          "device"_a.none() = "cpu",
          nb::sig("def __init__(self, device: DeviceLike = 'cpu') -> None"))
      .def_static(
          "home", [](nb::handle device) { return Stream::home(device_from(device)); },
          "device"_a.none() = "cpu", nb::sig("def home(device: DeviceLike = 'cpu') -> Stream"),
          "The one fixed stream of a device, on which array functions run.\n\n"
          ">>> ts.Stream.home('sim:0') == ts.Stream.home('sim:0')\nTrue\n")
      .def_prop_ro("device", &Stream::device, "Where its work runs.")
      .def(
          "__eq__",
          [](const Stream& s, nb::handle other) {
            return nb::isinstance<Stream>(other) && nb::cast<Stream>(other) == s;
          },
          nb::arg("other").none(), nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__hash__", &Stream::id)
      .def("__repr__",
           [](const Stream& s) {
             return nb::str(cat("<Stream ", s.id(), " of ", s.device(), ">").c_str());
           })
      .def_prop_ro("id", &Stream::id, "A small number that names the stream in traces.")
      .def("record", &Stream::record,
           "An event after everything asked so far.\n\n"
           ">>> s, t = ts.Stream('sim:0'), ts.Stream('sim:1'); t.wait(s.record())\n")
      .def("wait", &Stream::wait, "event"_a,
           "Later work of this stream waits for the event; the host does not.\n\n"
           ">>> s, t = ts.Stream('sim:0'), ts.Stream('sim:1'); t.wait(s.record())\n")
      .def("sync", &Stream::sync, nb::call_guard<nb::gil_scoped_release>(),
           "The host waits for all work; raises what failed.\n\n"
           ">>> ts.Stream('sim:0').sync()\n");
  nb::class_<RepeatedEvent>(
      m, "RepeatedEvent",
      "An event recorded again and again; a wait means the latest record. It is recorded on "
      "streams\n"
      "of its device; without one (None) on those of any.\n\n"
      ">>> e = ts.RepeatedEvent('sim:0'); e.record(ts.Stream('sim:0')); e.sync(); e.records\n1\n")
      .def(
          "__init__",
          [](RepeatedEvent* e, nb::handle device) {
            new (e) RepeatedEvent(device.is_none() ? RepeatedEvent()
                                                   : RepeatedEvent(device_from(device)));
          },
          "device"_a.none() = "cpu",
          nb::sig("def __init__(self, device: DeviceLike | None = 'cpu') -> None"))
      .def_prop_ro("device", &RepeatedEvent::device,
                   "On whose streams it is recorded; None: on those of any device.")
      .def(
          "__eq__",
          [](const RepeatedEvent& a, nb::handle b) {
            return nb::isinstance<RepeatedEvent>(b) && a == nb::cast<RepeatedEvent>(b);
          },
          nb::arg("other").none(), nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__hash__", [](const RepeatedEvent& e) { return std::hash<const void*>{}(e.id()); })
      .def("__repr__",
           [](const RepeatedEvent& e) {
             const std::string where = e.device() ? e.device()->str() : "any device";
             return nb::str(cat("<RepeatedEvent of ", where, ", recorded ", e.records(),
                                e.records() == 1 ? " time>" : " times>")
                                .c_str());
           })
      .def(
          "record",
          [](RepeatedEvent& e, const std::optional<Stream>& stream) {
            // There is no current stream: array functions run on the device's home stream.
            e.record(stream ? *stream : Stream::home(e.device().value_or(cpu)));
          },
          "stream"_a = nb::none(),
          nb::sig("def record(self, stream: Stream | None = None) -> None"),
          "Records after everything asked of the stream so far; without one of the device's home\n"
          "stream, on which array functions run.\n\n"
          ">>> e = ts.RepeatedEvent('sim:0'); s = ts.Stream('sim:0')\n"
          ">>> e.record(s); e.record(); e.records\n2\n")
      .def("wait", &RepeatedEvent::wait, "stream"_a,
           "The stream waits for the latest record.\n\n"
           ">>> e = ts.RepeatedEvent('sim:0'); e.record(ts.Stream('sim:0'))\n"
           ">>> e.wait(ts.Stream('sim:1'))\n")
      .def("sync", &RepeatedEvent::sync, nb::call_guard<nb::gil_scoped_release>(),
           "The host waits for the latest record.\n\n"
           ">>> e = ts.RepeatedEvent('sim:0'); e.record(ts.Stream('sim:0')); e.sync()\n")
      .def_prop_ro("records", &RepeatedEvent::records, "How often it was recorded.");
}

std::optional<Stream> stream_or_none(nb::handle h, const char* what) {
  if (h.is_none()) return std::nullopt;
  require<ArgumentError>(nb::isinstance<Stream>(h), "DeviceSpec: ", what,
                         " is a ts.Stream or None, got ", repr_of(h));
  return nb::cast<Stream>(h);
}

void bind_specs(nb::module_& m) {
  nb::class_<DeviceSpec>(
      m, "DeviceSpec",
      "A device and, where you care, the streams to use there; a plan chooses those not given.\n\n"
      ">>> a = ts.DeviceSpec('sim:0').p2p_setup('sim:1')\n"
      ">>> a.compute_stream == ts.Stream.home('sim:0')\nTrue\n"
      ">>> a.transfer_stream == ts.DeviceSpec('sim:0').p2p_setup('sim:1').transfer_stream\nTrue\n")
      .def(
          "__init__",
          [](DeviceSpec* s, nb::handle device, nb::handle compute, nb::handle transfer) {
            new (s) DeviceSpec(device_from(device), stream_or_none(compute, "compute_stream"),
                               stream_or_none(transfer, "transfer_stream"));
          },
          "device"_a.none() = "cpu", "compute_stream"_a = nb::none(),
          "transfer_stream"_a = nb::none(),
          nb::sig("def __init__(self, device: DeviceLike = 'cpu', compute_stream: Stream | None = "
                  "None, transfer_stream: Stream | None = None) -> None"))
      .def_ro("device", &DeviceSpec::device, "Which device.")
      .def_ro("compute_stream", &DeviceSpec::compute_stream,
              nb::sig("def compute_stream(self) -> Stream | None"),
              "Where work on the device runs; None: where the plan decides.")
      .def_ro("transfer_stream", &DeviceSpec::transfer_stream,
              nb::sig("def transfer_stream(self) -> Stream | None"),
              "Where transfers from and to the device run; None: on the stream of the pair.")
      .def(
          "p2p_setup",
          [](nb::object self, nb::handle other) {
            nb::cast<DeviceSpec&>(self).p2p_setup(spec_from(other));
            return self;
          },
          "other"_a, nb::sig("def p2p_setup(self, other: DeviceSpec | DeviceLike) -> DeviceSpec"),
          "Streams for transfers to another device, when neither is the host: the home stream for "
          "computing,\nthe one stream of the pair for transfers. Returns the same object.\n\n"
          ">>> ts.DeviceSpec('cpu').p2p_setup('sim:0').transfer_stream is None\nTrue\n")
      .def_static(
          "get_transfer_stream",
          [](nb::handle source, nb::handle target) {
            return transfer_stream(spec_from(source).device, spec_from(target).device);
          },
          "source"_a, "target"_a,
          nb::sig("def get_transfer_stream(source: DeviceSpec | DeviceLike, target: DeviceSpec | "
                  "DeviceLike) -> Stream"),
          "The one stream of transfers from a device to another.\n\n"
          ">>> ts.DeviceSpec.get_transfer_stream('sim:0', 'sim:1').device\nDevice('sim:0')\n")
      .def("__repr__", [](const DeviceSpec& s) {
        return nb::str(
            cat("DeviceSpec('", s.device, "'", s.str().substr(s.device.str().size()), ")").c_str());
      });
  m.def("clear_transfer_streams", &clear_transfer_streams, nb::call_guard<nb::gil_scoped_release>(),
        "Forgets the streams of all pairs of devices; plans that hold one keep it.\n\n"
        ">>> ts.clear_transfer_streams()\n");
}

void bind_threads(nb::module_& m) {
  m.def("num_threads", &num_threads,
        "Threads of the cpu device.\n\n>>> ts.num_threads() >= 1\nTrue\n");
  m.def("set_num_threads", &set_num_threads, "n"_a, nb::call_guard<nb::gil_scoped_release>(),
        "Threads of the cpu device from now on.\n\n>>> ts.set_num_threads(ts.num_threads())\n");
}

}  // namespace

DeviceSpec spec_from(nb::handle h) {
  return nb::isinstance<DeviceSpec>(h) ? nb::cast<DeviceSpec>(h) : DeviceSpec(device_from(h));
}

static bool is_torch_device(nb::handle h) {
  return std::string_view(Py_TYPE(h.ptr())->tp_name) == "torch.device";
}

Device device_from(nb::handle h) {
  if (h.is_none()) return cpu;
  if (PyUnicode_Check(h.ptr()) || is_torch_device(h))
    return Device::parse(nb::cast<std::string_view>(nb::str(nb::borrow(h))));
  require<DeviceError>(nb::isinstance<Device>(h),
                       "device: expected 'cpu', 'cuda:0', 'sim:0' …, got ", repr_of(h));
  return nb::cast<Device>(h);
}

void bind_device(nb::module_& m) {
  nb::class_<Device>(m, "Device",
                     "A place for arrays: 'cpu', 'cuda:0', 'sim:0' …; equal to its text.\n\n"
                     ">>> ts.Device('sim:1') == 'sim:1', str(ts.Device('cpu'))\n(True, 'cpu')\n")
      .def(
          "__init__", [](Device* d, nb::handle text) { new (d) Device(device_from(text)); },
          "text"_a, nb::sig("def __init__(self, text: DeviceLike) -> None"))
      .def_prop_ro(
          "kind", [](Device d) { return nb::str(name(d.kind).data()); }, "'cpu', 'sim' or 'cuda'.")
      .def_prop_ro(
          "index", [](Device d) { return int{d.index}; }, "Which one of its kind.")
      .def("__eq__", &same_device, nb::arg("other").none(),
           nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__hash__", [](Device d) { return PyObject_Hash(text_of(d).ptr()); })
      .def("__str__", &text_of)
      .def("__repr__", [](Device d) { return nb::str(cat("Device('", d, "')").c_str()); })
      .def(
          "__reduce__",
          [](Device d) { return nb::make_tuple(nb::type<Device>(), nb::make_tuple(text_of(d))); },
          nb::sig("def __reduce__(self) -> tuple[typing.Any, ...]"));
  m.def(
      "devices",
      [] {
        nb::list l;
        for (const Device d : devices()) l.append(d);
        return l;
      },
      nb::sig("def devices() -> list[Device]"),
      "Every device that can be used here, the cpu first.\n\n>>> ts.devices()[0]\nDevice('cpu')\n");
  m.def(
      "why_unavailable",
      [](const std::string& kind) {
        require<ArgumentError>(kind == "cpu" || kind == "sim" || kind == "cuda",
                               "why_unavailable: expected 'cpu', 'sim' or "
                               "'cuda', got '",
                               kind, "'");
        return why_unavailable(kind == "cpu" ? Kind::cpu : kind == "sim" ? Kind::sim : Kind::cuda);
      },
      "kind"_a,
      "Why a kind of device cannot be used; empty when it can.\n\n>>> "
      "ts.why_unavailable('cpu')\n''\n");
  m.def("synchronize", &synchronize, "device"_a = nb::none(),
        nb::sig("def synchronize(device: DeviceLike | None = None) -> None"),
        "Waits for the array functions asked so far, on one device or all; raises what "
        "failed.\n\n>>> ts.synchronize()\n");
  bind_streams(m);
  bind_specs(m);
  bind_threads(m);
}

}  // namespace tessera::python
