// SPDX-License-Identifier: Apache-2.0
#pragma once
// Making distributed arrays. Every rank makes its own part and sends nothing; the numbers are those
// of the local factories, whatever the number of ranks. Options are the same on every rank (the
// index of the device may differ). Only assemble(), which is given blocks that the other ranks do
// not know, communicates.
//   DNDarray x = dist::zeros({100, 3}, DType::f32, {.split = 0});
//   Random r(42);   DNDarray y = dist::normal(r, {100, 3}, DType::f64, {.split = 1});

#include "tessera/distributed/array/dnd_array.hpp"
#include "tessera/kernels/random/random.hpp"

namespace tessera::dist {

struct Options {
  std::optional<i64> split = {};  // split evenly; negative axes count from the end
  Device device = cpu;
  std::optional<Communicator> comm = {};  // none: the world's
};

// Of what every rank has: each keeps a copy of its part.
TESSERA_API DNDarray array(const Array& whole, const Options& options = {});
// Every rank hands its block of `axis`, in rank order, of any length; the array is made of the
// blocks themselves, where they lie. One allgather of 24 bytes; ShapeError, DTypeError, DeviceError
// or IndexError on all ranks when one block does not fit the first.
TESSERA_API DNDarray assemble(const Array& mine, i64 axis,
                              const std::optional<Communicator>& comm = std::nullopt);

TESSERA_API DNDarray empty(const Shape& shape, DType dtype, const Options& options = {});
TESSERA_API DNDarray full(const Shape& shape, const Value& v, DType dtype,
                          const Options& options = {});
TESSERA_API DNDarray zeros(const Shape& shape, DType dtype, const Options& options = {});
TESSERA_API DNDarray ones(const Shape& shape, DType dtype, const Options& options = {});
TESSERA_API DNDarray arange(const Value& start, const Value& stop, const Value& step, DType dtype,
                            const Options& options = {});
TESSERA_API DNDarray arange(i64 n, const Options& options = {});  // int64
TESSERA_API DNDarray linspace(double start, double stop, i64 n, DType dtype,
                              const Options& options = {}, bool endpoint = true);
TESSERA_API DNDarray eye(i64 rows, i64 columns, i64 diagonal, DType dtype,
                         const Options& options = {});

// Distributed as x is, also when it is not balanced; dtype: that of x unless given.
TESSERA_API DNDarray empty_like(const DNDarray& x, std::optional<DType> dtype = std::nullopt);
TESSERA_API DNDarray full_like(const DNDarray& x, const Value& v,
                               std::optional<DType> dtype = std::nullopt);
TESSERA_API DNDarray zeros_like(const DNDarray& x, std::optional<DType> dtype = std::nullopt);
TESSERA_API DNDarray ones_like(const DNDarray& x, std::optional<DType> dtype = std::nullopt);

// The next draw of `random`, whose state is the same on every rank: each makes only its own part.
// A permutation is made whole on every rank and cut.
TESSERA_API DNDarray uniform(Random& random, const Shape& shape, DType dtype,
                             const Options& options = {}, double low = 0, double high = 1);
TESSERA_API DNDarray normal(Random& random, const Shape& shape, DType dtype,
                            const Options& options = {}, double mean = 0, double deviation = 1);
TESSERA_API DNDarray integers(Random& random, i64 low, i64 high, const Shape& shape,
                              DType dtype = DType::i64, const Options& options = {});
TESSERA_API DNDarray permutation(Random& random, i64 n, const Options& options = {});

}  // namespace tessera::dist
