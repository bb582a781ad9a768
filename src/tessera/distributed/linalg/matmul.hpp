// SPDX-License-Identifier: Apache-2.0
#pragma once
// Matrix products of distributed arrays, NumPy's rules for ranks 1, 2 and n, dtypes and errors as
// the local function's. The split of the product follows from the splits of the operands alone:
//
//              b none   b rows (K)   b columns     rows of b and columns of a are contracted
//   a none     none     columns      columns
//   a rows     rows     rows         rows
//   a columns  rows     rows         columns
//
// A batch axis that is split (and not repeated) goes before all that: it stays split, the first
// operand's before the second's, and the other operand is brought to it. Axes that operands of rank
// 1 lend do not exist in the product: where the table names one of them there is no split, and
// every rank has the whole.
//
// How: of three ways the one that sends least. The second operand goes round (blocks of it visit
// every rank, nothing is kept); the first one does, and the product is re-split; or each rank
// multiplies the part of K that it has, and the partial products are added where they belong.
// Nothing is sent for (none, none), (rows, none), (none, columns), nor where batches lie alike.
// What goes round does so in pieces: at no time does a rank hold more than 32 MiB beside its parts
// of the operands, as the chosen way wants them distributed, and of the product.
//   DNDarray c = dist::matmul(a, b);
//
// Integers do not depend on the number of ranks. Partial sums of floats are joined in a fixed order
// for a given number of ranks: those of rank r, then of r - 1, r - 2 and so on in a circle.

#include "tessera/distributed/array/dnd_array.hpp"

namespace tessera::dist {

TESSERA_API DNDarray matmul(const DNDarray& a, const DNDarray& b);

}  // namespace tessera::dist
