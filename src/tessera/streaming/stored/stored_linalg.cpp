// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/stored/stored_linalg.hpp"

#include "tessera/compute/calibrate.hpp"
#include "tessera/compute/context.hpp"
#include "tessera/streaming/linalg/cholesky.hpp"
#include "tessera/streaming/plan/planning.hpp"
#include "tessera/streaming/stored/result_store.hpp"

namespace tessera::streaming {
namespace {

StorePtr stored_as(const StoredArray& a, DType dtype) {
  return StoredArray(a.expression().as(dtype)).store();
}

void require_matrix(std::string_view who, const StoredArray& a) {
  require<ShapeError>(a.ndim() == 2 && a.shape()[0] == a.shape()[1], who,
                      ": takes a square matrix, got shape ", a.shape());
}

// Refused before a formula is computed or a file made.
DType dtype_of_system(std::string_view who, const StoredArray& a, const StoredArray& b) {
  require_matrix(who, a);
  require<ShapeError>((b.ndim() == 1 || b.ndim() == 2) && b.shape()[0] == a.shape()[0], who,
                      ": a matrix of shape ", a.shape(), " and right sides of shape ", b.shape(),
                      ": the sizes do not match");
  return promote(linalg::working_dtype(a.dtype()), linalg::working_dtype(b.dtype()));
}

const std::vector<std::string> lu_scratch{"factors", "exchanges"};

StorePtr factors_of(const StorePtr& a, const MakeScratch& make) {
  return make("factors", a->grid().shape(), a->grid().dtype());
}
// Exchanges are kept where a run may have to begin behind them.
StorePtr exchanges_of(const StorePtr& a, const MakeScratch& make, bool is_job) {
  return is_job ? make("exchanges", {a->grid().shape()[0]}, DType::i32) : nullptr;
}

using PlanWithFactors = std::function<StreamPlan(const StorePtr& factors, const Options& options)>;

// By the costs of this machine where there is much to move, else by the bytes of files.
bool is_quicker(const StreamPlan& a, const StreamPlan& b) {
  constexpr i64 much = i64{256} << 20;
  const auto bytes = [](const StreamPlan& p) {
    return p.figures().disk().read + p.figures().disk().written;
  };
  if (bytes(a) + bytes(b) < much) return bytes(a) < bytes(b);
  const auto rate = cached_disk_rate(cost_cache_path(), store::backing_dir());
  const auto first = a.figures().seconds(host_costs(), rate),
             second = b.figures().seconds(host_costs(), rate);
  return first && second ? *first < *second : bytes(a) < bytes(b);
}

// The factors of a job are in a file, to go on from. Others may stay in host memory: then they are
// neither written nor read, and what they take of the budget the panels do not have.
StreamPlan with_factors(const StorePtr& a, const Options& options, const MakeScratch& make,
                        bool is_job, Device device, const PlanWithFactors& plan) {
  const store::TileGrid& grid = a->grid();
  const i64 bytes = StreamPlan::rounded(grid.bytes());
  const i64 of_host = (device == cpu ? options.budget : stream_budget()) - bytes;
  const i64 left = device == cpu || of_host <= 0 ? of_host : options.budget;
  std::optional<StreamPlan> in_host;
  if (!is_job && grid.bytes() > 0 && left > 0) try {
      // Numbers that take no memory: they stand for those that a plan will have.
      in_host = plan(store::memory_store(planned_numbers(grid.shape(), grid.dtype()), grid.shape()),
                     {.budget = left});
    } catch (const OutOfMemory&) {
      // No room for panels beside the factors.
    }
  if (in_host) {
    const StorePtr nowhere = Planning::unmade_store("file", grid_for(grid.shape(), grid.dtype()));
    if (!is_quicker(*in_host, plan(nowhere, options))) in_host.reset();
  }
  if (!in_host) {
    StreamPlan from_disk = plan(factors_of(a, make), options);
    from_disk.add_note(is_job ? "from disk: the factors of a job are in a file, to go on from"
                              : "from disk: the factors have no room in memory, or are quicker so");
    return from_disk;
  }
  if (!Planning::now()) {
    const Array room = Array::empty(grid.shape(), grid.dtype());
    in_host = plan(store::memory_store(room, grid.shape()), {.budget = left});
  }
  in_host->add_held_by_host(bytes);
  in_host->add_note(cat("from host memory: the factors take ", bytes_text(bytes),
                        " of it, and no part of the disk"));
  return *std::move(in_host);
}

// A system with its right sides, or an inverse without.
struct System {
  std::string_view who;
  DType dtype;
  Device device;
  StorePtr matrix, right;

