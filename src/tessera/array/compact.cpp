// SPDX-License-Identifier: Apache-2.0
#include "tessera/array/compact.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace tessera {
namespace {

struct Axis {
  i64 step, count;
  friend bool operator==(const Axis&, const Axis&) = default;
};

// The bytes of a view whatever the order of its axes: runs of `run` bytes along axes with steps
// that fall. Views that mean the same bytes (a matrix and its transpose) have one footprint.
struct Footprint {
  i64 start = 0, run = 0;
  std::vector<Axis> axes;
  bool nested = true;  // no two index tuples mean the same byte

  explicit Footprint(const ByteView& v) : start(v.start), run(v.item) {
    for (i64 i = 0; i < v.shape.size(); ++i) {
      const i64 step = v.strides[i] * v.item;
      if (v.shape[i] == 1 || step == 0) continue;
      if (step < 0) start += (v.shape[i] - 1) * step;
      axes.push_back({std::abs(step), v.shape[i]});
    }
    std::sort(axes.begin(), axes.end(),
              [](const Axis& a, const Axis& b) { return a.step > b.step; });
    // Steps within the run only lengthen it.
    while (!axes.empty() && axes.back().step <= run) {
      run += axes.back().step * (axes.back().count - 1);
      axes.pop_back();
    }
    for (std::size_t k = axes.size(); k-- > 1;)
      if (axes[k - 1].step == axes[k].step * axes[k].count) {
        axes[k - 1] = {axes[k].step, axes[k - 1].count * axes[k].count};
        axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(k));
      }
    i64 reach = run;
    for (std::size_t k = axes.size(); k-- > 0;) {
      nested = nested && axes[k].step >= reach;
      reach += axes[k].step * (axes[k].count - 1);
    }
  }
  i64 stop() const {
    i64 end = start + run;
    for (const Axis& a : axes) end += a.step * (a.count - 1);
    return end;
  }
  friend bool operator==(const Footprint&, const Footprint&) = default;

  // f(where a run starts, its index along each axis); the first `fixed` axes stay at 0.
  template <class F>
  void each_run(std::size_t fixed, F&& f) const {
    std::vector<i64> at(axes.size(), 0);
    for (i64 byte = start;;) {
      f(byte, at);
      std::size_t k = axes.size();
      for (; k > fixed; --k) {
        byte += axes[k - 1].step;
        if (++at[k - 1] < axes[k - 1].count) break;
        byte -= axes[k - 1].step * axes[k - 1].count;
        at[k - 1] = 0;
      }
      if (k == fixed) return;
    }
  }
};

struct Interval {
  i64 start, stop;
  std::size_t owner;
  i64 before = 0;  // bytes of the intervals before this one
};

// Axes that all footprints of a group begin with, each of its periods in a step of its own: what
// they keep is known from the first period.
struct Repeats {
  i64 low = 0;
  std::vector<Axis> axes{};
};

// The bytes that a block keeps, in order; the rank of a byte is where it goes.
class Kept {
 public:
  explicit Kept(std::vector<Interval> intervals, Repeats repeats = {})
      : repeats_(std::move(repeats)), fixed_(repeats_.axes.size()) {
    std::sort(intervals.begin(), intervals.end(),
              [](const Interval& a, const Interval& b) { return a.start < b.start; });
    for (const Interval& i : intervals) {
      if (!all_.empty() && i.start <= all_.back().stop)
        all_.back().stop = std::max(all_.back().stop, i.stop);
      else
        all_.push_back(i);
    }
    for (Interval& i : all_) {
      i.before = bytes_;
      bytes_ += i.stop - i.start;
    }
    // A period without gaps makes one piece with the next.
    for (auto& axes = repeats_.axes; !axes.empty() && bytes_ == axes.back().step;) {
      bytes_ *= axes.back().count;
      all_.front().stop = all_.front().start + bytes_;
      axes.pop_back();
    }
  }
  const std::vector<Interval>& intervals() const { return all_; }
  i64 bytes() const {
    i64 n = bytes_;
    for (const Axis& a : repeats_.axes) n *= a.count;
    return n;
  }
  std::optional<i64> source() const {
    return all_.size() == 1 && repeats_.axes.empty() ? std::optional(all_.front().start)
                                                     : std::nullopt;
  }
  i64 rank(i64 byte) const {
    i64 periods = 0, inside = bytes();
    for (const Axis& a : repeats_.axes) {
      inside /= a.count;
      periods += (byte - repeats_.low) / a.step * inside;
      byte = repeats_.low + (byte - repeats_.low) % a.step;
    }
    const auto next = std::upper_bound(all_.begin(), all_.end(), byte,
                                       [](i64 b, const Interval& i) { return b < i.start; });
    return periods + std::prev(next)->before + byte - std::prev(next)->start;
  }
  // The footprint has steps of its own among what is kept.
  bool strided(const Footprint& f) const {
    const i64 first = rank(f.start);
    std::vector<i64> steps;
    for (const Axis& a : f.axes) steps.push_back(rank(f.start + a.step) - first);
    bool fits = true;
    f.each_run(fixed_, [&](i64 byte, const std::vector<i64>& at) {
      if (fits) fits = rank(byte) == std::inner_product(at.begin(), at.end(), steps.begin(), first);
    });
    return fits;
  }

