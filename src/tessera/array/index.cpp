// SPDX-License-Identifier: Apache-2.0
#include "tessera/array/index.hpp"

#include <limits>

#include "tessera/device/registry.hpp"

namespace tessera {
namespace {

bool host_readable(const Array& a) { return compute_device(a.device().kind).host_memory(); }

i64 read_integer(const Array& a) {
  i64 v = 0;
  dispatch<bool, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
           std::uint32_t, std::uint64_t>(a.dtype(), "index",
                                         [&]<class T>() { v = static_cast<i64>(*a.host<T>()); });
  return v;
}

// What the items add up to, before any of them is applied.
struct Census {
  i64 used = 0;  // axes of the source that the items consume
  i64 ellipses = 0;
  i64 kept = 0;  // axes that slices and new axes leave in the result
  i64 lead = 0;  // highest rank among arrays; truth values count as rank 1
};

Census census(const Index& index, const Layout& source) {
  Census c;
  for (const Index::Item& item : index.items()) {
    switch (item.kind) {
      case Index::Kind::integer: ++c.used; break;
      case Index::Kind::slice: ++c.used, ++c.kept; break;
      case Index::Kind::new_axis: ++c.kept; break;
      case Index::Kind::ellipsis:
        require<IndexError>(++c.ellipses == 1, "an index can only have a single ellipsis ('...')");
        break;
      case Index::Kind::boolean: c.lead = std::max<i64>(c.lead, 1); break;
      case Index::Kind::integer_array:
        ++c.used;
        c.lead = std::max(c.lead, index.arrays()[static_cast<std::size_t>(item.value)].ndim());
        break;
      case Index::Kind::mask:
        c.used += index.arrays()[static_cast<std::size_t>(item.value)].ndim();
        c.lead = std::max<i64>(c.lead, 1);
        break;
    }
  }
  if (c.used > source.ndim()) throw_too_many(source.ndim(), c.used);
  const i64 rank = c.kept + c.lead + source.ndim() - c.used;
  require<IndexError>(rank <= max_rank, "number of dimensions must be within [0, ", max_rank,
                      "], indexing result would have ", rank);
  return c;
}

// Applies the items one after the other. Axes of the result that no array indexes are collected in
// `rest`, indexed ones in `picked`; `rest` starts with the offset of all integers and slices.
class Walk {
 public:
  Walk(const Index& index, const Layout& source, const Census& census, ExpandMask expand)
      : index_(index), source_(source), census_(census), expand_(expand) {
    rest_.offset = source.offset;
  }

  IndexPlan run() {
    check_masks();
    for (const Index::Item& item : index_.items()) apply(item);
    keep_axes(source_.ndim() - axis_);
    return finish();
  }

 private:
  // NumPy compares mask sizes before anything else, and lets a size of zero pass.
  void check_masks() const {
    i64 axis = 0;
    for (const Index::Item& item : index_.items()) {
      if (item.kind == Index::Kind::mask) {
        for (const i64 n : array(item).shape()) {
          require<IndexError>(n == 0 || n == source_.shape[axis],
                              "boolean index did not match indexed array along axis ", axis,
                              "; size of axis is ", source_.shape[axis],
                              " but size of corresponding boolean axis is ", n);
          ++axis;
        }
      } else if (item.kind == Index::Kind::ellipsis) {
        axis += source_.ndim() - census_.used;
      } else if (item.kind != Index::Kind::new_axis && item.kind != Index::Kind::boolean) {
        ++axis;
      }
    }
  }

  void apply(const Index::Item& item) {
    switch (item.kind) {
      case Index::Kind::integer:
        if (index_.advanced()) mark_advanced();
        rest_.offset +=
            resolve_integer(item.value, axis_, source_.shape[axis_]) * source_.strides[axis_];
        ++axis_;
        break;
      case Index::Kind::slice: {
        mark_basic();
        const SliceRange r = resolve_slice(item.slice, source_.shape[axis_]);
        if (r.length > 0) rest_.offset += r.start * source_.strides[axis_];
        // A step is only taken between two elements; a longer one could overflow.
        keep(r.length, source_.strides[axis_] * (r.length > 1 ? r.step : 1));
        ++axis_;
        break;
      }
      case Index::Kind::new_axis:
        mark_basic();
        keep(1, 0);
        break;
      case Index::Kind::ellipsis:
        mark_basic();
        keep_axes(source_.ndim() - census_.used);
        break;
      case Index::Kind::boolean:
        mark_advanced();
        broadcast_.push_back(Shape{item.value != 0 ? 1 : 0});
        break;
      case Index::Kind::integer_array:
        mark_advanced();
        pick(array(item));
        break;
      case Index::Kind::mask:
        mark_advanced();
        require<ArgumentError>(expand_ != nullptr,
                               "resolve: the key holds a mask, and no function to expand it "
                               "was given");
        for (const Array& positions : expand_(array(item))) pick(positions);
        break;
    }
  }

  const Array& array(const Index::Item& item) const {
    return index_.arrays()[static_cast<std::size_t>(item.value)];
  }
  void keep(i64 size, i64 stride) {
    rest_.shape.push_back(size);
    rest_.strides.push_back(stride);
  }
  void keep_axes(i64 n) {
    for (i64 end = axis_ + n; axis_ < end; ++axis_)
      keep(source_.shape[axis_], source_.strides[axis_]);
  }
  void pick(const Array& positions) {
    picked_.shape.push_back(source_.shape[axis_]);
    picked_.strides.push_back(source_.strides[axis_]);
    axes_.push_back(axis_++);
    broadcast_.push_back(positions.shape());
    arrays_.push_back(positions);
  }

