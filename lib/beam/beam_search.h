// One search from the first round to the last: compiles candidates on all threads, filters them in order, and times
// them and checks the best ones with a TimeSource.
#pragma once
#include "lib/beam/results.h"
#include "lib/driver/session.h"

namespace tgc {

// Measures candidates. One function is called at a time, on any thread.
class TimeSource {
 public:
  virtual ~TimeSource() = default;

  // Returns the device that compiles candidates; null: candidates are not compiled.
  virtual Device* compiling_device() { return nullptr; }
  // Returns true if candidates may be compiled while others are timed.
  virtual bool times_while_compiling() const { return true; }
  // Announces the candidates that are timed next, in any order. They stay valid until the next call.
  virtual void prepare_candidates(std::span<Candidate* const> /*candidates*/) {}
  // Returns the seconds of the fastest of a few runs, or of a single run if prepared candidates can be timed again
  // later. Stops a candidate that takes much longer than `keep_limit`, the time below which the round keeps a
  // candidate. If the candidate has no time, returns nullopt and sets log.outcome and, if known, log.failure_reason.
  virtual std::optional<double> time_candidate(const OptTexts& opts, Candidate& candidate, double keep_limit,
                                               CandidateLog& log) = 0;
  // Returns true if the candidate computes the expected results; else sets log.outcome and log.failure_reason.
  virtual bool check_candidate(Candidate&, CandidateLog&) { return true; }
};

struct SearchPlan {
  BeamSettings settings;
  size_t beam_width = 2;
  Identity identity = Identity::Binary;
  size_t max_rounds = 1000;                    // maximum number of rounds
  // time limit in seconds; when it ends the search, the best opts so far are the result
  double limit_seconds = std::numeric_limits<double>::infinity();
  CandidateSpec::Compile compile_candidate = {};  // see CandidateSpec
  MeasuredCandidates measured_times = {};         // times from an interrupted search; not measured again
};

// Returns the log with the rounds and the result. If the search is cancelled or reaches plan.limit_seconds, the result
// is the best opts so far.
Result<BeamLog> beam_search(const Session& session, SearchKernel& kernel, const SearchPlan& plan, TimeSource& times);

// Returns the candidate that results from applying `opts` to the kernel. Throws Failure if an opt does not apply; if
// `spec.compile_candidate` is set, the candidate is then Refused instead.
Candidate candidate_of(const SearchKernel& kernel, std::span<const Opt> opts, const CandidateSpec& spec);
CandidateSpec candidate_spec(const SearchKernel& kernel, const SearchPlan& plan, Device* device);

}  // namespace tgc
