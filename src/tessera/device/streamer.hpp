// SPDX-License-Identifier: Apache-2.0
#pragma once
// Host memory that is not pinned, on its way to an accelerator and back: through two pinned
// buffers, so that all threads of the host fill or empty one of them while the other travels at the
// speed of the link. Without buffers (the default, until a context is told of an accelerator) the
// driver copies by itself, on one thread. For eager copies; plans pin what they send.
//   set_stream_buffer_size(64 << 20);   stream_copy(home, there, gpu, here, cpu, bytes)

#include "tessera/device/stream.hpp"

namespace tessera {

// Bytes of one buffer at most; 0: none.
TESSERA_API i64 stream_buffer_size();
TESSERA_API void set_stream_buffer_size(i64 bytes);

// One end is on the host and not pinned, the other on the stream's device. True: it is over. False:
// nothing was done, since there are no buffers, too few bytes to be worth it, or no pinned memory
// left.
TESSERA_API bool stream_copy(const Stream& stream, void* to, Device to_device, const void* from,
                             Device from_device, i64 bytes);

}  // namespace tessera
