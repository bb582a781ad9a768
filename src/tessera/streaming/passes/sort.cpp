// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/passes/sort.hpp"

#include <algorithm>
#include <numeric>

#include "tessera/kernels/eager.hpp"
#include "tessera/kernels/sort/sort.hpp"
#include "tessera/streaming/passes/merge_runs.hpp"
#include "tessera/streaming/passes/pass.hpp"

namespace tessera::streaming {
namespace {

constexpr i64 least_run = 1024;               // elements
constexpr i64 window_bytes = i64{256} << 10;  // of a run, where the budget has them: one read
constexpr i64 runs_in_part = 4;  // of a merge, in a step: as many as memory has four times over
constexpr i64 buffers = 4;       // two to be read into and two to be written from; four of a merge

// Some elements of a merge: all of a group of runs, or a part of it.
struct MergePart {
  i64 passes_left = 0, begin = 0;
  std::vector<i64> lengths = {};  // of the group's runs, from `begin` on
  i64 until = 0;                  // elements of the group that are there afterwards
  bool is_first = true, is_last = true;
  i64 number = 0;  // within its pass
};

struct ExternalSort {
  StoredLine from, to, beside;  // without the row
  StorePtr taken;               // in row k: what was taken of the runs when part k begins
  std::unique_ptr<RunMerge> merge = nullptr;  // of the last part, unless it ended its group
  i64 n = 0, run = 0;       // elements of a row, and of the runs that are sorted in memory
  i64 fan = 2, passes = 0;  // runs that are merged at a time, and how often all are
  DType dtype = DType::f32;

  // Where runs lie that so many passes are still to come for.
  const StoredLine& side(i64 passes_left) const { return passes_left % 2 == 0 ? to : beside; }

  // All merges of a row, pass by pass.
  std::vector<MergePart> merge_parts() const {
    const i64 part = runs_in_part * run;
    std::vector<MergePart> out;
    std::vector<i64> lengths;
    for (i64 at = 0; at < n; at += run) lengths.push_back(std::min(run, n - at));
    for (i64 left = passes; left > 0; --left) {
      std::vector<i64> longer;
      i64 begin = 0, number = 0;
      for (std::size_t k = 0; k < lengths.size(); k += static_cast<std::size_t>(fan)) {
        MergePart p{.passes_left = left, .begin = begin};
        for (std::size_t i = k; i < std::min(lengths.size(), k + static_cast<std::size_t>(fan));
             ++i)
          p.lengths.push_back(lengths[i]);
        const i64 all = std::accumulate(p.lengths.begin(), p.lengths.end(), i64{0});
        for (i64 at = 0; at < all; at += part) {
          p.until = std::min(all, at + part);
          p.is_first = at == 0;
          p.is_last = p.until == all;
          p.number = number++;
          out.push_back(p);
        }
        longer.push_back(all);
        begin += all;
      }
      lengths = std::move(longer);
    }
    return out;
  }

  void run_part(const Buffers& b, const Shape& row, const MergePart& part) {
    if (part.is_first || !merge) begin_merge(b, row, part);
    try {
      merge->run_until(part.until);
    } catch (...) {
      merge = nullptr;
      throw;
    }
    if (taken && !part.is_last) {
      const std::vector<i64> now = merge->taken();
      const Array numbers = Array::empty({1, static_cast<i64>(now.size())}, DType::i64);
      std::copy(now.begin(), now.end(), numbers.host<i64>());
      store::write_box(*taken, {{part.number + 1, 0}, numbers.shape()}, numbers);
    }
    if (part.is_last) merge = nullptr;
  }