 private:
  Repeats repeats_;
  std::size_t fixed_;  // how many axes the footprints had in common
  std::vector<Interval> all_;
  i64 bytes_ = 0;  // of one period
};

// A footprint alone needs no list of its runs.
struct Folded {
  const Footprint& f;
  i64 bytes() const {
    i64 n = f.run;
    for (const Axis& a : f.axes) n *= a.count;
    return n;
  }
  std::optional<i64> source() const {
    return f.axes.empty() ? std::optional(f.start) : std::nullopt;
  }
  i64 rank(i64 byte) const {
    i64 rest = byte - f.start, at = 0, inside = bytes();
    for (const Axis& a : f.axes) {
      inside /= a.count;
      at += rest / a.step * inside;
      rest %= a.step;
    }
    return at + rest;
  }
};

class Compaction {
 public:
  explicit Compaction(const std::vector<ByteView>& views) : views_(views) {
    CompactBlock empty;
    for (std::size_t i = 0; i < views.size(); ++i) {
      if (count_of(views[i].shape) == 0) {
        empty.places.push_back({i, Layout::contiguous(views[i].shape)});
        continue;
      }
      const Footprint f(views[i]);
      std::size_t k = 0;
      while (k < prints_.size() && !(prints_[k] == f)) ++k;
      if (k == prints_.size()) {
        prints_.push_back(f);
        members_.emplace_back();
      }
      members_[k].push_back(i);
    }
    if (!empty.places.empty()) blocks_.push_back(std::move(empty));
  }

  std::vector<CompactBlock> blocks() {
    Group all(prints_.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    if (!all.empty() && !place(all)) {
      std::vector<Group> together = sharing(all);
      if (static_cast<i64>(together.size()) * runs(all, 0) < most_work) together = joined(together);
      const std::size_t before = blocks_.size();
      for (const Group& g : together)
        if (!place(g)) place_with_gaps(g);
      i64 total = 0;
      for (std::size_t k = before; k < blocks_.size(); ++k) total += blocks_[k].bytes;
      const auto [low, high] = aligned_span(all);
      if (total > high - low) {  // the gaps cost more than everything in between
        blocks_.resize(before);
        place_in(all, Kept({{low, high, 0}}));
      }
    }
    return std::move(blocks_);
  }

  i64 bytes() const {
    if (prints_.size() == 1 && prints_.front().nested) return Folded{prints_.front()}.bytes();
    Group all(prints_.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    return all.empty() ? 0 : kept_of(all).bytes();
  }

 private:
  using Group = std::vector<std::size_t>;  // of footprints
  static constexpr i64 most_work = 50'000'000;

  i64 runs(const Group& group, std::size_t fixed) const {
    i64 n = 0;
    for (std::size_t k : group) {
      i64 own = 1;
      for (std::size_t a = fixed; a < prints_[k].axes.size(); ++a) own *= prints_[k].axes[a].count;
      n += own;
    }
    return n;
  }

  Repeats repeats(const Group& group) const {
    Repeats r{span(group).first};
    const std::vector<Axis>& first = prints_[group.front()].axes;
    i64 reach = span(group).second - r.low;
    for (const Axis& a : first) {
      reach -= a.step * (a.count - 1);
      const bool common = std::all_of(group.begin(), group.end(), [&](std::size_t k) {
        return prints_[k].axes.size() > r.axes.size() && prints_[k].axes[r.axes.size()] == a;
      });
      if (!common || reach > a.step) break;
      r.axes.push_back(a);
    }
    return r;
  }

  Kept kept_of(const Group& group) const {
    Repeats r = repeats(group);
    std::vector<Interval> all = intervals(group, r.axes.size());
    return Kept(std::move(all), std::move(r));
  }

  std::vector<Interval> intervals(const Group& group, std::size_t fixed) const {
    std::vector<Interval> all;
    all.reserve(static_cast<std::size_t>(runs(group, fixed)));
    for (std::size_t k : group)
      prints_[k].each_run(fixed, [&](i64 byte, const std::vector<i64>&) {
        all.push_back({byte, byte + prints_[k].run, k});
      });
    return all;
  }

  // The group as one block, exactly; false when some view would not be strided in it.
  bool place(const Group& group) {
    if (group.size() == 1 && prints_[group.front()].nested)
      return place_in(group, Folded{prints_[group.front()]});
    const auto [low, high] = span(group);
    for (std::size_t k : group)  // one of them is all of it
      if (prints_[k].axes.empty() && prints_[k].start == low && prints_[k].stop() == high)
        return place_in(group, Kept({{low, high, k}}));
    const Kept kept = kept_of(group);
    return fits(group, kept) && place_in(group, kept);
  }

  bool fits(const Group& group, const Kept& kept) const {
    return std::all_of(group.begin(), group.end(),
                       [&](std::size_t k) { return kept.strided(prints_[k]); });
  }

  template <class Ranks>
  bool place_in(const Group& group, const Ranks& ranks) {
    CompactBlock block{.bytes = ranks.bytes(), .places = {}, .source = ranks.source()};
    for (std::size_t k : group)
      for (std::size_t i : members_[k]) {
        const ByteView& v = views_[i];
        const i64 origin = prints_[k].start;
        i64 first = ranks.rank(origin);
        Layout l{v.shape, v.strides, 0};
        for (i64 a = 0; a < v.shape.size(); ++a) {
          const i64 step = v.strides[a] * v.item;
          if (v.shape[a] == 1 || step == 0) {
            l.strides[a] = 0;
            continue;
          }
          const i64 moved = ranks.rank(origin + std::abs(step)) - ranks.rank(origin);
          if (moved % v.item != 0) return false;
          l.strides[a] = (step < 0 ? -moved : moved) / v.item;
          if (step < 0) first += (v.shape[a] - 1) * moved;
        }
        if (first % v.item != 0) return false;
        l.offset = first / v.item;
        block.places.push_back({i, std::move(l)});
      }
    blocks_.push_back(std::move(block));
    return true;
  }

  std::pair<i64, i64> span(const Group& group) const {
    i64 low = prints_[group.front()].start, high = low;
    for (std::size_t k : group) {
      low = std::min(low, prints_[k].start);
      high = std::max(high, prints_[k].stop());
    }
    return {low, high};
  }

  // Begins where elements of each of the views may.
  std::pair<i64, i64> aligned_span(const Group& group) const {
    const auto [low, high] = span(group);
    i64 item = 1;
    for (std::size_t k : group)
      for (std::size_t i : members_[k]) item = std::max(item, views_[i].item);
    return {low - low % item, high};
  }

  // Footprints that share bytes, directly or through others, are one group.
  std::vector<Group> sharing(const Group& group) const {
    std::vector<Interval> all = intervals(group, repeats(group).axes.size());
    std::sort(all.begin(), all.end(),
              [](const Interval& a, const Interval& b) { return a.start < b.start; });
    Group parent(prints_.size());
    std::iota(parent.begin(), parent.end(), std::size_t{0});
    auto root = [&](std::size_t k) {
      while (parent[k] != k) k = parent[k] = parent[parent[k]];
      return k;
    };
    Interval reach{0, -1, 0};
    for (const Interval& i : all) {
      if (i.start < reach.stop) parent[root(i.owner)] = root(reach.owner);
      if (i.stop > reach.stop) reach = i;
    }
    std::vector<Group> groups;
    std::vector<std::size_t> of(prints_.size(), prints_.size());
    Group order = group;
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return prints_[a].start < prints_[b].start; });
    for (std::size_t k : order) {
      std::size_t& g = of[root(k)];
      if (g == prints_.size()) {
        g = groups.size();
        groups.emplace_back();
      }
      groups[g].push_back(k);
    }
    return groups;
  }

