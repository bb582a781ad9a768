// SPDX-License-Identifier: Apache-2.0
#pragma once
// How arguments of tessera.linalg become C++'s, for arrays and for matrices.
//   la::norm(x, order_from(ord));   la::pinv(x, tolerance_from(rtol, "pinv"));

#include "core/common.hpp"
#include "tessera/kernels/linalg/linalg.hpp"

namespace tessera::python {

linalg::NormOrder order_from(nb::handle h);
linalg::QrMode qr_mode_from(std::string_view mode);
Turn turn_from(nb::handle h, std::string_view who);  // 0, 1, 2 or 'N', 'T', 'C'
// Nothing given: what the precision and the sizes say.
double tolerance_from(nb::handle h, std::string_view who);

// The overloads for matrices of the names that bind_linalg gives functions of arrays: called first,
// since those take anything.
void bind_matrix_solving(nb::module_& m);
void bind_linalg(nb::module_& m);

}  // namespace tessera::python
