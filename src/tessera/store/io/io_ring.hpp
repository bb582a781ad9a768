// SPDX-License-Identifier: Apache-2.0
#pragma once
// A thin cover of liburing: requests in, results out. One thread waits; pushing is the caller's to
// guard. Without liburing at build time none can be opened, and the reason says so.
//   std::string why;   std::unique_ptr<IoRing> ring = IoRing::open(why);

#include <memory>
#include <string>
#include <utility>

#include "tessera/base/api.hpp"

namespace tessera::store {

class IoRing {
 public:
  static constexpr unsigned entries = 128;
  // Null with the reason where the kernel forbids it or does not know reads and writes by it.
  static std::unique_ptr<IoRing> open(std::string& why);
  ~IoRing();
  IoRing(const IoRing&) = delete;
  IoRing& operator=(const IoRing&) = delete;
  // There is room: the caller keeps at most `entries` under way. `who` null asks for nothing, and
  // its result wakes whoever waits.
  void push(int file, bool write, void* memory, i64 bytes, i64 offset, void* who);
  std::pair<void*, i64> wait();

 private:
  struct Impl;
  explicit IoRing(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::store
