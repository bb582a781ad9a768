// SPDX-License-Identifier: Apache-2.0
#pragma once
// Operators made of operators: what `A * B + C`, Concat and Stack mean. One include for all of
// them.
//   NamedLinop A = chain({S, F, D});   // S first

#include "tessera/linop/containers/add.hpp"
#include "tessera/linop/containers/chain.hpp"
#include "tessera/linop/containers/concat.hpp"
#include "tessera/linop/containers/fetched.hpp"
#include "tessera/linop/containers/relabel.hpp"
#include "tessera/linop/containers/stack.hpp"
