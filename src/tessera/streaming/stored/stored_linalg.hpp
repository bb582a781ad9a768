// SPDX-License-Identifier: Apache-2.0
#pragma once
// Linear algebra of arrays that are not in memory, by the names and with the dtypes and errors of
// linalg: factors, solutions and inverses come in files of the backing folder that go with their
// last handle, or, as jobs, in a file at `path`. Work holds at most stream_budget() bytes. The
// factors of solve and inverse stay in memory where that is quicker by the costs of the machine;
// else, and for jobs, they take a file as large as the matrix while they run. solve and inverse compute
// on a device within its budget where one is given, or forced (compute/context.hpp).
//   StoredArray l = cholesky(a), x = solve(a, b);

#include "tessera/streaming/linalg/lu.hpp"
#include "tessera/streaming/linalg/triangular.hpp"
#include "tessera/streaming/stored/stored_array.hpp"

namespace tessera::streaming {

TESSERA_API StoredArray cholesky(const StoredArray& a, bool upper = false,
                                 const std::string& path = "");
TESSERA_API StoredArray solve(const StoredArray& a, const StoredArray& b,
                              const std::string& path = "", std::optional<Device> device = {});
TESSERA_API StoredArray inverse(const StoredArray& a, const std::string& path = "",
                                std::optional<Device> device = {});
// Into an array that is there, of the result's shape and dtype; it is none of the operands.
TESSERA_API void solve_into(const StoredArray& out, const StoredArray& a, const StoredArray& b,
                            std::optional<Device> device = {});
TESSERA_API void inverse_into(const StoredArray& out, const StoredArray& a,
                              std::optional<Device> device = {});
TESSERA_API StoredArray solve_triangular(const StoredArray& a, const StoredArray& b,
                                         const TriangularOptions& what = {},
                                         const std::string& path = "");

}  // namespace tessera::streaming
