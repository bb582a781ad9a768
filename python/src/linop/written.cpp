// SPDX-License-Identifier: Apache-2.0
#include "linop/written.hpp"

#include <algorithm>

#include "linop/operators.hpp"
#include "tessera/linop/core/side_by_side.hpp"

namespace tessera::python {

namespace {

using nb::literals::operator""_a;

PyObject* base_class = nullptr;  // NamedLinop

// What a twin is: names, and a sentence for whoever applies it.
struct OnlyNames {
  NamedShape names;
  std::string label;
  static constexpr const char* kind = "NamedLinop";
  NamedShape shape() const { return names; }
  void apply(Recorder&, const View&, const View&) const {
    throw PlanError(cat(label, " ", names.str(),
                        ": inside of its methods an operator has names and attributes, and cannot "
                        "be applied itself"));
  }
  OnlyNames adjoint() const { return {names.H(), label + ".H"}; }
};

nb::object object_of(nb::handle cls, nb::handle attributes, const NamedLinop& a) {
  nb::object o = nb::inst_alloc(cls);
  auto* holder = new (nb::inst_ptr<void>(o)) LinopObject(a);
  holder->written = true;
  nb::inst_mark_ready(o);
  o.attr("__dict__") = attributes;
  return o;
}
nb::object twin_of(nb::handle cls, nb::handle attributes, const NamedShape& names,
                   const std::string& label) {
  return object_of(cls, attributes, OnlyNames{names, label});
}

// f(value) for arrays and operators among the attributes, also in lists and tuples; where it gives
// another object, that one takes the place in the copy that is returned.
template <class F>
nb::object changed(nb::handle value, F&& f) {
  if (!PyList_CheckExact(value.ptr()) && !PyTuple_CheckExact(value.ptr())) return f(value);
  nb::list all;
  for (nb::handle item : nb::borrow(value)) all.append(f(item));
  return PyTuple_CheckExact(value.ptr()) ? nb::object(nb::tuple(all)) : nb::object(all);
}

// Attributes that are being looked through: an operator among them may be made of the same ones, as
// A.back = A.H is, and then adds nothing.
thread_local std::vector<PyObject*> looking_through;

std::vector<Array> arrays_in(nb::handle attributes) {
  std::vector<Array> all;
  std::vector<PyObject*>& open = looking_through;
  if (std::find(open.begin(), open.end(), attributes.ptr()) != open.end()) return all;
  struct Guard {
    std::vector<PyObject*>& list;
    ~Guard() { list.pop_back(); }
  };
  open.push_back(attributes.ptr());
  const Guard guard{open};
  for (const auto& [name, value] : nb::borrow<nb::dict>(attributes))
    (void)changed(value, [&](nb::handle h) {
      if (is_array(h.ptr())) all.push_back(array_of(h.ptr()));
      if (nb::isinstance<LinopObject>(h))
        for (const Array& a : linop_from(h, "NamedLinop").arrays()) all.push_back(a);
      return nb::borrow(h);
    });
  return all;
}

// The attributes with other arrays in the place of their own; themselves where these are the same.
nb::object with_arrays(nb::object attributes, std::span<const Array> held) {
  const std::vector<Array> own = arrays_in(attributes);
  if (own.size() != held.size() || std::equal(own.begin(), own.end(), held.begin(), same_view))
    return attributes;
  const auto other = [&](const Array& a) {
    for (std::size_t i = 0; i < own.size(); ++i)
      if (same_view(own[i], a)) return held[i];
    return a;
  };
  nb::dict fresh;
  for (const auto& [name, value] : nb::borrow<nb::dict>(attributes))
    fresh[name] = changed(value, [&](nb::handle h) -> nb::object {
      if (is_array(h.ptr())) return wrap(other(array_of(h.ptr())));
      if (nb::isinstance<LinopObject>(h))
        return wrap_linop(linop_from(h, "NamedLinop").mapped(other));
      return nb::borrow(h);
    });
  return fresh;
}

const NamedLinop& names_of(const nb::object& twin) { return linop_from(twin, "NamedLinop"); }

nb::object with_arrays_of(const nb::object& twin, std::span<const Array> held) {
  const nb::object own = twin.attr("__dict__"), now = with_arrays(own, held);
  if (now.is(own)) return twin;
  return twin_of(twin.type(), now, names_of(twin).shape(), names_of(twin).name());
}

nb::object method_of(nb::handle linop, const char* name) { return nb::getattr(linop.type(), name); }

void init(nb::pointer_and_handle<LinopObject> self, nb::handle shape, nb::handle name,
          nb::handle dtype) {
  const nb::handle cls = self.h.type();
  const char* who = class_name(cls);
  for (const char* needed : {"fn", "adj_fn"})
    require<DTypeError>(
        nb::hasattr(cls, needed) && PyCallable_Check(method_of(self.h, needed).ptr()), who,
        ": an operator written in Python is a subclass of NamedLinop with "
        "methods fn(linop, x) and adj_fn(linop, y); ",
        needed, " is missing");
  require<DTypeError>(nb::hasattr(self.h, "__dict__"), who,
                      ": its objects have no __dict__; write it without __slots__");
  NamedShape names = nb::isinstance<NamedShape>(shape) ? nb::cast<NamedShape>(shape)
                                                       : NamedShape(dims_or_any(shape));
  std::string label = name.is_none() ? who : name_from(name, who);
  const Callable twin(twin_of(cls, self.h.attr("__dict__"), names, label));
  const auto calls = [&](const char* method) { return WrittenFunction{twin, method}; };
  SimpleLinop::Calls c{
      .forward = calls("fn"), .backward = calls("adj_fn"), .arrays = WrittenArrays{twin}};
  if (nb::hasattr(cls, "normal_fn")) c.normal = calls("normal_fn");
  if (overrides(self.h, "split_forward")) c.split = WrittenSplit{twin};
  if (overrides(self.h, "size")) c.size = WrittenSize{twin};
  auto* holder = new (self.p)
      LinopObject(NamedLinop(SimpleLinop(std::move(c), names.ishape, names.oshape, std::move(label),
                                         {}, dtype.is_none() ? DType::b1 : dtype_from(dtype))));
  holder->written = true;
  show_as(self.h, holder);
}

}  // namespace

bool overrides(nb::handle linop, const char* method) {
  return !method_of(linop, method).is(nb::getattr(base_class, method));
}

Array WrittenFunction::operator()(const Array& x, std::span<const Array> held) const {
  const nb::gil_scoped_acquire lock;
  const nb::object self = with_arrays_of(twin(), held);
  return as_array(method_of(self, method)(self, wrap(x)), class_name(self.type()));
}

NamedLinop WrittenSplit::operator()(const Tile& tile) const {
  const nb::gil_scoped_acquire lock;
  const nb::object self = twin();
  const NamedShape names = names_of(self).shape();
  const nb::object part = method_of(self, "split_forward")(
      self, nb::list(slices_of(names.ishape, tile)), nb::list(slices_of(names.oshape, tile)));
  return linop_from(part, cat(class_name(self.type()), ".split_forward"));
}

std::optional<i64> WrittenSize::operator()(NamedDimension d) const {
  const nb::gil_scoped_acquire lock;
  const nb::object self = twin(), n = method_of(self, "size")(self, d);
  if (n.is_none()) return std::nullopt;
  return int_from(n, cat(class_name(self.type()), ".size").c_str());
}

std::vector<Array> WrittenArrays::operator()() const {
  const nb::gil_scoped_acquire lock;
  return arrays_in(twin().attr("__dict__"));
}

nb::object written_object(const NamedLinop& a) {
  const SimpleLinop* s = a.as<SimpleLinop>();
  const auto* arrays = s ? s->calls.arrays.target<WrittenArrays>() : nullptr;
  if (!arrays || s->flipped() || s->normal_of()) return {};
  const nb::object twin = arrays->twin();
  return object_of(twin.type(), with_arrays(twin.attr("__dict__"), s->held()), a);
}

nb::object written_state(const SimpleLinop& s) {
  const auto* arrays = s.calls.arrays.target<WrittenArrays>();
  if (!arrays) return nb::none();
  const nb::object twin = arrays->twin();
  return nb::make_tuple(twin.type(), with_arrays(twin.attr("__dict__"), s.held()),
                        tuple_of(s.first_names().ishape), tuple_of(s.first_names().oshape),
                        nb::str(names_of(twin).name().c_str()), dtype_object(s.least));
}

void bind_written(nb::class_<LinopObject>& c) {
  base_class = c.ptr();
  c.def("__init__", &init, "shape"_a, "name"_a = nb::none(), nb::kw_only(), "dtype"_a = nb::none(),
        nb::sig("def __init__(self, shape: NamedShape | DimsLike, name: str | None = None, *, "
                "dtype: DTypeLike | None = None) -> None"),
        "For operators written in Python, subclasses with fn and adj_fn: names, as a NamedShape or "
        "those of\nboth sides, and the least dtype of results.");
}

}  // namespace tessera::python
