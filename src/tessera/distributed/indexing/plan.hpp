// SPDX-License-Identifier: Apache-2.0
#pragma once
// What x[key] or x[key] = value will exchange, worked out by the same steps that the call itself
// takes (read_plan.hpp, write_plan.hpp, masks/sole_mask.hpp), as far as this can be known before
// anything is sent. Nothing is sent here, and all ranks get the same.
//   ExchangePlan plan = plan_index(x, key);   plan.str();

#include "tessera/distributed/exchange/exchange_plan.hpp"
#include "tessera/distributed/indexing/key.hpp"

namespace tessera::dist {

TESSERA_API ExchangePlan plan_index(const DNDarray& x, const DistIndex& key);
// Of x[key] = value.
TESSERA_API ExchangePlan plan_index(const DNDarray& x, const DistIndex& key, const DNDarray& value);

}  // namespace tessera::dist
