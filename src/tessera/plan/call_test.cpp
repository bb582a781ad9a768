// SPDX-License-Identifier: Apache-2.0
// Steps that the host runs: between kernels, on strided views, on every lane, with errors.
#include <gtest/gtest.h>

#include "support/arrays.hpp"
#include "tessera/base/trace.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/plan/plan.hpp"

namespace tessera {
namespace {

std::vector<Device> places() {
  std::vector<Device> all{test_device()};
  if (test_device() == cpu) all.push_back(Device::parse("sim:0"));
  return all;
}

// Plans below are made for dense arrays, whatever fresh arrays are like.
Array numbers(const Shape& shape, Device d) {
  const Array x = empty_dense(shape, DType::f64, d);
  x.copy_from(
      arange(Value(0.0), Value(static_cast<double>(count_of(shape))), Value(1.0), DType::f64)
          .reshape(shape)
          .to(d));
  return x;
}

// 2x by a kernel, reversed and squared by a call, then 3x by a kernel.
Plan squares(const Shape& shape, Device d, int* called) {
  Recorder r;
  const View x = r.input(Layout::contiguous(shape), DType::f64, d),
             y = r.output(Layout::contiguous(shape), DType::f64, d);
  const View a = r.temporary(shape, DType::f64, d), b = r.temporary(shape, DType::f64, d);
  record::scale(r, Value(2.0), x, a);
  const View turned = sub_view(a, a.layout.slice(0, shape[0] - 1, shape[0], -1));
  r.call(
      "square",
      [called](std::span<const Array> reads, const Array& write) {
        ++*called;
        write.copy_from(ops::multiply(reads[0], reads[0]));
      },
      std::array{turned}, b);
  record::scale(r, Value(3.0), b, y);
  return std::move(r).finish();
}

TEST(HostCall, RunsBetweenKernels) {
  for (Device d : places()) {
    int called = 0;
    const Plan plan = squares({5, 3}, d, &called);
    tessera::Run run = plan.instance();
    const Array x = numbers({5, 3}, d), y = empty_dense({5, 3}, DType::f64, d);
    for (int repeat = 0; repeat < 3; ++repeat) {
      if (repeat == 1) run.capture();
      run(x, y);
      const auto got = numbers_of(y);
      for (i64 i = 0; i < 5; ++i)
        for (i64 j = 0; j < 3; ++j) {
          const double from = static_cast<double>((4 - i) * 3 + j);
          EXPECT_EQ(got[static_cast<std::size_t>(i * 3 + j)].real(), 12 * from * from);
        }
    }
    EXPECT_EQ(called, 3);
    EXPECT_NE(plan.explain(ExplainFormat::json).find("\"call\""), std::string::npos);
  }
}

TEST(HostCall, OnAStreamOfItsOwnAndAcrossDevices) {
  const Device d = Device::parse("sim:0");
  int called = 0;
  const Plan plan = squares({4, 2}, d, &called);
  const Stream stream(d);
  tessera::Run run = plan.instance(stream);
  const Array x = numbers({4, 2}, d), y = empty_dense({4, 2}, DType::f64, d);
  stream.wait(Stream::home(d).record());  // the input was written there
  run(x, y);
  run.sync();
  EXPECT_EQ(numbers_of(y)[0].real(), 12 * 36.0);
  // Transfers on lanes of their own, before and after.
  Recorder r;
  const View in = r.input(Layout::contiguous({6}), DType::f64, cpu),
             out = r.output(Layout::contiguous({6}), DType::f64, cpu);
  const View there = r.temporary({6}, DType::f64, d), result = r.temporary({6}, DType::f64, d);
  record::copy(r, in, there);
  r.call(
      "add one",
      [](std::span<const Array> reads, const Array& write) {
        write.copy_from(ops::add(reads[0], Value(1.0)));
      },
      std::array{there}, result);
  record::copy(r, result, out);
  tessera::Run across = std::move(r).finish().instance();
  const Array host = numbers({6}, cpu), back = empty_dense({6}, DType::f64, cpu);
  across(host, back);
  for (i64 i = 0; i < 6; ++i) EXPECT_EQ(back.host<double>()[i], static_cast<double>(i + 1));
}

TEST(HostCall, ReadsAreReadOnlyAndKeptMemoryStaysValid) {
  for (Device d : places()) {
    Array kept;
    {
      Recorder r;
      const View x = r.input(Layout::contiguous({4}), DType::f64, d),
                 y = r.output(Layout::contiguous({4}), DType::f64, d);
      const View t = r.temporary({4}, DType::f64, d);
      record::scale(r, Value(2.0), x, t);
      r.call(
          "keep",
          [&kept](std::span<const Array> reads, const Array& write) {
            EXPECT_FALSE(reads[0].storage().writable());
            kept = reads[0];
            write.copy_from(reads[0]);
          },
          std::array{t}, y);
      tessera::Run run = std::move(r).finish().instance();
      run(numbers({4}, d), empty_dense({4}, DType::f64, d));
    }
    EXPECT_EQ(numbers_of(kept)[3].real(), 6);
  }
}

TEST(HostCall, ErrorsOfTheCallComeOutOfTheRun) {
  for (Device d : places()) {
    Recorder r;
    const View x = r.input(Layout::contiguous({4}), DType::f64, d),
               y = r.output(Layout::contiguous({4}), DType::f64, d);
    bool fail = true;
    r.call(
        "fail",
        [&fail](std::span<const Array> reads, const Array& write) {
          require<ArgumentError>(!fail, "this call fails");
          write.copy_from(reads[0]);
        },
        std::array{x}, y);
    tessera::Run run = std::move(r).finish().instance();
    const Array in = numbers({4}, d), out = empty_dense({4}, DType::f64, d);
    EXPECT_THROW(run(in, out), ArgumentError);
    fail = false;
    run(in, out);
    EXPECT_EQ(numbers_of(out)[3].real(), 3);
  }
}

}  // namespace
}  // namespace tessera
