// SPDX-License-Identifier: Apache-2.0
#pragma once
// The public face of arrays over ranks, beside tessera.hpp: making them, NumPy's functions and
// indexing, files, linear algebra, operators and solvers on them.
//   #include <tessera/distributed.hpp>
//   using namespace tessera;   DNDarray x = dist::arange(100, {.split = 0});   DNDarray y = x[{Slice{0, 5}}];

#include "tessera/comm/communicator.hpp"
#include "tessera/distributed/array/create.hpp"
#include "tessera/distributed/array/print.hpp"
#include "tessera/distributed/fft/fft.hpp"
#include "tessera/distributed/functions/elementwise.hpp"
#include "tessera/distributed/functions/join.hpp"
#include "tessera/distributed/functions/moves.hpp"
#include "tessera/distributed/functions/reduce.hpp"
#include "tessera/distributed/functions/reshape.hpp"
#include "tessera/distributed/functions/scan.hpp"
#include "tessera/distributed/indexing/explain.hpp"
#include "tessera/distributed/indexing/key.hpp"
#include "tessera/distributed/indexing/masks/nonzero.hpp"
#include "tessera/distributed/io/io.hpp"
#include "tessera/distributed/linalg/linalg.hpp"
#include "tessera/distributed/linalg/matmul.hpp"
#include "tessera/distributed/operators/apply.hpp"
#include "tessera/distributed/operators/batched_ranks.hpp"
#include "tessera/distributed/sorting/quantile.hpp"
#include "tessera/distributed/sorting/searchsorted.hpp"
#include "tessera/distributed/sorting/sort.hpp"
#include "tessera/distributed/sorting/take.hpp"
#include "tessera/distributed/sorting/topk.hpp"
#include "tessera/distributed/sorting/unique.hpp"
#include "tessera/solve/ranks/over_ranks.hpp"
