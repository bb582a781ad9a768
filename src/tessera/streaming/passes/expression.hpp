// SPDX-License-Identifier: Apache-2.0
#pragma once
// Element-wise formulas over stores, which are evaluated box by box when something runs over them:
// nothing is read or computed here. Shapes broadcast and dtypes promote as those of arrays do. A
// part that occurs twice is computed once, a store that occurs twice is read once.
//   Expression d = Expression(a) - b;   Array s = sum(d * d, {}, {.budget = 1 << 20});

#include <array>
#include <memory>
#include <vector>

#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/streaming/plan/stream_plan.hpp"

namespace tessera::streaming {

class TESSERA_API Expression {
 public:
  Expression(StorePtr store);
  Expression(const Array& array);  // of host memory; shared, not copied
  Expression(const Value& value);
  Expression(double value) : Expression(Value(value)) {}
  static Expression apply(ElementOp op, std::span<const Expression> inputs);
  Expression as(DType dtype) const;  // converted as astype() does

  const Shape& shape() const;
  DType dtype() const;
  StorePtr store() const;  // that it is, with nothing to compute; otherwise none
  // As TileStore::version(): the formula and the numbers that it is over; "" where a store is one
  // that cannot say.
  std::string version() const;

 private:
  friend class Program;
  struct Node;
  explicit Expression(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
  std::shared_ptr<const Node> node_;
};

TESSERA_API Expression operator+(const Expression& a, const Expression& b);
TESSERA_API Expression operator-(const Expression& a, const Expression& b);
TESSERA_API Expression operator*(const Expression& a, const Expression& b);
TESSERA_API Expression operator/(const Expression& a, const Expression& b);
TESSERA_API Expression power(const Expression& a, const Expression& b);

// The elements of an array of another shape that broadcasting puts beside a box.
TESSERA_API Box beside(const Box& box, const Shape& shape);

// An expression as a list of operations over registers, for boxes of at most so many elements.
class TESSERA_API Program {
 public:
  explicit Program(const Expression& expression);
  const std::vector<StorePtr>& sources() const { return sources_; }
  const Shape& shape() const { return shape_; }
  DType dtype() const { return dtype_; }
  // Bytes of the registers for boxes of so many elements, in whole lines of the cache.
  i64 register_bytes(i64 elements) const;
  i64 operations() const { return static_cast<i64>(code_.size()); }
  bool is_source() const { return code_.empty(); }  // the expression is a store and nothing else

  // What a source holds of the box of a step, in memory.
  struct Part {
    Array array;
    Box box;
  };
  // Elements `box` of source 0: for programs without operations.
  Array source(std::span<const Part> parts, const Box& box) const;
  // The result of `box`, into `out` of its shape; `registers` is memory of register_bytes().
  void run(std::span<const Part> parts, const Box& box, const Array& registers,
           const Array& out) const;

 private:
  struct Argument {
    enum class Kind : std::uint8_t { source, reg, value } kind;
    std::size_t index = 0;
    Value value;
  };
  struct Instruction {
    ElementOp op;
    std::vector<Argument> arguments;
    i64 reg = -1;  // -1: the result
    DType dtype;
    Shape shape;  // of the whole
  };
  struct Compiler;

  std::vector<StorePtr> sources_;
  std::vector<Instruction> code_;
  Shape shape_;
  DType dtype_ = DType::f32;
  i64 registers_ = 0, widest_ = 1;
};

// Elements `box` of a part that holds them.
Array part_within(const Program::Part& part, const Box& box);

}  // namespace tessera::streaming
