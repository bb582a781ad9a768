// SPDX-License-Identifier: Apache-2.0
#pragma once
// The plans of an operator's recent calls, with idle runs of each. A(x) asks here before it infers
// anything: the shape, dtype and device of the result stand beside the plan. Private to linop/core.
//   if (CallPlans::Taken t = calls.find(a, x)) { Array y = t.output(); calls.run(t, x, y); }

#include <list>
#include <mutex>
#include <optional>

#include "tessera/linop/core/linop.hpp"

namespace tessera {

class NamedLinop::CallPlans {
 public:
  // A run that this call alone has until it gives it back.
  struct Taken;
  // For A(x), whose output is the one that A makes; for A(x, out).
  Taken find(const NamedLinop& a, const Array& x);
  Taken find(const NamedLinop& a, const Array& x, const Array& out);
  // Records the plan of a call that none was found for.
  Taken make(const NamedLinop& a, const Array& x, const Array& out);
  void gives_own_output(const Taken& taken);  // such an output is what A(x) makes
  void run(Taken& taken, const Array& x, const Array& out);

 private:
  // Other values of these are other calls.
  struct Key {
    const Array& x;
    const Array* out;  // null: the one that the operator makes
    std::uint64_t settings;
  };
  struct Entry {
    Layout in, out;
    DType dtype, out_dtype;
    Device device, out_device;
    bool own_output;         // the output is the one that A(x) makes
    std::uint64_t settings;  // Config::of_plans()
    std::uint64_t changes;   // StartEvent::changes() when it was last seen to know all events
    std::vector<std::optional<RepeatedEvent>> listeners;  // of the operator and its parts
    Plan plan;
    std::vector<Run> idle;
    bool is_for(const Key& key) const;
  };
  Taken take(const NamedLinop& a, const Key& key);
  bool knows_events(Entry& e, const NamedLinop& a) const;

  std::mutex mutex_;
  std::list<std::shared_ptr<Entry>> entries_;  // most recent first
};

struct NamedLinop::CallPlans::Taken {
  std::shared_ptr<Entry> entry;  // outlives the list's own where others push it out
  std::optional<Run> run;
  explicit operator bool() const { return entry != nullptr; }
  Array output() const {
    return Array::empty(entry->out.shape, entry->out_dtype, entry->out_device);
  }
  bool fits(const Array& out) const { return out.layout().strides == entry->out.strides; }
};

}  // namespace tessera
