// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/operators/stored_apply.hpp"

#include <array>

#include "tessera/base/hash.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/linop/core/state.hpp"
#include "tessera/streaming/stored/result_store.hpp"

namespace tessera::streaming {
namespace {

// Buffers of one operand, used in turn; a box that the step before had is not read again.
class OperandRing {
 public:
  OperandRing(StreamPlan& plan, i64 slots, i64 bytes) {
    for (i64 s = 0; s < slots; ++s) buffers_.push_back(plan.add_buffer(bytes));
  }
  i64 next() { return buffers_[++turn_ % buffers_.size()]; }
  i64 now() const { return buffers_[turn_ % buffers_.size()]; }
  // The part of a store where a step finds it.
  BufferView take(Step& step, i64 number, const StorePtr& store, const Box& box) {
    const bool there = store_ == store.get() && box_ == box;
    const BufferView view = dense_view(there ? now() : next(), box.shape, store->grid().dtype());
    if (there) {
      step.uses.push_back(view.buffer);
      if (step.restarts) step.restores.push_back({number, box, view});
    } else {
      step.reads.push_back({number, box, view});
    }
    store_ = store.get();
    box_ = box;
    return view;
  }

 private:
  std::vector<i64> buffers_;
  std::size_t turn_ = 0;
  const store::TileStore* store_ = nullptr;
  Box box_;
};

void check_operands(const NamedLinop& a, const StorePtr& x, const StorePtr& y) {
  const Shape shape = a.output_shape(x->grid().shape());
  const DType dtype = a.output_dtype(x->grid().dtype());
  require<ShapeError>(y->grid().shape() == shape, a, ": the output on disk has shape ",
                      y->grid().shape(), ", the result ", shape);
  require<DTypeError>(y->grid().dtype() == dtype, a, ": the output on disk holds ",
                      name(y->grid().dtype()), ", the result is ", name(dtype));
  require<IoError>(y->writable(), a, ": the output is read-only: ", y->describe());
  bool again = x == y;
  for (const WeightBox& w : weights_on_disk(a)) again = again || w.store == y;
  require<ArgumentError>(!again, a, ": the output on disk is read by the operator as well; ",
                         "give another one");
}

// What a step computes: its tile of the operator, between the buffers.
struct TileStep {
  NamedLinop a;
  std::shared_ptr<const TileChoice> choice;
  OperatorTile tile;
  BufferView in, out;
  std::optional<BufferView> term{};  // what is added to `out`, of all tiles but the first
  std::vector<BufferView> weights{};

