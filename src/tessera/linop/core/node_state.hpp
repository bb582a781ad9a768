// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a node of an operator knows beside the operator itself: where it comes from, what was made
// of it, its events and the plans of its calls. Private to linop/core.
//   NodeState& s = *node_->state;   std::lock_guard lock(s.mutex);   if (s.adjoint) ...

#include <mutex>

#include "tessera/linop/core/call_plans.hpp"
#include "tessera/linop/core/start_event.hpp"

namespace tessera {

struct NamedLinop::NodeState {
  // Set before anybody else sees the node.
  std::uint64_t serial = 0;  // of this node alone
  // Which operator this is a copy, a renaming or the adjoint of: what lets A.H A be recognised.
  std::uint64_t origin = 0;
  bool flipped = false;
  std::vector<std::string> notes;
  std::string label;  // the name somebody gave it
  std::shared_ptr<StartEvent> start = std::make_shared<StartEvent>();

  std::mutex mutex;  // of what follows
  Node::P adjoint, normal;
  std::weak_ptr<const Node> adjoint_of;  // weak: the original owns its adjoint
  std::vector<std::pair<Companion (*)(), Companion>> companions;

  CallPlans calls;  // has a lock of its own
};

}  // namespace tessera
