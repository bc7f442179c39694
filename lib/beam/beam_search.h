#pragma once
#include "lib/beam/results.h"
#include "lib/driver/session.h"

namespace tgc {

// A search calls one method at a time, possibly on different threads.
class TimeSource {
 public:
  virtual ~TimeSource() = default;

  // Returns the device to compile candidates for; null: candidates are not compiled.
  virtual Device* compiling_device() { return nullptr; }
  virtual bool may_time_while_compiling() const { return true; }
  // The caller keeps `candidates` valid until its next call of this method.
  virtual void prepare_candidates(std::span<BeamCandidate* const> /*candidates*/) {}
  // Returns the seconds of a run, measured, recorded, or estimated from a part of the grid. May stop a candidate that
  // takes much longer than `keep_limit` seconds. If the candidate has no time, returns nullopt and sets log.outcome.
  virtual std::optional<double> time_candidate(const OptTexts& opts, BeamCandidate& candidate, double keep_limit,
                                               CandidateLog& log) = 0;
  // Returns false, and sets log.outcome, if a check of the candidate's results fails.
  virtual bool check_candidate(BeamCandidate&, CandidateLog&) { return true; }
};

struct SearchPlan {
  BeamSettings settings;
  size_t beam_width = 2;
  CodeIdentity code_identity = CodeIdentity::Binary;
  size_t max_rounds = 1000;
  double limit_seconds = std::numeric_limits<double>::infinity();
  CandidateSpec::Compile compile_candidate = {};
  MeasuredCandidates measured_times = {};         // of an interrupted search; they are not measured again
};

// A search that is cancelled, or reaches plan.limit_seconds, returns the best opts so far.
Result<BeamLog> beam_search(const Session& session, SearchKernel& kernel, const SearchPlan& plan, TimeSource& times);

// If an opt does not apply, throws Failure or, if `spec.compile_candidate` is set, returns a Refused candidate.
BeamCandidate candidate_of_opts(const SearchKernel& kernel, std::span<const Opt> opts, const CandidateSpec& spec);
CandidateSpec make_candidate_spec(const SearchKernel& kernel, const SearchPlan& plan, Device* device);

}  // namespace tgc
