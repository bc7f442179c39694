#pragma once
#include "lib/beam/results.h"
#include "lib/driver/session.h"

namespace tgc {

// One function is called at a time, on any thread.
class TimeSource {
 public:
  virtual ~TimeSource() = default;

  // Returns null if candidates are not compiled.
  virtual Device* compiling_device() { return nullptr; }
  virtual bool may_time_while_compiling() const { return true; }
  // The candidates stay valid until the next call.
  virtual void prepare_candidates(std::span<BeamCandidate* const> /*candidates*/) {}
  // Returns the seconds of the fastest run. May stop a candidate that takes much longer than `keep_limit`, the time
  // below which the round keeps a candidate. If the candidate has no time, returns nullopt and sets log.outcome.
  virtual std::optional<double> time_candidate(const OptTexts& opts, BeamCandidate& candidate, double keep_limit,
                                               CandidateLog& log) = 0;
  // Returns true for the expected results; else sets log.outcome.
  virtual bool check_candidate(BeamCandidate&, CandidateLog&) { return true; }
};

struct SearchPlan {
  BeamSettings settings;
  size_t beam_width = 2;
  CodeIdentity code_identity = CodeIdentity::Binary;
  size_t max_rounds = 1000;
  // when this limit ends the search, the best opts so far are the result
  double limit_seconds = std::numeric_limits<double>::infinity();
  CandidateSpec::Compile compile_candidate = {};
  MeasuredCandidates measured_times = {};         // from an interrupted search
};

// A search that is cancelled, or reaches plan.limit_seconds, returns the best opts so far.
Result<BeamLog> beam_search(const Session& session, SearchKernel& kernel, const SearchPlan& plan, TimeSource& times);

// Throws Failure if an opt does not apply; if `spec.compile_candidate` is set, the candidate is then Refused instead.
BeamCandidate candidate_of_opts(const SearchKernel& kernel, std::span<const Opt> opts, const CandidateSpec& spec);
CandidateSpec make_candidate_spec(const SearchKernel& kernel, const SearchPlan& plan, Device* device);

}  // namespace tgc
