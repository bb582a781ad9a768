// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <cstdio>

#include "commands.hpp"
#include "tessera/base/error.hpp"

int main(int argc, char** argv) {
  CLI::App app("Tessera: named linear operators, arrays and plans");
  app.set_version_flag("--version", TESSERA_VERSION);
  app.option_defaults()->always_capture_default();
  app.require_subcommand(1);

  tessera::cli::InfoOptions info_options;
  CLI::App* info = app.add_subcommand("info", "versions, devices, links, libraries and budgets");
  info->add_flag("!--no-topology", info_options.topology, "do not measure the links");
  CLI11_PARSE(app, argc, argv);

  try {
    return tessera::cli::info(info_options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tessera: %s\n", error.what());
    return 1;
  }
}
