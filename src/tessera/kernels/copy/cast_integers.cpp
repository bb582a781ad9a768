// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/copy/cast_rows.hpp"

namespace tessera {
template CastRow cast_from<bool>(DType);
template CastRow cast_from<std::int8_t>(DType);
template CastRow cast_from<std::int16_t>(DType);
template CastRow cast_from<std::int32_t>(DType);
template CastRow cast_from<std::int64_t>(DType);
template CastRow cast_from<std::uint8_t>(DType);
template CastRow cast_from<std::uint16_t>(DType);
template CastRow cast_from<std::uint32_t>(DType);
template CastRow cast_from<std::uint64_t>(DType);
}  // namespace tessera
