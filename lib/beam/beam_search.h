// One search from its first round to its last: candidates made ready on all threads, filtered in their order, timed by
// a TimeSource.
#pragma once
#include "lib/beam/measured.h"
#include "lib/driver/session.h"

namespace tgc {

// Who knows how long a candidate takes. Calls come from one thread.
class TimeSource {
 public:
  virtual ~TimeSource() = default;

  // The device that compiles candidates; null: nobody does.
  virtual Device* compiler() { return nullptr; }
  // Whether candidates may be compiled while others are timed.
  virtual bool apart() const { return true; }
  // These are going to be timed next, in this order or another, and stay where they are until the next call.
  virtual void ready(std::span<Candidate* const> /*candidates*/) {}
  // Seconds of the fastest of a few runs, of one where candidates are ready together and can take turns. A candidate is
  // given up when it takes much longer than `kept`, what it may take to be kept. Nothing, with the fate and why, when
  // there is no time to tell.
  virtual std::optional<double> time(const OptTexts& opts, Candidate& candidate, double kept, CandidateLog& log) = 0;
  // Whether a candidate that is among the best computes what it should; sets fate and why when it does not.
  virtual bool check(Candidate&, CandidateLog&) { return true; }
};

struct SearchPlan {
  BeamSettings settings;
  size_t width = 2;
  Identity identity = Identity::Binary;
  size_t rounds = 1000;                    // at most
  double deadline = std::numeric_limits<double>::infinity();  // seconds from the start; the best so far counts then
  Measured measured = {};                  // by a search that was interrupted: these are not timed again
};

// The rounds and the result in a log. A search that is cancelled, or over its time, ends with the best so far.
Result<BeamLog> beam_search(const Session& session, SearchKernel& kernel, const SearchPlan& plan, TimeSource& times);

// The candidate that a list of opts makes of the kernel; throws Failure when one does not fit.
Candidate candidate_of(const SearchKernel& kernel, std::span<const Opt> opts, const CandidateSpec& spec);
CandidateSpec candidate_spec(const SearchKernel& kernel, const SearchPlan& plan, Device* device);

}  // namespace tgc
