// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/passes/expression.hpp"

#include <algorithm>
#include <bit>
#include <map>

#include "tessera/base/hash.hpp"
#include "tessera/kernels/eager.hpp"

namespace tessera::streaming {

struct Expression::Node {
  StorePtr store;  // of leaves
  bool is_value = false;
  Value value;
  ElementOp op = ElementOp::copy;
  std::vector<std::shared_ptr<const Node>> inputs;
  Shape shape;
  DType dtype = DType::f32;
};

Expression::Expression(StorePtr store) {
  require<ArgumentError>(store != nullptr, "expression: no store was given");
  Node n;
  n.shape = store->grid().shape();
  n.dtype = store->grid().dtype();
  n.store = std::move(store);
  node_ = std::make_shared<const Node>(std::move(n));
}

Expression::Expression(const Array& array)
    : Expression(store::memory_store(
          array, store::TileGrid::rows(array.shape(), array.dtype()).tile_shape())) {}

Expression::Expression(const Value& value) {
  Node n;
  n.is_value = true;
  n.value = value;
  n.dtype = value.dtype();
  node_ = std::make_shared<const Node>(std::move(n));
}

Expression Expression::apply(ElementOp op, std::span<const Expression> inputs) {
  require<ArgumentError>(static_cast<i64>(inputs.size()) == arity(op), name(op), ": takes ",
                         arity(op), " operands, got ", inputs.size());
  Node n;
  n.op = op;
  std::vector<ArrayOrValue> empty;  // arrays know what dtype they would give, or why they refuse
  for (const Expression& e : inputs) {
    n.inputs.push_back(e.node_);
    n.shape = broadcast_shapes(n.shape, e.node_->shape);
    if (e.node_->is_value)
      empty.emplace_back(e.node_->value);
    else
      empty.emplace_back(Array::empty({0}, e.node_->dtype));
  }
  n.dtype = elementwise(op, empty).dtype();
  return Expression(std::make_shared<const Node>(std::move(n)));
}

Expression Expression::as(DType dtype) const {
  if (dtype == node_->dtype) return *this;
  require<ArgumentError>(!node_->is_value, "expression: a number alone has no dtype to convert");
  Node n;
  n.inputs.push_back(node_);
  n.shape = node_->shape;
  n.dtype = dtype;
  return Expression(std::make_shared<const Node>(std::move(n)));
}

const Shape& Expression::shape() const { return node_->shape; }
DType Expression::dtype() const { return node_->dtype; }
StorePtr Expression::store() const { return node_->store; }

namespace {

// Parts that occur twice are described once; a text of fixed length keeps the whole short.
template <class Node>
std::string version_of(const Node& n, std::map<const Node*, std::string>& known) {
  if (n.store) return n.store->version();
  if (n.is_value) {
    const c128 v = n.value.template as<c128>();
    return cat(name(n.dtype), " ", std::bit_cast<std::uint64_t>(v.re), " ",
               std::bit_cast<std::uint64_t>(v.im), " ",
               n.value.is_integer() ? n.value.template as<i64>() : 0);
  }
  if (const auto found = known.find(&n); found != known.end()) return found->second;
  std::string text = cat(name(n.op), " ", name(n.dtype), " ", n.shape);
  for (const auto& input : n.inputs) {
    const std::string part = version_of(*input, known);
    if (part.empty()) return {};
    text += cat("\n", part.size(), " ", part);
  }
  return known[&n] = cat("formula ", hash_bytes(text.data(), text.size()));
}

Expression both(ElementOp op, const Expression& a, const Expression& b) {
  const std::array<Expression, 2> inputs{a, b};
  return Expression::apply(op, inputs);
}
}  // namespace

std::string Expression::version() const {
  std::map<const Node*, std::string> known;
  return version_of(*node_, known);
}

Expression operator+(const Expression& a, const Expression& b) {
  return both(ElementOp::add, a, b);
}
Expression operator-(const Expression& a, const Expression& b) {
  return both(ElementOp::subtract, a, b);
}
Expression operator*(const Expression& a, const Expression& b) {
  return both(ElementOp::multiply, a, b);
}
Expression operator/(const Expression& a, const Expression& b) {
  return both(ElementOp::divide, a, b);
}
Expression power(const Expression& a, const Expression& b) { return both(ElementOp::power, a, b); }

Box beside(const Box& box, const Shape& shape) {
  Box out;
  const i64 skip = box.begin.size() - shape.size();
  for (i64 d = 0; d < shape.size(); ++d) {
    const bool one = shape[d] == 1;
    out.begin.push_back(one ? 0 : box.begin[skip + d]);
    out.shape.push_back(one ? 1 : box.shape[skip + d]);
  }
  return out;
}

// Walks the formula once; a register is free again after the last operation that needs it.
struct Program::Compiler {
  using Node = Expression::Node;
  Program& program;
  std::map<const Node*, i64> uses = {};
  std::map<const Node*, Argument> done = {};
  std::vector<i64> free = {};

