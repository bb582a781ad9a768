// SPDX-License-Identifier: Apache-2.0
#pragma once
// Any operator with arrays on disk: input, output and the arrays that it holds itself. It is cut
// into tiles that fit the budget (tile_choice.hpp); while one is computed, what the next ones need
// is read and what the one before gave is written. Results are those of the operator in memory;
// where a cut sums, but for rounding.
//   StoredArray y = apply_operator(A, x);   plan_apply(A.N(), x.store(), y.store()).explain()

#include "tessera/streaming/operators/tile_choice.hpp"

namespace tessera::streaming {

// Into `y`, which has the shape and the dtype of A(x), is writable and is no other store of A and x.
TESSERA_API StreamPlan plan_apply(const NamedLinop& a, const StorePtr& x, const StorePtr& y,
                                  const ApplyOptions& options = {});
inline void apply_into(const NamedLinop& a, const StorePtr& x, const StorePtr& y,
                       const ApplyOptions& options = {}) {
  plan_apply(a, x, y, options).run();
}
// Into a file of the backing folder, or as a job into one at `path`.
TESSERA_API StoredArray apply_operator(const NamedLinop& a, const StoredArray& x,
                                       const ApplyOptions& options = {},
                                       const std::string& path = "");
// What such a run would read, write and hold.
TESSERA_API std::string explain_apply(const NamedLinop& a, const StorePtr& x,
                                      const ApplyOptions& options = {});
// Which numbers an operator has: what it is made of, its arrays and those on disk. "" where a part
// of it does not say.
TESSERA_API std::string version_of(const NamedLinop& a);
// Whether a result of so many bytes comes to memory: it leaves most of the budget to others.
TESSERA_API bool fits_in_memory(i64 bytes, const ApplyOptions& options = {});
// An array of the host as a store.
TESSERA_API StorePtr store_in_memory(const Array& array);

}  // namespace tessera::streaming
