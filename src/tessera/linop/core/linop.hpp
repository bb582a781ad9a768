// SPDX-License-Identifier: Apache-2.0
#pragma once
// A linear operator with named input and output: a small value handle over a shared immutable node.
// Any struct that satisfies the concept of operator.hpp becomes one; users never derive from
// anything. Applying records a plan once per (layout, dtype, device) and runs it afterwards.
//   NamedLinop A = FFT(2) * Diagonal(w, dims("NxNy"));   Array y = A(x);   Array g = A.N()(x);

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tessera/linop/core/binding.hpp"
#include "tessera/linop/core/offers.hpp"
#include "tessera/linop/core/operator.hpp"
#include "tessera/linop/core/state_writer.hpp"
#include "tessera/plan/plan.hpp"

namespace tessera {

namespace dist {
class DNDarray;  // distributed/array/dnd_array.hpp
}

struct PlanOptions {
  Shape shape;               // of the input
  DType dtype = DType::c64;  // of the input
  Device device = cpu;       // where input and output live
  // Where to compute: empty = on `device`; several = the cheapest of them.
  std::vector<Device> run_on{};
};

class TESSERA_API NamedLinop {
 public:
  template <Operator T>
  requires(!std::same_as<T, NamedLinop>) NamedLinop(T op)
      : node_(std::make_shared<Model<T>>(std::move(op))) {
    if constexpr (requires(const Model<T>& m) { m.op.input_listener; })
      if (const auto& event = static_cast<const Model<T>&>(*node_).op.input_listener)
        listen_to(event);
    static_assert(
        AdjointByValue<T> || AdjointByCall<T>,
        "an operator states its adjoint: adjoint() or apply_adjoint(Recorder&, View y, View x)");
  }

  std::string_view kind() const { return node_->kind(); }  // "Diagonal"
  // The name it was given, "L"; "L.H" and "L.N" for what is made of it; its kind without one.
  std::string name() const;
  NamedLinop named(std::string name) const;  // the same operator under another name
  NamedLinop copy() const;  // the same operator again: arrays shared, nothing cached
  // The same with memory of its own; arrays that shared memory share it in the copy.
  NamedLinop deep_copy() const;
  // The same operator with each of its arrays, and those of its parts, replaced by what `change`
  // gives for it: same shape and dtype. Nothing cached is carried over; an operator and its adjoint
  // inside remain each other's. For a move to `device`, operators that move in a way of their own
  // do so.
  NamedLinop mapped(const std::function<Array(const Array&)>& change,
                    std::optional<Device> device = {}) const;
  NamedShape shape() const { return node_->shape(); }
  Dims ishape() const { return shape().ishape; }
  Dims oshape() const { return shape().oshape; }
  Dims dims() const;  // of both sides and, in a chain, between its parts; each once
  std::optional<i64> size(NamedDimension d) const { return node_->size(d); }
  // The dim of the other side that is as long as d under another name, whatever the input: an FFT's
  // frequencies of its grid.
  std::optional<NamedDimension> same_size(NamedDimension d) const { return node_->same_size(d); }
  std::optional<Device> device() const {
    return node_->device();
  }                          // of its arrays; nullopt: anywhere
  std::string str() const;   // "Diagonal (Nx,) -> (Nx,)", "L: Diagonal (Nx,) -> (Nx,)"
  std::string tree() const;  // with its parts, one a line
  std::string details() const { return node_->details(); }  // "weight (5,) float32"
  std::vector<Array> arrays() const;                        // what it and its parts hold
  i64 bytes() const;  // of these arrays; memory that several share counts once
  std::vector<NamedLinop> parts() const { return node_->parts(); }
  // What was rewritten to make it, and why; part of explain().
  const std::vector<std::string>& notes() const;
  NamedLinop noted(std::vector<std::string> notes) const;  // the same operator with other notes
  // The struct behind the handle, when it is a T.
  template <class T>
  const T* as() const {
    auto* model = dynamic_cast<const Model<T>*>(node_.get());
    return model ? &model->op : nullptr;
  }

  // Recorded whenever an application of it starts, alone or as part of a larger operator: once the
  // input of the whole is ready, before anything of it begins. What listens to it (ToDevice) starts
  // with that application or after it. Shared with what is made of this operator: its adjoint, its
  // normal, its parts, the same moved or under other names; a deep copy has one of its own, which
  // its own transfers listen to. A Plan made before the event was asked for does not record it.
  RepeatedEvent start_event() const;
  // The same operator, which records this event; so a part made before can listen to the whole.
  NamedLinop with_start_event(RepeatedEvent event) const;
  // Those that were asked for, of this operator and its parts.
  std::vector<RepeatedEvent> start_events() const;
  // What it computes or sends starts after the latest record of this event at the time of the call:
  // "not before", in either direction. Set at any time, for this operator and for what shares its
  // start event, also inside of others that were made of it before, unless rewriting merged it with
  // a neighbour then. A Plan made before it was set does not know of it.
  std::optional<RepeatedEvent> input_listener() const;
  void listen_to(std::optional<RepeatedEvent> event) const;
  bool listens() const;  // it or one of its parts
  // It has something to wait for that the plan does not wait for anyway: then its transfer is one
  // of its own, not shared with others that were sent at other times.
  bool waits_apart(const Recorder& r) const {
    const std::optional<RepeatedEvent> event = input_listener();
    return event && !r.starts_with(*event);
  }

