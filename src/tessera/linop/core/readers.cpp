// SPDX-License-Identifier: Apache-2.0
// The operators of this layer that a description can hold: the list of ops.def and the containers.
#include "tessera/linop/containers/add.hpp"
#include "tessera/linop/containers/chain.hpp"
#include "tessera/linop/containers/concat.hpp"
#include "tessera/linop/containers/fetched.hpp"
#include "tessera/linop/containers/relabel.hpp"
#include "tessera/linop/containers/stack.hpp"
#include "tessera/linop/core/state.hpp"
#include "tessera/linop/ops/all.hpp"
#include "tessera/linop/ops/moves/window.hpp"
#include "tessera/linop/ops/transforms/field_map.hpp"

namespace tessera {

OperatorReaders linop_readers() {
  OperatorReaders all{reader_of<Chain>(),        reader_of<Add>(),     reader_of<Concat>(),
                      reader_of<Stack>(),        reader_of<Relabel>(), reader_of<Fetched>(),
                      reader_of<Adjoint>(),      reader_of<Window>(),  reader_of<BlockCoverage>(),
                      reader_of<FieldMapNUFFT>()};
  const auto add = [&]<class T>(T*) {
    if constexpr (requires { &T::from_state; }) all.push_back(reader_of<T>());
  };
#define OPERATOR(Type) add(static_cast<Type*>(nullptr));
#include "tessera/linop/ops.def"
#undef OPERATOR
  return all;
}

// The nodes of these operators, for every file that makes one.
template struct NamedLinop::Model<Chain>;
template struct NamedLinop::Model<Add>;
template struct NamedLinop::Model<Concat>;
template struct NamedLinop::Model<Stack>;
template struct NamedLinop::Model<Relabel>;
template struct NamedLinop::Model<Fetched>;
template struct NamedLinop::Model<Adjoint>;
template struct NamedLinop::Model<Window>;
template struct NamedLinop::Model<BlockCoverage>;
template struct NamedLinop::Model<FieldMapNUFFT>;
#define OPERATOR(Type) template struct NamedLinop::Model<Type>;
#include "tessera/linop/ops.def"
#undef OPERATOR

}  // namespace tessera