 private:
  void begin_merge(const Buffers& b, const Shape& row, const MergePart& part) {
    std::array<Array, buffers> memory;
    for (i64 k = 0; k < buffers; ++k)
      memory[static_cast<std::size_t>(k)] = b(dense_view(k, {run}, dtype));
    const i64 runs = static_cast<i64>(part.lengths.size());
    std::vector<i64> before;
    if (!part.is_first) {  // a run that was ended goes on
      const Array numbers = store::read_box(*taken, {{part.number, 0}, {1, runs}});
      before.assign(numbers.host<i64>(), numbers.host<i64>() + runs);
    }
    StoredLine source = side(part.passes_left), target = side(part.passes_left - 1);
    (part.passes_left % 2 == 0 ? source : target).at = row;
    merge = std::make_unique<RunMerge>(source, target, part.begin, part.lengths, before, memory,
                                       run / runs);
  }
};

i64 sort_workspace(const Shape& shape, DType dtype) {
  const Operand x{Layout::contiguous(shape), dtype};
  return StreamPlan::rounded(kernels_of(cpu).sort.prepare({x, x, false}, cpu).workspace);
}

i64 held_for(const Shape& box, DType dtype) {
  return buffers * StreamPlan::rounded(count_of(box) * size_of(dtype)) + sort_workspace(box, dtype);
}

// Whole rows, as many as fit but not more than a tile has; nothing where not even one does.
std::optional<Shape> whole_rows(const Shape& shape, DType dtype, i64 budget) {
  const i64 row = std::max<i64>(1, shape.back()) * size_of(dtype);
  for (i64 bytes = std::max(row, store::TileGrid::default_tile_bytes);; bytes = bytes / 2) {
    const Shape box = store::TileGrid::rows(shape, dtype, std::max(bytes, row)).tile_shape();
    if (held_for(box, dtype) <= budget) return box;
    if (bytes <= row) return std::nullopt;
  }
}

// The longest run that fits; of whole blocks where it is long.
i64 longest_run(i64 n, DType dtype, const Options& options) {
  i64 fits = std::min(n, least_run);
  require_budget("sort", options, held_for({fits}, dtype));
  for (i64 above = n + 1; above - fits > 1;) {
    const i64 middle = fits + (above - fits) / 2;
    (held_for({middle}, dtype) <= budget_of(options) ? fits : above) = middle;
  }
  return fits > 4 * 4096 ? fits / 4096 * 4096 : fits;
}

// As few passes as windows of a sensible size allow, and no more runs at a time than these need.
void choose_fan(ExternalSort& s) {
  const i64 runs = (s.n + s.run - 1) / s.run;
  const i64 most = std::max<i64>(2, s.run * size_of(s.dtype) / window_bytes);
  const auto passes_with = [&](i64 fan) {
    i64 passes = 0;
    for (i64 left = runs; left > 1; left = (left + fan - 1) / fan) ++passes;
    return passes;
  };
  s.passes = passes_with(most);
  s.fan = most;
  while (s.fan > 2 && passes_with(s.fan - 1) == s.passes) --s.fan;
}

// One step of sorting in memory: a box comes, is sorted along its last axis and goes.
Step sorting_step(i64 from, const Box& source, i64 to, const Box& target, DType dtype, i64 number) {
  const BufferView in = dense_view(number % 2, source.shape, dtype),
                   out = dense_view(2 + number % 2, source.shape, dtype);
  Step step;
  step.reads.push_back({from, source, in});
  BufferView leaves = out;  // the same numbers, in the shape of where they go
  leaves.layout = Layout::contiguous(target.shape);
  step.writes.push_back({to, target, leaves});
  step.restarts = true;
  step.compute = [in, out](const Buffers& b) {
    const Array x = b(in), y = b(out);
    launch_now(&KernelTable::sort, "sort", SortSpec{operand_of(x), operand_of(y), false}, cpu,
               {&x, &y});
    y.host_data();  // has ended
  };
  return step;
}

void add_buffers(StreamPlan& plan, const Shape& box, DType dtype) {
  for (i64 k = 0; k < buffers; ++k) plan.add_buffer(count_of(box) * size_of(dtype));
  plan.add_held(sort_workspace(box, dtype));
}

void add_external_steps(StreamPlan& plan, const StorePtr& from, const StorePtr& to,
                        const MakeScratch& make_scratch, const Options& options,
                        bool shall_restart) {
  const store::TileGrid& grid = from->grid();
  auto s = std::make_shared<ExternalSort>();
  s->n = grid.shape().back();
  s->dtype = grid.dtype();
  s->run = longest_run(s->n, s->dtype, options);
  choose_fan(*s);
  const StorePtr beside = make_scratch("runs", {s->n}, s->dtype);
  s->from.store = from;
  s->to.store = to;
  s->beside.store = beside;
  add_buffers(plan, {s->run}, s->dtype);
  const i64 source = plan.add_store("source", from), output = plan.add_store("output", to),
            scratch = plan.add_store("runs", beside);
  const auto side = [&](i64 passes_left) { return passes_left % 2 == 0 ? output : scratch; };
  Shape by(grid.shape().size(), 1);
  by.back() = std::max<i64>(1, s->n);
  const std::vector<MergePart> parts = s->merge_parts();
  const i64 most_runs = std::min(s->fan, (s->n + s->run - 1) / s->run);
  const auto count = static_cast<i64>(parts.size());
  i64 taken = -1;
  if (shall_restart) {
    s->taken = make_scratch("taken", {std::max<i64>(1, count), most_runs}, DType::i64);
    taken = plan.add_store("taken", s->taken);
  }
  i64 number = 0;
  for (const Box& line : parts_of(grid.whole(), by)) {
    Shape row = line.begin;
    row.pop_back();
    for (i64 at = 0; at < s->n; at += s->run) {
      const i64 length = std::min(s->run, s->n - at);
      StoredLine in = s->from, out = s->side(s->passes);
      in.at = row;
      if (s->passes % 2 == 0) out.at = row;
      Step step = sorting_step(source, in.box(at, length), side(s->passes), out.box(at, length),
                               s->dtype, number++);
      step.overwrites = at == 0;  // the runs of the row before
      plan.add_step(std::move(step));
    }
    for (const MergePart& part : parts) {
      Step merge;
      merge.uses = {0, 1, 2, 3};
      merge.restarts = part.is_first || shall_restart;
      merge.overwrites = part.number == 0;  // where the pass before came from
      merge.compute = [s, row, part](const Buffers& b) { s->run_part(b, row, part); };
      plan.add_step(std::move(merge));
      if (shall_restart && !part.is_last)
        plan.add_traffic(taken, 0, static_cast<i64>(part.lengths.size()) * size_of(DType::i64));
    }
    const i64 bytes = s->n * size_of(s->dtype);
    for (i64 left = s->passes; left > 0; --left) {
      plan.add_traffic(side(left), bytes, 0);
      plan.add_traffic(side(left - 1), 0, bytes);
    }
  }
  plan.add_note(cat("runs of ", s->run, " elements, merged ", s->fan, " at a time in ", s->passes,
                    s->passes == 1 ? " pass" : " passes"));
}

}  // namespace

StreamPlan plan_sort(const StorePtr& from, const StorePtr& to, const MakeScratch& scratch,
                     const Options& options, bool shall_restart) {
  const store::TileGrid &source = from->grid(), &target = to->grid();
  const Shape& shape = source.shape();
  require<ShapeError>(!shape.empty(), "sort: an array without axes cannot be sorted");
  require<ShapeError>(shape == target.shape(), "sort: the source has shape ", shape,
                      ", the output ", target.shape());
  require<DTypeError>(source.dtype() == target.dtype(), "sort: the source holds ",
                      name(source.dtype()), ", the output ", name(target.dtype()));
  require<IoError>(to->writable(), "sort: the output is read-only: ", to->describe());
  require<ArgumentError>(from != to, "sort: source and output are the same store");
  StreamPlan plan(cat("sort: ", shape, " ", name(source.dtype()), " along the last axis"), options);
  if (count_of(shape) == 0) return plan;
  // A pass over the numbers for each time that they are halved.
  i64 halvings = 1;
  for (i64 n = shape.back(); n > 2; n = (n + 1) / 2) ++halvings;
  plan.add_work({.op = Operation::elementwise,
                 .dtype = source.dtype(),
                 .m = count_of(shape),
                 .batch = halvings});
  const std::optional<Shape> box = whole_rows(shape, source.dtype(), budget_of(options));
  if (!box) {
    add_external_steps(plan, from, to, scratch, options, shall_restart);
    return plan;
  }
  add_buffers(plan, *box, source.dtype());
  const i64 a = plan.add_store("source", from), b = plan.add_store("output", to);
  i64 number = 0;
  for (const Box& part : parts_of(source.whole(), *box))
    plan.add_step(sorting_step(a, part, b, part, source.dtype(), number++));
  plan.add_note(cat("whole rows, boxes of ", *box));
  return plan;
}

}  // namespace tessera::streaming
