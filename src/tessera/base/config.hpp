// SPDX-License-Identifier: Apache-2.0
#pragma once
// Every setting in one typed table: name, default, environment override, one sentence. Read once at
// the first use; `Using` changes a value for a scope. Values are atomics: safe to read from any
// thread. Layouts and kernels never look here at run time; plans do, when they are made.
//   config().poison.set(true);     Using quiet(config().progress, false);

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/api.hpp"

namespace tessera {

template <class T>
class Setting {
 public:
  explicit Setting(T initial) : value_(initial) {}
  operator T() const { return value_.load(std::memory_order_relaxed); }
  void set(T v) { value_.store(v, std::memory_order_relaxed); }

 private:
  std::atomic<T> value_;
};

// SETTING(type, name, default, "what it does"); the environment variable is TESSERA_<NAME>.
#define TESSERA_SETTINGS(SETTING)                                                                  \
  SETTING(bool, poison, false, "fill fresh and freed memory with 0xFF bytes (NaN): tests")         \
  SETTING(bool, log_device_transfers, false, "print a line for each transfer between devices")     \
  SETTING(bool, progress, true, "progress bars on long work")                                      \
  SETTING(bool, cache_adjoint_normal, true, "A.H and A.N are made once per operator")              \
  SETTING(bool, reduce_identity_in_normal, true, "an Identity inside a normal is dropped")         \
  SETTING(bool, shape_inference, false,                                                            \
          "parts of chains and sums show the names that they meet instead of wildcards")           \
  SETTING(bool, rewrite, true, "simplify operators before they are recorded")                      \
  SETTING(bool, rewrite_identities, true, "rule: identities in a chain are dropped")               \
  SETTING(bool, rewrite_isometries, true,                                                          \
          "rule: A.H A vanishes for FFT, Pad and other isometries")                                \
  SETTING(bool, rewrite_normals, true, "rule: A.H A becomes the operator's own closed form")       \
  SETTING(bool, rewrite_gram, true, "rule: W.H W is formed where applying it is less work")        \
  SETTING(bool, rewrite_coil_maps, true, "rule: S.H S of maps is one sum of squares")              \
  SETTING(bool, rewrite_axes, true, "rule: F.H D F transforms only the axes along which D varies") \
  SETTING(bool, rewrite_phases, true, "rule: phases of centred transforms merge with weights")     \
  SETTING(bool, rewrite_filters, true, "rule: F.H D F is one pass over the array, in host memory") \
  SETTING(bool, rewrite_pruning, true, "rule: transforms skip padding and what a crop cuts off")   \
  SETTING(bool, rewrite_scalars, true, "rule: scalars of a chain are merged")                      \
  SETTING(bool, rewrite_diagonals, true, "rule: neighbouring diagonals and scalars are merged")    \
  SETTING(bool, rewrite_tiles, true,                                                               \
          "rule: tiles whose weights lie side by side are one operator")                           \
  SETTING(bool, reuse_in_place, true, "element-wise steps may write over an operand that dies")    \
  SETTING(bool, pipeline, true,                                                                    \
          "parts of a container overlap transfers with computing, which takes a second buffer")    \
  SETTING(bool, noncontiguous, false, "tests: fresh arrays get a padded, non-contiguous layout")   \
  SETTING(i64, num_threads, 0, "threads of the cpu device; 0 = as many as cores and limits allow") \
  SETTING(i64, host_budget, 0, "bytes that the cpu device may hold; 0 = no limit")                 \
  SETTING(i64, device_budget, 0, "bytes that each other device may hold; 0 = no limit")            \
  SETTING(i64, pinned_budget, 0, "bytes of pinned host memory; 0 = a quarter of the memory")       \
  SETTING(i64, fft_effort, 1,                                                                      \
          "FFTW planning: 0 estimates, 1 measures where that is quick, 2 patient")                 \
  SETTING(i64, cuda_devices, 0,                                                                    \
          "cuda devices: 0 = one for each GPU; more share the GPUs, for tests and for budgets")    \
  SETTING(i64, sim_devices, 8, "number of sim devices")                                            \
  SETTING(i64, sim_memory, 0, "bytes of each sim device; 0 = 1 GiB")                               \
  SETTING(i64, sim_delay_us, 0, "sim devices wait a random time up to this before each task")      \
  SETTING(i64, staging_bytes, 8 << 20,                                                             \
          "bytes of a piece of a transfer that goes through pinned host memory")                   \
  SETTING(i64, comm_timeout, 0,                                                                    \
          "seconds that a rank waits for others before it gives up; 0 = as long as they live")     \
  SETTING(bool, comm_shared_window, true,                                                          \
          "ranks of one machine share a window of MPI; without one all goes by messages")          \
  SETTING(bool, comm_heartbeat, true,                                                              \
          "ranks answer UDP datagrams, so that those on other machines notice one that vanished")  \
  SETTING(bool, device_lanes, true,                                                                \
          "ranks move memory of devices without the host where there is a way (NCCL, ...)")        \
  SETTING(                                                                                         \
      bool, strict, false,                                                                         \
      "distributed assignment refuses values whose layout does not fit instead of moving them")    \
  SETTING(i64, graph_after, 3,                                                                     \
          "calls of an operator on the same arrays after which it runs as a graph; 0 = never")     \
  SETTING(i64, kept_solver_bytes, 128 << 20,                                                       \
          "bytes of vectors that a solve may leave beside its operator for the next; 0 = none")    \
  SETTING(i64, disk_budget, 0, "bytes that backing files may hold; 0 = no limit")                  \
  SETTING(bool, join_sweeps, true, "neighbouring passes of a solver over its vectors are one")

struct TESSERA_API Config {
#define TESSERA_DECLARE(type, name, initial, text) Setting<type> name{initial};
  TESSERA_SETTINGS(TESSERA_DECLARE)
#undef TESSERA_DECLARE
  Config();  // defaults, then the environment; ArgumentError names a value that cannot be read

  struct Row {
    std::string name, value, initial, text;
  };
  std::vector<Row> rows() const;
  // By name, for Python: ArgumentError for an unknown key or a value of the wrong kind.
  void set(std::string_view name, std::string_view value);
  std::string value(std::string_view name) const;
  // The values that plans read while they are made, as one number: a plan is that of a call whose
  // number is the same.
  std::uint64_t of_plans() const;
};

TESSERA_API Config& config();

// A budget is a number of bytes or a share of what there is ("50%"), which settings hold as minus
// its millionths. 0 stays "no limit". ArgumentError names the text.
TESSERA_API i64 parse_budget(std::string_view text);
TESSERA_API i64 budget_bytes(i64 budget, i64 whole);
TESSERA_API std::string budget_text(i64 budget);  // "4096", "50%"

template <class T>
class Using {
 public:
  Using(Setting<T>& setting, T value) : setting_(setting), before_(setting) { setting.set(value); }
  ~Using() { setting_.set(before_); }
  Using(const Using&) = delete;
  Using& operator=(const Using&) = delete;

 private:
  Setting<T>& setting_;
  T before_;
};

}  // namespace tessera
