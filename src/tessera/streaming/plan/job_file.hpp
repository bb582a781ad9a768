// SPDX-License-Identifier: Apache-2.0
#pragma once
// The file that says how far a job is: text for people, one fact a line, two places for the number
// of the next step, which are written in turn so that one is whole at any moment, and one for the
// fingerprint of the plan whose steps are counted. Locked as long as a process works on the job.
// Private to the library.

#include <cstdint>
#include <limits>

#include "tessera/streaming/plan/job.hpp"

namespace tessera::streaming {

// A fact is one line: what would end it becomes a space.
std::string one_line(std::string text);

class TESSERA_API JobFile {
 public:
  // The file at `path`, made if there is none. IoError when it cannot be, or when another process
  // holds it.
  explicit JobFile(std::string path);
  ~JobFile();
  JobFile(const JobFile&) = delete;
  JobFile& operator=(const JobFile&) = delete;

  bool is_new() const { return facts_.empty(); }  // or was never written as a whole
  const JobFacts& facts() const { return facts_; }
  std::string fact(std::string_view what) const;  // "" when there is none
  i64 next_step() const { return next_; }
  static constexpr i64 finished =
      std::numeric_limits<i64>::max();  // as the next step: none is left

  void begin(const JobFacts& facts);  // with step 0 next
  void set_next(i64 step);
  // Before the first step. 0 where none was written.
  void set_plan(std::uint64_t fingerprint);
  std::uint64_t plan() const { return plan_; }
  void remove() noexcept;

 private:
  void read();
  void put(const std::string& text, i64 offset) const;

  std::string path_;
  int handle_ = -1;
  JobFacts facts_;
  i64 next_ = 0, places_ = 0, turn_ = 0;
  std::uint64_t plan_ = 0;
};

}  // namespace tessera::streaming