  void count(const Node* n) {
    if (uses[n]++ > 0) return;
    for (const auto& i : n->inputs) count(i.get());
  }
  Argument leaf(const Node* n) {
    if (n->is_value) return {Argument::Kind::value, 0, n->value};
    auto& sources = program.sources_;
    const auto found = std::find(sources.begin(), sources.end(), n->store);
    const auto index = static_cast<std::size_t>(found - sources.begin());
    if (found == sources.end()) sources.push_back(n->store);
    return {Argument::Kind::source, index, {}};
  }
  Argument visit(const Node* n, bool is_result) {
    if (const auto d = done.find(n); d != done.end()) return d->second;
    if (n->inputs.empty()) return leaf(n);
    Instruction in{n->op, {}, -1, n->dtype, n->shape};
    for (const auto& i : n->inputs) in.arguments.push_back(visit(i.get(), false));
    if (!is_result) in.reg = take();
    for (const auto& i : n->inputs) release(i.get());
    const Argument made{
        Argument::Kind::reg, static_cast<std::size_t>(std::max<i64>(in.reg, 0)), {}};
    program.widest_ = std::max(program.widest_, size_of(n->dtype));
    program.code_.push_back(std::move(in));
    done[n] = made;
    return made;
  }
  i64 take() {
    if (free.empty()) return program.registers_++;
    const i64 r = free.back();
    free.pop_back();
    return r;
  }
  void release(const Node* n) {
    const auto d = done.find(n);
    if (d != done.end() && --uses[n] == 0) free.push_back(static_cast<i64>(d->second.index));
  }
};

Program::Program(const Expression& expression)
    : shape_(expression.shape()), dtype_(expression.dtype()) {
  const Expression::Node* root = expression.node_.get();
  require<ArgumentError>(!root->is_value, "expression: a number alone is no array");
  Compiler compiler{*this};
  compiler.count(root);
  compiler.visit(root, true);
}

namespace {
i64 one_register(i64 elements, i64 width) { return (elements * width + 63) / 64 * 64; }
}  // namespace

Array part_within(const Program::Part& part, const Box& box) {
  Array v = part.array;
  for (i64 d = 0; d < box.begin.size(); ++d) {
    const i64 from = box.begin[d] - part.box.begin[d];
    v = v.slice(d, from, from + box.shape[d]);
  }
  return v;
}

i64 Program::register_bytes(i64 elements) const {
  return registers_ * one_register(elements, widest_);
}

Array Program::source(std::span<const Part> parts, const Box& box) const {
  return part_within(parts[0], beside(box, sources_[0]->grid().shape()));
}

namespace {
// As astype converts, whatever is lost.
void convert(const Array& from, const Array& to) {
  const ElementwiseSpec spec{
      .op = ElementOp::copy,
      .compute = from.dtype(),
      .inputs = {{.operand = {from.layout().broadcast_to(to.shape()), from.dtype()},
                  .immediate = {}}},
      .out = operand_of(to)};
  launch_now(&KernelTable::elementwise, "copy", spec, cpu, {&from, &to});
}

void compute(ElementOp op, const std::vector<ArrayOrValue>& inputs, const Array& out) {
  if (op == ElementOp::copy && !inputs[0].is_value()) return convert(inputs[0].array, out);
  elementwise(op, inputs, out);
}
}  // namespace

void Program::run(std::span<const Part> parts, const Box& box, const Array& registers,
                  const Array& out) const {
  if (code_.empty()) return out.copy_from(source(parts, box));
  // What each register holds now: an operation's shape and dtype.
  std::array<Array, 16> few;
  std::vector<Array> many(registers_ > 16 ? static_cast<std::size_t>(registers_) : 0);
  const std::span<Array> held = many.empty() ? std::span<Array>(few) : std::span<Array>(many);
  const i64 width = registers_ > 0 ? registers.size() / registers_ : 0;
  for (const Instruction& in : code_) {
    std::vector<ArrayOrValue> inputs;
    inputs.reserve(in.arguments.size());
    for (const Argument& a : in.arguments) {
      if (a.kind == Argument::Kind::value)
        inputs.emplace_back(a.value);
      else if (a.kind == Argument::Kind::reg)
        inputs.emplace_back(held[a.index]);
      else
        inputs.emplace_back(
            part_within(parts[a.index], beside(box, sources_[a.index]->grid().shape())));
    }
    if (in.reg < 0) {
      compute(in.op, inputs, out);
      continue;
    }
    Layout layout = Layout::contiguous(beside(box, in.shape).shape);
    layout.offset = (registers.layout().offset + in.reg * width) / size_of(in.dtype);
    held[static_cast<std::size_t>(in.reg)] =
        Array(registers.storage(), std::move(layout), in.dtype);
    compute(in.op, inputs, held[static_cast<std::size_t>(in.reg)]);
  }
}

}  // namespace tessera::streaming