  NamedLinop H() const;                              // made once: A.H().H() == A
  NamedLinop N() const;                              // A.H A, simplified
  NamedLinop normal(const NamedLinop& inner) const;  // A.H inner A
  // What the operator itself states: acts point by point, with the input's names on both sides.
  std::optional<NamedLinop> own_normal() const { return node_->own_normal(); }
  // The same for A.H inner A.
  std::optional<NamedLinop> own_normal(const NamedLinop& inner) const {
    return node_->own_normal(inner);
  }
  // What it offers to rewriting, lowering and joining of tiles.
  Offers offers() const { return node_->offers(); }
  bool isometry() const { return node_->isometry(); }  // A.H A is the identity
  // Linear over the reals only: its adjoint is that of the inner product Re<x, y>.
  bool real_linear() const { return node_->real_linear(); }
  // This operator is `a`'s adjoint, under whatever names: both come from one operator.
  bool is_adjoint_of(const NamedLinop& a) const;
  NamedLinop rename(const Renames& renames) const;
  // The part of the operator between a part of its input and a part of its output. Summed over the
  // tiles of a dim that the output does not have, the parts give the whole. SplitError for a dim
  // that cannot be cut.
  NamedLinop split(const Tile& tile) const;
  NamedLinop adj_split(const Tile& tile) const { return H().split(tile).H(); }
  NamedLinop to(Device device) const;

  // Sizes and dtypes: checked, with a sentence that names the operator and the dim.
  Shape output_shape(const Shape& input) const;
  DType output_dtype(DType input) const { return node_->output_dtype(input); }
  Device output_device(Device input) const { return node_->output_device(input); }

  Array operator()(const Array& x) const;
  void operator()(const Array& x, const Array& out) const;
  // Over the ranks of a distributed array, along the named dims: see
  // distributed/operators/apply.hpp.
  dist::DNDarray operator()(const dist::DNDarray& x) const;
  Plan plan(const PlanOptions& options) const;
  std::string explain(const PlanOptions& options) const { return plan(options).explain(); }
  // y = A x as steps of a larger plan; casts when the kernel's result has another dtype than y.
  void record(Recorder& r, const View& x, const View& y) const;
  // y += A x: without a temporary where the operator knows how.
  void record_add(Recorder& r, const View& x, const View& y) const;
  Array to_dense(const Shape& input, DType dtype) const;  // small operators: (outputs, inputs)

  // What it holds, for describe() of state.hpp; false, with nothing written, when it does not say.
  bool write_state(StateWriter& w) const { return node_->write_state(w); }

  friend bool operator==(const NamedLinop& a, const NamedLinop& b) { return a.node_ == b.node_; }
  const void* id() const { return node_.get(); }
  std::uint64_t serial() const;  // as id(), and never that of another operator that came later
  // What a later layer remembers of this operator: made at the first call, kept as long as the
  // operator lives. It must not own the operator itself; a copy() it may.
  using Companion = std::shared_ptr<void>;
  Companion companion(Companion (*make)()) const;

