// SPDX-License-Identifier: Apache-2.0
#pragma once
// One pass over matrices of any form, block by block: functions of one or two matrices element by
// element, as matrices in memory compute them, and sums of rows. What a form says is zero is not
// read.
//   FormResult r = mapped_form({a, b}, of);   plan_form_map({a, b}, of, out, options).run();

#include <functional>
#include <span>
#include <vector>

#include "tessera/streaming/forms/form_product.hpp"

namespace tessera::streaming {

// A function of matrices of one shape in memory that treats every element alike.
using MatrixFunction = std::function<AnyMatrix(std::span<const AnyMatrix>)>;
struct FormMap {
  std::string name;
  MatrixFunction function;
};

// ShapeError unless all have one shape; what the function refuses is refused.
TESSERA_API FormResult mapped_form(const std::vector<FormSource>& inputs, const FormMap& map);
TESSERA_API StreamPlan plan_form_map(const std::vector<FormSource>& inputs, const FormMap& map,
                                     const StorePtr& out, const Options& options = {});

// Of each row: bits are counted, integers summed in 64 bits (OverflowError). The plan gives the
// sums.
TESSERA_API StreamPlan plan_row_sums(const FormSource& m, const Options& options = {});

}  // namespace tessera::streaming
