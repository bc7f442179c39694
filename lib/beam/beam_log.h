// The log of the search of one kernel, round by round, and its reports.
#pragma once
#include <span>
#include <string>

#include "lib/beam/candidate.h"

namespace tgc {

struct CandidateLog {
  OptTexts opts;
  CandidateOutcome outcome = CandidateOutcome::Timed;
  double fastest_seconds = 0;  // seconds of the candidate's fastest run; 0 if it was not timed
  std::string failure_reason;  // why the candidate was refused, has no time or is wrong
  double num_operations = 0;   // arithmetic operations of a launch, without index math
  std::string code_digest;     // digest of the compiled code (Candidate::identity)
};

struct RoundLog {
  std::vector<OptTexts> beam_opts;  // opts of the kernels that the round started from, the fastest kernel first
  std::vector<CandidateLog> candidates;
  // run time of the fastest kernel of this and all earlier rounds; time from the start of the search to the round's end
  double best_seconds = 0, wall_seconds = 0;
};

struct BeamLog {
  std::string kernel, target, device;  // device: the name of the hardware
  Sha256 key{};                        // tinygrad's key of the searched graph
  int64_t beam_width = 0, estimate = 1;
  std::vector<RoundLog> rounds;
  OptTexts opts;                             // opts of the fastest kernel: the result of the search
  double kernel_seconds = 0;                 // run time of the kernel with these opts
  std::optional<double> hand_coded_seconds;  // seconds of the hand-coded optimizer's kernel; nullopt: not measured
  OptTexts hand_coded_opts;
  double wall_seconds = 0;       // seconds of the whole search
  bool was_interrupted = false;  // ended by the user or by a budget; the result is the best so far
  // the time in UTC at which an earlier search stored this result; empty: this search found the result
  std::string found_time_utc;
  size_t num_resumed = 0;        // number of candidates that an interrupted search had finished
  std::string reference_device;  // device that computed the expected results; empty: not compared
  std::string applied_by;        // the pipeline that applied the opts; empty: tgc's own, for a kernel of its release
  // the kernel's name in the program with the hand-coded opts, as DEBUG=2 shows it
  std::string function_name;

  size_t num_with_outcome(CandidateOutcome outcome) const;
  size_t num_candidates() const;
};

// enumeration_json returns the candidates of the rounds, result_json the result, each as one line of JSON.
std::string enumeration_json(const BeamLog& log);
std::string result_json(const BeamLog& log);
// result_line returns the result in a few lines, rounds_table a row for each round, explanation_text the gain of each
// opt.
std::string result_line(const BeamLog& log);
std::string rounds_table(const BeamLog& log);
std::string explanation_text(const BeamLog& log);
std::string seconds_text(double seconds);  // returns "12.34 us"

// Opts for a kernel of a program, as joined_opts() writes them. `function_name` is the kernel's name with tinygrad's
// own opts, as DEBUG=2 shows it.
struct ProgramOpts {
  std::string function_name, opts;
};
// Returns lines of Python for the top of a program. With them, tinygrad (0.12 to master) compiles the kernels with
// these opts. Empty if there are no kernels.
std::string opts_for_program(std::span<const ProgramOpts> kernels);

// Returns a self-contained SVG that draws the search round by round: a dot for the time of each timed candidate, and
// lines for the best time so far and for the hand-coded opts. The time axis is logarithmic.
std::string beam_plot(const BeamLog& log);

}  // namespace tgc
