// SPDX-License-Identifier: Apache-2.0
#pragma once
// How long an operation takes on a device: curves of measured points, one for each device,
// operation and dtype (products have three: of square and of tall matrices, and of stacks; systems
// have two: with one right-hand side and with several), read between the points;
// and how long arrays take from one device to another, which data that lie in the right place do
// not pay. Pure: calibrate.hpp measures, auto_solver.hpp decides; tests invent machines.
//   model.seconds(cpu, {Operation::matmul, DType::f32, 512, 512, 512})

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/dtype.hpp"
#include "tessera/device/device.hpp"

namespace tessera {

enum class Operation : std::uint8_t {
  elementwise,  // m elements
  reduce,       // m elements
  matvec,       // (m, k) times k
  matmul,       // (m, k) times (k, n)
  bit_matmul,   // the same in bits
  solve,        // (m, m) with n right-hand sides
  inverse,      // (m, m)
  cholesky,     // (m, m)
  qr,           // (m, n)
  eigh,         // (m, m)
  eig,          // (m, m)
  svd           // (m, n)
};
inline constexpr int operation_count = 12;
TESSERA_API std::string_view name(Operation op);
TESSERA_API std::optional<Operation> parse_operation(std::string_view name);

struct Workload {
  Operation op;
  DType dtype;
  i64 m = 1, n = 1, k = 1;
  i64 batch = 1;
  bool triangular = false;  // solve, inverse: by substitution
  // Short kernels beside the operation itself, which small problems are made of: a packed matrix is
  // brought into another form row by row, a determinant multiplies a diagonal and looks for signs.
  double steps = 0;
};

// The leading count of floating-point operations, or of elements where the memory decides: the
// scale on which an operation's curve is drawn. A batch counts as often as it is long.
TESSERA_API double work(const Workload& problem);
// What is read and written at least, and the operands alone.
TESSERA_API double touched_bytes(const Workload& problem);
TESSERA_API double operand_bytes(const Workload& problem);

// Libraries multiply long matrices at other rates than square ones of as much work, so both are
// measured: (16 n, n) times (n, n) stands for all that are long.
inline constexpr i64 tall_aspect = 16;
// How long the matrices of a product are: 0 for square ones, 1 for those whose longest side is
// tall_aspect times the shortest one or more, logarithmic between; 0 for all other operations.
TESSERA_API double tallness(const Workload& problem);

// Many small products at once run at other rates than one of as much work: the host gives each to a
// thread, libraries of GPUs all to one call. So stacks of this many are measured as well.
inline constexpr i64 stack_length = 32;

// Right-hand sides have a rate of their own beside the factorization, small systems another than
// large ones of as much work: systems with this many are measured beside those with one.
inline constexpr i64 system_columns = 32;

// What a curve of products or systems is drawn of.
enum class Pattern : std::uint8_t { plain, tall, stack, columns };
// The curve to which a measurement belongs: of stacks where there is more than one product, else
// that of square or of tall matrices, whichever it is nearer to; of systems with several right-hand
// sides where there is more than one.
TESSERA_API Pattern pattern_of(const Workload& problem);

// Seconds over work, straight between measured points when both are drawn as logarithms. Below the
// first point an operation takes as long as there (the overhead of a call); beyond the last one the
// time grows between as it did and as the work does.
class TESSERA_API Curve {
 public:
  struct Point {
    double work, seconds;
  };
  // A point of the same work replaces the earlier one; points with less work that took longer are
  // brought down to it. ArgumentError for numbers that are not positive and finite.
  void add(double work, double seconds);
  double seconds(double work) const;
  const std::vector<Point>& points() const { return points_; }

 private:
  std::vector<Point> points_;  // ascending work
};

class TESSERA_API CostModel {
 public:
  // On the curve of its pattern. Stacks of products are of stack_length, several right-hand sides
  // are system_columns.
  void add(Device device, const Workload& problem, double seconds);
  // Bytes per second of a device's own memory: nothing that fits no cache is quicker than that.
  void set_memory_rate(Device device, double bytes_per_second);
  // An array of so many bytes in memory that is not pinned, from one device to another.
  void add_move(Device from, Device to, double bytes, double seconds);
  std::optional<double> move_seconds(Device from, Device to, double bytes) const;
  // Nothing where neither this dtype nor one that stands for it (stand_in) was measured there. A
  // product that is a little long takes a time between those of square and of tall ones, a short
  // stack one between those of a single product and of a measured stack; a longer stack one between
  // as many measured ones as it is longer and one measured stack of as much work. Each further
  // right-hand side of a system takes as long as each of those that were measured. Steps take as
  // long as the shortest element-wise operation of any dtype: they are calls, not arithmetic.
  std::optional<double> seconds(Device device, const Workload& problem) const;
  // Work per second of float64 products over that of float32, each at its best: a disturbed point
  // does not count. Nothing when not measured.
  std::optional<double> double_rate(Device device) const;
  bool knows(Device device) const;

  // Lines of text that parse() reads; IoError for text of another kind, version or with damage.
  std::string text() const;
  static CostModel parse(std::string_view text);

 private:
  struct Row {
    Device device;
    Operation op;
    DType dtype;
    Pattern pattern;
    Curve curve;
  };
  // What is known of an operation on a device. No curve of tall ones: they count as square; none of
  // stacks: as many calls, or one over all the work, whichever is quicker; none of systems with
  // several right-hand sides: they count as a larger matrix of as much work.
  struct Known {
    const Curve *plain = nullptr, *tall = nullptr, *stack = nullptr, *columns = nullptr;
    double seconds(double work, double tallness) const;
    double single_seconds(const Workload& one) const;
    double stack_seconds(const Workload& problem) const;
  };
  struct Memory {
    Device device;
    double bytes_per_second;
  };
  struct Route {
    Device from, to;
    Curve curve;
  };
  const Curve* find(Device device, Operation op, DType dtype,
                    Pattern pattern = Pattern::plain) const;
  Curve& curve(Device device, Operation op, DType dtype, Pattern pattern);
  Known known(Device device, Operation op, DType dtype) const;
  double step_seconds(Device device) const;  // 0 where nothing was measured

  std::vector<Row> rows_;
  std::vector<Memory> memories_;
  std::vector<Route> routes_;
};

// The dtype whose curve is read for one that is not measured itself: the next longer float for
// short floats, the longer complex in factorizations, and what has as many bytes where nothing but
// the memory decides (integers, complex64).
TESSERA_API DType stand_in(Operation op, DType dtype);

}  // namespace tessera