  System(std::string_view name, const StoredArray& a, const StoredArray* b,
         std::optional<Device> where)
      : who(name), device(where ? *where : context().forced().value_or(cpu)) {
    if (!b) require_matrix(who, a);
    dtype = b ? dtype_of_system(who, a, *b) : linalg::working_dtype(a.dtype());
    matrix = stored_as(a, dtype);
    if (b) right = stored_as(*b, dtype);
  }

  ResultSpec result(const Shape& shape, const std::string& path) const {
    const auto facts = [me = *this] {
      JobFacts all{{"operation", cat(me.who, place_text(me.device))}, {"A", me.matrix->version()}};
      if (me.right) all.emplace_back("B", me.right->version());
      return all;
    };
    return {.path = path,
            .facts = facts,
            .shape = shape,
            .dtype = dtype,
            .scratch = lu_scratch,
            .device = device};
  }
  PlanInto plan(bool is_job) const {
    return [me = *this, is_job](const StorePtr& out, const Options& options,
                                const MakeScratch& scratch) {
      const StorePtr exchanges = exchanges_of(me.matrix, scratch, is_job);
      return with_factors(
          me.matrix, options, scratch, is_job, me.device,
          [&](const StorePtr& factors, const Options& o) {
            return me.right ? plan_solve(me.matrix, me.right, out, factors, o, exchanges, me.device)
                            : plan_inverse(me.matrix, out, factors, o, exchanges, me.device);
          });
    };
  }
  void into(const StoredArray& out) const {
    require<ArgumentError>(!out.is_formula(), who, ": the output is a formula");
    require<DTypeError>(out.dtype() == dtype, who, ": the result is ", name(dtype), ", the output ",
                        name(out.dtype()));
    require<ArgumentError>(
        !is_same_place(out.store(), matrix) && !is_same_place(out.store(), right), who,
        ": the output is one of the operands");
    plan(false)(out.store(), {.budget = stream_budget(device)}, backed_scratch).run();
  }
};

}  // namespace

StoredArray cholesky(const StoredArray& a, bool upper, const std::string& path) {
  require_matrix("cholesky", a);
  const DType t = linalg::working_dtype(a.dtype());
  const StorePtr from = stored_as(a, t);
  const auto facts = [&] {
    return JobFacts{{"operation", upper ? "cholesky, upper" : "cholesky"}, {"A", from->version()}};
  };
  return StoredArray(
      result_store({path, facts, a.shape(), t},
                   [&](const StorePtr& out, const Options& options, const MakeScratch&) {
                     return plan_cholesky(from, out, {.upper = upper}, options);
                   }));
}

StoredArray solve(const StoredArray& a, const StoredArray& b, const std::string& path,
                  std::optional<Device> device) {
  const System system("solve", a, &b, device);
  return StoredArray(result_store(system.result(b.shape(), path), system.plan(!path.empty())));
}

StoredArray inverse(const StoredArray& a, const std::string& path, std::optional<Device> device) {
  const System system("inverse", a, nullptr, device);
  return StoredArray(result_store(system.result(a.shape(), path), system.plan(!path.empty())));
}

void solve_into(const StoredArray& out, const StoredArray& a, const StoredArray& b,
                std::optional<Device> device) {
  System("solve", a, &b, device).into(out);
}

void inverse_into(const StoredArray& out, const StoredArray& a, std::optional<Device> device) {
  System("inverse", a, nullptr, device).into(out);
}

StoredArray solve_triangular(const StoredArray& a, const StoredArray& b,
                             const TriangularOptions& what, const std::string& path) {
  const DType t = dtype_of_system("solve_triangular", a, b);
  const StorePtr matrix = stored_as(a, t), right = stored_as(b, t);
  const auto facts = [&] {
    return JobFacts{{"operation", cat("solve_triangular, ", what.lower ? "lower" : "upper", " ",
                                      static_cast<int>(what.turn), what.unit ? ", unit" : "")},
                    {"A", matrix->version()},
                    {"B", right->version()}};
  };
  return StoredArray(
      result_store({path, facts, b.shape(), t},
                   [&](const StorePtr& out, const Options& options, const MakeScratch&) {
                     return plan_solve_triangular(matrix, right, out, what, options);
                   }));
}

}  // namespace tessera::streaming