  // The broadcast axes stand where the advanced items are, unless something basic is between two of
  // them.
  void mark_advanced() {
    if (state_ == State::before) position_ = rest_.ndim();
    if (state_ == State::after) separated_ = true;
    state_ = State::inside;
  }
  void mark_basic() {
    if (state_ == State::inside) state_ = State::after;
  }

  Shape lead() const {
    Shape lead;
    for (const Shape& s : broadcast_) {
      for (i64 i = 0; i < lead.size() && i < s.size(); ++i) {
        const i64 a = lead[lead.size() - 1 - i], b = s[s.size() - 1 - i];
        if (a != b && a != 1 && b != 1) {
          std::string shapes;
          for (const Shape& each : broadcast_) shapes += tight_text(each) + " ";
          throw IndexError(
              cat("shape mismatch: indexing arrays could not be broadcast together with shapes ",
                  shapes));
        }
      }
      lead = broadcast_shapes(lead, s);
    }
    return lead;
  }

  IndexPlan finish() {
    IndexPlan plan;
    plan.copy = index_.force_copy();
    if (!index_.advanced()) {
      const bool element = rest_.ndim() == 0 && census_.ellipses == 0;
      plan.kind = element ? IndexPlan::Kind::element : IndexPlan::Kind::view;
      plan.shape = rest_.shape;
      plan.view = std::move(rest_);
      return plan;
    }
    plan.kind = IndexPlan::Kind::advanced;
    plan.lead = lead();
    plan.position = separated_ ? 0 : position_;
    for (i64 i = 0; i < plan.position; ++i) plan.shape.push_back(rest_.shape[i]);
    plan.shape.append(plan.lead);
    for (i64 i = plan.position; i < rest_.ndim(); ++i) plan.shape.push_back(rest_.shape[i]);
    plan.view = std::move(picked_);
    plan.view.offset = rest_.offset;
    plan.view.shape.append(rest_.shape);
    plan.view.strides.append(rest_.strides);
    plan.axes = std::move(axes_);
    plan.arrays = std::move(arrays_);
    return plan;
  }

  enum class State : std::uint8_t { before, inside, after };
  const Index& index_;
  const Layout& source_;
  const Census& census_;
  ExpandMask expand_;
  i64 axis_ = 0;
  Layout rest_, picked_;
  Shape axes_;
  std::vector<Array> arrays_;
  std::vector<Shape> broadcast_;
  State state_ = State::before;
  bool separated_ = false;
  i64 position_ = 0;
};

}  // namespace

void Index::add(const Array& a) {
  require<IndexError>(a.dtype() == DType::b1 || is_integer(a.dtype()),
                      "arrays used as indices must be of integer (or boolean) type");
  const bool mask = a.dtype() == DType::b1;
  if (a.ndim() == 0 && host_readable(a)) {
    if (mask) {
      add(read_integer(a) != 0);
    } else {
      add(read_integer(a));
      copy_ = true;
    }
    return;
  }
  items_.push_back({mask ? Kind::mask : Kind::integer_array, static_cast<i64>(arrays_.size())});
  arrays_.push_back(a);
  advanced_ = true;
}

Layout IndexPlan::lead_first(const Layout& result) const {
  Shape order;
  for (i64 i = 0; i < lead.size(); ++i) order.push_back(position + i);
  for (i64 i = 0; i < position; ++i) order.push_back(i);
  for (i64 i = position + lead.size(); i < result.ndim(); ++i) order.push_back(i);
  return result.permute(order);
}

std::string IndexPlan::str() const {
  switch (kind) {
    case Kind::element: return cat("element at offset ", view.offset);
    case Kind::view: return cat(copy ? "copy of the view " : "view ", view);
    default:
      return cat("gather of ", indexed(),
                 indexed() == 1 ? " array over axes " : " arrays over axes ", axes,
                 ", positions of shape ", lead, " at axis ", position, " of the result ", shape,
                 ", from ", view);
  }
}

IndexPlan resolve(const Index& index, const Layout& source, ExpandMask expand) {
  const Census c = census(index, source);
  return Walk(index, source, c, expand).run();
}

SliceRange resolve_slice(const Slice& s, i64 size) {
  constexpr i64 most = std::numeric_limits<i64>::max();
  i64 step = s.step.value_or(1);
  require<ArgumentError>(step != 0, "slice step cannot be zero");
  step = std::max(step, -most);  // its negative must exist
  const i64 low = step < 0 ? -1 : 0, high = step < 0 ? size - 1 : size;
  auto clip = [&](i64 v) { return std::clamp(v < 0 ? v + size : v, low, high); };
  const i64 start = s.start ? clip(*s.start) : (step < 0 ? high : low);
  const i64 stop = s.stop ? clip(*s.stop) : (step < 0 ? low : high);
  const i64 reach = step < 0 ? start - stop : stop - start, width = step < 0 ? -step : step;
  return {start, reach <= 0 ? 0 : (reach - 1) / width + 1, step};
}

Layout slice_layout(const Layout& l, i64 axis, const Slice& s) {
  const SliceRange r = resolve_slice(s, l.shape[axis]);
  return l.slice(axis, r.start, r.length, r.length > 1 ? r.step : 1);
}

void throw_out_of_bounds(i64 index, i64 axis, i64 size) {
  throw IndexError(cat("index ", index, " is out of bounds for axis ", axis, " with size ", size));
}

void throw_too_many(i64 ndim, i64 given) {
  throw IndexError(cat("too many indices for array: array is ", ndim, "-dimensional, but ", given,
                       " were indexed"));
}

void throw_not_a_key() {
  throw IndexError(
      "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or "
      "boolean arrays are "
      "valid indices");
}

std::string tight_text(const Shape& s) {
  if (s.size() == 1) return cat("(", s[0], ",)");
  return cat("(", join(s, ","), ")");
}

}  // namespace tessera
