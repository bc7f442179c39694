// A glance at a candidate before the oracle is asked: what it has to do to show the failure at all.
//   a rule that is accused      it applies in its stage, and makes something else of a node there, which matters for
//                               the list
//   another text than tinygrad  the rule that bisect names applies in its stage
//   refused, endless            it is, with the same words
//   a compiler's message        what it quotes stands in the source
//   an access out of bounds     there is one that may be, a load or a store as the first was
// A glance compiles as far as that takes: no compiler is asked, no kernel run, nothing bisected. When it says no, the
// oracle would.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "lib/driver/session.h"
#include "lib/reduce/test_case.h"
#include "lib/run/failure_signature.h"

namespace tgc {

class Prefilter {
 public:
  // A candidate must show what `first` shows: the failure `symptom` and, if bisect was asked, its verdict, stage, rule
  // and branch (`blamed`). `variables` are those of the runs.
  Prefilter(const Session& session, const TestCase& first, FailureSignature symptom,
            std::map<std::string, std::string> blamed, VariableValues variables);

  // Whether there is anything to look for.
  bool tells() const { return what_ != What::Nothing; }
  // Whether the oracle may find that it fails in the same way. In `c`'s own Graph nothing is made.
  bool may_fail(const TestCase& c) const;

 private:
  enum class What : uint8_t { Nothing, Rule, Bounds, Refusal, Source };
  What what_to_look_for() const;
  bool can_be_bisected(const TestCase& c) const;
  bool rule_errs(const TestCase& c) const;
  bool rule_matters(const TestCase& c) const;
  bool is_of_blamed(const Rule& rule, const char* branch) const;
  bool is_refused(const TestCase& c) const;
  bool is_endless_when_watched(const TestCase& c) const;
  bool may_go_out_of_bounds(const TestCase& c) const;
  std::string source_of(const TestCase& c) const;

  const Session& session_;
  FailureSignature symptom_;
  std::map<std::string, std::string> blamed_;
  VariableValues variables_;
  std::vector<std::string> quoted_;  // words of a source that its compiler quotes, without digits
  What what_ = What::Nothing;
};

}  // namespace tgc
