// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/core/offers.hpp"

#include "tessera/linop/core/linop.hpp"

namespace tessera {

const std::vector<Array>& SharedTables::of(const std::string& name, Device device,
                                           const std::function<std::vector<Array>()>& make) {
  const std::pair key(name, device);
  auto it = known_.find(key);
  if (it == known_.end()) it = known_.emplace(key, make()).first;
  return it->second;
}

#define TESSERA_ALSO(...) __VA_OPT__(, ) __VA_ARGS__
#define OFFER(result, member, arguments, ...)                                      \
  result Offers::member(__VA_ARGS__) const {                                       \
    return table_->member ? table_->member(op_ TESSERA_ALSO arguments) : result{}; \
  }
#include "tessera/linop/core/offers.def"
#undef OFFER
#undef TESSERA_ALSO

}  // namespace tessera
