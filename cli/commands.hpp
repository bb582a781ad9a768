// SPDX-License-Identifier: Apache-2.0
#pragma once
// The subcommands of the tool, each a function of its options; the parsing is main's.
//   cli::info({});   cli::demo({.size = 128, .out = "out"});

#include <string>

#include "tessera/base/api.hpp"

namespace tessera::cli {

struct InfoOptions {
  bool topology = true;  // measures the links between devices when no measurement is cached
};
int info(const InfoOptions& options);

struct DemoOptions {
  i64 size = 256;  // the image is size × size
  i64 coils = 8;
  i64 acceleration = 3;  // outside the centre, one row of the spectrum in so many is measured
  double noise = 2e-4;   // standard deviation of the noise, relative to the largest sample
  double regularisation = 2e-4;
  i64 iterations = 40;
  std::string device = "cpu";
  std::string out = "out";
  std::string explain;  // a page that draws the plan of one iteration's operator; empty: none
  bool progress = true;
};
int demo(const DemoOptions& options);

}  // namespace tessera::cli
