// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/copy/cast_rows.hpp"

namespace tessera {
template CastRow cast_from<Half>(DType);
template CastRow cast_from<BFloat16>(DType);
template CastRow cast_from<float>(DType);
template CastRow cast_from<double>(DType);
template CastRow cast_from<c64>(DType);
template CastRow cast_from<c128>(DType);
}  // namespace tessera
