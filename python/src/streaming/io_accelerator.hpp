// SPDX-License-Identifier: Apache-2.0
#pragma once
// Prefetching, discarding and hints for arrays on disk: conversion only; keys are in
// tessera/_io_accelerator.py.

#include "core/common.hpp"

namespace tessera::python {

void bind_io_accelerator(nb::module_& m);

}  // namespace tessera::python
