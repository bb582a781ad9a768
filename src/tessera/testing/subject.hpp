// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the laws share: how far arrays are apart, and arrays laid out in ways that nobody expects.
//   double d = difference(y, expected);   A(awkward(x))

#include "tessera/split/batch_spec.hpp"
#include "tessera/testing/laws.hpp"

namespace tessera::laws {

// |a - b| / |b|, in double precision.
double difference(const Array& a, const Array& b);
// The same values in a permuted layout with gaps and a reversed axis.
Array awkward(const Array& x);

// Dims of two elements and more whose size can be known.
struct Sized {
  NamedDimension dim;
  i64 size;
};
std::vector<Sized> sized_dims(const NamedLinop& a, const Shape& input);

// Whether this one of the many cases of an operator is wanted: one in TESSERA_TEST_SHARE, others
// for other operators; all where that is not set. Sanitizers, under which everything takes ten
// times as long, take a part of what is checked without them.
bool in_share(const Sample& sample, int number);
// Also what takes minutes and tells little more: TESSERA_LARGE is set.
bool everything();

// laws_split.cpp
void parts_make_the_whole(Subject& s);
// laws_batched.cpp
void batches_equal_the_whole(Subject& s);
void every_spec_equals_the_whole(Subject& s);
// The ways in which an operator is cut over devices of a kind: tiles of 1, 2, 3, all but one and
// all elements, one to eight devices, one level and two.
constexpr int batch_patterns = 8;
std::vector<BatchSpec> batch_pattern(const std::vector<Sized>& dims, int k, Kind kind, Device base);
bool bound_to_devices(const NamedLinop& a);
std::string text_of(const std::vector<BatchSpec>& specs);

}  // namespace tessera::laws
