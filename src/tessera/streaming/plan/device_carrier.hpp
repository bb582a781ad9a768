// SPDX-License-Identifier: Apache-2.0
#pragma once
// Boxes on their way between stores and buffers on a device, in the background: one thread for each
// direction takes them in the order in which they were asked for, in parts that lie in one piece in
// the buffer, through pinned memory of its own (device/streamer.hpp). Buffers are dense. Private to
// the library.
//   DeviceCarrier carrier(gpu);   Transfer t = carrier.read(*store, box, there);   t.wait();

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "tessera/device/streamer.hpp"
#include "tessera/store/tiles/tile_store.hpp"

namespace tessera::streaming {

class DeviceCarrier {
 public:
  explicit DeviceCarrier(Device device);  // OutOfMemory without pinned memory
  ~DeviceCarrier();                       // all that was asked for has ended

  store::Transfer read(store::TileStore& from, const store::Box& box, const Array& into);
  store::Transfer write(store::TileStore& to, const store::Box& box, const Array& from);

  static i64 piece_bytes();  // that travel at a time, of one that is made now
  static i64 pinned_bytes();
  // How a box is cut on its way.
  static store::TileGrid parts(const Shape& shape, DType dtype, i64 piece = piece_bytes());

 private:
  class Job;
  class Lane {
   public:
    Lane();
    ~Lane();
    store::Transfer add(std::shared_ptr<Job> job);

   private:
    void work();
    std::mutex mutex_;
    std::condition_variable more_;
    std::deque<std::shared_ptr<Job>> jobs_;
    bool ends_ = false;
    std::thread thread_;
  };

  Device device_;
  i64 piece_ = piece_bytes();  // the setting may change meanwhile
  Staging staging_;
  Stream up_, down_;
  Lane there_, back_;
};

}  // namespace tessera::streaming
