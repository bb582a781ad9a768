// SPDX-License-Identifier: Apache-2.0
#pragma once
// Small instances of every operator, from which all laws are generated, and wrong ways to make one.
// The tests do not link without both for each operator of linop/ops.def.
//   template <> std::vector<Sample> samples<Diagonal>(DType t, Device d) { return {...}; }

#include <functional>
#include <string>
#include <vector>

#include "tessera/tessera.hpp"
#include "tessera/testing/laws.hpp"

namespace tessera::laws {

inline Array random(const Shape& shape, DType t, Device d, std::uint64_t seed) {
  return Random(seed).normal(shape, t, d);
}

// Arrays of the operator have dtype t and live on d.
template <class T>
std::vector<Sample> samples(DType t, Device d) = delete;

// A wrong way to make the operator, and part of the sentence that refuses it.
struct Refusal {
  std::function<void()> make;
  std::string says;
};
template <class T>
std::vector<Refusal> refusals() = delete;

#define OPERATOR(Type)                                  \
  template <>                                           \
  std::vector<Sample> samples<Type>(DType t, Device d); \
  template <>                                           \
  std::vector<Refusal> refusals<Type>();
#include "tessera/linop/ops.def"
#undef OPERATOR

// Matrices of every form (matrix/any_matrix.hpp).
std::vector<Sample> matrix_samples(DType t, Device d);

// Operators that are chains of others and have functions of their own.
std::vector<Sample> trajectory_samples(DType t, Device d);

// Every operator, and compositions of them; made once.
const std::vector<Sample>& all_samples(DType t, Device d);

}  // namespace tessera::laws
