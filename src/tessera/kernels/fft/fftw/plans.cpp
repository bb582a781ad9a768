// SPDX-License-Identifier: Apache-2.0
// The plug-in that transforms by FFTW, which is under the GPL: built where FFTW is installed, opened
// where TESSERA_FFT=fftw asks for it, and part of nothing else.
#include <fftw3.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <mutex>

#include "tessera/base/error.hpp"
#include "tessera/device/threads.hpp"
#include "tessera/kernels/fft/fftw_plans.hpp"

namespace tessera {
namespace {

constexpr double worth_saving = 0.02;  // seconds of planning after which wisdom is written
constexpr double time_limit = 2.0;     // seconds that FFTW may search for one plan by measuring

// FFTW's two libraries behind one set of names.
template <class T>
struct Fftw;
#define TESSERA_FFTW_NAMES(T, X, Real)                                                             \
  template <>                                                                                      \
  struct Fftw<T> {                                                                                 \
    using Plan = X##_plan;                                                                         \
    using Dim = X##_iodim64;                                                                       \
    using C = X##_complex;                                                                         \
    static Plan plan(FftKind kind, int rank, const Dim* d, const Dim* h, void* in, void* out,      \
                     int sign, unsigned flags) {                                                   \
      if (kind == FftKind::complex)                                                                \
        return X##_plan_guru64_dft(rank, d, 1, h, static_cast<C*>(in), static_cast<C*>(out), sign, \
                                   flags);                                                         \
      if (kind == FftKind::real_to_complex)                                                        \
        return X##_plan_guru64_dft_r2c(1, d, 1, h, static_cast<Real*>(in), static_cast<C*>(out),   \
                                       flags);                                                     \
      return X##_plan_guru64_dft_c2r(1, d, 1, h, static_cast<C*>(in), static_cast<Real*>(out),     \
                                     flags);                                                       \
    }                                                                                              \
    static void execute(void* p, FftKind kind, void* in, void* out) {                              \
      const Plan plan = static_cast<Plan>(p);                                                      \
      if (kind == FftKind::complex)                                                                \
        X##_execute_dft(plan, static_cast<C*>(in), static_cast<C*>(out));                          \
      else if (kind == FftKind::real_to_complex)                                                   \
        X##_execute_dft_r2c(plan, static_cast<Real*>(in), static_cast<C*>(out));                   \
      else                                                                                         \
        X##_execute_dft_c2r(plan, static_cast<C*>(in), static_cast<Real*>(out));                   \
    }                                                                                              \
    static void destroy(void* p) { X##_destroy_plan(static_cast<Plan>(p)); }                       \
    static void* take(std::size_t bytes) { return X##_malloc(bytes); }                             \
    static void drop(void* p) { X##_free(p); }                                                     \
    static bool import(const char* path) { return X##_import_wisdom_from_filename(path) != 0; }    \
    static bool save(const char* path) { return X##_export_wisdom_to_filename(path) != 0; }        \
    static void limit(double seconds) { X##_set_timelimit(seconds); }                              \
    static void use_threads(int n);                                                                \
    static void start();                                                                           \
  };
TESSERA_FFTW_NAMES(float, fftwf, float)
TESSERA_FFTW_NAMES(double, fftw, double)
#undef TESSERA_FFTW_NAMES

#ifdef TESSERA_FFTW_THREADS
// FFTW's parallel loops run on the threads of the cpu device.
void run_jobs(void* (*work)(char*), char* jobs, std::size_t size, int count, void*) {
  parallel_for(count, 1, [&](i64 begin, i64 end) {
    for (i64 i = begin; i < end; ++i) work(jobs + static_cast<std::size_t>(i) * size);
  });
}
void Fftw<float>::start() {
  fftwf_init_threads();
  fftwf_make_planner_thread_safe();  // others in this process may plan too
  fftwf_threads_set_callback(run_jobs, nullptr);
}
void Fftw<double>::start() {
  fftw_init_threads();
  fftw_make_planner_thread_safe();  // others in this process may plan too
  fftw_threads_set_callback(run_jobs, nullptr);
}
void Fftw<float>::use_threads(int n) { fftwf_plan_with_nthreads(n); }
void Fftw<double>::use_threads(int n) { fftw_plan_with_nthreads(n); }
#else
void Fftw<float>::start() {}
void Fftw<double>::start() {}
void Fftw<float>::use_threads(int) {}
void Fftw<double>::use_threads(int) {}
#endif

template <class F>
void with_precision(bool single, F&& f) {
  if (single)
    f.template operator()<float>();
  else
    f.template operator()<double>();
}

// FFTW's planner is one per process and not safe for threads: one lock for planning, destruction
// and wisdom. Executing needs none.
struct Planner {
  std::mutex mutex;
  bool started[2] = {false, false};
};
Planner& planner() {
  static Planner* p = new Planner;  // leaked: plans may be dropped by statics
  return *p;
}

// With the planner's lock held. Renamed into place, so readers see all or nothing.
bool save_wisdom(bool single, const std::string& path) {
  if (path.empty()) return false;
  std::error_code failed;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), failed);
  const std::string fresh = cat(path, ".", static_cast<i64>(::getpid()));
  bool ok = false;
  with_precision(single, [&]<class T>() { ok = Fftw<T>::save(fresh.c_str()); });
  failed.clear();
  if (ok) std::filesystem::rename(fresh, path, failed);
  ok = ok && !failed;
  if (!ok) std::filesystem::remove(fresh, failed);
  return ok;
}

template <class T>
void start(Planner& p) {
  bool& started = p.started[std::is_same_v<T, float>];
  if (started) return;
  started = true;
  Fftw<T>::start();
  const std::string path = wisdom_file(std::is_same_v<T, float>);
  if (!path.empty()) Fftw<T>::import(path.c_str());
}

// Bytes that `lines` lines of one side cover.
i64 span_bytes(const LineKey& key, bool in_side) {
  const bool real = (key.kind == FftKind::real_to_complex && in_side) ||
                    (key.kind == FftKind::complex_to_real && !in_side);
  const i64 half = key.kind == FftKind::complex ? key.points : key.points / 2 + 1;
  const i64 distance = in_side ? key.in_distance : key.out_distance;
  const i64 elements =
      (key.lines - 1) * distance + key.layers * key.rows * (real ? key.points : half);
  return elements * (key.single ? 4 : 8) * (real ? 1 : 2);
}

template <class T>
void* make_plan(const LineKey& key) {
  Planner& p = planner();
  std::lock_guard lock(p.mutex);
  start<T>(p);
  using Dim = typename Fftw<T>::Dim;
  const Dim h{key.lines, key.in_distance, key.out_distance};
  const Dim all[] = {{key.layers, key.rows * key.points, key.rows * key.points},
                     {key.rows, key.points, key.points},
                     {key.points, 1, 1}};
  const int rank = key.layers > 1 ? 3 : key.rows > 1 ? 2 : 1;
  const Dim* const d = all + 3 - rank;
  void* in = Fftw<T>::take(static_cast<std::size_t>(
      std::max(span_bytes(key, true), key.in_place ? span_bytes(key, false) : 0)));
  void* out = key.in_place ? in : Fftw<T>::take(static_cast<std::size_t>(span_bytes(key, false)));
  const bool measure = key.effort >= 2 || (key.effort == 1 && fftw_measures_quickly);
  const unsigned wanted = key.effort >= 2 ? FFTW_PATIENT : measure ? FFTW_MEASURE : FFTW_ESTIMATE;
  Fftw<T>::use_threads(key.threads);
  Fftw<T>::limit(key.effort >= 2 ? FFTW_NO_TIMELIMIT : time_limit);
  const auto began = std::chrono::steady_clock::now();
  typename Fftw<T>::Plan plan = nullptr;
  if (in && out) {
    // What an earlier, more patient run has learned costs nothing.
    for (unsigned known : {FFTW_PATIENT, FFTW_MEASURE})
      if (!plan)
        plan = Fftw<T>::plan(key.kind, rank, d, &h, in, out, key.sign, known | FFTW_WISDOM_ONLY);
    if (!plan) plan = Fftw<T>::plan(key.kind, rank, d, &h, in, out, key.sign, wanted);
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  Fftw<T>::use_threads(1);
  if (out != in) Fftw<T>::drop(out);
  Fftw<T>::drop(in);
  if (plan && measure && took.count() > worth_saving)
    save_wisdom(key.single, wisdom_file(key.single));
  return plan;
}

class FftwPlan final : public LinePlan {
 public:
  explicit FftwPlan(const LineKey& key) : key_(key) {
    with_precision(key.single, [&]<class T>() { plan_ = make_plan<T>(key); });
    require<BackendError>(plan_ != nullptr, "fft: FFTW made no plan for ", key.lines, " lines of ",
                          key.points, " points");
  }
  ~FftwPlan() override {
    std::lock_guard lock(planner().mutex);
    with_precision(key_.single, [&]<class T>() { Fftw<T>::destroy(plan_); });
  }
  FftwPlan(const FftwPlan&) = delete;
  FftwPlan& operator=(const FftwPlan&) = delete;
  void execute(void* in, void* out, void*) const override {
    if (key_.single)
      Fftw<float>::execute(plan_, key_.kind, in, out);
    else
      Fftw<double>::execute(plan_, key_.kind, in, out);
  }

 private:
  LineKey key_;
  void* plan_ = nullptr;
};

std::shared_ptr<const LinePlan> plan_lines(const LineKey& key) {
  return std::make_shared<const FftwPlan>(key);
}

bool write_file(bool single, const std::string& path) {
  std::lock_guard lock(planner().mutex);
  return save_wisdom(single, path);
}

bool read_file(bool single, const std::string& path) {
  std::lock_guard lock(planner().mutex);
  bool ok = false;
  with_precision(single, [&]<class T>() { ok = Fftw<T>::import(path.c_str()); });
  return ok;
}

}  // namespace
}  // namespace tessera

// The one function that libtessera looks for in this library.
extern "C" TESSERA_API const tessera::FftwBackend* tessera_fftw() {
  using namespace tessera;
  static const std::string tag = fftw_abi_tag();
  static const FftwBackend backend{tag.c_str(), plan_lines, read_file, write_file};
  return &backend;
}
