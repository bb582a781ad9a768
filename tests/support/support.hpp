// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the test programs share: the device they are asked to run on, and small helpers around it.
// The main beside this file turns poison on, so that memory nobody wrote is NaN.
//   Array x = Array::empty({3, 4}, DType::f32, test_device());

#include <string>

#include "tessera/device/device.hpp"

namespace tessera {

// TESSERA_TEST_DEVICE, "cpu" without it.
Device test_device();

// A folder of this process for scratch files, removed at exit.
const std::string& scratch_folder();

}  // namespace tessera
