// SPDX-License-Identifier: Apache-2.0
#include "tessera/compute/precision.hpp"

#include <charconv>

namespace tessera {
namespace {

struct Chips {
  int first, last;  // capabilities as major * 10 + minor, both included
  double rate;
};

constexpr Chips known[] = {
    {35, 37, 1.0 / 3},     // Kepler
    {50, 53, 1.0 / 32},    // Maxwell
    {60, 60, 1.0 / 2},     // P100
    {61, 62, 1.0 / 32},    // Pascal besides
    {70, 70, 1.0 / 2},     // V100
    {72, 75, 1.0 / 32},    // Xavier, Turing
    {80, 80, 1.0 / 2},     // A100
    {86, 89, 1.0 / 64},    // Ampere besides, Ada
    {90, 90, 1.0 / 2},     // H100, H200
    {100, 100, 1.0 / 2},   // B100, B200
    {101, 110, 1.0 / 64},  // B300 (10.3) gave its float64 units up; Thor
    {120, 121, 1.0 / 64},  // GeForce and RTX PRO Blackwell
};

}  // namespace

std::optional<Capability> capability_in(std::string_view details) {
  constexpr std::string_view words = "compute capability ";
  const std::size_t at = details.find(words);
  if (at == details.npos) return std::nullopt;
  const char* const end = details.data() + details.size();
  Capability c;
  const auto major = std::from_chars(details.data() + at + words.size(), end, c.major);
  if (major.ec != std::errc{} || major.ptr == end || *major.ptr != '.') return std::nullopt;
  if (std::from_chars(major.ptr + 1, end, c.minor).ec != std::errc{}) return std::nullopt;
  return c;
}

std::optional<double> double_rate_of(Capability capability) {
  const int number = capability.major * 10 + capability.minor;
  for (const Chips& c : known)
    if (c.first <= number && number <= c.last) return c.rate;
  return std::nullopt;
}

DType quick_dtype(std::optional<double> rate) {
  return rate && *rate < quick_in_double ? DType::f32 : DType::f64;
}

}  // namespace tessera
