// How the tables of lib/spec are written; for lib/spec alone.
#pragma once
#include "lib/rewrite/rules.h"
#include "lib/uop/graph.h"

namespace tgc {

enum class Answer : uint8_t { Yes, No, Decline };

// What an action of a spec returns: the empty UOp declines; else a node that stands for yes or no.
UOp verdict(UOp node, Answer answer);

// allow: the pattern says it all
UOp call_allow(const Rule& rule, const Match& match);
// require: yes when the test holds, else no
UOp call_require(const Rule& rule, const Match& match);
// judge: as the test answers
UOp call_judge(const Rule& rule, const Match& match);

template <pat::PatLike P>
Rule spec_rule(const RuleName& name, P pattern, UOp (*call)(const Rule&, const Match&), AnyFunction test = nullptr) {
  return {.name = name.text, .file = name.file, .line = name.line, .left = pattern.node(), .call = call,
          .function = test,
          .may_decline = test != nullptr};
}
template <pat::PatLike P>
Rule allow(RuleName name, P pattern) { return spec_rule(name, pattern, call_allow); }
template <pat::PatLike P>
Rule require(RuleName name, P pattern, bool (*test)(UOp)) {
  return spec_rule(name, pattern, call_require, reinterpret_cast<AnyFunction>(test));
}
template <pat::PatLike P>
Rule judge(RuleName name, P pattern, Answer (*test)(UOp)) {
  return spec_rule(name, pattern, call_judge, reinterpret_cast<AnyFunction>(test));
}

const RuleSet& shared_spec();          // ops that are good anywhere
const RuleSet& movement_spec();        // movement ops and what they take
const RuleSet& untagged_tensor_spec();
const RuleSet& tensor_spec();
const RuleSet& shared_codegen_spec();  // kernels and programs
const RuleSet& kernel_spec();
const RuleSet& program_spec();
const RuleSet& full_spec();

}  // namespace tgc
