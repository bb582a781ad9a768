// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/rewrite/join.hpp"

#include <algorithm>
#include <tuple>

#include "tessera/base/config.hpp"

namespace tessera {
namespace {

// Blocks of a Concat on their way to fewer.
class Joiner {
 public:
  // Without views it is not asked what a product copies.
  Joiner(const Concat& tiles, const View* x, const View* y) : tiles_(tiles), x_(x), y_(y) {
    for (Concat::Block b : tiles.blocks) {
      i64 count = 1;
      std::optional<NamedLinop> whole;
      if (!x) {
        if (const Concat* inner = b.a.as<Concat>()) whole = joined(*inner);
      } else {
        const auto [in, out] = tiles.views_of(b, *x, *y);
        if (const Concat* inner = b.a.as<Concat>()) whole = joined(*inner, in, out);
        if (const Stack* inner = b.a.as<Stack>()) whole = joined(*inner, in, out);
      }
      if (whole) {
        count = static_cast<i64>(b.a.parts().size());
        b.a = *whole;
        changed_ = true;
      }
      runs_.push_back({std::move(b), count, false});
    }
  }

  std::optional<NamedLinop> result() {
    if (tiles_.idim && tiles_.idim == tiles_.odim) {
      join(Along::both);
    } else {
      while ((tiles_.idim && join(Along::input)) || (tiles_.odim && join(Along::output))) {
      }
    }
    if (!changed_) return std::nullopt;
    std::vector<std::string> notes;
    for (Run& r : runs_)
      if (r.merged)
        notes.push_back(cat(r.tiles, " tiles of ", r.block.a.kind(), " joined: ",
                            r.block.a.arrays().empty() ? "they are the same operator"
                                                       : "their weights lie side by side"));
    const Concat::Block& only = runs_.front().block;
    if (runs_.size() == 1 && (!tiles_.idim || only.in_size == tiles_.isize) &&
        (!tiles_.odim || only.out_size == tiles_.osize))
      return only.a.noted(std::move(notes));
    Concat fewer = tiles_;
    fewer.blocks.clear();
    for (Run& r : runs_) fewer.blocks.push_back(std::move(r.block));
    return NamedLinop(std::move(fewer)).noted(std::move(notes));
  }

 private:
  enum class Along : std::uint8_t { input, output, both };
  struct Run {
    Concat::Block block;
    i64 tiles;
    bool merged;
  };

  bool join(Along along) {
    std::stable_sort(runs_.begin(), runs_.end(), [&](const Run& a, const Run& b) {
      auto key = [&](const Concat::Block& k) {
        return along == Along::output
                   ? std::tuple(k.in_start, k.in_size, k.out_start, k.out_size)
                   : std::tuple(k.out_start, along == Along::both ? 0 : k.out_size, k.in_start,
                                k.in_size);
      };
      return key(a.block) < key(b.block);
    });
    std::vector<Run> all;
    for (Run& r : runs_) {
      if (!all.empty())
        if (const auto both = merged(all.back().block, r.block, along)) {
          all.back() = {*both, all.back().tiles + r.tiles, true};
          continue;
        }
      all.push_back(std::move(r));
    }
    const bool fewer = all.size() < runs_.size();
    runs_ = std::move(all);
    changed_ = changed_ || fewer;
    return fewer;
  }

  std::optional<Concat::Block> merged(const Concat::Block& a, const Concat::Block& b,
                                      Along along) const {
    const bool same_in = a.in_start == b.in_start && a.in_size == b.in_size,
               same_out = a.out_start == b.out_start && a.out_size == b.out_size,
               next_in = b.in_start == a.in_start + a.in_size,
               next_out = b.out_start == a.out_start + a.out_size;
    if (along == Along::input    ? !(next_in && same_out)
        : along == Along::output ? !(next_out && same_in)
                                 : !(next_in && next_out))
      return {};
    const bool out = along == Along::output;
    const auto op = a.a.offers().joined_with(
        b.a, {out ? *tiles_.odim : *tiles_.idim, out ? a.out_size : a.in_size,
              out ? b.out_size : b.in_size, along == Along::both});
    if (!op) return {};
    Concat::Block both{*op, a.in_start, a.in_size, a.out_start, a.out_size};
    if (along != Along::output) both.in_size += b.in_size;
    if (along != Along::input) both.out_size += b.out_size;
    return as_direct(both, a) ? std::optional(both) : std::nullopt;
  }

  // The joined product needs no copies that a tile did not need.
  bool as_direct(const Concat::Block& both, const Concat::Block& tile) const {
    if (!x_) return true;
    const auto [x, y] = tiles_.views_of(both, *x_, *y_);
    const auto [in, out] = tiles_.views_of(tile, *x_, *y_);
    return !both.a.offers().needs_copies(x.layout, y.layout) ||
           tile.a.offers().needs_copies(in.layout, out.layout);
  }

  const Concat& tiles_;
  const View *x_, *y_;
  std::vector<Run> runs_;
  bool changed_ = false;
};

bool wanted() { return config().rewrite && config().rewrite_tiles; }

}  // namespace

std::optional<NamedLinop> joined(const Concat& tiles, const View& x, const View& y) {
  return wanted() ? Joiner(tiles, &x, &y).result() : std::nullopt;
}

std::optional<NamedLinop> joined(const Concat& tiles) {
  if (!wanted()) return std::nullopt;
  const std::optional<NamedLinop> whole = Joiner(tiles, nullptr, nullptr).result();
  return whole && !whole->as<Concat>() ? whole : std::nullopt;
}

std::optional<NamedLinop> joined(const Stack& tiles, const View& x, const View& y) {
  const i64 n = static_cast<i64>(tiles.blocks.size());
  const bool both = tiles.idim && tiles.odim;
  if (!wanted() || n < 2 || (both && tiles.idim != tiles.odim) ||
      n != (tiles.idim ? tiles.isize : tiles.osize))
    return {};
  std::vector<NamedLinop> all;
  for (i64 i = 0; i < n; ++i) {
    const Stack::Block& b = tiles.blocks[static_cast<std::size_t>(i)];
    if ((tiles.idim && b.in != i) || (tiles.odim && b.out != i)) return {};
    all.push_back(b.a);
  }
  const NamedLinop& first = all.front();
  const auto whole =
      first.offers().joined_stack(all, tiles.idim ? *tiles.idim : *tiles.odim, tiles.names);
  if (!whole) return {};
  const auto [in, out] = tiles.views_of(tiles.blocks.front(), x, y);
  if (whole->offers().needs_copies(x.layout, y.layout) &&
      !first.offers().needs_copies(in.layout, out.layout))
    return {};
  return whole->noted(
      {cat(n, " tiles of ", whole->kind(), " joined: their weights lie at equal distances")});
}

}  // namespace tessera
