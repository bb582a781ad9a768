// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "commands.hpp"
#include "phantom.hpp"
#include "png.hpp"
#include "tessera/tessera.hpp"

namespace tessera::cli {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

template <class T>
Array on_device(const std::vector<T>& values, const Shape& shape, Device device) {
  Array host = empty_dense(shape, dtype_of<T>);
  std::copy(values.begin(), values.end(), static_cast<T*>(host.host_data()));
  return host.to(device);
}

// Magnitudes of an image of any device, on the host.
std::vector<float> magnitudes(const Array& image) {
  const Array host = ops::absolute(image).astype(DType::f32).to(cpu).contiguous();
  const float* first = host.host<float>();
  return {first, first + host.size()};
}

Picture picture_of(const std::vector<float>& image, i64 n) {
  Picture picture(n, n);
  for (std::size_t i = 0; i < image.size(); ++i)
    picture.pixels[i] =
        static_cast<std::uint8_t>(std::lround(std::clamp(image[i], 0.0f, 1.0f) * 255));
  return picture;
}

double relative_error(const std::vector<float>& image, const std::vector<float>& truth) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    difference += std::pow(static_cast<double>(image[i]) - static_cast<double>(truth[i]), 2);
    size += std::pow(static_cast<double>(truth[i]), 2);
  }
  return std::sqrt(difference / size);
}

struct Scan {
  NamedLinop A;             // image -> what the coils measure
  Array data;               // measured, with noise
  std::vector<float> head;  // the truth
};

// Coil maps, then the spectrum of each coil, then the rows that are measured.
Scan make_scan(const DemoOptions& options, Device device) {
  const i64 n = options.size;
  const Array maps = on_device(coil_maps(options.coils, n), {options.coils, n, n}, device);
  std::vector<float> rows;
  for (const bool sampled : sampled_rows(n, options.acceleration, 2))
    rows.push_back(sampled ? 1.0f : 0.0f);
  const Array mask = on_device(rows, {n, 1}, device);

  const NamedLinop S = Dense(maps, dims("CNxNy"), dims("NxNy"), dims("CNxNy"));
  const NamedLinop F = FFT(2, dims("C"), FFT::Grids{dims("NxNy"), dims("KxKy")}, Norm::ortho,
                           /*centered=*/true);
  const NamedLinop M = Diagonal(mask, dims("CKxKy"));
  const NamedLinop A = M * F * S;

  std::vector<float> head = head_phantom(n);
  const Array truth = on_device(head, {n, n}, device).astype(DType::c64);
  const Array clean = A(truth);
  const double largest = reduce(ReduceOp::max, ops::absolute(clean)).item().as<double>();
  const Array noise =
      Random(1).normal(clean.shape(), DType::c64, device, 0, options.noise * largest);
  return {A, ops::add(clean, M(noise)), std::move(head)};
}

// One planned application of the operator with nothing else under way: forecast and measurement.
struct Memory {
  i64 planned, used;
};
Memory workspace_of(const NamedLinop& a, const Array& x, Device device) {
  const Plan plan = a.plan({.shape = x.shape(), .dtype = x.dtype(), .device = device});
  const Array out = empty_dense(x.shape(), x.dtype(), device);
  const i64 before = memory_stats(device).in_use;
  reset_peak(device);
  Run run = plan.instance();
  run(x, out);
  run.sync();
  return {plan.workspace(device), memory_stats(device).peak - before};
}

void write_page(const std::string& path, const NamedLinop& a, const Array& x, Device device) {
  const Plan plan = a.plan({.shape = x.shape(), .dtype = x.dtype(), .device = device});
  std::ofstream file(path, std::ios::binary);
  file << plan.explain(ExplainFormat::html);
  file.close();
  require<IoError>(file.good(), "demo: cannot write '", path, "'");
  fmt::print("wrote {} (the plan of the operator that is inverted)\n", path);
}

std::string folder_of(const DemoOptions& options) {
  std::error_code problem;
  std::filesystem::create_directories(options.out, problem);
  require<IoError>(std::filesystem::is_directory(options.out), "demo: cannot write into '",
                   options.out, "': it is not a folder and cannot be made one");
  return options.out;
}

}  // namespace

int demo(const DemoOptions& options) {
  const std::string folder = folder_of(options);
  const Device device = Device::parse(options.device);
  compute_device(device);  // says why, before any work, when the device cannot be used
  const i64 n = options.size;
  fmt::print("{0} x {0} image, {1} coils, one row in {2} measured, on {3}\n", n, options.coils,
             options.acceleration, device.str());

  const Scan scan = make_scan(options, device);
  const Array zero_filled = scan.A.H()(scan.data);
  const NamedLinop normal = scan.A.N() + NamedLinop(Scalar(options.regularisation));
  const Memory memory = workspace_of(normal, zero_filled, device);
  if (!options.explain.empty()) write_page(options.explain, normal, zero_filled, device);

  reset_peak(device);
  const auto start = Clock::now();
  const SolveResult solved =
      cg(normal, zero_filled, {.maxiter = options.iterations, .progress = options.progress});
  const std::vector<float> image = magnitudes(solved.x);
  const double seconds = seconds_since(start);
  const std::vector<float> before = magnitudes(zero_filled);

  const std::string path = folder + "/demo.png";
  write_png(path, beside({picture_of(scan.head, n), picture_of(before, n), picture_of(image, n)}));
  write_png(folder + "/reconstruction.png", picture_of(image, n));

  fmt::print("wrote {} (true image | zero-filled | reconstructed)\n\n", path);
  fmt::print("error           zero-filled {:.1f} %, reconstructed {:.1f} %\n",
             100 * relative_error(before, scan.head), 100 * relative_error(image, scan.head));
  fmt::print("solver          {} iterations, {}\n", solved.iterations, solved.reason);
  fmt::print("time            {:.3f} s, {:.2f} ms an iteration\n", seconds,
             1000 * seconds / static_cast<double>(std::max<i64>(solved.iterations, 1)));
  fmt::print("workspace       planned {}, used {}\n", bytes_text(memory.planned),
             bytes_text(memory.used));
  fmt::print("memory          peak {} on {}, everything included\n",
             bytes_text(memory_stats(device).peak), device.str());
  return 0;
}

}  // namespace tessera::cli