 private:
  friend struct Adjoint;
  class CallPlans;   // call_plans.hpp
  struct NodeState;  // node_state.hpp
  struct Node {
    using P = std::shared_ptr<const Node>;
    Node();
    virtual ~Node();
    virtual std::string_view kind() const = 0;
    virtual NamedShape shape() const = 0;
    virtual Dims dims() const = 0;
    virtual std::optional<i64> size(NamedDimension) const = 0;
    virtual std::optional<NamedDimension> same_size(NamedDimension) const = 0;
    virtual std::optional<Device> device() const = 0;
    virtual std::string details() const = 0;
    virtual std::string label() const = 0;
    virtual std::vector<Array> arrays() const = 0;
    virtual std::vector<NamedLinop> parts() const = 0;
    virtual std::optional<Shape> output_shape(const Shape&) const = 0;
    virtual DType output_dtype(DType) const = 0;
    virtual DType adjoint_dtype(DType) const = 0;
    virtual Device output_device(Device) const = 0;
    virtual bool isometry() const = 0;
    virtual bool real_linear() const = 0;
    virtual void apply(Recorder&, const View&, const View&) const = 0;
    virtual bool apply_add(Recorder&, const View&, const View&) const = 0;
    virtual void apply_adjoint(Recorder&, const View&, const View&) const = 0;
    virtual NamedLinop adjoint() const = 0;
    // The same operator in a node of its own. What a node caches (adjoint, normal) must not own the
    // node: it is made of clones.
    virtual P clone() const = 0;
    virtual std::optional<NamedLinop> own_normal() const = 0;
    virtual std::optional<NamedLinop> own_normal(const NamedLinop& inner) const = 0;
    virtual std::optional<NamedLinop> own_to(Device) const = 0;
    // The same operator with arrays and parts changed, null when no change says that it was one.
    virtual P changed(const std::function<bool(Array&)>& array,
                      const std::function<bool(NamedLinop&)>& part) const = 0;
    virtual NamedLinop renamed(const Renames&, const P& self) const = 0;
    virtual NamedLinop split(const Tile&, const P& self) const = 0;
    virtual bool write_state(StateWriter&) const = 0;
    virtual Offers offers() const = 0;
    std::unique_ptr<NodeState> state;
  };
  template <class T>
  struct Model;
  struct Mapping;

  explicit NamedLinop(Node::P node) : node_(std::move(node)) {}
  void check_input(const Shape& input) const;
  void check_views(const Recorder& r, const View& x, const View& y) const;
  // A copy, a renaming or (flipped) an adjoint that was just made belongs to the same operator.
  void share_origin(const Node& made_from, bool flipped) const;
  void share_start(const Node& made_from) const;
  std::vector<std::optional<RepeatedEvent>> listeners() const;
  NamedLinop with_name_of(const NamedLinop& a) const;
  static NamedLinop copy_of(const Node& node);  // of the same origin, nothing cached
  static NamedLinop relabelled(const Node::P& self, const Renames& renames);
  [[noreturn]] static void refuse_cut(const Node& self, const Cut& cut);

