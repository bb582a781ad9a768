// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/disk/stored_checkpoint.hpp"

#include <cmath>
#include <filesystem>

#include "tessera/kernels/copy/copy.hpp"
#include "tessera/solve/disk/vector_sweep.hpp"
#include "tessera/store/tiles/open_store.hpp"
#include "tessera/store/tiles/tiled_file.hpp"

namespace tessera {
namespace {

namespace fs = std::filesystem;
constexpr const char* entry_name = "vectors on disk";
constexpr double most_bytes = 0x1p60;

std::string path_of(const std::string& path, const std::string& vector, i64 set) {
  return cat(path, ".", vector, ".", set);
}

std::optional<StoredSet> set_in(const Array& numbers) {
  if (numbers.dtype() != DType::f64 || numbers.shape() != Shape{2}) return std::nullopt;
  const auto* p = numbers.host<double>();
  const bool whole = p[1] == std::floor(p[1]);
  if ((p[0] != 0 && p[0] != 1) || !(p[1] >= 1 && p[1] <= most_bytes && whole)) return std::nullopt;
  return StoredSet{static_cast<i64>(p[0]), static_cast<i64>(p[1])};
}

}  // namespace

std::pair<std::string, Array> entry_of(const StoredSet& s) {
  const Array numbers = zeros({2}, DType::f64);
  numbers.host<double>()[0] = static_cast<double>(s.set);
  numbers.host<double>()[1] = static_cast<double>(s.budget);
  return {entry_name, numbers};
}

StoredSet stored_set_of(std::string_view who, const std::string& path, const NamedArrays& arrays) {
  for (const auto& [name, array] : arrays)
    if (name == entry_name)
      if (const auto found = set_in(array.contiguous())) return *found;
  throw IoError(cat(who, ": the checkpoint '", path,
                    "' does not name the files of its vectors: it is damaged, or of a solve in "
                    "memory; remove it to start anew, or give another path"));
}

std::optional<i64> budget_of_checkpoint(const std::string& path) {
  if (path.empty() || !fs::exists(path)) return std::nullopt;
  try {
    const NpzFile file(path);
    const std::string entry = cat("state/", entry_name);
    if (!file.contains(entry)) return std::nullopt;
    const auto found = set_in(file.read(entry).contiguous());
    return found ? std::optional(found->budget) : std::nullopt;
  } catch (const Error&) {
    return std::nullopt;  // who reads it will say what is wrong
  }
}

void write_vectors(const std::string& path, i64 set, const NamedStores& vectors, i64 budget) {
  remove_vectors(path, set, vectors);  // of a process that was ended here
  try {
    for (const auto& [name, from] : vectors) {
      const streaming::StorePtr to =
          store::create_tiled_file(path_of(path, name, set), from->grid());
      streaming::copy(from, to, {.budget = budget});
      to->flush();
    }
  } catch (...) {
    remove_vectors(path, set, vectors);
    throw;
  }
}

void remove_vectors(const std::string& path, i64 set, const NamedStores& vectors) noexcept {
  for (const auto& [name, vector] : vectors) {
    std::error_code ignored;
    fs::remove(path_of(path, name, set), ignored);
  }
}

void read_vectors(std::string_view who, const std::string& path, i64 set,
                  const NamedStores& vectors, i64 budget, bool finite) {
  for (const auto& [name, to] : vectors) {
    const std::string file = path_of(path, name, set);
    require<IoError>(fs::exists(file), who, ": the checkpoint '", path, "' names '", file,
                     "', which is not there; remove '", path, "' to start anew");
    const streaming::StorePtr from = store::open_store(file, false);
    require<IoError>(
        from->grid().shape() == to->grid().shape() && from->grid().dtype() == to->grid().dtype(),
        who, ": '", file, "' of the checkpoint '", path, "' is ", from->describe(), "; expected ",
        tessera::name(to->grid().dtype()), " of ", to->grid().shape());
    bool all = true;
    plan_sweep("checkpoint", {{from}, {to, true, false}},
               sweep_work([&](const auto& box, const auto&) {
                 for (i64 i = 0; i < box.count; ++i) {
                   box.vectors[1][i] = box.vectors[0][i];
                   all = all && std::isfinite(box.vectors[0][i]);
                 }
               }),
               budget)
        .run();
    require<IoError>(all || !finite, who, ": '", file, "' of the checkpoint '", path,
                     "' holds numbers that are not finite");
  }
}

}  // namespace tessera
