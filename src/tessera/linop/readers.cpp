// SPDX-License-Identifier: Apache-2.0
// The operators of this layer that a description can hold: the list of ops.def and the containers.
#include "tessera/linop/containers/add.hpp"
#include "tessera/linop/containers/chain.hpp"
#include "tessera/linop/containers/concat.hpp"
#include "tessera/linop/containers/fetched.hpp"
#include "tessera/linop/containers/relabel.hpp"
#include "tessera/linop/containers/stack.hpp"
#include "tessera/linop/ops/array_to_blocks.hpp"
#include "tessera/linop/ops/convolution.hpp"
#include "tessera/linop/ops/dense.hpp"
#include "tessera/linop/ops/diagonal.hpp"
#include "tessera/linop/ops/fft.hpp"
#include "tessera/linop/ops/fft_convolution.hpp"
#include "tessera/linop/ops/finite_difference.hpp"
#include "tessera/linop/ops/flip.hpp"
#include "tessera/linop/ops/gradient.hpp"
#include "tessera/linop/ops/identity.hpp"
#include "tessera/linop/ops/interpolate.hpp"
#include "tessera/linop/ops/kronecker.hpp"
#include "tessera/linop/ops/matrix.hpp"
#include "tessera/linop/ops/nufft.hpp"
#include "tessera/linop/ops/pad.hpp"
#include "tessera/linop/ops/permute.hpp"
#include "tessera/linop/ops/rearrange.hpp"
#include "tessera/linop/ops/roll.hpp"
#include "tessera/linop/ops/sampling.hpp"
#include "tessera/linop/ops/scalar.hpp"
#include "tessera/linop/ops/shape_spec.hpp"
#include "tessera/linop/ops/simple_linop.hpp"
#include "tessera/linop/ops/sleep.hpp"
#include "tessera/linop/ops/sparse.hpp"
#include "tessera/linop/ops/sum_reduce.hpp"
#include "tessera/linop/ops/to_device.hpp"
#include "tessera/linop/ops/toeplitz.hpp"
#include "tessera/linop/ops/truncate.hpp"
#include "tessera/linop/ops/wavelet.hpp"
#include "tessera/linop/ops/window.hpp"
#include "tessera/linop/ops/zero.hpp"
#include "tessera/linop/state.hpp"

namespace tessera {

OperatorReaders linop_readers() {
  OperatorReaders all{reader_of<Chain>(),   reader_of<Add>(),     reader_of<Concat>(),
                      reader_of<Stack>(),   reader_of<Relabel>(), reader_of<Fetched>(),
                      reader_of<Flipped>(), reader_of<Window>(),  reader_of<BlockCoverage>()};
  const auto add = [&]<class T>(T*) {
    if constexpr (requires { &T::from_state; }) all.push_back(reader_of<T>());
  };
#define OPERATOR(Type, header) add(static_cast<Type*>(nullptr));
#include "tessera/linop/ops.def"
#undef OPERATOR
  return all;
}

}  // namespace tessera
