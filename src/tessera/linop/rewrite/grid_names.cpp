// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/rewrite/grid_names.hpp"

namespace tessera {

DType working_dtype(DType t) {
  if (t == DType::f16 || t == DType::bf16) return DType::f32;
  return is_inexact(t) ? t : DType::f64;
}

Dims numbered_dims(std::string_view word, i64 count) {
  Dims d;
  for (i64 i = 0; i < count; ++i) d.push_back(NamedDimension(word, i));
  return d;
}

Dims joined(const Dims& a, const Dims& b) {
  Dims all = a;
  all.append(b);
  return all;
}

void check_names(std::string_view who, std::initializer_list<const Dims*> lists) {
  const auto all = [&] {
    std::string text;
    std::size_t i = 0;
    for (const Dims* list : lists)
      text += cat(i == 0 ? "" : i + 1 == lists.size() ? " and " : ", ", to_text(*list)), ++i;
    return text;
  };
  Dims seen;
  for (const Dims* list : lists)
    for (NamedDimension d : *list) {
      if (contains(seen, d) && !(d == NamedDimension("()")))
        throw DimError(cat(who, ": dim '", d, "' appears twice in ", all()));
      seen.push_back(d);
    }
}

}  // namespace tessera