  // Neighbours that fit into one block without a gap.
  std::vector<Group> joined(const std::vector<Group>& groups) {
    std::vector<Group> result;
    for (const Group& g : groups) {
      if (!result.empty()) {
        Group both = result.back();
        both.insert(both.end(), g.begin(), g.end());
        if (place(both)) {
          blocks_.pop_back();  // it was a trial
          result.back() = std::move(both);
          continue;
        }
      }
      result.push_back(g);
    }
    return result;
  }

  // Overlapping boxes whose union is none: whole rows of the columns that any of them has, for the
  // step that takes least; at worst everything between the first byte and the last.
  void place_with_gaps(const Group& group) {
    const auto [low, high] = aligned_span(group);
    std::optional<Kept> best;
    for (std::size_t k : group)
      for (const Axis& a : prints_[k].axes) {
        Kept rows = repeated(group, a.step);
        if ((!best || rows.bytes() < best->bytes()) && rows.bytes() < high - low &&
            fits(group, rows))
          best = std::move(rows);
      }
    if (best && place_in(group, *best)) {
      blocks_.back().source.reset();  // its rows may begin before the views do
      return;
    }
    place_in(group, Kept({{low, high, group.front()}}));
  }

  Kept repeated(const Group& group, i64 period) const {
    std::vector<Interval> rests;
    for (const Interval& i : intervals(group, 0))
      for (i64 from = i.start; from < i.stop;) {
        const i64 to = std::min(i.stop, from - from % period + period);
        rests.push_back({from % period, from % period + to - from, i.owner});
        from = to;
      }
    const auto [low, high] = span(group);
    const Kept merged(std::move(rests));
    std::vector<Interval> all;
    for (i64 row = low / period; row * period < high; ++row)
      for (const Interval& i : merged.intervals())
        all.push_back({row * period + i.start, row * period + i.stop, i.owner});
    return Kept(std::move(all));
  }

  const std::vector<ByteView>& views_;
  std::vector<Footprint> prints_;
  std::vector<Group> members_;  // which views have each footprint
  std::vector<CompactBlock> blocks_;
};

}  // namespace

std::vector<CompactBlock> compact(const std::vector<ByteView>& views) {
  return Compaction(views).blocks();
}

i64 bytes_of(const std::vector<ByteView>& views) { return Compaction(views).bytes(); }

}  // namespace tessera
