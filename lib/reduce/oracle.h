// The oracle: whether a smaller case still shows the same failure. The same is: the same symptom, of the same cause;
// and where bisect can name a rewrite, the same rule in the same stage. Beside that a case does nothing worse than the
// first one (conduct.h).
#pragma once
#include <atomic>
#include <map>
#include <mutex>
#include <set>

#include "lib/bisect/bisect.h"
#include "lib/reduce/prefilter.h"
#include "lib/reduce/test_case.h"
#include "lib/reduce/validity_checks.h"
#include "lib/replay/live_tinygrad.h"
#include "lib/run/failure_signature.h"

namespace tgc {

// What is asked for: a symptom by its name; of "cmd" the script, {} for the candidate's file; of "differs" the Python
// or the command that compiles with tinygrad (lib/replay/live_tinygrad.h).
struct Wanted {
  FailureSignature::Kind kind = FailureSignature::Kind::Wrong;
  std::string script;
};

// What a case shows, as far as another one must show it, too.
struct Shown {
  FailureSignature symptom;
  std::map<std::string, std::string> blamed;  // by bisect: verdict, stage, rule, branch; empty: it was not asked
  uint64_t rewrite = 0;  // of a rule that is blamed: which application in that stage, from 1
  void blame(const BisectReport& report);
  bool names_rewrite() const;
  std::string text() const;  // "wrong: rewrite mul-distribute, postopt symbolic"
};

class Oracle {
 public:
  // `options` say how cases run; the device and the arrays are each case's own.
  Oracle(const Session& session, RunOptions options, Wanted wanted)
      : session_(session),
        options_(std::move(options)),
        wanted_(std::move(wanted)),
        tinygrad_(session, wanted_.script) {}

  // What the case shows at first; an error when it does not show what is wanted.
  Result<Shown> first(const TestCase& c);
  // Whether it is well formed and shows the same. Every case is looked at once. Several threads may ask at once, each
  // of a case in a Graph of its own (in_own_graph): even who only reads a Graph takes room from it.
  bool fails(const TestCase& c);
  // The same where no try is needed: one like it was looked at, it is not well formed, or a glance says that it cannot.
  std::optional<bool> known(const TestCase& c);
  // Whether glances tell anything of this failure.
  bool has_glances() const { return glance_ && glance_->tells(); }

  // The symptom of a case that failed; of another that of the first.
  FailureSignature::Kind symptom_in(const TestCase& c) const;

  const Shown& shown() const { return shown_; }
  size_t calls() const { return calls_; }      // cases that were compiled, run and, of a wrong value, bisected
  size_t glances() const { return glances_; }  // cases that a glance was cast at

 private:
  bool is_wanted(const FailureSignature& symptom) const;
  bool is_the_same(const Shown& other) const;
  Result<Shown> look(const TestCase& c, const Shown* same);
  enum class Answer : uint8_t { No, Maybe, Yes };  // Maybe: well formed, and a glance has nothing against it
  Answer answer(const TestCase& c, const std::string& key);
  bool script_says_so(const TestCase& c) const;
  Shown difference(const TestCase& c);

  const Session& session_;
  RunOptions options_;
  Wanted wanted_;
  Tinygrad tinygrad_;  // of "differs"; of all else it is not asked
  Shown shown_;
  bool is_either_ = false;  // asked for 'wrong', a crash in REF will do
  // once it is known what is shown
  std::optional<Prefilter> glance_;
  std::optional<ValidityChecks> conduct_;
  std::atomic<size_t> calls_ = 0, glances_ = 0;
  mutable std::mutex lock_;
  struct Known {
    Answer answer;
    FailureSignature::Kind symptom = FailureSignature::Kind::None;  // of Yes
  };
  std::map<std::string, Known> known_;  // by what the case is
};

// Whether `tgc verify` would let the case pass.
bool is_sound(const TestCase& c);

}  // namespace tgc
