// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/core/ranks_checkpoint.hpp"

#include <cstring>
#include <filesystem>

#include "tessera/distributed/array/error_of_all.hpp"
#include "tessera/kernels/copy/copy.hpp"

namespace tessera {
namespace {

namespace fs = std::filesystem;

// What the named file says.
struct Named {
  i64 found = 0, ranks = 0, iterations = 0;
};
constexpr const char* entry = "tessera solver checkpoint over ranks 1";

std::string file_of(const std::string& path, i64 iterations, int rank) {
  return cat(path, ".", iterations, ".", rank);
}

void write_index(const std::string& path, const Named& index) {
  const Array numbers = empty_dense({2}, DType::i64);
  numbers.host<i64>()[0] = index.ranks;
  numbers.host<i64>()[1] = index.iterations;
  save_npz(path, {{entry, numbers}});
}

Named read_index(std::string_view who, const std::string& path, int ranks) {
  if (!fs::exists(path)) return {};
  const NpzFile file(path);
  require<ArgumentError>(file.contains(entry), who, ": '", path,
                         "' is not a checkpoint of a solver over ranks; remove it, or give "
                         "another path");
  const Array numbers = file.read(entry).astype(DType::i64).contiguous();
  require<IoError>(numbers.size() == 2, who, ": the checkpoint '", path, "' is damaged");
  const Named index{1, numbers.host<i64>()[0], numbers.host<i64>()[1]};
  require<ArgumentError>(index.ranks == ranks, who, ": the checkpoint '", path, "' was written on ",
                         index.ranks, " ranks, these are ", ranks,
                         "; use as many, or give another path");
  return index;
}

bool is_number(std::string_view s) {
  return !s.empty() && s.find_first_not_of("0123456789") == std::string_view::npos;
}

// Files of this rank that the named one no longer names, also those of a run that was killed.
void remove_others(const std::string& path, const std::string& current, int rank) {
  const fs::path named(path), folder = named.has_parent_path() ? named.parent_path() : ".";
  const std::string start = named.filename().string() + ".", end = cat(".", rank),
                    keep = fs::path(current).filename().string();
  std::error_code ignored;
  for (const auto& item : fs::directory_iterator(folder, ignored)) {
    const std::string name = item.path().filename().string();
    if (name == keep || !name.starts_with(start) || !name.ends_with(end)) continue;
    if (name.size() <= start.size() + end.size()) continue;
    const std::string_view middle(name.data() + start.size(),
                                  name.size() - start.size() - end.size());
    if (is_number(middle)) fs::remove(item.path(), ignored);
  }
}

}  // namespace

void write_checkpoint(const Communicator& comm, const std::string& path, const Saved& saved) {
  const std::string mine = file_of(path, saved.iterations, comm.rank());
  dist::error_of_all(comm, [&] { write_checkpoint(mine, saved); });
  dist::error_of_all(comm, [&] {
    if (comm.rank() == 0) write_index(path, {1, comm.size(), saved.iterations});
  });
  remove_others(path, mine, comm.rank());
}

std::optional<Saved> read_checkpoint(const Communicator& comm, std::string_view who,
                                     const std::string& path, const std::vector<Fact>& facts) {
  Named index;
  dist::error_of_all(comm, [&] {
    if (comm.rank() == 0) index = read_index(who, path, comm.size());
  });
  comm.broadcast(&index, sizeof index, 0);
  if (index.found == 0) return std::nullopt;
  std::optional<Saved> saved;
  dist::error_of_all(comm, [&] {
    const std::string mine = file_of(path, index.iterations, comm.rank());
    saved = read_checkpoint(who, mine, facts);
    require<IoError>(saved.has_value(), who, ": the checkpoint '", path, "' lacks '", mine, "'");
  });
  return saved;
}

}  // namespace tessera
