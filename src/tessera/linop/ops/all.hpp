// SPDX-License-Identifier: Apache-2.0
#pragma once
// Every operator of the library in one include, from the list of linop/ops.def.
//   #include <tessera/linop/ops/all.hpp>

#define OPERATOR(Type)
#include "tessera/linop/ops.def"
#undef OPERATOR
