// SPDX-License-Identifier: Apache-2.0
#pragma once
// Passes over vectors on disk of one shape and dtype: boxes of all of them are in memory at a time,
// a function works on their numbers, and those that it changes are written back. Complex numbers
// with real factors are swept as twice as many real ones. A SweepProgram is such a function made of
// the operations of vectors.hpp, so that those that follow each other share a pass; its factors and
// sums are cells of a ScalarProgram. Private to the library.
//   SweepProgram p;   p.add(SweepKind::multiply_add, {.a = q, .factor = alpha, .b = x}, x);

#include <functional>
#include <optional>
#include <span>

#include "tessera/kernels/sweep/sweep.hpp"
#include "tessera/streaming/stored/stored_array.hpp"

namespace tessera {

struct SweptVector {
  streaming::StorePtr store;
  bool changed = false;
  bool read = true;  // false: all of it is written before it is looked at
};

// The numbers of a box, vector by vector.
template <class T>
struct Swept {
  std::vector<T*> vectors;
  i64 count;
};
// Called for each box with float or double; the box is that of all vectors.
struct SweepWork {
  std::function<void(const Swept<float>&, const store::Box&)> single;
  std::function<void(const Swept<double>&, const store::Box&)> twice;
};
template <class F>
SweepWork sweep_work(F f) {
  return {f, f};
}

// Over all numbers, or those of a part; boxes are whole in it along the axes `uncut`. DTypeError for
// vectors that are neither float32, float64 nor complex of these, OutOfMemory where the budget does
// not hold two boxes of each.
streaming::StreamPlan plan_sweep(std::string title, const std::vector<SweptVector>& vectors,
                                 const SweepWork& work, i64 budget, const Axes& uncut = {},
                                 const std::optional<store::Box>& part = {});

// The steps are those of a SweepSpec (kernels/sweep); a sum is Re <a, b>, also that of a norm.
class SweepProgram {
 public:
  // A number, or a cell where the program finds it when it runs.
  struct Factor {
    double value = 0;
    i64 cell = -1;
  };
  struct Operands {
    streaming::StorePtr a{};
    Factor factor{};
    streaming::StorePtr b{};
  };
  // Whether vectors like this one can be part of its pass, and this factor is known before it.
  bool takes(const streaming::StorePtr& vector, const Factor& factor) const;
  void add(SweepKind kind, const Operands& in, const streaming::StorePtr& to, i64 cell = -1);
  // `cells`: of the ScalarProgram, in float64; the same as float32 behind them.
  void run(double* cells, i64 budget);

 private:
  struct Op {
    SweepKind kind;
    int a, b, to;
    Factor factor;
    i64 cell;  // of a sum
    double sum = 0;
  };
  int number_of(const streaming::StorePtr& store, bool reads, bool changes);
  template <class T>
  void work_on(const Swept<T>& box);

  std::vector<SweptVector> vectors_;
  std::vector<Op> ops_;
  std::optional<streaming::StreamPlan> plan_;
  double* cells_ = nullptr;  // while it runs
};

}  // namespace tessera
