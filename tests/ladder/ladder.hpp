// SPDX-License-Identifier: Apache-2.0
#pragma once
// The backend ladder: small numbered programs, from "there is a device" to "a captured chain",
// which run on the device named by TESSERA_TEST_DEVICE and compare every value with the cpu. Each
// kernel is called through its contract, with layouts that hurt. When a rung breaks, the rungs
// below it say whether it is to blame.
//   Twin x = twin({3, 5}, DType::f32, LayoutKind::padded, 1);   run_both(&KernelTable::fft, "fft",
//   spec, {x, y});

#include <gtest/gtest.h>

#include <vector>

#include "support/support.hpp"
#include "tessera/kernels/eager.hpp"

namespace tessera::ladder {

// The same bytes and layout on the host and on the device.
struct Twin {
  Array host, device;
  Operand operand() const { return operand_of(host); }
};

enum class LayoutKind { dense, shifted, padded, reversed_axes, negative, strided };
inline constexpr LayoutKind all_layouts[] = {LayoutKind::dense,    LayoutKind::shifted,
                                             LayoutKind::padded,   LayoutKind::reversed_axes,
                                             LayoutKind::negative, LayoutKind::strided};
const char* text(LayoutKind kind);

Layout make_layout(const Shape& shape, LayoutKind kind);
// Numbers that depend on seed and place only; integers between -9 and 9 (0 to 9 unsigned), no zero
// divisors.
Twin twin(const Shape& shape, DType dtype, LayoutKind kind = LayoutKind::dense, int seed = 1);
// As above, but with zeros, infinities and NaN among the inexact numbers.
Twin special_twin(const Shape& shape, DType dtype, LayoutKind kind, int seed);
// int64 positions below `size`, with repeats and negative ones.
Twin index_twin(const Shape& shape, i64 size, LayoutKind kind, int seed);
Twin twin_of(const Array& host);  // takes the host's bytes to the device

// A tolerance that fits the dtype and a sum of n terms.
double tolerance(DType dtype, i64 n = 1);
// The whole storages agree: what was to be written, and what was not.
void expect_same(const Twin& t, double tolerance, const std::string& what);
Array device_to_host(const Array& x);  // without any kernel: one transfer of the storage

// Runs on the host with the cpu's kernel and on the device with its own.
template <class Spec>
void run_both(Kernel<Spec> KernelTable::*member, std::string_view name, const Spec& spec,
              const std::vector<Twin>& operands) {
  std::vector<const Array*> host, device;
  for (const Twin& t : operands) {
    host.push_back(&t.host);
    device.push_back(&t.device);
  }
  const Kernel<Spec>& on_host = cpu_kernels().*member;
  const Kernel<Spec>& on_device = kernels_of(test_device()).*member;
  ASSERT_TRUE(on_device.prepare) << name << " is missing on " << test_device().str();
  enqueue(on_host.prepare(spec, cpu), cpu, host);
  enqueue(on_device.prepare(spec, test_device()), test_device(), device);
}

}  // namespace tessera::ladder
