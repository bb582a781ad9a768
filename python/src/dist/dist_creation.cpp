// SPDX-License-Identifier: Apache-2.0
// ts.dist.array, ts.dist.zeros and their like.
#include "array/creation.hpp"
#include "dist/dist_options.hpp"

namespace tessera::python {

using nb::literals::operator""_a;

dist::Options options_from(nb::handle split, nb::handle device, nb::handle comm) {
  dist::Options options;
  if (!split.is_none()) options.split = int_from(split, "split");
  options.device = device_from(device);
  options.comm = comm_from(comm);
  return options;
}

namespace {

// An existing array keeps its distribution unless a split is named; the result is always a copy.
DNDarray copied(const DNDarray& x, nb::handle split, nb::handle dtype, nb::handle device) {
  const auto axis = split.is_none() ? std::nullopt : std::optional<i64>(int_from(split, "split"));
  const DType t = dtype.is_none() ? x.dtype() : dtype_from(dtype);
  const Device d = device.is_none() ? x.device() : device_from(device);
  return released([&] {
    const DNDarray y = (axis ? x.resplit(axis) : x).astype(t).to(d);
    const bool same = y.distribution() == x.distribution() && t == x.dtype() && d == x.device();
    return same ? y.copy() : y;
  });
}

// Blocks differ from rank to rank: what one rank cannot read is an error of all, and nobody waits.
DNDarray assembled(nb::handle block, nb::handle axis, nb::handle dtype, nb::handle device,
                   const Communicator& comm) {
  const i64 along = int_from(axis, "is_split");
  const auto wanted = dtype_or_none(dtype);
  const auto place = device.is_none() ? std::nullopt : std::optional(device_from(device));
  Array mine;
  std::string problem;
  try {
    mine = as_array(block, "array", wanted);
  } catch (const std::exception& e) {
    problem = cat("rank ", comm.rank(), ": ", e.what());
  }
  return released([&] {
    comm.agree<ArgumentError>(problem);
    const Device d = place.value_or(mine.device());
    return dist::assemble(mine.device() == d ? mine.copy() : mine.to(d), along, comm);
  });
}

DNDarray make_array(nb::handle obj, nb::handle split, nb::handle is_split, nb::handle dtype,
                    nb::handle device, nb::handle comm) {
  require<ArgumentError>(split.is_none() || is_split.is_none(),
                         "array: give split (of what every rank has) or is_split (of blocks that "
                         "the ranks bring), not both");
  if (is_dist(obj.ptr()) && is_split.is_none())
    return copied(dist_of(obj.ptr()), split, dtype, device);
  if (!is_split.is_none()) return assembled(obj, is_split, dtype, device, comm_from(comm));
  const Array a = as_array(obj, "array", dtype_or_none(dtype));
  dist::Options options = options_from(split, device, comm);
  if (device.is_none()) options.device = a.device();
  return released([&] { return dist::array(a, options); });
}

DNDarray filled(nb::handle shape, const Value& v, DType t, nb::handle split, nb::handle device,
                nb::handle comm) {
  const Shape s = shape_from(shape);
  const dist::Options options = options_from(split, device, comm);
  check_fits(v, t);
  return released([&] { return dist::full(s, v, t, options); });
}

DType dtype_or(nb::handle dtype, DType otherwise) {
  return dtype.is_none() ? otherwise : dtype_from(dtype);
}

DNDarray make_range(nb::handle start, nb::handle stop, nb::handle step, nb::handle dtype,
                    nb::handle split, nb::handle device, nb::handle comm) {
  const Range r = range_from(start, stop, step, dtype);
  const dist::Options options = options_from(split, device, comm);
  return released([&] { return dist::arange(r.from, r.to, r.by, r.dtype, options); });
}

DNDarray make_linspace(double start, double stop, i64 num, bool endpoint, nb::handle dtype,
                       nb::handle split, nb::handle device, nb::handle comm) {
  const DType t = dtype_or(dtype, DType::f64);
  const dist::Options options = options_from(split, device, comm);
  return released([&] { return dist::linspace(start, stop, num, t, options, endpoint); });
}

DNDarray make_eye(i64 n, nb::handle m, i64 k, nb::handle dtype, nb::handle split, nb::handle device,
                  nb::handle comm) {
  const i64 columns = m.is_none() ? n : int_from(m, "eye");
  const DType t = dtype_or(dtype, DType::f64);
  const dist::Options options = options_from(split, device, comm);
  return released([&] { return dist::eye(n, columns, k, t, options); });
}

#define PLACE "split: int | None = None, device: DeviceLike | None = None, "
#define GROUP "comm: Communicator | None = None) -> DNDarray"
#define OPTIONS "dtype: DTypeLike | None = None, " PLACE GROUP
#define WITH_OPTIONS \
  "dtype"_a = nb::none(), "split"_a = nb::none(), "device"_a = nb::none(), "comm"_a = nb::none()

void bind_filled(nb::module_& m) {
  struct Filled {
    const char *name, *sig, *doc;
    int value;
  };
  static constexpr Filled all[] = {
      {"zeros", "def zeros(shape: ShapeLike, " OPTIONS,
       "Zeros; float64 unless told.\n\n>>> ts.dist.zeros((4, 2), split=0).sum().item()\n0.0\n", 0},
      {"ones", "def ones(shape: ShapeLike, " OPTIONS,
       "Ones; float64 unless told.\n\n>>> ts.dist.ones((4, 2), 'int8', split=1).tolist()[0]\n[1, "
       "1]\n",
       1}};
  for (const Filled& f : all) {
    m.def(
        f.name,
        [value = f.value](nb::handle shape, nb::handle dtype, nb::handle split, nb::handle device,
                          nb::handle comm) {
          return wrap(
              filled(shape, Value(value), dtype_or(dtype, DType::f64), split, device, comm));
        },
        "shape"_a, WITH_OPTIONS, nb::sig(f.sig), f.doc);
  }
  m.def(
      "empty",
      [](nb::handle shape, nb::handle dtype, nb::handle split, nb::handle device, nb::handle comm) {
        const Shape s = shape_from(shape);
        const DType t = dtype_or(dtype, DType::f64);
        const dist::Options options = options_from(split, device, comm);
        return wrap(released([&] { return dist::empty(s, t, options); }));
      },
      "shape"_a, WITH_OPTIONS, nb::sig("def empty(shape: ShapeLike, " OPTIONS),
      "Memory as it is found; float64 unless told.\n\n"
      ">>> ts.dist.empty((2, 3), split=1).shape\n(2, 3)\n");
  m.def(
      "full",
      [](nb::handle shape, nb::handle value, nb::handle dtype, nb::handle split, nb::handle device,
         nb::handle comm) {
        const Value v = value_from(value, "full", dtype_or_none(dtype));
        return wrap(filled(shape, v, dtype_or(dtype, v.dtype()), split, device, comm));
      },
      "shape"_a, "fill_value"_a, WITH_OPTIONS,
      nb::sig("def full(shape: ShapeLike, fill_value: complex, " OPTIONS),
      "One value everywhere, in its own dtype unless told.\n\n"
      ">>> ts.dist.full(3, 7, split=0).tolist()\n[7, 7, 7]\n");
}

#define LIKE_OPTIONS "dtype: DTypeLike | None = None, device: DeviceLike | None = None) -> DNDarray"

nb::object placed(DNDarray x, nb::handle device) {
  if (device.is_none()) return wrap(std::move(x));
  const Device d = device_from(device);
  return wrap(released([&] { return x.to(d); }));
}

void bind_likes(nb::module_& m) {
  struct Like {
    const char *name, *sig, *doc;
    std::optional<int> value;
  };
  static constexpr Like likes[] = {
      {"zeros_like", "def zeros_like(x: ArrayLike, " LIKE_OPTIONS,
       "Zeros that lie as x does, with its dtype unless told.\n\n"
       ">>> ts.dist.zeros_like(ts.dist.ones(2, split=0)).tolist()\n[0.0, 0.0]\n",
       0},
      {"ones_like", "def ones_like(x: ArrayLike, " LIKE_OPTIONS,
       "Ones that lie as x does, with its dtype unless told.\n\n"
       ">>> ts.dist.ones_like(ts.dist.zeros(2, split=0)).split\n0\n",
       1},
      {"empty_like",
       "def empty_like(x: ArrayLike, " LIKE_OPTIONS,
       "Fresh memory that lies as x does, with its dtype unless told.\n\n"
       ">>> ts.dist.empty_like(ts.dist.zeros(2, split=0)).shape\n(2,)\n",
       {}}};
  for (const Like& like : likes) {
    m.def(
        like.name,
        [value = like.value](nb::handle x, nb::handle dtype, nb::handle device) {
          const DNDarray a = as_dist(x, "like");
          const auto t = dtype_or_none(dtype);
          return placed(released([&] {
                          return value ? dist::full_like(a, Value(*value), t)
                                       : dist::empty_like(a, t);
                        }),
                        device);
        },
        "x"_a, "dtype"_a = nb::none(), "device"_a = nb::none(), nb::sig(like.sig), like.doc);
  }
  m.def(
      "full_like",
      [](nb::handle x, nb::handle value, nb::handle dtype, nb::handle device) {
        const DNDarray a = as_dist(x, "full_like");
        const DType t = dtype_or(dtype, a.dtype());
        const Value v = value_from(value, "full_like", t);
        check_fits(v, t);
        return placed(released([&] { return dist::full_like(a, v, t); }), device);
      },
      "x"_a, "fill_value"_a, "dtype"_a = nb::none(), "device"_a = nb::none(),
      nb::sig("def full_like(x: ArrayLike, fill_value: complex, " LIKE_OPTIONS),
      "One value, lying as x does.\n\n"
      ">>> ts.dist.full_like(ts.dist.zeros(2, split=0), 3).tolist()\n[3.0, 3.0]\n");
}

}  // namespace

void bind_dist_creation(nb::module_& m) {
  m.def(
      "array",
      [](nb::handle obj, nb::handle split, nb::handle is_split, nb::handle dtype, nb::handle device,
         nb::handle comm) { return wrap(make_array(obj, split, is_split, dtype, device, comm)); },
      "obj"_a, "split"_a = nb::none(), "is_split"_a = nb::none(), "dtype"_a = nb::none(),
      "device"_a = nb::none(), "comm"_a = nb::none(),
      nb::sig("def array(obj: ArrayLike, split: int | None = None, is_split: int | None = None, "
              "dtype: DTypeLike | None = None, device: DeviceLike | None = None, " GROUP),
      "A distributed array of what every rank has (``split``: each keeps its part), or of blocks "
      "that the ranks bring, one after the other along an axis (``is_split``). Always a copy.\n\n"
      ">>> ts.dist.array([[1, 2], [3, 4]], split=0).T.tolist()\n[[1, 3], [2, 4]]\n"
      ">>> rank = ts.dist.world.rank\n"
      ">>> ts.dist.array([rank, rank], is_split=0).shape == (2 * ts.dist.world.size,)\nTrue\n");
  m.def(
      "arange",
      [](nb::handle start, nb::handle stop, nb::handle step, nb::handle dtype, nb::handle split,
         nb::handle device, nb::handle comm) {
        return wrap(make_range(start, stop, step, dtype, split, device, comm));
      },
      "start"_a, "stop"_a = nb::none(), "step"_a = 1, WITH_OPTIONS,
      nb::sig("def arange(start: float, stop: float | None = None, step: float = 1, " OPTIONS),
      "Evenly spaced values from start up to, not including, stop.\n\n"
      ">>> ts.dist.arange(1, 8, 2, split=0).tolist()\n[1, 3, 5, 7]\n");
  m.def(
      "linspace",
      [](double start, double stop, i64 num, bool endpoint, nb::handle dtype, nb::handle split,
         nb::handle device, nb::handle comm) {
        return wrap(make_linspace(start, stop, num, endpoint, dtype, split, device, comm));
      },
      "start"_a, "stop"_a, "num"_a = 50, "endpoint"_a = true, WITH_OPTIONS,
      nb::sig(
          "def linspace(start: float, stop: float, num: int = 50, endpoint: bool = True, " OPTIONS),
      "num values from start to stop.\n\n"
      ">>> ts.dist.linspace(0, 1, 5, split=0).tolist()\n[0.0, 0.25, 0.5, 0.75, 1.0]\n");
  m.def(
      "eye",
      [](i64 n, nb::handle columns, i64 k, nb::handle dtype, nb::handle split, nb::handle device,
         nb::handle comm) { return wrap(make_eye(n, columns, k, dtype, split, device, comm)); },
      "N"_a, "M"_a = nb::none(), "k"_a = 0, WITH_OPTIONS,
      nb::sig("def eye(N: int, M: int | None = None, k: int = 0, " OPTIONS),
      "Ones on diagonal k of an N by M matrix.\n\n"
      ">>> ts.dist.eye(2, 3, 1, split=1).tolist()\n[[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]\n");
  bind_filled(m);
  bind_likes(m);
  // A local array as a distributed one of this rank alone: how local arrays reach these functions.
  m.def(
      "_alone",
      [](nb::handle x) {
        return wrap(DNDarray::replicated(as_array(x, "array"), Communicator::self()));
      },
      "x"_a, nb::sig("def _alone(x: ArrayLike) -> DNDarray"));
}

}  // namespace tessera::python
