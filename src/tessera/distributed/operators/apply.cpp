// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/operators/apply.hpp"

#include <exception>
#include <list>
#include <mutex>

#include "tessera/distributed/operators/apply_route.hpp"
#include "tessera/kernels/copy/copy.hpp"

namespace tessera::dist {
namespace {

constexpr std::size_t kept_routes = 64;

// A route and what this rank applies on it. Kept with the operator, so it holds copies only.
struct Prepared {
  ApplyRoute route;
  std::optional<NamedLinop> part;  // none: the operator itself, or (idle) nothing
  bool idle = false;               // this rank has no part
};

struct Known {
  Shape shape;
  DType dtype;
  Device device;
  Distribution distribution;
  int rank, ranks;
  std::optional<NamedDimension> along;
  friend bool operator==(const Known&, const Known&) = default;
};

struct KnownRoutes {
  std::mutex mutex;
  std::list<std::pair<Known, std::shared_ptr<Prepared>>> entries;  // most recent first
};

Known known_of(const DNDarray& x, const ApplyOptions& options) {
  return {x.shape(),       x.dtype(),       x.device(),   x.distribution(),
          x.comm().rank(), x.comm().size(), options.along};
}

// The first rank that has something to do: the others that have not ask its part whether it can be
// recorded, so that all raise the same error.
int first_busy(const Partition& part) {
  for (int r = 0; r < part.ranks(); ++r)
    if (part.count(r) > 0) return r;
  return 0;
}

std::shared_ptr<Prepared> prepare(const NamedLinop& A, const DNDarray& x,
                                  const ApplyOptions& options) {
  const Cuttable a(A, x.shape());
  auto made = std::make_shared<Prepared>();
  made->route = route_of(a, x, options);
  const ApplyRoute& r = made->route;
  if (!r.cut) return made;
  const int me = x.comm().rank();
  made->idle = r.part.count(me) == 0;
  const int rank = made->idle ? first_busy(r.part) : me;
  const Cut cut{*r.cut, r.part.begin(rank), r.part.end(rank)};
  if (cut.size() == r.part.size() && !made->idle) return made;
  const NamedLinop part = cut.size() == r.part.size() ? a.op() : a.part(cut);
  if (made->idle)
    (void)part.plan({.shape = a.shape_of_part(a.in(), a.in_axis(*r.cut), cut.size()),
                     .dtype = x.dtype(),
                     .device = x.device()});
  else
    made->part = part;
  return made;
}

std::shared_ptr<Prepared> prepared(const NamedLinop& A, const DNDarray& x,
                                   const ApplyOptions& options) {
  auto& routes = *static_cast<KnownRoutes*>(
      A.companion([]() -> NamedLinop::Companion { return std::make_shared<KnownRoutes>(); }).get());
  Known key = known_of(x, options);
  {
    std::lock_guard lock(routes.mutex);
    for (auto it = routes.entries.begin(); it != routes.entries.end(); ++it)
      if (it->first == key) {
        routes.entries.splice(routes.entries.begin(), routes.entries, it);
        return it->second;
      }
  }
  auto made = prepare(A, x, options);
  std::lock_guard lock(routes.mutex);
  routes.entries.emplace_front(std::move(key), made);
  if (routes.entries.size() > kept_routes) routes.entries.pop_back();
  return made;
}

// What this rank has of the result: its part, or its term of the sum.
Array computed(const NamedLinop& A, const Prepared& p, const Array& x) {
  if (!p.idle) return (p.part ? *p.part : A)(x);
  Shape shape = p.route.shape;
  if (p.route.out.split) shape[*p.route.out.split] = 0;
  return zeros(shape, p.route.dtype, A.output_device(x.device()));
}

// The sum of all terms, on every rank. A rank that has none because it failed (its memory may be
// too small) says so in a number more, so that no other waits for it.
Array summed(const Array& term, const ApplyRoute& r, Device device, const Communicator& comm) {
  const i64 n = count_of(r.shape);
  const Array all = empty_dense({n + 1}, r.dtype), sum = all.slice(0, 0, n).reshape(r.shape),
              failed = all.slice(0, n, n + 1);
  failed.fill(Value(term ? 0 : 1));
  if (term)
    sum.copy_from(term.to(cpu));
  else
    sum.fill(Value(0));
  comm.allreduce(all.host_data(), n + 1, r.dtype, Combine::sum);
  const i64 failures = static_cast<i64>(failed.real().item().as<double>());
  require<CommError>(!term || failures == 0, "apply: ", failures, " of ", comm.size(),
                     " ranks could not form their terms of the sum");
  return sum.to(device);
}

}  // namespace

ApplyRoute explain_apply(const NamedLinop& A, const DNDarray& x, const ApplyOptions& options) {
  return prepared(A, x, options)->route;
}

DNDarray apply(const NamedLinop& A, const DNDarray& x, const ApplyOptions& options) {
  const std::shared_ptr<Prepared> p = prepared(A, x, options);
  const ApplyRoute& r = p->route;
  const Communicator& comm = x.comm();
  const DNDarray laid = x.distributed_as(r.in);
  Array y;
  std::exception_ptr failure;
  try {
    y = computed(A, *p, laid.local());
  } catch (const Error&) {
    if (!r.summed || comm.alone()) throw;
    failure = std::current_exception();
  }
  if (r.summed && !comm.alone()) y = summed(y, r, A.output_device(x.device()), comm);
  if (failure) std::rethrow_exception(failure);
  if (r.cut && r.out.split) return DNDarray(y, r.shape, r.out, comm);
  const DNDarray whole = DNDarray::replicated(y, comm);
  return r.out.split ? whole.distributed_as(r.out) : whole;
}

}  // namespace tessera::dist

namespace tessera {

DNDarray NamedLinop::operator()(const DNDarray& x) const { return dist::apply(*this, x); }

}  // namespace tessera
