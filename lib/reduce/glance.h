// A glance at a candidate before the oracle is asked: what it has to do to show the failure at all. A rule that is
// accused must apply in its stage and make something else of a node there; where an access went out of bounds, one must
// be able to. A glance takes the accused stage alone, without a run of the kernel, and is never wrong when it says no.
#pragma once
#include <map>
#include <string>

#include "lib/reduce/specimen.h"
#include "lib/session/session.h"
#include "lib/session/symptom.h"

namespace tgc {

class Glance {
 public:
  // What a candidate has to show: the symptom, and whom bisect blames (verdict, stage, rule, branch), if it was asked.
  Glance(const Session& session, const Symptom& symptom, std::map<std::string, std::string> blamed,
         VariableValues variables);

  // Whether there is anything to look for.
  bool tells() const { return what_ != What::Nothing; }
  // Whether the oracle may find that it fails in the same way. In `c`'s own Graph nothing is made.
  bool may_fail(const Specimen& c) const;

 private:
  enum class What : uint8_t { Nothing, Rule, Bounds };
  bool rule_errs(const Specimen& c) const;

  const Session& session_;
  What what_ = What::Nothing;
  std::map<std::string, std::string> blamed_;
  VariableValues variables_;
};

}  // namespace tgc
