// SPDX-License-Identifier: Apache-2.0
// Splitting: split_linop, BatchSpec, create_batched_linop, and the method split_forward.
#include <nanobind/stl/optional.h>

#include <algorithm>

#include "core/repr.hpp"
#include "dist/dist.hpp"
#include "linop/operators.hpp"
#include "linop/written.hpp"
#include "tessera/distributed/operators/batched_ranks.hpp"
#include "tessera/linop/containers/chain.hpp"
#include "tessera/split/async_streamer.hpp"
#include "tessera/split/batched.hpp"
#include "tessera/split/split_linop.hpp"

namespace tessera::python {

namespace {

using nb::literals::operator""_a;

RankDevice place_from(nb::handle h) {
  if (PyUnicode_Check(h.ptr())) return RankDevice::parse(nb::cast<std::string>(h));
  return device_from(h);
}

nb::object object_of(const RankDevice& p) {
  return p.rank == 0 ? nb::cast(p.device) : nb::object(nb::str(p.str().c_str()));
}

// Devices nested in lists, tuples and arrays; one alone is a list of one.
void collect(nb::handle given, i64 depth, Shape& shape, std::vector<RankDevice>& places) {
  const nb::object h = PyObject_HasAttrString(given.ptr(), "tolist")
                           ? nb::object(given.attr("tolist")())
                           : nb::borrow(given);
  const auto ragged = [&] {
    return ArgumentError(cat("BatchSpec: device_matrix is ragged at ", repr_of(h)));
  };
  if (!PyList_Check(h.ptr()) && !PyTuple_Check(h.ptr())) {
    if (depth != shape.size()) throw ragged();
    places.push_back(place_from(h));
    return;
  }
  require<ArgumentError>(depth < max_rank, "BatchSpec: device_matrix is nested more than ",
                         max_rank, " deep");  // a list may hold itself
  const i64 n = static_cast<i64>(nb::len(h));
  if (depth == shape.size() && places.empty()) shape.push_back(n);
  if (depth >= shape.size() || shape[depth] != n) throw ragged();
  for (nb::handle item : h) collect(item, depth + 1, shape, places);
}

DeviceMatrix matrix_from(nb::handle h) {
  if (h.is_none()) return {};
  Shape shape;
  std::vector<RankDevice> places;
  collect(h, 0, shape, places);
  require<ArgumentError>(!places.empty(), "BatchSpec: device_matrix holds no devices");
  if (shape.empty()) shape.push_back(1);
  return {shape, std::move(places)};
}

DimSizes sizes_from(nb::handle h, const char* who) {
  require<DTypeError>(PyDict_Check(h.ptr()), who, ": expected {dim: size}, got ",
                      Py_TYPE(h.ptr())->tp_name);
  DimSizes sizes;
  for (const auto& [dim, size] : nb::borrow<nb::dict>(h))
    sizes.emplace_back(dimension_from(dim), int_from(size, who));
  return sizes;
}

// The shape of an input, given as such or as an array that has it.
std::optional<Shape> input_shape(nb::handle h) {
  if (h.is_none()) return std::nullopt;
  return shape_from(PyObject_HasAttrString(h.ptr(), "shape") ? h.attr("shape") : nb::borrow(h));
}

// f(i) for each place of the shape, as a NumPy array of objects.
template <class F>
nb::object object_array(const Shape& shape, F&& f) {
  const nb::module_ np = nb::module_::import_("numpy");
  const i64 n = count_of(shape);
  nb::object flat = np.attr("empty")(n, "dtype"_a = "object");
  for (i64 i = 0; i < n; ++i) flat[i] = f(static_cast<std::size_t>(i));
  return flat.attr("reshape")(tuple_of(shape));
}

nb::tuple tiles(nb::handle linop, nb::handle sizes, nb::handle shape) {
  const NamedLinop& a = linop_from(linop, "split_linop");
  const DimSizes wanted = sizes_from(sizes, "split_linop");
  const std::optional<Shape> input = input_shape(shape);
  const SplitGrid g = released([&] { return split_linop(a, wanted, input); });
  const Dims in = a.ishape(), out = a.oshape();
  return nb::make_tuple(
      object_array(g.grid, [&](std::size_t i) { return wrap_linop(g.tiles[i].op); }),
      object_array(g.grid, [&](std::size_t i) { return slices_of(in, g.tiles[i].in); }),
      object_array(g.grid, [&](std::size_t i) { return slices_of(out, g.tiles[i].out); }));
}

nb::object array_of_places(const DeviceMatrix& m) {
  return object_array(m.shape, [&](std::size_t i) { return object_of(m.places[i]); });
}

std::vector<BatchSpec> specs_from(nb::handle h) {
  if (nb::isinstance<BatchSpec>(h)) return {nb::cast<BatchSpec>(h)};
  require<DTypeError>(nb::isinstance<nb::iterable>(h) && !nb::isinstance<nb::dict>(h),
                      "create_batched_linop: expected a BatchSpec or a list of them, got ",
                      Py_TYPE(h.ptr())->tp_name);
  std::vector<BatchSpec> specs;
  for (nb::handle item : nb::borrow(h)) {
    require<DTypeError>(nb::isinstance<BatchSpec>(item),
                        "create_batched_linop: expected a BatchSpec, got ",
                        Py_TYPE(item.ptr())->tp_name);
    specs.push_back(nb::cast<BatchSpec>(item));
  }
  return specs;
}

bool names_ranks(const std::vector<BatchSpec>& levels) {
  return std::any_of(levels.begin(), levels.end(), [](const BatchSpec& s) {
    const std::vector<RankDevice>& places = s.device_matrix.places;
    return (s.base_device && s.base_device->rank != 0) ||
           std::any_of(places.begin(), places.end(),
                       [](const RankDevice& p) { return p.rank != 0; });
  });
}

nb::object batched(nb::handle linop, nb::handle specs, nb::handle shape, nb::handle comm) {
  const NamedLinop& a = linop_from(linop, "create_batched_linop");
  const std::vector<BatchSpec> levels = specs_from(specs);
  const std::optional<Shape> input = input_shape(shape);
  if (comm.is_none() && !names_ranks(levels))
    return wrap_linop(released([&] { return create_batched_linop(a, levels, input); }));
  const Communicator ranks = comm_from(comm);
  return wrap_linop(released([&] { return dist::create_batched_linop(a, levels, input, ranks); }));
}

DimRange range_from(const NamedLinop& a, const Dims& names, i64 i, nb::handle slice) {
  if (slice.ptr() == Py_Ellipsis || slice.equal(nb::slice(nb::none(), nb::none(), nb::none())))
    return {};
  if (i >= names.size() || names[i].is_wildcard()) return {0, 1};  // split_forward refuses it
  const std::optional<Cut> c = cut_from(a, names[i], slice, ".split_forward");
  return c ? DimRange{c->start, c->stop} : DimRange{};
}

std::vector<DimRange> ranges_from(const NamedLinop& a, const Dims& names, nb::handle slices) {
  std::vector<DimRange> all;
  for (nb::handle h : nb::borrow(slices))
    all.push_back(range_from(a, names, static_cast<i64>(all.size()), h));
  return all;
}

bool lists_of_lists(nb::handle batch) {
  for (nb::handle h : nb::borrow(batch))
    if (nb::isinstance<nb::list>(h) || nb::isinstance<nb::tuple>(h)) return true;
  return false;
}

// Every operator of a chain by itself, in the order in which they are applied.
nb::object chain_part(const NamedLinop& a, nb::handle ibatches, nb::handle obatches) {
  const Chain* c = a.as<Chain>();
  const nb::list in(nb::borrow(ibatches)), out(nb::borrow(obatches));
  const std::size_t count = c ? c->operators.size() : 0;
  require<DimError>(c && in.size() == count && out.size() == count, "split_forward: ", a,
                    c ? cat(" has ", count, " operators, got ", in.size(), " and ", out.size(),
                            " lists of slices")
                      : std::string(" is no Chain and takes a slice for each dim, not lists"));
  std::vector<NamedLinop> parts;
  for (std::size_t i = 0; i < count; ++i) {
    const NamedLinop& part = c->operators[i];
    parts.push_back(split_forward(part, ranges_from(part, part.ishape(), in[i]),
                                  ranges_from(part, part.oshape(), out[i])));
  }
  return wrap_linop(released([&] { return chain(parts); }));
}

nb::object forward_part(nb::handle self, nb::handle ibatch, nb::handle obatch) {
  const NamedLinop& a = linop_from(self, "split_forward");
  require<SplitError>(
      !nb::inst_ptr<LinopObject>(self)->written || !overrides(self, "split_forward"),
      "split_forward: ", a, " is cut by the split_forward of its own class alone");
  if (lists_of_lists(ibatch) || lists_of_lists(obatch)) return chain_part(a, ibatch, obatch);
  const std::vector<DimRange> in = ranges_from(a, a.ishape(), ibatch),
                              out = ranges_from(a, a.oshape(), obatch);
  return wrap_linop(released([&] { return split_forward(a, in, out); }));
}

void bind_batch_spec(nb::module_& m) {
  nb::class_<BatchSpec>(
      m, "BatchSpec",
      "How an operator is cut and where its tiles go: the largest tile along each dim, the "
      "devices\n"
      "that compute them (repeated and cut off to fit the grid of tiles) and the device of input\n"
      "and output; and, where somebody cares, streams for what is computed on that device and for\n"
      "transfers between it and the tiles. Never changed once it is made.\n\n"
      ">>> spec = ts.BatchSpec({'X': 2}, device_matrix=['sim:0', 'sim:1'])\n"
      ">>> [str(d) for d in spec.broadcast_device_matrix(ts.Diagonal(ts.ones(5), ('X',)))]\n"
      "['sim:0', 'sim:1', 'sim:0']\n"
      ">>> mine = ts.Stream('sim:2')\n"
      ">>> spec = ts.BatchSpec({'X': 2}, ['sim:0', 'sim:1'], 'sim:2', transfer_stream=mine)\n"
      ">>> A = ts.create_batched_linop(ts.Diagonal(ts.ones(4), ('X',)), spec)\n"
      ">>> A.explain(ts.ones(4, device='sim:2')).count(f'on stream {mine.id} ')\n4\n")
      .def(
          "__init__",
          [](BatchSpec* self, nb::handle sizes, nb::handle matrix, nb::handle base, bool resident,
             std::optional<Stream> base_stream, std::optional<Stream> transfer_stream) {
            DimSizes s = sizes_from(sizes, "BatchSpec");
            DeviceMatrix d = matrix_from(matrix);
            std::optional<RankDevice> b;
            if (!base.is_none()) b = place_from(base);
            require<DeviceError>(!b || !base_stream || b->device == base_stream->device(),
                                 "BatchSpec: base_stream is of ",
                                 base_stream ? base_stream->device() : cpu, ", base_device is ",
                                 b ? b->device : cpu);
            new (self) BatchSpec{std::move(s), std::move(d),           b,
                                 resident,     std::move(base_stream), std::move(transfer_stream)};
          },
          "batch_sizes"_a, "device_matrix"_a = nb::none(), "base_device"_a = nb::none(),
          "resident"_a = true, "base_stream"_a = nb::none(), "transfer_stream"_a = nb::none(),
          nb::sig("def __init__(self, batch_sizes: dict[DimLike, int], device_matrix: typing.Any = "
                  "None, base_device: DeviceLike | None = None, resident: bool = True, "
                  "base_stream: Stream | None = None, transfer_stream: Stream | None = None) -> "
                  "None"))
      .def_prop_ro(
          "batch_sizes",
          [](const BatchSpec& s) {
            nb::dict d;
            for (const auto& [dim, n] : s.batch_sizes) d[nb::cast(dim)] = n;
            return d;
          },
          nb::sig("def batch_sizes(self) -> dict[NamedDimension, int]"),
          "The largest tile along each dim.")
      .def_prop_ro(
          "device_matrix",
          [](const BatchSpec& s) {
            return s.device_matrix.empty() ? nb::none() : array_of_places(s.device_matrix);
          },
          nb::sig("def device_matrix(self) -> typing.Any"),
          "The devices as an array of objects; None: tiles compute on the base device.")
      .def_prop_ro(
          "base_device",
          [](const BatchSpec& s) { return s.base_device ? object_of(*s.base_device) : nb::none(); },
          nb::sig("def base_device(self) -> Device | str | None"),
          "Where input and output live; None: where the operator is.")
      .def_ro("resident", &BatchSpec::resident,
              "Tiles keep their arrays on their devices; False: every run sends them.")
      .def_ro("base_stream", &BatchSpec::base_stream,
              "What is computed on the base device is computed on this stream of it; None: the run "
              "chooses.")
      .def_ro("transfer_stream", &BatchSpec::transfer_stream,
              "Transfers between the base device and tiles go on this stream, all where it is one "
              "of the base\ndevice, else those of its own device; None: on one for each pair of "
              "devices.")
      .def(
          "broadcast_device_matrix",
          [](const BatchSpec& s, nb::handle linop, nb::handle shape) {
            return array_of_places(s.broadcast_device_matrix(
                linop_from(linop, "broadcast_device_matrix"), input_shape(shape)));
          },
          "linop"_a, "shape"_a = nb::none(),
          nb::sig("def broadcast_device_matrix(self, linop: NamedLinop, shape: ShapeLike | None = "
                  "None) -> typing.Any"),
          "One device for each tile, in the shape of the grid.\n\n"
          ">>> A = ts.Diagonal(ts.ones((4, 3)), ('X', 'Y'))\n"
          ">>> ts.BatchSpec({'X': 1, 'Y': 3}, ['sim:0', "
          "'sim:1']).broadcast_device_matrix(A).shape\n"
          "(4, 1)\n")
      .def(
          "resolve",
          [](const BatchSpec& s, nb::handle linop, nb::handle device, nb::handle shape) {
            return s.resolve(linop_from(linop, "resolve"), place_from(device), input_shape(shape));
          },
          "linop"_a, "default_device"_a = "cpu", "shape"_a = nb::none(),
          nb::sig("def resolve(self, linop: NamedLinop, default_device: DeviceLike = 'cpu', shape: "
                  "ShapeLike | None = None) -> BatchSpec"),
          "The same with a base device and a device for each tile.\n\n"
          ">>> ts.BatchSpec({'X': 2}).resolve(ts.Diagonal(ts.ones(4), ('X',)), 'sim:0')\n"
          "BatchSpec({X: 2}, device_matrix=[sim:0, sim:0], base_device=sim:0)\n")
      .def(
          "__eq__",
          [](const BatchSpec& s, nb::handle o) {
            return nb::isinstance<BatchSpec>(o) && nb::cast<BatchSpec>(o) == s;
          },
          nb::arg("other").none(), nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def(
          "__hash__", [](const BatchSpec& s) { return std::hash<std::string>{}(s.str()); },
          nb::sig("def __hash__(self) -> int"))
      .def(
          "__repr__", [](const BatchSpec& s) { return nb::str(s.str().c_str()); },
          nb::sig("def __repr__(self) -> str"));
}

}  // namespace

nb::tuple slices_of(const Dims& names, const Tile& tile) {
  nb::list l;
  for (const NamedDimension d : names) {
    const Cut* c = tile.find(d);
    if (d.is_ellipses())
      l.append(nb::ellipsis());
    else if (c)
      l.append(nb::slice(nb::int_(c->start), nb::int_(c->stop), nb::none()));
    else
      l.append(nb::slice(nb::none(), nb::none(), nb::none()));
  }
  return nb::tuple(l);
}

void bind_split_forward(nb::class_<LinopObject>& c) {
  c.def(
      "split_forward", &forward_part, "ibatch"_a, "obatch"_a,
      nb::sig("def split_forward(self, ibatch: typing.Sequence[slice] | "
              "typing.Sequence[typing.Sequence[slice]], obatch: typing.Sequence[slice] | "
              "typing.Sequence[typing.Sequence[slice]]) -> NamedLinop"),
      "The part of the operator between slices of its input and output, one for each dim of\n"
      "ishape and of oshape; of a Chain also lists of slices, a list for each of its operators.\n\n"
      ">>> A = ts.Dense([[1, 2, 3], [4, 5, 6]], 'MN', 'N', 'M')\n"
      ">>> A.split_forward([slice(1, 3)], [slice(0, 1)])([1, 1]).tolist()\n[5]\n"
      ">>> C = ts.Diagonal([1, 10], ('M',)) @ A\n"
      ">>> whole, last = [slice(0, 3)], [slice(1, 2)]\n"
      ">>> C.split_forward([whole, last], [last, last])([1, 1, 1]).tolist()\n[150]\n");
}

void bind_split(nb::module_& m) {
  bind_batch_spec(m);
  m.def(
      "split_linop", &tiles, "linop"_a, "sizes"_a, "shape"_a = nb::none(),
      nb::sig("def split_linop(linop: NamedLinop, sizes: dict[DimLike, int], shape: ShapeLike | "
              "None = None) -> tuple[typing.Any, typing.Any, typing.Any]"),
      "The operator cut into tiles of at most these sizes: arrays of sub-operators, of what each\n"
      "takes of the input, and of what it gives (or adds to) of the output. ``shape``, of an\n"
      "input, tells sizes that the operator does not know.\n\n"
      ">>> A = ts.Dense(ts.ones((3, 5)), 'MN', 'N', 'M')\n"
      ">>> linops, ins, outs = ts.split_linop(A, {'N': 2, 'M': 2})\n"
      ">>> linops.shape, ins[2, 0], outs[0, 1]\n"
      "((3, 2), (slice(4, 5, None),), (slice(2, 3, None),))\n");
  m.def(
      "create_batched_linop", &batched, "linop"_a, "specs"_a, nb::kw_only(), "shape"_a = nb::none(),
      "comm"_a = nb::none(),
      nb::sig("def create_batched_linop(linop: NamedLinop, specs: BatchSpec | "
              "typing.Sequence[BatchSpec], *, shape: ShapeLike | None = None, comm: "
              "typing.Any = None) -> NamedLinop"),
      "The same operator, computed tile by tile on the devices of the spec. Several specs cut the\n"
      "tiles further, level by level. Places of the first that name ranks ('rank1/cuda:0') spread\n"
      "the tiles over the ranks of ``comm`` (all that mpirun started): each computes its own,\n"
      "all apply the operator together, to the same input, and each has the whole result.\n\n"
      ">>> A = ts.Dense([[1, 2], [3, 4]], 'MN', 'N', 'M')\n"
      ">>> B = ts.create_batched_linop(A, ts.BatchSpec({'M': 1}, ['sim:0', 'sim:1']))\n"
      ">>> B([1, 1]).tolist(), B.H([1, 0]).tolist()\n([3, 7], [1, 2])\n");
  add_operator<AsyncStreamer>(
      m, "AsyncStreamer",
      "Data of the host through one device, tile by tile, with loading, computing and storing\n"
      "overlapped. ``resident=False`` leaves the arrays of the operator on the host too, for\n"
      "operators larger than the device.\n\n"
      ">>> A = ts.Diagonal(ts.arange(6.0), ('X',))\n"
      ">>> ts.AsyncStreamer(A, {'X': 2}, 'sim:0')(ts.ones(6)).tolist()\n"
      "[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]\n",
      [](nb::handle linop, nb::handle sizes, nb::handle device, bool resident, nb::handle shape) {
        const NamedLinop& a = linop_from(linop, "AsyncStreamer");
        DimSizes tiles = sizes_from(sizes, "AsyncStreamer");
        const Device where = device_from(device);
        const std::optional<Shape> input = input_shape(shape);
        return wrap_linop(
            released([&] { return NamedLinop(AsyncStreamer(a, tiles, where, resident, input)); }));
      },
      "linop"_a, "sizes"_a, "device"_a, "resident"_a = true, "shape"_a = nb::none());
}

}  // namespace tessera::python
