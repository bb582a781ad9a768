// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <cstdio>

#include "commands.hpp"
#include "tessera/base/error.hpp"

namespace {

void add_demo(CLI::App& app, tessera::cli::DemoOptions& options) {
  CLI::App* demo = app.add_subcommand("demo", "reconstruct an image from undersampled coil data");
  demo->add_option("--size", options.size, "width and height of the image")
      ->check(CLI::Range(16, 4096));
  demo->add_option("--coils", options.coils, "receiver coils")->check(CLI::Range(1, 64));
  demo->add_option("--acceleration", options.acceleration, "one row in so many is measured")
      ->check(CLI::Range(1, 16));
  demo->add_option("--noise", options.noise, "noise, relative to the largest sample")
      ->check(CLI::NonNegativeNumber);
  demo->add_option("--regularisation", options.regularisation, "weight of the penalty on |x|²")
      ->check(CLI::NonNegativeNumber);
  demo->add_option("--iterations", options.iterations, "conjugate gradient iterations")
      ->check(CLI::Range(1, 10000));
  demo->add_option("--device", options.device, "where to compute: cpu, cuda:0, sim:0");
  demo->add_option("--out", options.out, "folder of the pictures");
  demo->add_option("--explain", options.explain, "write a page that draws the operator's plan");
  demo->add_flag("!--no-progress", options.progress, "no progress bar");
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Tessera: named linear operators, arrays and plans");
  app.set_version_flag("--version", TESSERA_VERSION);
  app.option_defaults()->always_capture_default();
  app.require_subcommand(1);

  tessera::cli::InfoOptions info_options;
  CLI::App* info = app.add_subcommand("info", "versions, devices, links, libraries and budgets");
  info->add_flag("!--no-topology", info_options.topology, "do not measure the links");
  tessera::cli::DemoOptions demo_options;
  add_demo(app, demo_options);
  CLI11_PARSE(app, argc, argv);

  try {
    return info->parsed() ? tessera::cli::info(info_options) : tessera::cli::demo(demo_options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tessera: %s\n", error.what());
    return 1;
  }
}
