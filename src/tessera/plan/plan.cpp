// SPDX-License-Identifier: Apache-2.0
#include "tessera/plan/plan.hpp"

#include "tessera/base/config.hpp"
#include "tessera/base/trace.hpp"
#include "tessera/plan/join_sweeps.hpp"
#include "tessera/plan/pipeline.hpp"
#include "tessera/plan/plan_impl.hpp"

namespace tessera {

Plan::Plan(Recorder recorder, std::string name) {
  auto impl = std::make_shared<Impl>();
  impl->name = std::move(name);
  impl->slots = std::move(recorder.slots_);
  impl->steps = std::move(recorder.steps_);
  impl->notes = std::move(recorder.notes_);
  impl->tree = std::move(recorder.tree_);
  impl->starts = std::move(recorder.starts_);
  if (config().pipeline) pipeline(impl->slots, impl->steps);
  if (config().join_sweeps) join_sweeps(impl->slots, impl->steps);
  find_lifetimes(impl->slots, impl->steps);
  for (const Slot& s : impl->slots)
    if (s.kind == SlotKind::temporary && s.first >= 0) impl->sum_of_temporaries += s.bytes;
  if (config().reuse_in_place) share_in_place(impl->slots, impl->steps);
  impl->workspace = place_in_arenas(impl->slots);
  impl->pinned = place_in_pinned(impl->slots);
  impl->lanes = schedule(impl->slots, impl->steps);
  for (std::size_t i = 0; i < impl->slots.size(); ++i) {
    if (impl->slots[i].kind == SlotKind::input) impl->inputs.push_back(static_cast<int>(i));
    if (impl->slots[i].kind == SlotKind::output) impl->outputs.push_back(static_cast<int>(i));
  }
  count(Counter::plans);
  impl_ = std::move(impl);
}

const std::string& Plan::name() const& { return impl_->name; }
const std::vector<Slot>& Plan::slots() const& { return impl_->slots; }
const std::vector<Step>& Plan::steps() const& { return impl_->steps; }
const std::vector<Lane>& Plan::lanes() const& { return impl_->lanes; }
const std::vector<std::string>& Plan::notes() const& { return impl_->notes; }
const std::vector<ScopeNode>& Plan::tree() const& { return impl_->tree; }
const std::vector<RepeatedEvent>& Plan::starts() const& { return impl_->starts; }
const ArenaSizes& Plan::workspace() const& { return impl_->workspace; }
i64 Plan::pinned_workspace() const {
  i64 bytes = 0;
  for (const auto& [kind, n] : impl_->pinned) bytes += n;
  return bytes;
}
i64 Plan::sum_of_temporaries() const { return impl_->sum_of_temporaries; }

i64 Plan::workspace(Device device) const {
  for (const auto& [d, bytes] : impl_->workspace)
    if (d == device) return bytes;
  return 0;
}

i64 Plan::transferred_bytes() const {
  i64 bytes = 0;
  for (const Step& s : impl_->steps)
    if (s.kind == Step::Kind::transfer) bytes += s.bytes;
  return bytes;
}

Plan Plan::with_notes(const std::vector<std::string>& more) const {
  auto impl = std::make_shared<Impl>(*impl_);
  impl->notes.insert(impl->notes.end(), more.begin(), more.end());
  Plan p;
  p.impl_ = std::move(impl);
  return p;
}

Run Plan::instance() const {
  const Device device = impl_->outputs.empty()
                            ? cpu
                            : impl_->slots[static_cast<std::size_t>(impl_->outputs.front())].device;
  return instance(Stream::home(device));
}

}  // namespace tessera
