// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/nonzero/nonzero.hpp"

#include "tessera/kernels/eager.hpp"
#include "tessera/kernels/nonzero/few.hpp"
#include "tessera/kernels/reduce/reduce.hpp"

namespace tessera {

std::vector<Array> nonzero(const Array& x) {
  require<ArgumentError>(x.ndim() > 0, "Calling nonzero on 0d arrays is not allowed; reshape the ",
                         "array to one dimension first");
  std::vector<Array> columns;
  if (find_few(x, columns)) return columns;
  const i64 found = x.size() == 0 ? 0 : reduce(ReduceOp::count_nonzero, x).item().as<i64>();
  const Array out = Array::empty({found, x.ndim()}, DType::i64, x.device());
  if (found > 0)
    launch_now(&KernelTable::nonzero, "nonzero", NonzeroSpec{operand_of(x), operand_of(out)},
               x.device(), {&x, &out});
  for (i64 axis = 0; axis < x.ndim(); ++axis) columns.push_back(out.select(1, axis));
  return columns;
}

}  // namespace tessera
