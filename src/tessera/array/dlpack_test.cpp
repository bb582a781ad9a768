// SPDX-License-Identifier: Apache-2.0
#include "tessera/array/dlpack.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "tessera/device/memory.hpp"

namespace tessera {
namespace {

// A tensor as another library would hand it over, which counts how often it is let go.
struct Foreign {
  double data[6] = {0, 1, 2, 3, 4, 5};
  std::int64_t shape[2] = {2, 3}, strides[2] = {3, 1};
  int released = 0;
  DLManagedTensorVersioned m{};

  Foreign() {
    m.version = {1, 0};
    m.manager_ctx = this;
    m.deleter = [](DLManagedTensorVersioned* self) {
      ++static_cast<Foreign*>(self->manager_ctx)->released;
    };
    m.dl_tensor = {data, {1, 0}, 2, {2, 64, 1}, shape, strides, 0};
  }
};

template <class E>
std::string refusal(Foreign& f) {
  try {
    (void)from_dlpack(&f.m);
  } catch (const E& e) {
    EXPECT_EQ(f.released, 1) << "a refused tensor is let go at once";
    return e.what();
  }
  return "no error";
}

TEST(DLPack, ExportSharesMemoryAndKeepsItAlive) {
  DLManagedTensorVersioned* m = nullptr;
  {
    const Array x = Array::of<float>({1, 2, 3, 4, 5, 6, 7});
    const Array view = x.slice(0, 6, 0, -2);
    m = to_dlpack(view);
    EXPECT_EQ(m->dl_tensor.data, view.data());
  }
  const DLTensor& t = m->dl_tensor;
  EXPECT_EQ(t.ndim, 1);
  EXPECT_EQ(t.shape[0], 3);
  EXPECT_EQ(t.strides[0], -2);
  EXPECT_EQ(t.dtype.code, dlpack::code_float);
  EXPECT_EQ(t.dtype.bits, 32);
  EXPECT_EQ(t.device.device_type, dlpack::on_cpu);
  EXPECT_EQ(m->flags, 0u);
  EXPECT_EQ(static_cast<float*>(t.data)[-2], 5);
  m->deleter(m);
}

TEST(DLPack, EveryDtypeThereAndBack) {
  for (int i = 0; i < dtype_count; ++i) {
    const Array x = Array::empty({3, 2}, static_cast<DType>(i));
    const Array y = from_dlpack(to_dlpack(x));
    EXPECT_EQ(y.dtype(), x.dtype());
    EXPECT_EQ(y.shape(), x.shape());
    EXPECT_EQ(y.data(), x.data());
    EXPECT_EQ(from_dlpack(to_dlpack_unversioned(x.transpose())).shape(), (Shape{2, 3}));
  }
}

TEST(DLPack, ImportTakesOwnership) {
  Foreign f;
  {
    const Array x = from_dlpack(&f.m), row = x.select(0, 1);
    EXPECT_EQ(x.data(), f.data);
    EXPECT_EQ(row.host<double>()[2], 5);
    EXPECT_TRUE(x.storage().writable());
    EXPECT_EQ(f.released, 0);
  }
  EXPECT_EQ(f.released, 1);
}

TEST(DLPack, NegativeStridesOffsetsAndMissingStrides) {
  Foreign f;
  f.strides[1] = -1;
  f.m.dl_tensor.byte_offset = 16;
  {
    const Array x = from_dlpack(&f.m);
    EXPECT_EQ(*x.select(0, 0).select(0, 2).host<double>(), 0);
    EXPECT_EQ(*x.select(0, 1).select(0, 0).host<double>(), 5);
  }
  Foreign g;
  g.m.dl_tensor.strides = nullptr;
  EXPECT_EQ(from_dlpack(&g.m).layout().strides, (Strides{3, 1}));
  Foreign empty;
  empty.shape[0] = 0;
  empty.m.dl_tensor.data = nullptr;
  EXPECT_EQ(from_dlpack(&empty.m).size(), 0);
  EXPECT_EQ(empty.released, 1);
}

TEST(DLPack, ReadOnlyMemoryStaysSo) {
  Foreign f;
  f.m.flags = dlpack::flag_read_only;
  const Array x = from_dlpack(&f.m);
  EXPECT_FALSE(x.storage().writable());
  DLManagedTensorVersioned* again = to_dlpack(x);
  EXPECT_EQ(again->flags, dlpack::flag_read_only);
  again->deleter(again);
  EXPECT_THROW((void)to_dlpack_unversioned(x), ArgumentError);
}

TEST(DLPack, BadTensorsAreRefusedWithASentence) {
  auto expect = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text << "\nexpected: " << part;
  };
  Foreign version, dtype, lanes, device, rank, negative, large, strides, null, misaligned;
  version.m.version.major = 7;
  expect(refusal<ArgumentError>(version), "version 7.0");
  dtype.m.dl_tensor.dtype = {2, 128, 1};
  expect(refusal<DTypeError>(dtype), "128 bits");
  lanes.m.dl_tensor.dtype.lanes = 4;
  expect(refusal<DTypeError>(lanes), "4 lanes");
  device.m.dl_tensor.device.device_type = 10;
  expect(refusal<DeviceError>(device), "device type 10");
  rank.m.dl_tensor.ndim = 65;
  expect(refusal<ShapeError>(rank), "65 axes");
  negative.shape[0] = -1;
  expect(refusal<ShapeError>(negative), "negative");
  large.shape[0] = large.shape[1] = INT64_MAX;
  expect(refusal<ShapeError>(large), "63 bits");
  strides.strides[0] = INT64_MIN;
  expect(refusal<ShapeError>(strides), "strides");
  null.m.dl_tensor.data = nullptr;
  expect(refusal<ArgumentError>(null), "no memory");
  misaligned.m.dl_tensor.byte_offset = 3;
  expect(refusal<ArgumentError>(misaligned), "multiple of 8");
}

TEST(DLPack, SimDevicesAreUnknownToOthers) {
  const Array x = Array::empty({2}, DType::f32, Device::parse("sim:0"));
  EXPECT_THROW((void)to_dlpack(x), DeviceError);
}

// What is freed after another library has used it is used again behind that library's work.
TEST(DLPack, TheHomeStreamWaitsForTheConsumer) {
  const Device sim0 = Device::parse("sim:0");
  struct State {
    std::atomic<bool> go{false}, read{false};
    std::atomic<int> seen{-1};
  } state;
  const Task reads{[](const void* s, const Launch&) {
                     State& t = *static_cast<State*>(const_cast<void*>(s));
                     while (!t.go.load()) std::this_thread::yield();
                     t.read.store(true);
                   },
                   std::shared_ptr<State>(&state, [](State*) {})};
  const Task reuses{[](const void* s, const Launch&) {
                      State& t = *static_cast<State*>(const_cast<void*>(s));
                      t.seen.store(t.read.load() ? 1 : 0);
                    },
                    std::shared_ptr<State>(&state, [](State*) {})};
  const Stream consumer(sim0), home = Stream::home(sim0);
  consumer.launch(reads, {});
  home_waits_for(sim0, consumer.native());
  home.launch(reuses, {});
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(state.seen.load(), -1);
  state.go.store(true);
  home.sync();
  consumer.sync();
  EXPECT_EQ(state.seen.load(), 1);
}

}  // namespace
}  // namespace tessera
