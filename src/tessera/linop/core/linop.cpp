// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/core/linop.hpp"

#include <algorithm>
#include <atomic>
#include <map>

#include "tessera/base/config.hpp"
#include "tessera/linop/containers/common.hpp"
#include "tessera/linop/core/algebra.hpp"
#include "tessera/linop/core/node_state.hpp"
#include "tessera/linop/ops/basic/scalar.hpp"
#include "tessera/linop/rewrite/normal_names.hpp"

namespace tessera {
namespace {
NamedDimension rename_one(NamedDimension d, const Renames& renames) {
  return tessera::rename({d}, renames)[0];
}

// Dims inside a chain that nobody renamed give way where an outer dim takes their name.
void make_room(const Dims& all, const Dims& outer, Renames& renames) {
  Dims taken = all;
  for (const auto& [from, to] : renames) taken.push_back(to);
  for (NamedDimension d : all) {
    if (contains(outer, d) || !(rename_one(d, renames) == d)) continue;
    const bool claimed =
        std::any_of(renames.begin(), renames.end(), [&](const auto& r) { return r.second == d; });
    if (!claimed) continue;
    renames.emplace_back(d, d.next_unused(taken));
    taken.push_back(renames.back().second);
  }
}
}  // namespace

NamedLinop::Node::Node() : state(std::make_unique<NodeState>()) {
  static std::atomic<std::uint64_t> made{0};
  state->serial = state->origin = ++made;
}
NamedLinop::Node::~Node() = default;

std::uint64_t NamedLinop::serial() const { return node_->state->serial; }

Dims NamedLinop::dims() const { return node_->dims(); }

NamedLinop::Companion NamedLinop::companion(Companion (*make)()) const {
  NodeState& c = *node_->state;
  std::lock_guard lock(c.mutex);
  for (const auto& [maker, made] : c.companions)
    if (maker == make) return made;
  return c.companions.emplace_back(make, make()).second;
}

std::string NamedLinop::name() const {
  const std::string& given = node_->state->label;
  const std::string own = given.empty() ? node_->label() : given;
  return own.empty() ? std::string(kind()) : own;
}

NamedLinop NamedLinop::copy_of(const Node& node) {
  const NamedLinop fresh(node.clone());
  fresh.share_origin(node, false);
  return fresh;
}

NamedLinop NamedLinop::copy() const {
  const NamedLinop fresh = copy_of(*node_);
  fresh.node_->state->notes = notes();
  return fresh;
}

NamedLinop NamedLinop::named(std::string name) const {
  if (name == this->name()) return *this;
  const NamedLinop fresh = copy();
  fresh.node_->state->label = std::move(name);
  return fresh;
}

RepeatedEvent NamedLinop::start_event() const { return node_->state->start->event(); }

NamedLinop NamedLinop::with_start_event(RepeatedEvent event) const {
  const NamedLinop fresh = copy();
  fresh.node_->state->start = std::make_shared<StartEvent>(std::move(event));
  if (const auto waits_for = input_listener()) fresh.listen_to(waits_for);
  return fresh;
}

std::optional<RepeatedEvent> NamedLinop::input_listener() const {
  return node_->state->start->listener();
}

void NamedLinop::listen_to(std::optional<RepeatedEvent> event) const {
  node_->state->start->listen_to(std::move(event));
}

bool NamedLinop::listens() const {
  if (!StartEvent::ever_listened()) return false;
  if (input_listener()) return true;
  const std::vector<NamedLinop> all = parts();
  return std::any_of(all.begin(), all.end(), [](const NamedLinop& a) { return a.listens(); });
}

// One entry for each operator, so that a listener that moved from one to another is seen.
std::vector<std::optional<RepeatedEvent>> NamedLinop::listeners() const {
  std::vector<std::optional<RepeatedEvent>> all;
  if (!StartEvent::ever_listened()) return all;
  all.push_back(input_listener());
  for (const NamedLinop& part : parts())
    for (std::optional<RepeatedEvent>& e : part.listeners()) all.push_back(std::move(e));
  return all;
}

std::vector<RepeatedEvent> NamedLinop::start_events() const {
  std::vector<RepeatedEvent> all;
  auto add = [&](const RepeatedEvent& e) {
    if (std::find(all.begin(), all.end(), e) == all.end()) all.push_back(e);
  };
  if (const auto own = node_->state->start->asked()) add(*own);
  for (const NamedLinop& part : parts())
    for (const RepeatedEvent& e : part.start_events()) add(e);
  return all;
}

void NamedLinop::share_start(const Node& made_from) const {
  if (node_.use_count() == 1) node_->state->start = made_from.state->start;
}

NamedLinop NamedLinop::with_name_of(const NamedLinop& a) const {
  return a.node_->state->label.empty() ? *this : named(a.node_->state->label);
}

std::string NamedLinop::str() const {
  const std::string own = name();
  return own == kind() ? cat(own, " ", shape().str()) : cat(own, ": ", kind(), " ", shape().str());
}

std::vector<Array> NamedLinop::arrays() const {
  std::vector<Array> all = node_->arrays();
  for (const NamedLinop& part : parts())
    for (const Array& a : part.arrays()) all.push_back(a);
  return all;
}

std::string NamedLinop::tree() const {
  const std::string details = node_->details();
  std::string text = cat(str(), details.empty() ? "" : "  ", details);
  for (const NamedLinop& part : parts()) {
    text += "\n  ";
    for (char c : part.tree()) {
      text += c;
      if (c == '\n') text += "  ";
    }
  }
  return text;
}

namespace {
// The identity under one list of names is its own adjoint and its own normal.
bool is_plain_identity(const NamedLinop& a) {
  return a.offers().changes_nothing() && a.ishape() == a.oshape();
}
}  // namespace

NamedLinop NamedLinop::H() const {
  if (is_plain_identity(*this)) return *this;
  if (!config().cache_adjoint_normal) {
    const NamedLinop fresh = node_->adjoint();
    fresh.share_origin(*node_, true);
    return fresh;
  }
  NodeState& c = *node_->state;
  {
    std::lock_guard lock(c.mutex);
    if (c.adjoint) return NamedLinop(c.adjoint);
    if (auto original = c.adjoint_of.lock()) return NamedLinop(original);
  }
  const NamedLinop fresh = node_->adjoint();  // may ask other operators: not under our lock
  fresh.share_origin(*node_, true);
  std::lock_guard lock(c.mutex);
  if (!c.adjoint) {
    c.adjoint = fresh.node_;
    NodeState& back = *fresh.node_->state;
    std::unique_lock other(back.mutex, std::defer_lock);
    if (&back != &c) other.lock();
    if (back.adjoint_of.expired()) back.adjoint_of = node_;
  }
  return NamedLinop(c.adjoint);
}

NamedLinop NamedLinop::N() const {
  if (is_plain_identity(*this)) return *this;
  NodeState& c = *node_->state;
  if (config().cache_adjoint_normal) {
    std::lock_guard lock(c.mutex);
    if (c.normal) return NamedLinop(c.normal);
  }
  const NamedLinop adjoint = H();
  // An operator whose adjoint is another's (a part's that it hands on): no rule sees that the two
  // belong together, so what it states is taken here.
  std::optional<NamedLinop> own;
  if (config().rewrite && config().rewrite_normals && !adjoint.is_adjoint_of(*this))
    own = node_->own_normal();
  // Clones, so that the cached normal owns neither this node nor one that owns it.
  NamedLinop fresh = under_normal_names(
      *this, own ? copy_of(*own->node_) : chain({copy_of(*node_), copy_of(*adjoint.node_)}));
  if (!c.label.empty()) fresh = fresh.named(c.label + (c.label.ends_with(".N") ? "" : ".N"));
  fresh.share_start(*node_);
  std::lock_guard lock(c.mutex);
  if (!config().cache_adjoint_normal) return fresh;
  if (!c.normal) c.normal = fresh.node_;
  return NamedLinop(c.normal);
}

NamedLinop NamedLinop::normal(const NamedLinop& inner) const {
  if (config().reduce_identity_in_normal && inner.offers().changes_nothing()) return N();
  // The adjoint takes what the inner operator gives, under its names.
  NamedLinop post = H();
  const Dims expects = post.ishape(), given = inner.oshape();
  if (!isequal(expects, given) && expects.size() == given.size()) {
    Renames r;
    for (i64 i = 0; i < given.size(); ++i) r.emplace_back(expects[i], given[i]);
    post = post.rename(r);
  }
  return under_normal_names(*this, chain({*this, inner, post}));
}

void NamedLinop::share_origin(const Node& made_from, bool flipped) const {
  if (node_.use_count() != 1) return;  // somebody else's already
  std::string label = made_from.state->label;
  if (flipped && label.ends_with(".H"))
    label.resize(label.size() - 2);
  else if (flipped && !label.empty() && !label.ends_with(".N"))
    label += ".H";
  node_->state->label = std::move(label);
  node_->state->start = made_from.state->start;
  node_->state->origin = made_from.state->origin;
  node_->state->flipped = made_from.state->flipped != flipped;
}

const std::vector<std::string>& NamedLinop::notes() const { return node_->state->notes; }

NamedLinop NamedLinop::noted(std::vector<std::string> notes) const {
  if (notes.empty() && this->notes().empty()) return *this;
  const NamedLinop copy = copy_of(*node_);
  copy.node_->state->notes = std::move(notes);
  return copy;
}

bool NamedLinop::is_adjoint_of(const NamedLinop& a) const {
  const NodeState &mine = *node_->state, &its = *a.node_->state;
  return mine.origin == its.origin && mine.flipped != its.flipped;
}

NamedLinop NamedLinop::rename(const Renames& renames) const {
  Renames needed;
  const Dims own = dims();
  for (const auto& [from, to] : renames)
    if (!(from == to) && contains(own, from)) needed.emplace_back(from, to);
  if (needed.empty()) return *this;
  make_room(own, dims_of(shape()), needed);
  for (NamedDimension d : own) {
    i64 partners = 0;
    for (NamedDimension e : own) partners += rename_one(d, needed) == rename_one(e, needed);
    require<DimError>(partners == 1, str(), ": renaming makes two of its dims '",
                      rename_one(d, needed), "'");
  }
  const NamedLinop fresh = node_->renamed(needed, node_);
  fresh.share_origin(*node_, false);
  return fresh;
}

NamedLinop NamedLinop::relabelled(const Node::P& self, const Renames& renames) {
  const NamedShape s = self->shape();
  return Relabel{NamedLinop(self), NamedShape(tessera::rename(s.ishape, renames),
                                              tessera::rename(s.oshape, renames))};
}

void NamedLinop::refuse_cut(const Node& self, const Cut& cut) {
  throw SplitError(cat(self.kind(), " ", self.shape().str(), " cannot be cut along dim '", cut.dim,
                       "': it mixes along it"));
}

NamedLinop NamedLinop::split(const Tile& tile) const {
  Tile needed;
  const Dims own = dims();
  for (const Cut& c : tile.cuts) {
    require<DimError>(contains(own, c.dim), str(), ": no dim '", c.dim, "' to split along; it has ",
                      to_text(own));
    const std::optional<i64> n = size(c.dim);
    require<SplitError>(c.start >= 0 && c.start < c.stop && (!n || c.stop <= *n), str(),
                        ": the slice ", c.start, ":", c.stop, " of dim '", c.dim,
                        n ? cat("' is empty or beyond its size ", *n) : "' is empty");
    if (!n || c.size() != *n) needed.cuts.push_back({c.dim, c.start, c.stop, n ? n : c.whole});
  }
  if (needed.empty()) return *this;
  const NamedLinop part = node_->split(needed, node_);
  part.share_start(*node_);
  return part.with_name_of(*this);
}

// One walk over an operator and its parts. What was one operator, or an operator and its adjoint,
// is so again among the new ones: their origins get new numbers, the same for the same. What is
// moved keeps its start event; a copy has new ones, to which its transfers listen where they
// listened to the old ones.
struct NamedLinop::Mapping {
  const std::function<Array(const Array&)>& change;
  std::optional<Device> device;
  std::map<std::uint64_t, std::uint64_t> origins{};
  std::map<const Node*, NamedLinop> done{};
  std::map<const StartEvent*, std::shared_ptr<StartEvent>> starts{};
  std::vector<std::pair<RepeatedEvent, RepeatedEvent>> events{};  // of a copy: old and new

