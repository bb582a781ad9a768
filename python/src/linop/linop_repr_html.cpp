// SPDX-License-Identifier: Apache-2.0
// What an operator tells about itself: its name, its bytes, sizes and dtypes of its result, and the
// page that notebooks show.
#include <map>
#include "tessera/linop/core/repr_html.hpp"

#include "tessera/linop/rewrite/memory_map.hpp"

#include "linop/linop.hpp"

namespace tessera::python {

using nb::literals::operator""_a;

void bind_repr_html(nb::class_<LinopObject>& c) {
  c.def(
       "output_shape",
       [](LinopObject& a, nb::handle shape) {
         return tuple_of(a.op.output_shape(shape_from(shape)));
       },
       "shape"_a, nb::sig("def output_shape(self, shape: ShapeLike) -> tuple[int, ...]"),
       "The shape of the result for an input of a shape.\n\n"
       ">>> ts.Dense([[1.0, 2.0]]).output_shape((2,))\n(1,)\n")
      .def(
          "output_dtype",
          [](LinopObject& a, nb::handle dtype) {
            return dtype_object(a.op.output_dtype(dtype_from(dtype)));
          },
          "dtype"_a, nb::sig("def output_dtype(self, dtype: DTypeLike) -> DType"),
          "The dtype of the result for an input of a dtype.\n\n"
          ">>> str(ts.FFT(1).output_dtype('float32'))\n'complex64'\n")
      .def_prop_ro(
          "kind", [](LinopObject& a) { return std::string(a.op.kind()); },
          nb::sig("def kind(self) -> str"), "What kind of operator it is: 'Diagonal', 'Chain' …")
      .def_prop_ro(
          "nbytes", [](LinopObject& a) { return a.op.bytes(); }, nb::sig("def nbytes(self) -> int"),
          "Bytes of the arrays that it holds; memory that several share counts once.")
      .def(
          "named",
          [](LinopObject& a, const std::string& name) { return wrap_linop(a.op.named(name)); },
          "name"_a, nb::sig("def named(self, name: str) -> NamedLinop"),
          "The same operator under a name of its own.\n\n"
          ">>> S = ts.Diagonal([1.0], ('X',)).named('S'); S.H\n"
          "S.H: Diagonal (X,) -> (X,)  weight (1,) float64\n")
      .def(
          "__copy__",
          [](nb::handle self) {
            (void)linop_from(self, "copy");
            const auto* a = nb::inst_ptr<LinopObject>(self);
            if (!a->written) return wrap_linop(a->op.copy());
            return nb::object(nb::module_::import_("tessera._pickle").attr("copied")(self));
          },
          nb::sig("def __copy__(self) -> NamedLinop"))
      .def(
          "__deepcopy__",
          [](nb::handle self, nb::handle memo) {
            (void)linop_from(self, "copy");
            const auto* a = nb::inst_ptr<LinopObject>(self);
            if (!a->written) return wrap_linop(released([&] { return a->op.deep_copy(); }));
            return nb::object(nb::module_::import_("tessera._pickle").attr("copied")(self, memo));
          },
          "memo"_a, nb::sig("def __deepcopy__(self, memo: object) -> NamedLinop"))
      .def(
          "memory",
          [](LinopObject& a) {
            nb::dict by_device;
            for (const auto& [device, bytes] : bytes_by_device(a.op))
              by_device[nb::str(device.str().c_str())] = bytes;
            return by_device;
          },
          nb::sig("def memory(self) -> dict[str, int]"),
          "Bytes of the arrays that it holds, by device; memory that several share counts once.\n\n"
          ">>> ts.Diagonal(ts.ones((3, 4), 'float32')).memory()\n{'cpu': 48}\n")
      .def(
          "_repr_html_", [](LinopObject& a) { return repr_html(a.op); },
          nb::sig("def _repr_html_(self) -> str"));
}

namespace {

// One map for each device that operators were moved to.
class ModuleMemoryMap {
 public:
  void add(const NamedLinop& a) { registered_.push_back(a); }
  NamedLinop moved(const NamedLinop& a, Device d) {
    MemoryMap& map = maps_.try_emplace(d, d).first->second;
    for (std::size_t& known = seen_[d]; known < registered_.size(); ++known)
      map.add(registered_[known]);
    return map.place(a);
  }
  i64 bytes(Device d) const {
    const auto it = maps_.find(d);
    return it == maps_.end() ? 0 : it->second.bytes();
  }

