// The oracle decides whether a candidate (a smaller test case) shows the same failure: the same failure signature and,
// if bisect names a rewrite, the same rule in the same stage. A candidate must also pass validity_checks.h.
#pragma once
#include <atomic>
#include <map>
#include <mutex>
#include <set>

#include "lib/bisect/bisect.h"
#include "lib/reduce/prefilter.h"
#include "lib/reduce/test_case.h"
#include "lib/reduce/validity_checks.h"
#include "lib/live/tinygrad_process.h"
#include "lib/run/failure_signature.h"

namespace tgc {

// The failure that a reduction must keep (--while). For Kind::Script, `script` is a shell command in which {} stands
// for the candidate's file; for Kind::Differs, the Python or command that runs tinygrad (lib/live/tinygrad_process.h).
struct Wanted {
  FailureSignature::Kind kind = FailureSignature::Kind::Wrong;
  std::string script;
};

// The failure that a case shows. A candidate must show the same failure as the case that is being reduced.
struct Shown {
  FailureSignature symptom;
  std::map<std::string, std::string> blamed;  // bisect's verdict, stage, rule and branch; empty if bisect was not run
  uint64_t rewrite = 0;  // the number of the blamed application of the rule in its stage, from 1
  void set_blamed(const Verdict& verdict);
  bool names_rewrite() const;
  std::string text() const;  // "wrong: rewrite mul-distribute, postopt symbolic"
};

class Oracle {
 public:
  // `options` says how cases run, except for the device and the arrays, which each case has itself.
  Oracle(const Session& session, RunOptions options, Wanted wanted)
      : session_(session),
        options_(std::move(options)),
        wanted_(std::move(wanted)),
        tinygrad_(wanted_.script, session.stop()) {}

  // Returns the failure that the initial case `c` shows; must be called first. An error: `c` does not fail as wanted.
  Result<Shown> first(const TestCase& c);
  // Returns whether the case is valid and shows the same failure. Answers are cached. Threads may call fails() at once
  // if each of them passes a case with its own Graph (in_own_graph), because even reading a Graph allocates in it.
  bool fails(const TestCase& c);
  // Returns what fails() would, if no run is needed: the answer is cached, or the case is invalid, or prefiltered out.
  std::optional<bool> known(const TestCase& c);
  // Returns whether the prefilter can reject candidates for this failure.
  bool has_prefilter() const { return prefilter_ && prefilter_->is_useful(); }

  // Returns the kind of failure that `c` showed in fails(); if `c` did not fail there, that of the initial case.
  FailureSignature::Kind symptom_in(const TestCase& c) const;

  const Shown& shown() const { return shown_; }
  size_t calls() const { return calls_; }      // tries: cases that were compiled, run and bisected
  size_t prefiltered() const { return prefiltered_; }  // cases that the prefilter examined

 private:
  bool is_wanted(const FailureSignature& symptom) const;
  bool is_the_same(const Shown& other) const;
  Result<Shown> examine(const TestCase& c, const Shown* same);
  enum class Answer : uint8_t { No, Maybe, Yes };  // Maybe: the case is valid and passed the prefilter, but was not run
  Answer answer(const TestCase& c, const std::string& key);
  bool script_says_so(const TestCase& c) const;
  Shown difference(const TestCase& c);

  const Session& session_;
  RunOptions options_;
  Wanted wanted_;
  TinygradProcess tinygrad_;  // for Kind::Differs only
  Shown shown_;
  bool is_either_ = false;  // if wrong values are wanted (Kind::Wrong), a crash in REF counts as the same failure
  // set by first(), which determines the failure of the initial case
  std::optional<Prefilter> prefilter_;
  std::optional<ValidityChecks> validity_;
  std::atomic<size_t> calls_ = 0, prefiltered_ = 0;
  mutable std::mutex lock_;
  struct Known {
    Answer answer;
    FailureSignature::Kind symptom = FailureSignature::Kind::None;  // the shown failure, if `answer` is Yes
  };
  std::map<std::string, Known> known_;  // by a text of everything that the answer depends on
};

// Returns whether the case would pass `tgc verify`.
bool is_sound(const TestCase& c);

}  // namespace tgc
