// SPDX-License-Identifier: Apache-2.0
// Every sample under budgets of bytes: what fit() gives is the operator, its forecast is the peak
// of every device to the byte, and the budgets that it asks for are enough while a byte less is
// not.
#include "tessera/split/fit.hpp"

#include <gtest/gtest.h>

#include <cctype>
#include <random>

#include "samples.hpp"
#include "support/support.hpp"
#include "tessera/device/memory.hpp"
#include "tessera/testing/subject.hpp"

namespace tessera::laws {
namespace {

using Budgets = std::vector<std::pair<Device, i64>>;

class Fits : public ::testing::TestWithParam<std::size_t> {
 protected:
  const Sample& sample() const { return all_samples(DType::c64, cpu)[GetParam()]; }
  Fitted fitted(const Budgets& budgets) const {
    return fit(sample().op, {.shape = sample().input, .dtype = DType::c64, .budget = budgets});
  }
};

std::string text_of(const Budgets& budgets) {
  std::string text;
  for (const auto& [d, bytes] : budgets) text += cat(" ", d, ": ", bytes);
  return text;
}

i64 in_use(Device d) { return memory_stats(d).in_use; }

void expect_kept(const Sample& s, const Fitted& f, const Budgets& budgets,
                 const std::vector<i64>& before) {
  for (const auto& [d, bytes] : budgets) {
    trim_pool(d);
    reset_peak(d);
  }
  const Subject subject(s, DType::c64, cpu);
  const Array x = subject.random_input(18), y = NamedLinop(f)(x);
  const double d = difference(y, s.op(x));
  EXPECT_TRUE(d < 4 * subject.tolerance()) << d << text_of(budgets) << "\n" << f.explain();
  for (std::size_t i = 0; i < budgets.size(); ++i) {
    i64 promised = 0;
    for (const DeviceBytes& m : f.forecast.memory)
      if (m.device == budgets[i].first) promised = m.total();
    EXPECT_EQ(memory_stats(budgets[i].first).peak - before[i], promised)
        << budgets[i].first.str() << " of" << text_of(budgets) << "\n"
        << f.explain();
    EXPECT_LE(promised, budgets[i].second) << f.explain();
  }
}

// The budgets that the sentence asks for, one for each device that it names; the others as they
// are.
Budgets asked_for(const std::string& text, Budgets budgets) {
  const std::string marker = "would do is ";
  std::size_t at = text.find(marker);
  EXPECT_NE(at, std::string::npos) << text;
  if (at == std::string::npos) return budgets;
  for (at += marker.size(); at < text.size();) {
    std::size_t end = 0;
    const i64 bytes = std::stoll(text.substr(at), &end);
    const std::size_t name = text.find(" on ", at) + 4, stop = text.find_first_of(", ", name);
    const Device d = Device::parse(text.substr(name, stop - name));
    for (auto& [device, budget] : budgets)
      if (device == d) budget = bytes;
    at = stop == std::string::npos ? text.size() : text.find_first_of("0123456789", stop);
  }
  return budgets;
}

TEST_P(Fits, ForecastsAreExactAndRefusalsSayWhatIsEnough) {
  const Using dense(config().noncontiguous, false);  // bytes are counted
  // Functions of the caller take memory as they like.
  if (sample().op.as<SimpleLinop>() || bound_to_devices(sample().op)) return;
  i64 tiles = 1;  // of the finest cut
  for (const Sized& d : sized_dims(sample().op, sample().input)) {
    if (d.size > 20) return;  // as exact, in many more tiles
    tiles *= d.size;
  }
  std::mt19937_64 numbers(19 + GetParam());
  auto draw = [&] { return std::uniform_real_distribution<double>()(numbers); };
  const i64 most = 4096 + 4 * sample().op.bytes();
  int number = 0;
  for (int devices = 1; devices <= 2; ++devices)
    for (int again = 0; again < devices; ++again) {
      Budgets budgets;
      std::vector<i64> before;
      for (int i = 0; i < devices; ++i) {
        const i64 bytes = 1 + static_cast<i64>(draw() * draw() * static_cast<double>(most));
        // The same for all, or each its own.
        budgets.emplace_back(Device{Kind::sim, static_cast<std::int16_t>(i)},
                             again && i ? budgets.front().second : bytes);
        before.push_back(in_use(budgets.back().first));
      }
      const bool in_turn = tiles <= 1000 || static_cast<std::size_t>(number) == GetParam() % 3;
      if (!in_share(sample(), number++) || !in_turn) continue;
      std::optional<Fitted> f;
      try {
        f = fitted(budgets);
      } catch (const OutOfMemory& e) {
        const Budgets enough = asked_for(e.what(), budgets);
        EXPECT_FALSE(enough == budgets) << e.what();
        try {
          f = fitted(enough);
        } catch (const OutOfMemory& again_refused) {
          ADD_FAILURE() << e.what() << "\nbut then\n" << again_refused.what();
          continue;
        }
        for (std::size_t i = 0; i < enough.size(); ++i) {
          Budgets less = enough;
          if (less[i].second == budgets[i].second || --less[i].second == 0) continue;
          EXPECT_THROW((void)fitted(less), OutOfMemory) << e.what() << text_of(less);
        }
        budgets = enough;
      }
      expect_kept(sample(), *f, budgets, before);
    }
}

INSTANTIATE_TEST_SUITE_P(All, Fits,
                         ::testing::Range<std::size_t>(0, all_samples(DType::c64, cpu).size()),
                         [](const ::testing::TestParamInfo<std::size_t>& info) {
                           std::string text = all_samples(DType::c64, cpu)[info.param].label;
                           for (char& letter : text)
                             if (!std::isalnum(static_cast<unsigned char>(letter))) letter = '_';
                           return text;
                         });

}  // namespace
}  // namespace tessera::laws
