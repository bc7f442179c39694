// The log of the search of one kernel, and the reports made from a log.
#pragma once
#include <span>
#include <string>

#include "lib/beam/candidate.h"

namespace tgc {

struct CandidateLog {
  OptTexts opts;
  CandidateOutcome outcome = CandidateOutcome::Timed;
  double fastest_seconds = 0;  // 0: the candidate has no time
  std::string failure_reason;
  double num_operations = 0;   // BeamCandidate::num_operations
  std::string code_digest;
};

struct RoundLog {
  std::vector<OptTexts> beam_opts;  // the opts of the kernels that the round starts from, the fastest kernel first
  std::vector<CandidateLog> candidates;
  // `best_seconds`: time of the fastest kernel so far; `wall_seconds`: time from the start of the search
  double best_seconds = 0, wall_seconds = 0;
};

struct BeamLog {
  std::string kernel, target, device;
  Sha256 key{};
  int64_t beam_width = 0, estimate = 1;
  std::vector<RoundLog> rounds;
  OptTexts opts;
  double kernel_seconds = 0;
  std::optional<double> hand_coded_seconds;  // nullopt: not measured
  OptTexts hand_coded_opts;
  double wall_seconds = 0;
  bool was_interrupted = false;
  // The UTC time at which an earlier search stored this result; empty: this search found it.
  std::string found_time_utc;
  size_t num_resumed = 0;        // candidates whose log comes from an interrupted search
  std::string result_origin;  // device that computed the expected results, or the file that the result comes from
  std::string applying_pipeline;  // pipeline that applies the opts, if reports should name it; else empty
  // The kernel's name as DEBUG=2 shows it.
  std::string function_name;

  size_t num_with_outcome(CandidateOutcome outcome) const;
  size_t num_candidates() const;
};

std::string make_enumeration_json(const BeamLog& log);
std::string result_json(const BeamLog& log);
std::string result_line(const BeamLog& log);
std::string rounds_table(const BeamLog& log);      // returns a table with a row for each round
std::string explanation_text(const BeamLog& log);  // returns a text with the gain of each opt
std::string seconds_text(double seconds);  // returns a text such as "12.34 us"

// The opts for one kernel of a program: `opts` as opts_as_text() writes them, `function_name` as DEBUG=2 shows it.
struct ProgramOpts {
  std::string function_name, opts;
};
// Returns lines of Python with which tinygrad (0.12 to master) compiles the kernels with these opts; empty if there are
// no kernels.
std::string opts_for_program(std::span<const ProgramOpts> kernels);

// Returns a self-contained SVG. The time axis is logarithmic.
std::string draw_beam_plot(const BeamLog& log);

}  // namespace tgc
