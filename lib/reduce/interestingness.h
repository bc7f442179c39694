// InterestingnessTest: decides whether a candidate (a smaller test case) fails in the same way as the initial case:
// with the same failure signature and, if bisect has a verdict on it, with the same verdict, stage, rule and branch. If
// a rewrite makes values wrong, a crash counts as the same failure. Candidates must also pass the checks of
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

// The failure to preserve (--while).
struct FailureCriterion {
  FailureSignature::Kind kind = FailureSignature::Kind::Wrong;
  // For Kind::Script: a shell command, in which {} is replaced by the name of a file with the candidate. For
  // Kind::Differs: the Python or the command that runs tinygrad.
  std::string script_command;
};

struct ObservedFailure {
  FailureSignature symptom;
  // bisect's verdict, stage, rule and branch; empty without a bisection
  std::map<std::string, std::string> bisect_facts;
  // number of the culprit among the rewrites by the rule in its stage, from 1; 0 if unknown
  uint64_t rewrite_number = 0;
  void set_blamed_rewrite(const Verdict& verdict);
  bool has_named_rewrite() const;
  std::string text() const;  // such as "wrong: rewrite mul-distribute, postopt symbolic"
};

// Returns true if the session has a live pipeline of another release than 0.12.0.
bool uses_other_tinygrad_release(const Session& session);

class InterestingnessTest {
 public:
  // `options` says how to run cases, except for the device and the arrays, which are part of each case.
  InterestingnessTest(const Session& session, RunOptions options, FailureCriterion criterion)
      : session_(session), run_options_(std::move(options)), failure_criterion_(std::move(criterion)),
        reduces_live_failure_(failure_criterion_.kind == FailureSignature::Kind::Wrong &&
                              uses_other_tinygrad_release(session)),
        tinygrad_process_(failure_criterion_.script_command, session.cancel_check()) {}

  // Determines the failure of the initial case `c`. Must be called before the other functions. Fails if `c` does not
  // fail as the criterion says.
  Result<ObservedFailure> find_initial_failure(const TestCase& c);
  // Returns true if the case is valid and fails in the same way as the initial case. Caches the answer. Several threads
  // may call is_interesting() if each passes a case with its own Graph (copy_to_own_graph), because even reading a
  // Graph allocates in it.
  bool is_interesting(const TestCase& c);
  // Returns the answer of is_interesting() if it needs no run, because it is cached, or the case is invalid or rejected
  // by the prefilter; else nullopt.
  std::optional<bool> cached_answer(const TestCase& c);
  bool has_prefilter() const { return case_prefilter_ && case_prefilter_->is_useful(); }
  // Returns true if tgc's own stages compile the cases, so that a case can begin after a stage.
  bool has_stages() const { return has_stages_; }
  // Returns true if cases are tried with newly drawn arrays, too.
  bool has_drawn_arrays() const { return reduces_live_failure_; }

  // Returns the kind of failure that was found for `c`; if none was found, the kind of the initial case.
  FailureSignature::Kind failure_kind_of(const TestCase& c) const;

  // Returns the arrays that showed the failure of `c`: its own, unless others were drawn for it.
  std::vector<ReproArray> inputs_of(const TestCase& c) const;
  const VariableValues& variables() const { return run_options_.input.variables; }

  const ObservedFailure& failure() const { return initial_failure_; }
  size_t num_calls() const { return num_calls_; }  // cases that were examined ("tries")
  size_t num_prefiltered() const { return num_prefiltered_; }

 private:
  bool is_criterion_met(const FailureSignature& symptom) const;
  bool is_same_failure(const ObservedFailure& other) const;
  Result<ObservedFailure> examine_case(const TestCase& c, const ObservedFailure* same, FailingInputs& failing);
  bool has_live_difference(const TestCase& c, FailingInputs& failing) const;
  ObservedFailure examine_live_case(const TestCase& c, const ObservedFailure* same, FailingInputs& failing) const;
  enum class Answer : uint8_t { No, Maybe, Yes };  // Maybe: valid and accepted by the prefilter, but not yet run
  Answer quick_answer_for(const TestCase& c, const std::string& key);
  InputGraph make_compiled_case(const TestCase& c, bool with_rewrites = true) const;
  bool is_accepted_by_script(const TestCase& c) const;
  ObservedFailure find_difference(const TestCase& c);

  const Session& session_;
  RunOptions run_options_;
  FailureCriterion failure_criterion_;
  // the failure: a live pipeline of another release than 0.12.0 computes wrong values
  const bool reduces_live_failure_;
  TinygradProcess tinygrad_process_;
  ObservedFailure initial_failure_;
  bool has_stages_ = true;
  bool should_accept_crashes_ = false;  // a crash counts as the same failure as wrong values
  bool is_shown_in_stages_ = false;  // a live pipeline's recorded stages show the failure, even without their rewrites
  // Set by find_initial_failure(); case_prefilter_ only if `has_stages_`.
  std::optional<CasePrefilter> case_prefilter_;
  std::optional<ValidityChecker> validity_checks_;
  std::atomic<size_t> num_calls_ = 0, num_prefiltered_ = 0;
  mutable std::mutex mutex_;
  struct CachedAnswer {
    Answer answer;
    FailureSignature::Kind symptom = FailureSignature::Kind::None;  // kind of the failure, if `answer` is Yes
    std::vector<ReproArray> inputs = {};  // the arrays that showed the failure; empty: those of the case
  };
  std::map<std::string, CachedAnswer> cached_answers_;
};

// Returns true if is_sound() of lib/spec/loops.h accepts the graph of the case.
bool is_sound(const TestCase& c);

}  // namespace tgc
