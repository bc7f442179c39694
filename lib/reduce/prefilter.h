// Prefilter: rejects candidates that cannot have the failure, without running them. The condition that a candidate must
// meet depends on the failure:
//   a rule that bisect names    the rule applies in its stage, its sides may differ, and it changes the linear list
//   another text than tinygrad  the rule that bisect names applies in its stage
//   refused, endless            the candidate is refused, or a stage does not terminate, for the same cause
//   a compiler's message        the source code contains the words that the message quotes
//   an access out of bounds     the bounds of an index do not rule out such a load or store
// The prefilter runs only the stages that it needs. It calls no compiler, runs no kernel and does not bisect. It is
// meant to reject only candidates that the interestingness test would reject, too.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "lib/driver/session.h"
#include "lib/reduce/test_case.h"
#include "lib/run/failure_signature.h"

namespace tgc {

class CasePrefilter {
 public:
  // `first` is the initial case, `symptom` its failure, and `blamed` bisect's verdict, stage, rule and branch (empty
  // without a bisection). `variables` are the values of the kernel's variables.
  CasePrefilter(const Session& session, const TestCase& first, FailureSignature symptom,
                std::map<std::string, std::string> blamed, VariableValues variables);

  // Returns true if there are candidates that the prefilter can reject.
  bool is_useful() const { return checked_property_ != CheckedProperty::Nothing; }
  // Returns false if the prefilter rejects the case. Adds no nodes to the Graph of `c`.
  bool may_fail(const TestCase& c) const;

 private:
  enum class CheckedProperty : uint8_t { Nothing, Rule, Bounds, Refusal, Source };
  CheckedProperty property_to_check() const;
  bool can_be_bisected(const TestCase& c) const;
  bool may_rule_sides_differ(const TestCase& c) const;
  bool is_rule_relevant(const TestCase& c) const;
  bool is_blamed_rule(const Rule& rule, const char* branch) const;
  bool is_refused(const TestCase& c) const;
  bool is_endless_when_watched(const TestCase& c) const;
  bool may_go_out_of_bounds(const TestCase& c) const;
  std::string source_text_of(const TestCase& c) const;

  const Session& session_;
  FailureSignature failure_symptom_;
  std::map<std::string, std::string> blamed_rewrite_;
  VariableValues variable_values_;
  std::vector<std::string> quoted_parts_;  // parts of the source that the compiler's message quotes, without digits
  CheckedProperty checked_property_ = CheckedProperty::Nothing;
};

}  // namespace tgc
