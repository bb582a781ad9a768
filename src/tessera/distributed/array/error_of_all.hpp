// SPDX-License-Identifier: Apache-2.0
#pragma once
// What one rank alone cannot do (its memory is too small, its device is not there) ends on all
// ranks with the same class and sentence, so that none waits for it. For the steps between
// messages, not for the messages themselves. One byte goes to every rank when all is well.
//   error_of_all(comm, [&] { part = tile(x); });

#include <functional>

#include "tessera/comm/communicator.hpp"

namespace tessera::dist {

// Collective: `work` must send nothing. Throws the error of the lowest rank that has one.
void error_of_all(const Communicator& comm, const std::function<void()>& work);

}  // namespace tessera::dist
