// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/core/solve_memory.hpp"

#include <algorithm>

#include "tessera/base/config.hpp"
#include "tessera/linop/core/start_event.hpp"

namespace tessera {
namespace {
constexpr std::size_t kept_solves = 4;  // of one operator
}

SolveKey::SolveKey(std::string who, const Shape& in, DType in_dtype, Device on,
                   const std::optional<NamedLinop>& m, std::vector<double> numbers_)
    : solver(std::move(who)),
      shape(in),
      dtype(in_dtype),
      device(on),
      preconditioner(m ? m->serial() : 0),
      numbers(std::move(numbers_)),
      settings(config().of_plans()),
      events(StartEvent::changes()) {}

const vec::Vector* SolveMemory::find(const std::string& name) const {
  const auto it =
      std::find_if(vectors.begin(), vectors.end(), [&](const auto& v) { return v.first == name; });
  return it == vectors.end() ? nullptr : &it->second;
}

const vec::Vector& SolveMemory::add(std::string name, vec::Vector v) {
  for (const Array& piece : v.pieces) bytes += piece.size() * size_of(piece.dtype());
  return vectors.emplace_back(std::move(name), std::move(v)).second;
}

std::unique_ptr<SolveMemory> SolveMemories::take(const SolveKey& key) {
  std::lock_guard lock(mutex_);
  const auto it =
      std::find_if(kept_.begin(), kept_.end(), [&](const auto& k) { return k.first == key; });
  if (it == kept_.end()) return nullptr;
  std::unique_ptr<SolveMemory> memory = std::move(it->second);
  kept_.erase(it);
  return memory;
}

void SolveMemories::put(const SolveKey& key, std::unique_ptr<SolveMemory> memory) {
  std::unique_ptr<SolveMemory> gone;  // its runs wait for their work: not under the lock
  std::lock_guard lock(mutex_);
  kept_.emplace_front(key, std::move(memory));
  if (kept_.size() <= kept_solves) return;
  gone = std::move(kept_.back().second);
  kept_.pop_back();
}

std::shared_ptr<SolveMemories> memories_of(const NamedLinop& a) {
  return std::static_pointer_cast<SolveMemories>(
      a.companion([]() -> NamedLinop::Companion { return std::make_shared<SolveMemories>(); }));
}

}  // namespace tessera
