// The interestingness test decides whether a candidate (a smaller test case) fails in the same way: with the same
// failure signature and, if bisect names a rewrite, by the same rule in the same stage. Candidates must also pass
// validity_checks.h.
#pragma once
#include <atomic>
#include <map>
#include <mutex>

#include "lib/bisect/bisect.h"
#include "lib/bisect/recorded.h"
#include "lib/live/tinygrad_process.h"
#include "lib/reduce/prefilter.h"
#include "lib/reduce/test_case.h"
#include "lib/reduce/validity_checks.h"
#include "lib/run/failure_signature.h"

namespace tgc {

// The failure to preserve (--while). `script`: for Kind::Script, a shell command, with {} for the candidate's file; for
// Kind::Differs, the Python or command that runs tinygrad (lib/live/tinygrad_process.h).
struct Criterion {
  FailureSignature::Kind kind = FailureSignature::Kind::Wrong;
  std::string script;
};

// The failure that a test case has. A candidate must have the same failure as the initial case.
struct ObservedFailure {
  FailureSignature symptom;
  std::map<std::string, std::string> blamed;  // bisect's verdict, stage, rule and branch; empty without a bisection
  uint64_t rewrite = 0;  // number of the application to blame among those of the rule in its stage, from 1
  void set_blamed(const Verdict& verdict);
  bool names_rewrite() const;
  std::string text() const;  // for example "wrong: rewrite mul-distribute, postopt symbolic"
};

// Returns whether the session has a live pipeline of another release than 0.12.0.
bool is_of_other_release(const Session& session);

class InterestingnessTest {
 public:
  // `options` says how to run cases, except for the device and the arrays, which are part of each case.
  InterestingnessTest(const Session& session, RunOptions options, Criterion criterion)
      : session_(session),
        options_(std::move(options)),
        criterion_(std::move(criterion)),
        is_wrong_live_(criterion_.kind == FailureSignature::Kind::Wrong && is_of_other_release(session)),
        tinygrad_(criterion_.script, session.stop()) {}

  // Determines the failure of the initial case `c`; must be called first. Fails if `c` does not fail as the criterion
  // says.
  Result<ObservedFailure> first(const TestCase& c);
  // Returns whether the case is valid and fails in the same way. Caches the answer. Several threads may call fails() if
  // each passes a case with its own Graph (in_own_graph), because even reading a Graph allocates in it.
  bool fails(const TestCase& c);
  // Returns the answer of fails() if no run is needed (cached, invalid, rejected by the prefilter); else nullopt.
  std::optional<bool> known(const TestCase& c);
  // Returns whether the prefilter can reject any candidate for this failure.
  bool has_prefilter() const { return prefilter_ && prefilter_->is_useful(); }
  // Returns whether tgc's own stages compile the cases, so that a case can begin after a stage.
  bool has_stages() const { return has_stages_; }
  // Returns whether cases are tried with arrays that are drawn anew, not with those of the case.
  bool draws_arrays() const { return is_wrong_live_; }

  // Returns the kind of failure that fails() found for `c`; if fails() found none, the kind of the initial case.
  FailureSignature::Kind symptom_in(const TestCase& c) const;

  // Returns the arrays with which fails() saw the failure of `c`. A live pipeline's cases are tried with several draws.
  std::vector<ReproArray> inputs_of(const TestCase& c) const;
  // Returns the values of the variables with which first() saw the failure.
  const VariableValues& variables() const { return options_.input.variables; }

  const ObservedFailure& failure() const { return failure_; }
  size_t calls() const { return calls_; }  // number of cases that were compiled, run and bisected ("tries")
  size_t prefiltered() const { return prefiltered_; }  // number of cases that the prefilter examined

 private:
  bool is_criterion_met(const FailureSignature& symptom) const;
  bool is_the_same(const ObservedFailure& other) const;
  Result<ObservedFailure> examine(const TestCase& c, const ObservedFailure* same, FailingInputs& failing);
  bool differs_live(const TestCase& c, FailingInputs& failing) const;
  ObservedFailure examine_live(const TestCase& c, const ObservedFailure* same, FailingInputs& failing) const;
  enum class Answer : uint8_t { No, Maybe, Yes };  // Maybe: valid and accepted by the prefilter, but not yet run
  Answer answer(const TestCase& c, const std::string& key);
  InputGraph compiled(const TestCase& c, bool with_rewrites = true) const;
  bool script_says_so(const TestCase& c) const;
  ObservedFailure difference(const TestCase& c);

  const Session& session_;
  RunOptions options_;
  Criterion criterion_;
  const bool is_wrong_live_;  // a live pipeline of another release than 0.12.0 computes wrong values
  TinygradProcess tinygrad_;  // used only for Kind::Differs
  ObservedFailure failure_;
  bool has_stages_ = true;
  bool is_either_ = false;  // a crash in REF counts as the same failure as wrong values
  bool shows_in_stages_ = false;  // a live pipeline's recorded stages show the failure, even without their rewrites
  // both are set by first(), which determines the failure of the initial case
  std::optional<Prefilter> prefilter_;
  std::optional<ValidityChecks> validity_;
  std::atomic<size_t> calls_ = 0, prefiltered_ = 0;
  mutable std::mutex lock_;
  struct CachedAnswer {
    Answer answer;
    FailureSignature::Kind symptom = FailureSignature::Kind::None;  // kind of the failure if `answer` is Yes
    std::vector<ReproArray> inputs = {};  // the arrays that showed the failure, if they are others than the case's
  };
  std::map<std::string, CachedAnswer> known_;  // by a text of all that the answer depends on (identity())
};

// Returns whether `tgc verify` accepts the graph of the case.
bool is_sound(const TestCase& c);

}  // namespace tgc
