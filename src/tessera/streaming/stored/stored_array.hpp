// SPDX-License-Identifier: Apache-2.0
#pragma once
// An array that is not in memory: its numbers lie in a store (a file, or a function that makes
// them), or are a formula over such arrays that nobody has computed yet. A small value handle;
// copies share what they stand for. Element-wise operations only build the formula; reductions read
// it in one pass, and whoever needs the numbers in a store computes them once, into a file of the
// backing folder that goes with its last handle. All work holds at most stream_budget() bytes.
//   StoredArray a = StoredArray::open("a.tiles"), b = StoredArray::open("b.tiles");
//   Array error = reduce(Reduction::sum, ((a - b) * (a - b)).expression());

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "tessera/streaming/linalg/matmul.hpp"
#include "tessera/streaming/passes/copy.hpp"
#include "tessera/streaming/passes/pass.hpp"
#include "tessera/streaming/plan/job.hpp"

namespace tessera::streaming {

// Bytes of host memory that an operation may hold: what the budget of the cpu leaves
// (set_memory_budget), half of what the machine has to give where there is none.
TESSERA_API i64 stream_budget();
// The same of any device's memory: what its budget leaves, most of what is free where there is none.
TESSERA_API i64 stream_budget(Device device);

class TESSERA_API StoredArray {
 public:
  explicit StoredArray(StorePtr store);
  explicit StoredArray(const Expression& formula);

  // Zeros in a new file: at `path`, where it stays (a .npy file for names that end so, a tiled file
  // otherwise), or in the backing folder, where it goes with the last handle. IoError where there is
  // a file of that name or no space for it.
  static StoredArray create(const Shape& shape, DType dtype, const std::string& path = "");
  // The same in the backing folder, and no part of the disk is taken before it is written.
  static StoredArray zeros(const Shape& shape, DType dtype);
  // A tiled file, a .npy file or a dataset of an HDF5 file (the only one where none is named), read
  // and written in place. IoError for anything else.
  static StoredArray open(const std::string& path, bool writable = false,
                          const std::string& dataset = "");
  // An array of the host where it lies, as an operand or to be written to: nothing is copied.
  static StoredArray in_place(const Array& array);
  // The numbers of an array in a file, as create() makes it.
  static StoredArray from(const Array& array, const std::string& path = "");

  const Shape& shape() const;
  DType dtype() const;
  i64 ndim() const { return shape().size(); }
  i64 size() const { return count_of(shape()); }
  i64 bytes() const { return size() * size_of(dtype()); }
  bool is_formula() const;        // nothing is computed yet
  Expression expression() const;  // of the store, once there is one
  // Where the numbers are; those of a formula are computed into the backing folder first.
  StorePtr store() const;
  // Of a file of one's own; "" for formulas and arrays of the backing folder.
  std::string path() const;
  // The numbers in the order of their indices, a few megabytes at a time: for files of others.
  void each_part(const std::function<void(const Array& part)>& take) const;
  // "tiled file a.tiles, …", or the formula's sources.
  std::string describe() const;

  // Elements of a box, in memory; and back, into a store that is writable.
  Array read(const Box& box) const;
  void write(const Box& box, const Array& from) const;
  Array array() const { return read({Shape(ndim(), 0), shape()}); }

  // Into a file of its own at `path`, as create() makes it: a job, which goes on where it was killed (job.hpp).
  StoredArray save(const std::string& path) const;
  // Into a file of the backing folder, or as a job into one at `path`.
  StoredArray transpose(const std::optional<Shape>& axes = {}, const std::string& path = "") const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// An operand in memory as a formula keeps it: a copy, so that the formula stays what it was. In memory
// where it takes at most a quarter of stream_budget(), in a file of the backing folder otherwise.
TESSERA_API Expression kept_operand(const Array& operand);

// Any element-wise operation, as a formula.
TESSERA_API StoredArray apply(ElementOp op, std::span<const Expression> inputs);
TESSERA_API StoredArray operator+(const StoredArray& a, const StoredArray& b);
TESSERA_API StoredArray operator-(const StoredArray& a, const StoredArray& b);
TESSERA_API StoredArray operator*(const StoredArray& a, const StoredArray& b);
TESSERA_API StoredArray operator/(const StoredArray& a, const StoredArray& b);

// The product of two matrices, in a file of the backing folder, or as a job at `path`. Blocks are
// multiplied on `device`, within its budget; where none is given on the one that is forced
// (compute/context.hpp), else by the host.
TESSERA_API StoredArray matmul(const StoredArray& a, const StoredArray& b,
                               const std::string& path = "", std::optional<Device> device = {});
// One store, or one file that was opened twice.
bool is_same_place(const StorePtr& a, const StorePtr& b);
// Into an array that is there, of the product's shape and dtype; it is none of the operands.
TESSERA_API void matmul_into(const StoredArray& out, const StoredArray& a, const StoredArray& b,
                             std::optional<Device> device = {});

// Sorted along an axis, in the order of arrays (stable, NaN last), in a file of the backing folder,
// or as a job at `path`; along other axes than the last one the job is the copy that comes last.
TESSERA_API StoredArray sort(const StoredArray& x, i64 axis = -1, const std::string& path = "");

}  // namespace tessera::streaming