 private:
  std::vector<NamedLinop> registered_;
  std::map<Device, MemoryMap> maps_;
  std::map<Device, std::size_t> seen_;  // how many of the registered a map was told of
};

}  // namespace

void bind_memory_map(nb::module_& m) {
  nb::class_<ModuleMemoryMap>(
      m, "ModuleMemoryMap",
      "Moves operators so that arrays that shared memory share it on the new device, too: the "
      "bytes\n"
      "of what several use are sent and held once.\n\n"
      ">>> w = ts.ones((4, 3))\n"
      ">>> parts = [ts.Diagonal(v, ('X', 'Y'), copy=False) for v in (w, w[:2])]\n"
      ">>> memory = ts.ModuleMemoryMap()\n"
      ">>> for part in parts: memory.register_module(part)\n"
      ">>> moved = [memory.memory_aware_to(part, 'sim:0') for part in parts]\n"
      ">>> memory.nbytes('sim:0') == w.nbytes, [str(A.device) for A in moved]\n"
      "(True, ['sim:0', 'sim:0'])\n")
      .def(nb::init<>())
      .def(
          "register_module",
          [](ModuleMemoryMap& map, nb::handle a) { map.add(linop_from(a, "register_module")); },
          "linop"_a, nb::sig("def register_module(self, linop: NamedLinop) -> None"),
          "What is registered before the first move is laid out together.\n\n"
          ">>> ts.ModuleMemoryMap().register_module(ts.Diagonal([1.0], ('X',)))\n")
      .def(
          "memory_aware_to",
          [](ModuleMemoryMap& map, nb::handle linop, nb::handle device) {
            const NamedLinop& a = linop_from(linop, "memory_aware_to");
            const Device d = device_from(device);
            return wrap_linop(released([&] { return map.moved(a, d); }));
          },
          "linop"_a, "device"_a,
          nb::sig("def memory_aware_to(self, linop: NamedLinop, device: DeviceLike) -> NamedLinop"),
          "The operator on another device.\n\n"
          ">>> A = ts.ModuleMemoryMap().memory_aware_to(ts.Diagonal([1.0], ('X',)), 'sim:0')\n"
          ">>> str(A.device)\n'sim:0'\n")
      .def(
          "nbytes",
          [](const ModuleMemoryMap& map, nb::handle d) { return map.bytes(device_from(d)); },
          "device"_a, nb::sig("def nbytes(self, device: DeviceLike) -> int"),
          "Bytes that it took on a device.\n\n>>> ts.ModuleMemoryMap().nbytes('sim:0')\n0\n");
  m.def(
      "memory_aware_to",
      [](nb::handle linop, nb::handle device) {
        const NamedLinop& a = linop_from(linop, "memory_aware_to");
        MemoryMap map(device_from(device));
        return wrap_linop(released([&] { return map.place(a); }));
      },
      "linop"_a, "device"_a,
      nb::sig("def memory_aware_to(linop: NamedLinop, device: DeviceLike) -> NamedLinop"),
      "The operator on another device; arrays of it that share memory share it there, too.\n\n"
      ">>> w = ts.ones(1000); A = ts.Diagonal(w, ('X',), copy=False) + ts.Diagonal(w, ('X',), "
      "copy=False)\n"
      ">>> ts.memory_aware_to(A, 'sim:0').memory()\n{'sim:0': 8000}\n");
}

}  // namespace tessera::python
