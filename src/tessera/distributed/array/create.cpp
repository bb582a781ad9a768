// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/array/create.hpp"

#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/reduce/reduce.hpp"

namespace tessera::dist {
namespace {

// What this rank makes of an array of `shape`: an interval of the split axis, or everything.
struct Plot {
  Shape shape;
  Distribution distribution;
  Communicator comm;
  Device device;

  Plot(const Shape& whole, const Options& options, std::string_view who)
      : shape(whole), comm(options.comm ? *options.comm : Communicator()), device(options.device) {
    (void)count_of(shape);  // ShapeError for what no array has
    if (!options.split) return;
    const i64 axis = normalize_axis(*options.split, shape.size(), who);
    distribution = {axis, Partition::even(shape[axis], comm.size())};
  }
  explicit Plot(const DNDarray& like)
      : shape(like.shape()),
        distribution(like.distribution()),
        comm(like.comm()),
        device(like.device()) {}

  i64 begin() const { return distribution.split ? distribution.part.begin(comm.rank()) : 0; }
  i64 count(i64 axis) const {
    return distribution.split == axis ? distribution.part.count(comm.rank()) : shape[axis];
  }
  Shape part() const {
    Shape s = shape;
    if (distribution.split) s[*distribution.split] = count(*distribution.split);
    return s;
  }
  DNDarray holding(Array local) const {
    return DNDarray(std::move(local), shape, distribution, comm);
  }
};

DNDarray filled(const Plot& plot, const Value& v, DType dtype) {
  return plot.holding(tessera::full(plot.part(), v, dtype, plot.device));
}

DNDarray drawn(const Plot& plot, RandomSpec spec, DType dtype) {
  const Array mine = Array::empty(plot.part(), dtype, plot.device);
  if (plot.distribution.split) {
    i64 inner = 1;
    for (i64 a = *plot.distribution.split + 1; a < plot.shape.size(); ++a) inner *= plot.shape[a];
    spec.first = plot.begin() * inner;
    spec.row = plot.count(*plot.distribution.split) * inner;
    spec.pitch = plot.shape[*plot.distribution.split] * inner;
  }
  draw_into(mine, spec);
  return plot.holding(mine);
}

// What the blocks of an assembled array must share, in two words: a mismatch is found by all ranks
// from what was gathered, and only then are sentences sent.
struct BlockHeader {
  i64 count = 0;
  std::uint32_t kind = 0;  // dtype, host or device, axis
  // What the blocks may have differently, and every rank then knows of all of them.
  bool writable = true, row_major = true;
  std::uint64_t extents = 0;  // a hash of rank and sizes but the axis'
};
constexpr std::uint32_t no_block = ~std::uint32_t{0};

BlockHeader header_of(const Array& mine, i64 axis) {
  if (!mine || axis < -mine.ndim() || axis >= mine.ndim()) return {0, no_block, true, true, 0};
  if (axis < 0) axis += mine.ndim();
  BlockHeader header{mine.shape(axis), 0, mine.storage().writable(), mine.is_contiguous(),
                     14695981039346656037u};
  auto mix = [&](i64 v) {
    header.extents = (header.extents ^ static_cast<std::uint64_t>(v)) * 1099511628211u;
    header.extents ^= header.extents >> 29;
  };
  mix(mine.ndim());
  for (i64 a = 0; a < mine.ndim(); ++a)
    if (a != axis) mix(mine.shape(a));
  header.kind = static_cast<std::uint32_t>(mine.dtype()) |
                static_cast<std::uint32_t>(mine.device().kind) << 8 |
                static_cast<std::uint32_t>(axis) << 16;
  return header;
}

void require_blocks_fit(const std::vector<BlockHeader>& headers, const Array& mine, i64 axis,
                        const Communicator& comm) {
  for (std::size_t r = 0; r < headers.size(); ++r) {
    const BlockHeader &header = headers[r], &first = headers[0];
    if (header.kind != no_block && header.kind == first.kind && header.extents == first.extents)
      continue;
    const bool here = static_cast<std::size_t>(comm.rank()) == r;
    const std::string block = !here ? std::string()
                              : !mine
                                  ? cat("assemble: rank ", r, " handed no array")
                                  : cat("assemble: rank ", r, " handed a block of shape ",
                                        mine.shape(), " of ", mine.dtype(), " on ", mine.device());
    auto raise = [&]<class E>(std::string_view why) {
      comm.agree<E>(here ? block + std::string(why) : std::string());
    };
    if (header.kind == no_block) raise.operator()<IndexError>(cat("; it has no axis ", axis));
    if ((header.kind & 0xff) != (first.kind & 0xff))
      raise.operator()<DTypeError>("; the dtype of rank 0 is another");
    if ((header.kind & 0xff00) != (first.kind & 0xff00))
      raise.operator()<DeviceError>("; the device of rank 0 is of another kind");
    raise.operator()<ShapeError>(cat("; its sizes beside axis ", axis, " are not those of rank 0"));
  }
}

// Of blocks that lie in any order: no two axes can be seen as one, whichever a rank has.
Layout apart_layout(const Shape& shape) {
  Shape wide = shape;
  for (i64& n : wide) ++n;
  Layout l = Layout::contiguous(wide);
  l.shape = shape;
  return l;
}

}  // namespace

DNDarray array(const Array& whole, const Options& options) {
  const Plot plot(whole.shape(), options, "array");
  Array mine = whole;
  if (plot.distribution.split) {
    const i64 axis = *plot.distribution.split;
    mine = whole.view(whole.layout().slice(axis, plot.begin(), plot.count(axis)));
  }
  DNDarray x = plot.holding(mine.device() == plot.device ? mine.copy() : mine.to(plot.device));
  // Every rank has seen all of it: as a key it can be checked without asking the others.
  if (x.split() && is_integer(whole.dtype()) && whole.dtype() != DType::u64 && whole.size() > 0)
    x.remember(value_range, std::make_shared<const ValueRange>(
                                ValueRange{reduce(ReduceOp::min, whole).item().as<i64>(),
                                           reduce(ReduceOp::max, whole).item().as<i64>()}));
  return x;
}

DNDarray assemble(const Array& mine, i64 axis, const std::optional<Communicator>& group) {
  const Communicator comm = group ? *group : Communicator();
  const BlockHeader header = header_of(mine, axis);
  std::vector<BlockHeader> headers(static_cast<std::size_t>(comm.size()), header);
  if (!comm.alone()) comm.allgather(&header, sizeof header, headers.data());
  require_blocks_fit(headers, mine, axis, comm);
  std::vector<i64> counts;
  counts.reserve(headers.size());
  bool writable = true, row_major = true;
  for (const BlockHeader& c : headers) {
    counts.push_back(c.count);
    writable = writable && c.writable;
    row_major = row_major && c.row_major;
  }
  axis = normalize_axis(axis, mine.ndim(), "assemble");
  Shape shape = mine.shape();
  const Partition part = Partition::of(counts);
  shape[axis] = part.size();
  const DNDarray x = DNDarray::lying(
      mine, row_major ? Layout::contiguous(shape) : apart_layout(shape), {axis, part}, comm);
  return writable ? x : x.read_only();
}

DNDarray empty(const Shape& shape, DType dtype, const Options& options) {
  const Plot plot(shape, options, "empty");
  return plot.holding(Array::empty(plot.part(), dtype, plot.device));
}
DNDarray full(const Shape& shape, const Value& v, DType dtype, const Options& options) {
  return filled(Plot(shape, options, "full"), v, dtype);
}
DNDarray zeros(const Shape& shape, DType dtype, const Options& options) {
  return filled(Plot(shape, options, "zeros"), Value(0), dtype);
}
DNDarray ones(const Shape& shape, DType dtype, const Options& options) {
  return filled(Plot(shape, options, "ones"), Value(1), dtype);
}

DNDarray arange(const Value& start, const Value& stop, const Value& step, DType dtype,
                const Options& options) {
  const Plot plot({arange_length(start, stop, step)}, options, "arange");
  return plot.holding(
      arange_part(start, stop, step, plot.begin(), plot.count(0), dtype, plot.device));
}

DNDarray arange(i64 n, const Options& options) {
  return arange(Value(i64{0}), Value(n), Value(i64{1}), DType::i64, options);
}

DNDarray linspace(double start, double stop, i64 n, DType dtype, const Options& options,
                  bool endpoint) {
  require<ArgumentError>(n >= 0, "Number of samples, ", n, ", must be non-negative.");
  const Plot plot({n}, options, "linspace");
  return plot.holding(linspace_part(start, stop, endpoint ? n : n + 1, plot.begin(), plot.count(0),
                                    dtype, plot.device));
}

DNDarray eye(i64 rows, i64 columns, i64 diagonal, DType dtype, const Options& options) {
  require<ShapeError>(rows >= 0 && columns >= 0, "negative dimensions are not allowed: eye of ",
                      rows, " by ", columns);
  const Plot plot({rows, columns}, options, "eye");
  diagonal = std::clamp(diagonal, -rows, columns);  // beyond them there is none either
  const i64 shift = plot.distribution.split == 1 ? -plot.begin() : plot.begin();
  return plot.holding(
      tessera::eye(plot.count(0), plot.count(1), diagonal + shift, dtype, plot.device));
}

DNDarray empty_like(const DNDarray& x, std::optional<DType> dtype) {
  const Plot plot(x);
  return plot.holding(Array::empty(plot.part(), dtype.value_or(x.dtype()), plot.device));
}
DNDarray full_like(const DNDarray& x, const Value& v, std::optional<DType> dtype) {
  return filled(Plot(x), v, dtype.value_or(x.dtype()));
}
DNDarray zeros_like(const DNDarray& x, std::optional<DType> dtype) {
  return full_like(x, Value(0), dtype);
}
DNDarray ones_like(const DNDarray& x, std::optional<DType> dtype) {
  return full_like(x, Value(1), dtype);
}

DNDarray uniform(Random& random, const Shape& shape, DType dtype, const Options& options,
                 double low, double high) {
  const Plot plot(shape, options, "uniform");
  return drawn(plot, random.next_uniform(dtype, low, high), dtype);
}
DNDarray normal(Random& random, const Shape& shape, DType dtype, const Options& options,
                double mean, double deviation) {
  const Plot plot(shape, options, "normal");
  return drawn(plot, random.next_normal(dtype, mean, deviation), dtype);
}
DNDarray integers(Random& random, i64 low, i64 high, const Shape& shape, DType dtype,
                  const Options& options) {
  const Plot plot(shape, options, "integers");
  return drawn(plot, random.next_integers(low, high, dtype), dtype);
}

DNDarray permutation(Random& random, i64 n, const Options& options) {
  return array(random.permutation(n), options);
}

}  // namespace tessera::dist
