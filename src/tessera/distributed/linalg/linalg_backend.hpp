// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the ScaLAPACK plug-in offers and what it is given: matrices in host memory, column-major, of
// which each rank has a block of rows or of columns. One exported function; a library of another
// build is refused.
//   extern "C" TESSERA_API const tessera::dist::DenseBackend* tessera_scalapack();

#include "tessera/base/plugin_file.hpp"
#include "tessera/distributed/array/dnd_array.hpp"

namespace tessera::dist {

// Rank r has the rows (axis 0) or columns (axis 1) from r * block on.
struct DistributedMatrix {
  i64 rows = 0, columns = 0;
  i64 axis = 0, block = 1;
  Array local;  // strides (1, rows of this rank)
};

// Each is collective and returns LAPACK's answer: 0 when all is well. Matrices that are not const
// are overwritten, those named as results filled.
struct DenseBackend {
  const char* abi_tag;
  int (*matmul)(const Communicator&, const DistributedMatrix& a, const DistributedMatrix& b,
                DistributedMatrix& c);
  int (*solve)(const Communicator&, DistributedMatrix& a, DistributedMatrix& b);
  int (*inverse)(const Communicator&, DistributedMatrix& a);
  int (*cholesky)(const Communicator&,
                  DistributedMatrix& a);  // what lies above the diagonal becomes zero
  int (*qr)(const Communicator&, DistributedMatrix& a, DistributedMatrix& q, DistributedMatrix& r);
  int (*eigh)(const Communicator&, DistributedMatrix& a, const Array& values,
              DistributedMatrix& vectors);
  int (*svd)(const Communicator&, DistributedMatrix& a, DistributedMatrix& u, const Array& values,
             DistributedMatrix& vh);
  // Of the diagonal of U: the product of directions (with the sign of the exchanges) and the sum of
  // the logarithms, on every rank.
  int (*slogdet)(const Communicator&, DistributedMatrix& a, const Array& sign, const Array& logs);
};
inline constexpr const char* dense_backend_symbol = "tessera_scalapack";

[[maybe_unused]] static std::string dense_abi_tag() {
  return cat(build_tag(), ", dist sizes ", sizeof(DistributedMatrix), " ", sizeof(Communicator),
             " ", sizeof(Array), " ", sizeof(DenseBackend));
}

}  // namespace tessera::dist
