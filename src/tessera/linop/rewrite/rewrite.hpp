// SPDX-License-Identifier: Apache-2.0
#pragma once
// Algebra on a chain before it is recorded: neighbours that cancel, merge or have a closed form are
// replaced, from the inside, until nothing changes. Each rule has a switch in config() and a law
// that the result equals what was written.
//   std::vector<std::string> why;   simplify(operators, why);

#include <string>
#include <vector>

#include "tessera/linop/core/dim_sizes.hpp"
#include "tessera/linop/core/linop.hpp"

namespace tessera {

// What a rule puts in place of the operators it took. Names that the rest of the chain knows under
// the old output are replaced as `downstream` says.
struct Rewritten {
  std::vector<NamedLinop> operators;
  Renames downstream{};
  std::string why;
};

// In order of application; `notes` gains a sentence for each step. Nothing happens when
// config().rewrite is off.
TESSERA_API void simplify(std::vector<NamedLinop>& operators, std::vector<std::string>& notes);
// What only the sizes of the input tell, and whatever follows from it.
void simplify_sized(std::vector<NamedLinop>& operators, const DimSizes& sizes,
                    std::vector<std::string>& notes);

}  // namespace tessera