  void renew_starts(const NamedLinop& a) {
    const StartEvent& start = *a.node_->state->start;
    const auto old = start.asked();
    if ((old || start.listener()) && !starts.contains(&start)) {
      std::optional<RepeatedEvent> fresh;
      if (old) {
        fresh = old->device() ? RepeatedEvent(*old->device()) : RepeatedEvent();
        events.emplace_back(*old, *fresh);
      }
      starts.emplace(&start, std::make_shared<StartEvent>(fresh));
    }
    for (const NamedLinop& part : a.parts()) renew_starts(part);
  }
  // Those of the copy listen to its own events where they listened to those of the original.
  void renew_listeners() {
    for (const auto& [was, is] : starts) {
      std::optional<RepeatedEvent> event = was->listener();
      if (!event) continue;
      for (const auto& [old, fresh] : events)
        if (*event == old) {
          event = fresh;
          break;
        }
      is->listen_to(event);
    }
  }

  // A copy of what holds no arrays but records or awaits an event that is new.
  Node::P renewed(const NamedLinop& a) const {
    return starts.contains(a.node_->state->start.get()) ? a.node_->clone() : nullptr;
  }

  NamedLinop operator()(const NamedLinop& a) {
    const Node& was = *a.node_;
    if (const auto known = done.find(&was); known != done.end()) return known->second;
    if (device)
      if (const auto own = was.own_to(*device))
        return done.emplace(&was, own->with_name_of(a)).first->second;
    Node::P made = was.changed(
        [this](Array& x) {
          if (!x) return false;
          Array y = change(x);
          const bool other = !(y.storage() == x.storage() && y.layout() == x.layout());
          require<PlanError>(y.shape() == x.shape() && y.dtype() == x.dtype(), "an array of shape ",
                             x.shape(), " of ", x.dtype(), " cannot be replaced by one of shape ",
                             y.shape(), " of ", y.dtype());
          x = std::move(y);
          return other;
        },
        [this](NamedLinop& part) {
          const NamedLinop fresh = (*this)(part);
          const bool other = !(fresh == part);
          part = fresh;
          return other;
        });
    if (!made) made = renewed(a);
    if (made) {
      const NodeState& from = *was.state;
      NodeState& to = *made->state;
      to.start = device ? from.start : starts.emplace(from.start.get(), to.start).first->second;
      to.origin = origins.emplace(from.origin, to.origin).first->second;
      to.flipped = from.flipped;
      to.notes = from.notes;
      to.label = from.label;
    }
    return done.emplace(&was, made ? NamedLinop(made) : a).first->second;
  }
};

NamedLinop NamedLinop::mapped(const std::function<Array(const Array&)>& change,
                              std::optional<Device> device) const {
  Mapping mapping{change, device};
  if (!device) {
    mapping.renew_starts(*this);
    mapping.renew_listeners();
  }
  return mapping(*this);
}

namespace {

// What `f` gives for the name of an operator, which is made where an error shows it: planning asks
// for shapes thousands of times, and texts take longer than all the rest.
template <class F>
auto named_in_errors(const NamedLinop& a, const F& f) {
  try {
    return f(std::string_view());
  } catch (const DimError&) {
    return f(std::string_view(a.str()));
  }
}

}  // namespace

void NamedLinop::check_input(const Shape& input) const {
  const Binding b =
      named_in_errors(*this, [&](std::string_view who) { return bind_dims(who, ishape(), input); });
  for (i64 i = 0; i < b.dims.size(); ++i) {
    const std::optional<i64> n = size(b.dims[i]);
    if (!n || *n == b.sizes[i]) continue;
    throw DimError(cat(str(), " on an array of shape ", input, ": dim '", b.dims[i], "' is ", *n,
                       " (set by the operator), axis ",
                       axis_of(ishape(), b.dims[i], input.size()).value_or(i), " has ",
                       b.sizes[i]));
  }
}

Shape NamedLinop::output_shape(const Shape& input) const {
  check_input(input);
  if (const std::optional<Shape> own = node_->output_shape(input)) return *own;
  return named_in_errors(*this, [&](std::string_view who) {
    return sizes_of(who, oshape(), bind_dims(who, ishape(), input),
                    [this](NamedDimension d) { return size(d); });
  });
}

void NamedLinop::check_views(const Recorder& r, const View& x, const View& y) const {
  const Shape expected = output_shape(x.shape());
  if (expected != y.shape())
    throw ShapeError(
        cat(str(), ": gives an array of shape ", expected, ", the output has ", y.shape()));
  if (const auto d = device(); d && !r.reaches(*d, r.device(x)))
    throw DeviceError(
        cat(str(), " is on ", *d, ", the input on ", r.device(x), "; move one with to()"));
}

void NamedLinop::record_add(Recorder& r, const View& x, const View& y) const {
  if (output_dtype(x.dtype) == y.dtype) {
    const Recorder::Listening listening(r, input_listener());
    Recorder::Scope scope(r, str(), x, y);
    check_views(r, x, y);
    if (node_->apply_add(r, x, y)) {
      for (const std::string& n : notes()) r.note(n);
      return;
    }
    scope.withdraw();
  }
  const View t = r.temporary(y.shape(), y.dtype, r.device(y));
  record(r, x, t);
  record::add(r, y, t, y);
}

void NamedLinop::record(Recorder& r, const View& x, const View& y) const {
  const bool outermost = r.outermost();
  if (outermost)
    for (const RepeatedEvent& e : start_events()) r.starts(e);
  const Recorder::Listening listening(r, input_listener());
  const Recorder::Scope scope(r, str(), x, y);
  for (const std::string& n : notes()) r.note(n);
  check_views(r, x, y);
  require<DTypeError>(!outermost || !is_complex(x.dtype) || !takes_real(*this), str(),
                      ": takes real numbers, got ", x.dtype);
  const DType natural = output_dtype(x.dtype);
  if (natural == y.dtype) return node_->apply(r, x, y);
  require<DTypeError>(can_cast_same_kind(natural, y.dtype), str(), " on ", x.dtype, " gives ",
                      natural, ", which the output of ", y.dtype, " cannot hold");
  const View t = r.temporary(y.shape(), natural, r.device(y));
  node_->apply(r, x, t);
  record::copy(r, t, y);
}

Array NamedLinop::to_dense(const Shape& input, DType dtype) const {
  const i64 columns = count_of(input), rows = count_of(output_shape(input));
  const Device where = device().value_or(cpu);
  const Array dense = Array::empty({rows, columns}, output_dtype(dtype), output_device(where));
  for (i64 j = 0; j < columns; ++j) {
    const Array x(Storage::allocate(where, columns * size_of(dtype)), Layout::contiguous(input),
                  dtype);
    x.fill(Value(0));
    x.reshape({columns}).select(0, j).fill(Value(1));
    dense.select(1, j).copy_from((*this)(x).reshape({rows}));
  }
  return dense;
}

NamedLinop operator*(const NamedLinop& a, const NamedLinop& b) { return chain({b, a}); }
NamedLinop operator+(const NamedLinop& a, const NamedLinop& b) { return sum({a, b}); }
NamedLinop operator-(const NamedLinop& a, const NamedLinop& b) { return sum({a, -b}); }
NamedLinop operator-(const NamedLinop& a) { return Value(-1.0) * a; }
NamedLinop operator*(const Value& c, const NamedLinop& a) {
  return chain({a, Scalar(c, a.oshape())});
}
NamedLinop operator*(const NamedLinop& a, const Value& c) {
  return chain({Scalar(c, a.ishape()), a});
}

}  // namespace tessera
