// SPDX-License-Identifier: Apache-2.0
#pragma once
// Buffers for pieces that are packed on their way: kept from one exchange to the next, in huge
// pages where the system has them, since fresh memory costs more than the copy into it.
//   Scratch room(bytes);   walk.pack(room.data(), bytes);

#include "tessera/base/api.hpp"

namespace tessera::mpi {

class Scratch {
 public:
  Scratch() = default;
  explicit Scratch(i64 bytes);
  ~Scratch();
  Scratch(Scratch&& o) noexcept : data_(o.data_), bytes_(o.bytes_) { o.release(); }
  Scratch& operator=(Scratch&& o) noexcept;
  std::byte* data() const { return data_; }
  // The memory is never given back: somebody else may still be reading it.
  void release() { data_ = nullptr; }

 private:
  std::byte* data_ = nullptr;
  i64 bytes_ = 0;
};

}  // namespace tessera::mpi
