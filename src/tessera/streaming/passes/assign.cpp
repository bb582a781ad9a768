// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tessera/device/threads.hpp"
#include "tessera/streaming/passes/pass.hpp"

namespace tessera::streaming {
namespace {

// What the steps of one assignment share.
struct AssignPass {
  std::shared_ptr<const Program> program;
  Cut cut;
  std::optional<SourceRing> ring;
  std::vector<i64> outputs;  // a buffer for each slot
  i64 registers = 0;         // a buffer for all threads
  i64 register_bytes = 0;    // of one thread
  DType out = DType::f32;

  void compute(const Buffers& buffers, const Box& box, i64 slot,
               const std::vector<Move>& reads) const {
    const std::vector<Program::Part> parts = ring->parts(buffers, reads);
    const Array into = buffers(dense_view(outputs[static_cast<std::size_t>(slot)], box.shape, out));
    const std::vector<Box> leaves = parts_of(box, cut.leaf);
    const i64 count = static_cast<i64>(leaves.size());
    const Program::Part target{into, box};
    parallel_for(cut.threads, 1, [&](i64 begin, i64 end) {
      const OneThread alone;
      for (i64 t = begin; t < end; ++t) {
        Layout own = Layout::contiguous({register_bytes});
        own.offset = t * register_bytes;
        const Array mine = buffers({registers, own, DType::u8});
        for (i64 k = count * t / cut.threads; k < count * (t + 1) / cut.threads; ++k) {
          const Box& leaf = leaves[static_cast<std::size_t>(k)];
          program->run(parts, leaf, mine, part_within(target, leaf));
        }
      }
    });
  }
};

}  // namespace

StreamPlan plan_assign(const Expression& expression, const StorePtr& out, const Options& options) {
  auto pass = std::make_shared<AssignPass>();
  pass->program = std::make_shared<const Program>(expression);
  const Program& program = *pass->program;
  pass->out = out->grid().dtype();
  require<ShapeError>(out->grid().shape() == program.shape(), "assign: the expression has shape ",
                      program.shape(), ", the output ", out->grid().shape());
  require<DTypeError>(can_cast_same_kind(program.dtype(), pass->out),
                      "assign: ", name(program.dtype()), " cannot become ", name(pass->out),
                      " ('same_kind')");
  require<IoError>(out->writable(), "assign: the output is read-only: ", out->describe());
  const PassTiles tiles = tiles_of_pass(program);
  const store::TileGrid& grid = tiles.grid;
  pass->cut = choose_cut("assign", tiles, options, [&](const Cut& c) {
    return SourceRing::bytes(program, c) +
           c.slots * StreamPlan::rounded(count_of(c.step) * size_of(pass->out)) +
           StreamPlan::rounded(c.threads * program.register_bytes(count_of(c.leaf)));
  });
  StreamPlan plan(cat("assign: ", program.shape(), " ", name(pass->out)), options);
  pass->ring.emplace(plan, pass->program, pass->cut);
  const i64 to = plan.add_store("output", out);
  for (i64 s = 0; s < pass->cut.slots; ++s)
    pass->outputs.push_back(plan.add_buffer(count_of(pass->cut.step) * size_of(pass->out)));
  pass->register_bytes = program.register_bytes(count_of(pass->cut.leaf));
  pass->registers = plan.add_buffer(pass->cut.threads * pass->register_bytes);
  if (count_of(program.shape()) == 0) return plan;
  plan.add_work({.op = Operation::elementwise,
                 .dtype = pass->out,
                 .m = count_of(program.shape()),
                 .batch = std::max<i64>(1, program.operations())});
  i64 number = 0;
  for (i64 t = 0; t < grid.tiles(); ++t)
    for (const Box& box : parts_of(grid.tile(t), pass->cut.step)) {
      const i64 slot = number++ % pass->cut.slots;
      Step step;
      step.reads = pass->ring->reads(box, slot);
      step.writes.push_back(
          {to, box,
           dense_view(pass->outputs[static_cast<std::size_t>(slot)], box.shape, pass->out)});
      step.uses.push_back(pass->registers);
      step.restarts = true;
      step.compute = [pass, box, slot, reads = step.reads](const Buffers& b) {
        pass->compute(b, box, slot, reads);
      };
      plan.add_step(std::move(step));
    }
  plan.add_note(cat("steps of ", pass->cut.step, " within tiles of ", grid.tile_shape(), ", ",
                    pass->cut.slots, " at a time"));
  return plan;
}

}  // namespace tessera::streaming
