// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a call on stored arrays will do, found by making it without its work: while a Planning lives,
// plans that this thread runs are noted instead, files of the backing folder are not made, and
// numbers that would be computed are zeros. The plans are those that the same call runs. What it makes
// on disk cannot be read or written outside of it; numbers in memory that outlive it are not a number
// from its end on (integers: all bits set; booleans stay false), what was computed from them is not.
//   Planning p;   matmul(a, b);   p.passes();   p.disk_peak();

#include <atomic>
#include <utility>

#include "tessera/streaming/plan/pass_figures.hpp"
#include "tessera/streaming/plan/stream_plan.hpp"

namespace tessera::streaming {

class TESSERA_API Planning {
 public:
  Planning();  // ArgumentError within another one
  ~Planning();
  Planning(const Planning&) = delete;
  Planning& operator=(const Planning&) = delete;
  static Planning* now();  // of this thread; none: calls do their work

  // ArgumentError for a new file of another planning.
  void require_own(const StorePtr& store) const;
  void add(PassFigures pass, const std::vector<StorePtr>& stores);  // all of them own
  const std::vector<PassFigures>& passes() const { return passes_; }
  // Bytes of new files: what they take at most at a time.
  i64 disk_peak() const { return files_->peak; }

  // Boxes that a key brings to memory, or changes, in one pass that is counted and not made.
  struct Part {
    StorePtr store;
    Box box;
  };
  void note_read(const std::vector<Part>& parts) { note("read", parts, {}); }
  void note_write(const Part& part) { note("write", {}, {part}); }

  // These zeros as numbers that nobody has computed.
  Array spoiled_later(const Array& zeros);

  // A new file that is not made: `description` stands for it, it reads as zeros.
  StorePtr store(std::string description, const store::TileGrid& grid);
  // The same beside any planning: for comparing plans of which one will run.
  static StorePtr unmade_store(std::string description, const store::TileGrid& grid);
  // The store that a formula would have by now; the first time `make` plans it.
  StorePtr of_formula(std::shared_ptr<const void> formula, const std::function<StorePtr()>& make);

 private:
  friend class PlannedStore;
  // Of the new files, which may outlive the planning, and go on another thread.
  struct Files {
    std::atomic<i64> now = 0;
    i64 peak = 0;
  };
  void note(std::string_view what, const std::vector<Part>& read, const std::vector<Part>& written);

  std::vector<PassFigures> passes_;
  std::vector<std::pair<std::shared_ptr<const void>, StorePtr>> formulas_;
  std::shared_ptr<Files> files_ = std::make_shared<Files>();
  // Numbers that nobody has computed, as long as somebody holds them.
  struct Numbers;
  std::vector<std::shared_ptr<Numbers>> numbers_;
};

// Numbers that nobody has computed: zeros that take no memory, until the planning ends.
TESSERA_API Array planned_numbers(const Shape& shape, DType dtype);

// Elements of a box in memory, and back, as keys of users want them; within a Planning they are counted,
// nothing is moved, and what was read is zeros that may be written over.
TESSERA_API Array read_box(const StorePtr& store, const Box& box);
TESSERA_API void write_box(const StorePtr& store, const Box& box, const Array& from);

}  // namespace tessera::streaming
