// SPDX-License-Identifier: Apache-2.0
// The operators of this layer that a description can hold: the list of ops.def and the containers.
#include "tessera/linop/containers/add.hpp"
#include "tessera/linop/containers/chain.hpp"
#include "tessera/linop/containers/concat.hpp"
#include "tessera/linop/containers/fetched.hpp"
#include "tessera/linop/containers/relabel.hpp"
#include "tessera/linop/containers/stack.hpp"
#include "tessera/linop/core/state.hpp"
#include "tessera/linop/ops/basic/dense.hpp"
#include "tessera/linop/ops/basic/diagonal.hpp"
#include "tessera/linop/ops/basic/identity.hpp"
#include "tessera/linop/ops/basic/kronecker.hpp"
#include "tessera/linop/ops/basic/matrix.hpp"
#include "tessera/linop/ops/basic/scalar.hpp"
#include "tessera/linop/ops/basic/shape_spec.hpp"
#include "tessera/linop/ops/basic/simple_linop.hpp"
#include "tessera/linop/ops/basic/sleep.hpp"
#include "tessera/linop/ops/basic/sparse.hpp"
#include "tessera/linop/ops/basic/sum_reduce.hpp"
#include "tessera/linop/ops/basic/zero.hpp"
#include "tessera/linop/ops/moves/array_to_blocks.hpp"
#include "tessera/linop/ops/moves/flip.hpp"
#include "tessera/linop/ops/moves/pad.hpp"
#include "tessera/linop/ops/moves/permute.hpp"
#include "tessera/linop/ops/moves/rearrange.hpp"
#include "tessera/linop/ops/moves/roll.hpp"
#include "tessera/linop/ops/moves/truncate.hpp"
#include "tessera/linop/ops/moves/window.hpp"
#include "tessera/linop/ops/sampling/interpolate.hpp"
#include "tessera/linop/ops/sampling/sampling.hpp"
#include "tessera/linop/ops/sampling/to_device.hpp"
#include "tessera/linop/ops/transforms/convolution.hpp"
#include "tessera/linop/ops/transforms/fft.hpp"
#include "tessera/linop/ops/transforms/fft_convolution.hpp"
#include "tessera/linop/ops/transforms/finite_difference.hpp"
#include "tessera/linop/ops/transforms/gradient.hpp"
#include "tessera/linop/ops/transforms/nufft.hpp"
#include "tessera/linop/ops/transforms/toeplitz.hpp"
#include "tessera/linop/ops/transforms/wavelet.hpp"

namespace tessera {

OperatorReaders linop_readers() {
  OperatorReaders all{reader_of<Chain>(),   reader_of<Add>(),     reader_of<Concat>(),
                      reader_of<Stack>(),   reader_of<Relabel>(), reader_of<Fetched>(),
                      reader_of<Adjoint>(), reader_of<Window>(),  reader_of<BlockCoverage>()};
  const auto add = [&]<class T>(T*) {
    if constexpr (requires { &T::from_state; }) all.push_back(reader_of<T>());
  };
#define OPERATOR(Type, header) add(static_cast<Type*>(nullptr));
#include "tessera/linop/ops.def"
#undef OPERATOR
  return all;
}

}  // namespace tessera
