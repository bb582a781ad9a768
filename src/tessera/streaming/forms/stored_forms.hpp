// SPDX-License-Identifier: Apache-2.0
#pragma once
// Matrices of every form on disk as a user has them: made, read, multiplied and combined by the
// rules of matrices in memory. Results come in files of the backing folder that go with their last
// handle, or, as jobs, in a file at `path`; work holds at most stream_budget() bytes. Of a half the
// file takes no more than the half.
//   FormSource c = random_bits_on_disk(Form::triangular_bit, n, n, 0.1, random);
//   FormSource paths = product_on_disk(c, c);   AnyMatrix few = read_form(c, {0, 10}, {0, n});

#include "tessera/kernels/random/random.hpp"
#include "tessera/streaming/forms/form_pass.hpp"

namespace tessera::streaming {

// The bits that AnyMatrix::random_bits draws.
TESSERA_API FormSource random_bits_on_disk(Form form, i64 rows, i64 cols, double p, Random& source);
// A copy: of a matrix in memory, or of another one, in a form that its own can be read as.
TESSERA_API FormSource copied_to_disk(const FormSource& m, const std::string& path = "");

// Products; `what.boolean` as boolean_product() in memory.
TESSERA_API FormSource product_on_disk(const FormSource& a, const FormSource& b,
                                       const FormProduct& what = {}, const std::string& path = "");
TESSERA_API std::string explain_product(const FormSource& a, const FormSource& b,
                                        const FormProduct& what = {});
// The same into memory: for vectors, and a few of them at a time.
TESSERA_API Array product_in_memory(const FormSource& a, const FormSource& b);

// K = C (aI + C)⁻¹, as compute_k() in memory.
TESSERA_API FormSource compute_k_on_disk(const FormSource& c, double a,
                                         const std::string& path = "");

// Element by element, as matrices in memory do it.
TESSERA_API FormSource mapped_on_disk(const std::vector<FormSource>& inputs, const FormMap& map,
                                      const std::string& path = "");

// Times a number: a view, or a new file where no view says it.
TESSERA_API FormSource scaled_on_disk(const FormSource& m, const Value& by);
TESSERA_API FormSource divided_on_disk(const FormSource& m, const Value& by);

// Of each row (axis 1) or column (axis 0).
TESSERA_API Array sum_of_form(const FormSource& m, i64 axis);

// Rows and columns in memory: bits as a Bit, everything else as a Dense. Nothing else is read.
TESSERA_API AnyMatrix read_form(const FormSource& m, const Range& rows, const Range& cols);

}  // namespace tessera::streaming
