// SPDX-License-Identifier: Apache-2.0
#pragma once
// The subcommands of the tool, each a function of its options; the parsing is main's.
//   cli::info({});

namespace tessera::cli {

struct InfoOptions {
  bool topology = true;  // measures the links between devices when no measurement is cached
};
int info(const InfoOptions& options);

}  // namespace tessera::cli