  Node::P node_;
};

TESSERA_API NamedLinop operator*(const NamedLinop& a, const NamedLinop& b);  // b first
TESSERA_API NamedLinop operator+(const NamedLinop& a, const NamedLinop& b);
TESSERA_API NamedLinop operator-(const NamedLinop& a, const NamedLinop& b);
TESSERA_API NamedLinop operator-(const NamedLinop& a);
TESSERA_API NamedLinop operator*(const Value& c, const NamedLinop& a);
TESSERA_API NamedLinop operator*(const NamedLinop& a, const Value& c);

// Adjoint of an operator that gave apply_adjoint().
struct TESSERA_API Adjoint {
  NamedLinop a;
  static constexpr const char* kind = "Adjoint";
  NamedShape shape() const { return a.shape().H(); }
  std::optional<i64> size(NamedDimension d) const { return a.size(d); }
  std::optional<NamedDimension> same_size(NamedDimension d) const { return a.same_size(d); }
  void apply(Recorder& r, const View& x, const View& y) const { a.node_->apply_adjoint(r, x, y); }
  NamedLinop adjoint() const { return a; }
  DType output_dtype(DType t) const { return a.node_->adjoint_dtype(t); }
  std::optional<Device> device() const { return a.device(); }
  NamedLinop renamed(const Renames& r) const { return a.rename(r).H(); }
  NamedLinop split(const Tile& t) const { return a.split(t).H(); }
  std::tuple<NamedLinop> state() const { return {a}; }
  static NamedLinop from_state(const NamedLinop& of) { return of.H(); }
  template <class Self, class F>
  static void each_part(Self& self, F&& f) {
    f(self.a);
  }
};

template <class T>
struct NamedLinop::Model final : Node {
  T op;
  explicit Model(T o) : op(std::move(o)) {}
  std::string_view kind() const override { return T::kind; }
  NamedShape shape() const override { return op.shape(); }
  Dims dims() const override {
    if constexpr (requires { op.dims(); })
      return op.dims();
    else
      return dims_of(op.shape());
  }
  std::optional<i64> size(NamedDimension d) const override {
    if constexpr (requires { op.size(d); })
      return op.size(d);
    else
      return std::nullopt;
  }
  std::optional<NamedDimension> same_size(NamedDimension d) const override {
    if constexpr (requires { op.same_size(d); })
      return op.same_size(d);
    else if constexpr (requires { T::keeps_sizes; })
      return across(op.shape(), d);
    else
      return std::nullopt;
  }
  std::optional<Device> device() const override {
    if constexpr (requires { op.device(); })
      return op.device();
    else
      return std::nullopt;
  }
  std::string details() const override {
    if constexpr (requires { op.details(); })
      return op.details();
    else
      return {};
  }
  std::string label() const override {
    if constexpr (requires { op.label; })
      return op.label;
    else
      return {};
  }
  std::vector<Array> arrays() const override {
    std::vector<Array> all;
    if constexpr (HoldsArrays<T>) T::each_array(op, [&](const Array& a) { all.push_back(a); });
    return all;
  }
  std::vector<NamedLinop> parts() const override {
    if constexpr (requires { op.parts(); }) {
      return op.parts();
    } else {
      std::vector<NamedLinop> all;
      if constexpr (HoldsParts<T>) T::each_part(op, [&](const NamedLinop& a) { all.push_back(a); });
      return all;
    }
  }
  std::optional<Shape> output_shape(const Shape& in) const override {
    if constexpr (requires { op.output_shape(in); })
      return op.output_shape(in);
    else
      return std::nullopt;
  }
  DType output_dtype(DType t) const override {
    if constexpr (requires { op.output_dtype(t); })
      return op.output_dtype(t);
    else
      return t;
  }
  DType adjoint_dtype(DType t) const override {
    if constexpr (requires { op.adjoint_dtype(t); })
      return op.adjoint_dtype(t);
    else
      return output_dtype(t);
  }
  Device output_device(Device d) const override {
    if constexpr (requires { op.output_device(d); })
      return op.output_device(d);
    else
      return d;
  }
  bool isometry() const override {
    if constexpr (requires { op.isometry(); })
      return op.isometry();
    else
      return false;
  }
  bool real_linear() const override {
    if constexpr (requires { T::real_linear; })
      return T::real_linear;
    else if constexpr (requires { op.is_real_linear(); })
      return op.is_real_linear();
    else
      return false;
  }
  void apply(Recorder& r, const View& x, const View& y) const override { op.apply(r, x, y); }
  bool apply_add([[maybe_unused]] Recorder& r, [[maybe_unused]] const View& x,
                 [[maybe_unused]] const View& y) const override {
    if constexpr (requires { op.apply_add(r, x, y); })
      return op.apply_add(r, x, y);
    else
      return false;
  }
  void apply_adjoint(Recorder& r, const View& y, const View& x) const override {
    if constexpr (AdjointByCall<T>)
      op.apply_adjoint(r, y, x);
    else
      NamedLinop(op.adjoint()).record(r, y, x);
  }
  NamedLinop adjoint() const override {
    if constexpr (AdjointByValue<T>)
      return op.adjoint();
    else
      return Adjoint{copy_of(*this)};
  }
  Node::P clone() const override { return std::make_shared<Model<T>>(op); }
  std::optional<NamedLinop> own_normal() const override {
    if constexpr (requires { op.normal(); })
      return op.normal();
    else
      return std::nullopt;
  }
  std::optional<NamedLinop> own_normal([[maybe_unused]] const NamedLinop& inner) const override {
    if constexpr (requires { op.normal(inner); })
      return op.normal(inner);
    else
      return std::nullopt;
  }
  std::optional<NamedLinop> own_to([[maybe_unused]] Device d) const override {
    if constexpr (requires { op.to(d); })
      return op.to(d);
    else
      return std::nullopt;
  }
  Node::P changed([[maybe_unused]] const std::function<bool(Array&)>& array,
                  [[maybe_unused]] const std::function<bool(NamedLinop&)>& part) const override {
    if constexpr (HoldsArrays<T> || HoldsParts<T>) {
      auto fresh = std::make_shared<Model<T>>(op);
      bool any = false;
      if constexpr (HoldsArrays<T>)
        T::each_array(fresh->op, [&](Array& a) { any = array(a) || any; });
      if constexpr (HoldsParts<T>)
        T::each_part(fresh->op, [&](NamedLinop& a) { any = part(a) || any; });
      if (any) return fresh;
    }
    return nullptr;
  }
  NamedLinop renamed(const Renames& r, const Node::P& self) const override {
    if constexpr (requires { op.renamed(r); })
      return op.renamed(r);
    else
      return relabelled(self, r);
  }
  bool write_state([[maybe_unused]] StateWriter& w) const override {
    if constexpr (requires { op.state(); }) w.put_all(op.state());
    return requires { op.state(); };
  }
  Offers offers() const override { return {offer_table<T>, &op}; }
  NamedLinop split(const Tile& t, const Node::P& self) const override {
    if constexpr (requires { op.split(t); }) {
      return op.split(t);
    } else {
      const NamedShape s = op.shape();
      for (const Cut& c : t.cuts)
        if (!contains(s.ishape, c.dim) || !contains(s.oshape, c.dim) || size(c.dim))
          refuse_cut(*this, c);
      return NamedLinop(self);
    }
  }
};

// The nodes of the library's own operators are compiled once, in core/readers.cpp: their headers say
// so as this one does. The node of an operator from elsewhere is compiled where it is used.
extern template struct NamedLinop::Model<Adjoint>;

}  // namespace tessera