  void operator()(const Buffers& buffers) const {
    const NamedLinop part = tile.cuts.empty() ? a : a.split(tile.cuts);
    std::vector<Array> numbers;
    for (const BufferView& w : weights) numbers.push_back(buffers(w));
    const LentWeights scope(tile.weights, std::move(numbers));
    const Plan plan =
        plan_of_tile(part, tile.in.shape, in.dtype, tile.out.shape, out.dtype, *choice);
    const Array y = buffers(out), to = tile.first ? y : buffers(*term);
    Run run = plan.instance();
    run(buffers(in), to);
    run.sync();
    if (!tile.first) elementwise(ElementOp::add, std::array<ArrayOrValue, 2>{y, to}, y);
  }
};

}  // namespace

StreamPlan plan_apply(const NamedLinop& a, const StorePtr& x, const StorePtr& y,
                      const ApplyOptions& options) {
  check_operands(a, x, y);
  const i64 budget = options.budget > 0 ? options.budget : stream_budget();
  StreamPlan plan(cat(a, " of ", x->grid().shape(), " ", name(x->grid().dtype())),
                  {.budget = budget});
  const i64 from = plan.add_store("input", x), to = plan.add_store("output", y);
  if (y->grid().bytes() == 0) return plan;
  const Shape& input = x->grid().shape();
  const auto choice = std::make_shared<const TileChoice>(
      choose_tiles(a, input, x->grid().dtype(), {budget, options.devices}, x.get()));
  const OperatorTiles all(a, input, choice->sizes);
  std::vector<OperatorTile> tiles;
  for (i64 i = 0; i < all.count(); ++i) tiles.push_back(all[i]);
  i64 in_bytes = 0, out_bytes = 0;
  std::vector<i64> weight_bytes;
  std::vector<StorePtr> stores;
  std::vector<i64> numbers;  // of the stores, in the plan
  const auto number_of = [&](const StorePtr& s) {
    for (std::size_t i = 0; i < stores.size(); ++i)
      if (stores[i] == s) return numbers[i];
    stores.push_back(s);
    numbers.push_back(plan.add_store("operator", s));
    return numbers.back();
  };
  for (const OperatorTile& t : tiles) {
    in_bytes = std::max(in_bytes, t.in.size() * size_of(x->grid().dtype()));
    out_bytes = std::max(out_bytes, t.out.size() * size_of(y->grid().dtype()));
    weight_bytes.resize(std::max(weight_bytes.size(), t.weights.size()), 0);
    for (std::size_t i = 0; i < t.weights.size(); ++i)
      weight_bytes[i] = std::max(weight_bytes[i], t.weights[i].bytes());
  }
  OperandRing ins(plan, choice->slots, in_bytes), outs(plan, choice->slots, out_bytes);
  std::vector<OperandRing> weights;
  weights.reserve(weight_bytes.size());
  for (const i64 bytes : weight_bytes) weights.emplace_back(plan, choice->slots, bytes);
  const i64 term = tiles.front().last ? -1 : plan.add_buffer(out_bytes);  // what is added to others
  plan.add_held(choice->workspace);
  plan.add_note(choice->sizes.empty()
                    ? std::string("whole, in one step")
                    : cat("tiles of ", to_text(choice->sizes), ", ", choice->slots, " at a time"));
  for (const OperatorTile& t : tiles) {
    Step step;
    step.restarts = t.first;
    TileStep compute{a, choice, t, ins.take(step, from, x, t.in), {}};
    for (std::size_t i = 0; i < t.weights.size(); ++i)
      compute.weights.push_back(weights[i].take(step, number_of(t.weights[i].store),
                                                t.weights[i].store, t.weights[i].box));
    compute.out = dense_view(t.first ? outs.next() : outs.now(), t.out.shape, y->grid().dtype());
    if (!t.first) {
      compute.term = dense_view(term, t.out.shape, y->grid().dtype());
      step.uses.push_back(term);
    }
    if (t.last)
      step.writes.push_back({to, t.out, compute.out});
    else
      step.uses.push_back(compute.out.buffer);
    step.compute = std::move(compute);
    plan.add_step(std::move(step));
  }
  return plan;
}

std::string version_of(const NamedLinop& a) {
  std::string text;
  bool known = true;
  const LinopDescription d = describe(a, [&](const NamedLinop& part) {
    const OnDisk* o = part.as<OnDisk>();
    const std::string numbers = o ? o->store->version() : "";
    known = known && !numbers.empty();
    if (known) text += cat(version_of(o->sketch), " ", to_text(o->box), " of ", numbers, "; ");
    return i64{0};
  });
  if (!known) return {};
  text += d.text;
  for (const Array& array : d.arrays) {
    Array once = array;  // what stands for an array on disk is one number as often as it has
    for (i64 d = 0; d < array.ndim(); ++d)
      if (array.layout().strides[d] == 0 && array.shape()[d] > 1) once = once.slice(d, 0, 1);
    const Array here = once.to(cpu).contiguous();
    text += cat(" ", name(here.dtype()), array.shape(), " ",
                hash_bytes(here.host_data(), static_cast<std::size_t>(here.bytes())));
  }
  return cat(a.kind(), ", hash ", hash_bytes(text.data(), text.size()));
}

StoredArray apply_operator(const NamedLinop& a, const StoredArray& x, const ApplyOptions& options,
                           const std::string& path) {
  const StorePtr from = x.store();
  const auto facts = [&] {
    std::string bytes = cat("apply with a budget of ", options.budget);
    for (const auto& [device, most] : options.devices) bytes += cat(", ", most, " on ", device);
    return JobFacts{{"operation", bytes}, {"operator", version_of(a)}, {"source", from->version()}};
  };
  return StoredArray(result_store(
      {path, facts, a.output_shape(x.shape()), a.output_dtype(x.dtype())},
      [&](const StorePtr& y, const Options& o, const MakeScratch&) {
        const i64 most = options.budget > 0 ? std::min(options.budget, o.budget) : o.budget;
        return plan_apply(a, from, y, {most, options.devices});
      }));
}

std::string explain_apply(const NamedLinop& a, const StorePtr& x, const ApplyOptions& options) {
  const Shape shape = a.output_shape(x->grid().shape());
  // A store that is planned into, and never written.
  const Array none = sketched(shape, a.output_dtype(x->grid().dtype()));
  return plan_apply(a, x, store_in_memory(none), options).explain();
}

bool fits_in_memory(i64 bytes, const ApplyOptions& options) {
  return bytes <= (options.budget > 0 ? options.budget : stream_budget()) / 4;
}

StorePtr store_in_memory(const Array& array) {
  Shape tile = array.shape();
  for (i64& n : tile) n = std::max<i64>(n, 1);
  return store::memory_store(array, tile);
}

}  // namespace tessera::streaming
